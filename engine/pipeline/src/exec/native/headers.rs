//! Machine code for headers: reading them from the frame, adding, removing and writing them.

use super::translate::Translator;
use super::x86::{Alu, Assembler, Cond, Label, Reg, Shift};
use super::Offsets;
use crate::code::layout::{packet_slot, Piece, Slot};
use crate::code::program::Filled;

/// Words that are cleared inline.
const MAX_INLINE_WORDS: u16 = 32;

impl Translator<'_> {
    /// Reads a header of fixed size by loads of eight bytes, forward from each field, or near the
    /// end of the frame up to the field's last byte; the host does what is left.
    pub(super) fn extract(&mut self, pc: usize, header: u16) {
        let place = &self.layout.headers[header as usize];
        let shape = &self.layout.shapes[place.shape];
        let fits = |piece: &Piece| u32::from(piece.lead) + u32::from(piece.bits) <= 64;
        if shape.variable.is_some() || place.union.is_some() || !shape.pieces.iter().all(fits) {
            return self.host_jump(pc);
        }
        let base = place.base;
        let (near_end, next) = (self.asm.label(), self.asm.label());
        let last = shape.pieces.iter().map(|piece| i32::from(piece.start) + 8).max().unwrap_or(0);
        let asm = &mut self.asm;
        asm.load_frame(Reg::Rcx, Offsets::CURSOR);
        asm.move_reg(Reg::Rdx, Reg::Rcx);
        asm.alu_imm(Alu::Add, Reg::Rdx, last.max(shape.fixed_bytes() as i32));
        asm.alu_frame(Alu::Cmp, Reg::Rdx, Offsets::LENGTH);
        asm.jump_if(Cond::Above, near_end);
        asm.alu_frame(Alu::Add, Reg::Rcx, Offsets::PACKET);
        for piece in &shape.pieces {
            load_bits(asm, i32::from(piece.start), piece.lead, piece.bits, piece.signed);
            asm.store(base + piece.offset, Reg::Rax);
        }
        asm.store_imm(base, 1);
        asm.add_frame_imm(Offsets::CURSOR, shape.fixed_bytes() as i32);
        asm.jump(next);
        asm.bind(near_end);
        // Eight bytes that end with the field lie in the frame, if eight bytes came before.
        let slow = asm.label();
        asm.alu_imm(Alu::Cmp, Reg::Rcx, 8);
        asm.jump_if(Cond::Below, slow);
        asm.move_reg(Reg::Rdx, Reg::Rcx);
        asm.alu_imm(Alu::Add, Reg::Rdx, shape.fixed_bytes() as i32);
        asm.alu_frame(Alu::Cmp, Reg::Rdx, Offsets::LENGTH);
        asm.jump_if(Cond::Above, slow);
        asm.alu_frame(Alu::Add, Reg::Rcx, Offsets::PACKET);
        for piece in &shape.pieces {
            let span = piece.lead + piece.bits;
            let bytes = span.div_ceil(8);
            let start = i32::from(piece.start) + i32::from(bytes) - 8;
            load_bits(asm, start, 64 - 8 * bytes + piece.lead, piece.bits, piece.signed);
            asm.store(base + piece.offset, Reg::Rax);
        }
        asm.store_imm(base, 1);
        asm.add_frame_imm(Offsets::CURSOR, shape.fixed_bytes() as i32);
        asm.jump(next);
        asm.bind(slow);
        self.host_jump(pc);
        self.asm.bind(next);
    }

    /// Looks ahead where eight bytes can be loaded; the host does the rest.
    pub(super) fn lookahead(
        &mut self,
        pc: usize,
        dst: Slot,
        offset: u32,
        bits: u32,
        check: bool,
        signed: bool,
    ) {
        let lead = offset % 8;
        if bits > 64 && bits % 8 == 0 && lead == 0 && !signed {
            return self.wide_lookahead(pc, dst, (offset / 8) as i32, bits as i32 / 8, check);
        }
        let fallback = |this: &mut Self| if check { this.host_jump(pc) } else { this.host(pc) };
        if lead + bits > 64 || bits == 0 {
            return fallback(self);
        }
        let (near_end, next) = (self.asm.label(), self.asm.label());
        let asm = &mut self.asm;
        asm.load_frame(Reg::Rcx, Offsets::CURSOR);
        asm.move_reg(Reg::Rdx, Reg::Rcx);
        asm.alu_imm(Alu::Add, Reg::Rdx, (offset / 8 + 8) as i32);
        asm.alu_frame(Alu::Cmp, Reg::Rdx, Offsets::LENGTH);
        asm.jump_if(Cond::Above, near_end);
        asm.alu_frame(Alu::Add, Reg::Rcx, Offsets::PACKET);
        load_bits(asm, (offset / 8) as i32, lead as u8, bits as u8, signed);
        asm.store(dst, Reg::Rax);
        asm.jump(next);
        asm.bind(near_end);
        fallback(self);
        self.asm.bind(next);
    }

    /// Looks ahead at `bytes` whole bytes, more than eight, where they are there; the host does the rest.
    fn wide_lookahead(&mut self, pc: usize, dst: Slot, first: i32, bytes: i32, check: bool) {
        let (absent, next) = (self.asm.label(), self.asm.label());
        let asm = &mut self.asm;
        asm.load_frame(Reg::Rcx, Offsets::CURSOR);
        asm.move_reg(Reg::Rdx, Reg::Rcx);
        asm.alu_imm(Alu::Add, Reg::Rdx, first + bytes);
        asm.alu_frame(Alu::Cmp, Reg::Rdx, Offsets::LENGTH);
        asm.jump_if(Cond::Above, absent);
        asm.alu_frame(Alu::Add, Reg::Rcx, Offsets::PACKET);
        // The least limb is the last one in the frame; the greatest may have less than eight bytes.
        for (limb, end) in (1..=bytes).rev().step_by(8).enumerate() {
            asm.load_at(Reg::Rax, Reg::Rcx, first + (end - 8).max(0));
            asm.byte_swap(Reg::Rax);
            if end < 8 {
                asm.shift(Shift::Right, Reg::Rax, 64 - 8 * end as u8);
            }
            asm.store(dst + limb as Slot, Reg::Rax);
        }
        asm.jump(next);
        asm.bind(absent);
        if check {
            self.host_jump(pc);
        } else {
            self.host(pc);
        }
        self.asm.bind(next);
    }

    /// Code that writes the valid headers one after the other; rcx is where the next byte goes.
    pub(super) fn emit_headers(&mut self) -> Option<Label> {
        let order = &self.code.deparse_order;
        let shape_of = |header: u16| self.layout.shape_of(header);
        let odd = |header: u16| shape_of(header).variable.is_some() || shape_of(header).fixed_bits % 8 != 0;
        if order.iter().any(|&header| odd(header)) {
            return None;
        }
        let entry = self.asm.label();
        self.asm.bind(entry);
        self.asm.load_frame(Reg::Rcx, Offsets::OUT);
        let mut stack = None;
        for &header in order {
            stack = self.enter_stack(header, stack);
            if let Some((Filled { next, index }, end)) = stack {
                self.asm.alu_slot_imm(Alu::Cmp, next, i32::from(index) + 1);
                self.asm.jump_if(Cond::Below, end);
            }
            let base = self.layout.headers[header as usize].base;
            let shape = self.layout.shape_of(header);
            let skip = self.asm.label();
            self.asm.alu_slot_imm(Alu::Cmp, base, 0);
            self.asm.jump_if(Cond::Equal, skip);
            let mut at = 0;
            for chunk in &shape.chunks {
                for (index, part) in shape.parts[chunk.from as usize..chunk.to as usize].iter().enumerate() {
                    let reg = if index == 0 { Reg::Rdx } else { Reg::Rax };
                    self.asm.load(reg, base + part.offset);
                    if part.right > 0 {
                        self.asm.shift(Shift::Right, reg, part.right);
                    }
                    if !shape.is_clean(part) {
                        self.emit_mask(reg, part.mask);
                    }
                    if part.left > 0 {
                        self.asm.shift(Shift::Left, reg, part.left);
                    }
                    if index > 0 {
                        self.asm.alu_reg(Alu::Or, Reg::Rdx, Reg::Rax);
                    }
                }
                if chunk.bytes < 8 {
                    self.asm.shift(Shift::Left, Reg::Rdx, 64 - 8 * chunk.bytes);
                }
                self.asm.byte_swap(Reg::Rdx);
                self.asm.store_at(Reg::Rcx, at, Reg::Rdx);
                at += i32::from(chunk.bytes);
            }
            self.asm.alu_imm(Alu::Add, Reg::Rcx, at);
            self.asm.bind(skip);
        }
        self.leave_stack(stack);
        self.asm.store_frame(Offsets::OUT, Reg::Rcx);
        self.asm.jump(self.ended);
        Some(entry)
    }

    /// Masks without a scratch register: rcx is in use.
    fn emit_mask(&mut self, reg: Reg, mask: u64) {
        let unused = mask.leading_zeros() as u8;
        match i32::try_from(mask) {
            Ok(value) => self.asm.alu_imm(Alu::And, reg, value),
            Err(_) if unused > 0 => {
                self.asm.shift(Shift::Left, reg, unused);
                self.asm.shift(Shift::Right, reg, unused);
            }
            Err(_) => {}
        }
    }

    /// The header that a constant operand names, if it is a plain one.
    fn plain_header(&self, operand: Slot) -> Option<(Slot, u16, i32)> {
        let place = self.layout.headers.get(usize::try_from(self.constant(operand)?).ok()?)?;
        let shape = &self.layout.shapes[place.shape];
        let plain = place.union.is_none() && !place.metadata && shape.variable.is_none();
        (plain && shape.slots <= MAX_INLINE_WORDS).then_some((
            place.base,
            shape.slots,
            shape.fixed_bytes() as i32,
        ))
    }

    pub(super) fn add_header(&mut self, pc: usize, operand: Slot) {
        let Some((base, slots, bytes)) = self.plain_header(operand) else { return self.host(pc) };
        let skip = self.asm.label();
        self.asm.alu_slot_imm(Alu::Cmp, base, 0);
        self.asm.jump_if(Cond::NotEqual, skip);
        for slot in base + 1..base + slots {
            self.asm.store_imm(slot, 0);
        }
        self.asm.store_imm(base, 1);
        self.asm.alu_slot_imm(Alu::Add, packet_slot::LENGTH, bytes);
        self.asm.bind(skip);
    }

    pub(super) fn remove_header(&mut self, pc: usize, operand: Slot) {
        let Some((base, _, bytes)) = self.plain_header(operand) else { return self.host(pc) };
        let skip = self.asm.label();
        self.asm.alu_slot_imm(Alu::Cmp, base, 0);
        self.asm.jump_if(Cond::Equal, skip);
        self.asm.alu_slot_imm(Alu::Sub, packet_slot::LENGTH, bytes);
        self.asm.store_imm(base, 0);
        self.asm.bind(skip);
    }
}

/// Loads the eight bytes at `rcx + start` into rax, and keeps `bits` bits of them, behind the first `lead` bits.
fn load_bits(asm: &mut Assembler, start: i32, lead: u8, bits: u8, signed: bool) {
    asm.load_at(Reg::Rax, Reg::Rcx, start);
    asm.byte_swap(Reg::Rax);
    if lead > 0 {
        asm.shift(Shift::Left, Reg::Rax, lead);
    }
    if bits < 64 {
        let shift = if signed { Shift::RightSigned } else { Shift::Right };
        asm.shift(shift, Reg::Rax, 64 - bits);
    }
}
