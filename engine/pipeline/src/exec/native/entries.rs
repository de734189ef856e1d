//! Machine code for the entries that a program brings itself: a chain of comparisons, in the order in which they match.
//! It is used as long as the controller has not changed them.

use super::translate::Translator;
use super::x86::{Alu, Cond, Label, Reg};
use super::Offsets;
use crate::code::ir::Pc;
use crate::code::layout::Slot;
use crate::code::program::{KeyPlan, Program, TablePlan};
use crate::numbers::words::limbs_for;
use crate::state::table::{bind, pattern, rank, ParamWords};
use crate::vocabulary::entries::KeyMatch;
use crate::vocabulary::info::MatchKind;

/// Entries of a table that become a chain.
const MAX_ENTRIES: usize = 24;

/// One limb of a key field, and what it must hold.
pub(super) struct Test {
    slot: Slot,
    /// Valid flag of the field's header.
    valid: Slot,
    mask: u64,
    value: u64,
}

/// An entry: where it leads when all its tests hold.
pub(super) struct Case {
    tests: Vec<Test>,
    action: Pc,
    next: Pc,
    params: ParamWords,
}

/// The entries of each table that become a chain, the first one that matches first.
pub(super) fn cases(program: &Program) -> Vec<Vec<Case>> {
    (0..program.tables.len()).map(|table| cases_of(program, table).unwrap_or_default()).collect()
}

/// `None` where the host looks the entries up.
fn cases_of(program: &Program, table: usize) -> Option<Vec<Case>> {
    let (info, plan) = (&program.tables[table], &program.code.tables[table]);
    let initial: Vec<_> = program.initial_entries.iter().filter(|entry| entry.table == table).collect();
    let by_mask = plan.is_pure() && plan.key.iter().all(|key| key.kind != MatchKind::Range);
    if !by_mask || initial.len() > MAX_ENTRIES {
        return None;
    }
    let mut ranked = Vec::new();
    for entry in initial {
        let key: Vec<KeyMatch> = entry.key.iter().map(KeyMatch::masked).collect();
        let (pattern, prefix) = pattern(info, plan, &key).ok()?;
        let binding = bind(&program.code, plan, entry.action, &entry.data, true);
        let case = Case {
            tests: tests(plan, &pattern.value, &pattern.mask),
            action: binding.entry,
            next: binding.next,
            params: binding.words,
        };
        let priority = if info.needs_priority() { entry.priority } else { 0 };
        ranked.push((rank(info, priority, prefix), case));
    }
    // Of entries with the same rank the first one matches.
    ranked.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    Some(ranked.into_iter().map(|(_, case)| case).collect())
}

/// The tests of a packed key; limbs that may hold anything need none.
fn tests(plan: &TablePlan, value: &[u64], mask: &[u64]) -> Vec<Test> {
    let limbs = |key: &KeyPlan| 0..limbs_for(key.bits);
    let test = |key: &KeyPlan, limb: usize| {
        let word = usize::from(key.word) + limb;
        let field = key.word_mask(limb);
        let mask = mask[word] >> key.shift & field;
        (mask != 0).then_some(Test {
            slot: key.slot + limb as Slot,
            valid: key.valid,
            mask,
            value: value[word] >> key.shift & mask,
        })
    };
    plan.key.iter().flat_map(|key| limbs(key).filter_map(move |limb| test(key, limb))).collect()
}

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
