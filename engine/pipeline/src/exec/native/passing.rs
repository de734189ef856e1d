//! Intermediate values that the next instruction alone reads: machine code leaves them in rax, and does not store them.

use super::control_flow::ControlFlow;
use crate::code::ir::Op;
use crate::code::layout::{Layout, Slot};
use crate::code::program::Code;
use crate::load::effects::effects;

/// True for each instruction whose result need not be stored.
pub(super) fn passing(code: &Code, layout: &Layout, control_flow: &ControlFlow) -> Vec<bool> {
    let reads: Vec<Option<Vec<(Slot, usize)>>> =
        code.ops.iter().map(|op| effects(code, layout, op).map(|effects| effects.reads)).collect();
    let may_read = |pc: usize, slot: Slot| {
        let is_in = |&(first, count): &(Slot, usize)| {
            (first.into()..usize::from(first) + count).contains(&slot.into())
        };
        reads[pc].as_ref().is_none_or(|reads| reads.iter().any(is_in))
    };
    let mut passing = vec![false; code.ops.len()];
    let ends = code.statements.iter().skip(1).map(|&pc| pc as usize).chain([code.ops.len()]);
    for (first, end) in code.statements.iter().map(|&pc| pc as usize).zip(ends) {
        for (pc, passes) in passing.iter_mut().enumerate().take(end.saturating_sub(1)).skip(first) {
            let Some(slot) = result(&code.ops[pc]).filter(|slot| is_temporary(code, *slot)) else { continue };
            *passes = !control_flow.starts_block(pc + 1)
                && takes(&code.ops[pc + 1], slot)
                && !(pc + 2..end).any(|pc| may_read(pc, slot));
        }
    }
    passing
}

fn is_temporary(code: &Code, slot: Slot) -> bool {
    (code.temp_base..code.constant_base).contains(&slot)
}

/// The slot whose new value an instruction has in rax.
fn result(op: &Op) -> Option<Slot> {
    match *op {
        Op::Add { dst, .. }
        | Op::Sub { dst, .. }
        | Op::And { dst, .. }
        | Op::Or { dst, .. }
        | Op::Xor { dst, .. }
        | Op::Mul { dst, .. }
        | Op::AndMask { dst, .. }
        | Op::Not { dst, .. }
        | Op::ShiftLeft { dst, .. }
        | Op::ShiftRightU { dst, .. }
        | Op::ShiftRightS { dst, .. }
        | Op::Slice { dst, .. }
        | Op::SignExtend { dst, .. }
        | Op::Eq { dst, .. }
        | Op::Ne { dst, .. }
        | Op::LessU { dst, .. }
        | Op::LessS { dst, .. }
        | Op::IsZero { dst, .. }
        | Op::MinS { dst, .. }
        | Op::MaxS { dst, .. }
        | Op::MinU { dst, .. } => Some(dst),
        _ => None,
    }
}

/// True where an instruction takes the value of a slot from rax, and nowhere from memory.
fn takes(op: &Op, slot: Slot) -> bool {
    match *op {
        Op::Move { a, .. }
        | Op::AndMask { a, .. }
        | Op::Not { a, .. }
        | Op::Slice { a, .. }
        | Op::SignExtend { a, .. }
        | Op::IsZero { a, .. }
        | Op::BranchZero { a, .. }
        | Op::BranchNotZero { a, .. } => a == slot,
        Op::Add { a, b, .. } | Op::And { a, b, .. } | Op::Or { a, b, .. } | Op::Xor { a, b, .. } => {
            (a == slot) != (b == slot)
        }
        Op::Sub { a, b, .. }
        | Op::Mul { a, b, .. }
        | Op::ShiftLeft { a, b, .. }
        | Op::ShiftRightU { a, b, .. }
        | Op::ShiftRightS { a, b, .. }
        | Op::Eq { a, b, .. }
        | Op::Ne { a, b, .. }
        | Op::LessU { a, b, .. }
        | Op::LessS { a, b, .. }
        | Op::MinS { a, b, .. }
        | Op::MaxS { a, b, .. }
        | Op::MinU { a, b, .. }
        | Op::BranchEq { a, b, .. }
        | Op::BranchNe { a, b, .. }
        | Op::BranchLessU { a, b, .. }
        | Op::BranchNotLessU { a, b, .. }
        | Op::BranchLessS { a, b, .. }
        | Op::BranchNotLessS { a, b, .. } => a == slot && b != slot,
        _ => false,
    }
}
