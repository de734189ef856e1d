//! ICMPv6 (RFC 4443): the shared part of its messages.

use std::net::Ipv6Addr;

use etherparse::{Icmpv6Slice, IpNumber};

use crate::checksum;

pub const PROTOCOL: u8 = IpNumber::IPV6_ICMP.0;
const CHECKSUM: std::ops::Range<usize> = 2..4;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    pub kind: u8,
    pub code: u8,
    /// Bytes behind the checksum: four bytes that belong to the header of every kind, and the rest.
    pub body: &'a [u8],
}

/// Reads the upper layer of an IPv6 packet.
pub fn parse(source: Ipv6Addr, destination: Ipv6Addr, bytes: &[u8]) -> Option<Message<'_>> {
    let message = Icmpv6Slice::from_slice(bytes).ok()?;
    let start = checksum::pseudo_header(source.into(), destination.into(), PROTOCOL, bytes.len());
    checksum::fits(start, bytes).then(|| Message {
        kind: message.type_u8(),
        code: message.code_u8(),
        body: &bytes[CHECKSUM.end..],
    })
}

impl Message<'_> {
    pub fn emit(&self, source: Ipv6Addr, destination: Ipv6Addr, frame: &mut Vec<u8>) {
        let begin = frame.len();
        frame.extend_from_slice(&[self.kind, self.code, 0, 0]);
        frame.extend_from_slice(self.body);
        let message = &mut frame[begin..];
        let (source, destination) = (source.into(), destination.into());
        let start = checksum::pseudo_header(source, destination, PROTOCOL, message.len());
        let sum = checksum::of(start, message);
        message[CHECKSUM].copy_from_slice(&sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let (source, destination) = (Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
        let message = Message { kind: 128, code: 0, body: &[0, 1, 0, 2, 9] };
        let mut bytes = Vec::new();
        message.emit(source, destination, &mut bytes);
        assert_eq!(parse(source, destination, &bytes), Some(message));
        assert_eq!(parse(source, destination, &bytes[..7]), None);
        assert_eq!(parse(source, Ipv6Addr::from(5), &bytes), None, "another packet");
    }
}
