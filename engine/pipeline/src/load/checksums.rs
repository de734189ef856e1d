//! Checksums, which run at the end of the parser and at the start of the deparser, and the order
//! in which the deparser emits headers.

use crate::code::ir::{Op, Pc};
use crate::code::layout::{packet_slot, FieldRef};
use crate::load::actions;
use crate::load::asm::Asm;
use crate::load::declarations::Declarations;
use crate::load::expr::Expr;
use crate::load::json::{Load, Node};

pub(crate) struct Deparser {
    /// Label of the code that runs before headers are written.
    pub entry: Pc,
    /// Header ids.
    pub order: Vec<u16>,
}

fn enabled(node: &Node, key: &str) -> Load<bool> {
    node.opt(key).map_or(Ok(true), |flag| flag.bool())
}

/// Emits the condition and the calculation of a checksum and gives its target with the result.
fn calculate(
    node: &Node,
    declarations: &Declarations,
    skip: Pc,
    asm: &mut Asm,
) -> Load<(FieldRef, FieldRef)> {
    let kind = node.text("type")?;
    if kind != "generic" {
        return node.unsupported(format!("checksum type '{kind}'"));
    }
    let target = declarations.layout.field_at(&node.get("target")?)?;
    if let Some(condition) = node.opt("if_cond") {
        let condition = declarations.names(0).bool(&condition)?;
        asm.branch(&condition, false, skip);
    }
    let name = node.text("calculation")?;
    let Some(&calculation) = declarations.calculations.get(name) else {
        return node.unknown("calculation", name);
    };
    let dst = asm.temp(1);
    asm.emit(Op::Hash { dst, calculation });
    Ok((target, FieldRef::plain(dst, 64)))
}

/// Checks that run after the parser.
pub(crate) fn compile_verify(root: &Node, declarations: &Declarations, asm: &mut Asm) -> Load<()> {
    for node in root.list("checksums")? {
        if !enabled(&node, "verify")? {
            continue;
        }
        asm.statement();
        let skip = asm.label();
        let target = declarations.layout.field_at(&node.get("target")?)?;
        let header = &declarations.layout.headers[target.header as usize];
        if !header.metadata {
            asm.emit(Op::BranchZero { a: header.base, to: skip });
        }
        let (target, result) = calculate(&node, declarations, skip, asm)?;
        let stored = asm.low(&Expr::Field(target), u64::MAX, None);
        asm.emit(Op::BranchEq { a: result.slot, b: stored, to: skip });
        let one = asm.constant(1);
        asm.emit(Op::Move { dst: packet_slot::CHECKSUM_ERROR, a: one });
        asm.bind(skip);
    }
    Ok(())
}

pub(crate) fn compile_deparser(root: &Node, declarations: &Declarations, asm: &mut Asm) -> Load<Deparser> {
    let entry = asm.label();
    asm.bind(entry);
    for node in root.list("checksums")? {
        if !enabled(&node, "update")? {
            continue;
        }
        asm.statement();
        let skip = asm.label();
        let (target, result) = calculate(&node, declarations, skip, asm)?;
        asm.store(target, &Expr::Field(result));
        asm.bind(skip);
    }
    let mut order = None;
    for node in root.list("deparsers")? {
        if node.text("name")? != "deparser" {
            continue;
        }
        for primitive in node.list("primitives")? {
            asm.statement();
            actions::primitive(&primitive, &declarations.names(0), declarations, asm, None)?;
        }
        let mut headers = Vec::new();
        for name in node.get("order")?.items()? {
            headers.push(declarations.layout.header_at(&name, name.str()?)?);
        }
        order = Some(headers);
    }
    asm.emit(Op::Halt);
    match order {
        Some(order) => Ok(Deparser { entry, order }),
        None => root.unknown("deparser", "deparser"),
    }
}
