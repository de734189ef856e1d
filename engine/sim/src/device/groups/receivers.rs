//! Receivers of one group behind one port, as a device knows them: a filter mode, sources, and their timers (RFC 3376 6.2
//! to 6.4, RFC 3810 7.2 to 7.4).

use std::collections::BTreeMap;
use std::net::IpAddr;

use p4mesh_peers::groups::messages::Change;
use p4mesh_wire::membership::Mode;

/// Times that a device keeps.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub now_ps: u64,
    /// A receiver is forgotten after this time without a report: the group membership interval.
    pub membership_ps: u64,
    /// From what a host leaves to the end: the last member query time.
    pub leave_ps: u64,
}

/// Questions of a device after a change, which find out whether another host still receives the group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubt {
    pub group: bool,
    pub sources: Vec<IpAddr>,
}

/// The receivers. They are in mode EXCLUDE up to a time, then in mode INCLUDE.
#[derive(Clone, Debug, Default)]
pub struct Receivers {
    /// The group timer.
    exclude_until_ps: u64,
    /// Source timers. One that has run out blocks its source in mode EXCLUDE and is meaningless in mode INCLUDE. Most
    /// groups have none, so that one pointer is all they take.
    #[allow(clippy::box_collection)]
    sources: Option<Box<BTreeMap<IpAddr, u64>>>,
}

impl Receivers {
    fn excludes(&self, now_ps: u64) -> bool {
        now_ps < self.exclude_until_ps
    }

    /// Whether any sender of the group is received.
    pub fn has_any(&self, now_ps: u64) -> bool {
        self.excludes(now_ps)
            || self.sources.iter().flat_map(|it| it.values()).any(|&until_ps| now_ps < until_ps)
    }

    /// Whether the frames of a sender are received.
    pub fn receive_from(&self, source: IpAddr, now_ps: u64) -> bool {
        let timer = self.sources.as_ref().and_then(|it| it.get(&source));
        match timer {
            Some(&until_ps) => now_ps < until_ps,
            None => self.excludes(now_ps),
        }
    }

    /// Whether every sender is received but some.
    pub fn want_all(&self, now_ps: u64) -> bool {
        self.excludes(now_ps)
    }

    /// Sources that are received by their own name.
    pub fn wanted(&self, now_ps: u64) -> impl Iterator<Item = IpAddr> + '_ {
        let timers = self.sources.iter().flat_map(|it| it.iter());
        timers.filter(move |(_, &until_ps)| now_ps < until_ps).map(|(&source, _)| source)
    }

    /// Whether the timers run for longer than hosts have to answer a question, so that one of them has answered.
    pub fn are_sure_of(&self, asked: &[IpAddr], times: &Times) -> bool {
        let limit_ps = times.now_ps + times.leave_ps;
        match (asked, &self.sources) {
            ([], _) => self.exclude_until_ps > limit_ps,
            (_, None) => false,
            (_, Some(timers)) => asked.iter().all(|it| timers.get(it).is_some_and(|&it| it > limit_ps)),
        }
    }

    /// Sources with a timer.
    pub fn sources(&self) -> usize {
        self.sources.as_ref().map_or(0, |it| it.len())
    }

    /// Carries out the tables of RFC 3376 6.4.1 and 6.4.2 (RFC 3810 7.4); says what is to be asked.
    pub fn apply(&mut self, change: &Change, times: &Times) -> Doubt {
        let mut timers = self.sources.take().map_or_else(BTreeMap::new, |it| *it);
        let excluded = self.excludes(times.now_ps);
        if !excluded {
            self.exclude_until_ps = 0;
            timers.retain(|_, until_ps| times.now_ps < *until_ps);
        }
        let doubt = match change.mode {
            Mode::IsInclude | Mode::Allow => self.include(&mut timers, change, times, false),
            Mode::ToInclude => self.include(&mut timers, change, times, true),
            Mode::IsExclude => self.exclude(&mut timers, change, times, false),
            Mode::ToExclude => self.exclude(&mut timers, change, times, true),
            Mode::Block => self.block(&mut timers, change, times),
        };
        self.shorten(&mut timers, &doubt, times);
        self.sources = (!timers.is_empty()).then(|| Box::new(timers));
        doubt
    }

    /// The sources of the record are received, too; those that it does not name are in doubt when the mode changed.
    fn include(
        &self,
        timers: &mut BTreeMap<IpAddr, u64>,
        change: &Change,
        times: &Times,
        changed: bool,
    ) -> Doubt {
        let mut doubt = Doubt::default();
        if changed {
            let running = timers.iter().filter(|(_, &until_ps)| times.now_ps < until_ps);
            doubt.sources = running.map(|(&it, _)| it).filter(|it| !change.sources.contains(it)).collect();
            doubt.group = self.excludes(times.now_ps);
        }
        for &source in &change.sources {
            timers.insert(source, times.now_ps + times.membership_ps);
        }
        doubt
    }

    /// All are received but the sources of the record and, of those that were blocked, what it names again.
    fn exclude(
        &mut self,
        timers: &mut BTreeMap<IpAddr, u64>,
        change: &Change,
        times: &Times,
        changed: bool,
    ) -> Doubt {
        let group_until_ps = self.exclude_until_ps;
        let excluded = self.excludes(times.now_ps);
        timers.retain(|source, _| change.sources.contains(source));
        for &source in &change.sources {
            timers.entry(source).or_insert(match (excluded, changed) {
                (false, _) => 0,
                (true, false) => times.now_ps + times.membership_ps,
                (true, true) => group_until_ps,
            });
        }
        self.exclude_until_ps = times.now_ps + times.membership_ps;
        let running = timers.iter().filter(|(_, &until_ps)| times.now_ps < until_ps);
        let sources = if changed { running.map(|(&it, _)| it).collect() } else { Vec::new() };
        Doubt { group: false, sources }
    }

    /// The sources of the record are in doubt, unless they are blocked or not received anyway.
    fn block(&self, timers: &mut BTreeMap<IpAddr, u64>, change: &Change, times: &Times) -> Doubt {
        let mut sources = Vec::new();
        for &source in &change.sources {
            let known = timers.get(&source).copied();
            if known.is_none() && self.excludes(times.now_ps) {
                timers.insert(source, self.exclude_until_ps);
            }
            if timers.get(&source).is_some_and(|&until_ps| times.now_ps < until_ps) {
                sources.push(source);
            }
        }
        Doubt { group: false, sources }
    }

    /// Lets what is in doubt end, unless a host answers (RFC 3376 6.6.3).
    fn shorten(&mut self, timers: &mut BTreeMap<IpAddr, u64>, doubt: &Doubt, times: &Times) {
        let limit_ps = times.now_ps + times.leave_ps;
        if doubt.group {
            self.exclude_until_ps = self.exclude_until_ps.min(limit_ps);
        }
        for source in &doubt.sources {
            timers.entry(*source).and_modify(|until_ps| *until_ps = (*until_ps).min(limit_ps));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERSHIP_PS: u64 = 1_000;
    const LEAVE_PS: u64 = 100;

    fn source(number: u8) -> IpAddr {
        [10, 0, 0, number].into()
    }

    fn change(mode: Mode, sources: &[u8]) -> Change {
        let sources = sources.iter().copied().map(source).collect();
        Change { group: [232, 1, 1, 1].into(), mode, sources, records: true }
    }

    fn times(now_ps: u64) -> Times {
        Times { now_ps, membership_ps: MEMBERSHIP_PS, leave_ps: LEAVE_PS }
    }

    fn told(receivers: &mut Receivers, mode: Mode, sources: &[u8], now_ps: u64) -> (bool, Vec<u8>) {
        let doubt = receivers.apply(&change(mode, sources), &times(now_ps));
        let asked = (1..=9).filter(|&it| doubt.sources.contains(&source(it))).collect();
        (doubt.group, asked)
    }

    /// Which of the sources 1 to 4 are received.
    fn heard(receivers: &Receivers, now_ps: u64) -> Vec<u8> {
        (1..=4).filter(|&it| receivers.receive_from(source(it), now_ps)).collect()
    }

    /// The rows of RFC 3376 6.4.1 and 6.4.2, each from INCLUDE(1, 2), or from EXCLUDE({1, 2}, {3}).
    #[test]
    fn every_record_changes_the_filter_as_the_tables_of_the_standard_say() {
        type Row<'a> = (Mode, &'a [u8], (bool, &'a [u8]), &'a [u8]);
        let include: &[Row] = &[
            (Mode::IsInclude, &[2, 3], (false, &[]), &[1, 2, 3]),
            (Mode::Allow, &[3], (false, &[]), &[1, 2, 3]),
            (Mode::Block, &[2, 3], (false, &[2]), &[1]),
            (Mode::ToInclude, &[2, 3], (false, &[1]), &[2, 3]),
            (Mode::IsExclude, &[2, 3], (false, &[]), &[1, 2, 4]),
            (Mode::ToExclude, &[2, 3], (false, &[2]), &[1, 4]),
        ];
        for &(mode, sources, asked, expected) in include {
            let mut it = Receivers::default();
            told(&mut it, Mode::Allow, &[1, 2], 0);
            assert_eq!(told(&mut it, mode, sources, 10), (asked.0, asked.1.to_vec()), "{mode:?}");
            assert_eq!(heard(&it, 10 + LEAVE_PS), expected, "INCLUDE, {mode:?}");
        }
        let exclude: &[Row] = &[
            (Mode::IsInclude, &[3], (false, &[]), &[1, 2, 3, 4]),
            (Mode::Allow, &[3], (false, &[]), &[1, 2, 3, 4]),
            (Mode::Block, &[1, 3, 4], (false, &[1, 4]), &[2]),
            (Mode::ToExclude, &[1, 3, 4], (false, &[1, 4]), &[2]),
            (Mode::IsExclude, &[1, 3, 4], (false, &[]), &[1, 2, 4]),
            (Mode::ToInclude, &[1], (true, &[2]), &[1]),
        ];
        for &(mode, sources, asked, expected) in exclude {
            let mut it = Receivers::default();
            told(&mut it, Mode::IsExclude, &[3], 0);
            told(&mut it, Mode::Allow, &[1, 2], 0);
            assert_eq!(heard(&it, 1), [1, 2, 4]);
            assert_eq!(told(&mut it, mode, sources, 10), (asked.0, asked.1.to_vec()), "{mode:?}");
            assert_eq!(heard(&it, 10 + LEAVE_PS), expected, "EXCLUDE, {mode:?}");
        }
    }

    #[test]
    fn the_mode_falls_back_to_include_when_the_group_timer_ends() {
        let mut it = Receivers::default();
        told(&mut it, Mode::IsExclude, &[3], 0);
        told(&mut it, Mode::Allow, &[1], 500);
        assert_eq!((heard(&it, 999), heard(&it, 1_000)), (vec![1, 2, 4], vec![1]));
        assert!(it.has_any(1_499) && !it.has_any(1_500));
        told(&mut it, Mode::IsExclude, &[4], 2_000);
        assert_eq!(heard(&it, 2_001), [1, 2, 3], "what was blocked before is forgotten");
    }

    #[test]
    fn an_answer_in_time_keeps_the_group() {
        let mut it = Receivers::default();
        told(&mut it, Mode::IsExclude, &[], 0);
        assert_eq!(told(&mut it, Mode::ToInclude, &[], 10), (true, vec![]));
        assert!(!it.are_sure_of(&[], &times(20)));
        told(&mut it, Mode::IsExclude, &[], 50);
        assert!(it.are_sure_of(&[], &times(60)));
        assert!(it.has_any(1_049) && !it.has_any(1_050));
    }
}
