//! IPv6 (RFC 8200) with its extension headers.

use std::net::Ipv6Addr;

use etherparse::{IpNumber, Ipv6ExtensionsSlice, Ipv6Header, Ipv6HeaderSlice};

use crate::ethernet::Mac;

pub const HEADER_BYTES: usize = Ipv6Header::LEN;
/// The extension header that can only come first.
pub const HOP_BY_HOP: u8 = IpNumber::IPV6_HEADER_HOP_BY_HOP.0;
/// ff02::1.
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// A hop-by-hop header with the option by which routers look at a packet (RFC 2711), and padding. The first byte is the
/// protocol of the next header.
const ROUTER_ALERT: [u8; 7] = [0, 5, 2, 0, 0, 1, 0];
const NEXT_HEADER: usize = 6;
const HOPS: usize = 7;
const ADDRESSES: std::ops::Range<usize> = 8..HEADER_BYTES;

/// A packet whose header and payload are whole.
#[derive(Clone, Debug)]
pub struct Packet<'a> {
    header: Ipv6HeaderSlice<'a>,
    payload: &'a [u8],
}

/// Reads the bytes behind the Ethernet header; padding behind the packet is left out.
#[inline]
pub fn parse(bytes: &[u8]) -> Option<Packet<'_>> {
    let header = Ipv6HeaderSlice::from_slice(bytes).ok()?;
    let end = HEADER_BYTES + usize::from(header.payload_length());
    let payload = bytes.get(HEADER_BYTES..end)?;
    Some(Packet { header, payload })
}

/// The next header of bytes that may be a packet, without a check of the rest.
#[inline]
pub fn next_header_of(bytes: &[u8]) -> Option<u8> {
    bytes.get(NEXT_HEADER).copied()
}

impl<'a> Packet<'a> {
    pub fn source(&self) -> Ipv6Addr {
        self.header.source_addr()
    }

    pub fn destination(&self) -> Ipv6Addr {
        self.header.destination_addr()
    }

    /// Source and destination as they are in the packet.
    pub fn addresses(&self) -> &'a [u8] {
        &self.header.slice()[ADDRESSES]
    }

    /// Hop limit.
    pub fn hops(&self) -> u8 {
        self.header.hop_limit()
    }

    /// First header of the payload: a protocol, or an extension header.
    pub fn next_header(&self) -> u8 {
        self.header.next_header().0
    }

    /// Extension headers included.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The protocol behind all extension headers, and its bytes; `None` for a fragment.
    pub fn upper_layer(&self) -> Option<(u8, &'a [u8])> {
        let (extensions, protocol, rest) =
            Ipv6ExtensionsSlice::from_slice(self.header.next_header(), self.payload).ok()?;
        (!extensions.is_fragmenting_payload()).then_some((protocol.0, rest))
    }
}

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub source: Ipv6Addr,
    pub destination: Ipv6Addr,
    pub protocol: u8,
    pub hops: u8,
    pub router_alert: bool,
}

impl Header {
    /// Writes a packet with this payload, of at most 65,527 bytes.
    pub fn emit(&self, payload: &[u8], frame: &mut Vec<u8>) {
        let extension_bytes = if self.router_alert { 8 } else { 0 };
        let header = Ipv6Header {
            payload_length: (extension_bytes + payload.len()) as u16,
            next_header: match self.router_alert {
                true => IpNumber::IPV6_HEADER_HOP_BY_HOP,
                false => IpNumber(self.protocol),
            },
            hop_limit: self.hops,
            source: self.source.octets(),
            destination: self.destination.octets(),
            ..Ipv6Header::default()
        };
        frame.extend_from_slice(&header.to_bytes());
        if self.router_alert {
            frame.push(self.protocol);
            frame.extend_from_slice(&ROUTER_ALERT);
        }
        frame.extend_from_slice(payload);
    }
}

/// Takes one from the hop limit of a packet whose header is whole and whose limit is not reached.
#[inline]
pub fn take_hop(packet: &mut [u8]) {
    packet[HOPS] -= 1;
}

/// The link-local address of an interface, made from its MAC (RFC 4291 appendix A).
pub fn link_local(mac: Mac) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.map(u16::from);
    Ipv6Addr::new(0xfe80, 0, 0, 0, (a ^ 2) << 8 | b, c << 8 | 0xff, 0xfe00 | d, e << 8 | f)
}

/// The MAC of a multicast group (RFC 2464 7).
pub fn group_mac(group: Ipv6Addr) -> Mac {
    let [.., a, b, c, d] = group.octets();
    [0x33, 0x33, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_read_as_it_was_written() {
        for (router_alert, next_header) in [(false, 58), (true, 0)] {
            let header = Header {
                source: "2001:db8::1".parse().unwrap(),
                destination: "ff02::16".parse().unwrap(),
                protocol: 58,
                hops: 1,
                router_alert,
            };
            let mut bytes = Vec::new();
            header.emit(&[1, 2, 3], &mut bytes);
            bytes.extend([0; 5]); // padding
            let packet = parse(&bytes).unwrap();
            assert_eq!(packet.source(), header.source);
            assert_eq!(packet.destination(), header.destination);
            assert_eq!((packet.next_header(), packet.hops()), (next_header, 1));
            assert_eq!(packet.upper_layer(), Some((58, &[1, 2, 3][..])));
            take_hop(&mut bytes);
            assert_eq!(parse(&bytes).unwrap().hops(), 0);
            let end = bytes.len() - 5;
            for length in 0..end {
                assert!(parse(&bytes[..length]).is_none());
            }
        }
    }

    #[test]
    fn fragments_and_broken_extensions_have_no_upper_layer() {
        let fragment = [58, 0, 0, 1, 0, 0, 0, 9, 128, 0];
        let too_long = [58, 9, 0, 0, 0, 0, 0, 0];
        for (next, payload) in [(44, &fragment[..]), (0, &too_long)] {
            let header = Header {
                source: Ipv6Addr::UNSPECIFIED,
                destination: ALL_NODES,
                protocol: next,
                hops: 255,
                router_alert: false,
            };
            let mut bytes = Vec::new();
            header.emit(payload, &mut bytes);
            assert_eq!(parse(&bytes).unwrap().upper_layer(), None);
        }
    }

    #[test]
    fn an_interface_has_an_address_from_its_mac() {
        assert_eq!(link_local([2, 0x12, 0x34, 0x56, 0x78, 0x9a]).to_string(), "fe80::12:34ff:fe56:789a");
    }

    #[test]
    fn groups_have_their_macs() {
        let group = "ff0e::12:3456".parse().unwrap();
        assert_eq!(group_mac(group), [0x33, 0x33, 0, 0x12, 0x34, 0x56]);
    }
}
