//! Both ends of a pass over slots that may move with time: the fields that the target sets, and the headers that leave.

use crate::code::layout::{FieldRef, Slot};
use crate::code::program::Program;
use crate::exec::boundary::Slots;
use crate::exec::wire;
use crate::idle::moving::{AbstractValue, Bits, Clock, Moving, Probe, Refusal};
use crate::idle::recording::Step;
use crate::idle::repetition::is_stamp;
use crate::idle::shadow::Shadow;
use crate::idle::stamp::StampField;
use crate::numbers::words::mask64;
use crate::packets::frame::Frame;

impl Slots for Shadow {
    type Refusal = Refusal;

    fn put(&mut self, slot: Slot, value: u64) {
        self.set_value(slot, (value, AbstractValue::Fixed));
    }

    fn read(&self, slot: Slot) -> Probe<u64> {
        self.fixed(slot)
    }

    fn put_egress_stamp(&mut self, field: FieldRef, value: u64) {
        let width = field.bits.min(64) as u8;
        let moving = Moving { clock: Clock::Egress, width, down: false };
        self.set_value(field.slot, (value, AbstractValue::Moving(moving)));
        self.record_time(field.slot);
    }

    /// How long a packet waits is not followed.
    fn put_queueing(&mut self, field: FieldRef, _: u64) {
        self.set_value(field.slot, (0, AbstractValue::Unknown));
    }
}

impl Shadow {
    /// Writes the valid headers; gives the bits that hold the time stamp of the egress.
    pub(super) fn deparse(&mut self, program: &Program, frame: &mut Frame) -> Probe<Vec<StampField>> {
        let ticks = self.ticks[Clock::Egress as usize];
        let layout = &program.layout;
        let mut written = Vec::new();
        frame.clear();
        for &header in &program.code.deparse_order {
            let base = layout.headers[header as usize].base;
            if self.fixed(base)? == 0 {
                continue;
            }
            let first_bit = frame.len() as u32 * 8;
            let shape = layout.shape_of(header);
            wire::write(shape, base, &self.regs, frame);
            if self.all_fixed(base, shape.slots as usize) {
                continue;
            }
            if shape.variable.is_some() {
                return Err(Refusal("a header of variable length depends on time"));
            }
            for piece in &shape.pieces {
                let at = piece.first_bit(first_bit as usize);
                let place = Bits { first_bit: at, bits: piece.bits.into() };
                let slot = base + piece.offset;
                let (value, moving) = match self.value(slot) {
                    (_, AbstractValue::Fixed) if self.all_fixed(slot, 1) => continue,
                    (_, AbstractValue::Carried(bits)) if bits == place => continue,
                    (value, AbstractValue::Moving(moving)) => (value, moving),
                    _ => return Err(Refusal("the frame depends on time in a way that is not followed")),
                };
                if !is_stamp(moving) || piece.signed {
                    return Err(Refusal("the frame carries a time that is not that of this egress"));
                }
                let bits = u32::from(piece.bits);
                self.limits.resized(value, moving, bits);
                let offset = value.wrapping_sub(ticks) & mask64(bits);
                self.record(Step::Stamp { slot, bits, offset });
                written.push(StampField { first_bit: at, bits: u16::from(piece.bits), offset });
            }
        }
        Ok(written)
    }
}
