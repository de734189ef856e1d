//! IPv4 (RFC 791).

use std::net::Ipv4Addr;

use etherparse::checksum::Sum16BitWords;
use etherparse::{IpDscp, IpNumber, Ipv4Header, Ipv4HeaderSlice, Ipv4Options};

use crate::checksum;

pub const HEADER_BYTES: usize = Ipv4Header::MIN_LEN;
/// Routers look at packets with this option (RFC 2113).
const ROUTER_ALERT: [u8; 4] = [0x94, 4, 0, 0];
const HOPS: usize = 8;
const CHECKSUM: std::ops::Range<usize> = 10..12;
const ADDRESSES: std::ops::Range<usize> = 12..20;

/// A packet whose header is whole and has the checksum that fits; its payload is whole, too.
#[derive(Clone, Debug)]
pub struct Packet<'a> {
    header: Ipv4HeaderSlice<'a>,
    payload: &'a [u8],
}

/// Reads the bytes behind the Ethernet header; padding behind the packet is left out.
#[inline]
pub fn parse(bytes: &[u8]) -> Option<Packet<'_>> {
    let header = Ipv4HeaderSlice::from_slice(bytes).ok()?;
    let payload = bytes.get(header.slice().len()..usize::from(header.total_len()))?;
    checksum::fits(Sum16BitWords::new(), header.slice()).then_some(Packet { header, payload })
}

/// The protocol of bytes that may be a packet, without a check of the rest.
#[inline]
pub fn protocol_of(bytes: &[u8]) -> Option<u8> {
    bytes.get(9).copied()
}

impl<'a> Packet<'a> {
    pub fn source(&self) -> Ipv4Addr {
        self.header.source_addr()
    }

    pub fn destination(&self) -> Ipv4Addr {
        self.header.destination_addr()
    }

    /// Source and destination as they are in the packet.
    pub fn addresses(&self) -> &'a [u8] {
        &self.header.slice()[ADDRESSES]
    }

    /// Time to live.
    pub fn hops(&self) -> u8 {
        self.header.ttl()
    }

    pub fn protocol(&self) -> u8 {
        self.header.protocol().0
    }

    /// True for a part of a larger packet.
    pub fn is_fragment(&self) -> bool {
        self.header.is_fragmenting_payload()
    }

    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    pub fn header_bytes(&self) -> usize {
        self.header.slice().len()
    }
}

/// The header of a packet that is not a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub protocol: u8,
    pub hops: u8,
    /// Differentiated services code point (RFC 2474), up to 63.
    pub dscp: u8,
    pub router_alert: bool,
}

impl Header {
    /// Writes a packet with this payload, of at most 65,511 bytes. It says "do not fragment", and so needs no
    /// identification (RFC 6864 4.1).
    pub fn emit(&self, payload: &[u8], frame: &mut Vec<u8>) {
        let options = if self.router_alert { Ipv4Options::from(ROUTER_ALERT) } else { Ipv4Options::new() };
        let mut header = Ipv4Header {
            dscp: IpDscp::try_new(self.dscp).expect("a code point has six bits"),
            total_len: (HEADER_BYTES + options.len() + payload.len()) as u16,
            time_to_live: self.hops,
            protocol: IpNumber(self.protocol),
            source: self.source.octets(),
            destination: self.destination.octets(),
            options,
            ..Ipv4Header::default()
        };
        header.header_checksum = header.calc_header_checksum();
        frame.extend_from_slice(&header.to_bytes());
        frame.extend_from_slice(payload);
    }
}

/// Takes one from the time to live of a packet whose header is whole and whose time is not over.
#[inline]
pub fn take_hop(packet: &mut [u8]) {
    packet[HOPS] -= 1;
    let header_bytes = 4 * usize::from(packet[0] & 0xf);
    packet[CHECKSUM].fill(0);
    let sum = checksum::of(Sum16BitWords::new(), &packet[..header_bytes]);
    packet[CHECKSUM].copy_from_slice(&sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(router_alert: bool) -> Header {
        Header {
            source: [10, 0, 0, 1].into(),
            destination: [224, 0, 0, 22].into(),
            protocol: 2,
            hops: 64,
            dscp: 48,
            router_alert,
        }
    }

    #[test]
    fn a_packet_is_read_as_it_was_written() {
        for (router_alert, header_bytes) in [(false, 20), (true, 24)] {
            let mut bytes = Vec::new();
            header(router_alert).emit(&[1, 2, 3], &mut bytes);
            bytes.extend([0; 9]); // padding
            assert_eq!(bytes[1], 0xc0, "type of service");
            let packet = parse(&bytes).unwrap();
            assert_eq!(packet.source(), header(false).source);
            assert_eq!(packet.destination(), header(false).destination);
            assert_eq!((packet.protocol(), packet.hops()), (2, 64));
            assert_eq!((packet.header_bytes(), packet.payload()), (header_bytes, &[1, 2, 3][..]));
            assert!(!packet.is_fragment());
            for length in 0..header_bytes + 3 {
                assert!(parse(&bytes[..length]).is_none());
            }
        }
    }

    #[test]
    fn a_hop_less_keeps_the_checksum_right() {
        // Checked by hand: 10.0.0.1 to 10.0.0.2, UDP, time to live 64.
        let mut bytes = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0x66, 0xd7, 10, 0, 0, 1, 10, 0, 0, 2];
        assert_eq!(parse(&bytes).unwrap().hops(), 64);
        take_hop(&mut bytes);
        assert_eq!(bytes[CHECKSUM], [0x67, 0xd7]);
        assert_eq!(parse(&bytes).unwrap().hops(), 63);
        bytes[HOPS] = 64;
        assert!(parse(&bytes).is_none());
    }
}
