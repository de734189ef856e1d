//! The part of an idle pass that depends on registers and on time, as steps that can be repeated.
//!
//! A frame that departs changes a register that the passes of its stream read, so their proof ends, although all but a
//! few of their instructions do again what they did. What is written down here is the rest: instructions whose operands
//! come from a register or from a time stamp, with the contents of their other operands. Any other use of such an operand
//! refuses the recording; the proof is then made anew each time.

use std::collections::{HashMap, HashSet};

use crate::code::ir::{Op, Pc};
use crate::code::layout::Slot;
use crate::idle::moving::{Moving, Value};

/// One step of a repetition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// A slot is what it was.
    Give { slot: Slot, content: Value },
    /// A slot takes the ticks of a clock plus a constant.
    Time { slot: Slot, moving: Moving, offset: u64 },
    /// Arithmetic on single words.
    Compute(Op),
    /// A branch, which leads to where it led.
    Branch { op: Op, to: Option<Pc> },
    /// Reads a cell of a register.
    Read { dst: Slot, register: u16, index: u64 },
    /// Writes into a cell what it holds.
    Write { register: u16, index: u64, src: Slot },
    /// The frame takes a time stamp from a slot: the ticks of this egress plus a constant.
    Stamp { slot: Slot, bits: u32, offset: u64 },
}

/// Steps so far, and where their results are.
#[derive(Default)]
pub(super) struct Recording {
    pub steps: Vec<Step>,
    /// Slots that a repetition computes.
    computed: HashSet<Slot>,
    /// Contents that a repetition has in other slots.
    given: HashMap<Slot, Value>,
}

impl Recording {
    /// A slot holds a result of the steps.
    pub fn computes(&mut self, slot: Slot) {
        self.computed.insert(slot);
        self.given.remove(&slot);
    }

    /// Slots hold what does not come from the steps.
    pub fn leaves(&mut self, from: Slot, count: usize) {
        for slot in from as usize..from as usize + count {
            self.computed.remove(&(slot as Slot));
        }
    }

    pub fn is_computed(&self, slot: Slot) -> bool {
        self.computed.contains(&slot)
    }

    pub fn is_any_computed(&self, from: Slot, count: usize) -> bool {
        (from as usize..from as usize + count).any(|slot| self.is_computed(slot as Slot))
    }

    /// The next step reads a slot with this content.
    pub fn uses(&mut self, slot: Slot, content: Value) {
        if !self.is_computed(slot) && self.given.insert(slot, content) != Some(content) {
            self.steps.push(Step::Give { slot, content });
        }
    }
}
