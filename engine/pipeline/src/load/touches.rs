//! Finds which cells a program touches, and the slots that hold their indices.

use crate::code::ir::{Op, Pc};
use crate::code::program::Code;
use crate::code::touches::{Array, Touch};
use crate::vocabulary::entries::CounterCell;
use crate::vocabulary::info::CounterInfo;

const WORD_BYTES: usize = size_of::<u64>();

/// The register arrays that some instructions read or write: a flag for each.
pub(super) fn registers_in(code: &Code, part: &[Pc]) -> Vec<bool> {
    let mut used = vec![false; code.registers.len()];
    for &pc in part {
        if let Op::RegisterRead { register, .. } | Op::RegisterWrite { register, .. } = code.ops[pc as usize]
        {
            used[register as usize] = true;
        }
    }
    used
}

/// The cells that some instructions touch, by array and slot.
pub(super) fn touches(code: &Code, counters: &[CounterInfo], part: &[Pc]) -> Vec<Touch> {
    let mut touches: Vec<Touch> = Vec::new();
    for touch in part.iter().filter_map(|&pc| touch(code, counters, &code.ops[pc as usize])) {
        match touches.iter_mut().find(|it| (it.array, it.index) == (touch.array, touch.index)) {
            Some(known) => {
                known.bytes.start = known.bytes.start.min(touch.bytes.start);
                known.bytes.end = known.bytes.end.max(touch.bytes.end);
            }
            None => touches.push(touch),
        }
    }
    touches
}

fn touch(code: &Code, counters: &[CounterInfo], op: &Op) -> Option<Touch> {
    match *op {
        Op::RegisterRead { register, index, .. } | Op::RegisterWrite { register, index, .. } => {
            let place = &code.registers[register as usize];
            let first = place.offset * WORD_BYTES;
            Some(Touch {
                array: Array::Registers(place.block),
                index,
                bytes: first..first + place.limbs * WORD_BYTES,
                row_bytes: place.stride * WORD_BYTES,
                rows: place.size,
            })
        }
        Op::Count { counter, index } => {
            let row_bytes = size_of::<CounterCell>();
            let rows = counters[counter as usize].size;
            Some(Touch { array: Array::Counter(counter), index, bytes: 0..row_bytes, row_bytes, rows })
        }
        _ => None,
    }
}
