//! IGMP and MLD snooping: multicast goes to the ports whose hosts asked for the group, and to those
//! behind which a router is. RFC 4541; groups are told apart by their MAC address.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{check_port, check_range};
use crate::config::ConfigError;

const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const PROTOCOL_IGMP: u8 = 2;
const NEXT_HOP_BY_HOP: u8 = 0;
const NEXT_ICMPV6: u8 = 58;
/// One hour.
const MAX_PS: u64 = 3_600_000_000_000_000;

/// `snooping` of an Ethernet switch; absent: multicast is flooded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SnoopingConfig {
    /// Multicast that nobody has joined is flooded, not dropped.
    pub flood_unknown: bool,
    /// A port that has not reported for longer is no member any more (RFC 3376 8.4: 260 s).
    pub membership_ps: u64,
    /// From a leave message to the end of the membership; 0 is fast leave.
    pub leave_delay_ps: u64,
    /// Ports with a router, next to those that a query came from.
    pub router_ports: Vec<u16>,
}

impl Default for SnoopingConfig {
    fn default() -> SnoopingConfig {
        SnoopingConfig {
            flood_unknown: false,
            membership_ps: 260_000_000_000_000,
            leave_delay_ps: 2_000_000_000_000,
            router_ports: Vec::new(),
        }
    }
}

impl SnoopingConfig {
    pub fn check(&self, path: &str, ports: &[u16]) -> Result<(), ConfigError> {
        check_range(
            path,
            "snooping.membership_ps",
            self.membership_ps,
            1,
            MAX_PS,
        )?;
        check_range(
            path,
            "snooping.leave_delay_ps",
            self.leave_delay_ps,
            0,
            MAX_PS,
        )?;
        for (index, port) in self.router_ports.iter().enumerate() {
            check_port(
                path,
                &format!("snooping.router_ports[{index}]"),
                *port,
                ports,
            )?;
        }
        Ok(())
    }
}

/// Where a multicast frame goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    Flood,
    /// To these local ports, ascending.
    Ports(Vec<usize>),
    Drop,
}

/// What a membership message says of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Join(u64),
    Leave(u64),
}

#[derive(Debug, PartialEq, Eq)]
enum Message {
    Query,
    Report(Vec<Change>),
}

type GroupKey = (u16, u64);

/// Memberships of a device.
pub struct Snooping {
    config: SnoopingConfig,
    static_routers: BTreeSet<usize>,
    /// Router ports learned from queries, with the end of their time.
    routers: BTreeMap<usize, u64>,
    /// By (VLAN, group address): port and end of its membership.
    groups: BTreeMap<GroupKey, BTreeMap<usize, u64>>,
}

impl Snooping {
    pub fn new(config: &SnoopingConfig, ports: &[u16]) -> Snooping {
        let local = |port: &u16| ports.iter().position(|it| it == port);
        Snooping {
            static_routers: config.router_ports.iter().filter_map(local).collect(),
            config: config.clone(),
            routers: BTreeMap::new(),
            groups: BTreeMap::new(),
        }
    }

    /// Groups that have a member now.
    pub fn groups(&self, now_ps: u64) -> usize {
        let alive = |members: &&BTreeMap<usize, u64>| members.values().any(|&end| end > now_ps);
        self.groups.values().filter(alive).count()
    }

    /// Where a frame (without tag) to a group address goes; notes what it says of memberships.
    pub fn scope(
        &mut self,
        vid: u16,
        group: u64,
        input: usize,
        frame: &[u8],
        now_ps: u64,
    ) -> Scope {
        match message_of(frame) {
            Some(Message::Query) => {
                self.routers
                    .insert(input, now_ps + self.config.membership_ps);
                return Scope::Flood;
            }
            Some(Message::Report(changes)) => {
                for change in changes {
                    self.change(vid, change, input, now_ps);
                }
                return Scope::Ports(self.router_ports(now_ps));
            }
            None => {}
        }
        if !is_snooped(group) {
            return Scope::Flood;
        }
        let mut ports: BTreeSet<usize> = self.router_ports(now_ps).into_iter().collect();
        let members = self.groups.get(&(vid, group));
        let alive = members.into_iter().flatten().filter(|it| *it.1 > now_ps);
        let mut known = false;
        for (&port, _) in alive {
            known = true;
            ports.insert(port);
        }
        if !known && self.config.flood_unknown {
            return Scope::Flood;
        }
        if ports.is_empty() {
            return Scope::Drop;
        }
        Scope::Ports(ports.into_iter().collect())
    }

    fn router_ports(&self, now_ps: u64) -> Vec<usize> {
        let learned = self.routers.iter().filter(|it| *it.1 > now_ps);
        let mut ports = self.static_routers.clone();
        ports.extend(learned.map(|it| *it.0));
        ports.into_iter().collect()
    }

    fn change(&mut self, vid: u16, change: Change, input: usize, now_ps: u64) {
        match change {
            Change::Join(group) => {
                let members = self.groups.entry((vid, group)).or_default();
                members.insert(input, now_ps + self.config.membership_ps);
            }
            Change::Leave(group) => {
                if let Some(members) = self.groups.get_mut(&(vid, group)) {
                    if let Some(end_ps) = members.get_mut(&input) {
                        *end_ps = (*end_ps).min(now_ps + self.config.leave_delay_ps);
                    }
                }
            }
        }
    }

    /// Ends the memberships of a port, and what a query has told of a router behind it.
    pub fn forget_port(&mut self, port: usize) {
        self.routers.remove(&port);
        for members in self.groups.values_mut() {
            members.remove(&port);
        }
    }

    pub fn reset(&mut self) {
        self.routers.clear();
        self.groups.clear();
    }
}

/// Groups of the local network (224.0.0.x, ff02::1) and addresses other than IP multicast are
/// flooded whatever was reported (RFC 4541 2.1.2).
fn is_snooped(group: u64) -> bool {
    let ipv4 = group >> 24 == 0x0001_005e && group & 0x00ff_ff00 != 0;
    let ipv6 = group >> 32 == 0x3333 && group != 0x3333_0000_0001;
    ipv4 || ipv6
}

fn message_of(frame: &[u8]) -> Option<Message> {
    match frame.get(12..14)? {
        kind if kind == IPV4 => igmp_of(frame.get(14..)?),
        kind if kind == IPV6 => mld_of(frame.get(14..)?),
        _ => None,
    }
}

/// IGMP versions 1 to 3 (RFC 1112, 2236, 3376).
fn igmp_of(packet: &[u8]) -> Option<Message> {
    if *packet.get(9)? != PROTOCOL_IGMP {
        return None;
    }
    let message = packet.get(4 * usize::from(packet[0] & 15)..)?;
    let group = |at: usize| Some(ipv4_group(message.get(at..at + 4)?));
    match *message.first()? {
        0x11 => Some(Message::Query),
        0x12 | 0x16 => Some(Message::Report(vec![Change::Join(group(4)?)])),
        0x17 => Some(Message::Report(vec![Change::Leave(group(4)?)])),
        0x22 => records(message, 4, ipv4_group),
        _ => None,
    }
}

/// MLD versions 1 and 2 (RFC 2710, 3810).
fn mld_of(packet: &[u8]) -> Option<Message> {
    let (next, message) = match *packet.get(6)? {
        NEXT_HOP_BY_HOP => {
            let options = packet.get(40..)?;
            let length = 8 + 8 * usize::from(*options.get(1)?);
            (*options.first()?, options.get(length..)?)
        }
        next => (next, packet.get(40..)?),
    };
    if next != NEXT_ICMPV6 {
        return None;
    }
    let group = || Some(ipv6_group(message.get(8..24)?));
    match *message.first()? {
        130 => Some(Message::Query),
        131 => Some(Message::Report(vec![Change::Join(group()?)])),
        132 => Some(Message::Report(vec![Change::Leave(group()?)])),
        143 => records(message, 16, ipv6_group),
        _ => None,
    }
}

/// Group records of IGMPv3 and MLDv2, which differ in the size of an address only.
fn records(message: &[u8], address_bytes: usize, group: fn(&[u8]) -> u64) -> Option<Message> {
    let count = u16::from_be_bytes([*message.get(6)?, *message.get(7)?]);
    let mut rest = message.get(8..)?;
    let mut changes = Vec::new();
    for _ in 0..count {
        let sources = usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]));
        let address = group(rest.get(4..4 + address_bytes)?);
        // Modes 1 and 3 include only the sources listed, 2 and 4 exclude them, 5 allows more.
        match rest[0] {
            2 | 4 => changes.push(Change::Join(address)),
            1 | 3 | 5 if sources > 0 => changes.push(Change::Join(address)),
            1 | 3 => changes.push(Change::Leave(address)),
            _ => {}
        }
        let length = 4 + address_bytes * (1 + sources) + 4 * usize::from(rest[1]);
        rest = rest.get(length..)?;
    }
    Some(Message::Report(changes))
}

fn ipv4_group(address: &[u8]) -> u64 {
    let low = u32::from_be_bytes([0, address[1] & 0x7f, address[2], address[3]]);
    0x0100_5e00_0000 | u64::from(low)
}

fn ipv6_group(address: &[u8]) -> u64 {
    let low = u32::from_be_bytes([address[12], address[13], address[14], address[15]]);
    0x3333_0000_0000 | u64::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: u64 = 0x0100_5e01_0101;

    fn ipv4(message: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 14 + 24];
        frame[12..14].copy_from_slice(&IPV4);
        frame[14] = 0x46;
        frame[14 + 9] = PROTOCOL_IGMP;
        frame.extend(message);
        frame
    }

    fn report_v2(kind: u8) -> Vec<u8> {
        ipv4(&[kind, 0, 0, 0, 225, 1, 1, 1])
    }

    fn report_v3(mode: u8) -> Vec<u8> {
        ipv4(&[0x22, 0, 0, 0, 0, 0, 0, 1, mode, 0, 0, 0, 225, 1, 1, 1])
    }

    fn snooping(leave_delay_ps: u64) -> Snooping {
        let config = SnoopingConfig {
            membership_ps: 1_000,
            leave_delay_ps,
            router_ports: vec![4],
            ..Default::default()
        };
        config.check("model", &[1, 2, 3, 4]).unwrap();
        Snooping::new(&config, &[1, 2, 3, 4])
    }

    fn data(snooping: &mut Snooping, now_ps: u64) -> Scope {
        snooping.scope(1, GROUP, 0, &[0; 60], now_ps)
    }

    #[test]
    fn members_of_all_versions_get_the_group_and_routers_everything() {
        let mut it = snooping(0);
        assert_eq!(data(&mut it, 0), Scope::Ports(vec![3]), "the router only");
        let heard = it.scope(1, GROUP, 1, &report_v2(0x16), 0);
        assert_eq!(heard, Scope::Ports(vec![3]), "reports go to routers");
        it.scope(1, GROUP, 2, &report_v3(4), 0);
        assert_eq!(data(&mut it, 999), Scope::Ports(vec![1, 2, 3]));
        assert_eq!(
            data(&mut it, 1_000),
            Scope::Ports(vec![3]),
            "memberships end"
        );
        assert_eq!(it.groups(999), 1);
        assert_eq!(
            it.scope(2, GROUP, 0, &[0; 60], 0),
            Scope::Ports(vec![3]),
            "another VLAN"
        );
    }

    #[test]
    fn a_leave_ends_the_membership_after_its_delay() {
        for (delay_ps, leave) in [(0, report_v2(0x17)), (100, report_v3(3))] {
            let mut it = snooping(delay_ps);
            it.scope(1, GROUP, 1, &report_v2(0x16), 0);
            it.scope(1, GROUP, 1, &leave, 10);
            if delay_ps > 0 {
                assert_eq!(data(&mut it, 9 + delay_ps), Scope::Ports(vec![1, 3]));
            }
            assert_eq!(data(&mut it, 10 + delay_ps), Scope::Ports(vec![3]));
        }
    }

    #[test]
    fn a_port_that_is_forgotten_has_no_membership() {
        let mut it = snooping(0);
        it.scope(1, GROUP, 1, &report_v2(0x16), 0);
        it.forget_port(1);
        assert_eq!(data(&mut it, 1), Scope::Ports(vec![3]), "the static router");
    }

    #[test]
    fn mld_reports_behind_a_hop_by_hop_header_are_understood() {
        let mut frame = vec![0; 14 + 40 + 8];
        frame[12..14].copy_from_slice(&IPV6);
        frame[14 + 40] = NEXT_ICMPV6;
        let mut message = vec![143, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0];
        message.extend([0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34]);
        frame.extend(&message);
        let mut it = snooping(0);
        it.scope(1, 0x3333_0000_0016, 2, &frame, 0);
        let scope = it.scope(1, 0x3333_0000_1234, 0, &[0; 60], 1);
        assert_eq!(scope, Scope::Ports(vec![2, 3]));
    }

    #[test]
    fn queries_show_routers_and_local_groups_are_flooded() {
        let mut it = snooping(0);
        let query = ipv4(&[0x11, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(it.scope(1, 0x0100_5e00_0001, 2, &query, 0), Scope::Flood);
        assert_eq!(data(&mut it, 1), Scope::Ports(vec![2, 3]));
        assert_eq!(it.scope(1, 0x0100_5e00_0005, 0, &[0; 60], 1), Scope::Flood);
        assert_eq!(it.scope(1, 0xffff_ffff_ffff, 0, &[0; 60], 1), Scope::Flood);
    }

    #[test]
    fn truncated_messages_are_data() {
        for length in 0..report_v3(4).len() {
            message_of(&report_v3(4)[..length]);
        }
        assert_eq!(message_of(&report_v2(0x16)[..40]), None);
    }
}
