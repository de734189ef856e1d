//! Test stations: they answer questions for their MAC addresses, ask for their routers, and count the answers to
//! datagrams that were sent for them.

use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use p4mesh_wire::ethernet::{self, Mac, TYPE_ARP, TYPE_IPV4, TYPE_IPV6};
use p4mesh_wire::{arp, ipv4, ipv6, nd, udp, vlan};

use crate::resolution::{write_advertisement, write_question, write_reply};
use crate::{Leaving, Port};

/// A station, and the router of its network, which is not known by its MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Station {
    pub mac: Mac,
    pub ipv4: Ipv4Addr,
    pub ipv6: Ipv6Addr,
    pub router_ipv4: Ipv4Addr,
    pub router_ipv6: Ipv6Addr,
}

/// IP version, for keys that name a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IpVersion {
    V4,
    V6,
}

/// The stations of some ports, one each.
#[derive(Debug, Default)]
pub struct Stations {
    stations: BTreeMap<Port, Station>,
    routers: BTreeMap<(Port, IpVersion), Mac>,
    asked: HashSet<End>,
    answers: u64,
}

/// IP address and UDP port.
type End = (IpAddr, u16);

impl Stations {
    pub fn new(stations: impl IntoIterator<Item = (Port, Station)>) -> Stations {
        Stations { stations: stations.into_iter().collect(), ..Stations::default() }
    }

    /// MAC addresses of the routers that have answered.
    pub fn routers(&self) -> &BTreeMap<(Port, IpVersion), Mac> {
        &self.routers
    }

    /// Datagrams that came from where [`Stations::expect_answer`] has seen one go.
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// Begins to count answers anew.
    pub fn forget_answers(&mut self) {
        self.answers = 0;
    }

    /// Counts from now on the datagrams that come from the destination of a frame; only datagrams have one.
    pub fn expect_answer(&mut self, frame: &[u8]) {
        self.asked.extend(udp_ends(frame).map(|(_, destination)| destination));
    }

    /// The questions of stations for their routers.
    pub fn questions(&self, wanted: &[(Port, IpVersion)]) -> Vec<Leaving> {
        let ask = |&(port, version): &(Port, IpVersion)| {
            let station = self.stations.get(&port)?;
            let (own, router): (IpAddr, IpAddr) = match version {
                IpVersion::V4 => (station.ipv4.into(), station.router_ipv4.into()),
                IpVersion::V6 => (station.ipv6.into(), station.router_ipv6.into()),
            };
            let mut frame = Vec::new();
            write_question(&mut frame, (own, station.mac), router);
            Some(Leaving { port, frame, stamped: false })
        };
        wanted.iter().filter_map(ask).collect()
    }

    /// Counts an answer, keeps the MAC of a router that tells it, and answers a question for the station of the port.
    pub fn on_frame(&mut self, port: Port, frame: &[u8]) -> Option<Leaving> {
        if !self.asked.is_empty() {
            let source = udp_ends(frame).map(|(source, _)| source);
            self.answers += u64::from(source.is_some_and(|it| self.asked.contains(&it)));
        }
        let station = self.stations.get(&port)?;
        let (header, packet) = ethernet::parse(frame)?;
        let mut reply = Vec::new();
        match header.ether_type {
            TYPE_ARP => {
                let message = arp::parse(packet)?;
                let own = (station.ipv4, station.mac);
                match message.operation {
                    arp::Operation::Request if message.target.0 == own.0 => {
                        write_reply(&mut reply, own, message.sender);
                    }
                    arp::Operation::Reply if message.sender.0 == station.router_ipv4 => {
                        self.routers.insert((port, IpVersion::V4), message.sender.1);
                    }
                    _ => {}
                }
            }
            TYPE_IPV6 => {
                let packet = ipv6::parse(packet).filter(nd::is_message)?;
                match nd::parse_packet(&packet)? {
                    nd::Message::Solicitation { target, mac } if target == station.ipv6 => {
                        let asker = Some((packet.source(), mac.unwrap_or(header.source)));
                        let asker = asker.filter(|(address, _)| !address.is_unspecified());
                        write_advertisement(&mut reply, (target, station.mac), false, asker);
                    }
                    nd::Message::Advertisement { target, mac, .. } if target == station.router_ipv6 => {
                        self.routers.insert((port, IpVersion::V6), mac.unwrap_or(header.source));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        (!reply.is_empty()).then_some(Leaving { port, frame: reply, stamped: false })
    }
}

/// Source and destination of a UDP datagram, behind any tags; `None` for any other frame. Its checksum may be missing:
/// hosts leave it to an interface that is not real.
fn udp_ends(frame: &[u8]) -> Option<(End, End)> {
    let (header, mut bytes) = ethernet::parse(frame)?;
    let mut ether_type = header.ether_type;
    while vlan::is_tag(ether_type) {
        let (tag, behind) = bytes.split_first_chunk::<{ vlan::TAG_BYTES }>()?;
        ether_type = u16::from_be_bytes([tag[2], tag[3]]);
        bytes = behind;
    }
    let (source, destination, protocol, datagram): (IpAddr, IpAddr, u8, &[u8]) = match ether_type {
        TYPE_IPV4 => {
            let packet = ipv4::parse(bytes).filter(|it| !it.is_fragment())?;
            (packet.source().into(), packet.destination().into(), packet.protocol(), packet.payload())
        }
        TYPE_IPV6 => {
            let packet = ipv6::parse(bytes)?;
            let (protocol, datagram) = packet.upper_layer()?;
            (packet.source().into(), packet.destination().into(), protocol, datagram)
        }
        _ => return None,
    };
    let ports = datagram.first_chunk::<4>().filter(|_| protocol == udp::PROTOCOL)?;
    let [source_port, destination_port] =
        [[ports[0], ports[1]], [ports[2], ports[3]]].map(u16::from_be_bytes);
    Some(((source, source_port), (destination, destination_port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTER_MAC: Mac = [2, 0, 0, 0, 0, 0xaa];

    fn station(number: u8) -> Station {
        let ipv6 = |last: u16| Ipv6Addr::new(0x2001, 2, 0, number.into(), 0, 0, 0, last);
        Station {
            mac: [2, 0, 0, 0, 0, number],
            ipv4: [198, 18, number, 2].into(),
            ipv6: ipv6(2),
            router_ipv4: [198, 18, number, 1].into(),
            router_ipv6: ipv6(1),
        }
    }

    /// The router of a station, as a station.
    fn router(number: u8) -> Station {
        let it = station(number);
        Station {
            mac: ROUTER_MAC,
            ipv4: it.router_ipv4,
            ipv6: it.router_ipv6,
            router_ipv4: it.ipv4,
            router_ipv6: it.ipv6,
        }
    }

    fn of(number: u8, station: Station) -> Stations {
        Stations::new([(number.into(), station)])
    }

    #[test]
    fn stations_find_their_routers_and_answer_them() {
        for version in [IpVersion::V4, IpVersion::V6] {
            let (mut mine, mut other, mut far) = (of(7, station(7)), of(7, router(7)), of(7, router(8)));
            let [asked] = &mine.questions(&[(7, version), (8, version)])[..] else {
                panic!("there is one station");
            };
            assert_eq!(far.on_frame(7, &asked.frame), None, "another is asked for");
            assert_eq!(other.on_frame(8, &asked.frame), None, "another port");
            let answer = other.on_frame(7, &asked.frame).unwrap();
            assert_eq!(ethernet::destination(&answer.frame), station(7).mac);
            assert_eq!(far.on_frame(7, &answer.frame), None);
            assert_eq!(mine.on_frame(7, &answer.frame), None);
            assert_eq!(mine.routers().iter().collect::<Vec<_>>(), [(&(7, version), &ROUTER_MAC)]);
            assert!(far.routers().is_empty(), "the answer is of another");
        }
    }

    #[test]
    fn a_solicitation_without_a_mac_is_answered_to_its_source_and_one_without_an_address_to_all() {
        for (source, destination) in
            [(station(7).router_ipv6, ROUTER_MAC), (Ipv6Addr::UNSPECIFIED, [0x33, 0x33, 0, 0, 0, 1])]
        {
            let target = station(7).ipv6;
            let group = nd::solicited_node(target);
            let mut payload = Vec::new();
            nd::Message::Solicitation { target, mac: None }.emit(source, group, &mut payload);
            let mut frame = Vec::new();
            let ether_type = TYPE_IPV6;
            ethernet::Header { destination: ipv6::group_mac(group), source: ROUTER_MAC, ether_type }
                .emit(&mut frame);
            let packet = |hops| ipv6::Header {
                source,
                destination: group,
                protocol: p4mesh_wire::icmpv6::PROTOCOL,
                hops,
                router_alert: false,
            };
            let mut distant = frame.clone();
            packet(nd::HOPS).emit(&payload, &mut frame);
            packet(nd::HOPS - 1).emit(&payload, &mut distant);
            let answer = of(7, station(7)).on_frame(7, &frame).unwrap();
            assert_eq!(ethernet::destination(&answer.frame), destination);
            assert_eq!(of(7, station(7)).on_frame(7, &distant), None, "it has crossed a router");
        }
    }

    #[test]
    fn answers_to_datagrams_are_counted_once_they_are_expected() {
        let here = (IpAddr::V4(station(1).ipv4), 7_u16);
        let there = (IpAddr::V4(station(2).ipv4), 161_u16);
        let datagram = |from: End, to: End, tagged: bool| {
            let (IpAddr::V4(source), IpAddr::V4(destination)) = (from.0, to.0) else {
                panic!("addresses of IPv4");
            };
            let mut payload = Vec::new();
            let udp = udp::Datagram { source_port: from.1, destination_port: to.1, payload: &[0; 20] };
            udp.emit(from.0, to.0, &mut payload);
            let mut frame = Vec::new();
            ethernet::Header { destination: ROUTER_MAC, source: ROUTER_MAC, ether_type: TYPE_IPV4 }
                .emit(&mut frame);
            let (protocol, hops, dscp, router_alert) = (udp::PROTOCOL, 64, 0, false);
            ipv4::Header { source, destination, protocol, hops, dscp, router_alert }
                .emit(&payload, &mut frame);
            if tagged {
                vlan::Tag { tag_type: vlan::CUSTOMER, vid: 5, priority: 0 }.emit(&mut frame);
            }
            frame
        };
        let mut stations = Stations::default();
        stations.on_frame(1, &datagram(there, here, false));
        stations.expect_answer(&datagram(here, there, true));
        stations.on_frame(1, &datagram(there, here, false));
        stations.on_frame(1, &datagram(here, there, false));
        stations.on_frame(1, &datagram((there.0, 162), here, false));
        assert_eq!(stations.answers(), 1);
        stations.forget_answers();
        assert_eq!(stations.answers(), 0);
    }
}
