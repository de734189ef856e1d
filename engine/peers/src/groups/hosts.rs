//! Hosts that receive multicast groups: they join, leave, and answer queries of routers.
//!
//! One host per port. Joins and leaves are paced, reports with records are packed; times and random delays are those of
//! the RFCs.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use p4mesh_wire::membership::Mode;

use super::draws::Draws;
use super::filters::{Filter, Memberships, Records, Step};
use super::messages::{self, Change, Heard, Query, Sender};
use super::Protocol;
use crate::{Leaving, Nanoseconds, Port, NS_PER_S};

/// Longest time to the repetition of a report without records (RFC 2236 8.10) and with them (RFC 3376 8.11).
const UNSOLICITED_NS: (Nanoseconds, Nanoseconds) = (10 * NS_PER_S, NS_PER_S);
/// Time for which an older router is remembered with the default intervals (RFC 3376 8.12, RFC 3810 9.12).
const OLDER_ROUTER_NS: Nanoseconds = 260 * NS_PER_S;

/// Settings of all hosts together.
#[derive(Clone, Copy, Debug)]
pub struct HostSettings {
    /// Hosts that hear a router of the older version speak that.
    pub protocol: Protocol,
    /// Joins and leaves that are reported in a second, of all ports.
    pub joins_per_s: NonZeroU32,
    /// How often each change is reported.
    pub robustness: u32,
    /// Decides the random delays.
    pub seed: u64,
}

/// There is no host on the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("port {0} has no host")]
pub struct UnknownPort(pub Port);

/// The hosts of some ports.
pub struct GroupHosts {
    settings: HostSettings,
    hosts: HashMap<Port, Host>,
    last_step: Option<Step>,
    draws: Draws,
    waiting: VecDeque<Message>,
    /// When the pace allows the next report, in nanoseconds times `joins_per_s`.
    free: u128,
    /// By time and order.
    timers: BTreeMap<(Nanoseconds, u64), (Port, Due)>,
    order: u64,
}

/// A host: its memberships, and the answers that it owes.
struct Host {
    sender: Sender,
    memberships: Arc<Memberships>,
    owed_all: Option<Nanoseconds>,
    owed: HashMap<IpAddr, Owed>,
    older_until: Option<Nanoseconds>,
}

/// An answer to a query of one group.
struct Owed {
    at: Nanoseconds,
    /// Sources that were asked for; empty: the whole group.
    sources: BTreeSet<IpAddr>,
}

/// Changes to report, and how often again.
#[derive(Clone)]
struct Message {
    port: Port,
    records: Records,
    repetitions: u32,
    again: bool,
}

/// Reason of a timer.
enum Due {
    /// The answer for all groups.
    AnswerAll,
    Answer(IpAddr),
    Again(Message),
}

impl Host {
    fn speaks_records(&self, protocol: Protocol, now: Nanoseconds) -> bool {
        protocol.has_records() && self.older_until.is_none_or(|until| now > until)
    }

    /// Writes the messages; those that tell of a change for the first time are stamped.
    fn tell(&self, port: Port, told: &[Records], with_records: bool, stamped: bool) -> Vec<Leaving> {
        let mut leaving = Vec::new();
        let mut write = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = Vec::new();
            write(&mut frame);
            leaving.push(Leaving { port, frame, stamped });
        };
        if with_records {
            for records in told {
                write(&|frame| messages::write_records(frame, &self.sender, records));
            }
            return leaving;
        }
        for change in told.iter().flat_map(|records| records.iter()) {
            if !matches!(change.mode, Mode::ToInclude | Mode::Block) {
                write(&|frame| messages::write_joined(frame, &self.sender, change.group));
            } else if !self.memberships.filters.contains_key(&change.group) {
                write(&|frame| messages::write_left(frame, &self.sender, change.group));
            }
        }
        leaving
    }
}

impl GroupHosts {
    pub fn new(hosts: impl IntoIterator<Item = (Port, Sender)>, settings: HostSettings) -> GroupHosts {
        let nothing = Arc::new(Memberships::default());
        let host = |sender| Host {
            sender,
            memberships: nothing.clone(),
            owed_all: None,
            owed: HashMap::new(),
            older_until: None,
        };
        GroupHosts {
            settings,
            hosts: hosts.into_iter().map(|(port, sender)| (port, host(sender))).collect(),
            last_step: None,
            draws: Draws::new(settings.seed),
            waiting: VecDeque::new(),
            free: 0,
            timers: BTreeMap::new(),
            order: 0,
        }
    }

    /// Joins and leaves that have not been reported once.
    pub fn pending_changes(&self) -> usize {
        self.waiting.iter().map(|message| message.records.len()).sum()
    }

    /// True while a change waits for its repetition.
    pub fn repeats(&self) -> bool {
        self.timers.values().any(|(_, due)| matches!(due, Due::Again(_)))
    }

    /// The groups of the host of a port, in the order in which it joined.
    pub fn memberships(&self, port: Port) -> Vec<IpAddr> {
        self.hosts.get(&port).map(|it| it.memberships.filters.keys().copied().collect()).unwrap_or_default()
    }

    /// Receives `senders` of groups from now on; the first report leaves as soon as the pace allows it. To name single
    /// senders takes a protocol that has records.
    pub fn join(
        &mut self,
        port: Port,
        groups: Vec<IpAddr>,
        senders: Filter,
        now: Nanoseconds,
    ) -> Result<(), UnknownPort> {
        let host = self.hosts.get_mut(&port).ok_or(UnknownPort(port))?;
        if self.waiting.is_empty() {
            self.free = self.free.max(ticks(now, self.settings.joins_per_s));
        }
        // Hosts that make the same change one after the other share it.
        let known = self.last_step.take().filter(|it| it.is(&host.memberships, &groups, &senders));
        let step = known.unwrap_or_else(|| Step::new(&host.memberships, groups, senders));
        host.memberships = step.after.clone();
        let single: Vec<Records>;
        let reports = if host.speaks_records(self.settings.protocol, now) {
            step.packed()
        } else {
            single = step.records.iter().map(|it| Records::from([it.clone()])).collect();
            &single
        };
        for records in reports {
            let once = !self.settings.protocol.has_records() && records[0].mode == Mode::ToInclude;
            let repetitions = if once { 0 } else { self.settings.robustness.saturating_sub(1) };
            self.waiting.push_back(Message { port, records: records.clone(), repetitions, again: false });
        }
        self.last_step = Some(step);
        Ok(())
    }

    /// Receives groups no longer.
    pub fn leave(&mut self, port: Port, groups: Vec<IpAddr>, now: Nanoseconds) -> Result<(), UnknownPort> {
        self.join(port, groups, Filter::no_sender(), now)
    }

    /// Takes note of queries and of reports of other hosts; answers follow after their random delay.
    pub fn on_frame(&mut self, port: Port, frame: &[u8], now: Nanoseconds) {
        let protocol = self.settings.protocol;
        let Some(host) = self.hosts.get_mut(&port) else {
            return;
        };
        match messages::read(frame) {
            Some(Heard::Query(_, query)) if protocol.speaks_of(query.group) => self.asked(port, query, now),
            Some(Heard::Report(changes)) if !host.speaks_records(protocol, now) => {
                let reports = changes.iter().filter(|it| !it.records && it.mode == Mode::IsExclude);
                reports.for_each(|it| drop(host.owed.remove(&it.group)));
            }
            _ => {}
        }
    }

    /// When the next report is due.
    pub fn next_event(&mut self) -> Option<Nanoseconds> {
        while let Some((&(at, order), (port, due))) = self.timers.first_key_value() {
            if self.is_due(at, *port, due) {
                break;
            }
            self.timers.remove(&(at, order));
        }
        let pace = u128::from(self.settings.joins_per_s.get());
        let free = (!self.waiting.is_empty()).then(|| self.free.div_ceil(pace) as Nanoseconds);
        let timer = self.timers.first_key_value().map(|((at, _), _)| *at);
        free.into_iter().chain(timer).min()
    }

    /// The reports that are due.
    pub fn on_time(&mut self, now: Nanoseconds) -> Vec<Leaving> {
        let mut leaving = Vec::new();
        let joins_per_s = self.settings.joins_per_s;
        if self.free <= ticks(now, joins_per_s) {
            if let Some(message) = self.waiting.pop_front() {
                // Late frames are not made up for, so that the pace is never exceeded.
                let begin = self.free.max(ticks(now.saturating_sub(1), joins_per_s));
                self.free = begin + u128::from(NS_PER_S) * message.records.len() as u128;
                leaving.extend(self.send(message, now));
            }
        }
        while let Some(entry) = self.timers.first_entry().filter(|it| it.key().0 <= now) {
            let ((at, _), (port, due)) = entry.remove_entry();
            if self.is_due(at, port, &due) {
                leaving.extend(self.act(port, due, now));
            }
        }
        leaving
    }

    /// Sends a change, and repeats it after a while unless something else has changed by then.
    fn send(&mut self, message: Message, now: Nanoseconds) -> Vec<Leaving> {
        let Message { port, records, repetitions, again } = message;
        let with_records = self.hosts[&port].speaks_records(self.settings.protocol, now);
        if repetitions > 0 {
            let limit = if with_records { UNSOLICITED_NS.1 } else { UNSOLICITED_NS.0 };
            let at = now + self.draws.up_to(limit);
            let repetitions = repetitions - 1;
            let repeated = Message { port, records: records.clone(), repetitions, again: true };
            self.set_timer(at, port, Due::Again(repeated));
        }
        self.hosts[&port].tell(port, &[records], with_records, !again)
    }

    fn act(&mut self, port: Port, due: Due, now: Nanoseconds) -> Vec<Leaving> {
        let Some(host) = self.hosts.get_mut(&port) else {
            return Vec::new();
        };
        let with_records = host.speaks_records(self.settings.protocol, now);
        match due {
            Due::Again(message) => {
                let none = Filter::no_sender();
                let filters = &host.memberships.filters;
                let is_true = |it: &&Change| filters.get(&it.group).unwrap_or(&none).is_as_told(it);
                let current: Vec<Change> = message.records.iter().filter(is_true).cloned().collect();
                match current.len() {
                    0 => Vec::new(),
                    all if all == message.records.len() => self.send(message, now),
                    _ => self.send(Message { records: current.into(), ..message }, now),
                }
            }
            Due::AnswerAll => {
                host.owed_all = None;
                host.tell(port, host.memberships.answer(), with_records, false)
            }
            Due::Answer(group) => {
                let asked = host.owed.remove(&group).map(|it| it.sources).unwrap_or_default();
                let filter = host.memberships.filters.get(&group);
                let answer = filter.and_then(|it| it.answer(group, &asked));
                answer
                    .map(|it| host.tell(port, &[Records::from([it])], with_records, false))
                    .unwrap_or_default()
            }
        }
    }

    fn asked(&mut self, port: Port, query: Query, now: Nanoseconds) {
        let Some(host) = self.hosts.get_mut(&port) else {
            return;
        };
        if query.newer.is_none() {
            host.older_until = Some(now + OLDER_ROUTER_NS);
        }
        let limit = query.response_ns.max(1);
        let mut due = now + self.draws.up_to(limit);
        let is_general = query.group.is_unspecified();
        if is_general && host.speaks_records(self.settings.protocol, now) {
            let is_earlier = host.owed_all.is_none_or(|owed| due < owed);
            if !host.memberships.filters.is_empty() && is_earlier {
                host.owed_all = Some(due);
                self.set_timer(due, port, Due::AnswerAll);
            }
            return;
        }
        let memberships = host.memberships.clone();
        let all = memberships.filters.keys().copied();
        let groups: Vec<IpAddr> = all.filter(|it| is_general || *it == query.group).collect();
        let sources: BTreeSet<IpAddr> = query.sources.into_iter().collect();
        for group in groups {
            let Some(host) = self.hosts.get_mut(&port).filter(|it| it.owed_all.is_none_or(|at| at > due))
            else {
                continue;
            };
            if host.owe(group, &sources, due) {
                self.set_timer(due, port, Due::Answer(group));
            }
            due = now + self.draws.up_to(limit);
        }
    }

    fn set_timer(&mut self, at: Nanoseconds, port: Port, due: Due) {
        self.timers.insert((at, self.order), (port, due));
        self.order += 1;
    }

    /// False for a timer that has been replaced by an earlier one, or stopped.
    fn is_due(&self, at: Nanoseconds, port: Port, due: &Due) -> bool {
        let host = &self.hosts[&port];
        match due {
            Due::Again(_) => true,
            Due::AnswerAll => host.owed_all == Some(at),
            Due::Answer(group) => host.owed.get(group).is_some_and(|it| it.at == at),
        }
    }
}

impl Host {
    /// Owes an answer; true when it is due earlier than one that is owed.
    fn owe(&mut self, group: IpAddr, sources: &BTreeSet<IpAddr>, at: Nanoseconds) -> bool {
        let Some(owed) = self.owed.get_mut(&group) else {
            self.owed.insert(group, Owed { at, sources: sources.clone() });
            return true;
        };
        if sources.is_empty() || owed.sources.is_empty() {
            // A query of the whole group is answered for all of it.
            owed.sources.clear();
        } else {
            owed.sources.extend(sources);
        }
        let is_earlier = at < owed.at;
        owed.at = owed.at.min(at);
        is_earlier
    }
}

/// A time in the unit of the pace, in which the distance of reports is a whole number.
fn ticks(at: Nanoseconds, joins_per_s: NonZeroU32) -> u128 {
    u128::from(at) * u128::from(joins_per_s.get())
}
