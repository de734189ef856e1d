//! Machine code for the entries that a program brings itself: a chain of comparisons. It is used as long as the
//! controller has not changed them.

use super::cases::Test;
use super::translate::Translator;
use super::x86::{Alu, Cond, Label, Reg};
use super::Offsets;
use crate::code::layout::Slot;

impl Translator<'_> {
    /// Goes where the entry leads that matches, if the entries of the table are those of the program; goes on where none
    /// matches.
    pub(super) fn own_entries(&mut self, table: u16) {
        let cases = &self.entries[table as usize];
        if cases.is_empty() {
            return;
        }
        let rest = self.asm.label();
        self.asm.load_frame(Reg::Rdx, Offsets::AS_LOADED);
        self.asm.load_at(Reg::Rax, Reg::Rdx, 8 * i32::from(table));
        self.asm.alu_imm(Alu::Cmp, Reg::Rax, 0);
        self.asm.jump_if(Cond::Equal, rest);
        for case in cases {
            let next_case = self.asm.label();
            for test in &case.tests {
                self.test(test, next_case);
            }
            for (word, &value) in case.params.iter().enumerate() {
                self.asm.imm(Reg::Rax, value);
                self.asm.store(self.code.param_base + word as Slot, Reg::Rax);
            }
            let (action, next) = (self.label(case.action), self.label(case.next));
            self.asm.set_return(next);
            self.asm.jump(action);
            self.asm.bind(next_case);
        }
        self.asm.bind(rest);
    }

    /// Goes to `unequal` where a limb does not hold what it must; a field of an invalid header counts as 0.
    fn test(&mut self, test: &Test, unequal: Label) {
        self.load(Reg::Rax, test.slot);
        self.asm.mask(Reg::Rax, test.mask, Reg::Rcx);
        if self.constant(test.valid) != Some(1) {
            self.asm.load(Reg::Rcx, test.valid);
            self.asm.negate(Reg::Rcx);
            self.asm.alu_reg(Alu::And, Reg::Rax, Reg::Rcx);
        }
        self.compare_value(Reg::Rax, test.value);
        self.asm.jump_if(Cond::NotEqual, unequal);
    }
}
