//! The entries that a program brings itself, as comparisons in the order in which they match.

use super::ways::Way;
use crate::code::layout::Slot;
use crate::code::program::{KeyPlan, Program, TablePlan};
use crate::numbers::words::limbs_for;
use crate::state::table::{bind, pattern, rank, ParamWords};
use crate::vocabulary::entries::KeyMatch;
use crate::vocabulary::info::MatchKind;

/// Entries of a table that become a chain.
const MAX_ENTRIES: usize = 24;

/// One limb of a key field, and what it must hold.
pub(super) struct Test {
    pub slot: Slot,
    /// Valid flag of the field's header.
    pub valid: Slot,
    pub mask: u64,
    pub value: u64,
}

/// An entry: where it leads when all its tests hold.
pub(super) struct Case {
    pub tests: Vec<Test>,
    pub way: Way,
    pub params: ParamWords,
}

/// The entries of each table that become a chain, the first one that matches first.
pub(super) fn cases(program: &Program, ways: &[Vec<Way>]) -> Vec<Vec<Case>> {
    let cases = |(table, ways): (usize, &Vec<Way>)| cases_of(program, table, ways).unwrap_or_default();
    ways.iter().enumerate().map(cases).collect()
}

/// `None` where the host looks the entries up.
fn cases_of(program: &Program, table: usize, ways: &[Way]) -> Option<Vec<Case>> {
    let (info, plan) = (&program.tables[table], &program.code.tables[table]);
    let initial: Vec<_> = program.initial_entries.iter().filter(|entry| entry.table == table).collect();
    let by_mask = plan.is_pure() && plan.key.iter().all(|key| key.kind != MatchKind::Range);
    if !by_mask || initial.len() > MAX_ENTRIES {
        return None;
    }
    let mut ranked = Vec::new();
    for entry in initial {
        let key: Vec<KeyMatch> = entry.key.iter().map(KeyMatch::masked).collect();
        let (pattern, prefix) = pattern(info, plan, &key).ok()?;
        let binding = bind(&program.code, plan, entry.action, &entry.data, true);
        let case = Case {
            tests: tests(plan, &pattern.value, &pattern.mask),
            way: ways[Way::find(ways, &program.code, binding.entry, binding.next)? as usize - 1],
            params: binding.words,
        };
        let priority = if info.needs_priority() { entry.priority } else { 0 };
        ranked.push((rank(info, priority, prefix), case));
    }
    // Of entries with the same rank the first one matches.
    ranked.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    Some(ranked.into_iter().map(|(_, case)| case).collect())
}

/// The tests of a packed key; limbs that may hold anything need none.
fn tests(plan: &TablePlan, value: &[u64], mask: &[u64]) -> Vec<Test> {
    let limbs = |key: &KeyPlan| 0..limbs_for(key.bits);
    let test = |key: &KeyPlan, limb: usize| {
        let word = usize::from(key.word) + limb;
        let field = key.word_mask(limb);
        let mask = mask[word] >> key.shift & field;
        (mask != 0).then_some(Test {
            slot: key.slot + limb as Slot,
            valid: key.valid,
            mask,
            value: value[word] >> key.shift & mask,
        })
    };
    plan.key.iter().flat_map(|key| limbs(key).filter_map(move |limb| test(key, limb))).collect()
}
