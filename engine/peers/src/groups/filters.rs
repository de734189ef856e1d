//! Source filters of hosts: the senders of a group that are received, and the records that tell of a change.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use p4mesh_wire::membership::Mode;

use super::messages::{packed, Change};

/// Source filter of a group: a host receives the named senders, or all but the named ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub sources: BTreeSet<IpAddr>,
    pub exclude: bool,
}

impl Filter {
    /// Every sender of the group.
    pub fn any_sender() -> Filter {
        Filter { sources: BTreeSet::new(), exclude: true }
    }

    /// None: the host is no member.
    pub fn no_sender() -> Filter {
        Filter::default()
    }

    /// The records of a host that changes to this filter (RFC 3376 5.1, RFC 3810 6.1).
    fn changes(&self, group: IpAddr, before: &Filter) -> Vec<Change> {
        let change = |mode, sources| Change { group, mode, sources, records: true };
        if before.exclude != self.exclude {
            let mode = if self.exclude { Mode::ToExclude } else { Mode::ToInclude };
            return vec![change(mode, self.sources.iter().copied().collect())];
        }
        let without = |all: &Filter, these: &Filter| -> Vec<IpAddr> {
            all.sources.difference(&these.sources).copied().collect()
        };
        let (wider, narrower) = match self.exclude {
            false => (without(self, before), without(before, self)),
            true => (without(before, self), without(self, before)),
        };
        let changes = [change(Mode::Allow, wider), change(Mode::Block, narrower)];
        changes.into_iter().filter(|it| !it.sources.is_empty()).collect()
    }

    /// The answer of a host to a query for the group, or for some sources of it; `None` without an answer.
    pub(super) fn answer(&self, group: IpAddr, asked: &BTreeSet<IpAddr>) -> Option<Change> {
        let change = |mode, sources| Change { group, mode, sources, records: true };
        if asked.is_empty() {
            let mode = if self.exclude { Mode::IsExclude } else { Mode::IsInclude };
            return Some(change(mode, self.sources.iter().copied().collect()));
        }
        let received = asked.iter().copied().filter(|it| self.sources.contains(it) != self.exclude);
        let received: Vec<IpAddr> = received.collect();
        (!received.is_empty()).then(|| change(Mode::IsInclude, received))
    }

    /// True when nothing has been changed since the change was reported that led to this filter.
    pub(super) fn is_as_told(&self, told: &Change) -> bool {
        let all_in = || told.sources.iter().all(|it| self.sources.contains(it));
        match told.mode {
            Mode::Allow => all_in() != self.exclude,
            Mode::Block => all_in() == self.exclude,
            mode => {
                self.exclude == (mode == Mode::ToExclude)
                    && self.sources.len() == told.sources.len()
                    && all_in()
            }
        }
    }
}

/// Records of one report. Hosts that tell the same share it.
pub(super) type Records = Arc<[Change]>;

/// The groups that a host receives, in the order in which it joined. Hosts that have made the same changes share it.
#[derive(Debug, Default)]
pub(super) struct Memberships {
    pub filters: IndexMap<IpAddr, Filter>,
    answer: OnceLock<Vec<Records>>,
}

impl Memberships {
    /// The reports that answer a query for all groups.
    pub fn answer(&self) -> &[Records] {
        let none = BTreeSet::new();
        let answers = || self.filters.iter().filter_map(|(&group, it)| it.answer(group, &none));
        self.answer.get_or_init(|| packed(answers()))
    }
}

/// From some memberships to others: the host gets `senders` of each group.
#[derive(Debug)]
pub(super) struct Step {
    before: Arc<Memberships>,
    groups: Vec<IpAddr>,
    senders: Filter,
    pub after: Arc<Memberships>,
    pub records: Vec<Change>,
    packed: OnceLock<Vec<Records>>,
}

impl Step {
    pub fn new(before: &Arc<Memberships>, groups: Vec<IpAddr>, senders: Filter) -> Step {
        let mut filters = before.filters.clone();
        let (mut records, mut left) = (Vec::new(), HashSet::new());
        let none = Filter::no_sender();
        for &group in &groups {
            let known = if left.contains(&group) { None } else { filters.get(&group) };
            records.extend(senders.changes(group, known.unwrap_or(&none)));
            if senders == none {
                left.insert(group);
            } else {
                filters.insert(group, senders.clone());
            }
        }
        filters.retain(|group, _| !left.contains(group));
        let after = Arc::new(Memberships { filters, ..Memberships::default() });
        Step { before: before.clone(), groups, senders, after, records, packed: Default::default() }
    }

    /// True for the step of a host that did the same from the same.
    pub fn is(&self, before: &Arc<Memberships>, groups: &[IpAddr], senders: &Filter) -> bool {
        Arc::ptr_eq(&self.before, before) && self.senders == *senders && self.groups == groups
    }

    /// The reports that tell it.
    pub fn packed(&self) -> &[Records] {
        self.packed.get_or_init(|| packed(self.records.iter().cloned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn filter(exclude: bool, sources: &[u8]) -> Filter {
        Filter { sources: sources.iter().map(|&it| address(it)).collect(), exclude }
    }

    fn told(changes: Vec<Change>) -> Vec<(Mode, Vec<IpAddr>)> {
        changes.into_iter().map(|it| (it.mode, it.sources)).collect()
    }

    #[test]
    fn a_change_is_told_by_the_records_of_rfc_3376() {
        let group = [225, 1, 1, 1].into();
        let sources = |them: &[u8]| them.iter().map(|&it| address(it)).collect::<Vec<_>>();
        // The table of section 5.1.
        for (before, after, expected) in [
            (
                filter(false, &[1, 2]),
                filter(false, &[2, 3]),
                vec![(Mode::Allow, vec![3]), (Mode::Block, vec![1])],
            ),
            (
                filter(true, &[1, 2]),
                filter(true, &[2, 3]),
                vec![(Mode::Allow, vec![1]), (Mode::Block, vec![3])],
            ),
            (filter(false, &[1]), filter(true, &[2]), vec![(Mode::ToExclude, vec![2])]),
            (filter(true, &[1]), filter(false, &[2]), vec![(Mode::ToInclude, vec![2])]),
            (filter(true, &[]), filter(true, &[]), vec![]),
        ] {
            let changes = after.changes(group, &before);
            assert!(changes.iter().all(|it| after.is_as_told(it)), "{changes:?}");
            assert!(!changes.iter().any(|it| before.is_as_told(it)), "{changes:?}");
            let expected: Vec<_> = expected.into_iter().map(|(mode, them)| (mode, sources(&them))).collect();
            assert_eq!(told(changes), expected);
        }
    }

    #[test]
    fn a_query_of_sources_is_answered_for_those_that_are_received() {
        let group = [225, 1, 1, 1].into();
        let asked = |filter: Filter, sources: &[u8]| {
            let asked = sources.iter().map(|&it| address(it)).collect();
            filter.answer(group, &asked).map(|it| (it.mode, it.sources))
        };
        assert_eq!(asked(filter(true, &[3]), &[1, 3]), Some((Mode::IsInclude, vec![address(1)])));
        assert_eq!(asked(filter(false, &[3]), &[1, 3]), Some((Mode::IsInclude, vec![address(3)])));
        assert_eq!(asked(filter(true, &[3]), &[3]), None);
        assert_eq!(asked(filter(true, &[3]), &[]), Some((Mode::IsExclude, vec![address(3)])));
    }

    #[test]
    fn memberships_keep_their_order_and_a_group_that_is_named_twice_changes_once() {
        let groups: Vec<IpAddr> = (1..=3).map(|it| [225, 1, 1, it].into()).collect();
        let joined = Step::new(&Arc::default(), groups.clone(), Filter::any_sender());
        let left = Step::new(&joined.after, vec![groups[0], groups[0]], Filter::no_sender());
        assert_eq!((joined.records.len(), left.records.len()), (3, 1));
        let again = Step::new(&left.after, groups.clone(), Filter::any_sender());
        let kept: Vec<IpAddr> = again.after.filters.keys().copied().collect();
        assert_eq!(kept, [groups[1], groups[2], groups[0]]);
        assert_eq!(again.records.len(), 1, "two are members already");
        assert!(again.is(&left.after, &groups, &Filter::any_sender()));
        assert!(!again.is(&joined.after, &groups, &Filter::any_sender()));
    }
}
