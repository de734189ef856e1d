//! The groups of a device with the members of each: 32 bytes a member that asks for all senders.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use p4mesh_peers::groups::messages::{group_mac, Change};
use p4mesh_wire::ethernet;
use p4mesh_wire::membership::Mode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::receivers::{Doubt, Receivers, Times};

const FIRST: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const LAST: IpAddr = IpAddr::V6(Ipv6Addr::from_bits(u128::MAX));

/// Part of a frame that decides its outputs.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ForwardBy {
    #[default]
    Mac,
    Group,
    SourceAndGroup,
}

/// A group in a VLAN. Groups with one MAC address stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub vid: u16,
    pub mac: u64,
    pub group: IpAddr,
}

impl Key {
    pub fn new(vid: u16, group: IpAddr) -> Key {
        Key { vid, mac: ethernet::number(group_mac(group)), group }
    }
}

/// The receivers of a group behind a port.
#[derive(Debug)]
struct Member {
    port: u16,
    /// When the processor is done with the report that began it.
    from_ps: u64,
    receivers: Receivers,
}

/// Memory of a member without sources.
#[cfg(test)]
pub const MEMBER_BYTES: usize = std::mem::size_of::<Member>();

impl Member {
    fn is_alive(&self, now_ps: u64) -> bool {
        self.from_ps <= now_ps && self.receivers.has_any(now_ps)
    }
}

/// Sources and filter modes that the members of a group ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub all: bool,
    pub sources: BTreeSet<IpAddr>,
}

/// Limits of a table.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub groups: Option<u64>,
    /// Per member.
    pub sources: u64,
    /// Time for each new member.
    pub join_ps: u64,
}

/// The table.
#[derive(Debug)]
pub struct Table {
    groups: BTreeMap<Key, Vec<Member>>,
    limits: Limits,
    /// When the processor is done with all joins.
    busy_until_ps: u64,
    /// Memberships that have begun.
    pub joined: u64,
    /// Joins that found no place in the table.
    pub refused: u64,
}

impl Table {
    pub fn new(limits: Limits) -> Table {
        Table { groups: BTreeMap::new(), limits, busy_until_ps: 0, joined: 0, refused: 0 }
    }

    /// Groups that have a member now.
    pub fn groups(&self, now_ps: u64) -> usize {
        self.groups.values().filter(|members| members.iter().any(|it| it.is_alive(now_ps))).count()
    }

    /// When the processor is done with all joins.
    pub fn busy_until_ps(&self) -> u64 {
        self.busy_until_ps
    }

    /// The groups that are known, with or without members.
    pub fn known_groups(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.groups.keys().map(|it| it.group)
    }

    /// Adds what the members of a group ask for: all senders, and senders by their name.
    pub fn add_wanted(&self, key: &Key, now_ps: u64, wanted: &mut Wanted) {
        for member in self.groups.get(key).into_iter().flatten().filter(|it| it.is_alive(now_ps)) {
            wanted.all |= member.receivers.want_all(now_ps);
            wanted.sources.extend(member.receivers.wanted(now_ps));
        }
    }

    /// Adds the ports that receive a frame, `packet` being its source and destination; says whether the group of the
    /// frame has members.
    pub fn add_ports(
        &self,
        by: ForwardBy,
        (vid, mac): (u16, u64),
        packet: Option<(IpAddr, IpAddr)>,
        now_ps: u64,
        ports: &mut Vec<usize>,
    ) -> bool {
        let (first, last) = match (by, packet) {
            (ForwardBy::Mac, _) => (FIRST, LAST),
            (_, Some((_, group))) => (group, group),
            (_, None) => return false,
        };
        let range = Key { vid, mac, group: first }..=Key { vid, mac, group: last };
        let mut known = false;
        for member in self.groups.range(range).flat_map(|(_, members)| members) {
            if !member.is_alive(now_ps) {
                continue;
            }
            known = true;
            let receives = match (by, packet) {
                (ForwardBy::SourceAndGroup, Some((source, _))) => {
                    member.receivers.receive_from(source, now_ps)
                }
                _ => true,
            };
            if receives {
                ports.push(usize::from(member.port));
            }
        }
        known
    }

    /// Takes note of what a host behind a port says; returns what is to be asked.
    pub fn change(&mut self, key: Key, port: usize, change: &Change, times: &Times) -> Doubt {
        let port = port as u16;
        let place = self.groups.get(&key).map(|it| it.binary_search_by_key(&port, |member| member.port));
        if let Some(Ok(place)) = place {
            let member = self.groups.get_mut(&key).and_then(|it| it.get_mut(place)).expect("it was found");
            if member.receivers.has_any(times.now_ps) {
                let sources = change.sources.len() + member.receivers.sources();
                if adds(change) && sources as u64 > self.limits.sources.max(member.receivers.sources() as u64)
                {
                    self.refused += 1;
                    return Doubt::default();
                }
                return member.receivers.apply(change, times);
            }
        }
        if !adds(change) {
            return Doubt::default();
        }
        if change.sources.len() as u64 > self.limits.sources || !self.has_room(&key, times.now_ps) {
            self.refused += 1;
            return Doubt::default();
        }
        let from_ps = self.busy_until_ps.max(times.now_ps) + self.limits.join_ps;
        self.busy_until_ps = from_ps;
        self.joined += 1;
        let mut receivers = Receivers::default();
        // A membership lasts from when it has begun.
        receivers.apply(change, &Times { now_ps: from_ps.max(times.now_ps), ..*times });
        let member = Member { port, from_ps, receivers };
        let members = self.groups.entry(key).or_default();
        match members.binary_search_by_key(&port, |member| member.port) {
            Ok(place) => members[place] = member,
            Err(place) => members.insert(place, member),
        }
        Doubt::default()
    }

    /// Whether a host has answered a question about a group.
    pub fn is_sure_of(&self, key: &Key, port: usize, sources: &[IpAddr], times: &Times) -> bool {
        let members = self.groups.get(key).into_iter().flatten();
        members.filter(|it| usize::from(it.port) == port).any(|it| it.receivers.are_sure_of(sources, times))
    }

    /// Whether a group is there or finds a place; groups whose members are gone give theirs up.
    fn has_room(&mut self, key: &Key, now_ps: u64) -> bool {
        let Some(limit) = self.limits.groups else {
            return true;
        };
        if self.groups.contains_key(key) {
            return true;
        }
        if self.groups.len() as u64 >= limit {
            self.groups.retain(|_, members| members.iter().any(|it| it.receivers.has_any(now_ps)));
        }
        (self.groups.len() as u64) < limit
    }

    /// Ends the memberships of a port.
    pub fn forget_port(&mut self, port: usize) {
        for members in self.groups.values_mut() {
            members.retain(|it| usize::from(it.port) != port);
        }
    }

    pub fn clear(&mut self) {
        self.groups.clear();
        self.busy_until_ps = 0;
    }
}

/// Whether a change makes a member of one that is none.
fn adds(change: &Change) -> bool {
    match change.mode {
        Mode::IsExclude | Mode::ToExclude => true,
        Mode::IsInclude | Mode::ToInclude | Mode::Allow => !change.sources.is_empty(),
        Mode::Block => false,
    }
}
