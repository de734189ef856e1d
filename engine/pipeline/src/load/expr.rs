//! Expressions of the JSON as a typed tree.

use std::collections::HashMap;

use crate::code::layout::{FieldRef, Layout};
use crate::load::json::{Load, Node};
use crate::numbers::words;

/// Nesting that the loader accepts; p4c stays far below.
const MAX_DEPTH: usize = 400;

/// An integer constant as two's complement limbs, one spare limb for the sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Const {
    pub limbs: Vec<u64>,
    pub bits: u32,
    pub negative: bool,
}

impl Const {
    pub fn new(negative: bool, bytes: &[u8]) -> Const {
        let length = words::bit_length(bytes);
        let negative = negative && length > 0;
        let bits = length + u32::from(negative);
        let mut limbs = words::from_bytes(bytes, words::limbs_for(bits).max(1));
        if negative {
            words::negate(&mut limbs);
        }
        Const { limbs, bits: bits.max(1), negative }
    }

    pub fn from_u64(value: u64) -> Const {
        Const::new(false, &value.to_be_bytes())
    }

    /// The value modulo 2^64.
    pub fn low(&self) -> u64 {
        self.limbs[0]
    }

    /// The value if it is small and not negative.
    pub fn small(&self) -> Option<u32> {
        (!self.negative && self.bits <= 31).then(|| self.limbs[0] as u32)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum HeaderExpr {
    Header(u16),
    StackElement(u16, Box<Expr>),
    StackLast(u16),
    UnionMember(Box<UnionExpr>, u16),
    /// `condition ? left : right`
    Choice(Box<Expr>, Box<HeaderExpr>, Box<HeaderExpr>),
}

#[derive(Clone, Debug)]
pub(crate) enum UnionExpr {
    Union(u16),
    StackElement(u16, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    ShiftLeft,
    ShiftRight,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CmpOp {
    Eq,
    Ne,
    Less,
    LessEq,
    Greater,
    GreaterEq,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CastOp {
    TwoCompMod,
    UnsignedSat,
    SignedSat,
}

/// Data expressions are integers of any size; the ones below `Bool` are truth values.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Const(Const),
    Field(FieldRef),
    /// Parameter of the enclosing action.
    Local(usize),
    Register(u16, Box<Expr>),
    /// A field reached through a header that is known at run time only: offset in the block.
    HeaderField(HeaderExpr, FieldRef),
    Binary(BinOp, Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Cast(CastOp, Box<Expr>, u32),
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    FromBool(Box<Expr>),
    LastIndex(u16),
    StackSize(u16),

    Bool(bool),
    ToBool(Box<Expr>),
    Compare(CmpOp, Box<Expr>, Box<Expr>),
    BoolEq(Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    BoolNot(Box<Expr>),
    Valid(HeaderExpr),
    UnionValid(UnionExpr),
    HeaderEq(HeaderExpr, HeaderExpr),
    UnionEq(UnionExpr, UnionExpr),

    Header(HeaderExpr),
    Union(UnionExpr),
    Stack(u16),
    UnionStack(u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExprType {
    Data,
    Bool,
    Header,
    Union,
    Stack,
    UnionStack,
}

impl Expr {
    pub fn ty(&self) -> ExprType {
        match self {
            Expr::Const(_)
            | Expr::Field(_)
            | Expr::Local(_)
            | Expr::Register(..)
            | Expr::HeaderField(..)
            | Expr::Binary(..)
            | Expr::Not(_)
            | Expr::Cast(..)
            | Expr::FromBool(_)
            | Expr::LastIndex(_)
            | Expr::StackSize(_) => ExprType::Data,
            Expr::Ternary(_, left, _) => left.ty(),
            Expr::Bool(_)
            | Expr::ToBool(_)
            | Expr::Compare(..)
            | Expr::BoolEq(..)
            | Expr::And(..)
            | Expr::Or(..)
            | Expr::BoolNot(_)
            | Expr::Valid(_)
            | Expr::UnionValid(_)
            | Expr::HeaderEq(..)
            | Expr::UnionEq(..) => ExprType::Bool,
            Expr::Header(_) => ExprType::Header,
            Expr::Union(_) => ExprType::Union,
            Expr::Stack(_) => ExprType::Stack,
            Expr::UnionStack(_) => ExprType::UnionStack,
        }
    }
}

/// Names that an expression may refer to.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    pub layout: &'a Layout,
    pub registers: &'a HashMap<String, u16>,
    /// Parameters of the enclosing action.
    pub locals: usize,
}

impl Names<'_> {
    /// An operand `{type, value}`; `null` is the empty expression.
    pub fn expr(&self, node: &Node) -> Load<Expr> {
        self.expr_at(node, 0)
    }

    pub fn data(&self, node: &Node) -> Load<Expr> {
        let expr = self.expr(node)?;
        typed(node, expr, ExprType::Data)
    }

    /// A data expression, where a truth value counts as 0 or 1.
    pub fn data_or_bool(&self, node: &Node) -> Load<Expr> {
        let expr = self.expr(node)?;
        match expr.ty() {
            ExprType::Bool => Ok(Expr::FromBool(Box::new(expr))),
            _ => typed(node, expr, ExprType::Data),
        }
    }

    pub fn bool(&self, node: &Node) -> Load<Expr> {
        let expr = self.expr(node)?;
        match expr.ty() {
            ExprType::Data => Ok(Expr::ToBool(Box::new(expr))),
            _ => typed(node, expr, ExprType::Bool),
        }
    }

    fn expr_at(&self, node: &Node, depth: usize) -> Load<Expr> {
        if depth > MAX_DEPTH {
            return node.too_large("expression depth", depth as u64, MAX_DEPTH as u64);
        }
        let kind = node.text("type")?;
        let value = node.get("value")?;
        let layout = self.layout;
        Ok(match kind {
            "expression" if value.opt("type").is_some() => self.expr_at(&value, depth + 1)?,
            "expression" => self.operation(&value, depth)?,
            "field" => Expr::Field(layout.field_at(&value)?),
            "hexstr" => {
                let (negative, bytes) = value.hex()?;
                Expr::Const(Const::new(negative, &bytes))
            }
            "bool" => Expr::Bool(value.bool()?),
            "local" | "runtime_data" => {
                let index = value.u64()? as usize;
                if index >= self.locals {
                    return value.malformed(format!("no parameter {index} in this action"));
                }
                Expr::Local(index)
            }
            "register" => {
                let name = value.index(0)?.str()?;
                let Some(&register) = self.registers.get(name) else {
                    return value.unknown("register", name);
                };
                let index = value.index(1)?;
                let expr = self.expr_at(&index, depth + 1)?;
                Expr::Register(register, Box::new(typed(&index, expr, ExprType::Data)?))
            }
            "header" => Expr::Header(HeaderExpr::Header(layout.header_at(&value, value.str()?)?)),
            "header_stack" => Expr::Stack(layout.stack_at(&value, value.str()?)?),
            "header_union" => Expr::Union(UnionExpr::Union(layout.union_at(&value, value.str()?)?)),
            "header_union_stack" => Expr::UnionStack(layout.union_stack_at(&value, value.str()?)?),
            "stack_field" => {
                let stack = layout.stack_at(&value, value.index(0)?.str()?)?;
                self.stack_field(&value, stack, value.index(1)?.str()?)?
            }
            "union_stack_field" => {
                let stack = layout.union_stack_at(&value, value.index(0)?.str()?)?;
                self.union_stack_field(&value, stack)?
            }
            other => return node.unsupported(format!("operand type '{other}'")),
        })
    }

    /// Field `name` of the last header in use of a stack.
    pub fn stack_field(&self, node: &Node, stack: u16, name: &str) -> Load<Expr> {
        let header = self.layout.stacks[stack as usize].headers[0];
        match self.layout.field_of(header, name) {
            Some(field) => Ok(Expr::HeaderField(HeaderExpr::StackLast(stack), self.relative(header, field))),
            // p4c writes a reference to the whole header like this.
            None if name == "last" => Ok(Expr::Header(HeaderExpr::StackLast(stack))),
            None => node.unknown("field", name),
        }
    }

    fn union_stack_field(&self, node: &Node, stack: u16) -> Load<Expr> {
        let member_name = node.index(1)?.str()?;
        let place = &self.layout.union_stacks[stack as usize];
        let members = &self.layout.union_types[place.union_type].members;
        let Some(member) = members.iter().position(|(name, _)| name == member_name) else {
            return node.unknown("header union member", member_name);
        };
        let header = self.layout.unions[place.unions[0] as usize].headers[member];
        let name = node.index(2)?.str()?;
        let Some(field) = self.layout.field_of(header, name) else {
            return node.unknown("field", name);
        };
        let last = Expr::Binary(
            BinOp::Sub,
            Box::new(Expr::Field(FieldRef::plain(place.next, 32))),
            Box::new(Expr::Const(Const::from_u64(1))),
        );
        let union = UnionExpr::StackElement(stack, Box::new(last));
        Ok(Expr::HeaderField(
            HeaderExpr::UnionMember(Box::new(union), member as u16),
            self.relative(header, field),
        ))
    }

    /// Turns a field of `header` into an offset within a block.
    fn relative(&self, header: u16, field: FieldRef) -> FieldRef {
        let base = self.layout.headers[header as usize].base;
        FieldRef { slot: field.slot - base, header: u16::MAX, ..field }
    }

    fn operation(&self, node: &Node, depth: usize) -> Load<Expr> {
        let op = node.text("op")?;
        let right_node = node.get("right")?;
        let right = |this: &Self| this.expr_at(&right_node, depth + 1);
        let data = |this: &Self, key: &str| -> Load<Box<Expr>> {
            let operand = node.get(key)?;
            let expr = this.expr_at(&operand, depth + 1)?;
            Ok(Box::new(typed(&operand, expr, ExprType::Data)?))
        };
        let truth = |this: &Self, key: &str| -> Load<Box<Expr>> {
            let operand = node.get(key)?;
            let expr = this.expr_at(&operand, depth + 1)?;
            Ok(Box::new(typed(&operand, expr, ExprType::Bool)?))
        };
        let binary = |this: &Self, op: BinOp| -> Load<Expr> {
            let left = if node.opt("left").is_none() && matches!(op, BinOp::Add | BinOp::Sub) {
                Box::new(Expr::Const(Const::from_u64(0)))
            } else {
                data(this, "left")?
            };
            Ok(Expr::Binary(op, left, data(this, "right")?))
        };
        let compare = |this: &Self, op: CmpOp| -> Load<Expr> {
            Ok(Expr::Compare(op, data(this, "left")?, data(this, "right")?))
        };
        let cast = |this: &Self, op: CastOp| -> Load<Expr> {
            match *data(this, "right")? {
                Expr::Const(width) if width.small().is_some_and(|w| w > 0 && w <= 16_384) => {
                    Ok(Expr::Cast(op, data(this, "left")?, width.small().unwrap_or(1)))
                }
                _ => right_node.unsupported("a cast to a width that is not constant"),
            }
        };
        Ok(match op {
            "+" => binary(self, BinOp::Add)?,
            "-" => binary(self, BinOp::Sub)?,
            "*" => binary(self, BinOp::Mul)?,
            "/" => binary(self, BinOp::Div)?,
            "%" => binary(self, BinOp::Mod)?,
            "<<" => binary(self, BinOp::ShiftLeft)?,
            ">>" => binary(self, BinOp::ShiftRight)?,
            "&" => binary(self, BinOp::And)?,
            "|" => binary(self, BinOp::Or)?,
            "^" => binary(self, BinOp::Xor)?,
            "~" => Expr::Not(data(self, "right")?),
            "<" => compare(self, CmpOp::Less)?,
            "<=" => compare(self, CmpOp::LessEq)?,
            ">" => compare(self, CmpOp::Greater)?,
            ">=" => compare(self, CmpOp::GreaterEq)?,
            "==" | "!=" => {
                let left = self.expr_at(&node.get("left")?, depth + 1)?;
                let equal = self.equality(node, left, right(self)?)?;
                match equal {
                    Expr::Compare(CmpOp::Eq, left, right) if op == "!=" => {
                        Expr::Compare(CmpOp::Ne, left, right)
                    }
                    other if op == "!=" => Expr::BoolNot(Box::new(other)),
                    other => other,
                }
            }
            "and" => Expr::And(truth(self, "left")?, truth(self, "right")?),
            "or" => Expr::Or(truth(self, "left")?, truth(self, "right")?),
            "not" => Expr::BoolNot(truth(self, "right")?),
            "d2b" => Expr::ToBool(data(self, "right")?),
            "b2d" => Expr::FromBool(truth(self, "right")?),
            "two_comp_mod" => cast(self, CastOp::TwoCompMod)?,
            "usat_cast" => cast(self, CastOp::UnsignedSat)?,
            "sat_cast" => cast(self, CastOp::SignedSat)?,
            "?" => {
                let left = Box::new(self.expr_at(&node.get("left")?, depth + 1)?);
                let right = Box::new(right(self)?);
                if let (Expr::Header(left), Expr::Header(right)) = (left.as_ref(), right.as_ref()) {
                    let (left, right) = (Box::new(left.clone()), Box::new(right.clone()));
                    return Ok(Expr::Header(HeaderExpr::Choice(truth(self, "cond")?, left, right)));
                }
                if left.ty() != right.ty() || !matches!(left.ty(), ExprType::Data | ExprType::Bool) {
                    return node.unsupported("'?' over operands of these types");
                }
                Expr::Ternary(truth(self, "cond")?, left, right)
            }
            "valid" => Expr::Valid(self.header(&right_node, right(self)?)?),
            "valid_union" => match right(self)? {
                Expr::Union(union) => Expr::UnionValid(union),
                _ => return right_node.malformed("expected a header union"),
            },
            "access_field" => {
                let left = node.get("left")?;
                let header = self.header(&left, self.expr_at(&left, depth + 1)?)?;
                let index = right_node.u64()? as usize;
                let known = self.some_header(&header);
                match self.layout.shape_of(known).fields.get(index) {
                    Some(shape) => {
                        let field = self.layout.field_ref(known, shape);
                        match header {
                            HeaderExpr::Header(_) => Expr::Field(field),
                            dynamic => Expr::HeaderField(dynamic, self.relative(known, field)),
                        }
                    }
                    None => return right_node.unknown("field with index", &index.to_string()),
                }
            }
            "access_union_header" => {
                let left = node.get("left")?;
                let Expr::Union(union) = self.expr_at(&left, depth + 1)? else {
                    return left.malformed("expected a header union");
                };
                let member = right_node.u64()?;
                if member as usize >= self.some_union(&union).len() {
                    return right_node.unknown("header union member with index", &member.to_string());
                }
                Expr::Header(HeaderExpr::UnionMember(Box::new(union), member as u16))
            }
            "dereference_stack" | "dereference_header_stack" => {
                let left = node.get("left")?;
                let Expr::Stack(stack) = self.expr_at(&left, depth + 1)? else {
                    return left.malformed("expected a header stack");
                };
                match *data(self, "right")? {
                    Expr::Const(index)
                        if index.small().is_some_and(|i| {
                            (i as usize) < self.layout.stacks[stack as usize].headers.len()
                        }) =>
                    {
                        let index = index.small().unwrap_or(0) as usize;
                        Expr::Header(HeaderExpr::Header(self.layout.stacks[stack as usize].headers[index]))
                    }
                    index => Expr::Header(HeaderExpr::StackElement(stack, Box::new(index))),
                }
            }
            "dereference_union_stack" => {
                let left = node.get("left")?;
                let Expr::UnionStack(stack) = self.expr_at(&left, depth + 1)? else {
                    return left.malformed("expected a header union stack");
                };
                Expr::Union(UnionExpr::StackElement(stack, data(self, "right")?))
            }
            "last_stack_index" | "size_stack" => {
                let Expr::Stack(stack) = right(self)? else {
                    return right_node.malformed("expected a header stack");
                };
                if op == "size_stack" {
                    Expr::StackSize(stack)
                } else {
                    Expr::LastIndex(stack)
                }
            }
            other => return node.unsupported(format!("operator '{other}'")),
        })
    }

    fn equality(&self, node: &Node, left: Expr, right: Expr) -> Load<Expr> {
        Ok(match (left, right) {
            (Expr::Header(left), Expr::Header(right)) => Expr::HeaderEq(left, right),
            (Expr::Union(left), Expr::Union(right)) => Expr::UnionEq(left, right),
            (left, right) => match (left.ty(), right.ty()) {
                (ExprType::Data, ExprType::Data) => Expr::Compare(CmpOp::Eq, Box::new(left), Box::new(right)),
                (ExprType::Bool, ExprType::Bool) => Expr::BoolEq(Box::new(left), Box::new(right)),
                // p4c mixes one-bit fields with truth values here and there.
                (ExprType::Bool, ExprType::Data) => {
                    Expr::BoolEq(Box::new(left), Box::new(Expr::ToBool(Box::new(right))))
                }
                (ExprType::Data, ExprType::Bool) => {
                    Expr::BoolEq(Box::new(Expr::ToBool(Box::new(left))), Box::new(right))
                }
                _ => return node.unsupported("a comparison of operands of these types"),
            },
        })
    }

    fn header(&self, node: &Node, expr: Expr) -> Load<HeaderExpr> {
        match expr {
            Expr::Header(header) => Ok(header),
            _ => node.malformed("expected a header"),
        }
    }

    /// A header of the same type as the one the expression will give.
    pub fn some_header(&self, header: &HeaderExpr) -> u16 {
        match header {
            HeaderExpr::Header(header) => *header,
            HeaderExpr::StackElement(stack, _) | HeaderExpr::StackLast(stack) => {
                self.layout.stacks[*stack as usize].headers[0]
            }
            HeaderExpr::UnionMember(union, member) => self.some_union(union)[*member as usize],
            HeaderExpr::Choice(_, left, _) => self.some_header(left),
        }
    }

    fn some_union(&self, union: &UnionExpr) -> &[u16] {
        let index = match union {
            UnionExpr::Union(union) => *union,
            UnionExpr::StackElement(stack, _) => self.layout.union_stacks[*stack as usize].unions[0],
        };
        &self.layout.unions[index as usize].headers
    }
}

fn typed(node: &Node, expr: Expr, expected: ExprType) -> Load<Expr> {
    match (expr.ty(), expected) {
        (found, expected) if found == expected => Ok(expr),
        (ExprType::Bool, ExprType::Data) => Ok(Expr::FromBool(Box::new(expr))),
        (ExprType::Data, ExprType::Bool) => Ok(Expr::ToBool(Box::new(expr))),
        (found, expected) => node.malformed(format!("expected a {expected:?} expression, found {found:?}")),
    }
}
