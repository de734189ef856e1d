//! The querier of a multicast router on one port: it asks hosts for their memberships.
//!
//! General queries as RFC 2236 3, RFC 3376 6, RFC 2710 4 and RFC 3810 7 say, questions after a leave, and silence while
//! a querier with a lower address is there. It forwards nothing.

use std::net::IpAddr;

use p4mesh_wire::membership::Mode;

use super::messages::{self, Change, Heard, Newer, Query, Sender};
use super::Protocol;
use crate::{Leaving, Nanoseconds, Port, NS_PER_S};

/// Maximum response time of hosts (RFC 2236 8.3, RFC 3376 8.3, RFC 3810 9.3).
const RESPONSE_NS: Nanoseconds = 10 * NS_PER_S;
/// Distance of the questions after a leave, and the time to answer each (RFC 3376 8.8, RFC 3810 9.8).
const LAST_MEMBER_NS: Nanoseconds = NS_PER_S;
/// Queries at the start come in this part of the interval (RFC 3376 8.6).
const STARTUP: u64 = 4;

/// Settings of a querier.
#[derive(Clone, Copy, Debug)]
pub struct QuerierSettings {
    pub protocol: Protocol,
    /// From one general query to the next.
    pub interval_ns: Nanoseconds,
    /// Queries at the start, and questions after a leave.
    pub robustness: u8,
}

/// One port; it starts with its first [`Querier::next_event`].
pub struct Querier {
    port: Port,
    sender: Sender,
    settings: QuerierSettings,
    general: Nanoseconds,
    at_start: u8,
    questions: Vec<Question>,
}

/// A question about a group that a host has left.
struct Question {
    group: IpAddr,
    /// The sources that it names.
    sources: Vec<IpAddr>,
    at: Nanoseconds,
    /// How many are to come.
    left: u8,
}

impl Querier {
    pub fn new(port: Port, sender: Sender, settings: QuerierSettings, now: Nanoseconds) -> Querier {
        let at_start = settings.robustness;
        Querier { port, sender, settings, general: now, at_start, questions: Vec::new() }
    }

    /// Takes note of leaves, and of queriers that go before this one.
    pub fn on_frame(&mut self, port: Port, frame: &[u8], now: Nanoseconds) {
        if port != self.port {
            return;
        }
        match messages::read(frame) {
            Some(Heard::Query(other, _)) if self.gives_way_to(other) => {
                // RFC 3376 8.5: the other querier is gone when it was silent for so long.
                let intervals = u64::from(self.settings.robustness) * self.settings.interval_ns;
                self.general = now + intervals + RESPONSE_NS / 2;
                self.questions.clear();
            }
            Some(Heard::Report(changes)) => {
                changes.into_iter().for_each(|change| self.ask_after(change, now));
            }
            _ => {}
        }
    }

    /// When the next query is due.
    pub fn next_event(&self) -> Nanoseconds {
        self.questions.iter().map(|it| it.at).fold(self.general, Nanoseconds::min)
    }

    /// The queries that are due.
    pub fn on_time(&mut self, now: Nanoseconds) -> Vec<Leaving> {
        let mut leaving = Vec::new();
        if self.general <= now {
            self.at_start = self.at_start.saturating_sub(1);
            let part = if self.at_start > 0 { STARTUP } else { 1 };
            self.general = now + self.settings.interval_ns / part;
            leaving.push(self.query(self.settings.protocol.any_group(), &[], RESPONSE_NS));
        }
        for question in self.questions.iter().filter(|it| it.at <= now) {
            leaving.push(self.query(question.group, &question.sources, LAST_MEMBER_NS));
        }
        for question in self.questions.iter_mut().filter(|it| it.at <= now) {
            question.at = now + LAST_MEMBER_NS;
            question.left -= 1;
        }
        self.questions.retain(|it| it.left > 0);
        leaving
    }

    /// True for an address below the own one.
    fn gives_way_to(&self, other: IpAddr) -> bool {
        let own: IpAddr = match self.settings.protocol {
            Protocol::Igmpv2 | Protocol::Igmpv3 => self.sender.ipv4.into(),
            Protocol::Mldv1 | Protocol::Mldv2 => self.sender.ipv6.into(),
        };
        self.settings.protocol.speaks_of(other) && other < own
    }

    /// Asks whether somebody else still receives what a host no longer does.
    fn ask_after(&mut self, change: Change, at: Nanoseconds) {
        let sources = match change.mode {
            Mode::ToInclude => Vec::new(),
            Mode::Block if self.settings.protocol.has_records() => change.sources,
            Mode::Block => Vec::new(),
            _ => return,
        };
        let is_asked = self.questions.iter().any(|it| it.group == change.group && it.sources == sources);
        if self.settings.protocol.speaks_of(change.group) && !is_asked {
            let left = self.settings.robustness.max(1);
            self.questions.push(Question { group: change.group, sources, at, left });
        }
    }

    fn query(&self, group: IpAddr, sources: &[IpAddr], response_ns: Nanoseconds) -> Leaving {
        let QuerierSettings { protocol, interval_ns, robustness } = self.settings;
        let interval_s = interval_ns / NS_PER_S;
        let newer = protocol.has_records().then_some(Newer { suppress: false, robustness, interval_s });
        let query = Query { group, sources: sources.to_vec(), response_ns, newer };
        let mut frame = Vec::new();
        messages::write_query(&mut frame, &self.sender, &query);
        Leaving { port: self.port, frame, stamped: false }
    }
}
