//! Messages of BGP: UPDATEs of the largest valid size, and the routes of a neighbour's UPDATE.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use netgauze_bgp_pkt::iana::BgpMessageType;
use netgauze_bgp_pkt::nlri::{Ipv4Unicast, Ipv4UnicastAddress, Ipv6Unicast, Ipv6UnicastAddress};
use netgauze_bgp_pkt::path_attribute::{MpReach, MpUnreach, NextHop, PathAttribute, PathAttributeValue};
use netgauze_bgp_pkt::update::BgpUpdateMessage;
use netgauze_bgp_pkt::BgpMessage;
use netgauze_parse_utils::WritablePdu;

use super::attributes::{optional, well_known, Attributes};
use super::families::Families;

/// Longest message (RFC 4271 section 4.1).
pub(crate) const MAX_MESSAGE_BYTES: usize = 4_096;
/// Marker, length and type in front of each message.
pub(crate) const HEADER_BYTES: usize = 19;
/// Room for the header, the two lengths, and NEXT_HOP or the fields of MP_REACH_NLRI and MP_UNREACH_NLRI beside
/// networks.
const FIXED_BYTES: usize = HEADER_BYTES + 4 + 32;

/// A network of IPv6 with the length of its prefix.
const MAX_NETWORK_BYTES: usize = 17;

/// Networks that are announced with the same attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    pub networks: Vec<IpNet>,
    pub attributes: Arc<Attributes>,
    /// The path goes out as it is. Else the speaker's AS goes in front of it, but not to neighbours of the same AS
    /// (RFC 4271 section 5.1.2).
    pub whole_path: bool,
}

impl Announcement {
    /// Networks behind the speaker's own AS and these, nearest first.
    pub fn new(networks: Vec<IpNet>, as_path: &[u32]) -> Announcement {
        Announcement { networks, attributes: Arc::new(Attributes::of_path(as_path)), whole_path: false }
    }
}

/// Facts that all messages of a session depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversation {
    pub own_as: u32,
    /// The neighbour knows AS numbers of four octets (RFC 6793).
    pub four_octets: bool,
    /// The neighbour is of the same AS.
    pub internal: bool,
}

/// Routes of an UPDATE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Routes {
    pub withdrawn: Vec<IpNet>,
    /// Networks with the next hop of all of them: those of the message, and those of MP_REACH_NLRI.
    pub reached: Vec<(IpAddr, Vec<IpNet>)>,
    /// Attributes but the next hop.
    pub attributes: Attributes,
}

/// Writes a message.
pub(crate) fn encode(message: &BgpMessage) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.len());
    message.write(&mut bytes).expect("a message of known parts, into memory");
    bytes
}

/// UPDATEs that announce networks; `next_hop` gives the next hop per family, and networks of a family without one are
/// left out.
pub(crate) fn announce(
    announcement: &Announcement,
    conversation: Conversation,
    next_hop: impl Fn(&IpNet) -> Option<IpAddr>,
) -> Vec<BgpMessage> {
    let Conversation { own_as, four_octets, internal } = conversation;
    let in_front = (!announcement.whole_path && !internal).then_some(own_as);
    let common = announcement.attributes.announced(in_front, four_octets, internal);
    let path_bytes: usize = common.iter().map(WritablePdu::len).sum();
    let room =
        MAX_MESSAGE_BYTES.checked_sub(FIXED_BYTES + path_bytes).filter(|room| *room > MAX_NETWORK_BYTES);
    let room = room.expect("attributes that leave room for networks");
    let mut messages = Vec::new();
    let (ipv4, ipv6) = by_family(&announcement.networks);
    for networks in parts(&ipv4, room, |network| network.prefix_len()) {
        let Some(IpAddr::V4(hop)) = next_hop(&IpNet::V4(networks[0])) else { break };
        let mut attributes = common.to_vec();
        attributes.push(well_known(PathAttributeValue::NextHop(NextHop::new(hop))));
        messages.push(update(Vec::new(), attributes, nlri_v4(networks)));
    }
    for networks in parts(&ipv6, room, |network| network.prefix_len()) {
        let Some(IpAddr::V6(hop)) = next_hop(&IpNet::V6(networks[0])) else { break };
        let reach = reach_v6(hop, networks);
        let mut attributes = vec![optional(PathAttributeValue::MpReach(reach))];
        attributes.extend(common.iter().cloned());
        messages.push(update(Vec::new(), attributes, Vec::new()));
    }
    messages
}

/// UPDATEs that withdraw networks.
pub(crate) fn withdraw(networks: &[IpNet]) -> Vec<BgpMessage> {
    let room = MAX_MESSAGE_BYTES - FIXED_BYTES;
    let (ipv4, ipv6) = by_family(networks);
    let ipv4 = parts(&ipv4, room, |network| network.prefix_len());
    let ipv4 = ipv4.into_iter().map(|part| update(nlri_v4(part), Vec::new(), Vec::new()));
    let ipv6 = parts(&ipv6, room, |network| network.prefix_len());
    let ipv6 = ipv6.into_iter().map(|part| {
        let unreach = MpUnreach::Ipv6Unicast { nlri: nlri_v6(part) };
        update(Vec::new(), vec![optional(PathAttributeValue::MpUnreach(unreach))], Vec::new())
    });
    ipv4.chain(ipv6).collect()
}

/// UPDATEs that say that all routes of these families are announced (RFC 4724 section 2).
pub(crate) fn end_of_routes(families: Families) -> Vec<BgpMessage> {
    let ipv6 = || optional(PathAttributeValue::MpUnreach(MpUnreach::Ipv6Unicast { nlri: Vec::new() }));
    let kinds = [(families.ipv4, Vec::new()), (families.ipv6, vec![ipv6()])];
    let spoken = kinds.into_iter().filter(|it| it.0);
    spoken.map(|(_, attributes)| update(Vec::new(), attributes, Vec::new())).collect()
}

/// Writes a NOTIFICATION without data, of any code (RFC 4271 section 4.5).
pub(crate) fn notification(code: u8, subcode: u8) -> Vec<u8> {
    const BYTES: u8 = HEADER_BYTES as u8 + 2;
    let mut bytes = vec![u8::MAX; 16];
    bytes.extend([0, BYTES, BgpMessageType::Notification as u8, code, subcode]);
    bytes
}

/// Returns the unicast routes of an UPDATE. If it `withdraws`, or lacks attributes that a route must have, its routes
/// are withdrawn (RFC 7606 sections 2 and 3 d).
pub(crate) fn routes(message: &BgpUpdateMessage, withdraws: bool) -> Routes {
    let v4 = |it: &Ipv4UnicastAddress| IpNet::V4(it.network().address().trunc());
    let v6 = |it: &Ipv6UnicastAddress| IpNet::V6(it.network().address().trunc());
    let mut found =
        Routes { withdrawn: message.withdraw_routes().iter().map(v4).collect(), ..Routes::default() };
    let (mut origin, mut path, mut hop) = (false, false, None);
    for attribute in message.path_attributes() {
        found.attributes.take(attribute.value());
        match attribute.value() {
            PathAttributeValue::Origin(_) => origin = true,
            PathAttributeValue::AsPath(_) => path = true,
            PathAttributeValue::NextHop(value) => hop = Some(IpAddr::V4(value.next_hop())),
            PathAttributeValue::MpReach(MpReach::Ipv4Unicast { next_hop, nlri, .. }) => {
                found.reached.push((*next_hop, nlri.iter().map(v4).collect()));
            }
            PathAttributeValue::MpReach(MpReach::Ipv6Unicast { next_hop_global, nlri, .. }) => {
                found.reached.push((IpAddr::V6(*next_hop_global), nlri.iter().map(v6).collect()));
            }
            PathAttributeValue::MpUnreach(MpUnreach::Ipv4Unicast { nlri }) => {
                found.withdrawn.extend(nlri.iter().map(v4));
            }
            PathAttributeValue::MpUnreach(MpUnreach::Ipv6Unicast { nlri }) => {
                found.withdrawn.extend(nlri.iter().map(v6));
            }
            _ => {}
        }
    }
    match hop {
        Some(hop) => found.reached.push((hop, message.nlri().iter().map(v4).collect())),
        None => found.withdrawn.extend(message.nlri().iter().map(v4)),
    }
    if withdraws || !origin || !path {
        found.withdrawn.extend(found.reached.drain(..).flat_map(|(_, networks)| networks));
    }
    found
}

fn by_family(networks: &[IpNet]) -> (Vec<Ipv4Net>, Vec<Ipv6Net>) {
    let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
    for network in networks {
        match network {
            IpNet::V4(network) => ipv4.push(network.trunc()),
            IpNet::V6(network) => ipv6.push(network.trunc()),
        }
    }
    (ipv4, ipv6)
}

/// Networks in parts of which each fits in `room` bytes: a byte for the length of the prefix, and the prefix.
fn parts<T>(networks: &[T], room: usize, prefix_bits: impl Fn(&T) -> u8) -> Vec<&[T]> {
    let (mut found, mut begin, mut bytes) = (Vec::new(), 0, 0);
    for (index, network) in networks.iter().enumerate() {
        let more = 1 + usize::from(prefix_bits(network).div_ceil(8));
        if bytes + more > room {
            found.push(&networks[begin..index]);
            (begin, bytes) = (index, 0);
        }
        bytes += more;
    }
    if begin < networks.len() {
        found.push(&networks[begin..]);
    }
    found
}

fn nlri_v4(networks: &[Ipv4Net]) -> Vec<Ipv4UnicastAddress> {
    let unicast = networks.iter().filter_map(|it| Ipv4Unicast::from_net(*it).ok());
    unicast.map(Ipv4UnicastAddress::new_no_path_id).collect()
}

fn nlri_v6(networks: &[Ipv6Net]) -> Vec<Ipv6UnicastAddress> {
    let unicast = networks.iter().filter_map(|it| Ipv6Unicast::from_net(*it).ok());
    unicast.map(|it| Ipv6UnicastAddress::new(None, it)).collect()
}

fn reach_v6(hop: Ipv6Addr, networks: &[Ipv6Net]) -> MpReach {
    MpReach::Ipv6Unicast { next_hop_global: hop, next_hop_local: None, nlri: nlri_v6(networks) }
}

fn update(
    withdrawn: Vec<Ipv4UnicastAddress>,
    attributes: Vec<PathAttribute>,
    nlri: Vec<Ipv4UnicastAddress>,
) -> BgpMessage {
    BgpMessage::Update(BgpUpdateMessage::new(withdrawn, attributes, nlri))
}
