//! Reads the frames of a router, and writes its messages. Frames carry no FCS and no VLAN tag.

use std::net::IpAddr;

use p4mesh_peers::resolution::{write_advertisement, write_reply, Owner};
use p4mesh_pipeline::Frame;
use p4mesh_wire::ethernet::{self, Mac, TYPE_ARP, TYPE_IPV4, TYPE_IPV6};
use p4mesh_wire::udp::Datagram;
use p4mesh_wire::{arp, ipv4, ipv6, nd, udp};

use crate::drops::DropCause;

const TCP: u8 = 6;
/// Time to live, or hop limit, of the router's own packets.
const OWN_HOPS: u8 = 64;

/// Kind of a frame to a router.
pub enum Packet {
    Resolution(Resolution),
    Ip(Header),
}

/// An ARP or ND message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Whose MAC the sender wants to know.
    pub asked: Option<IpAddr>,
    /// Content of the message.
    pub told: Option<Owner>,
}

/// Fields of an IP packet that forwarding needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// Time to live, or hop limit.
    pub hops: u8,
    /// The same for all packets of one (addresses, protocol, ports).
    pub flow: u32,
}

/// Reads a frame of at least an Ethernet header.
#[inline]
pub fn read(frame: &[u8]) -> Result<Packet, DropCause> {
    let (header, payload) = ethernet::parse(frame).ok_or(DropCause::Undersize)?;
    let read = match header.ether_type {
        TYPE_IPV4 => ipv4(payload).map(Packet::Ip),
        TYPE_IPV6 => ipv6(payload),
        TYPE_ARP => arp::parse(payload).map(|it| Packet::Resolution(arp(&it))),
        _ => return Err(DropCause::NotRouted),
    };
    read.ok_or(DropCause::BadHeader)
}

fn arp(message: &arp::Message) -> Resolution {
    let asked = message.operation == arp::Operation::Request;
    Resolution {
        asked: asked.then_some(IpAddr::V4(message.target.0)),
        told: Some((IpAddr::V4(message.sender.0), message.sender.1)),
    }
}

#[inline]
fn ipv4(bytes: &[u8]) -> Option<Header> {
    let packet = ipv4::parse(bytes)?;
    let payload = if packet.is_fragment() { &[] } else { packet.payload() };
    Some(Header {
        source: IpAddr::V4(packet.source()),
        destination: IpAddr::V4(packet.destination()),
        hops: packet.hops(),
        flow: flow(packet.addresses(), packet.protocol(), payload),
    })
}

#[inline]
fn ipv6(bytes: &[u8]) -> Option<Packet> {
    let packet = ipv6::parse(bytes)?;
    if nd::is_message(&packet) {
        return neighbour(&packet).map(Packet::Resolution);
    }
    Some(Packet::Ip(Header {
        source: IpAddr::V6(packet.source()),
        destination: IpAddr::V6(packet.destination()),
        hops: packet.hops(),
        flow: flow(packet.addresses(), packet.next_header(), packet.payload()),
    }))
}

fn neighbour(packet: &ipv6::Packet) -> Option<Resolution> {
    let source = packet.source();
    Some(match nd::parse_packet(packet)? {
        nd::Message::Solicitation { target, mac } => Resolution {
            asked: Some(IpAddr::V6(target)),
            told: mac.filter(|_| !source.is_unspecified()).map(|mac| (IpAddr::V6(source), mac)),
        },
        nd::Message::Advertisement { target, mac, .. } => {
            Resolution { asked: None, told: mac.map(|mac| (IpAddr::V6(target), mac)) }
        }
    })
}

/// FNV-1a over addresses, protocol and, of TCP and UDP, the ports.
#[inline]
fn flow(addresses: &[u8], protocol: u8, payload: &[u8]) -> u32 {
    let ports = match protocol {
        TCP | udp::PROTOCOL => payload.get(..4).unwrap_or_default(),
        _ => &[],
    };
    let bytes = addresses.iter().chain([&protocol]).chain(ports);
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    // Low bits of FNV depend on low bits of the input alone.
    hash ^ hash >> 16
}

/// The UDP datagram of an IPv4 or IPv6 packet, if it is whole, alone and its checksum right.
pub fn udp_of(frame: &[u8]) -> Option<Datagram<'_>> {
    let (header, payload) = ethernet::parse(frame)?;
    let (source, destination, protocol, bytes) = if header.ether_type == TYPE_IPV4 {
        let packet = ipv4::parse(payload).filter(|it| !it.is_fragment())?;
        let ends = (IpAddr::V4(packet.source()), packet.destination().into());
        (ends.0, ends.1, packet.protocol(), packet.payload())
    } else {
        let packet = ipv6::parse(payload)?;
        let ends = (IpAddr::V6(packet.source()), packet.destination().into());
        (ends.0, ends.1, packet.next_header(), packet.payload())
    };
    if protocol != udp::PROTOCOL {
        return None;
    }
    udp::parse(source, destination, bytes)
}

/// Writes the packet that answers another: from its destination to its source. The MACs, and the hop that is left
/// over for them, are those of [`forward`].
pub fn write_udp_answer(frame: &mut Frame, asked: &Header, answer: &Datagram) {
    frame.truncate(ethernet::HEADER_BYTES);
    let mut datagram = Vec::new();
    answer.emit(asked.destination, asked.source, &mut datagram);
    let (protocol, hops, dscp, router_alert) = (udp::PROTOCOL, OWN_HOPS + 1, 0, false);
    match (asked.destination, asked.source) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let header = ipv4::Header { source, destination, protocol, hops, dscp, router_alert };
            header.emit(&datagram, frame);
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let header = ipv6::Header { source, destination, protocol, hops, router_alert };
            header.emit(&datagram, frame);
        }
        _ => unreachable!("both ends of a packet are of its family"),
    }
    ethernet::pad(frame);
}

/// Gives a packet new MACs and one hop less.
#[inline]
pub fn forward(frame: &mut [u8], from: Mac, to: Mac) {
    ethernet::set_addresses(frame, to, from);
    let (header, packet) = frame.split_at_mut(ethernet::HEADER_BYTES);
    if header[12..] == TYPE_IPV4.to_be_bytes() {
        ipv4::take_hop(packet);
    } else {
        ipv6::take_hop(packet);
    }
}

/// Writes the answer that `sender`, a router, has its MAC, to the asker.
pub fn write_answer(frame: &mut Frame, sender: Owner, asker: Option<Owner>) {
    match (sender.0, asker) {
        (IpAddr::V4(source), Some((IpAddr::V4(asker), mac))) => {
            write_reply(frame, (source, sender.1), (asker, mac));
        }
        (IpAddr::V4(_), _) => {}
        (IpAddr::V6(source), asker) => {
            let asker = asker.and_then(|(address, mac)| match address {
                IpAddr::V6(address) => Some((address, mac)),
                IpAddr::V4(_) => None,
            });
            write_advertisement(frame, (source, sender.1), true, asker);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use p4mesh_peers::resolution::write_question;

    use super::*;

    const HERE: Mac = [2, 0, 0, 0, 0, 1];
    const THERE: Mac = [2, 0, 0, 0, 0, 2];

    fn resolution(frame: &[u8]) -> Resolution {
        match read(frame) {
            Ok(Packet::Resolution(resolution)) => resolution,
            _ => panic!("no ARP or ND message"),
        }
    }

    #[test]
    fn questions_and_answers_are_read_as_they_were_written() {
        for (here, there) in [("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")] {
            let (here, there): (IpAddr, IpAddr) = (here.parse().unwrap(), there.parse().unwrap());
            let mut frame = Frame::new();
            write_question(&mut frame, (here, HERE), there);
            let told = Some((here, HERE));
            let asked = Some(there);
            assert_eq!(resolution(&frame), Resolution { asked, told });
            write_answer(&mut frame, (there, THERE), told);
            assert_eq!(ethernet::destination(&frame), HERE);
            let told = Some((there, THERE));
            assert_eq!(resolution(&frame), Resolution { asked: None, told });
        }
    }

    #[test]
    fn a_solicitation_goes_to_the_group_of_its_target() {
        let (here, there) = ("2001:db8::1", "2001:db8::12:3456");
        let mut frame = Frame::new();
        let sender = (here.parse().unwrap(), HERE);
        write_question(&mut frame, sender, there.parse().unwrap());
        assert_eq!(ethernet::destination(&frame), [0x33, 0x33, 0xff, 0x12, 0x34, 0x56]);
        assert_eq!(frame[38..54], "ff02::1:ff12:3456".parse::<Ipv6Addr>().unwrap().octets());
        let last = frame.len() - 1;
        frame[last] ^= 1;
        assert!(matches!(read(&frame), Err(DropCause::BadHeader)));
    }

    #[test]
    fn a_hop_less_keeps_the_header_checksum_right() {
        // An example of RFC 1071 type, checked by hand: 10.0.0.1 to 10.0.0.2, UDP, TTL 64.
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&TYPE_IPV4.to_be_bytes());
        frame[14..34]
            .copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0x66, 0xbd, 10, 0, 0, 1, 10, 0, 0, 2]);
        let Ok(Packet::Ip(before)) = read(&frame) else {
            panic!("the checksum is right");
        };
        assert_eq!(before.hops, 64);
        forward(&mut frame, HERE, THERE);
        let Ok(Packet::Ip(after)) = read(&frame) else {
            panic!("the checksum is right again");
        };
        assert_eq!((after.hops, after.flow), (63, before.flow));
        frame[22] = 64;
        assert!(matches!(read(&frame), Err(DropCause::BadHeader)));
    }
}
