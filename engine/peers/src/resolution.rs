//! Questions for MAC addresses and their answers, by ARP (RFC 826) and neighbour discovery (RFC 4861): frames without
//! FCS and VLAN tag.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use p4mesh_wire::ethernet::{self, Mac, TYPE_ARP, TYPE_IPV6};
use p4mesh_wire::{arp, icmpv6, ipv6, nd};

/// An address of a host or router, and its MAC.
pub type Owner<A = IpAddr> = (A, Mac);

/// Writes the question of `sender` for the MAC of `asked`, of the same family.
pub fn write_question(frame: &mut Vec<u8>, sender: Owner, asked: IpAddr) {
    match (sender.0, asked) {
        (IpAddr::V4(source), IpAddr::V4(asked)) => {
            let target = (asked, [0; 6]);
            let (operation, sender) = (arp::Operation::Request, (source, sender.1));
            write_arp(frame, arp::Message { operation, sender, target }, ethernet::BROADCAST);
        }
        (IpAddr::V6(source), IpAddr::V6(target)) => {
            let group = nd::solicited_node(target);
            let message = nd::Message::Solicitation { target, mac: Some(sender.1) };
            write_neighbour(frame, message, (source, sender.1), (group, ipv6::group_mac(group)));
        }
        _ => unreachable!("neighbours are resolved by addresses of their own family"),
    }
}

/// Writes the answer to an ARP request: `owner` has its MAC.
pub fn write_reply(frame: &mut Vec<u8>, owner: Owner<Ipv4Addr>, asker: Owner<Ipv4Addr>) {
    let message = arp::Message { operation: arp::Operation::Reply, sender: owner, target: asker };
    write_arp(frame, message, asker.1);
}

/// Writes the answer to a solicitation: `owner` has its MAC, and is a router or not. An asker that has no address yet
/// gets it with all others (RFC 4861 7.2.4).
pub fn write_advertisement(
    frame: &mut Vec<u8>,
    owner: Owner<Ipv6Addr>,
    router: bool,
    asker: Option<Owner<Ipv6Addr>>,
) {
    let to = asker.unwrap_or((ipv6::ALL_NODES, ipv6::group_mac(ipv6::ALL_NODES)));
    let flags = nd::Flags { router, solicited: true, overrides: true };
    let message = nd::Message::Advertisement { target: owner.0, mac: Some(owner.1), flags };
    write_neighbour(frame, message, owner, to);
}

fn write_arp(frame: &mut Vec<u8>, message: arp::Message, destination: Mac) {
    frame.clear();
    ethernet::Header { destination, source: message.sender.1, ether_type: TYPE_ARP }.emit(frame);
    message.emit(frame);
    ethernet::pad(frame);
}

fn write_neighbour(frame: &mut Vec<u8>, message: nd::Message, sender: Owner<Ipv6Addr>, to: Owner<Ipv6Addr>) {
    frame.clear();
    ethernet::Header { destination: to.1, source: sender.1, ether_type: TYPE_IPV6 }.emit(frame);
    let mut payload = Vec::new();
    message.emit(sender.0, to.0, &mut payload);
    let packet = ipv6::Header {
        source: sender.0,
        destination: to.0,
        protocol: icmpv6::PROTOCOL,
        hops: nd::HOPS,
        router_alert: false,
    };
    packet.emit(&payload, frame);
}
