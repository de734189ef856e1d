//! Expressions and assignments to instructions.
//!
//! Values of up to 64 bits use narrow instructions. Where only the low bits of a result are wanted (a
//! mask, an assignment to a field), sums, products and shifts are computed modulo 2^64, which gives
//! the same bits. Only the rest goes through wide instructions.

use crate::code::ir::Op;
use crate::code::layout::{FieldRef, Slot};
use crate::load::asm::Asm;
use crate::load::expr::{BinOp, CastOp, Expr, HeaderExpr, UnionExpr};
use crate::load::range::Range;
use crate::numbers::words::{limbs_for, mask64};

pub(crate) struct Val {
    pub slot: Slot,
    pub range: Range,
}

impl Asm<'_> {
    /// `expr & mask`, exact in the bits of `mask`; in `dst` if given.
    pub fn low(&mut self, expr: &Expr, mask: u64, dst: Option<Slot>) -> Slot {
        match expr {
            Expr::Binary(BinOp::And, left, right) => {
                for (value, other) in [(right, left), (left, right)] {
                    if let Expr::Const(c) = value.as_ref() {
                        return self.low(other, mask & c.low(), dst);
                    }
                }
                let (a, b) = (self.low(left, mask, None), self.low(right, u64::MAX, None));
                let dst = self.target(dst);
                self.emit(Op::And { dst, a, b });
                dst
            }
            Expr::Binary(
                op @ (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Or | BinOp::Xor),
                left,
                right,
            ) => {
                let (a, b) = (self.low(left, u64::MAX, None), self.low(right, u64::MAX, None));
                let dst = self.target(dst);
                self.emit(match op {
                    BinOp::Add => Op::Add { dst, a, b, mask },
                    BinOp::Sub => Op::Sub { dst, a, b, mask },
                    BinOp::Mul => Op::Mul { dst, a, b, mask },
                    BinOp::Or => Op::Or { dst, a, b, mask },
                    _ => Op::Xor { dst, a, b, mask },
                });
                dst
            }
            Expr::Binary(BinOp::ShiftLeft, left, right) => {
                let (a, b) = (self.low(left, u64::MAX, None), self.low(right, u64::MAX, None));
                let dst = self.target(dst);
                self.emit(Op::ShiftLeft { dst, a, b, mask });
                dst
            }
            Expr::Binary(BinOp::ShiftRight, left, right) if self.range(left).fits_unsigned(64) => {
                if let Expr::Const(amount) = right.as_ref() {
                    if amount.small().is_some_and(|amount| amount < 64) {
                        let right = amount.low() as u8;
                        let a = self.low(left, u64::MAX, None);
                        let dst = self.target(dst);
                        self.emit(Op::Slice { dst, a, right, mask });
                        return dst;
                    }
                }
                self.low_exact(expr, mask, dst)
            }
            Expr::Not(inner) => {
                let a = self.low(inner, u64::MAX, None);
                let dst = self.target(dst);
                self.emit(Op::Not { dst, a, mask });
                dst
            }
            Expr::Cast(CastOp::TwoCompMod, inner, width) if mask <= mask64((*width).min(64)) => {
                self.low(inner, mask, dst)
            }
            Expr::Ternary(cond, left, right) => {
                let out = self.target(dst);
                let (otherwise, end) = (self.label(), self.label());
                self.branch(cond, false, otherwise);
                self.low(left, mask, Some(out));
                self.emit(Op::Jump { to: end });
                self.bind(otherwise);
                self.low(right, mask, Some(out));
                self.bind(end);
                out
            }
            Expr::Const(c) => {
                let a = self.constant(c.low() & mask);
                self.copied(a, dst)
            }
            _ => self.low_exact(expr, mask, dst),
        }
    }

    fn low_exact(&mut self, expr: &Expr, mask: u64, dst: Option<Slot>) -> Slot {
        let covered = self.range(expr);
        let covered = !covered.signed && covered.bits <= 64 && mask64(covered.bits) & !mask == 0;
        if covered || mask == u64::MAX {
            let value = self.exact(expr, dst);
            return self.copied(value.slot, dst);
        }
        let a = self.exact(expr, None).slot;
        let dst = self.target(dst);
        self.emit(Op::AndMask { dst, a, mask });
        dst
    }

    pub fn target(&mut self, dst: Option<Slot>) -> Slot {
        dst.unwrap_or_else(|| self.temp(1))
    }

    pub fn copied(&mut self, a: Slot, dst: Option<Slot>) -> Slot {
        match dst {
            Some(dst) if dst != a => {
                self.emit(Op::Move { dst, a });
                dst
            }
            _ => a,
        }
    }

    /// The exact value. A value of one limb goes to `dst` where that saves a copy.
    pub fn exact(&mut self, expr: &Expr, dst: Option<Slot>) -> Val {
        let range = self.range(expr);
        let narrow = range.limbs() == 1;
        let slot = match expr {
            Expr::Const(c) => self.wide_constant(c.limbs[..range.limbs()].to_vec()),
            Expr::Field(field) => field.slot,
            Expr::Local(index) => self.params[*index].slot,
            Expr::Register(register, index) => {
                let index = self.low(index, u64::MAX, None);
                let dst = self.temp(range.limbs());
                let zero = self.constant(0);
                for limb in 0..range.limbs() as u16 {
                    self.emit(Op::Move { dst: dst + limb, a: zero });
                }
                self.emit(Op::RegisterRead { dst, register: *register, index });
                dst
            }
            Expr::HeaderField(header, field) => {
                let header = self.header(header);
                let dst = self.temp(field.limbs());
                self.emit(Op::LoadField { dst, header, offset: field.slot, limbs: field.limbs() as u16 });
                dst
            }
            Expr::Binary(op, left, right) => return self.exact_binary(expr, *op, left, right, dst),
            Expr::Not(_) if narrow => {
                let Expr::Not(inner) = expr else { unreachable!() };
                let a = self.low(inner, u64::MAX, None);
                let dst = self.target(dst);
                self.emit(Op::Not { dst, a, mask: u64::MAX });
                dst
            }
            Expr::Not(_) => self.low_wide(expr, range.limbs()),
            Expr::Cast(CastOp::TwoCompMod, inner, width) if *width <= 64 => {
                let a = self.low(inner, u64::MAX, None);
                if *width == 64 {
                    a
                } else {
                    let dst = self.target(dst);
                    self.emit(Op::SignExtend { dst, a, bits: *width as u8 });
                    dst
                }
            }
            Expr::Cast(CastOp::TwoCompMod, inner, width) => {
                let limbs = range.limbs();
                let a = self.low_wide(inner, limbs);
                let dst = self.temp(limbs);
                self.emit(Op::MoveMany { dst, a, count: limbs as u16 });
                self.emit(Op::WTruncate { dst, limbs: limbs as u16, bits: *width, signed: true });
                dst
            }
            Expr::Cast(op, inner, width) => self.saturate(*op, inner, *width),
            Expr::Ternary(cond, left, right) => {
                let out = if narrow { self.target(dst) } else { self.temp(range.limbs()) };
                let (otherwise, end) = (self.label(), self.label());
                self.branch(cond, false, otherwise);
                self.exact_into(left, range, out);
                self.emit(Op::Jump { to: end });
                self.bind(otherwise);
                self.exact_into(right, range, out);
                self.bind(end);
                out
            }
            Expr::LastIndex(stack) => {
                let (a, b) = (self.layout.stacks[*stack as usize].next, self.constant(1));
                let dst = self.target(dst);
                self.emit(Op::Sub { dst, a, b, mask: u64::MAX });
                dst
            }
            Expr::StackSize(stack) => self.layout.stacks[*stack as usize].next,
            Expr::FromBool(inner) => self.truth(inner, dst),
            _ => self.truth(expr, dst),
        };
        Val { slot, range }
    }

    fn exact_binary(&mut self, expr: &Expr, op: BinOp, left: &Expr, right: &Expr, dst: Option<Slot>) -> Val {
        let range = self.range(expr);
        let limbs = range.limbs();
        let (a_range, b_range) = (self.range(left), self.range(right));
        let slot = match op {
            BinOp::ShiftRight => {
                let value = self.exact(left, None);
                let b = self.low(right, u64::MAX, None);
                if limbs == 1 {
                    let (a, dst) = (value.slot, self.target(dst));
                    self.emit(if range.signed {
                        Op::ShiftRightS { dst, a, b }
                    } else {
                        Op::ShiftRightU { dst, a, b }
                    });
                    dst
                } else {
                    let dst = self.temp(limbs);
                    let (a, signed) = (value.slot, range.signed);
                    self.emit(Op::WShiftRight { dst, a, b, limbs: limbs as u16, signed });
                    dst
                }
            }
            BinOp::Div | BinOp::Mod => {
                let common = a_range.join(b_range);
                let (a, b) = (self.extended(left, common.limbs()), self.extended(right, common.limbs()));
                let divide = op == BinOp::Div;
                if common.limbs() == 1 && !common.signed {
                    let dst = self.target(dst);
                    self.emit(if divide { Op::DivU { dst, a, b } } else { Op::ModU { dst, a, b } });
                    dst
                } else {
                    let dst = self.temp(common.limbs());
                    let limbs = common.limbs() as u16;
                    self.emit(if divide {
                        Op::WDiv { dst, a, b, limbs }
                    } else {
                        Op::WMod { dst, a, b, limbs }
                    });
                    dst
                }
            }
            // A mask leaves only bits that arithmetic modulo 2^64 gets right.
            BinOp::And if range.fits_unsigned(64) => self.low(expr, mask64(range.bits), dst),
            _ if limbs == 1 => self.low(expr, u64::MAX, dst),
            _ => self.low_wide(expr, limbs),
        };
        Val { slot, range }
    }

    /// The exact value, converted to the representation of `range`, in `dst`.
    fn exact_into(&mut self, expr: &Expr, range: Range, dst: Slot) {
        if range.limbs() == 1 {
            self.low(expr, u64::MAX, Some(dst));
        } else {
            let a = self.low_wide(expr, range.limbs());
            self.emit(Op::MoveMany { dst, a, count: range.limbs() as u16 });
        }
    }

    /// The value modulo 2^(64 limbs).
    pub fn low_wide(&mut self, expr: &Expr, limbs: usize) -> Slot {
        if limbs == 1 {
            return self.low(expr, u64::MAX, None);
        }
        let count = limbs as u16;
        match expr {
            Expr::Binary(
                op @ (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor),
                left,
                right,
            ) => {
                let (a, b) = (self.low_wide(left, limbs), self.low_wide(right, limbs));
                let dst = self.temp(limbs);
                self.emit(match op {
                    BinOp::Add => Op::WAdd { dst, a, b, limbs: count },
                    BinOp::Sub => Op::WSub { dst, a, b, limbs: count },
                    BinOp::Mul => Op::WMul { dst, a, b, limbs: count },
                    BinOp::And => Op::WAnd { dst, a, b, limbs: count },
                    BinOp::Or => Op::WOr { dst, a, b, limbs: count },
                    _ => Op::WXor { dst, a, b, limbs: count },
                });
                dst
            }
            Expr::Binary(BinOp::ShiftLeft, left, right) => {
                let (a, b) = (self.low_wide(left, limbs), self.low(right, u64::MAX, None));
                let dst = self.temp(limbs);
                self.emit(Op::WShiftLeft { dst, a, b, limbs: count });
                dst
            }
            Expr::Not(inner) => {
                let a = self.low_wide(inner, limbs);
                let dst = self.temp(limbs);
                self.emit(Op::WNot { dst, a, limbs: count });
                dst
            }
            _ => self.extended(expr, limbs),
        }
    }

    /// The exact value extended (or cut) to `limbs`.
    fn extended(&mut self, expr: &Expr, limbs: usize) -> Slot {
        let value = self.exact(expr, None);
        let from = value.range.limbs();
        if from >= limbs {
            return value.slot;
        }
        let dst = self.temp(limbs);
        self.emit(Op::WExtend {
            dst,
            a: value.slot,
            from: from as u16,
            to: limbs as u16,
            signed: value.range.signed,
        });
        dst
    }

    fn saturate(&mut self, op: CastOp, inner: &Expr, width: u32) -> Slot {
        let range = self.range(inner);
        let signed_result = op == CastOp::SignedSat;
        let top = width - u32::from(signed_result);
        if range.limbs() == 1 && top <= 62 {
            let a = self.exact(inner, None).slot;
            let dst = self.temp(1);
            let max = self.constant(mask64(top));
            if !range.signed {
                self.emit(Op::MinU { dst, a, b: max });
                return dst;
            }
            let min = self.constant(if signed_result { !mask64(top) } else { 0 });
            self.emit(Op::MaxS { dst, a, b: min });
            self.emit(Op::MinS { dst, a: dst, b: max });
            return dst;
        }
        // Wide: compare with both limits in a signed representation that holds everything.
        let limbs = limbs_for(range.signed_bits().max(width + 1)).max(2);
        let count = limbs as u16;
        let value = self.low_wide(inner, limbs);
        let dst = self.temp(limbs);
        self.emit(Op::MoveMany { dst, a: value, count });
        let mut max = vec![0u64; limbs];
        let mut min = vec![0u64; limbs];
        for limb in 0..limbs {
            let ones = mask64(top.saturating_sub(limb as u32 * 64).min(64));
            max[limb] = ones;
            min[limb] = if signed_result { !ones } else { 0 };
        }
        for (limit, below) in [(max, false), (min, true)] {
            let limit = self.wide_constant(limit);
            let (over, keep) = (self.temp(1), self.label());
            let (a, b) = if below { (dst, limit) } else { (limit, dst) };
            self.emit(Op::WLess { dst: over, a, b, limbs: count, signed: true });
            self.emit(Op::BranchZero { a: over, to: keep });
            self.emit(Op::MoveMany { dst, a: limit, count });
            self.bind(keep);
        }
        dst
    }

    /// Slot with the id of a header.
    pub fn header(&mut self, header: &HeaderExpr) -> Slot {
        match header {
            HeaderExpr::Header(header) => self.constant(u64::from(*header)),
            HeaderExpr::StackElement(stack, index) => {
                let index = self.low(index, u64::MAX, None);
                let dst = self.temp(1);
                self.emit(Op::StackElement { dst, stack: *stack, index });
                dst
            }
            HeaderExpr::StackLast(stack) => {
                let dst = self.temp(1);
                self.emit(Op::StackLast { dst, stack: *stack });
                dst
            }
            HeaderExpr::UnionMember(union, member) => {
                if let UnionExpr::Union(union) = union.as_ref() {
                    let header = self.layout.unions[*union as usize].headers[*member as usize];
                    return self.constant(u64::from(header));
                }
                let union = self.union(union);
                let dst = self.temp(1);
                self.emit(Op::UnionMember { dst, union, member: *member });
                dst
            }
            HeaderExpr::Choice(cond, left, right) => {
                let dst = self.temp(1);
                let (otherwise, end) = (self.label(), self.label());
                self.branch(cond, false, otherwise);
                let a = self.header(left);
                self.emit(Op::Move { dst, a });
                self.emit(Op::Jump { to: end });
                self.bind(otherwise);
                let a = self.header(right);
                self.emit(Op::Move { dst, a });
                self.bind(end);
                dst
            }
        }
    }

    /// Slot with the index of a header union.
    pub fn union(&mut self, union: &UnionExpr) -> Slot {
        match union {
            UnionExpr::Union(union) => self.constant(u64::from(*union)),
            UnionExpr::StackElement(stack, index) => {
                let index = self.low(index, u64::MAX, None);
                let dst = self.temp(1);
                self.emit(Op::UnionStackElement { dst, stack: *stack, index });
                dst
            }
        }
    }

    /// Assigns to a field with the truncation of its width.
    pub fn store(&mut self, field: FieldRef, expr: &Expr) {
        let range = self.range(expr);
        if field.bits == 0 {
            return;
        }
        if field.bits > 64 {
            let limbs = field.limbs();
            let a = self.low_wide(expr, limbs);
            self.emit(Op::MoveMany { dst: field.slot, a, count: limbs as u16 });
            let exact =
                if field.signed { range.fits_signed(field.bits) } else { range.fits_unsigned(field.bits) };
            if !exact {
                let (dst, limbs, bits, signed) = (field.slot, limbs as u16, field.bits, field.signed);
                self.emit(Op::WTruncate { dst, limbs, bits, signed });
            }
        } else if !field.signed {
            self.low(expr, mask64(field.bits), Some(field.slot));
        } else if range.fits_signed(field.bits) || range.fits_unsigned(field.bits) {
            // simple_switch leaves an unsigned value that fits the width as it is, so that it
            // compares as a positive number: action data and register cells keep their sign only
            // where the program casts them.
            self.low(expr, u64::MAX, Some(field.slot));
        } else {
            let a = self.low(expr, u64::MAX, None);
            self.emit(Op::SignExtend { dst: field.slot, a, bits: field.bits as u8 });
        }
    }

    /// Assigns to a field of a header that is known at run time only; `field` is relative.
    pub fn store_dynamic(&mut self, header: &HeaderExpr, field: FieldRef, expr: &Expr) {
        let temp = self.temp(field.limbs());
        self.store(FieldRef { slot: temp, ..field }, expr);
        let header = self.header(header);
        self.emit(Op::StoreField { src: temp, header, offset: field.slot, limbs: field.limbs() as u16 });
    }
}
