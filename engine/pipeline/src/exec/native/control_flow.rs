//! Control flow between the instructions of a program.

use crate::code::ir::{NextNodes, Op, Pc};
use crate::code::program::Code;

/// Where blocks of instructions start.
pub(super) struct ControlFlow {
    /// Instructions that are entered otherwise than by a branch.
    pub entered: Vec<Pc>,
    /// True for each instruction that is reached otherwise than from the one before it.
    starts_block: Vec<bool>,
}

impl ControlFlow {
    pub fn new(code: &Code) -> ControlFlow {
        let entered: Vec<Pc> = entered(code).filter(|&pc| (pc as usize) < code.ops.len()).collect();
        let mut starts_block = vec![false; code.ops.len()];
        for &to in entered.iter().chain(&code.ops.iter().filter_map(target).collect::<Vec<_>>()) {
            starts_block.get_mut(to as usize).into_iter().for_each(|it| *it = true);
        }
        ControlFlow { entered, starts_block }
    }

    /// True where an instruction is the first of a block: it is reached otherwise than from the one before it.
    pub fn starts_block(&self, pc: usize) -> bool {
        self.starts_block[pc]
    }
}

fn entered(code: &Code) -> impl Iterator<Item = Pc> + '_ {
    let parts =
        [code.parser_entry, code.parser_end, code.ingress_entry, code.egress_entry, code.deparser_entry];
    let actions = code.actions.iter().map(|action| action.entry);
    let selects = code.selects.iter().flat_map(|select| select.targets());
    let nodes = code.tables.iter().flat_map(|table| {
        let next = match &table.next {
            NextNodes::HitMiss { hit, miss } => vec![*hit, *miss],
            NextNodes::ByAction(nodes) => nodes.clone(),
        };
        next.into_iter().chain([table.miss])
    });
    parts.into_iter().chain(actions).chain(selects).chain(nodes)
}

/// The target of a branch.
fn target(op: &Op) -> Option<Pc> {
    let mut target = None;
    let mut op = *op;
    op.map_target(|to| {
        target = Some(to);
        to
    });
    target
}

/// Where an instruction leads by itself: to the next one, and to the target of a branch.
pub(super) fn next(pc: Pc, op: &Op) -> impl Iterator<Item = Pc> {
    let ends = matches!(
        op,
        Op::Halt
            | Op::Return
            | Op::Jump { .. }
            | Op::ParserError { .. }
            | Op::Select { .. }
            | Op::Table { .. }
    );
    (!ends).then_some(pc + 1).into_iter().chain(target(op))
}
