//! Machine code for tables: where a table leads is known, or a load away, or the host finds the entry, or does it all.

use super::translate::Translator;
use super::views::{has_leads, is_found_by_word, is_indexed, Indexed, Lead};
use super::x86::{Alu, Cond, Label, Reg, Shift};
use super::Offsets;
use crate::code::layout::Slot;
use crate::code::program::TablePlan;
use crate::state::matcher::DIRECT_KEYS;

impl Translator<'_> {
    pub(super) fn table(&mut self, table: u16) {
        let code = self.code;
        let plan = &code.tables[table as usize];
        let (look_up, find, host) = (self.asm.label(), self.asm.label(), self.asm.label());
        let shortcut = i32::from(table) * 8 * Lead::SHORT as i32;
        self.asm.load_frame(Reg::Rdx, Offsets::SHORTCUTS);
        self.follow(shortcut, Lead::params(code, plan, Lead::SHORT), look_up);
        self.asm.bind(look_up);
        let words = Lead::words(code, plan);
        if is_indexed(plan) {
            self.index(table, plan, words, find);
            self.follow(0, Lead::params_of(words), host);
        } else {
            self.own_entries(table);
            if is_found_by_word(plan) {
                self.key(plan);
            }
        }
        self.asm.bind(find);
        if has_leads(plan) {
            if is_found_by_word(plan) {
                self.asm.move_reg(Reg::Rdx, Reg::Rax);
                self.asm.call(self.host.find_word, u32::from(table));
            } else {
                self.asm.call(self.host.find, u32::from(table));
            }
            self.asm.move_reg(Reg::Rdx, Reg::Rax);
            self.follow(0, Lead::params_of(words), host);
        }
        self.asm.bind(host);
        self.asm.call(self.host.table, u32::from(table));
        self.asm.load_return(Offsets::RETURN);
        self.asm.jump_rax();
    }

    /// Goes where the lead at `rdx + at` with its words of parameters leads, or to `unknown` where only the host knows.
    fn follow(&mut self, at: i32, params: usize, unknown: Label) {
        self.asm.load_at(Reg::Rax, Reg::Rdx, at + Lead::ACTION);
        self.asm.alu_imm(Alu::Cmp, Reg::Rax, 0);
        self.asm.jump_if(Cond::Equal, unknown);
        for word in 0..params {
            self.asm.load_at(Reg::Rcx, Reg::Rdx, at + Lead::PARAMS + 8 * word as i32);
            self.asm.store(self.code.param_base + word as Slot, Reg::Rcx);
        }
        self.asm.load_return_at(Reg::Rdx, at + Lead::NEXT);
        self.asm.jump_rax();
    }

    /// Leaves in rdx the address of the lead for the packet's key; goes to `find` where the key is no index.
    fn index(&mut self, table: u16, plan: &TablePlan, words: usize, find: Label) {
        self.key(plan);
        let (miss, found) = (self.asm.label(), self.asm.label());
        let view = i32::from(table) * Indexed::BYTES;
        self.asm.load_frame(Reg::Rdx, Offsets::INDEXED);
        self.asm.cmp_at(Reg::Rax, Reg::Rdx, view + Indexed::COUNT);
        self.asm.jump_if(Cond::NotBelow, miss);
        self.asm.load_at(Reg::Rcx, Reg::Rdx, view + Indexed::IDS);
        self.asm.load_half_indexed(Reg::Rax, Reg::Rcx, Reg::Rax);
        // No entry is all ones: one more is 0, the place of the lead after a miss.
        self.asm.increment_half(Reg::Rax);
        self.asm.multiply_imm(Reg::Rax, 8 * words as i32);
        self.asm.load_at(Reg::Rdx, Reg::Rdx, view + Indexed::LEADS);
        self.asm.alu_reg(Alu::Add, Reg::Rdx, Reg::Rax);
        self.asm.jump(found);
        self.asm.bind(miss);
        self.asm.alu_imm(Alu::Cmp, Reg::Rax, DIRECT_KEYS as i32);
        self.asm.jump_if(Cond::NotBelow, find);
        self.asm.load_at(Reg::Rdx, Reg::Rdx, view + Indexed::LEADS);
        self.asm.bind(found);
    }

    /// Packs the key of one word into rax; a field of an invalid header counts as 0.
    fn key(&mut self, plan: &TablePlan) {
        for (index, key) in plan.key.iter().enumerate() {
            let reg = if index == 0 { Reg::Rax } else { Reg::Rdx };
            self.asm.load(reg, key.slot);
            self.asm.mask(reg, key.word_mask(0), Reg::Rcx);
            if self.constant(key.valid) != Some(1) {
                self.asm.load(Reg::Rcx, key.valid);
                self.asm.negate(Reg::Rcx);
                self.asm.alu_reg(Alu::And, reg, Reg::Rcx);
            }
            if key.shift > 0 {
                self.asm.shift(Shift::Left, reg, key.shift);
            }
            if index > 0 {
                self.asm.alu_reg(Alu::Or, Reg::Rax, Reg::Rdx);
            }
        }
    }
}
