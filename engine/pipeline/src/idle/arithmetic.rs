//! Branches and arithmetic, over slots that may move with time.

use crate::code::ir::{Op, Pc};
use crate::code::layout::Slot;
use crate::exec::wide_ops::wide_op;
use crate::idle::moving::{AbstractValue, Probe, Value};
use crate::idle::shadow::Shadow;

impl Shadow {
    /// Target of a branch; the inner `None` is the next instruction, the outer one another kind of instruction.
    pub(super) fn branch(&mut self, op: &Op) -> Probe<Option<Option<Pc>>> {
        const ZERO: Value = (0, AbstractValue::Fixed);
        let (taken, to) = match *op {
            Op::BranchZero { a, to } => (self.limits.equal(self.value(a), ZERO)?, to),
            Op::BranchNotZero { a, to } => (!self.limits.equal(self.value(a), ZERO)?, to),
            Op::BranchEq { a, b, to } => (self.limits.equal(self.value(a), self.value(b))?, to),
            Op::BranchNe { a, b, to } => (!self.limits.equal(self.value(a), self.value(b))?, to),
            Op::BranchLessU { a, b, to } => (self.limits.less(self.value(a), self.value(b))?, to),
            Op::BranchNotLessU { a, b, to } => (!self.limits.less(self.value(a), self.value(b))?, to),
            Op::BranchLessS { a, b, to } => (self.limits.less_signed(self.value(a), self.value(b))?, to),
            Op::BranchNotLessS { a, b, to } => (!self.limits.less_signed(self.value(a), self.value(b))?, to),
            _ => return Ok(None),
        };
        Ok(Some(taken.then_some(to)))
    }

    /// Arithmetic on single words; false for another kind of instruction.
    pub(super) fn narrow(&mut self, op: &Op) -> Probe<bool> {
        let (x, y): (Value, Value);
        match *op {
            Op::Move { dst, a } => self.set_value(dst, self.value(a)),
            Op::MoveMany { dst, a, count } => {
                let (from, to, count) = (a as usize, dst as usize, count as usize);
                self.regs.copy_within(from..from + count, to);
                self.abstract_values.copy(from..from + count, to);
                self.overwritten(dst, count);
            }
            Op::Add { dst, a, b, mask } => {
                let sum = self.limits.sum(self.value(a), self.value(b), false, mask);
                self.set_value(dst, sum);
            }
            Op::Sub { dst, a, b, mask } => {
                let sum = self.limits.sum(self.value(a), self.value(b), true, mask);
                self.set_value(dst, sum);
            }
            Op::Not { dst, a, mask } => {
                let value = self.limits.complement(self.value(a), mask);
                self.set_value(dst, value);
            }
            Op::AndMask { dst, a, mask } => {
                let value = self.limits.slice(self.value(a), 0, mask);
                self.set_value(dst, value);
            }
            Op::Slice { dst, a, right, mask } => {
                let value = self.limits.slice(self.value(a), u32::from(right & 63), mask);
                self.set_value(dst, value);
            }
            Op::SignExtend { dst, a, bits } => {
                let value = self.limits.sign_extended(self.value(a), u32::from(bits));
                self.set_value(dst, value);
            }
            Op::And { dst, a, b } => {
                (x, y) = (self.value(a), self.value(b));
                let value = match (x.1, y.1) {
                    (AbstractValue::Moving(_), AbstractValue::Fixed) => self.limits.slice(x, 0, y.0),
                    (AbstractValue::Fixed, AbstractValue::Moving(_)) => self.limits.slice(y, 0, x.0),
                    (AbstractValue::Fixed, AbstractValue::Fixed) => (x.0 & y.0, AbstractValue::Fixed),
                    _ => (x.0 & y.0, AbstractValue::Unknown),
                };
                self.set_value(dst, value);
            }
            Op::ShiftRightU { dst, a, b } => {
                (x, y) = (self.value(a), self.value(b));
                let value = match y {
                    (0..=63, AbstractValue::Fixed) => self.limits.slice(x, y.0 as u32, u64::MAX),
                    (_, AbstractValue::Fixed) => (0, AbstractValue::Fixed),
                    _ => (x.0.checked_shr(y.0.min(64) as u32).unwrap_or(0), AbstractValue::Unknown),
                };
                self.set_value(dst, value);
            }
            Op::Eq { dst, a, b } => {
                let equal = self.limits.equal(self.value(a), self.value(b));
                self.decided(dst, equal);
            }
            Op::Ne { dst, a, b } => {
                let equal = self.limits.equal(self.value(a), self.value(b));
                self.decided(dst, equal.map(|equal| !equal));
            }
            Op::IsZero { dst, a } => {
                let zero = self.limits.equal(self.value(a), (0, AbstractValue::Fixed));
                self.decided(dst, zero);
            }
            Op::LessU { dst, a, b } => {
                let less = self.limits.less(self.value(a), self.value(b));
                self.decided(dst, less);
            }
            Op::LessS { dst, a, b } => {
                let less = self.limits.less_signed(self.value(a), self.value(b));
                self.decided(dst, less);
            }
            Op::MinU { dst, a, b } => {
                let first = self.limits.less(self.value(a), self.value(b));
                self.choose(dst, a, b, first);
            }
            Op::MinS { dst, a, b } => {
                let first = self.limits.less_signed(self.value(a), self.value(b));
                self.choose(dst, a, b, first);
            }
            Op::MaxS { dst, a, b } => {
                let first = self.limits.less_signed(self.value(a), self.value(b));
                self.choose(dst, b, a, first);
            }
            Op::Mul { dst, a, b, mask } => {
                let value = self.value(a).0.wrapping_mul(self.value(b).0) & mask;
                self.opaque(dst, &[a, b], value);
            }
            Op::Or { dst, a, b, mask } => {
                let value = self.limits.joined(self.value(a), self.value(b), mask);
                self.set_value(dst, value);
            }
            Op::Xor { dst, a, b, mask } => {
                let value = (self.value(a).0 ^ self.value(b).0) & mask;
                self.opaque(dst, &[a, b], value);
            }
            Op::ShiftLeft { dst, a, b, mask } => {
                let amount = self.value(b).0;
                let value = if amount < 64 { self.value(a).0 << amount } else { 0 };
                self.opaque(dst, &[a, b], value & mask);
            }
            Op::ShiftRightS { dst, a, b } => {
                let value = (self.value(a).0 as i64 >> self.value(b).0.min(63)) as u64;
                self.opaque(dst, &[a, b], value);
            }
            Op::DivU { dst, a, b } => {
                let value = self.value(a).0.checked_div(self.value(b).0).unwrap_or(0);
                self.opaque(dst, &[a, b], value);
            }
            Op::ModU { dst, a, b } => {
                let value = self.value(a).0.checked_rem(self.value(b).0).unwrap_or(0);
                self.opaque(dst, &[a, b], value);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A truth value, unknown where it cannot be told.
    fn decided(&mut self, dst: Slot, truth: Probe<bool>) {
        let value = match truth {
            Ok(truth) => (u64::from(truth), AbstractValue::Fixed),
            Err(_) => (0, AbstractValue::Unknown),
        };
        self.set_value(dst, value);
    }

    fn choose(&mut self, dst: Slot, a: Slot, b: Slot, first: Probe<bool>) {
        let value = match first {
            Ok(true) => self.value(a),
            Ok(false) => self.value(b),
            Err(_) => (0, AbstractValue::Unknown),
        };
        self.set_value(dst, value);
    }

    /// Integers of several words: understood on fixed operands only.
    pub(super) fn wide(&mut self, op: &Op) -> bool {
        let (dst, to, operands): (Slot, u16, [(Slot, u16); 2]) = match *op {
            Op::WExtend { dst, a, from, to, .. } => (dst, to, [(a, from), (a, from)]),
            Op::WAdd { dst, a, b, limbs }
            | Op::WSub { dst, a, b, limbs }
            | Op::WMul { dst, a, b, limbs }
            | Op::WAnd { dst, a, b, limbs }
            | Op::WOr { dst, a, b, limbs }
            | Op::WXor { dst, a, b, limbs }
            | Op::WDiv { dst, a, b, limbs }
            | Op::WMod { dst, a, b, limbs } => (dst, limbs, [(a, limbs), (b, limbs)]),
            Op::WNot { dst, a, limbs } => (dst, limbs, [(a, limbs), (a, limbs)]),
            Op::WShiftLeft { dst, a, b, limbs } => (dst, limbs, [(a, limbs), (b, 1)]),
            Op::WShiftRight { dst, a, b, limbs, .. } => (dst, limbs, [(a, limbs), (b, 1)]),
            Op::WTruncate { dst, limbs, .. } => (dst, limbs, [(dst, limbs), (dst, limbs)]),
            Op::WEq { dst, a, b, limbs } => (dst, 1, [(a, limbs), (b, limbs)]),
            Op::WLess { dst, a, b, limbs, .. } => (dst, 1, [(a, limbs), (b, limbs)]),
            _ => return false,
        };
        let fixed = operands.iter().all(|&(slot, limbs)| self.all_fixed(slot, limbs as usize));
        wide_op(op, &mut self.regs);
        self.mark(dst, to as usize, if fixed { AbstractValue::Fixed } else { AbstractValue::Unknown });
        true
    }

    /// The result of an operation that is only understood on fixed operands.
    fn opaque(&mut self, dst: Slot, operands: &[Slot], value: u64) {
        let fixed = operands.iter().all(|&slot| self.abstract_values.get(slot) == AbstractValue::Fixed);
        self.set_value(dst, (value, if fixed { AbstractValue::Fixed } else { AbstractValue::Unknown }));
    }
}
