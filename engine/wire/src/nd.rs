//! Neighbour discovery (RFC 4861): solicitations and advertisements.

use std::net::Ipv6Addr;

use etherparse::icmpv6::{
    NdpOptionSlice, NeighborAdvertisementHeader, NeighborAdvertisementPayloadSlice,
    NeighborSolicitationPayloadSlice, TYPE_NEIGHBOR_ADVERTISEMENT, TYPE_NEIGHBOR_SOLICITATION,
};

use crate::ethernet::Mac;
use crate::{icmpv6, ipv6};

/// Messages that were forwarded have less (RFC 4861 7.1).
pub const HOPS: u8 = 255;
const SOURCE_LINK_LAYER: u8 = 1;
const TARGET_LINK_LAYER: u8 = 2;
/// In units of eight bytes.
const LINK_LAYER_LENGTH: u8 = 1;

/// A message; `mac` is the one of its option, where it has that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Question for the MAC address of `target`; `mac` is the sender's.
    Solicitation { target: Ipv6Addr, mac: Option<Mac> },
    /// `target` has `mac`.
    Advertisement { target: Ipv6Addr, mac: Option<Mac>, flags: Flags },
}

/// Flags of an advertisement (RFC 4861 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags {
    pub router: bool,
    pub solicited: bool,
    pub overrides: bool,
}

/// True for the types of ICMPv6 that belong here.
#[inline]
fn is_kind(kind: u8) -> bool {
    matches!(kind, TYPE_NEIGHBOR_SOLICITATION | TYPE_NEIGHBOR_ADVERTISEMENT)
}

/// Reads a message of ICMPv6; `None` where its options are broken, too.
pub fn parse(message: &icmpv6::Message) -> Option<Message> {
    let (header, payload) = message.body.split_first_chunk::<4>()?;
    match message.kind {
        TYPE_NEIGHBOR_SOLICITATION => {
            let payload = NeighborSolicitationPayloadSlice::from_slice(payload).ok()?;
            Some(Message::Solicitation {
                target: payload.target_address(),
                mac: option(payload.options_iterator(), SOURCE_LINK_LAYER)?,
            })
        }
        TYPE_NEIGHBOR_ADVERTISEMENT => {
            let payload = NeighborAdvertisementPayloadSlice::from_slice(payload).ok()?;
            let flags = NeighborAdvertisementHeader::from_bytes(*header);
            Some(Message::Advertisement {
                target: payload.target_address(),
                mac: option(payload.options_iterator(), TARGET_LINK_LAYER)?,
                flags: Flags {
                    router: flags.router,
                    solicited: flags.solicited,
                    overrides: flags.r#override,
                },
            })
        }
        _ => None,
    }
}

/// True for a packet with such a message that no router has forwarded.
#[inline]
pub fn is_message(packet: &ipv6::Packet) -> bool {
    let kind = packet.payload().first();
    packet.next_header() == icmpv6::PROTOCOL && packet.hops() == HOPS && kind.is_some_and(|&it| is_kind(it))
}

/// Reads a packet for which [`is_message`] is true.
pub fn parse_packet(packet: &ipv6::Packet) -> Option<Message> {
    parse(&icmpv6::parse(packet.source(), packet.destination(), packet.payload())?)
}

/// The first MAC in an option of this type; the outer `None` says that the options are broken.
fn option<'a, E>(
    options: impl Iterator<Item = Result<NdpOptionSlice<'a>, E>>,
    option_type: u8,
) -> Option<Option<Mac>> {
    let mut found = None;
    for option in options {
        let option = option.ok()?;
        if option.option_type().0 == option_type && found.is_none() {
            found = Mac::try_from(&option.as_bytes()[2..]).ok();
        }
    }
    Some(found)
}

impl Message {
    /// Writes a message of ICMPv6.
    pub fn emit(&self, source: Ipv6Addr, destination: Ipv6Addr, frame: &mut Vec<u8>) {
        let (kind, header, target, option_type, mac) = match *self {
            Message::Solicitation { target, mac } => {
                (TYPE_NEIGHBOR_SOLICITATION, [0; 4], target, SOURCE_LINK_LAYER, mac)
            }
            Message::Advertisement { target, mac, flags } => {
                let header = NeighborAdvertisementHeader {
                    router: flags.router,
                    solicited: flags.solicited,
                    r#override: flags.overrides,
                };
                let header = header.to_bytes();
                (TYPE_NEIGHBOR_ADVERTISEMENT, header, target, TARGET_LINK_LAYER, mac)
            }
        };
        let mut body = [0; 28];
        body[..4].copy_from_slice(&header);
        body[4..20].copy_from_slice(&target.octets());
        if let Some(mac) = mac {
            body[20..22].copy_from_slice(&[option_type, LINK_LAYER_LENGTH]);
            body[22..].copy_from_slice(&mac);
        }
        let body = &body[..if mac.is_some() { 28 } else { 20 }];
        let message = icmpv6::Message { kind, code: 0, body };
        message.emit(source, destination, frame);
    }
}

/// The group in which the owner of an address listens for solicitations (RFC 4291 2.7.1).
pub fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    let mut group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 0).octets();
    group[13..].copy_from_slice(&[a, b, c]);
    Ipv6Addr::from(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<Message> {
        let message = icmpv6::parse(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, bytes)?;
        parse(&message)
    }

    fn written(message: Message) -> Vec<u8> {
        let mut bytes = Vec::new();
        message.emit(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, &mut bytes);
        bytes
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let target = "2001:db8::12:3456".parse().unwrap();
        for mac in [None, Some([2, 0, 0, 0, 0, 1])] {
            let solicitation = Message::Solicitation { target, mac };
            assert_eq!(read(&written(solicitation)), Some(solicitation));
            for bits in 0..8 {
                let flags = Flags { router: bits & 1 > 0, solicited: bits & 2 > 0, overrides: bits & 4 > 0 };
                let advertisement = Message::Advertisement { target, mac, flags };
                assert_eq!(read(&written(advertisement)), Some(advertisement));
            }
        }
        assert_eq!(solicited_node(target).to_string(), "ff02::1:ff12:3456");
    }

    #[test]
    fn other_options_are_passed_over_and_broken_ones_refused() {
        let target = [7; 16];
        let nonce = [14, 1, 1, 2, 3, 4, 5, 6];
        let mac = [1, 1, 2, 0, 0, 0, 0, 9];
        let solicitation = |options: &[&[u8]]| {
            let body = [&[0; 4], &target[..], &options.concat()].concat();
            let message = icmpv6::Message { kind: TYPE_NEIGHBOR_SOLICITATION, code: 0, body: &body };
            parse(&message)
        };
        let found = Message::Solicitation { target: target.into(), mac: Some([2, 0, 0, 0, 0, 9]) };
        assert_eq!(solicitation(&[&nonce, &mac]), Some(found));
        assert_eq!(solicitation(&[&[14, 0], &mac]), None);
        assert_eq!(solicitation(&[&mac[..7]]), None);
    }
}
