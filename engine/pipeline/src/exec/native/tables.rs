//! Code for tables: where a table leads is known, or a load away, or the host finds the entry, or does it all.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types::I32, types::I64, InstBuilder, Value};

use super::cases::Test;
use super::flow::{fixed_flags, frame_flags, Known};
use super::part::Emitter;
use super::views::{has_leads, is_found_by_word, is_indexed, Indexed, Lead};
use super::Offsets;
use crate::code::layout::Slot;
use crate::code::program::{KeyPlan, TablePlan};
use crate::state::matcher::DIRECT_KEYS;

// Numbers of the blocks of a table.
const LED: u32 = 1;
const HOST: u32 = 2;
const FIND: u32 = 3;
const LOOK_UP: u32 = 4;
const MISS: u32 = 5;
const HIT: u32 = 6;
const FOUND: u32 = 7;
const DIRECT: u32 = 8;
const OWN: u32 = 9;
const WAYS_OF_LEAD: u32 = 1_000;
const WAYS_OF_HOST: u32 = 2_000;
const CASES: u32 = 3_000;

impl Emitter<'_, '_> {
    pub(super) fn table(&mut self, table: u16) {
        let code = self.source.code;
        let plan = &code.tables[table as usize];
        let shortcuts = self.load_frame(Offsets::SHORTCUTS);
        let shortcut = i64::from(table) * 8 * Lead::SHORT as i64;
        let lead = self.b.ins.ins().iadd_imm(shortcuts, shortcut);
        self.follow(lead, if plan.key.is_empty() { HOST } else { LOOK_UP });
        if self.b.begin(self.key(LOOK_UP)) {
            if is_indexed(plan) {
                self.index(table, plan, Lead::words(code, plan));
            } else {
                self.own_entries(table);
                if !self.b.ended {
                    self.b.goto(self.key(FIND));
                }
            }
        }
        if self.b.begin(self.key(FIND)) {
            if has_leads(plan) {
                let lead = if is_found_by_word(plan) {
                    let key = self.packed_key(plan);
                    self.call_find_word(table, key)
                } else {
                    self.show_key(plan);
                    self.call_find(table)
                };
                self.follow(lead, HOST);
            } else {
                self.b.goto(self.key(HOST));
            }
        }
        if self.b.begin(self.key(LED)) {
            let (lead, way) = (self.b.ins.use_var(self.lead), self.b.ins.use_var(self.way));
            self.go(table, way, Some(lead), WAYS_OF_LEAD);
        }
        if has_leads(plan) {
            self.b.seldom(self.key(HOST));
        }
        if self.b.begin(self.key(HOST)) {
            self.show_reads();
            let way = self.call_table(table);
            self.forget_writes();
            (code.param_base..code.temp_base).for_each(|slot| self.b.forget(slot.into()));
            self.go(table, way, None, WAYS_OF_HOST);
        }
    }

    /// Goes where a lead leads, or to another block of the table where only the host knows.
    fn follow(&mut self, lead: Value, unknown: u32) {
        let way = self.b.ins.ins().load(I64, frame_flags().with_readonly(), lead, Lead::WAY);
        self.b.ins.def_var(self.lead, lead);
        self.b.ins.def_var(self.way, way);
        self.b.branch(way, self.key(LED), self.key(unknown));
    }

    /// Goes the way with a number; its parameters are those of the lead, or in their slots.
    fn go(&mut self, table: u16, way: Value, lead: Option<Value>, numbers: u32) {
        let code = self.source.code;
        let ways = &self.source.ways[table as usize];
        for (number, one) in (0..).zip(ways) {
            let (this, others) = (self.key(numbers + 2 * number), self.key(numbers + 2 * number + 1));
            if number as usize + 1 < ways.len() {
                let is_this = self.b.ins.ins().icmp_imm(IntCC::Equal, way, i64::from(number) + 1);
                self.b.branch(is_this, this, others);
            } else {
                self.b.goto(this);
            }
            self.b.begin(this);
            for word in 0..one.words {
                let slot = code.param_base + word as Slot;
                match lead {
                    Some(lead) => {
                        let at = Lead::PARAMS + 8 * i32::from(word);
                        let flags = frame_flags().with_readonly();
                        let value = self.b.ins.ins().load(I64, flags, lead, at);
                        self.set(slot, Known::Value(value));
                    }
                    None => _ = self.b.load(slot.into()),
                }
            }
            self.b.goto((one.at(self.at), 0));
            self.b.begin(others);
        }
    }

    /// Finds the lead for the packet's key where that is an index.
    fn index(&mut self, table: u16, plan: &TablePlan, words: usize) {
        let flags = fixed_flags();
        let key = self.packed_key(plan);
        let key = self.b.value(key);
        let view = i32::from(table) * Indexed::BYTES;
        let indexed = self.load_frame(Offsets::INDEXED);
        let count = self.b.ins.ins().load(I64, flags, indexed, view + Indexed::COUNT);
        let is_index = self.b.ins.ins().icmp(IntCC::UnsignedLessThan, key, count);
        self.b.branch(is_index, self.key(HIT), self.key(MISS));
        if self.b.begin(self.key(MISS)) {
            let limit = DIRECT_KEYS as i64;
            let is_direct = self.b.ins.ins().icmp_imm(IntCC::UnsignedLessThan, key, limit);
            self.b.branch(is_direct, self.key(DIRECT), self.key(FIND));
        }
        if self.b.begin(self.key(DIRECT)) {
            let leads = self.b.ins.ins().load(I64, flags, indexed, view + Indexed::LEADS);
            self.b.ins.def_var(self.lead, leads);
            self.b.goto(self.key(FOUND));
        }
        if self.b.begin(self.key(HIT)) {
            let ins = &mut self.b.ins;
            let ids = ins.ins().load(I64, flags, indexed, view + Indexed::IDS);
            let offset = ins.ins().ishl_imm(key, 2);
            let id = ins.ins().iadd(ids, offset);
            let id = ins.ins().load(I32, frame_flags().with_readonly(), id, 0);
            // No entry is all ones: one more is 0, the place of the lead after a miss.
            let place = ins.ins().iadd_imm(id, 1);
            let place = ins.ins().uextend(I64, place);
            let offset = ins.ins().imul_imm(place, 8 * words as i64);
            let leads = ins.ins().load(I64, flags, indexed, view + Indexed::LEADS);
            let lead = ins.ins().iadd(leads, offset);
            ins.def_var(self.lead, lead);
            self.b.goto(self.key(FOUND));
        }
        if self.b.begin(self.key(FOUND)) {
            let lead = self.b.ins.use_var(self.lead);
            self.follow(lead, HOST);
        }
    }

    /// A limb of a key field; that of an invalid header counts as 0.
    fn key_limb(&mut self, slot: Slot, valid: Slot, mask: u64) -> Known {
        let value = self.get(slot);
        let value = self.mask(value, mask);
        match self.get(valid) {
            Known::Const(0) => Known::Const(0),
            Known::Const(_) => value,
            Known::Value(valid) => {
                let ones = self.b.ins.ins().ineg(valid);
                self.and(value, Known::Value(ones))
            }
        }
    }

    /// The key of one word.
    fn packed_key(&mut self, plan: &TablePlan) -> Known {
        let mut packed = Known::Const(0);
        for key in &plan.key {
            let value = self.key_limb(key.slot, key.valid, key.word_mask(0));
            let value = self.left(value, key.shift);
            packed = self.or(packed, value);
        }
        packed
    }

    /// Lets the host see the key.
    fn show_key(&mut self, plan: &TablePlan) {
        for KeyPlan { slot, valid, bits, .. } in &plan.key {
            let limbs = crate::numbers::words::limbs_for(*bits) as Slot;
            (*slot..slot + limbs).chain([*valid]).for_each(|slot| self.show(slot));
        }
    }

    /// Goes where the entry leads that the program brings and that matches, as long as the controller has not changed them;
    /// goes on where none matches.
    fn own_entries(&mut self, table: u16) {
        let source = self.source;
        let cases = &source.entries[table as usize];
        if cases.is_empty() {
            return;
        }
        let as_loaded = self.load_frame(Offsets::AS_LOADED);
        let flags = fixed_flags();
        let is_as_loaded = self.b.ins.ins().load(I64, flags, as_loaded, 8 * i32::from(table));
        let find = self.key(FIND);
        self.b.branch(is_as_loaded, self.key(OWN), find);
        self.b.begin(self.key(OWN));
        for (number, case) in (0..).zip(cases) {
            let (this, others) = (self.key(CASES + 2 * number), self.key(CASES + 2 * number + 1));
            let mut differs = Known::Const(0);
            for &Test { slot, valid, mask, value } in &case.tests {
                let limb = self.key_limb(slot, valid, mask);
                let other = self.xor(limb, Known::Const(value));
                differs = self.or(differs, other);
            }
            match differs {
                Known::Const(0) => self.b.goto(this),
                Known::Const(_) => self.b.goto(others),
                Known::Value(differs) => self.b.branch(differs, others, this),
            }
            if self.b.begin(this) {
                for (word, &value) in (0..).zip(&case.params) {
                    self.set(source.code.param_base + word, Known::Const(value));
                }
                self.b.goto((case.way.at(self.at), 0));
            }
            if !self.b.begin(others) {
                return;
            }
        }
    }
}
