//! Machine code for register arrays.

use super::translate::Translator;
use super::x86::{Cond, Label, Reg};
use super::Offsets;
use crate::code::layout::Slot;

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
        let at = 8 * place.offset as i32;
        if !self.rows.is_kept(pc, place.block, index) {
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
