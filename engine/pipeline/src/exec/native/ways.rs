//! Where packets go from a table: an action, and the node that follows it.

use super::at::At;
use crate::code::ir::{NextNodes, Op, Pc};
use crate::code::program::{Code, Program};
use crate::state::table::next_of;

/// An action and where it returns to; both are the same place where there is nothing to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub action: Pc,
    pub next: Pc,
    /// Words of the action's parameters.
    pub words: u16,
}

impl Way {
    fn of(code: &Code, action: Option<usize>, next: Pc) -> Way {
        match action.map(|action| &code.actions[action]) {
            Some(action) if code.ops.get(action.entry as usize) != Some(&Op::Return) => {
                Way { action: action.entry, next, words: action.words }
            }
            _ => Way { action: next, next, words: 0 },
        }
    }

    /// The first place of the way from a table.
    pub fn at(&self, table: At) -> At {
        if self.action == self.next {
            table.outside(self.next)
        } else {
            At { pc: self.action, next: self.next, ..table }
        }
    }

    /// The number of the way, from 1 on, that leads to an action and then to a node.
    pub fn find(ways: &[Way], code: &Code, action: Pc, next: Pc) -> Option<u64> {
        let is_empty = code.ops.get(action as usize) == Some(&Op::Return);
        let action = if is_empty { next } else { action };
        let index = ways.iter().position(|way| way.action == action && way.next == next)?;
        Some(index as u64 + 1)
    }
}

/// The ways from each table; those that a packet takes with its default action are the last ones.
pub(super) fn ways(program: &Program) -> Vec<Vec<Way>> {
    (0..program.tables.len()).map(|table| ways_of(program, table)).collect()
}

fn ways_of(program: &Program, table: usize) -> Vec<Way> {
    let code = &program.code;
    let plan = &code.tables[table];
    let mut actions = plan.actions.clone();
    actions.extend(plan.profile.iter().flat_map(|&profile| &code.profiles[profile as usize].actions));
    actions.extend(program.defaults[table].iter().map(|&(action, _)| action));
    let mut ways: Vec<Way> = Vec::new();
    let mut add = |way: Way| {
        if !ways.contains(&way) {
            ways.push(way);
        }
    };
    let is_by_action = matches!(plan.next, NextNodes::ByAction(_));
    for hit in [true, false] {
        for &action in &actions {
            if hit || !is_by_action {
                add(Way::of(code, Some(action), next_of(plan, action, hit)));
            }
        }
    }
    add(Way::of(code, None, plan.miss));
    ways
}
