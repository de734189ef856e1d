//! Messages of IGMP and MLD in one form, from frames and to frames without FCS and VLAN tag: reports are changes of
//! filters, whatever their version.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use p4mesh_wire::ethernet::{self, Mac, TYPE_IPV4, TYPE_IPV6};
use p4mesh_wire::membership::{self, Address, Detail, Mode, Record};
use p4mesh_wire::{icmpv6, igmp, ipv4, ipv6, mld};

use crate::Nanoseconds;

const ALL_SYSTEMS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
const ALL_ROUTERS: (Ipv4Addr, Ipv6Addr) =
    (Ipv4Addr::new(224, 0, 0, 2), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2));
/// Destinations of reports with records (RFC 3376 4.2.14, RFC 3810 5.2.14).
const ALL_REPORTS: (Ipv4Addr, Ipv6Addr) =
    (Ipv4Addr::new(224, 0, 0, 22), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16));
/// Internetwork Control (RFC 3376 4), for IGMP alone.
const DSCP: u8 = 48;
const NS_PER_MS: u64 = 1_000_000;
/// Unit of the response time of IGMP; that of MLD is a millisecond.
const IGMP_UNIT_NS: u64 = 100 * NS_PER_MS;
/// Units of a query that tells no time: one of IGMPv1 (RFC 2236 4).
const IGMPV1_UNITS: u64 = 100;
/// Largest packet.
const MTU_BYTES: usize = 1500;
/// Header of a report, behind the IP header with Router Alert.
const REPORT_BYTES: (usize, usize) = (24 + 8, 48 + 8);
/// In front of the group of a record.
const RECORD_BYTES: usize = 4;

/// A message of hosts or routers about groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A router asks; the address of the sender decides who asks on.
    Query(IpAddr, Query),
    Report(Vec<Change>),
}

/// Group record: the report of a host about one group (RFC 3376 4.2.12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub group: IpAddr,
    pub mode: Mode,
    pub sources: Vec<IpAddr>,
    /// The message has records, so that its sender understands questions with sources.
    pub records: bool,
}

/// Addresses of the host or router that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    pub mac: Mac,
    pub ipv4: Ipv4Addr,
    /// The link-local one (RFC 2710 3).
    pub ipv6: Ipv6Addr,
}

/// A question of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The group; unspecified for all of its family.
    pub group: IpAddr,
    pub sources: Vec<IpAddr>,
    /// Time in which hosts answer.
    pub response_ns: Nanoseconds,
    /// Fields of IGMPv3 and MLDv2; `None` for the form of the versions before.
    pub newer: Option<Newer>,
}

/// Fields that IGMPv3 and MLDv2 add to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newer {
    /// Routers do not shorten their timers.
    pub suppress: bool,
    /// Up to 7.
    pub robustness: u8,
    /// From one general question to the next.
    pub interval_s: u64,
}

/// Reads a frame; `None` when it is no message about groups.
pub fn read(frame: &[u8]) -> Option<Heard> {
    let (header, packet) = ethernet::parse(frame)?;
    match header.ether_type {
        TYPE_IPV4 => read_igmp(packet),
        TYPE_IPV6 => read_mld(packet),
        _ => None,
    }
}

/// The MAC of a group.
pub fn group_mac(group: IpAddr) -> Mac {
    match group {
        IpAddr::V4(group) => igmp::group_mac(group),
        IpAddr::V6(group) => ipv6::group_mac(group),
    }
}

fn read_igmp(packet: &[u8]) -> Option<Heard> {
    if ipv4::protocol_of(packet)? != igmp::PROTOCOL {
        return None;
    }
    let packet = ipv4::parse(packet)?;
    Some(match igmp::parse(packet.payload())? {
        igmp::Message::Query(query) => {
            let units = match query.max_response_code {
                0 if query.detail.is_none() => IGMPV1_UNITS,
                // All eight bits are the number before IGMPv3.
                code if query.detail.is_none() => code.into(),
                code => membership::number(code, 8),
            };
            Heard::Query(packet.source().into(), heard(query, units * IGMP_UNIT_NS))
        }
        igmp::Message::ReportV1(group) | igmp::Message::ReportV2(group) => whole(group, Mode::IsExclude),
        igmp::Message::Leave(group) => whole(group, Mode::ToInclude),
        igmp::Message::ReportV3(records) => Heard::Report(records.into_iter().map(change).collect()),
    })
}

fn read_mld(packet: &[u8]) -> Option<Heard> {
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
        mld::Message::Query(query) => {
            let ms = match query.max_response_code {
                code if query.detail.is_none() => code.into(),
                code => membership::number(code, 16),
            };
            Heard::Query(packet.source().into(), heard(query, ms * NS_PER_MS))
        }
        mld::Message::ReportV1(group) => whole(group, Mode::IsExclude),
        mld::Message::Done(group) => whole(group, Mode::ToInclude),
        mld::Message::ReportV2(records) => Heard::Report(records.into_iter().map(change).collect()),
    })
}

fn heard<A: Address + Into<IpAddr>>(query: membership::Query<A>, response_ns: Nanoseconds) -> Query {
    let newer = query.detail.as_ref().map(|it| Newer {
        suppress: it.suppress,
        robustness: it.robustness,
        interval_s: membership::number(it.interval_code.into(), 8),
    });
    let sources = query.detail.map(|it| it.sources).unwrap_or_default();
    let sources = sources.into_iter().map(Into::into).collect();
    Query { group: query.group.into(), sources, response_ns, newer }
}

/// Returns a message of an older version as a record (RFC 3376 7.3.2).
fn whole(group: impl Into<IpAddr>, mode: Mode) -> Heard {
    Heard::Report(vec![Change { group: group.into(), mode, sources: Vec::new(), records: false }])
}

fn change<A: Address + Into<IpAddr>>(record: Record<A>) -> Change {
    Change {
        group: record.group.into(),
        mode: record.mode,
        sources: record.sources.into_iter().map(Into::into).collect(),
        records: true,
    }
}

/// Writes a question: one for all groups to all hosts, one about a group to the group.
pub fn write_query(frame: &mut Vec<u8>, sender: &Sender, query: &Query) {
    match query.group {
        IpAddr::V4(group) => {
            let to = if group.is_unspecified() { ALL_SYSTEMS } else { group };
            let code = match query.response_ns / IGMP_UNIT_NS {
                units if query.newer.is_none() => units.min(u8::MAX.into()) as u16,
                units => membership::code(units, 8),
            };
            write_igmp(frame, sender, to, &igmp::Message::Query(asked(group, code, query, v4)));
        }
        IpAddr::V6(group) => {
            let to = if group.is_unspecified() { ipv6::ALL_NODES } else { group };
            let code = match query.response_ns / NS_PER_MS {
                ms if query.newer.is_none() => ms.min(u16::MAX.into()) as u16,
                ms => membership::code(ms, 16),
            };
            write_mld(frame, sender, to, &mld::Message::Query(asked(group, code, query, v6)));
        }
    }
}

fn asked<A: Address>(
    group: A,
    max_response_code: u16,
    query: &Query,
    of_family: fn(&IpAddr) -> Option<A>,
) -> membership::Query<A> {
    let detail = query.newer.map(|it| Detail {
        suppress: it.suppress,
        robustness: it.robustness,
        interval_code: membership::code(it.interval_s, 8) as u8,
        sources: query.sources.iter().filter_map(of_family).collect(),
    });
    membership::Query { group, max_response_code, detail }
}

/// Writes the report of an older version that the sender receives a group; it goes to the group.
pub fn write_joined(frame: &mut Vec<u8>, sender: &Sender, group: IpAddr) {
    match group {
        IpAddr::V4(group) => write_igmp(frame, sender, group, &igmp::Message::ReportV2(group)),
        IpAddr::V6(group) => write_mld(frame, sender, group, &mld::Message::ReportV1(group)),
    }
}

/// Writes the message of an older version that the sender leaves a group.
pub fn write_left(frame: &mut Vec<u8>, sender: &Sender, group: IpAddr) {
    match group {
        IpAddr::V4(group) => write_igmp(frame, sender, ALL_ROUTERS.0, &igmp::Message::Leave(group)),
        IpAddr::V6(group) => write_mld(frame, sender, ALL_ROUTERS.1, &mld::Message::Done(group)),
    }
}

/// Writes a report with records, all of groups of one family.
pub fn write_records(frame: &mut Vec<u8>, sender: &Sender, records: &[Change]) {
    if records.first().is_some_and(|it| it.group.is_ipv6()) {
        let records = records.iter().filter_map(|it| record(it, v6)).collect();
        write_mld(frame, sender, ALL_REPORTS.1, &mld::Message::ReportV2(records));
    } else {
        let records = records.iter().filter_map(|it| record(it, v4)).collect();
        write_igmp(frame, sender, ALL_REPORTS.0, &igmp::Message::ReportV3(records));
    }
}

fn record<A: Address>(change: &Change, of_family: fn(&IpAddr) -> Option<A>) -> Option<Record<A>> {
    let sources = change.sources.iter().filter_map(of_family).collect();
    Some(Record { mode: change.mode, group: of_family(&change.group)?, sources })
}

/// The records by report: as many as fit into a packet.
pub(super) fn packed(records: impl IntoIterator<Item = Change>) -> Vec<Arc<[Change]>> {
    let (mut reports, mut part, mut left_bytes) = (Vec::new(), Vec::new(), 0);
    for record in records {
        let (address_bytes, report_bytes) =
            if record.group.is_ipv4() { (4, REPORT_BYTES.0) } else { (16, REPORT_BYTES.1) };
        let bytes = RECORD_BYTES + address_bytes * (1 + record.sources.len());
        if bytes > left_bytes {
            if !part.is_empty() {
                reports.push(std::mem::take(&mut part).into());
            }
            left_bytes = MTU_BYTES - report_bytes;
        }
        // A record beyond a packet has one of its own; a report of hosts names fewer sources than that.
        left_bytes = left_bytes.saturating_sub(bytes);
        part.push(record);
    }
    if !part.is_empty() {
        reports.push(part.into());
    }
    reports
}

fn write_igmp(frame: &mut Vec<u8>, sender: &Sender, destination: Ipv4Addr, message: &igmp::Message) {
    frame.clear();
    let header = ethernet::Header {
        destination: igmp::group_mac(destination),
        source: sender.mac,
        ether_type: TYPE_IPV4,
    };
    header.emit(frame);
    let mut payload = Vec::new();
    message.emit(&mut payload);
    let packet = ipv4::Header {
        source: sender.ipv4,
        destination,
        protocol: igmp::PROTOCOL,
        hops: 1,
        dscp: DSCP,
        router_alert: true,
    };
    packet.emit(&payload, frame);
    ethernet::pad(frame);
}

fn write_mld(frame: &mut Vec<u8>, sender: &Sender, destination: Ipv6Addr, message: &mld::Message) {
    frame.clear();
    let header = ethernet::Header {
        destination: ipv6::group_mac(destination),
        source: sender.mac,
        ether_type: TYPE_IPV6,
    };
    header.emit(frame);
    let mut payload = Vec::new();
    message.emit(sender.ipv6, destination, &mut payload);
    let packet = ipv6::Header {
        source: sender.ipv6,
        destination,
        protocol: icmpv6::PROTOCOL,
        hops: 1,
        router_alert: true,
    };
    packet.emit(&payload, frame);
    ethernet::pad(frame);
}

fn v4(address: &IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(*address),
        IpAddr::V6(_) => None,
    }
}

fn v6(address: &IpAddr) -> Option<Ipv6Addr> {
    match address {
        IpAddr::V6(address) => Some(*address),
        IpAddr::V4(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender() -> Sender {
        Sender { mac: [2, 0, 0, 0, 0, 1], ipv4: [198, 18, 1, 2].into(), ipv6: "fe80::1".parse().unwrap() }
    }

    fn changed(frame: &[u8]) -> Vec<Change> {
        match read(frame) {
            Some(Heard::Report(changes)) => changes,
            other => panic!("no report: {other:?}"),
        }
    }

    #[test]
    fn questions_are_read_as_they_were_written_and_go_to_whom_they_ask() {
        let newer = Newer { suppress: true, robustness: 3, interval_s: 125 };
        for (group, source, destination) in [
            ("225.1.1.1", "10.0.0.1", [1, 0, 0x5e, 1, 1, 1]),
            ("0.0.0.0", "10.0.0.1", [1, 0, 0x5e, 0, 0, 1]),
            ("ff1e::1:1", "2001:2::1", [0x33, 0x33, 0, 1, 0, 1]),
            ("::", "2001:2::1", [0x33, 0x33, 0, 0, 0, 1]),
        ] {
            let group: IpAddr = group.parse().unwrap();
            for (newer, sources) in [(None, vec![]), (Some(newer), vec![source.parse().unwrap()])] {
                let query = Query { group, sources, response_ns: 10_000 * NS_PER_MS, newer };
                let mut frame = vec![0; 3];
                write_query(&mut frame, &sender(), &query);
                assert_eq!(ethernet::destination(&frame), destination);
                let from: IpAddr = if group.is_ipv4() { sender().ipv4.into() } else { sender().ipv6.into() };
                assert_eq!(read(&frame), Some(Heard::Query(from, query)));
            }
        }
    }

    #[test]
    fn response_times_are_numbers_and_from_the_newer_versions_on_codes() {
        let newer = Some(Newer { suppress: false, robustness: 2, interval_s: 1_000 });
        for (group, newer, response_ms, read_ms) in [
            ("0.0.0.0", None, 25_500, 25_500),
            ("0.0.0.0", None, 0, 10_000),
            ("0.0.0.0", newer, 12_700, 12_700),
            ("0.0.0.0", newer, 13_500, 12_800),
            ("0.0.0.0", newer, 9_999_999, 3_174_400),
            ("::", None, 40_000, 40_000),
            ("::", newer, 32_767, 32_767),
            ("::", newer, 32_775, 32_768),
            ("::", newer, 9_999_999, 8_387_584),
        ] {
            let group = group.parse().unwrap();
            let query = Query { group, sources: vec![], response_ns: response_ms * NS_PER_MS, newer };
            let mut frame = Vec::new();
            write_query(&mut frame, &sender(), &query);
            let Some(Heard::Query(_, found)) = read(&frame) else {
                panic!("a query");
            };
            assert_eq!(found.response_ns, read_ms * NS_PER_MS, "{query:?}");
            assert_eq!(found.newer.map(|it| it.interval_s), newer.map(|_| 992), "1000 as far as a code goes");
        }
    }

    #[test]
    fn reports_of_all_versions_are_read_as_they_were_written() {
        for (group, source) in [("225.1.1.1", "10.0.0.1"), ("ff1e::1:1", "2001:2::1")] {
            let (group, source): (IpAddr, IpAddr) = (group.parse().unwrap(), source.parse().unwrap());
            let mut frame = Vec::new();
            let whole = |mode| vec![Change { group, mode, sources: vec![], records: false }];
            write_joined(&mut frame, &sender(), group);
            assert_eq!(changed(&frame), whole(Mode::IsExclude));
            assert_eq!(ethernet::destination(&frame), group_mac(group));
            write_left(&mut frame, &sender(), group);
            assert_eq!(changed(&frame), whole(Mode::ToInclude));
            let told = vec![
                Change { group, mode: Mode::Allow, sources: vec![source], records: true },
                Change { group, mode: Mode::ToExclude, sources: vec![], records: true },
            ];
            write_records(&mut frame, &sender(), &told);
            assert_eq!(changed(&frame), told);
            let last = frame.len() - 1;
            assert_eq!(read(&frame[..last]).is_none(), frame.len() > ethernet::MIN_FRAME_BYTES);
        }
    }

    #[test]
    fn a_report_holds_as_many_records_as_fit_into_1500_bytes() {
        for (group, sources, per_report) in
            [("225.1.1.1", 0, 183), ("225.1.1.1", 3, 73), ("ff1e::1:1", 0, 72), ("ff1e::1:1", 1, 40)]
        {
            let group: IpAddr = group.parse().unwrap();
            let change = Change { group, mode: Mode::Allow, sources: vec![group; sources], records: true };
            let reports = packed(vec![change; 2 * per_report + 1]);
            let records: Vec<usize> = reports.iter().map(|it| it.len()).collect();
            assert_eq!(records, [per_report, per_report, 1]);
            let mut frame = Vec::new();
            write_records(&mut frame, &sender(), &reports[0]);
            assert!((1514 - RECORD_BYTES - 16 * (1 + sources)..=1514).contains(&frame.len()));
            assert_eq!(changed(&frame).len(), per_report);
        }
    }
}
