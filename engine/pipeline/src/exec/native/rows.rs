//! Register arrays in machine code. What belongs to one flow lies side by side, so the address of a row is computed once and
//! kept for the accesses that follow.
//!
//! [`Rows`] says before each instruction which row the kept address is of: the one that all ways to it bring along. Where a
//! way is not known, it is none.

use super::translate::Translator;
use super::ways::{next, Ways};
use super::x86::{Cond, Label, Reg};
use super::Offsets;
use crate::code::ir::Op;
use crate::code::layout::{Layout, Slot};
use crate::code::program::Code;
use crate::load::effects::effects;

/// The row of a block of arrays whose number a slot holds.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Row {
    block: usize,
    index: Slot,
}

/// What is known where an instruction begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// No way leads there, of those seen so far.
    NoWay,
    Kept(Option<Row>),
}

impl Known {
    fn join(self, other: Known) -> Known {
        match (self, other) {
            (Known::NoWay, known) | (known, Known::NoWay) => known,
            (a, b) if a == b => a,
            _ => Known::Kept(None),
        }
    }
}

/// What is known before each instruction.
pub(super) struct Rows(Vec<Known>);

impl Rows {
    pub fn new(code: &Code, layout: &Layout, ways: &Ways) -> Rows {
        let mut before = vec![Known::NoWay; code.ops.len()];
        let mut pending = ways.entered.clone();
        pending.iter().for_each(|&pc| before[pc as usize] = Known::Kept(None));
        while let Some(pc) = pending.pop() {
            let op = &code.ops[pc as usize];
            let after = after(code, layout, op, before[pc as usize]);
            for to in next(pc, op) {
                let Some(known) = before.get_mut(to as usize) else { continue };
                let joined = known.join(after);
                if joined != *known {
                    *known = joined;
                    pending.push(to);
                }
            }
        }
        Rows(before)
    }
}

/// What is known after an instruction.
fn after(code: &Code, layout: &Layout, op: &Op, before: Known) -> Known {
    let row = match *op {
        Op::RegisterRead { register, index, .. } | Op::RegisterWrite { register, index, .. }
            if code.registers[register as usize].limbs == 1 =>
        {
            Row { block: code.registers[register as usize].block, index }
        }
        _ => match before {
            Known::Kept(Some(row)) => row,
            other => return other,
        },
    };
    let writes_index = |&(first, count): &(Slot, usize)| {
        (first as usize..first as usize + count).contains(&(row.index as usize))
    };
    let keeps = effects(code, layout, op).is_some_and(|effects| {
        effects.extracts.is_none() && !effects.writes.iter().chain(&effects.may_write).any(writes_index)
    });
    Known::Kept(keeps.then_some(row))
}

impl Translator<'_> {
    /// Reads a cell of one word; a cell that there is not leaves `dst` alone.
    pub(super) fn read_register(&mut self, pc: usize, dst: Slot, register: u16, index: Slot) {
        let (skip, at) = self.row(pc, register, index);
        self.asm.load_from_row(Reg::Rax, at);
        self.asm.store(dst, Reg::Rax);
        self.asm.bind(skip);
    }

    /// Writes a cell of one word, if there is one.
    pub(super) fn write_register(&mut self, pc: usize, register: u16, index: Slot, src: Slot) {
        let (skip, at) = self.row(pc, register, index);
        self.load(Reg::Rcx, src);
        self.asm.store_in_row(at, Reg::Rcx);
        self.asm.bind(skip);
    }

    /// Keeps the address of the row of a cell, and gives the distance of the cell from it; past the label there is no such
    /// row.
    fn row(&mut self, pc: usize, register: u16, index: Slot) -> (Label, i32) {
        let place = &self.code.registers[register as usize];
        let row = Known::Kept(Some(Row { block: place.block, index }));
        let at = 8 * place.offset as i32;
        if self.rows.0[pc] != row {
            let absent = self.asm.label();
            let view = i32::from(register) * 16;
            self.asm.clear_row();
            self.load(Reg::Rax, index);
            self.asm.load_frame(Reg::Rdx, Offsets::REGISTERS);
            self.asm.cmp_at(Reg::Rax, Reg::Rdx, view + 8);
            self.asm.jump_if(Cond::NotBelow, absent);
            self.asm.multiply_imm(Reg::Rax, 8 * place.stride as i32);
            // The array begins at its own cell of the first row.
            self.asm.set_row(Reg::Rdx, view, Reg::Rax, -at);
            self.asm.bind(absent);
        }
        let skip = self.asm.label();
        self.asm.test_row();
        self.asm.jump_if(Cond::Equal, skip);
        (skip, at)
    }
}
