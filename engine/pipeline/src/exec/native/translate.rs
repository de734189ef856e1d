//! Translates instructions one by one to machine code. Word operations, branches, register
//! arrays, counters and the headers of fixed size (`headers`) are inline; everything else calls the host, which
//! executes the instruction as the interpreter would.

use super::cases::Case;
use super::control_flow::ControlFlow;
use super::passing::passing;
use super::rows::Rows;
use super::x86::{Alu, Assembler, Cond, Label, Reg, Shift};
use super::{Offsets, STATUS_DONE, STATUS_RUNAWAY};
use crate::code::calculation::{SumPlan, Term};
use crate::code::ir::{Op, Pc, Select, SelectCase};
use crate::code::layout::Layout;
use crate::code::layout::{packet_slot, Slot};
use crate::code::program::Code;
use crate::exec::context::LOOP_LIMIT;
use crate::numbers::words::{from_bytes, limbs_for, mask64};

/// Select cases that become a chain of comparisons.
const MAX_INLINE_CASES: usize = 24;

/// Machine code with the offset of every instruction.
pub(super) struct Translation {
    pub bytes: Vec<u8>,
    /// Offset of each instruction, and of the end.
    pub offsets: Vec<u32>,
    /// Offsets of the code that writes headers, of that which sets the slots for a new packet, and of those which
    /// bring them back for egress, where they could be made.
    pub emit: Option<u32>,
    pub start: Option<u32>,
    pub restore: Option<u32>,
    pub restore_again: Option<u32>,
    pub after_parser: u32,
    /// There with `emit`.
    pub after_egress: Option<u32>,
}

pub(super) struct Translator<'c> {
    pub code: &'c Code,
    pub layout: &'c Layout,
    pub asm: Assembler,
    pub rows: Rows,
    /// The slot whose value is in rax where the next instruction begins.
    held: Option<Slot>,
    /// The result of the instruction in work need not be stored.
    passes: bool,
    labels: Vec<Label>,
    /// The end of a part of the program.
    pub done: Label,
    /// The way back to the host.
    pub ended: Label,
    runaway: Label,
    pub host: Host,
    /// The entries that the program brings, by table.
    pub entries: &'c [Vec<Case>],
}

/// Addresses of host functions.
#[derive(Clone, Copy)]
pub(super) struct Host {
    /// Executes one instruction.
    pub step: u64,
    /// Finds where a table leads, if it has leads.
    pub find: u64,
    /// As `find`, given a key of one word.
    pub find_word: u64,
    /// Looks up a table and prepares its action.
    pub table: u64,
}

pub(super) fn translate(
    code: &Code,
    layout: &Layout,
    entries: &[Vec<Case>],
    host: Host,
) -> Option<Translation> {
    let mut asm = Assembler::default();
    let labels: Vec<Label> = (0..=code.ops.len()).map(|_| asm.label()).collect();
    let (done, ended, runaway) = (asm.label(), asm.label(), asm.label());
    asm.prologue();
    let control_flow = ControlFlow::new(code);
    let rows = Rows::new(code, layout, &control_flow);
    let passing = passing(code, layout, &control_flow);
    let mut translator = Translator {
        code,
        layout,
        asm,
        rows,
        held: None,
        passes: false,
        labels,
        done,
        ended,
        runaway,
        host,
        entries,
    };
    for (pc, op) in code.ops.iter().enumerate() {
        translator.asm.bind(translator.labels[pc]);
        if control_flow.starts_block(pc) || !takes_first(op) {
            translator.held = None;
        }
        translator.passes = passing[pc];
        translator.op(pc, op);
    }
    let emit = translator.emit_headers();
    let start = translator.emit_start();
    let restore = translator.emit_restore(false);
    let restore_again = translator.emit_restore(true);
    let after_parser = translator.emit_after_parser();
    let after_egress = emit.map(|emit| translator.emit_after_egress(emit));
    translator.asm.bind(translator.labels[code.ops.len()]);
    translator.emit_end();
    let Translator { mut asm, labels, .. } = translator;
    asm.bind(ended);
    asm.epilogue(STATUS_DONE);
    asm.bind(runaway);
    asm.epilogue(STATUS_RUNAWAY);
    let offsets = labels
        .iter()
        .map(|&label| asm.offset_of(label).map(|offset| offset as u32))
        .collect::<Option<_>>()?;
    asm.finish()?;
    let offset_of = |label: Option<Label>| asm.offset_of(label?).map(|offset| offset as u32);
    Some(Translation {
        offsets,
        emit: offset_of(emit),
        start: offset_of(start),
        restore: offset_of(restore),
        restore_again: offset_of(restore_again),
        after_parser: offset_of(Some(after_parser))?,
        after_egress: offset_of(after_egress),
        bytes: asm.bytes,
    })
}

/// True for instructions that bring their first operand into rax before they change it, and leave nothing but their result
/// there, or nothing.
fn takes_first(op: &Op) -> bool {
    matches!(
        op,
        Op::BranchZero { .. }
            | Op::BranchNotZero { .. }
            | Op::BranchEq { .. }
            | Op::BranchNe { .. }
            | Op::BranchLessU { .. }
            | Op::BranchNotLessU { .. }
            | Op::BranchLessS { .. }
            | Op::BranchNotLessS { .. }
            | Op::Move { .. }
            | Op::Add { .. }
            | Op::Sub { .. }
            | Op::And { .. }
            | Op::Or { .. }
            | Op::Xor { .. }
            | Op::Mul { .. }
            | Op::AndMask { .. }
            | Op::Not { .. }
            | Op::ShiftLeft { .. }
            | Op::ShiftRightU { .. }
            | Op::ShiftRightS { .. }
            | Op::Slice { .. }
            | Op::SignExtend { .. }
            | Op::Eq { .. }
            | Op::Ne { .. }
            | Op::LessU { .. }
            | Op::LessS { .. }
            | Op::IsZero { .. }
            | Op::MinS { .. }
            | Op::MaxS { .. }
            | Op::MinU { .. }
    )
}

/// True where all cases of a select are values as long as its key, and not too many to compare one after the other.
fn has_few_values(select: &Select) -> bool {
    let bytes = select.parts.iter().map(|part| part.bits.div_ceil(8) as usize).sum::<usize>();
    let fits = |case: &SelectCase| match case {
        SelectCase::Value { value, mask, .. } => {
            value.len() == bytes && mask.as_ref().is_none_or(|mask| mask.len() == bytes)
        }
        SelectCase::ValueSet { .. } => false,
    };
    select.cases.len() <= MAX_INLINE_CASES && select.cases.iter().all(fits)
}

impl Translator<'_> {
    /// Value of a slot that holds a constant.
    pub fn constant(&self, slot: Slot) -> Option<u64> {
        self.code.constant(slot)
    }

    fn small(&self, slot: Slot) -> Option<i32> {
        self.constant(slot).and_then(|value| i32::try_from(value as i64).ok())
    }

    pub fn label(&self, pc: Pc) -> Label {
        self.labels.get(pc as usize).copied().unwrap_or(self.done)
    }

    pub fn load(&mut self, reg: Reg, slot: Slot) {
        match self.constant(slot) {
            Some(value) => self.asm.imm(reg, value),
            None => self.asm.load(reg, slot),
        }
    }

    fn alu(&mut self, op: Alu, reg: Reg, slot: Slot) {
        match self.small(slot) {
            Some(value) => self.asm.alu_imm(op, reg, value),
            None => self.asm.alu(op, reg, slot),
        }
    }

    /// Brings the first operand of an instruction into rax, where it may be already.
    fn first(&mut self, slot: Slot) {
        if self.held.take() != Some(slot) {
            self.load(Reg::Rax, slot);
        }
    }

    /// Stores the result of an instruction, which is in rax, if anything but the next instruction reads it.
    fn result(&mut self, dst: Slot) {
        if !self.passes {
            self.asm.store(dst, Reg::Rax);
        }
        self.held = Some(dst);
    }

    fn binary(&mut self, op: Alu, dst: Slot, a: Slot, b: Slot, mask: u64) {
        let (a, b) = if op != Alu::Sub && self.held == Some(b) { (b, a) } else { (a, b) };
        self.first(a);
        self.alu(op, Reg::Rax, b);
        self.asm.mask(Reg::Rax, mask, Reg::Rcx);
        self.result(dst);
    }

    /// Compares two slots and leaves the flags.
    fn compare(&mut self, a: Slot, b: Slot) {
        if let (None, Some(value)) = (self.constant(a), self.small(b)) {
            match self.held {
                Some(held) if held == a => self.asm.alu_imm(Alu::Cmp, Reg::Rax, value),
                _ => self.asm.alu_slot_imm(Alu::Cmp, a, value),
            }
        } else {
            self.first(a);
            self.alu(Alu::Cmp, Reg::Rax, b);
            self.held = Some(a);
        }
    }

    fn branch(&mut self, cond: Cond, a: Slot, b: Slot, to: Pc) {
        self.compare(a, b);
        let label = self.label(to);
        self.asm.jump_if(cond, label);
    }

    fn branch_on_zero(&mut self, cond: Cond, a: Slot, to: Pc) {
        match (self.constant(a), self.held == Some(a)) {
            (None, false) => self.asm.alu_slot_imm(Alu::Cmp, a, 0),
            _ => {
                self.first(a);
                self.asm.alu_imm(Alu::Cmp, Reg::Rax, 0);
                self.held = Some(a);
            }
        }
        let label = self.label(to);
        self.asm.jump_if(cond, label);
    }

    fn truth(&mut self, cond: Cond, dst: Slot, a: Slot, b: Slot) {
        self.compare(a, b);
        self.asm.set(cond, Reg::Rax);
        self.result(dst);
    }

    fn choose(&mut self, cond: Cond, dst: Slot, a: Slot, b: Slot) {
        self.first(a);
        self.load(Reg::Rcx, b);
        self.asm.alu_reg(Alu::Cmp, Reg::Rax, Reg::Rcx);
        self.asm.move_if(cond, Reg::Rax, Reg::Rcx);
        self.result(dst);
    }

    fn shift(&mut self, shift: Shift, dst: Slot, a: Slot, b: Slot, mask: u64) {
        if let Some(amount) = self.constant(b) {
            let amount = if shift == Shift::RightSigned { amount.min(63) } else { amount };
            if amount > 63 {
                self.asm.imm(Reg::Rax, 0);
            } else {
                self.first(a);
                if amount > 0 {
                    self.asm.shift(shift, Reg::Rax, amount as u8);
                }
            }
        } else {
            self.load(Reg::Rcx, b);
            self.first(a);
            if shift == Shift::RightSigned {
                self.asm.imm(Reg::Rdx, 63);
                self.asm.alu_reg(Alu::Cmp, Reg::Rcx, Reg::Rdx);
                self.asm.move_if(Cond::Above, Reg::Rcx, Reg::Rdx);
                self.asm.shift_by_cl(shift, Reg::Rax);
            } else {
                self.asm.shift_by_cl(shift, Reg::Rax);
                self.asm.alu_imm(Alu::Cmp, Reg::Rcx, 64);
                self.asm.carry_mask(Reg::Rdx);
                self.asm.alu_reg(Alu::And, Reg::Rax, Reg::Rdx);
            }
        }
        self.asm.mask(Reg::Rax, mask, Reg::Rcx);
        self.result(dst);
    }

    /// Lets the host execute instruction `pc`, which may only go on with the next one.
    pub fn host(&mut self, pc: usize) {
        self.asm.call(self.host.step, pc as u32);
    }

    /// Lets the host execute instruction `pc`, which may go elsewhere.
    pub fn host_jump(&mut self, pc: usize) {
        self.host(pc);
        let next = self.asm.label();
        self.asm.jump_if(Cond::Equal, next);
        self.asm.jump_rax();
        self.asm.bind(next);
    }

    fn op(&mut self, pc: usize, op: &Op) {
        match *op {
            Op::Halt => self.asm.jump(self.done),
            Op::Return => {
                self.asm.alu_slot_imm(Alu::Cmp, packet_slot::EXIT, 0);
                self.asm.jump_if(Cond::NotEqual, self.done);
                self.asm.jump_return();
            }
            Op::HaltIfExit => {
                self.asm.alu_slot_imm(Alu::Cmp, packet_slot::EXIT, 0);
                self.asm.jump_if(Cond::NotEqual, self.done);
            }
            Op::Jump { to } => {
                if to as usize != pc + 1 {
                    self.asm.jump(self.label(to));
                }
            }
            Op::Guard => self.asm.count_loop(LOOP_LIMIT as i32, self.runaway),
            Op::BranchZero { a, to } => self.branch_on_zero(Cond::Equal, a, to),
            Op::BranchNotZero { a, to } => self.branch_on_zero(Cond::NotEqual, a, to),
            Op::BranchEq { a, b, to } => self.branch(Cond::Equal, a, b, to),
            Op::BranchNe { a, b, to } => self.branch(Cond::NotEqual, a, b, to),
            Op::BranchLessU { a, b, to } => self.branch(Cond::Below, a, b, to),
            Op::BranchNotLessU { a, b, to } => self.branch(Cond::NotBelow, a, b, to),
            Op::BranchLessS { a, b, to } => self.branch(Cond::Less, a, b, to),
            Op::BranchNotLessS { a, b, to } => self.branch(Cond::NotLess, a, b, to),
            Op::Move { dst, a } => match self.small(a) {
                Some(value) => {
                    self.asm.store_imm(dst, value);
                    self.held = self.held.filter(|&held| held != dst);
                }
                None => {
                    self.first(a);
                    self.result(dst);
                }
            },
            Op::MoveMany { dst, a, count } if count <= 2 && !(dst > a && dst < a + count) => {
                for word in 0..count {
                    self.load(Reg::Rax, a + word);
                    self.asm.store(dst + word, Reg::Rax);
                }
            }
            Op::Add { dst, a, b, mask } => self.binary(Alu::Add, dst, a, b, mask),
            Op::Sub { dst, a, b, mask } => self.binary(Alu::Sub, dst, a, b, mask),
            Op::And { dst, a, b } => self.binary(Alu::And, dst, a, b, u64::MAX),
            Op::Or { dst, a, b, mask } => self.binary(Alu::Or, dst, a, b, mask),
            Op::Xor { dst, a, b, mask } => self.binary(Alu::Xor, dst, a, b, mask),
            Op::Mul { dst, a, b, mask } => {
                self.first(a);
                self.asm.multiply(Reg::Rax, b);
                self.asm.mask(Reg::Rax, mask, Reg::Rcx);
                self.result(dst);
            }
            Op::AndMask { dst, a, mask } => {
                self.first(a);
                self.asm.mask(Reg::Rax, mask, Reg::Rcx);
                self.result(dst);
            }
            Op::Not { dst, a, mask } => {
                self.first(a);
                self.asm.not(Reg::Rax);
                self.asm.mask(Reg::Rax, mask, Reg::Rcx);
                self.result(dst);
            }
            Op::ShiftLeft { dst, a, b, mask } => self.shift(Shift::Left, dst, a, b, mask),
            Op::ShiftRightU { dst, a, b } => self.shift(Shift::Right, dst, a, b, u64::MAX),
            Op::ShiftRightS { dst, a, b } => self.shift(Shift::RightSigned, dst, a, b, u64::MAX),
            Op::Slice { dst, a, right, mask } => {
                self.first(a);
                if right & 63 > 0 {
                    self.asm.shift(Shift::Right, Reg::Rax, right & 63);
                }
                self.asm.mask(Reg::Rax, mask, Reg::Rcx);
                self.result(dst);
            }
            Op::SignExtend { dst, a, bits } => {
                self.first(a);
                if (1..64).contains(&bits) {
                    self.asm.shift(Shift::Left, Reg::Rax, 64 - bits);
                    self.asm.shift(Shift::RightSigned, Reg::Rax, 64 - bits);
                }
                self.result(dst);
            }
            Op::Eq { dst, a, b } => self.truth(Cond::Equal, dst, a, b),
            Op::Ne { dst, a, b } => self.truth(Cond::NotEqual, dst, a, b),
            Op::LessU { dst, a, b } => self.truth(Cond::Below, dst, a, b),
            Op::LessS { dst, a, b } => self.truth(Cond::Less, dst, a, b),
            Op::IsZero { dst, a } => {
                self.first(a);
                self.asm.alu_imm(Alu::Cmp, Reg::Rax, 0);
                self.asm.set(Cond::Equal, Reg::Rax);
                self.result(dst);
            }
            Op::MinS { dst, a, b } => self.choose(Cond::Greater, dst, a, b),
            Op::MaxS { dst, a, b } => self.choose(Cond::Less, dst, a, b),
            Op::MinU { dst, a, b } => self.choose(Cond::Above, dst, a, b),

            Op::Extract { header } => self.extract(pc, header),
            Op::ParserError { a } => {
                self.load(Reg::Rax, a);
                self.asm.store(packet_slot::PARSER_ERROR, Reg::Rax);
                self.asm.jump(self.label(self.code.parser_end));
            }
            Op::Select { select } => {
                let select = &self.code.selects[select as usize];
                match &select.narrow {
                    Some(cases) if cases.len() <= MAX_INLINE_CASES => self.select(select, cases),
                    None if has_few_values(select) => self.wide_select(select),
                    _ => self.host_jump(pc),
                }
            }
            Op::Table { table } => self.table(table),
            Op::RegisterRead { dst, register, index }
                if self.code.registers[register as usize].limbs == 1 =>
            {
                self.read_register(pc, dst, register, index);
            }
            Op::RegisterWrite { register, index, src }
                if self.code.registers[register as usize].limbs == 1 =>
            {
                self.write_register(pc, register, index, src);
            }
            Op::Count { counter, index } => {
                let skip = self.counter_cell(counter, index);
                // A cell is two words: packets, then bytes.
                self.asm.shift(Shift::Left, Reg::Rax, 4);
                self.asm.alu_reg(Alu::Add, Reg::Rdx, Reg::Rax);
                self.asm.add_at_imm(Reg::Rdx, 0, 1);
                self.load(Reg::Rax, packet_slot::INGRESS_LENGTH);
                self.asm.add_at(Reg::Rdx, 8, Reg::Rax);
                self.asm.bind(skip);
            }
            Op::Hash { dst, calculation } => match &self.code.calculations[calculation as usize].sum {
                Some(plan) if !plan.payload => self.checksum(dst, plan),
                _ => self.host(pc),
            },
            Op::Lookahead { dst, offset, bits, check, signed } => {
                self.lookahead(pc, dst, offset, u32::from(bits), check, signed);
            }
            Op::AddHeader { header } => self.add_header(pc, header),
            Op::RemoveHeader { header } => self.remove_header(pc, header),
            Op::ExtractNext { .. } | Op::ExtractUnionNext { .. } | Op::Advance { .. } => self.host_jump(pc),
            _ => self.host(pc),
        }
    }

    /// Checks the index of a counter: rax is the index and rdx the first cell; past the label it is out of range.
    fn counter_cell(&mut self, counter: u16, index: Slot) -> Label {
        let skip = self.asm.label();
        let view = i32::from(counter) * 16;
        self.load(Reg::Rax, index);
        self.asm.load_frame(Reg::Rdx, Offsets::COUNTERS);
        self.asm.cmp_at(Reg::Rax, Reg::Rdx, view + 8);
        self.asm.jump_if(Cond::NotBelow, skip);
        self.asm.load_at(Reg::Rdx, Reg::Rdx, view);
        skip
    }

    fn select(&mut self, select: &Select, cases: &[(u64, u64, Pc)]) {
        for (index, part) in select.parts.iter().enumerate() {
            let bytes = part.bits.div_ceil(8) as u8;
            let mask = mask64(part.bits);
            if index == 0 {
                self.load(Reg::Rax, part.slot);
                self.asm.mask(Reg::Rax, mask, Reg::Rcx);
            } else {
                // Eight bytes can only be a part of their own.
                self.asm.shift(Shift::Left, Reg::Rax, 8 * bytes.min(7));
                self.load(Reg::Rdx, part.slot);
                self.asm.mask(Reg::Rdx, mask, Reg::Rcx);
                self.asm.alu_reg(Alu::Or, Reg::Rax, Reg::Rdx);
            }
        }
        for &(mask, value, to) in cases {
            let subject = if mask == u64::MAX {
                Reg::Rax
            } else {
                self.asm.move_reg(Reg::Rdx, Reg::Rax);
                self.asm.mask(Reg::Rdx, mask, Reg::Rcx);
                Reg::Rdx
            };
            self.compare_value(subject, value);
            let label = self.label(to);
            self.asm.jump_if(Cond::Equal, label);
        }
        let label = self.label(select.default);
        self.asm.jump(label);
    }

    /// Compares a key of more than 64 bits with one case after the other, limb by limb.
    fn wide_select(&mut self, select: &Select) {
        for case in &select.cases {
            let SelectCase::Value { value, mask, to } = case else { continue };
            let next_case = self.asm.label();
            let mut at = 0;
            for part in &select.parts {
                let bytes = at..at + part.bits.div_ceil(8) as usize;
                at = bytes.end;
                let limbs = limbs_for(part.bits).max(1);
                let wanted = from_bytes(&value[bytes.clone()], limbs);
                let looked_at = match mask {
                    Some(mask) => from_bytes(&mask[bytes], limbs),
                    None => vec![u64::MAX; limbs],
                };
                for (limb, (wanted, looked_at)) in wanted.into_iter().zip(looked_at).enumerate() {
                    let held = mask64((part.bits - 64 * limb as u32).min(64));
                    // The key is 0 where its part has no bits.
                    if wanted & looked_at & !held != 0 {
                        self.asm.jump(next_case);
                    } else if looked_at & held != 0 {
                        self.load(Reg::Rax, part.slot + limb as Slot);
                        self.asm.mask(Reg::Rax, looked_at & held, Reg::Rcx);
                        self.compare_value(Reg::Rax, wanted & looked_at);
                        self.asm.jump_if(Cond::NotEqual, next_case);
                    }
                }
            }
            self.asm.jump(self.label(*to));
            self.asm.bind(next_case);
        }
        self.asm.jump(self.label(select.default));
    }

    /// Compares a register with a constant; rcx is overwritten.
    pub fn compare_value(&mut self, subject: Reg, value: u64) {
        match i32::try_from(value as i64) {
            Ok(value) => self.asm.alu_imm(Alu::Cmp, subject, value),
            Err(_) => {
                self.asm.imm(Reg::Rcx, value);
                self.asm.alu_reg(Alu::Cmp, subject, Reg::Rcx);
            }
        }
    }

    /// Sums the fields of an Internet checksum in rdx and folds the sum.
    fn checksum(&mut self, dst: Slot, plan: &SumPlan) {
        self.asm.imm(Reg::Rdx, plan.constant);
        let mut most = plan.constant;
        for group in &plan.groups {
            let skip = self.asm.label();
            self.asm.alu_slot_imm(Alu::Cmp, group.valid, 0);
            self.asm.jump_if(Cond::Equal, skip);
            for term in &group.terms {
                self.add_term(term);
                most += term.mask << term.left;
            }
            self.asm.bind(skip);
        }
        while most > 0xffff {
            self.asm.move_low_half(Reg::Rax, Reg::Rdx);
            self.asm.shift(Shift::Right, Reg::Rdx, 16);
            self.asm.alu_reg(Alu::Add, Reg::Rdx, Reg::Rax);
            // One carry at most, which leaves room for itself.
            most = if most < 0x1_ffff { 0xffff } else { 0xffff + (most >> 16) };
        }
        self.asm.alu_imm(Alu::Xor, Reg::Rdx, 0xffff);
        self.asm.store(dst, Reg::Rdx);
    }

    /// Adds a term of a checksum to rdx.
    fn add_term(&mut self, term: &Term) {
        if term.right == 0 && term.left == 0 && term.is_uppermost {
            return self.asm.alu(Alu::Add, Reg::Rdx, term.slot);
        }
        self.asm.load(Reg::Rax, term.slot);
        if term.right > 0 {
            self.asm.shift(Shift::Right, Reg::Rax, term.right);
        }
        if !term.is_uppermost {
            self.asm.mask(Reg::Rax, term.mask, Reg::Rcx);
        }
        if term.left > 0 {
            self.asm.shift(Shift::Left, Reg::Rax, term.left);
        }
        self.asm.alu_reg(Alu::Add, Reg::Rdx, Reg::Rax);
    }
}
