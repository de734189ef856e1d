//! Messages of IGMP and MLD in one form: reports are changes of filters, whatever their version.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use p4mesh_pipeline::Frame;

use p4mesh_wire::ethernet::{self, Mac, TYPE_IPV4, TYPE_IPV6};
use p4mesh_wire::membership::{self, Address, Detail, Mode, Query, Record};
use p4mesh_wire::{icmpv6, igmp, ipv4, ipv6, mld};

const ALL_SYSTEMS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
/// Robustness that a query tells (RFC 3376 8.1).
const ROBUSTNESS: u8 = 2;
const PS_PER_MS: u64 = 1_000_000_000;
/// Unit of the response time of IGMP; that of MLD is a millisecond.
const IGMP_UNIT_PS: u64 = 100 * PS_PER_MS;

/// A message of hosts or routers about groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A router asks; its address, which decides who asks on.
    Query(IpAddr),
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

/// Addresses of the device that asks.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    pub mac: Mac,
    pub ipv4: Ipv4Addr,
    pub ipv6: Ipv6Addr,
}

/// A question of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The group; unspecified for all of its family.
    pub group: IpAddr,
    pub sources: Vec<IpAddr>,
    /// Time in which hosts answer.
    pub response_ps: u64,
    /// From one general question to the next.
    pub interval_s: u64,
    /// Routers do not shorten their timers.
    pub suppress: bool,
    /// In the form of IGMPv3 or MLDv2.
    pub records: bool,
}

/// Reads a frame without tag; `None` when it is no message about groups.
pub fn read(frame: &[u8]) -> Option<Heard> {
    let (header, packet) = ethernet::parse(frame)?;
    match header.ether_type {
        TYPE_IPV4 => read_igmp(packet),
        TYPE_IPV6 => read_mld(packet),
        _ => None,
    }
}

/// Source and destination of an IP packet in a frame without tag.
pub fn addresses(frame: &[u8]) -> Option<(IpAddr, IpAddr)> {
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
        igmp::Message::Query(_) => Heard::Query(packet.source().into()),
        igmp::Message::ReportV1(group) | igmp::Message::ReportV2(group) => whole(group, Mode::IsExclude),
        igmp::Message::Leave(group) => whole(group, Mode::ToInclude),
        igmp::Message::ReportV3(records) => Heard::Report(records.iter().map(change).collect()),
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
        mld::Message::Query(_) => Heard::Query(packet.source().into()),
        mld::Message::ReportV1(group) => whole(group, Mode::IsExclude),
        mld::Message::Done(group) => whole(group, Mode::ToInclude),
        mld::Message::ReportV2(records) => Heard::Report(records.iter().map(change).collect()),
    })
}

/// Returns a message of an older version as a record (RFC 3376 7.3.2).
fn whole(group: impl Into<IpAddr>, mode: Mode) -> Heard {
    Heard::Report(vec![Change { group: group.into(), mode, sources: Vec::new(), records: false }])
}

fn change<A: Address + Into<IpAddr>>(record: &Record<A>) -> Change {
    Change {
        group: record.group.into(),
        mode: record.mode,
        sources: record.sources.iter().map(|&source| source.into()).collect(),
        records: true,
    }
}

/// Writes a question.
pub fn write_query(frame: &mut Frame, asker: &Asker, asked: &Asked) {
    frame.clear();
    let destination = match asked.group {
        group if !group.is_unspecified() => group,
        IpAddr::V4(_) => ALL_SYSTEMS.into(),
        IpAddr::V6(_) => ipv6::ALL_NODES.into(),
    };
    let ether_type = if destination.is_ipv4() { TYPE_IPV4 } else { TYPE_IPV6 };
    ethernet::Header { destination: group_mac(destination), source: asker.mac, ether_type }.emit(frame);
    let mut message = Vec::new();
    match (asked.group, destination) {
        (IpAddr::V4(group), IpAddr::V4(destination)) => {
            let code = membership::code(asked.response_ps / IGMP_UNIT_PS, 8);
            igmp::Message::Query(query(group, code, asked, v4)).emit(&mut message);
            let (protocol, source) = (igmp::PROTOCOL, asker.ipv4);
            ipv4::Header { source, destination, protocol, hops: 1, router_alert: true }.emit(&message, frame);
        }
        (IpAddr::V6(group), IpAddr::V6(destination)) => {
            let code = membership::code(asked.response_ps / PS_PER_MS, 16);
            let (protocol, source) = (icmpv6::PROTOCOL, asker.ipv6);
            mld::Message::Query(query(group, code, asked, v6)).emit(source, destination, &mut message);
            ipv6::Header { source, destination, protocol, hops: 1, router_alert: true }.emit(&message, frame);
        }
        _ => unreachable!("all systems are of the family of the group"),
    }
    ethernet::pad(frame);
}

fn query<A: Address>(
    group: A,
    max_response_code: u16,
    asked: &Asked,
    of_family: fn(&IpAddr) -> Option<A>,
) -> Query<A> {
    let detail = asked.records.then(|| Detail {
        suppress: asked.suppress,
        robustness: ROBUSTNESS,
        interval_code: membership::code(asked.interval_s, 8) as u8,
        sources: asked.sources.iter().filter_map(of_family).collect(),
    });
    Query { group, max_response_code, detail }
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

    #[test]
    fn questions_have_the_times_and_addresses_of_their_family() {
        let asker =
            Asker { mac: [2, 0, 0, 0, 0, 1], ipv4: Ipv4Addr::UNSPECIFIED, ipv6: "fe80::1".parse().unwrap() };
        for (group, destination, code) in [
            ("225.1.1.1", [1, 0, 0x5e, 1, 1, 1], 10),
            ("0.0.0.0", [1, 0, 0x5e, 0, 0, 1], 10),
            ("ff1e::1:1", [0x33, 0x33, 0, 1, 0, 1], 1_000),
            ("::", [0x33, 0x33, 0, 0, 0, 1], 1_000),
        ] {
            for records in [false, true] {
                let group: IpAddr = group.parse().unwrap();
                let asked = Asked {
                    group,
                    sources: Vec::new(),
                    response_ps: 1_000 * PS_PER_MS,
                    interval_s: 125,
                    suppress: false,
                    records,
                };
                let mut frame = Frame::new();
                write_query(&mut frame, &asker, &asked);
                assert_eq!(ethernet::destination(&frame), destination);
                let sender = if group.is_ipv4() { asker.ipv4.into() } else { asker.ipv6.into() };
                assert_eq!(read(&frame), Some(Heard::Query(sender)));
                if let IpAddr::V4(group) = group {
                    let payload = ipv4::parse(&frame[14..]).unwrap().payload().to_vec();
                    let Some(igmp::Message::Query(query)) = igmp::parse(&payload) else {
                        panic!("a query");
                    };
                    assert_eq!((query.group, query.max_response_code), (group, code));
                    assert_eq!(query.detail.map(|it| it.interval_code), records.then_some(125));
                }
            }
        }
    }
}
