//! Assembles instructions: labels, temporaries, constants, and the translation of expressions.
//!
//! simple_switch computes with integers of any size. Here every expression gets a range from its
//! operands; what fits 64 bits runs in narrow instructions, and where only the low bits of a
//! result are wanted (a mask, an assignment to a field) sums, products and shifts are computed
//! modulo 2^64, which gives the same bits. Only the rest goes through wide instructions.

use std::collections::HashMap;

use crate::expr::{BinOp, CastOp, CmpOp, Const, Expr, HeaderExpr, UnionExpr};
use crate::ir::{Op, Pc};
use crate::json::{Load, Node};
use crate::layout::{FieldRef, Layout, Slot};
use crate::words::{limbs_for, mask64};

/// Slots for intermediate values of one statement.
pub(crate) const TEMP_SLOTS: usize = 2_048;
/// Largest exact intermediate value; a left shift by a variable amount is cut here.
const MAX_EXACT_BITS: u32 = 8_192;

/// A value in slots: unsigned in 0..2^bits or signed in -2^(bits-1)..2^(bits-1), extended to
/// whole limbs.
#[derive(Clone, Copy, Debug)]
struct Val {
    slot: Slot,
    range: Range,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub bits: u32,
    pub signed: bool,
}

impl Range {
    fn unsigned(bits: u32) -> Range {
        Range { bits: bits.clamp(1, MAX_EXACT_BITS), signed: false }
    }

    fn signed(bits: u32) -> Range {
        Range { bits: bits.clamp(1, MAX_EXACT_BITS), signed: true }
    }

    fn limbs(self) -> usize {
        limbs_for(self.bits)
    }

    /// Bits that a signed representation needs.
    fn signed_bits(self) -> u32 {
        self.bits + u32::from(!self.signed)
    }

    fn join(self, other: Range) -> Range {
        if self.signed || other.signed {
            Range::signed(self.signed_bits().max(other.signed_bits()))
        } else {
            Range::unsigned(self.bits.max(other.bits))
        }
    }

    fn grow(self, bits: u32) -> Range {
        Range { bits: (self.bits + bits).min(MAX_EXACT_BITS), ..self }
    }

    /// True if every value of this range is one of an unsigned field of `bits`.
    fn fits_unsigned(self, bits: u32) -> bool {
        !self.signed && self.bits <= bits
    }

    fn fits_signed(self, bits: u32) -> bool {
        self.signed_bits() <= bits
    }
}

/// A parameter of the action that is being compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub slot: Slot,
    pub bits: u32,
}

pub(crate) struct Asm<'a> {
    pub layout: &'a Layout,
    pub code: Vec<Op>,
    /// Widths of the register arrays in bits.
    pub register_bits: &'a [u32],
    pub params: Vec<Param>,
    labels: Vec<Pc>,
    temp_base: usize,
    temp_next: usize,
    overflow: bool,
    constant_base: usize,
    constants: Vec<u64>,
    constant_slots: HashMap<Vec<u64>, Slot>,
}

/// The result of assembly.
pub(crate) struct Linked {
    pub ops: Vec<Op>,
    /// Label to instruction, for everything else that holds labels.
    pub labels: Vec<Pc>,
    /// First slot of the constants.
    pub constant_base: usize,
    pub constants: Vec<u64>,
}

const UNBOUND: Pc = Pc::MAX;

impl<'a> Asm<'a> {
    /// `param_words` is the size of the parameter area, which follows the packet's slots.
    pub fn new(layout: &'a Layout, register_bits: &'a [u32], param_words: usize) -> Asm<'a> {
        let temp_base = layout.slots + param_words;
        Asm {
            layout,
            code: Vec::new(),
            register_bits,
            params: Vec::new(),
            labels: Vec::new(),
            temp_base,
            temp_next: 0,
            overflow: temp_base + TEMP_SLOTS > Slot::MAX as usize,
            constant_base: temp_base + TEMP_SLOTS,
            constants: Vec::new(),
            constant_slots: HashMap::new(),
        }
    }

    /// Code with its branch targets resolved.
    pub fn finish(self, node: &Node) -> Load<Linked> {
        if self.overflow {
            return node.too_large("number of slots", 65_537, 65_536);
        }
        let Asm { mut code, labels, constant_base, constants, .. } = self;
        for op in &mut code {
            op.map_target(|label| labels[label as usize]);
        }
        Ok(Linked { ops: code, labels, constant_base, constants })
    }

    pub fn label(&mut self) -> Pc {
        self.labels.push(UNBOUND);
        (self.labels.len() - 1) as Pc
    }

    pub fn bind(&mut self, label: Pc) {
        self.labels[label as usize] = self.here();
    }

    pub fn here(&self) -> Pc {
        self.code.len() as Pc
    }

    /// True if a label points at `pc`.
    pub fn is_target(&self, pc: Pc) -> bool {
        self.labels.contains(&pc)
    }

    pub fn emit(&mut self, op: Op) {
        self.code.push(op);
    }

    /// Forgets the temporaries of the statement before.
    pub fn statement(&mut self) {
        self.temp_next = 0;
    }

    pub fn temp(&mut self, limbs: usize) -> Slot {
        let slot = self.temp_base + self.temp_next;
        self.temp_next += limbs;
        if self.temp_next > TEMP_SLOTS {
            self.overflow = true;
            self.temp_next = 0;
        }
        slot as Slot
    }

    pub fn constant(&mut self, value: u64) -> Slot {
        self.wide_constant(vec![value])
    }

    pub fn wide_constant(&mut self, limbs: Vec<u64>) -> Slot {
        if let Some(&slot) = self.constant_slots.get(&limbs) {
            return slot;
        }
        let slot = self.constant_base + self.constants.len();
        if slot + limbs.len() > Slot::MAX as usize {
            self.overflow = true;
            return self.constant_base as Slot;
        }
        self.constants.extend_from_slice(&limbs);
        self.constant_slots.insert(limbs, slot as Slot);
        slot as Slot
    }

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

    fn target(&mut self, dst: Option<Slot>) -> Slot {
        dst.unwrap_or_else(|| self.temp(1))
    }

    fn copied(&mut self, a: Slot, dst: Option<Slot>) -> Slot {
        match dst {
            Some(dst) if dst != a => {
                self.emit(Op::Move { dst, a });
                dst
            }
            _ => a,
        }
    }

    /// The exact value. A value of one limb goes to `dst` where that saves a copy.
    fn exact(&mut self, expr: &Expr, dst: Option<Slot>) -> Val {
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
    fn low_wide(&mut self, expr: &Expr, limbs: usize) -> Slot {
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

    /// A truth value as 0 or 1.
    fn truth(&mut self, expr: &Expr, dst: Option<Slot>) -> Slot {
        match expr {
            Expr::Bool(value) => {
                let a = self.constant(u64::from(*value));
                self.copied(a, dst)
            }
            Expr::Valid(HeaderExpr::Header(header)) => {
                let place = &self.layout.headers[*header as usize];
                let a = place.base;
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
        } else if range.fits_signed(field.bits) {
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
