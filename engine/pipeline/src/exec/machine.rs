//! Executes compiled code over the slots of one packet and the state of a switch.

use crate::code::ir::{Op, Pc};
use crate::code::layout::packet_slot;
use crate::exec::context::{Context, Flow, Outcome, LOOP_LIMIT};
use crate::exec::trace::Observer;
use crate::numbers::words;

/// Runs from `entry` to the end of that part of the program, one instruction after the other, and tells an observer.
pub(crate) fn interpret<O: Observer>(context: &mut Context, entry: Pc, observer: &mut O) -> Outcome {
    let ops = &context.program.code.ops[..];
    let mut pc = entry as usize;
    let mut return_to = 0;
    let mut loops = 0;
    loop {
        let Some(op) = ops.get(pc) else {
            return Outcome::Done;
        };
        observer.before(context, pc as Pc, op);
        pc += 1;
        let regs = &mut *context.regs;
        match *op {
            Op::Halt => return Outcome::Done,
            Op::Return => {
                if regs[packet_slot::EXIT as usize] != 0 {
                    return Outcome::Done;
                }
                pc = return_to;
            }
            Op::HaltIfExit => {
                if regs[packet_slot::EXIT as usize] != 0 {
                    return Outcome::Done;
                }
            }
            Op::Jump { to } => pc = to as usize,
            Op::Guard => {
                loops += 1;
                if loops > LOOP_LIMIT {
                    return Outcome::Runaway;
                }
            }
            Op::BranchZero { a, to } => {
                if regs[a as usize] == 0 {
                    pc = to as usize;
                }
            }
            Op::BranchNotZero { a, to } => {
                if regs[a as usize] != 0 {
                    pc = to as usize;
                }
            }
            Op::BranchEq { a, b, to } => {
                if regs[a as usize] == regs[b as usize] {
                    pc = to as usize;
                }
            }
            Op::BranchNe { a, b, to } => {
                if regs[a as usize] != regs[b as usize] {
                    pc = to as usize;
                }
            }
            Op::BranchLessU { a, b, to } => {
                if regs[a as usize] < regs[b as usize] {
                    pc = to as usize;
                }
            }
            Op::BranchNotLessU { a, b, to } => {
                if regs[a as usize] >= regs[b as usize] {
                    pc = to as usize;
                }
            }
            Op::BranchLessS { a, b, to } => {
                if (regs[a as usize] as i64) < regs[b as usize] as i64 {
                    pc = to as usize;
                }
            }
            Op::BranchNotLessS { a, b, to } => {
                if regs[a as usize] as i64 >= regs[b as usize] as i64 {
                    pc = to as usize;
                }
            }
            Op::Move { dst, a } => regs[dst as usize] = regs[a as usize],
            Op::Add { dst, a, b, mask } => {
                regs[dst as usize] = regs[a as usize].wrapping_add(regs[b as usize]) & mask
            }
            Op::Sub { dst, a, b, mask } => {
                regs[dst as usize] = regs[a as usize].wrapping_sub(regs[b as usize]) & mask
            }
            Op::Mul { dst, a, b, mask } => {
                regs[dst as usize] = regs[a as usize].wrapping_mul(regs[b as usize]) & mask
            }
            Op::And { dst, a, b } => regs[dst as usize] = regs[a as usize] & regs[b as usize],
            Op::AndMask { dst, a, mask } => regs[dst as usize] = regs[a as usize] & mask,
            Op::Or { dst, a, b, mask } => regs[dst as usize] = (regs[a as usize] | regs[b as usize]) & mask,
            Op::Xor { dst, a, b, mask } => regs[dst as usize] = (regs[a as usize] ^ regs[b as usize]) & mask,
            Op::Not { dst, a, mask } => regs[dst as usize] = !regs[a as usize] & mask,
            Op::ShiftLeft { dst, a, b, mask } => {
                let amount = regs[b as usize];
                let value = if amount < 64 { regs[a as usize] << amount } else { 0 };
                regs[dst as usize] = value & mask
            }
            Op::ShiftRightU { dst, a, b } => {
                let amount = regs[b as usize];
                regs[dst as usize] = if amount < 64 { regs[a as usize] >> amount } else { 0 }
            }
            Op::ShiftRightS { dst, a, b } => {
                let amount = regs[b as usize].min(63);
                regs[dst as usize] = (regs[a as usize] as i64 >> amount) as u64
            }
            Op::Slice { dst, a, right, mask } => regs[dst as usize] = regs[a as usize] >> (right & 63) & mask,
            Op::SignExtend { dst, a, bits } => {
                regs[dst as usize] = words::sign_extend(regs[a as usize], u32::from(bits))
            }
            Op::Eq { dst, a, b } => regs[dst as usize] = u64::from(regs[a as usize] == regs[b as usize]),
            Op::Ne { dst, a, b } => regs[dst as usize] = u64::from(regs[a as usize] != regs[b as usize]),
            Op::LessU { dst, a, b } => regs[dst as usize] = u64::from(regs[a as usize] < regs[b as usize]),
            Op::LessS { dst, a, b } => {
                regs[dst as usize] = u64::from((regs[a as usize] as i64) < regs[b as usize] as i64)
            }
            Op::IsZero { dst, a } => regs[dst as usize] = u64::from(regs[a as usize] == 0),
            Op::MinS { dst, a, b } => {
                regs[dst as usize] = (regs[a as usize] as i64).min(regs[b as usize] as i64) as u64
            }
            Op::MaxS { dst, a, b } => {
                regs[dst as usize] = (regs[a as usize] as i64).max(regs[b as usize] as i64) as u64
            }
            Op::MinU { dst, a, b } => regs[dst as usize] = regs[a as usize].min(regs[b as usize]),
            ref op => {
                let flow = context.step(op);
                observer.after(context, op, flow);
                match flow {
                    Flow::Next => {}
                    Flow::To(to) => pc = to as usize,
                    Flow::Call { entry, next } => {
                        pc = entry as usize;
                        return_to = next as usize;
                    }
                }
            }
        }
    }
}
