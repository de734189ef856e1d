//! Code for headers: reading them from the frame, adding, removing and writing them.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types, types::I64, InstBuilder, Value};

use super::flow::{frame_flags, Key, Known, CURSOR};
use super::part::Emitter;
use super::Offsets;
use crate::code::layout::{packet_slot, HeaderShape, Piece, Slot};
use crate::code::program::Filled;
use crate::numbers::words::mask64;

/// Words that are cleared inline.
const MAX_INLINE_WORDS: u16 = 32;

/// Bytes of a header, one load, that hold a piece.
struct Window {
    start: u16,
    bytes: u8,
}

/// The shortest load within a header that has all of a piece.
fn window(shape: &HeaderShape, piece: &Piece) -> Option<Window> {
    let bytes = shape.fixed_bytes() as u16;
    let span = u16::from(piece.lead + piece.bits).div_ceil(8);
    let width = [1, 2, 4, 8].into_iter().find(|&width| width >= span && width <= bytes)?;
    Some(Window { start: piece.start.min(bytes - width), bytes: width as u8 })
}

impl Emitter<'_, '_> {
    /// Reads a header of fixed size that is in the frame as a whole; the host does what is left.
    pub(super) fn extract(&mut self, header: u16) {
        let layout = self.source.layout;
        let place = &layout.headers[header as usize];
        let shape = &layout.shapes[place.shape];
        let fits = |piece: &Piece| u32::from(piece.lead) + u32::from(piece.bits) <= 64;
        let windows: Option<Vec<Window>> = shape.pieces.iter().map(|piece| window(shape, piece)).collect();
        let (Some(windows), None, None, true) =
            (windows, shape.variable, place.union, shape.pieces.iter().all(fits))
        else {
            return self.host_jump();
        };
        let (within, slow, loaded) = (self.key(1), self.key(2), self.key(3));
        let on = self.to(self.at.pc + 1);
        let cursor = self.b.load(CURSOR);
        let end = self.add(cursor, Known::Const(shape.fixed_bytes() as u64));
        let length = self.load_frame(Offsets::LENGTH);
        let fits = {
            let end = self.b.value(end);
            self.b.ins.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, length)
        };
        self.b.seldom(slow);
        self.b.branch(fits, within, slow);
        if self.b.begin(slow) {
            self.b.seldom(loaded);
            self.host_jump_to(loaded);
            if self.b.begin(loaded) {
                layout.block(header).for_each(|slot| self.b.load_written(slot.into()));
                self.b.load_written(CURSOR);
                self.b.goto(on);
            }
        }
        self.b.begin(within);
        let packet = self.load_frame(Offsets::PACKET);
        let (base, offset) = match cursor {
            Known::Const(cursor) => (packet, cursor as i32),
            Known::Value(cursor) => (self.b.ins.ins().iadd(packet, cursor), 0),
        };
        for (piece, window) in shape.pieces.iter().zip(windows) {
            let lead = 8 * (piece.start - window.start) as u8 + piece.lead;
            let at = offset + i32::from(window.start);
            let value = self.load_bits(base, at, window.bytes, lead, piece.bits, piece.signed);
            self.set(place.base + piece.offset, value);
        }
        self.set(place.base, Known::Const(1));
        self.b.store(CURSOR, end);
        self.b.goto(on);
    }

    /// Loads up to eight bytes and keeps `bits` bits of them, behind the first `lead` bits.
    fn load_bits(&mut self, base: Value, at: i32, bytes: u8, lead: u8, bits: u8, signed: bool) -> Known {
        let ins = &mut self.b.ins;
        let flags = frame_flags();
        let value = match bytes {
            1 => ins.ins().uload8(I64, flags, base, at),
            2 | 4 => {
                let width = if bytes == 2 { types::I16 } else { types::I32 };
                let value = ins.ins().load(width, flags, base, at);
                let value = ins.ins().bswap(value);
                ins.ins().uextend(I64, value)
            }
            _ => {
                let value = ins.ins().load(I64, flags, base, at);
                ins.ins().bswap(value)
            }
        };
        let below = 8 * bytes - lead - bits;
        if signed {
            let up = ins.ins().ishl_imm(value, i64::from(64 - 8 * bytes + lead));
            return Known::Value(ins.ins().sshr_imm(up, i64::from(64 - bits)));
        }
        if lead > 0 && bits > 32 {
            let up = ins.ins().ishl_imm(value, i64::from(64 - 8 * bytes + lead));
            let value = ins.ins().ushr_imm(up, i64::from(64 - bits));
            return self.bounded(Known::Value(value), mask64(bits.into()));
        }
        self.b.bound(value, mask64(8 * u32::from(bytes)));
        let value = self.right(Known::Value(value), below);
        self.mask(value, mask64(bits.into()))
    }

    /// Looks ahead where eight bytes can be loaded; the host does the rest.
    pub(super) fn lookahead(&mut self, dst: Slot, offset: u32, bits: u32, check: bool, signed: bool) {
        let lead = offset % 8;
        let is_wide = bits > 64 && bits % 8 == 0 && lead == 0 && !signed;
        if !is_wide && (lead + bits > 64 || bits == 0) {
            return if check { self.host_jump() } else { self.host() };
        }
        let first = (offset / 8) as i32;
        let needed = if is_wide { first + bits as i32 / 8 } else { first + 8 };
        let (within, slow, loaded, on) = (self.key(1), self.key(2), self.key(3), self.key(4));
        let on = if check { self.to(self.at.pc + 1) } else { on };
        let cursor = self.b.load(CURSOR);
        let end = self.add(cursor, Known::Const(needed as u64));
        let end = self.b.value(end);
        let length = self.load_frame(Offsets::LENGTH);
        let fits = self.b.ins.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, length);
        self.b.seldom(slow);
        self.b.branch(fits, within, slow);
        let limbs = (bits as Slot).div_ceil(64).max(1);
        if self.b.begin(slow) {
            self.b.seldom(loaded);
            if check {
                self.host_jump_to(loaded);
            } else {
                self.host();
                self.b.goto(loaded);
            }
            if self.b.begin(loaded) {
                (dst..dst + limbs).for_each(|slot| self.b.load_written(slot.into()));
                self.b.load(CURSOR);
                self.b.goto(on);
            }
        }
        self.b.begin(within);
        let packet = self.load_frame(Offsets::PACKET);
        let cursor = self.b.value(cursor);
        let base = self.b.ins.ins().iadd(packet, cursor);
        if is_wide {
            // The least limb is the last one in the frame; the greatest may have less than eight bytes.
            let bytes = bits as i32 / 8;
            for (limb, end) in (1..=bytes).rev().step_by(8).enumerate() {
                let missing = (8 - end).max(0) as u8;
                let at = first + (end - 8).max(0);
                let value = self.load_bits(base, at, 8, 0, 64 - 8 * missing, false);
                self.set(dst + limb as Slot, value);
            }
        } else {
            let value = self.load_bits(base, first, 8, lead as u8, bits as u8, signed);
            self.set(dst, value);
        }
        self.b.goto(on);
        if !check {
            self.b.begin(on);
        }
    }

    /// Code that writes the valid headers one after the other.
    pub(super) fn emit_headers(&mut self) {
        let (code, layout) = (self.source.code, self.source.layout);
        let flags = frame_flags();
        let out = self.b.ins.ins().load(I64, flags, self.b.frame, i32::from(Offsets::OUT));
        self.b.ins.def_var(self.out, out);
        let mut stack: Option<(Filled, Key)> = None;
        for (number, &header) in (0..).zip(&code.deparse_order) {
            let [on, present, skip, end] = std::array::from_fn(|key| self.key(10 + 4 * number + key as u32));
            let filled = code.filled[header as usize];
            let goes_on = |(last, _): &(Filled, Key)| {
                filled.is_some_and(|filled| filled.next == last.next && filled.index > last.index)
            };
            let last_end = stack.filter(goes_on).map(|(_, end)| end);
            if last_end.is_none() {
                self.leave_stack(stack);
            }
            stack = filled.map(|filled| (filled, last_end.unwrap_or(end)));
            if let Some((Filled { next, index }, end)) = stack {
                let next = self.get(next);
                self.branch_if(IntCC::UnsignedGreaterThanOrEqual, next, u64::from(index) + 1, on, end);
                if !self.b.begin(on) {
                    continue;
                }
            }
            let base = layout.headers[header as usize].base;
            self.branch_on_zero(base, skip, present);
            if self.b.begin(present) {
                self.emit_header(base, layout.shape_of(header));
                self.b.goto(skip);
            }
            self.b.begin(skip);
        }
        self.leave_stack(stack);
        let out = self.b.ins.use_var(self.out);
        self.b.ins.ins().store(flags, out, self.b.frame, i32::from(Offsets::OUT));
    }

    /// Code for one header after the other goes behind a stack where nothing of it is left.
    fn leave_stack(&mut self, stack: Option<(Filled, Key)>) {
        if let Some((_, end)) = stack {
            if !self.b.ended {
                self.b.goto(end);
            }
            self.b.begin(end);
        }
    }

    fn emit_header(&mut self, base: Slot, shape: &HeaderShape) {
        let out = self.b.ins.use_var(self.out);
        let mut at = 0;
        for chunk in &shape.chunks {
            let mut word = Known::Const(0);
            for part in &shape.parts[chunk.from as usize..chunk.to as usize] {
                let value = self.get(base + part.offset);
                let value = self.right(value, part.right);
                let value = if shape.is_clean(part) { value } else { self.mask(value, part.mask) };
                let value = self.left(value, part.left);
                word = self.or(word, value);
            }
            let word = self.left(word, 64 - 8 * chunk.bytes);
            let word = match word {
                Known::Const(word) => Known::Const(word.swap_bytes()),
                Known::Value(word) => Known::Value(self.b.ins.ins().bswap(word)),
            };
            let word = self.b.value(word);
            self.b.ins.ins().store(frame_flags(), word, out, at);
            at += i32::from(chunk.bytes);
        }
        let out = self.b.ins.ins().iadd_imm(out, i64::from(at));
        self.b.ins.def_var(self.out, out);
    }

    /// The header that a constant operand names, if it is a plain one.
    fn plain_header(&self, operand: Slot) -> Option<(Slot, u16, u64)> {
        let layout = self.source.layout;
        let place = layout.headers.get(usize::try_from(self.constant(operand)?).ok()?)?;
        let shape = &layout.shapes[place.shape];
        let plain = place.union.is_none() && !place.metadata && shape.variable.is_none();
        (plain && shape.slots <= MAX_INLINE_WORDS).then_some((
            place.base,
            shape.slots,
            shape.fixed_bytes() as u64,
        ))
    }

    pub(super) fn add_header(&mut self, operand: Slot) {
        let Some((base, slots, bytes)) = self.plain_header(operand) else { return self.host() };
        let (absent, present, on) = (self.key(1), self.key(2), self.key(3));
        self.branch_on_zero(base, absent, present);
        if self.b.begin(absent) {
            for slot in base + 1..base + slots {
                self.set(slot, Known::Const(0));
            }
            self.set(base, Known::Const(1));
            self.change_length(bytes);
            self.b.goto(on);
        }
        if self.b.begin(present) {
            self.b.goto(on);
        }
        self.b.begin(on);
    }

    pub(super) fn remove_header(&mut self, operand: Slot) {
        let Some((base, _, bytes)) = self.plain_header(operand) else { return self.host() };
        let (present, absent, on) = (self.key(1), self.key(2), self.key(3));
        self.branch_on_zero(base, absent, present);
        if self.b.begin(present) {
            self.change_length(bytes.wrapping_neg());
            self.set(base, Known::Const(0));
            self.b.goto(on);
        }
        if self.b.begin(absent) {
            self.b.goto(on);
        }
        self.b.begin(on);
    }

    fn change_length(&mut self, by: u64) {
        let length = self.get(packet_slot::LENGTH);
        let length = self.add(length, Known::Const(by));
        self.set(packet_slot::LENGTH, length);
    }
}
