//! PIM of a router: neighbours, what they have joined here, and what this router has joined at them.
//!
//! Trees of the rendezvous point and of sources. Not modelled: registers, asserts, prunes that others override, the
//! switch from one tree to the other.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use p4mesh_peers::groups::messages::{group_mac, Change};
use p4mesh_pipeline::Frame;
use p4mesh_wire::ethernet::{self, TYPE_IPV4};
use p4mesh_wire::ipv4;
use p4mesh_wire::membership::Mode;
use p4mesh_wire::pim::{self, Group, Message, Source};

use super::super::neighbours::Key as Hop;
use super::super::Interface;
use super::config::PimSettings;
use crate::device::groups::receivers::Times;
use crate::device::groups::table::{Key, Limits, Table, Wanted};

const PS_PER_S: u64 = 1_000_000_000_000;
const MTU_BYTES: usize = 1_500;
/// Groups with one source each that a packet has room for.
const GROUPS_PER_PACKET: usize = (MTU_BYTES - ipv4::HEADER_BYTES - pim::FRONT_BYTES) / pim::ENTRY_BYTES;

/// A tree of a group: that of a source, or that of the rendezvous point.
type Tree = (Ipv4Addr, Option<Ipv4Addr>);

/// State of PIM.
pub struct Pim {
    settings: PimSettings,
    /// By port and address: the end of its time, and its number.
    neighbours: BTreeMap<(usize, Ipv4Addr), (u64, Option<u32>)>,
    /// Joins of neighbours.
    downstream: Table,
    /// The neighbour at which a tree is joined.
    upstream: BTreeMap<Tree, Hop>,
    hello_due_ps: u64,
    join_due_ps: u64,
    /// Changes with each start.
    generation: u32,
    pub counters: Counters,
}

#[derive(Default)]
pub struct Counters {
    pub hellos: u64,
    /// Trees that were joined and pruned at neighbours, repetitions included.
    pub joins: u64,
    pub prunes: u64,
}

/// Changes to tell each neighbour.
#[derive(Default)]
struct Changes(BTreeMap<Hop, Vec<(Tree, bool)>>);

impl Pim {
    pub fn new(settings: PimSettings) -> Pim {
        Pim {
            settings,
            neighbours: BTreeMap::new(),
            downstream: Table::new(Limits { groups: None, sources: u64::MAX, join_ps: 0 }),
            upstream: BTreeMap::new(),
            hello_due_ps: 0,
            join_due_ps: 0,
            generation: 1,
            counters: Counters::default(),
        }
    }

    /// Groups that neighbours have joined here.
    pub fn downstream(&self) -> &Table {
        &self.downstream
    }

    fn own(&self, port: usize) -> Option<Ipv4Addr> {
        self.settings.ports.iter().find(|it| it.0 == port).map(|it| it.1)
    }

    /// Takes a message of a neighbour; returns the groups of which something has changed, or `None` when a neighbour
    /// is new, which must be told of everything.
    pub fn on_packet(&mut self, port: usize, packet: &ipv4::Packet, now_ps: u64) -> Option<Vec<IpAddr>> {
        let nothing = Some(Vec::new());
        let (Some(own), Some(message)) = (self.own(port), pim::parse(packet.payload())) else {
            return nothing;
        };
        match message {
            Message::Hello { hold_time_s, generation } => {
                let until_ps = now_ps + u64::from(hold_time_s) * PS_PER_S;
                let before = self.neighbours.insert((port, packet.source()), (until_ps, generation));
                let is_known = before.is_some_and(|it| it.0 > now_ps && it.1 == generation);
                match is_known {
                    true => nothing,
                    false => None,
                }
            }
            Message::JoinPrune { upstream, .. } if upstream != own => nothing,
            Message::JoinPrune { hold_time_s, groups, .. } => {
                let membership_ps = u64::from(hold_time_s) * PS_PER_S;
                let times = Times { now_ps, membership_ps, leave_ps: 0 };
                for it in &groups {
                    for (source, joins) in with(&it.joined, true).chain(with(&it.pruned, false)) {
                        let change = change(it.group, source, joins);
                        self.downstream.change(Key::new(0, it.group.into()), port, &change, &times);
                    }
                }
                Some(groups.iter().map(|it| it.group.into()).collect())
            }
        }
    }

    /// Joins and prunes the trees of a group so that what is wanted comes. `towards` says which neighbour leads to an
    /// address. A sender in a network of the router says no hello, so that nothing is joined at it.
    pub fn follow(
        &mut self,
        group: IpAddr,
        wanted: &Wanted,
        towards: &dyn Fn(IpAddr) -> Option<Hop>,
        interfaces: &[Interface],
        now_ps: u64,
    ) -> Vec<(usize, Frame)> {
        let IpAddr::V4(group) = group else {
            return Vec::new();
        };
        let mut trees: BTreeMap<Tree, Hop> = BTreeMap::new();
        let mut add = |tree: Tree, root: Ipv4Addr| {
            let hop = towards(root.into()).filter(|it| self.own(it.0).is_some());
            trees.extend(hop.map(|hop| (tree, hop)));
        };
        if let Some(root) = self.settings.rendezvous_point.filter(|_| wanted.all) {
            add((group, None), root);
        }
        for source in &wanted.sources {
            if let IpAddr::V4(source) = *source {
                add((group, Some(source)), source);
            }
        }
        let mut changes = Changes::default();
        let own = (group, None)..=(group, Some(Ipv4Addr::BROADCAST));
        let before: Vec<(Tree, Hop)> = self.upstream.range(own).map(|(&tree, &hop)| (tree, hop)).collect();
        for (tree, hop) in before {
            if trees.get(&tree) != Some(&hop) {
                self.upstream.remove(&tree);
                changes.add(hop, tree, false);
            }
        }
        for (tree, hop) in trees {
            if self.upstream.insert(tree, hop).is_none() {
                changes.add(hop, tree, true);
            }
        }
        self.told(changes, interfaces, now_ps)
    }

    /// Groups that are joined somewhere.
    pub fn joined_groups(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.upstream.keys().map(|it| it.0.into())
    }

    /// All joins, again.
    pub fn repeat_joins(&mut self, interfaces: &[Interface], now_ps: u64) -> Vec<(usize, Frame)> {
        let mut changes = Changes::default();
        for (&tree, &hop) in &self.upstream {
            changes.add(hop, tree, true);
        }
        self.told(changes, interfaces, now_ps)
    }

    /// Writes what neighbours must know; those that have not said hello are told when they have.
    fn told(&mut self, changes: Changes, interfaces: &[Interface], now_ps: u64) -> Vec<(usize, Frame)> {
        let hold_time_s = hold_time_s(self.settings.join_ps);
        let mut frames = Vec::new();
        for ((port, address), trees) in changes.0 {
            let IpAddr::V4(upstream) = address else {
                continue;
            };
            if self.neighbours.get(&(port, upstream)).is_none_or(|it| it.0 <= now_ps) {
                continue;
            }
            let joins = trees.iter().filter(|it| it.1).count() as u64;
            self.counters.joins += joins;
            self.counters.prunes += trees.len() as u64 - joins;
            let root = self.settings.rendezvous_point;
            for part in trees.chunks(GROUPS_PER_PACKET) {
                let groups = part.iter().filter_map(|&(tree, joins)| entry(tree, joins, root)).collect();
                let message = Message::JoinPrune { upstream, hold_time_s, groups };
                frames.extend(self.frame(port, &message, interfaces).map(|frame| (port, frame)));
            }
        }
        frames
    }

    /// Whether joins are to be repeated now.
    pub fn joins_are_due(&mut self, now_ps: u64) -> bool {
        let due = self.join_due_ps <= now_ps;
        if due {
            self.join_due_ps = now_ps + self.settings.join_ps;
        }
        due
    }

    /// Hellos of this moment.
    pub fn hellos(&mut self, interfaces: &[Interface], now_ps: u64) -> Vec<(usize, Frame)> {
        if now_ps < self.hello_due_ps {
            return Vec::new();
        }
        self.hello_due_ps = now_ps + self.settings.hello_ps;
        let ports: Vec<usize> = self.settings.ports.iter().map(|it| it.0).collect();
        ports.into_iter().filter_map(|port| self.hello(port, interfaces)).collect()
    }

    /// A hello at one port.
    pub fn hello(&mut self, port: usize, interfaces: &[Interface]) -> Option<(usize, Frame)> {
        let hold_time_s = hold_time_s(self.settings.hello_ps);
        let message = Message::Hello { hold_time_s, generation: Some(self.generation) };
        let frame = self.frame(port, &message, interfaces)?;
        self.counters.hellos += 1;
        Some((port, frame))
    }

    fn frame(&self, port: usize, message: &Message, interfaces: &[Interface]) -> Option<Frame> {
        let (source, destination) = (self.own(port)?, pim::ALL_ROUTERS);
        let mut payload = Vec::new();
        message.emit(&mut payload);
        let mut frame = Frame::new();
        let header = ethernet::Header {
            destination: group_mac(destination.into()),
            source: interfaces[port].mac,
            ether_type: TYPE_IPV4,
        };
        header.emit(&mut frame);
        let (protocol, hops, dscp, router_alert) = (pim::PROTOCOL, 1, 0, false);
        ipv4::Header { source, destination, protocol, hops, dscp, router_alert }.emit(&payload, &mut frame);
        ethernet::pad(&mut frame);
        Some(frame)
    }

    pub fn next_ps(&self) -> u64 {
        self.hello_due_ps.min(self.join_due_ps)
    }

    /// Forgets what is behind a port.
    pub fn forget_port(&mut self, port: usize) {
        self.neighbours.retain(|it, _| it.0 != port);
        self.downstream.forget_port(port);
    }

    /// A new start.
    pub fn reset(&mut self, now_ps: u64) {
        self.neighbours.clear();
        self.downstream.clear();
        self.upstream.clear();
        (self.hello_due_ps, self.join_due_ps) = (now_ps, now_ps);
        self.generation += 1;
    }
}

impl Changes {
    fn add(&mut self, hop: Hop, tree: Tree, joins: bool) {
        self.0.entry(hop).or_default().push((tree, joins));
    }
}

/// 3.5 times the interval of what is repeated (RFC 7761 4.11).
fn hold_time_s(interval_ps: u64) -> u16 {
    u16::try_from((interval_ps * 7 / 2).div_ceil(PS_PER_S)).unwrap_or(u16::MAX - 1)
}

fn with(sources: &[Source], joins: bool) -> impl Iterator<Item = (Source, bool)> + '_ {
    sources.iter().map(move |&it| (it, joins))
}

/// A join or prune of a neighbour, as a host would say it.
fn change(group: Ipv4Addr, source: Source, joins: bool) -> Change {
    let mode = match (source.any, joins) {
        (true, true) => Mode::IsExclude,
        (true, false) => Mode::ToInclude,
        (false, true) => Mode::Allow,
        (false, false) => Mode::Block,
    };
    let sources = if source.any { Vec::new() } else { vec![source.address.into()] };
    Change { group: group.into(), mode, sources, records: true }
}

fn entry((group, source): Tree, joins: bool, root: Option<Ipv4Addr>) -> Option<Group> {
    let source = Source { address: source.or(root)?, any: source.is_none() };
    let (joined, pruned) = if joins { (vec![source], vec![]) } else { (vec![], vec![source]) };
    Some(Group { group, joined, pruned })
}
