//! The ways through a part of a program, as blocks of instructions. Every table has its actions to itself, so that it is
//! known where each returns to, and what is known of the slots goes with the packet.

use rustc_hash::{FxHashMap, FxHashSet};

use super::at::{At, NOWHERE};
use super::ways::Way;
use crate::code::ir::{Op, Pc};
use crate::code::program::Code;

/// Instructions that a part may have, those of actions once for each place that they return to.
const MAX_INSTRUCTIONS: usize = 60_000;

/// The blocks of a part by their first instructions, in an order in which each follows those that lead to it, loops
/// excepted.
pub(super) struct Graph {
    pub blocks: Vec<At>,
    pub starts: FxHashSet<At>,
    /// Blocks to which a later one leads back.
    pub loops: FxHashSet<At>,
}

/// The instructions of a part; `second_entry` is where its second stage begins.
pub(super) fn graph(code: &Code, ways: &[Vec<Way>], entry: At, second_entry: Option<Pc>) -> Option<Graph> {
    let end = code.ops.len() as Pc;
    let mut next: FxHashMap<At, Vec<At>> = FxHashMap::default();
    let mut starts = FxHashSet::from_iter([entry]);
    let mut pending = vec![entry];
    while let Some(at) = pending.pop() {
        if next.contains_key(&at) {
            continue;
        }
        if next.len() > MAX_INSTRUCTIONS {
            return None;
        }
        let (after, goes_on) = successors(code, ways, at, end, second_entry);
        for &to in &after {
            let is_met = next.contains_key(&to) || pending.contains(&to);
            if !goes_on || is_met {
                starts.insert(to);
            }
            pending.push(to);
        }
        next.insert(at, after);
    }
    let mut order = Vec::new();
    let mut loops = FxHashSet::default();
    // 1: on the way from the entry, 2: done.
    let mut marks: FxHashMap<At, u8> = FxHashMap::default();
    let mut path = vec![(entry, 0)];
    marks.insert(entry, 1);
    while let Some((at, index)) = path.last_mut() {
        match next[at].get(*index) {
            Some(&to) => {
                *index += 1;
                match marks.get(&to) {
                    None => {
                        marks.insert(to, 1);
                        path.push((to, 0));
                    }
                    Some(1) => {
                        loops.insert(to);
                        starts.insert(to);
                    }
                    Some(_) => {}
                }
            }
            None => {
                marks.insert(*at, 2);
                order.push(*at);
                path.pop();
            }
        }
    }
    order.reverse();
    order.retain(|at| starts.contains(at));
    Some(Graph { blocks: order, starts, loops })
}

/// The places that follow; false where a block ends.
fn successors(code: &Code, ways: &[Vec<Way>], at: At, end: Pc, second_entry: Option<Pc>) -> (Vec<At>, bool) {
    let on = at.to(at.pc + 1);
    let ended = at.outside(end);
    let Some(op) = code.ops.get(at.pc as usize) else {
        let second = second_entry.filter(|_| !at.second);
        return (second.into_iter().map(|pc| At { pc, next: NOWHERE, second: true }).collect(), false);
    };
    match *op {
        Op::Halt => (vec![ended], false),
        Op::Return => (vec![at.outside(at.next.min(end)), ended], false),
        Op::HaltIfExit => (vec![on, ended], false),
        Op::Jump { to } => (vec![at.to(to)], false),
        Op::ParserError { .. } => (vec![at.to(code.parser_end)], false),
        Op::Extract { .. }
        | Op::ExtractNext { .. }
        | Op::ExtractUnionNext { .. }
        | Op::Advance { .. }
        | Op::Lookahead { check: true, .. } => (vec![on, at.to(code.parser_end)], false),
        Op::Select { select } => {
            (code.selects[select as usize].targets().map(|to| at.to(to)).collect(), false)
        }
        Op::Table { table } => (ways[table as usize].iter().map(|way| way.at(at)).collect(), false),
        mut op => {
            let mut target = None;
            op.map_target(|to| {
                target = Some(to);
                to
            });
            match target {
                Some(to) => (vec![on, at.to(to)], false),
                None => (vec![on], true),
            }
        }
    }
}
