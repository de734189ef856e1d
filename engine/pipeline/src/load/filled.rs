//! Finds the stacks that only extraction fills. Their elements are valid up to `next` at most, so that one comparison says
//! that a whole stack is empty, and the flags of its elements need not be cleared for every packet.

use crate::code::ir::Op;
use crate::code::layout::{Layout, Slot};
use crate::code::program::{Code, Filled};
use crate::load::effects::Effects;

/// By header; `effects` are those of all instructions.
pub(super) fn filled(code: &Code, layout: &Layout, effects: &[Effects]) -> Vec<Option<Filled>> {
    let mut filled = vec![None; layout.headers.len()];
    for (index, stack) in layout.stacks.iter().enumerate() {
        let adds =
            |operand: Slot| code.constant(operand).is_none_or(|id| stack.headers.contains(&(id as u16)));
        let fills_otherwise = |(op, effects): (&Op, &Effects)| match *op {
            Op::ExtractNext { .. } => false,
            Op::Extract { header } => stack.headers.contains(&header),
            Op::AddHeader { header } => adds(header),
            Op::AssignHeader { dst, .. } => adds(dst),
            Op::AssignStack { dst, .. } => usize::from(dst) == index,
            Op::Push { stack, .. } | Op::Pop { stack, .. } => usize::from(stack) == index,
            _ => effects.writes.iter().chain(&effects.may_write).any(|&(first, count)| {
                (first as usize..first as usize + count).contains(&(stack.next as usize))
            }),
        };
        if !code.ops.iter().zip(effects).any(fills_otherwise) {
            for (&header, index) in stack.headers.iter().zip(0..) {
                filled[header as usize] = Some(Filled { next: stack.next, index });
            }
        }
    }
    filled
}
