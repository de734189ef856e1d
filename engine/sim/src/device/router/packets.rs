//! The bytes that a router reads and writes: Ethernet, IPv4 (RFC 791), IPv6 (RFC 8200), ARP
//! (RFC 826), neighbour discovery (RFC 4861). Frames carry no FCS and no VLAN tag.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use p4mesh_pipeline::Frame;

use crate::drops::DropCause;

pub type Mac = [u8; 6];
pub const BROADCAST: Mac = [0xff; 6];

const ETHERNET_BYTES: usize = 14;
const MIN_FRAME_BYTES: usize = 60;
const TYPE_IPV4: [u8; 2] = [0x08, 0x00];
const TYPE_ARP: [u8; 2] = [0x08, 0x06];
const TYPE_IPV6: [u8; 2] = [0x86, 0xdd];
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// ND messages that were forwarded have less (RFC 4861 7.1).
const ND_HOP_LIMIT: u8 = 255;
/// ICMPv6 header, target, one option with a MAC.
const ND_BYTES: usize = 32;
const IPV6_BYTES: usize = 40;
const UDP_BYTES: usize = 8;
/// Time to live, or hop limit, of what the router sends itself.
const OWN_HOPS: u8 = 64;
/// Router, solicited, override.
const ND_ANSWER_FLAGS: u8 = 0xe0;

/// What a frame is to a router.
pub enum Packet {
    Resolution(Resolution),
    Ip(Header),
}

/// An ARP or ND message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Whose MAC the sender wants to know.
    pub asked: Option<IpAddr>,
    /// What the message tells.
    pub told: Option<(IpAddr, Mac)>,
}

/// What forwarding needs of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// Time to live, or hop limit.
    pub hops: u8,
    /// The same for all packets of one (addresses, protocol, ports).
    pub flow: u32,
}

pub fn destination_mac(frame: &[u8]) -> Mac {
    array(frame, 0)
}

/// Reads a frame of at least an Ethernet header.
pub fn read(frame: &[u8]) -> Result<Packet, DropCause> {
    match array::<2>(frame, 12) {
        TYPE_ARP => Ok(Packet::Resolution(arp(frame).ok_or(DropCause::BadHeader)?)),
        TYPE_IPV4 => ipv4(frame).map(Packet::Ip).ok_or(DropCause::BadHeader),
        TYPE_IPV6 => ipv6(frame).ok_or(DropCause::BadHeader),
        _ => Err(DropCause::NotRouted),
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

fn ipv4_at(bytes: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::from(array::<4>(bytes, at))
}

fn ipv6_at(bytes: &[u8], at: usize) -> Ipv6Addr {
    Ipv6Addr::from(array::<16>(bytes, at))
}

fn arp(frame: &[u8]) -> Option<Resolution> {
    let body = frame.get(ETHERNET_BYTES..ETHERNET_BYTES + 28)?;
    if body[..6] != [0, 1, 8, 0, 6, 4] {
        return None;
    }
    let told = Some((IpAddr::V4(ipv4_at(body, 14)), array(body, 8)));
    let request = array::<2>(body, 6) == [0, 1];
    let asked = request.then(|| IpAddr::V4(ipv4_at(body, 24)));
    Some(Resolution { asked, told })
}

fn ipv4(frame: &[u8]) -> Option<Header> {
    let packet = &frame[ETHERNET_BYTES..];
    if packet.len() < 20 || packet[0] >> 4 != 4 {
        return None;
    }
    let header_bytes = 4 * usize::from(packet[0] & 0xf);
    let total_bytes = usize::from(u16::from_be_bytes(array(packet, 2)));
    if header_bytes < 20 || total_bytes < header_bytes || packet.len() < total_bytes {
        return None;
    }
    if checksum(&[&packet[..header_bytes]]) != 0 {
        return None;
    }
    let fragment = u16::from_be_bytes(array(packet, 6)) & 0x3fff != 0;
    let ports = (!fragment).then_some(&packet[header_bytes..total_bytes]);
    Some(Header {
        source: IpAddr::V4(ipv4_at(packet, 12)),
        destination: IpAddr::V4(ipv4_at(packet, 16)),
        hops: packet[8],
        flow: flow(&packet[12..20], packet[9], ports.unwrap_or_default()),
    })
}

fn ipv6(frame: &[u8]) -> Option<Packet> {
    let packet = &frame[ETHERNET_BYTES..];
    if packet.len() < IPV6_BYTES || packet[0] >> 4 != 6 {
        return None;
    }
    let payload_bytes = usize::from(u16::from_be_bytes(array(packet, 4)));
    let payload = packet.get(IPV6_BYTES..IPV6_BYTES + payload_bytes)?;
    let (protocol, hops) = (packet[6], packet[7]);
    let is_nd = matches!(payload.first(), Some(&(SOLICITATION | ADVERTISEMENT)));
    if protocol == ICMPV6 && hops == ND_HOP_LIMIT && is_nd {
        return neighbour(packet, payload).map(Packet::Resolution);
    }
    Some(Packet::Ip(Header {
        source: IpAddr::V6(ipv6_at(packet, 8)),
        destination: IpAddr::V6(ipv6_at(packet, 24)),
        hops,
        flow: flow(&packet[8..IPV6_BYTES], protocol, payload),
    }))
}

fn neighbour(packet: &[u8], message: &[u8]) -> Option<Resolution> {
    if message.len() < 24 || checksum(&[&pseudo_header(packet, message.len()), message]) != 0 {
        return None;
    }
    let target = IpAddr::V6(ipv6_at(message, 8));
    let solicitation = message[0] == SOLICITATION;
    let option_type = if solicitation { 1 } else { 2 };
    let mac = message[24..]
        .chunks_exact(8)
        .find(|option| option[..2] == [option_type, 1])
        .map(|option| array(option, 2));
    if !solicitation {
        let told = mac.map(|mac| (target, mac));
        return Some(Resolution { asked: None, told });
    }
    let source = ipv6_at(packet, 8);
    let told = mac.filter(|_| !source.is_unspecified());
    Some(Resolution {
        asked: Some(target),
        told: told.map(|mac| (IpAddr::V6(source), mac)),
    })
}

fn pseudo_header(packet: &[u8], message_bytes: usize) -> Vec<u8> {
    let mut header = packet[8..IPV6_BYTES].to_vec();
    header.extend_from_slice(&(message_bytes as u32).to_be_bytes());
    header.extend_from_slice(&[0, 0, 0, ICMPV6]);
    header
}

/// FNV-1a over addresses, protocol and, of TCP and UDP, the ports.
fn flow(addresses: &[u8], protocol: u8, payload: &[u8]) -> u32 {
    let ports = match protocol {
        TCP | UDP => payload.get(..4).unwrap_or_default(),
        _ => &[],
    };
    let bytes = addresses.iter().chain([&protocol]).chain(ports);
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    // Low bits of FNV depend on low bits of the input alone.
    hash ^ hash >> 16
}

/// The complement of the ones' complement sum (RFC 1071); 0 over data that hold their checksum.
/// Every part but the last has an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u32 = words
        .map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !(folded as u16).wrapping_add((folded >> 16) as u16)
}

/// Where the UDP datagram of an IPv4 or IPv6 packet is, if it is whole, alone and its checksum right.
pub fn udp_of(frame: &[u8]) -> Option<Range<usize>> {
    let packet = &frame[ETHERNET_BYTES..];
    let (header_bytes, end, protocol) = if array::<2>(frame, 12) == TYPE_IPV4 {
        let fragment = u16::from_be_bytes(array(packet, 6)) & 0x3fff != 0;
        let total_bytes = usize::from(u16::from_be_bytes(array(packet, 2)));
        let protocol = if fragment { 0 } else { packet[9] };
        (4 * usize::from(packet[0] & 0xf), total_bytes, protocol)
    } else {
        let payload_bytes = usize::from(u16::from_be_bytes(array(packet, 4)));
        (IPV6_BYTES, IPV6_BYTES + payload_bytes, packet[6])
    };
    let datagram = packet.get(header_bytes..end)?;
    if protocol != UDP || datagram.len() < UDP_BYTES {
        return None;
    }
    let whole = usize::from(u16::from_be_bytes(array(datagram, 4))) == datagram.len();
    let unchecked = array::<2>(datagram, 6) == [0, 0];
    let sum = || checksum(&[&udp_pseudo_header(packet, datagram.len()), datagram]);
    (whole && (unchecked || sum() == 0))
        .then_some(ETHERNET_BYTES + header_bytes..ETHERNET_BYTES + end)
}

/// Makes a UDP packet, whose datagram begins at `udp`, the answer to itself: ends exchanged, and `message` in it.
/// The MACs and the hop that is left over for them are those of [`forward`].
pub fn write_udp_answer(frame: &mut Frame, udp: usize, message: &[u8]) {
    let ipv4 = array::<2>(frame, 12) == TYPE_IPV4;
    let (addresses, length) = if ipv4 { (26, 4) } else { (22, 16) };
    let source: Vec<u8> = frame[addresses..addresses + length].to_vec();
    frame.copy_within(addresses + length..addresses + 2 * length, addresses);
    frame[addresses + length..addresses + 2 * length].copy_from_slice(&source);
    let source_port = array::<2>(frame, udp);
    frame.copy_within(udp + 2..udp + 4, udp);
    frame[udp + 2..udp + 4].copy_from_slice(&source_port);
    frame.truncate(udp + UDP_BYTES);
    frame.extend_from_slice(message);
    let datagram_bytes = (UDP_BYTES + message.len()) as u16;
    frame[udp + 4..udp + 6].copy_from_slice(&datagram_bytes.to_be_bytes());
    frame[udp + 6..udp + 8].fill(0);
    if ipv4 {
        let total_bytes = (frame.len() - ETHERNET_BYTES) as u16;
        frame[16..18].copy_from_slice(&total_bytes.to_be_bytes());
        frame[22] = OWN_HOPS + 1;
    } else {
        let payload_bytes = (frame.len() - ETHERNET_BYTES - IPV6_BYTES) as u16;
        frame[18..20].copy_from_slice(&payload_bytes.to_be_bytes());
        frame[21] = OWN_HOPS + 1;
    }
    let pseudo_header = udp_pseudo_header(&frame[ETHERNET_BYTES..], usize::from(datagram_bytes));
    let sum = match checksum(&[&pseudo_header, &frame[udp..]]) {
        0 => 0xffff,
        sum => sum,
    };
    frame[udp + 6..udp + 8].copy_from_slice(&sum.to_be_bytes());
    if frame.len() < MIN_FRAME_BYTES {
        frame.resize(MIN_FRAME_BYTES, 0);
    }
}

/// Addresses, length and protocol as UDP sums them (RFC 768, RFC 8200 8.1).
fn udp_pseudo_header(packet: &[u8], datagram_bytes: usize) -> Vec<u8> {
    let addresses = if packet[0] >> 4 == 4 {
        12..20
    } else {
        8..IPV6_BYTES
    };
    let mut header = packet[addresses].to_vec();
    header.extend_from_slice(&(datagram_bytes as u32).to_be_bytes());
    header.extend_from_slice(&[0, 0, 0, UDP]);
    header
}

/// Gives a packet new MACs and one hop less.
pub fn forward(frame: &mut [u8], from: Mac, to: Mac) {
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&from);
    let ipv4 = array::<2>(frame, 12) == TYPE_IPV4;
    let packet = &mut frame[ETHERNET_BYTES..];
    if ipv4 {
        packet[8] -= 1;
        let header_bytes = 4 * usize::from(packet[0] & 0xf);
        packet[10..12].fill(0);
        let sum = checksum(&[&packet[..header_bytes]]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        packet[7] -= 1;
    }
}

/// Writes the question of `sender` for the MAC of `asked`, of the same family.
pub fn write_question(frame: &mut Frame, sender: (IpAddr, Mac), asked: IpAddr) {
    match (sender.0, asked) {
        (IpAddr::V4(source), IpAddr::V4(asked)) => {
            write_arp(frame, 1, (source, sender.1), (asked, [0; 6]), BROADCAST);
        }
        (IpAddr::V6(source), IpAddr::V6(asked)) => {
            let [.., a, b, c] = asked.octets();
            let mut group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 0).octets();
            group[13..].copy_from_slice(&[a, b, c]);
            let to = (Ipv6Addr::from(group), [0x33, 0x33, 0xff, a, b, c]);
            write_neighbour(frame, SOLICITATION, (source, sender.1), to, asked);
        }
        _ => unreachable!("next hops are resolved by addresses of their own family"),
    }
}

/// Writes the answer that `sender` has its MAC, to the asker.
pub fn write_answer(frame: &mut Frame, sender: (IpAddr, Mac), asker: Option<(IpAddr, Mac)>) {
    match (sender.0, asker) {
        (IpAddr::V4(source), Some((IpAddr::V4(asker), mac))) => {
            write_arp(frame, 2, (source, sender.1), (asker, mac), mac);
        }
        (IpAddr::V6(source), Some((IpAddr::V6(asker), mac))) => {
            let to = (asker, mac);
            write_neighbour(frame, ADVERTISEMENT, (source, sender.1), to, source);
        }
        // The asker has no address yet (RFC 4861 7.2.4).
        (source, _) => {
            let all = (
                Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1),
                [0x33, 0x33, 0, 0, 0, 1],
            );
            if let IpAddr::V6(source) = source {
                write_neighbour(frame, ADVERTISEMENT, (source, sender.1), all, source);
            }
        }
    }
}

fn write_arp(
    frame: &mut Frame,
    operation: u8,
    sender: (Ipv4Addr, Mac),
    target: (Ipv4Addr, Mac),
    destination: Mac,
) {
    frame.clear();
    frame.extend_from_slice(&destination);
    frame.extend_from_slice(&sender.1);
    frame.extend_from_slice(&TYPE_ARP);
    frame.extend_from_slice(&[0, 1, 8, 0, 6, 4, 0, operation]);
    for (address, mac) in [sender, target] {
        frame.extend_from_slice(&mac);
        frame.extend_from_slice(&address.octets());
    }
    frame.resize(MIN_FRAME_BYTES, 0);
}

fn write_neighbour(
    frame: &mut Frame,
    kind: u8,
    sender: (Ipv6Addr, Mac),
    to: (Ipv6Addr, Mac),
    target: Ipv6Addr,
) {
    let (option_type, flags) = match kind {
        SOLICITATION => (1, 0),
        _ => (2, ND_ANSWER_FLAGS),
    };
    frame.clear();
    frame.extend_from_slice(&to.1);
    frame.extend_from_slice(&sender.1);
    frame.extend_from_slice(&TYPE_IPV6);
    frame.extend_from_slice(&[0x60, 0, 0, 0, 0, ND_BYTES as u8, ICMPV6, ND_HOP_LIMIT]);
    frame.extend_from_slice(&sender.0.octets());
    frame.extend_from_slice(&to.0.octets());
    frame.extend_from_slice(&[kind, 0, 0, 0, flags, 0, 0, 0]);
    frame.extend_from_slice(&target.octets());
    frame.extend_from_slice(&[option_type, 1]);
    frame.extend_from_slice(&sender.1);
    let (packet, message) = (ETHERNET_BYTES, ETHERNET_BYTES + IPV6_BYTES);
    let sum = checksum(&[
        &pseudo_header(&frame[packet..], ND_BYTES),
        &frame[message..],
    ]);
    frame[message + 2..message + 4].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
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
            assert_eq!(destination_mac(&frame), HERE);
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
        assert_eq!(
            destination_mac(&frame),
            [0x33, 0x33, 0xff, 0x12, 0x34, 0x56]
        );
        assert_eq!(ipv6_at(&frame, 38).to_string(), "ff02::1:ff12:3456");
        let last = frame.len() - 1;
        frame[last] ^= 1;
        assert!(matches!(read(&frame), Err(DropCause::BadHeader)));
    }

    #[test]
    fn a_hop_less_keeps_the_header_checksum_right() {
        // An example of RFC 1071 type, checked by hand: 10.0.0.1 to 10.0.0.2, UDP, TTL 64.
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&TYPE_IPV4);
        frame[14..34].copy_from_slice(&[
            0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0x66, 0xbd, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
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
