//! Multicast of a router: fixed routes, hosts that join by IGMP and MLD, and neighbours that join by PIM.
//!
//! A packet is taken from the port towards its sender alone (RFC 7761 4.2).

mod config;
mod pim;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use p4mesh_peers::groups::messages::{self, Change, Heard, Newer, Query, Sender};
use p4mesh_pipeline::Frame;
use p4mesh_wire::ethernet::{self, TYPE_IPV4};
use p4mesh_wire::{ipv4, ipv6, pim as pim_wire};

use self::config::{interfaces_of, GroupRoute};
use self::pim::Pim;
use super::neighbours::Key as Hop;
use super::routes::{Route, Routes};
use super::Interface;
use crate::config::{ConfigError, Place};
use crate::device::groups::questions::{Question, Questions};
use crate::device::groups::receivers::Times;
use crate::device::groups::table::{ForwardBy, Key, Limits, Table, Wanted};

pub use self::config::MulticastConfig;

const PS_PER_S: u64 = 1_000_000_000_000;
const PS_PER_NS: u64 = 1_000;
/// Questions at the start come in this part of the interval (RFC 3376 8.6).
const STARTUP: u64 = 4;
const ANY: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];

/// Frames to send, by port, and when to call again.
#[derive(Default)]
pub struct Work {
    pub frames: Vec<(usize, Frame)>,
    pub again_ps: Option<u64>,
}

/// Interfaces, routes and time, from which a router decides about packets of others.
pub struct Surroundings<'a> {
    pub interfaces: &'a [Interface],
    pub routes: &'a Routes,
    pub now_ps: u64,
}

impl Surroundings<'_> {
    /// The port towards an address; of several the first.
    fn port_towards(&self, address: IpAddr) -> Option<usize> {
        match self.routes.find(address)? {
            Route::Connected(port) => Some(*port),
            Route::Via(hops) | Route::Learned(hops) => hops.first().map(|it| it.0),
        }
    }

    /// The neighbour towards an address, which may be the address itself.
    fn hop_towards(&self, address: IpAddr) -> Option<Hop> {
        match self.routes.find(address)? {
            Route::Connected(port) => Some((*port, address)),
            Route::Via(hops) | Route::Learned(hops) => hops.first().copied(),
        }
    }

    fn sender(&self, port: usize) -> Sender {
        let interface = &self.interfaces[port];
        let ipv4 = interface.ipv4().unwrap_or(Ipv4Addr::UNSPECIFIED);
        Sender { mac: interface.mac, ipv4, ipv6: ipv6::link_local(interface.mac) }
    }
}

/// Multicast of one router.
pub struct Multicast {
    config: MulticastConfig,
    routes: Vec<GroupRoute>,
    host_ports: Vec<usize>,
    hosts: Table,
    questions: Questions,
    /// Of each host port and family: when the next general question is due, and how many remain of those at the start.
    general: BTreeMap<(usize, bool), (u64, u64)>,
    /// Groups to look at again, when a membership may have ended.
    checks: BTreeSet<(u64, IpAddr)>,
    pim: Option<Pim>,
    asked: u64,
    /// The timer that runs.
    armed_ps: Option<u64>,
}

/// Where a packet goes, or why it ends.
pub enum Decision {
    Ports(Vec<usize>),
    /// It did not come from the port towards its sender.
    ReversePath,
    NoMembers,
}

impl Multicast {
    pub fn new(
        config: &MulticastConfig,
        place: &Place,
        ports: &[u16],
        interfaces: &[Interface],
    ) -> Result<Multicast, ConfigError> {
        let host_ports = interfaces_of(&place.key("host_ports"), &config.host_ports, ports, interfaces)?;
        let mut routes = Vec::new();
        for (index, route) in config.routes.iter().enumerate() {
            routes.push(route.check(&place.key("routes").index(index), ports)?);
        }
        let pim = match &config.pim {
            Some(pim) => Some(Pim::new(pim.check(&place.key("pim"), ports, interfaces)?)),
            None => None,
        };
        let limits = Limits {
            groups: config.max_groups.map(|it| it.get()),
            sources: config.max_sources.get(),
            join_ps: config.join_time_ns.ps(),
        };
        let robustness = config.robustness.get();
        // A membership that ends with the leave message leaves no time for questions.
        let questions = if config.leave_delay_ns.ps() == 0 { 0 } else { robustness };
        let mut multicast = Multicast {
            config: config.clone(),
            routes,
            host_ports,
            hosts: Table::new(limits),
            questions: Questions::new(questions, config.leave_delay_ns.ps() / robustness),
            general: BTreeMap::new(),
            checks: BTreeSet::new(),
            pim,
            asked: 0,
            armed_ps: None,
        };
        multicast.begin(interfaces, 0);
        Ok(multicast)
    }

    /// Asks all families of the host ports from now on.
    fn begin(&mut self, interfaces: &[Interface], now_ps: u64) {
        for &port in &self.host_ports {
            for family in [true, false] {
                if interfaces[port].networks.iter().any(|it| it.address.is_ipv4() == family) {
                    self.general.insert((port, family), (now_ps, self.config.robustness.get()));
                }
            }
        }
    }

    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counters = vec![
            ("joins", self.hosts.joined),
            ("joins_refused", self.hosts.refused),
            ("membership_queries", self.asked),
        ];
        if let Some(pim) = &self.pim {
            let it = &pim.counters;
            counters.extend([("pim_hellos", it.hellos), ("pim_joins", it.joins), ("pim_prunes", it.prunes)]);
        }
        counters
    }

    fn times(&self, now_ps: u64) -> Times {
        // RFC 3376 8.4.
        let membership_ps =
            self.config.robustness.get() * self.config.query_interval_s.ps() + self.config.response_s.ps();
        Times { now_ps, membership_ps, leave_ps: self.config.leave_delay_ns.ps() }
    }

    /// Takes a message about groups; `None` when the frame is none, so that it is to be forwarded.
    pub fn on_frame(&mut self, port: usize, frame: &[u8], around: &Surroundings) -> Option<Work> {
        if let Some(heard) = messages::read(frame) {
            let changed = match heard {
                _ if !self.host_ports.contains(&port) => Vec::new(),
                Heard::Query(sender, _) => {
                    self.give_way(port, sender, around);
                    Vec::new()
                }
                Heard::Report(changes) => {
                    changes.into_iter().map(|it| self.change(port, it, around.now_ps)).collect()
                }
            };
            return Some(self.work(&changed, around));
        }
        let packet = pim_packet(frame)?;
        let Some(pim) = &mut self.pim else {
            return Some(Work::default());
        };
        let Some(changed) = pim.on_packet(port, &packet, around.now_ps) else {
            // A new neighbour hears of this router, and of what it has joined (RFC 7761 4.3.1).
            let hello = pim.hello(port, around.interfaces);
            let joins = pim.repeat_joins(around.interfaces, around.now_ps);
            let mut work = self.work(&[], around);
            work.frames.splice(0..0, hello.into_iter().chain(joins));
            return Some(work);
        };
        Some(self.work(&changed, around))
    }

    fn change(&mut self, port: usize, change: Change, now_ps: u64) -> IpAddr {
        let (group, times) = (change.group, self.times(now_ps));
        let doubt = self.hosts.change(Key::new(0, group), port, &change, &times);
        let mut ask = |sources| {
            let question = Question { port, vid: 0, group, sources, records: change.records };
            self.questions.begin(question, now_ps);
        };
        if doubt.group {
            ask(Vec::new());
        }
        if !doubt.sources.is_empty() {
            ask(doubt.sources);
        }
        // Left groups end then; joined ones begin when the processor is done with them.
        self.checks.insert((now_ps + times.leave_ps, group));
        self.checks.insert((self.hosts.busy_until_ps().max(now_ps), group));
        group
    }

    /// A querier with a lower address goes before this one (RFC 3376 6.6.2).
    fn give_way(&mut self, port: usize, other: IpAddr, around: &Surroundings) {
        let sender = around.sender(port);
        let own: IpAddr = if other.is_ipv4() { sender.ipv4.into() } else { sender.ipv6.into() };
        if !other.is_unspecified() && other < own {
            let times = self.times(around.now_ps);
            let until_ps = around.now_ps + times.membership_ps - self.config.response_s.ps() / 2;
            self.general.entry((port, other.is_ipv4())).and_modify(|it| *it = (until_ps, 0));
        }
    }

    /// Where a packet goes.
    pub fn decide(
        &self,
        port: usize,
        frame: &[u8],
        source: IpAddr,
        group: IpAddr,
        around: &Surroundings,
    ) -> Decision {
        let fixed = self
            .routes
            .iter()
            .filter(|it| it.groups.contains(group) && it.source.is_none_or(|sender| sender == source));
        let mut ports = Vec::new();
        let mut input = None;
        for route in fixed {
            input = input.or(route.input);
            ports.extend_from_slice(&route.outputs);
        }
        if input.or_else(|| around.port_towards(source)) != Some(port) {
            return Decision::ReversePath;
        }
        let by = ForwardBy::SourceAndGroup;
        let (key, packet) = ((0, ethernet::number(ethernet::destination(frame))), Some((source, group)));
        self.hosts.add_ports(by, key, packet, around.now_ps, &mut ports);
        if let Some(pim) = &self.pim {
            pim.downstream().add_ports(by, key, packet, around.now_ps, &mut ports);
        }
        ports.sort_unstable();
        ports.dedup();
        ports.retain(|&it| it != port);
        match ports.is_empty() {
            true => Decision::NoMembers,
            false => Decision::Ports(ports),
        }
    }

    /// Does what is due.
    pub fn on_time(&mut self, around: &Surroundings) -> Work {
        let now_ps = around.now_ps;
        self.armed_ps = self.armed_ps.filter(|&at_ps| at_ps > now_ps);
        let mut changed = Vec::new();
        while let Some(&check) = self.checks.first().filter(|it| it.0 <= now_ps) {
            self.checks.remove(&check);
            changed.push(check.1);
        }
        let mut hellos = Vec::new();
        let mut repeat_joins = false;
        if let Some(pim) = &mut self.pim {
            hellos = pim.hellos(around.interfaces, now_ps);
            repeat_joins = pim.joins_are_due(now_ps);
            if repeat_joins {
                let known = self.hosts.known_groups().chain(pim.downstream().known_groups());
                let groups: BTreeSet<IpAddr> = known.chain(pim.joined_groups()).collect();
                changed.extend(groups);
            }
        }
        let mut work = self.work(&changed, around);
        work.frames.splice(0..0, hellos);
        if let Some(pim) = self.pim.as_mut().filter(|_| repeat_joins) {
            work.frames.extend(pim.repeat_joins(around.interfaces, now_ps));
        }
        work
    }

    /// Joins upstream what is wanted of the groups, asks what is due, and says when to go on.
    fn work(&mut self, changed: &[IpAddr], around: &Surroundings) -> Work {
        let mut frames = self.ask(around);
        if let Some(pim) = &mut self.pim {
            for &group in changed {
                let key = Key::new(0, group);
                let mut wanted = Wanted::default();
                self.hosts.add_wanted(&key, around.now_ps, &mut wanted);
                pim.downstream().add_wanted(&key, around.now_ps, &mut wanted);
                let towards = |address| around.hop_towards(address);
                frames.extend(pim.follow(group, &wanted, &towards, around.interfaces, around.now_ps));
            }
        }
        let general = self.general.values().map(|it| it.0).min();
        let pim = self.pim.as_ref().map(Pim::next_ps);
        let check = self.checks.first().map(|it| it.0);
        let next_ps = [general, pim, check, self.questions.next_ps()].into_iter().flatten().min();
        let again_ps = next_ps.filter(|&next_ps| self.armed_ps.is_none_or(|armed_ps| next_ps < armed_ps));
        self.armed_ps = again_ps.or(self.armed_ps);
        Work { frames, again_ps }
    }

    /// The questions of this moment.
    fn ask(&mut self, around: &Surroundings) -> Vec<(usize, Frame)> {
        let (now_ps, times) = (around.now_ps, self.times(around.now_ps));
        let interval_ps = self.config.query_interval_s.ps();
        let mut asked: Vec<(usize, Query)> = Vec::new();
        let robustness = self.config.robustness.get() as u8;
        let newer = |suppress| Newer { suppress, robustness, interval_s: interval_ps / PS_PER_S };
        let usual = |group: IpAddr, response_ps: u64| Query {
            group,
            sources: Vec::new(),
            response_ns: response_ps / PS_PER_NS,
            newer: Some(newer(false)),
        };
        for (&(port, ipv4), (at_ps, at_start)) in &mut self.general {
            if *at_ps <= now_ps {
                *at_start = at_start.saturating_sub(1);
                *at_ps = now_ps + if *at_start > 0 { interval_ps / STARTUP } else { interval_ps };
                asked.push((port, usual(ANY[usize::from(!ipv4)], self.config.response_s.ps())));
            }
        }
        for it in self.questions.due(now_ps) {
            let suppress = self.hosts.is_sure_of(&Key::new(0, it.group), it.port, &it.sources, &times);
            let usual = usual(it.group, self.questions.interval_ps());
            let newer = it.records.then(|| newer(suppress));
            asked.push((it.port, Query { sources: it.sources, newer, ..usual }));
        }
        self.asked += asked.len() as u64;
        let write = |(port, query): (usize, Query)| {
            let mut frame = Frame::new();
            messages::write_query(&mut frame, &around.sender(port), &query);
            (port, frame)
        };
        asked.into_iter().map(write).collect()
    }

    /// Forgets what is behind a port.
    pub fn forget_port(&mut self, port: usize, around: &Surroundings) -> Work {
        self.questions.forget(|it| it == port);
        self.hosts.forget_port(port);
        let mut groups: Vec<IpAddr> = self.hosts.known_groups().collect();
        if let Some(pim) = &mut self.pim {
            pim.forget_port(port);
            groups.extend(pim.joined_groups());
        }
        self.work(&groups, around)
    }

    /// A new start.
    pub fn reset(&mut self, around: &Surroundings) -> Work {
        self.questions.forget(|_| true);
        self.hosts.clear();
        self.checks.clear();
        self.armed_ps = None;
        self.begin(around.interfaces, around.now_ps);
        if let Some(pim) = &mut self.pim {
            pim.reset(around.now_ps);
        }
        self.on_time(around)
    }
}

fn pim_packet(frame: &[u8]) -> Option<ipv4::Packet<'_>> {
    let (header, packet) = ethernet::parse(frame)?;
    if header.ether_type != TYPE_IPV4 || ipv4::protocol_of(packet)? != pim_wire::PROTOCOL {
        return None;
    }
    ipv4::parse(packet)
}
