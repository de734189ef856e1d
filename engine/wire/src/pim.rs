//! PIM version 2 (RFC 7761): Hello and Join/Prune, over IPv4.

use std::net::Ipv4Addr;

use etherparse::checksum::Sum16BitWords;
use etherparse::IpNumber;

use crate::checksum;

pub const PROTOCOL: u8 = IpNumber::PIM.0;
/// ALL-PIM-ROUTERS.
pub const ALL_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 13);

// Version 2 and the type.
const HELLO: u8 = 0x20;
const JOIN_PRUNE: u8 = 0x23;
const CHECKSUM: std::ops::Range<usize> = 2..4;
/// Version and type, reserved, checksum.
const HEADER_BYTES: usize = 4;
const OPTION_HOLD_TIME: u16 = 1;
const OPTION_GENERATION: u16 = 20;
/// Address family IPv4 in its native encoding (RFC 7761 4.9.1).
const FAMILY: [u8; 2] = [1, 0];
/// Prefix length of one address.
const WHOLE: u8 = 32;
/// Flags of a source: sparse mode; any source; towards the rendezvous point.
const SPARSE: u8 = 4;
const WILDCARD: u8 = 2;
const RENDEZVOUS_TREE: u8 = 1;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The sender is a neighbour for so long; its number changes with each start.
    Hello {
        hold_time_s: u16,
        generation: Option<u32>,
    },
    JoinPrune {
        upstream: Ipv4Addr,
        hold_time_s: u16,
        groups: Vec<Group>,
    },
}

/// Joined and pruned sources of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub group: Ipv4Addr,
    pub joined: Vec<Source>,
    pub pruned: Vec<Source>,
}

/// A tree of a group: that of a source, or with `any` that of the rendezvous point at this address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    pub address: Ipv4Addr,
    pub any: bool,
}

/// Bytes of a group with one source in a Join/Prune, and of what is in front of the groups.
pub const ENTRY_BYTES: usize = 20;
pub const FRONT_BYTES: usize = HEADER_BYTES + 10;

/// Reads the payload of an IPv4 packet.
pub fn parse(bytes: &[u8]) -> Option<Message> {
    if !checksum::fits(Sum16BitWords::new(), bytes) {
        return None;
    }
    let (&[kind, ..], mut rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
    match kind {
        HELLO => parse_hello(rest),
        JOIN_PRUNE => {
            let upstream = unicast(&mut rest)?;
            let [_, count, high, low] = *take::<4>(&mut rest)?;
            let groups: Option<Vec<Group>> = (0..count).map(|_| group(&mut rest)).collect();
            Some(Message::JoinPrune {
                upstream,
                hold_time_s: u16::from_be_bytes([high, low]),
                groups: groups?,
            })
        }
        _ => None,
    }
}

/// Options that are not known are passed over (RFC 7761 4.9.2).
fn parse_hello(mut rest: &[u8]) -> Option<Message> {
    let (mut hold_time_s, mut generation) = (None, None);
    while let Some(&[kind_high, kind_low, high, low]) = take::<4>(&mut rest) {
        let length = usize::from(u16::from_be_bytes([high, low]));
        let (value, behind) = rest.split_at_checked(length)?;
        rest = behind;
        match u16::from_be_bytes([kind_high, kind_low]) {
            OPTION_HOLD_TIME => hold_time_s = Some(u16::from_be_bytes(value.try_into().ok()?)),
            OPTION_GENERATION => generation = Some(u32::from_be_bytes(value.try_into().ok()?)),
            _ => {}
        }
    }
    // Without the option: 3.5 times the usual interval (RFC 7761 4.11).
    Some(Message::Hello { hold_time_s: hold_time_s.unwrap_or(105), generation })
}

fn take<'a, const BYTES: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; BYTES]> {
    let (taken, behind) = rest.split_first_chunk::<BYTES>()?;
    *rest = behind;
    Some(taken)
}

fn unicast(rest: &mut &[u8]) -> Option<Ipv4Addr> {
    let [family @ .., a, b, c, d] = *take::<6>(rest)?;
    (family == FAMILY).then(|| Ipv4Addr::new(a, b, c, d))
}

fn group(rest: &mut &[u8]) -> Option<Group> {
    let [family, encoding, _, bits, a, b, c, d] = *take::<8>(rest)?;
    if [family, encoding] != FAMILY || bits != WHOLE {
        return None;
    }
    let [joined_high, joined_low, pruned_high, pruned_low] = *take::<4>(rest)?;
    let mut sources = |high, low| -> Option<Vec<Source>> {
        (0..u16::from_be_bytes([high, low])).map(|_| source(rest)).collect()
    };
    let joined = sources(joined_high, joined_low)?;
    let pruned = sources(pruned_high, pruned_low)?;
    Some(Group { group: Ipv4Addr::new(a, b, c, d), joined, pruned })
}

fn source(rest: &mut &[u8]) -> Option<Source> {
    let [family, encoding, flags, bits, a, b, c, d] = *take::<8>(rest)?;
    let known = [family, encoding] == FAMILY && bits == WHOLE;
    known.then(|| Source { address: Ipv4Addr::new(a, b, c, d), any: flags & WILDCARD != 0 })
}

impl Message {
    pub fn emit(&self, bytes: &mut Vec<u8>) {
        let begin = bytes.len();
        match self {
            Message::Hello { hold_time_s, generation } => {
                bytes.extend_from_slice(&[HELLO, 0, 0, 0]);
                option(bytes, OPTION_HOLD_TIME, &hold_time_s.to_be_bytes());
                if let Some(generation) = generation {
                    option(bytes, OPTION_GENERATION, &generation.to_be_bytes());
                }
            }
            Message::JoinPrune { upstream, hold_time_s, groups } => {
                bytes.extend_from_slice(&[JOIN_PRUNE, 0, 0, 0]);
                bytes.extend_from_slice(&FAMILY);
                bytes.extend_from_slice(&upstream.octets());
                bytes.extend_from_slice(&[0, groups.len() as u8]);
                bytes.extend_from_slice(&hold_time_s.to_be_bytes());
                groups.iter().for_each(|group| group.emit(bytes));
            }
        }
        let sum = checksum::of(Sum16BitWords::new(), &bytes[begin..]);
        bytes[begin..][CHECKSUM].copy_from_slice(&sum);
    }
}

fn option(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend_from_slice(&kind.to_be_bytes());
    bytes.extend_from_slice(&(value.len() as u16).to_be_bytes());
    bytes.extend_from_slice(value);
}

impl Group {
    fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&[FAMILY[0], FAMILY[1], 0, WHOLE]);
        bytes.extend_from_slice(&self.group.octets());
        for sources in [&self.joined, &self.pruned] {
            bytes.extend_from_slice(&(sources.len() as u16).to_be_bytes());
        }
        for source in self.joined.iter().chain(&self.pruned) {
            let any = if source.any { WILDCARD | RENDEZVOUS_TREE } else { 0 };
            bytes.extend_from_slice(&[FAMILY[0], FAMILY[1], SPARSE | any, WHOLE]);
            bytes.extend_from_slice(&source.address.octets());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join() -> Message {
        let source = |last, any| Source { address: [10, 0, 0, last].into(), any };
        let group = Group {
            group: [225, 1, 1, 1].into(),
            joined: vec![source(1, true), source(2, false)],
            pruned: vec![source(3, false)],
        };
        Message::JoinPrune {
            upstream: [10, 9, 9, 1].into(),
            hold_time_s: 210,
            groups: vec![group.clone(), group],
        }
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let hello = Message::Hello { hold_time_s: 105, generation: Some(7) };
        for (message, length) in [(hello, 18), (join(), FRONT_BYTES + 2 * (12 + 3 * 8))] {
            let mut bytes = Vec::new();
            message.emit(&mut bytes);
            assert_eq!(bytes.len(), length);
            assert_eq!(parse(&bytes), Some(message));
            for short in 0..length {
                assert_eq!(parse(&bytes[..short]), None, "{short} bytes");
            }
            bytes[length - 1] ^= 1;
            assert_eq!(parse(&bytes), None, "a checksum that does not fit");
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_standard() {
        let mut bytes = Vec::new();
        let group = Group {
            group: [225, 1, 1, 1].into(),
            joined: vec![Source { address: [10, 0, 0, 1].into(), any: true }],
            pruned: Vec::new(),
        };
        let groups = vec![group];
        Message::JoinPrune { upstream: [10, 9, 9, 1].into(), hold_time_s: 210, groups }.emit(&mut bytes);
        assert_eq!(bytes.len(), FRONT_BYTES + ENTRY_BYTES);
        let expected = [
            0x23, 0, 0xd2, 0xdd, 1, 0, 10, 9, 9, 1, 0, 1, 0, 210, 1, 0, 0, 32, 225, 1, 1, 1, 0, 1, 0, 0, 1,
            0, 7, 32, 10, 0, 0, 1,
        ];
        assert_eq!(bytes, expected);
    }
}
