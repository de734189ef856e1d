//! Instructions on integers of more than 64 bits.

use smallvec::SmallVec;

use crate::code::ir::Op;
use crate::code::layout::{Regs, Slot};
use crate::numbers::words;

/// Operands of up to 512 bits stay on the stack.
type Limbs = SmallVec<[u64; 8]>;

/// Wide instructions.
#[inline(never)]
pub(crate) fn wide_op(op: &Op, regs: &mut Regs) {
    /// Copies operands out, so that the destination may overlap them.
    fn apply(regs: &mut Regs, dst: Slot, a: Slot, b: Slot, limbs: u16, f: fn(&mut [u64], &[u64], &[u64])) {
        let (dst, a, b, n) = (dst as usize, a as usize, b as usize, limbs as usize);
        let left = Limbs::from_slice(&regs[a..a + n]);
        let right = Limbs::from_slice(&regs[b..b + n]);
        f(&mut regs[dst..dst + n], &left, &right);
    }
    match *op {
        Op::WExtend { dst, a, from, to, signed } => {
            let (dst, a, from, to) = (dst as usize, a as usize, from as usize, to as usize);
            let fill = if signed && words::is_negative(&regs[a..a + from]) { u64::MAX } else { 0 };
            regs.copy_within(a..a + from, dst);
            regs[dst + from..dst + to].fill(fill);
        }
        Op::WAdd { dst, a, b, limbs } => apply(regs, dst, a, b, limbs, |dst, a, b| {
            dst.copy_from_slice(a);
            words::add(dst, b);
        }),
        Op::WSub { dst, a, b, limbs } => apply(regs, dst, a, b, limbs, |dst, a, b| {
            dst.copy_from_slice(a);
            words::sub(dst, b);
        }),
        Op::WMul { dst, a, b, limbs } => apply(regs, dst, a, b, limbs, words::mul),
        Op::WAnd { dst, a, b, limbs } => {
            for i in 0..limbs as usize {
                regs[dst as usize + i] = regs[a as usize + i] & regs[b as usize + i];
            }
        }
        Op::WOr { dst, a, b, limbs } => {
            for i in 0..limbs as usize {
                regs[dst as usize + i] = regs[a as usize + i] | regs[b as usize + i];
            }
        }
        Op::WXor { dst, a, b, limbs } => {
            for i in 0..limbs as usize {
                regs[dst as usize + i] = regs[a as usize + i] ^ regs[b as usize + i];
            }
        }
        Op::WNot { dst, a, limbs } => {
            for i in 0..limbs as usize {
                regs[dst as usize + i] = !regs[a as usize + i];
            }
        }
        Op::WDiv { dst, a, b, limbs } => {
            apply(regs, dst, a, b, limbs, |dst, a, b| dst.copy_from_slice(&words::div_rem(a, b).0));
        }
        Op::WMod { dst, a, b, limbs } => {
            apply(regs, dst, a, b, limbs, |dst, a, b| dst.copy_from_slice(&words::div_rem(a, b).1));
        }
        Op::WShiftLeft { dst, a, b, limbs } => {
            let (amount, dst, a, n) = (regs[b as usize], dst as usize, a as usize, limbs as usize);
            regs.copy_within(a..a + n, dst);
            words::shift_left(&mut regs[dst..dst + n], amount);
        }
        Op::WShiftRight { dst, a, b, limbs, signed } => {
            let (amount, dst, a, n) = (regs[b as usize], dst as usize, a as usize, limbs as usize);
            regs.copy_within(a..a + n, dst);
            words::shift_right(&mut regs[dst..dst + n], amount, signed);
        }
        Op::WTruncate { dst, limbs, bits, signed } => {
            let value = &mut regs[dst as usize..dst as usize + limbs as usize];
            if signed {
                words::truncate_signed(value, bits);
            } else {
                words::truncate(value, bits);
            }
        }
        Op::WEq { dst, a, b, limbs } => {
            let (a, b, n) = (a as usize, b as usize, limbs as usize);
            regs[dst as usize] = u64::from(regs[a..a + n] == regs[b..b + n]);
        }
        Op::WLess { dst, a, b, limbs, signed } => {
            let (a, b, n) = (a as usize, b as usize, limbs as usize);
            regs[dst as usize] = u64::from(words::less(&regs[a..a + n], &regs[b..b + n], signed));
        }
        _ => {}
    }
}
