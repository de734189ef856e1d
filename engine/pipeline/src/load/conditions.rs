//! Truth values and branches to instructions.

use crate::code::ir::{Op, Pc};
use crate::code::layout::Slot;
use crate::load::asm::Asm;
use crate::load::expr::{CmpOp, Const, Expr, HeaderExpr};

impl Asm<'_> {
    /// A truth value as 0 or 1.
    pub fn truth(&mut self, expr: &Expr, dst: Option<Slot>) -> Slot {
        match expr {
            Expr::Bool(value) => {
                let a = self.constant(u64::from(*value));
                self.copied(a, dst)
            }
            Expr::Valid(HeaderExpr::Header(header)) => {
                let a = self.layout.flag(*header);
                self.copied(a, dst)
            }
            Expr::Valid(header) => {
                let header = self.header(header);
                let dst = self.target(dst);
                self.emit(Op::HeaderValid { dst, header });
                dst
            }
            Expr::UnionValid(union) => {
                let union = self.union(union);
                let dst = self.target(dst);
                self.emit(Op::UnionValid { dst, union });
                dst
            }
            Expr::HeaderEq(left, right) => {
                let (a, b) = (self.header(left), self.header(right));
                let dst = self.target(dst);
                self.emit(Op::HeaderEq { dst, a, b });
                dst
            }
            Expr::UnionEq(left, right) => {
                let (a, b) = (self.union(left), self.union(right));
                let dst = self.target(dst);
                self.emit(Op::UnionEq { dst, a, b });
                dst
            }
            Expr::BoolEq(left, right) => {
                let (a, b) = (self.truth(left, None), self.truth(right, None));
                let dst = self.target(dst);
                self.emit(Op::Eq { dst, a, b });
                dst
            }
            Expr::BoolNot(inner) => {
                let a = self.truth(inner, None);
                let dst = self.target(dst);
                self.emit(Op::IsZero { dst, a });
                dst
            }
            Expr::And(left, right) => {
                let (a, b) = (self.truth(left, None), self.truth(right, None));
                let dst = self.target(dst);
                self.emit(Op::And { dst, a, b });
                dst
            }
            Expr::Or(left, right) => {
                let (a, b) = (self.truth(left, None), self.truth(right, None));
                let dst = self.target(dst);
                self.emit(Op::Or { dst, a, b, mask: u64::MAX });
                dst
            }
            Expr::ToBool(inner) if self.range(inner).fits_unsigned(1) => {
                let value = self.exact(inner, dst);
                self.copied(value.slot, dst)
            }
            Expr::Compare(op, left, right) if self.range(left).join(self.range(right)).limbs() == 1 => {
                let (a, b) = (self.low(left, u64::MAX, None), self.low(right, u64::MAX, None));
                let signed = self.range(left).join(self.range(right)).signed;
                let dst = self.target(dst);
                let less = |a, b| {
                    if signed {
                        Op::LessS { dst, a, b }
                    } else {
                        Op::LessU { dst, a, b }
                    }
                };
                match op {
                    CmpOp::Eq => self.emit(Op::Eq { dst, a, b }),
                    CmpOp::Ne => self.emit(Op::Ne { dst, a, b }),
                    CmpOp::Less => self.emit(less(a, b)),
                    CmpOp::Greater => self.emit(less(b, a)),
                    CmpOp::LessEq | CmpOp::GreaterEq => {
                        self.emit(if *op == CmpOp::LessEq { less(b, a) } else { less(a, b) });
                        self.emit(Op::IsZero { dst, a: dst });
                    }
                }
                dst
            }
            // Branches are the general form.
            _ => {
                let (yes, end) = (self.label(), self.label());
                let out = self.temp(1);
                let (one, zero) = (self.constant(1), self.constant(0));
                self.branch(expr, true, yes);
                self.emit(Op::Move { dst: out, a: zero });
                self.emit(Op::Jump { to: end });
                self.bind(yes);
                self.emit(Op::Move { dst: out, a: one });
                self.bind(end);
                self.copied(out, dst)
            }
        }
    }

    /// Jumps to `to` if the truth value of `expr` is `when`.
    pub fn branch(&mut self, expr: &Expr, when: bool, to: Pc) {
        match expr {
            Expr::Bool(value) => {
                if *value == when {
                    self.emit(Op::Jump { to });
                }
            }
            Expr::BoolNot(inner) => self.branch(inner, !when, to),
            Expr::And(left, right) | Expr::Or(left, right) => {
                let disjunction = matches!(expr, Expr::Or(..));
                if disjunction == when {
                    self.branch(left, when, to);
                    self.branch(right, when, to);
                } else {
                    let skip = self.label();
                    self.branch(left, !when, skip);
                    self.branch(right, when, to);
                    self.bind(skip);
                }
            }
            Expr::Ternary(cond, left, right) => {
                let (otherwise, end) = (self.label(), self.label());
                self.branch(cond, false, otherwise);
                self.branch(left, when, to);
                self.emit(Op::Jump { to: end });
                self.bind(otherwise);
                self.branch(right, when, to);
                self.bind(end);
            }
            Expr::ToBool(inner) => {
                let zero = Expr::Const(Const::from_u64(0));
                self.branch_compare(CmpOp::Ne, inner, &zero, when, to);
            }
            Expr::Compare(op, left, right) => self.branch_compare(*op, left, right, when, to),
            _ => {
                let a = self.truth(expr, None);
                self.branch_on(a, when, to);
            }
        }
    }

    fn branch_on(&mut self, a: Slot, when: bool, to: Pc) {
        self.emit(if when { Op::BranchNotZero { a, to } } else { Op::BranchZero { a, to } });
    }

    fn branch_compare(&mut self, op: CmpOp, left: &Expr, right: &Expr, when: bool, to: Pc) {
        let common = self.range(left).join(self.range(right));
        if common.limbs() > 1 {
            let limbs = common.limbs() as u16;
            let (a, b) = (self.low_wide(left, common.limbs()), self.low_wide(right, common.limbs()));
            let dst = self.temp(1);
            let signed = common.signed;
            let (op, positive) = match op {
                CmpOp::Eq => (Op::WEq { dst, a, b, limbs }, true),
                CmpOp::Ne => (Op::WEq { dst, a, b, limbs }, false),
                CmpOp::Less => (Op::WLess { dst, a, b, limbs, signed }, true),
                CmpOp::GreaterEq => (Op::WLess { dst, a, b, limbs, signed }, false),
                CmpOp::Greater => (Op::WLess { dst, a: b, b: a, limbs, signed }, true),
                CmpOp::LessEq => (Op::WLess { dst, a: b, b: a, limbs, signed }, false),
            };
            self.emit(op);
            self.branch_on(dst, when == positive, to);
            return;
        }
        let is_zero = |expr: &Expr| matches!(expr, Expr::Const(c) if c.low() == 0);
        let (mut a, mut b) = (self.low(left, u64::MAX, None), self.low(right, u64::MAX, None));
        let (less, positive) = match op {
            CmpOp::Eq | CmpOp::Ne => {
                let equal = (op == CmpOp::Eq) == when;
                let op = match (equal, is_zero(right)) {
                    (true, true) => Op::BranchZero { a, to },
                    (false, true) => Op::BranchNotZero { a, to },
                    (true, false) => Op::BranchEq { a, b, to },
                    (false, false) => Op::BranchNe { a, b, to },
                };
                self.emit(op);
                return;
            }
            CmpOp::Less => (true, when),
            CmpOp::GreaterEq => (true, !when),
            CmpOp::Greater => (false, when),
            CmpOp::LessEq => (false, !when),
        };
        if !less {
            std::mem::swap(&mut a, &mut b);
        }
        self.emit(match (common.signed, positive) {
            (false, true) => Op::BranchLessU { a, b, to },
            (false, false) => Op::BranchNotLessU { a, b, to },
            (true, true) => Op::BranchLessS { a, b, to },
            (true, false) => Op::BranchNotLessS { a, b, to },
        });
    }
}
