//! IGMP and MLD snooping: multicast goes to the ports whose hosts asked for the group, and to those
//! behind which a router is. RFC 4541; groups are told apart by their MAC address.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use super::check_port;
use crate::config::{ConfigError, Nanoseconds, Place, PortNumber, PositiveSeconds, Whole};
use crate::wire::ethernet::{self, Mac, TYPE_IPV4, TYPE_IPV6};
use crate::wire::membership::{Address, Mode, Record};
use crate::wire::{icmpv6, igmp, ipv4, ipv6, mld};

/// `snooping` of an Ethernet switch; absent: multicast is flooded.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SnoopingConfig {
    /// Groups without members are flooded.
    pub flood_unknown: bool,
    // RFC 3376 8.4: 260 s.
    /// A member is forgotten after this time without a report.
    pub membership_s: PositiveSeconds<3_600, 260>,
    /// From a leave message to the end of a membership.
    pub leave_delay_ns: Nanoseconds<3_600_000_000_000, 2_000_000_000>,
    /// Time that the processor takes for each new membership; they are worked off one after the other.
    pub join_time_ns: Nanoseconds<1_000_000_000>,
    /// Groups with members that fit into the table, those of all VLANs together; without it unlimited.
    pub max_groups: Option<Whole<1, 16_777_216>>,
    // Next to those that a query came from.
    /// Ports that get every group.
    #[schemars(with = "Vec<PortNumber>")]
    pub router_ports: Vec<u16>,
}

impl SnoopingConfig {
    pub fn check(&self, place: &Place, ports: &[u16]) -> Result<(), ConfigError> {
        for (index, port) in self.router_ports.iter().enumerate() {
            check_port(&place.key("router_ports").index(index), *port, ports)?;
        }
        Ok(())
    }
}

/// Outputs of a multicast frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    Flood,
    /// To these local ports, ascending.
    Ports(Vec<usize>),
    Drop,
}

/// Content of a membership message about one group.
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

/// The time of a membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    /// Time at which the processor is done with the report that began it.
    from_ps: u64,
    until_ps: u64,
}

impl Span {
    fn has(&self, now_ps: u64) -> bool {
        self.from_ps <= now_ps && now_ps < self.until_ps
    }
}

/// Memberships of a device.
pub struct Snooping {
    config: SnoopingConfig,
    static_routers: BTreeSet<usize>,
    /// Router ports learned from queries, with the end of their time.
    routers: BTreeMap<usize, u64>,
    /// By (VLAN, group address): ports and their memberships.
    groups: BTreeMap<GroupKey, BTreeMap<usize, Span>>,
    /// When the processor is done with all joins.
    busy_until_ps: u64,
    /// Joins of groups that found no place in the table.
    refused: u64,
}

impl Snooping {
    pub fn new(config: &SnoopingConfig, ports: &[u16]) -> Snooping {
        let local = |port: &u16| ports.iter().position(|it| it == port);
        Snooping {
            static_routers: config.router_ports.iter().filter_map(local).collect(),
            config: config.clone(),
            routers: BTreeMap::new(),
            groups: BTreeMap::new(),
            busy_until_ps: 0,
            refused: 0,
        }
    }

    /// Joins of groups that found no place in the table.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Groups that have a member now.
    pub fn groups(&self, now_ps: u64) -> usize {
        self.groups.values().filter(|members| members.values().any(|it| it.has(now_ps))).count()
    }

    /// Returns the outputs of a frame (without tag) to a group address; notes the memberships that it reports.
    pub fn scope(&mut self, vid: u16, group: u64, input: usize, frame: &[u8], now_ps: u64) -> Scope {
        match message_of(frame) {
            Some(Message::Query) => {
                self.routers.insert(input, now_ps + self.config.membership_s.ps());
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
        let alive = members.into_iter().flatten().filter(|it| it.1.has(now_ps));
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
            Change::Join(group) => self.join((vid, group), input, now_ps),
            Change::Leave(group) => {
                if let Some(span) = self.groups.get_mut(&(vid, group)).and_then(|it| it.get_mut(&input)) {
                    span.until_ps = span.until_ps.min(now_ps + self.config.leave_delay_ns.ps());
                }
            }
        }
    }

    /// Begins a membership, or lets one last longer.
    fn join(&mut self, key: GroupKey, input: usize, now_ps: u64) {
        let until_ps = now_ps + self.config.membership_s.ps();
        let known = self.groups.get_mut(&key).and_then(|it| it.get_mut(&input));
        if let Some(span) = known.filter(|it| it.until_ps > now_ps) {
            span.until_ps = until_ps;
            return;
        }
        if !self.groups.contains_key(&key) && !self.has_room(now_ps) {
            self.refused += 1;
            return;
        }
        let from_ps = self.busy_until_ps.max(now_ps) + self.config.join_time_ns.ps();
        self.busy_until_ps = from_ps;
        self.groups.entry(key).or_default().insert(input, Span { from_ps, until_ps: until_ps.max(from_ps) });
    }

    /// Whether one more group finds a place; groups whose members are gone give theirs up.
    fn has_room(&mut self, now_ps: u64) -> bool {
        let Some(limit) = self.config.max_groups else {
            return true;
        };
        if self.groups.len() as u64 >= limit.get() {
            self.groups.retain(|_, members| members.values().any(|it| it.until_ps > now_ps));
        }
        (self.groups.len() as u64) < limit.get()
    }

    /// Ends the memberships of a port, and forgets a router behind it.
    pub fn forget_port(&mut self, port: usize) {
        self.routers.remove(&port);
        for members in self.groups.values_mut() {
            members.remove(&port);
        }
    }

    pub fn reset(&mut self) {
        self.routers.clear();
        self.groups.clear();
        self.busy_until_ps = 0;
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
    let (header, packet) = ethernet::parse(frame)?;
    match header.ether_type {
        TYPE_IPV4 => igmp_of(packet),
        TYPE_IPV6 => mld_of(packet),
        _ => None,
    }
}

fn igmp_of(packet: &[u8]) -> Option<Message> {
    if ipv4::protocol_of(packet)? != igmp::PROTOCOL {
        return None;
    }
    Some(match igmp::parse(ipv4::parse(packet)?.payload())? {
        igmp::Message::Query(_) => Message::Query,
        igmp::Message::ReportV1(group) | igmp::Message::ReportV2(group) => {
            Message::Report(vec![Change::Join(group_key(igmp::group_mac(group)))])
        }
        igmp::Message::Leave(group) => {
            Message::Report(vec![Change::Leave(group_key(igmp::group_mac(group)))])
        }
        igmp::Message::ReportV3(records) => changes(&records, igmp::group_mac),
    })
}

fn mld_of(packet: &[u8]) -> Option<Message> {
    if !matches!(ipv6::next_header_of(packet)?, icmpv6::PROTOCOL | ipv6::HOP_BY_HOP) {
        return None;
    }
    let packet = ipv6::parse(packet)?;
    let (protocol, message) = packet.upper_layer()?;
    if protocol != icmpv6::PROTOCOL {
        return None;
    }
    let message = icmpv6::parse(packet.source(), packet.destination(), message)?;
    Some(match mld::parse(&message)? {
        mld::Message::Query(_) => Message::Query,
        mld::Message::ReportV1(group) => {
            Message::Report(vec![Change::Join(group_key(ipv6::group_mac(group)))])
        }
        mld::Message::Done(group) => Message::Report(vec![Change::Leave(group_key(ipv6::group_mac(group)))]),
        mld::Message::ReportV2(records) => changes(&records, ipv6::group_mac),
    })
}

/// Meaning of records for whole groups: one that includes no source leaves.
fn changes<A: Address>(records: &[Record<A>], mac: fn(A) -> Mac) -> Message {
    let change = |record: &Record<A>| {
        let group = group_key(mac(record.group));
        match (record.mode, record.sources.is_empty()) {
            (Mode::IsExclude | Mode::ToExclude, _) => Some(Change::Join(group)),
            (Mode::IsInclude | Mode::ToInclude | Mode::Allow, false) => Some(Change::Join(group)),
            (Mode::IsInclude | Mode::ToInclude, true) => Some(Change::Leave(group)),
            (Mode::Allow, true) | (Mode::Block, _) => None,
        }
    };
    Message::Report(records.iter().filter_map(change).collect())
}

fn group_key(mac: Mac) -> u64 {
    ethernet::number(mac)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::wire::ethernet::Header;
    use crate::wire::membership::Query;

    const GROUP: u64 = 0x0100_5e01_0101;
    const GROUP_ADDRESS: Ipv4Addr = Ipv4Addr::new(225, 1, 1, 1);

    fn header(ether_type: u16) -> Vec<u8> {
        let mut frame = Vec::new();
        let header = Header { destination: [1, 0, 0x5e, 0, 0, 22], source: [2, 0, 0, 0, 0, 1], ether_type };
        header.emit(&mut frame);
        frame
    }

    fn ipv4(message: igmp::Message) -> Vec<u8> {
        let mut payload = Vec::new();
        message.emit(&mut payload);
        let mut frame = header(TYPE_IPV4);
        let packet = ipv4::Header {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(224, 0, 0, 22),
            protocol: igmp::PROTOCOL,
            hops: 1,
            router_alert: true,
        };
        packet.emit(&payload, &mut frame);
        ethernet::pad(&mut frame);
        frame
    }

    fn report_v2() -> Vec<u8> {
        ipv4(igmp::Message::ReportV2(GROUP_ADDRESS))
    }

    fn report_v3(mode: Mode) -> Vec<u8> {
        ipv4(igmp::Message::ReportV3(vec![Record { mode, group: GROUP_ADDRESS, sources: Vec::new() }]))
    }

    fn snooping(leave_delay_ps: u64) -> Snooping {
        let config = SnoopingConfig {
            membership_s: PositiveSeconds::from_ps(1_000),
            leave_delay_ns: Nanoseconds::from_ps(leave_delay_ps),
            router_ports: vec![4],
            ..Default::default()
        };
        config.check(&Place::default(), &[1, 2, 3, 4]).unwrap();
        Snooping::new(&config, &[1, 2, 3, 4])
    }

    fn data(snooping: &mut Snooping, now_ps: u64) -> Scope {
        snooping.scope(1, GROUP, 0, &[0; 60], now_ps)
    }

    #[test]
    fn members_of_all_versions_get_the_group_and_routers_everything() {
        let mut it = snooping(0);
        assert_eq!(data(&mut it, 0), Scope::Ports(vec![3]), "the router only");
        let heard = it.scope(1, GROUP, 1, &report_v2(), 0);
        assert_eq!(heard, Scope::Ports(vec![3]), "reports go to routers");
        it.scope(1, GROUP, 2, &report_v3(Mode::ToExclude), 0);
        assert_eq!(data(&mut it, 999), Scope::Ports(vec![1, 2, 3]));
        assert_eq!(data(&mut it, 1_000), Scope::Ports(vec![3]), "memberships end");
        assert_eq!(it.groups(999), 1);
        assert_eq!(it.scope(2, GROUP, 0, &[0; 60], 0), Scope::Ports(vec![3]), "another VLAN");
    }

    #[test]
    fn a_leave_ends_the_membership_after_its_delay() {
        for (delay_ps, leave) in
            [(0, ipv4(igmp::Message::Leave(GROUP_ADDRESS))), (100, report_v3(Mode::ToInclude))]
        {
            let mut it = snooping(delay_ps);
            it.scope(1, GROUP, 1, &report_v2(), 0);
            it.scope(1, GROUP, 1, &leave, 10);
            if delay_ps > 0 {
                assert_eq!(data(&mut it, 9 + delay_ps), Scope::Ports(vec![1, 3]));
            }
            assert_eq!(data(&mut it, 10 + delay_ps), Scope::Ports(vec![3]));
        }
    }

    #[test]
    fn joins_are_worked_off_one_after_the_other() {
        let mut it = snooping(0);
        it.config.join_time_ns = Nanoseconds::from_ps(100);
        for port in [1, 2] {
            it.scope(1, GROUP, port, &report_v2(), 0);
        }
        assert_eq!(data(&mut it, 99), Scope::Ports(vec![3]));
        assert_eq!(data(&mut it, 100), Scope::Ports(vec![1, 3]));
        it.scope(1, GROUP, 1, &report_v2(), 150);
        assert_eq!(data(&mut it, 199), Scope::Ports(vec![1, 3]), "a known member is no work");
        assert_eq!(data(&mut it, 200), Scope::Ports(vec![1, 2, 3]));
    }

    #[test]
    fn groups_beyond_the_table_are_refused_until_one_is_left() {
        let join = |last: u8| ipv4(igmp::Message::ReportV2(Ipv4Addr::new(225, 1, 1, last)));
        let mut it = snooping(0);
        it.config.max_groups = Some(Whole::of(2));
        for last in 1..=3 {
            it.scope(1, GROUP, 1, &join(last), 0);
            it.scope(1, GROUP, 2, &join(last), 0);
        }
        assert_eq!((it.groups(1), it.refused()), (2, 2));
        it.scope(1, GROUP, 1, &ipv4(igmp::Message::Leave(GROUP_ADDRESS)), 10);
        it.scope(1, GROUP, 1, &join(3), 11);
        assert_eq!(it.refused(), 3, "port 2 is still a member");
        it.scope(1, GROUP, 2, &ipv4(igmp::Message::Leave(GROUP_ADDRESS)), 12);
        it.scope(1, GROUP, 1, &join(3), 13);
        assert_eq!((it.groups(14), it.refused()), (2, 3));
    }

    #[test]
    fn a_port_that_is_forgotten_has_no_membership() {
        let mut it = snooping(0);
        it.scope(1, GROUP, 1, &report_v2(), 0);
        it.forget_port(1);
        assert_eq!(data(&mut it, 1), Scope::Ports(vec![3]), "the static router");
    }

    #[test]
    fn mld_reports_behind_a_hop_by_hop_header_are_understood() {
        let (source, destination) = (Ipv6Addr::LOCALHOST, "ff02::16".parse().unwrap());
        let mut message = Vec::new();
        let record =
            Record { mode: Mode::ToExclude, group: "ff0e::1234".parse().unwrap(), sources: Vec::new() };
        mld::Message::ReportV2(vec![record]).emit(source, destination, &mut message);
        let mut frame = header(TYPE_IPV6);
        let packet =
            ipv6::Header { source, destination, protocol: icmpv6::PROTOCOL, hops: 1, router_alert: true };
        packet.emit(&message, &mut frame);
        let mut it = snooping(0);
        it.scope(1, 0x3333_0000_0016, 2, &frame, 0);
        let scope = it.scope(1, 0x3333_0000_1234, 0, &[0; 60], 1);
        assert_eq!(scope, Scope::Ports(vec![2, 3]));
    }

    #[test]
    fn queries_show_routers_and_local_groups_are_flooded() {
        let mut it = snooping(0);
        let query = ipv4(igmp::Message::Query(Query {
            group: Ipv4Addr::UNSPECIFIED,
            max_response_code: 100,
            detail: None,
        }));
        assert_eq!(it.scope(1, 0x0100_5e00_0001, 2, &query, 0), Scope::Flood);
        assert_eq!(data(&mut it, 1), Scope::Ports(vec![2, 3]));
        assert_eq!(it.scope(1, 0x0100_5e00_0005, 0, &[0; 60], 1), Scope::Flood);
        assert_eq!(it.scope(1, 0xffff_ffff_ffff, 0, &[0; 60], 1), Scope::Flood);
    }

    #[test]
    fn truncated_messages_are_data() {
        let report = report_v3(Mode::ToExclude);
        assert!(message_of(&report).is_some());
        for length in 0..14 + 24 + 16 {
            assert_eq!(message_of(&report[..length]), None, "{length}");
        }
    }
}
