//! The values that an expression can take.
//!
//! simple_switch computes with integers of any size. Here every expression gets a range from its
//! operands, and the range decides how many words its exact value needs.

use crate::load::asm::Asm;
use crate::load::expr::{BinOp, CastOp, Expr};
use crate::numbers::words::limbs_for;

/// Largest exact intermediate value; a left shift by a variable amount is cut here.
const MAX_EXACT_BITS: u32 = 8_192;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub bits: u32,
    pub signed: bool,
}

impl Range {
    pub fn unsigned(bits: u32) -> Range {
        Range { bits: bits.clamp(1, MAX_EXACT_BITS), signed: false }
    }

    pub fn signed(bits: u32) -> Range {
        Range { bits: bits.clamp(1, MAX_EXACT_BITS), signed: true }
    }

    pub fn limbs(self) -> usize {
        limbs_for(self.bits)
    }

    /// Bits that a signed representation needs.
    pub fn signed_bits(self) -> u32 {
        self.bits + u32::from(!self.signed)
    }

    pub fn join(self, other: Range) -> Range {
        if self.signed || other.signed {
            Range::signed(self.signed_bits().max(other.signed_bits()))
        } else {
            Range::unsigned(self.bits.max(other.bits))
        }
    }

    pub fn grow(self, bits: u32) -> Range {
        Range { bits: (self.bits + bits).min(MAX_EXACT_BITS), ..self }
    }

    /// True if every value of this range is one of an unsigned field of `bits`.
    pub fn fits_unsigned(self, bits: u32) -> bool {
        !self.signed && self.bits <= bits
    }

    pub fn fits_signed(self, bits: u32) -> bool {
        self.signed_bits() <= bits
    }
}

impl Asm<'_> {
    /// The values that `expr` can take.
    pub fn range(&self, expr: &Expr) -> Range {
        match expr {
            Expr::Const(c) => Range { bits: c.bits, signed: c.negative },
            Expr::Field(field) | Expr::HeaderField(_, field) => {
                Range { bits: field.bits.max(1), signed: field.signed }
            }
            Expr::Local(index) => Range::unsigned(self.params[*index].bits),
            Expr::Register(register, _) => Range::unsigned(self.register_bits[*register as usize]),
            Expr::Binary(op, left, right) => self.binary_range(*op, left, right),
            Expr::Not(inner) => Range::signed(self.range(inner).signed_bits()),
            Expr::Cast(CastOp::TwoCompMod | CastOp::SignedSat, _, width) => Range::signed(*width),
            Expr::Cast(CastOp::UnsignedSat, _, width) => Range::unsigned(*width),
            Expr::Ternary(_, left, right) => self.range(left).join(self.range(right)),
            Expr::LastIndex(_) => Range::signed(33),
            Expr::StackSize(_) => Range::unsigned(32),
            // Truth values and references.
            _ => Range::unsigned(1),
        }
    }

    fn binary_range(&self, op: BinOp, left: &Expr, right: &Expr) -> Range {
        let (a, b) = (self.range(left), self.range(right));
        match op {
            BinOp::Add => a.join(b).grow(1),
            BinOp::Sub => Range::signed(a.signed_bits().max(b.signed_bits()) + 1),
            BinOp::Mul if a.signed || b.signed => Range::signed(a.signed_bits() + b.signed_bits()),
            BinOp::Mul => Range::unsigned(a.bits + b.bits),
            BinOp::Div | BinOp::ShiftRight => a,
            BinOp::Mod => {
                if a.signed {
                    a
                } else if b.signed {
                    Range::unsigned(a.bits)
                } else {
                    Range::unsigned(a.bits.min(b.bits))
                }
            }
            BinOp::ShiftLeft => match right {
                Expr::Const(amount) => a.grow(amount.small().unwrap_or(MAX_EXACT_BITS).min(MAX_EXACT_BITS)),
                _ if b.bits >= 13 => a.grow(MAX_EXACT_BITS),
                _ => a.grow((1 << b.bits) - 1),
            },
            BinOp::And => match (a.signed, b.signed) {
                (false, false) => Range::unsigned(a.bits.min(b.bits)),
                (false, true) => a,
                (true, false) => b,
                (true, true) => a.join(b),
            },
            BinOp::Or | BinOp::Xor => a.join(b),
        }
    }
}
