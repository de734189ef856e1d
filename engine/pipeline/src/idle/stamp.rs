//! Place of the time stamp of its last egress in a frame.

use crate::idle::moving::{AbstractValue, Bits, Clock, Moving};
use crate::numbers::bits::read_bits;
use crate::numbers::words::mask64;

/// Bits of a frame that hold `(ticks of the last egress + offset) mod 2^bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StampField {
    pub first_bit: u32,
    pub bits: u16,
    pub offset: u64,
}

impl StampField {
    pub fn value(&self, ticks: u64) -> u64 {
        ticks.wrapping_add(self.offset) & mask64(u32::from(self.bits))
    }

    pub fn is_in(&self, frame: &[u8], ticks: u64) -> bool {
        let end = self.first_bit as usize + usize::from(self.bits);
        end <= frame.len() * 8
            && read_bits(frame, self.first_bit as usize, u32::from(self.bits)) == self.value(ticks)
    }
}

/// True if two frames differ in the time stamps at most.
pub(super) fn same_but_for(a: &[u8], b: &[u8], stamps: &[StampField]) -> bool {
    a.len() == b.len()
        && (0..a.len()).filter(|&at| a[at] != b[at]).all(|at| {
            (0..8)
                .filter(|bit| (a[at] ^ b[at]) << bit & 0x80 != 0)
                .all(|bit| touches(stamps, at * 8 + bit, 1))
        })
}

/// True if bits from `first` on belong to a time stamp.
pub(super) fn touches(stamps: &[StampField], first: usize, bits: u32) -> bool {
    stamps.iter().any(|stamp| overlap(stamp.first_bit, stamp.bits, first, bits))
}

/// True if bits from `first` on belong to fields that are carried.
pub(super) fn carries(carried: &[Bits], first: usize, bits: u32) -> bool {
    carried.iter().any(|field| overlap(field.first_bit, field.bits, first, bits))
}

/// True if a field has some of the bits from `first` on.
fn overlap(field: u32, field_bits: u16, first: usize, bits: u32) -> bool {
    let at = field as usize;
    at < first + bits as usize && first < at + usize::from(field_bits)
}

/// The abstract value of a number that is read from the frame, of which some bits hold time stamps and some are carried.
pub(super) fn form_of_bits(
    stamps: &[StampField],
    carried: &[Bits],
    first: usize,
    bits: u32,
) -> AbstractValue {
    if carries(carried, first, bits) {
        let whole = Bits { first_bit: first as u32, bits: bits as u16 };
        return if carried.contains(&whole) { AbstractValue::Carried(whole) } else { AbstractValue::Unknown };
    }
    if !touches(stamps, first, bits) {
        return AbstractValue::Fixed;
    }
    let inside = stamps.iter().find(|stamp| {
        // The low bits of a time stamp, or all of it.
        let end = stamp.first_bit as usize + usize::from(stamp.bits);
        first >= stamp.first_bit as usize && first + bits as usize == end
    });
    match inside {
        Some(_) => AbstractValue::Moving(Moving { clock: Clock::Frame, width: bits as u8, down: false }),
        None => AbstractValue::Unknown,
    }
}
