//! UDP (RFC 768, RFC 8200 8.1).

use std::net::IpAddr;

use etherparse::{UdpHeader, UdpHeaderSlice};

use crate::checksum;

pub const PROTOCOL: u8 = 17;
pub const HEADER_BYTES: usize = UdpHeader::LEN;

/// A datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    pub source_port: u16,
    pub destination_port: u16,
    pub payload: &'a [u8],
}

/// Reads the whole payload of an IP packet. A checksum of 0 means that there is no checksum.
pub fn parse(source: IpAddr, destination: IpAddr, bytes: &[u8]) -> Option<Datagram<'_>> {
    let header = UdpHeaderSlice::from_slice(bytes).ok()?;
    if usize::from(header.length()) != bytes.len() {
        return None;
    }
    let start = checksum::pseudo_header(source, destination, PROTOCOL, bytes.len());
    if header.checksum() != 0 && !checksum::fits(start, bytes) {
        return None;
    }
    Some(Datagram {
        source_port: header.source_port(),
        destination_port: header.destination_port(),
        payload: &bytes[HEADER_BYTES..],
    })
}

impl Datagram<'_> {
    /// Writes a datagram, of at most 65,507 bytes, with its checksum.
    pub fn emit(&self, source: IpAddr, destination: IpAddr, frame: &mut Vec<u8>) {
        let length = HEADER_BYTES + self.payload.len();
        let mut header = UdpHeader {
            source_port: self.source_port,
            destination_port: self.destination_port,
            length: length as u16,
            checksum: 0,
        };
        let sum = checksum::pseudo_header(source, destination, PROTOCOL, length)
            .add_slice(&header.to_bytes())
            .add_slice(self.payload);
        header.checksum = u16::from_be(sum.to_ones_complement_with_no_zero());
        frame.extend_from_slice(&header.to_bytes());
        frame.extend_from_slice(self.payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_read_as_it_was_written() {
        let datagram = Datagram { source_port: 40_000, destination_port: 161, payload: b"odd" };
        for (source, destination) in [("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")] {
            let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
            let mut bytes = Vec::new();
            datagram.emit(source, destination, &mut bytes);
            assert_eq!(bytes[..6], [0x9c, 0x40, 0, 161, 0, 11]);
            assert_eq!(parse(source, destination, &bytes), Some(datagram));
            assert_eq!(parse(source, destination, &bytes[..10]), None);
            bytes[10] ^= 1;
            assert_eq!(parse(source, destination, &bytes), None);
            bytes[6..8].fill(0);
            assert!(parse(source, destination, &bytes).is_some(), "without a checksum");
        }
    }
}
