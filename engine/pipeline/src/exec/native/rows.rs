//! The rows of register arrays whose address machine code keeps. All that belongs to one flow lies side by side, so the
//! address is computed once, for the accesses that follow.
//!
//! [`Rows`] says before each instruction which row the kept address is of: the one that all paths to it bring along. Where a
//! way is not known, it is none.

use super::control_flow::{next, ControlFlow};
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

/// The knowledge where an instruction begins.
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

/// The knowledge before each instruction.
pub(super) struct Rows(Vec<Known>);

impl Rows {
    pub fn new(code: &Code, layout: &Layout, control_flow: &ControlFlow) -> Rows {
        let mut before = vec![Known::NoWay; code.ops.len()];
        let mut pending = control_flow.entered.clone();
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

    /// True where the address is that of the row of a block whose number a slot holds.
    pub fn is_kept(&self, pc: usize, block: usize, index: Slot) -> bool {
        self.0[pc] == Known::Kept(Some(Row { block, index }))
    }
}

/// The knowledge after an instruction.
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
        let writes = effects.writes.iter().chain(&effects.may_write);
        effects.extracts.is_none() && !writes.chain(&changed_header(code, layout, op)).any(writes_index)
    });
    Known::Kept(keeps.then_some(row))
}

/// The slots of a header that an instruction clears or copies as a whole.
fn changed_header(code: &Code, layout: &Layout, op: &Op) -> Option<(Slot, usize)> {
    let (Op::AddHeader { header } | Op::RemoveHeader { header } | Op::AssignHeader { dst: header, .. }) = *op
    else {
        return None;
    };
    // Instructions whose header is no constant have no known effects.
    let header = code.constant(header).and_then(|id| u16::try_from(id).ok())?;
    Some((layout.headers[header as usize].base, layout.shape_of(header).slots.into()))
}
