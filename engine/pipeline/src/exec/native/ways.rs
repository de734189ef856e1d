//! The ways from one instruction to the next.

use crate::code::ir::{NextNodes, Op, Pc};
use crate::code::program::Code;

/// Where ways through a program come from.
pub(super) struct Ways {
    /// Instructions to which other ways lead than those of branches.
    pub entered: Vec<Pc>,
    /// True for each instruction to which another way leads than from the one before it.
    meet: Vec<bool>,
}

impl Ways {
    pub fn new(code: &Code) -> Ways {
        let entered: Vec<Pc> = entered(code).filter(|&pc| (pc as usize) < code.ops.len()).collect();
        let mut meet = vec![false; code.ops.len()];
        for &to in entered.iter().chain(&code.ops.iter().filter_map(target).collect::<Vec<_>>()) {
            meet.get_mut(to as usize).into_iter().for_each(|it| *it = true);
        }
        Ways { entered, meet }
    }

    /// True where another way leads to an instruction than from the one before it.
    pub fn meet(&self, pc: usize) -> bool {
        self.meet[pc]
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
