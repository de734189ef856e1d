//! A look at frames before the stack takes them: what it does not tell a socket, and what it cannot do.

use std::net::IpAddr;

use smoltcp::wire::{
    EthernetFrame, EthernetProtocol, IpProtocol, Ipv4Packet, Ipv6Packet, TcpOption, TcpPacket, UdpPacket,
};

use crate::bfd;

/// Time to live of a packet that has crossed no router (RFC 5881 section 5).
const NEAR: u8 = 255;
/// TCP option of MD5 signatures (RFC 2385 section 3).
const MD5_SIGNATURE: u8 = 19;

/// Decision about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Screened {
    Taken,
    /// A BFD packet that may come from beyond a router: RFC 5881 section 5 says to discard it.
    Distant,
    /// A segment with an MD5 signature, which the stack can neither check nor make.
    Signed(IpAddr),
}

pub(crate) fn screen(frame: &[u8]) -> Screened {
    screened(frame).unwrap_or(Screened::Taken)
}

fn screened(frame: &[u8]) -> Option<Screened> {
    let frame = EthernetFrame::new_checked(frame).ok()?;
    match frame.ethertype() {
        EthernetProtocol::Ipv4 => {
            let packet = Ipv4Packet::new_checked(frame.payload()).ok()?;
            judge(packet.next_header(), packet.hop_limit(), packet.src_addr().into(), packet.payload())
        }
        EthernetProtocol::Ipv6 => {
            let packet = Ipv6Packet::new_checked(frame.payload()).ok()?;
            judge(packet.next_header(), packet.hop_limit(), packet.src_addr().into(), packet.payload())
        }
        _ => None,
    }
}

fn judge(protocol: IpProtocol, hops: u8, from: IpAddr, payload: &[u8]) -> Option<Screened> {
    match protocol {
        IpProtocol::Udp => {
            let datagram = UdpPacket::new_checked(payload).ok()?;
            (datagram.dst_port() == bfd::PORT && hops != NEAR).then_some(Screened::Distant)
        }
        IpProtocol::Tcp => {
            let segment = TcpPacket::new_checked(payload).ok()?;
            let mut options = segment.options();
            while !options.is_empty() {
                let (rest, option) = TcpOption::parse(options).ok()?;
                match option {
                    TcpOption::Unknown { kind: MD5_SIGNATURE, .. } => return Some(Screened::Signed(from)),
                    TcpOption::EndOfList => return None,
                    _ => options = rest,
                }
            }
            None
        }
        _ => None,
    }
}
