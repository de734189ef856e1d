//! IGMP and MLD snooping: multicast goes to the ports whose hosts asked for the group, and to those
//! behind which a router is. RFC 4541.

mod config;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use p4mesh_peers::groups::messages::{self, Change, Heard, Newer, Query, Sender};
use p4mesh_pipeline::Frame;
use p4mesh_wire::ethernet::{self, TYPE_IPV4, TYPE_IPV6};
use p4mesh_wire::{ipv4, ipv6};

use super::groups::questions::{Question, Questions};
use super::groups::receivers::Times;
use super::groups::table::{ForwardBy, Key, Limits, Table};

pub use self::config::SnoopingConfig;

/// Sender of the questions of a switch, which has no IPv4 address for them (RFC 4541 2.1.1).
const SENDER: Sender = Sender {
    mac: [2, 0, 0, 0, 0, 0xfe],
    ipv4: Ipv4Addr::UNSPECIFIED,
    ipv6: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 0xfe),
};
/// Interval that its questions tell (RFC 3376 8.2).
const QUERY_INTERVAL_S: u64 = 125;
/// Robustness that they tell (RFC 3376 8.1).
const ROBUSTNESS: u8 = 2;
const PS_PER_NS: u64 = 1_000;

/// Where a multicast frame goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    Flood,
    /// To these local ports, ascending.
    Ports(Vec<usize>),
    Drop,
}

/// Memberships of a device.
pub struct Snooping {
    config: SnoopingConfig,
    static_routers: BTreeSet<usize>,
    /// Router ports learned from queries, with the end of their time.
    routers: BTreeMap<usize, u64>,
    table: Table,
    questions: Questions,
    /// Questions that were asked.
    asked: u64,
}

impl Snooping {
    pub fn new(config: &SnoopingConfig, ports: &[u16]) -> Snooping {
        let local = |port: &u16| ports.iter().position(|it| it == port);
        let limits = Limits {
            groups: config.max_groups.map(|it| it.get()),
            sources: config.max_sources.get(),
            join_ps: config.join_time_ns.ps(),
        };
        let questions = config.last_member_queries.get();
        Snooping {
            static_routers: config.router_ports.iter().filter_map(local).collect(),
            config: config.clone(),
            routers: BTreeMap::new(),
            table: Table::new(limits),
            questions: Questions::new(questions, config.leave_delay_ns.ps() / questions.max(1)),
            asked: 0,
        }
    }

    /// Counters, by name.
    pub fn counters(&self) -> [(&'static str, u64); 3] {
        [
            ("joins", self.table.joined),
            ("joins_refused", self.table.refused),
            ("last_member_queries", self.asked),
        ]
    }

    /// Groups that have a member now.
    pub fn groups(&self, now_ps: u64) -> usize {
        self.table.groups(now_ps)
    }

    /// Where a frame (without tag) to a group address goes; notes what it says of memberships.
    pub fn scope(&mut self, vid: u16, group: u64, input: usize, frame: &[u8], now_ps: u64) -> Scope {
        match messages::read(frame) {
            Some(Heard::Query(..)) => {
                self.routers.insert(input, now_ps + self.config.membership_s.ps());
                return Scope::Flood;
            }
            Some(Heard::Report(changes)) => {
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
        let by = self.config.forward_by;
        let packet = if by == ForwardBy::Mac { None } else { addresses(frame) };
        let mut ports = self.router_ports(now_ps);
        let known = self.table.add_ports(by, (vid, group), packet, now_ps, &mut ports);
        if !known && self.config.flood_unknown {
            return Scope::Flood;
        }
        if ports.is_empty() {
            return Scope::Drop;
        }
        ports.sort_unstable();
        ports.dedup();
        Scope::Ports(ports)
    }

    fn router_ports(&self, now_ps: u64) -> Vec<usize> {
        let learned = self.routers.iter().filter(|it| *it.1 > now_ps);
        let mut ports: Vec<usize> =
            learned.map(|it| *it.0).chain(self.static_routers.iter().copied()).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    fn change(&mut self, vid: u16, change: Change, input: usize, now_ps: u64) {
        let doubt = self.table.change(Key::new(vid, change.group), input, &change, &self.times(now_ps));
        let mut ask = |sources| {
            let question =
                Question { port: input, vid, group: change.group, sources, records: change.records };
            self.questions.begin(question, now_ps);
        };
        if doubt.group {
            ask(Vec::new());
        }
        if !doubt.sources.is_empty() {
            ask(doubt.sources);
        }
    }

    fn times(&self, now_ps: u64) -> Times {
        let (membership_ps, leave_ps) = (self.config.membership_s.ps(), self.config.leave_delay_ns.ps());
        Times { now_ps, membership_ps, leave_ps }
    }

    /// When the next question is due.
    pub fn next_question_ps(&self) -> Option<u64> {
        self.questions.next_ps()
    }

    /// The questions that are due: (port, VLAN, frame without tag).
    pub fn ask(&mut self, now_ps: u64) -> Vec<(usize, u16, Frame)> {
        let times = self.times(now_ps);
        let mut frames = Vec::new();
        for it in self.questions.due(now_ps) {
            let suppress = self.table.is_sure_of(&Key::new(it.vid, it.group), it.port, &it.sources, &times);
            let newer = Newer { suppress, robustness: ROBUSTNESS, interval_s: QUERY_INTERVAL_S };
            let query = Query {
                group: it.group,
                sources: it.sources,
                response_ns: self.questions.interval_ps() / PS_PER_NS,
                newer: it.records.then_some(newer),
            };
            let mut frame = Frame::new();
            messages::write_query(&mut frame, &SENDER, &query);
            frames.push((it.port, it.vid, frame));
        }
        self.asked += frames.len() as u64;
        frames
    }

    /// Ends the memberships of a port, and what a query has told of a router behind it.
    pub fn forget_port(&mut self, port: usize) {
        self.routers.remove(&port);
        self.table.forget_port(port);
        self.questions.forget(|it| it == port);
    }

    pub fn reset(&mut self) {
        self.routers.clear();
        self.table.clear();
        self.questions.forget(|_| true);
    }
}

/// Groups of the local network (224.0.0.x, ff02::1) and addresses other than IP multicast are
/// flooded whatever was reported (RFC 4541 2.1.2).
fn is_snooped(group: u64) -> bool {
    let ipv4 = group >> 24 == 0x0001_005e && group & 0x00ff_ff00 != 0;
    let ipv6 = group >> 32 == 0x3333 && group != 0x3333_0000_0001;
    ipv4 || ipv6
}

/// Source and destination of an IP packet in a frame without tag.
fn addresses(frame: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let (header, packet) = ethernet::parse(frame)?;
    match header.ether_type {
        TYPE_IPV4 => {
            let packet = ipv4::parse(packet)?;
            Some((packet.source().into(), packet.destination().into()))
        }
        TYPE_IPV6 => {
            let packet = ipv6::parse(packet)?;
            Some((packet.source().into(), packet.destination().into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::table;
    use super::*;
    use crate::config::{Nanoseconds, Place, PositiveSeconds, Whole};
    use p4mesh_wire::ethernet::Header;
    use p4mesh_wire::membership::{Mode, Query, Record};
    use p4mesh_wire::{icmpv6, igmp, mld};

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
            dscp: 0,
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

    fn config(leave_delay_ps: u64) -> SnoopingConfig {
        SnoopingConfig {
            membership_s: PositiveSeconds::from_ps(1_000),
            leave_delay_ns: Nanoseconds::from_ps(leave_delay_ps),
            router_ports: vec![4],
            ..Default::default()
        }
    }

    fn snooping(leave_delay_ps: u64) -> Snooping {
        with(&config(leave_delay_ps))
    }

    fn with(config: &SnoopingConfig) -> Snooping {
        config.check(&Place::default(), &[1, 2, 3, 4]).unwrap();
        Snooping::new(config, &[1, 2, 3, 4])
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
        let mut it = with(&SnoopingConfig { join_time_ns: Nanoseconds::from_ps(100), ..config(0) });
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
        let mut it = with(&SnoopingConfig { max_groups: Some(Whole::of(2)), ..config(0) });
        for last in 1..=3 {
            it.scope(1, GROUP, 1, &join(last), 0);
            it.scope(1, GROUP, 2, &join(last), 0);
        }
        assert_eq!((it.groups(1), it.table.refused), (2, 2));
        it.scope(1, GROUP, 1, &ipv4(igmp::Message::Leave(GROUP_ADDRESS)), 10);
        it.scope(1, GROUP, 1, &join(3), 11);
        assert_eq!(it.table.refused, 3, "port 2 is still a member");
        it.scope(1, GROUP, 2, &ipv4(igmp::Message::Leave(GROUP_ADDRESS)), 12);
        it.scope(1, GROUP, 1, &join(3), 13);
        assert_eq!((it.groups(14), it.table.refused), (2, 3));
    }

    fn records(mode: Mode, group: [u8; 4], sources: &[[u8; 4]]) -> Vec<u8> {
        let sources = sources.iter().copied().map(Ipv4Addr::from).collect();
        ipv4(igmp::Message::ReportV3(vec![Record { mode, group: group.into(), sources }]))
    }

    fn packet(source: [u8; 4], group: [u8; 4]) -> Vec<u8> {
        let mut frame = header(TYPE_IPV4);
        let (source, destination) = (source.into(), group.into());
        ipv4::Header { source, destination, protocol: 17, hops: 9, dscp: 0, router_alert: false }
            .emit(&[0; 8], &mut frame);
        ethernet::pad(&mut frame);
        frame
    }

    #[test]
    fn groups_that_share_a_mac_are_told_apart_unless_the_mac_decides() {
        for (forward_by, ports) in [(ForwardBy::Mac, vec![1, 2, 3]), (ForwardBy::Group, vec![2, 3])] {
            let mut it = with(&SnoopingConfig { forward_by, ..config(0) });
            it.scope(1, GROUP, 1, &records(Mode::ToExclude, [225, 129, 1, 1], &[]), 0);
            it.scope(1, GROUP, 2, &records(Mode::ToExclude, [225, 1, 1, 1], &[]), 0);
            let frame = packet([10, 0, 0, 1], [225, 1, 1, 1]);
            assert_eq!(it.scope(1, GROUP, 0, &frame, 1), Scope::Ports(ports));
            it.scope(1, GROUP, 2, &records(Mode::ToInclude, [225, 129, 1, 1], &[]), 2);
            assert_eq!(it.groups(3), 2, "a leave of the other group is none of this");
        }
    }

    #[test]
    fn a_host_gets_the_senders_that_it_asks_for() {
        let mut it = with(&SnoopingConfig { forward_by: ForwardBy::SourceAndGroup, ..config(0) });
        let group = [225, 1, 1, 1];
        it.scope(1, GROUP, 1, &records(Mode::Allow, group, &[[10, 0, 0, 1]]), 0);
        it.scope(1, GROUP, 2, &records(Mode::ToExclude, group, &[[10, 0, 0, 1]]), 0);
        let mut ports = |last: u8| it.scope(1, GROUP, 0, &packet([10, 0, 0, last], group), 1);
        assert_eq!(ports(1), Scope::Ports(vec![1, 3]));
        assert_eq!(ports(2), Scope::Ports(vec![2, 3]));
        it.scope(1, GROUP, 1, &records(Mode::Block, group, &[[10, 0, 0, 1]]), 2);
        assert_eq!(it.scope(1, GROUP, 0, &packet([10, 0, 0, 1], group), 3), Scope::Ports(vec![3]));
    }

    #[test]
    fn filters_beyond_the_limit_of_senders_are_refused() {
        let mut it = with(&SnoopingConfig { max_sources: Whole::of(1), ..config(0) });
        let group = [225, 1, 1, 1];
        it.scope(1, GROUP, 1, &records(Mode::Allow, group, &[[10, 0, 0, 1], [10, 0, 0, 2]]), 0);
        assert_eq!((it.groups(1), it.table.refused), (0, 1));
        it.scope(1, GROUP, 1, &records(Mode::Allow, group, &[[10, 0, 0, 1]]), 2);
        it.scope(1, GROUP, 1, &records(Mode::Allow, group, &[[10, 0, 0, 2]]), 3);
        assert_eq!((it.groups(4), it.table.refused), (1, 2));
    }

    #[test]
    fn who_leaves_is_asked_for_and_an_answer_keeps_the_group() {
        let config = SnoopingConfig { last_member_queries: Whole::of(2), ..config(100) };
        for answers in [false, true] {
            let mut it = with(&config);
            it.scope(1, GROUP, 1, &report_v2(), 0);
            assert_eq!(it.next_question_ps(), None);
            it.scope(1, GROUP, 1, &ipv4(igmp::Message::Leave(GROUP_ADDRESS)), 10);
            assert_eq!(it.next_question_ps(), Some(10));
            let asked = it.ask(10);
            let [(1, 1, frame)] = &asked[..] else {
                panic!("one question behind the port: {asked:?}");
            };
            let Some(Heard::Query(sender, query)) = messages::read(frame) else {
                panic!("a query");
            };
            assert_eq!((sender, query.group), ([0, 0, 0, 0].into(), GROUP_ADDRESS.into()));
            assert_eq!(it.next_question_ps(), Some(60), "half of the delay later");
            if answers {
                it.scope(1, GROUP, 1, &report_v2(), 20);
            }
            assert_eq!(it.ask(60).len(), 1);
            assert_eq!((it.next_question_ps(), it.asked), (None, 2));
            let ports = if answers { vec![1, 3] } else { vec![3] };
            assert_eq!(data(&mut it, 110), Scope::Ports(ports));
        }
    }

    #[test]
    fn a_million_memberships_take_32_bytes_each() {
        let mut it = Snooping::new(&SnoopingConfig::default(), &(1..=255).collect::<Vec<u16>>());
        for number in 0..4_095_u32 {
            let group = IpAddr::V4((u32::from(GROUP_ADDRESS) + number).into());
            let change = Change { group, mode: Mode::IsExclude, sources: Vec::new(), records: true };
            for port in 0..255 {
                it.change(1, change.clone(), port, 0);
            }
        }
        assert_eq!(it.table.joined, 1_044_225);
        assert_eq!(it.groups(1), 4_095);
        assert_eq!(table::MEMBER_BYTES, 32);
        let Scope::Ports(ports) = it.scope(1, GROUP, 0, &[0; 60], 1) else {
            panic!("the group has members");
        };
        assert_eq!(ports.len(), 255);
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
        assert!(messages::read(&report).is_some());
        for length in 0..14 + 24 + 16 {
            assert_eq!(messages::read(&report[..length]), None, "{length}");
        }
    }
}
