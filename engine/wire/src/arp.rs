//! ARP (RFC 826) for IPv4 on Ethernet.

use std::net::Ipv4Addr;

use etherparse::{ArpEthIpv4Packet, ArpHardwareId, ArpOperation, ArpPacketSlice, EtherType};

use crate::ethernet::Mac;

/// Operation of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Request,
    Reply,
    /// Any other number.
    Other(u16),
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub operation: Operation,
    pub sender: (Ipv4Addr, Mac),
    pub target: (Ipv4Addr, Mac),
}

/// Reads the bytes behind the Ethernet header; `None` for other kinds of addresses, too.
pub fn parse(payload: &[u8]) -> Option<Message> {
    let packet = ArpPacketSlice::from_slice(payload).ok()?;
    let kinds = (packet.hw_addr_type(), packet.proto_addr_type());
    if kinds != (ArpHardwareId::ETHERNET, EtherType::IPV4) {
        return None;
    }
    let address = |bytes: &[u8]| Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?));
    let mac = |bytes: &[u8]| Mac::try_from(bytes).ok();
    Some(Message {
        operation: match packet.operation() {
            ArpOperation::REQUEST => Operation::Request,
            ArpOperation::REPLY => Operation::Reply,
            ArpOperation(number) => Operation::Other(number),
        },
        sender: (address(packet.sender_protocol_addr())?, mac(packet.sender_hw_addr())?),
        target: (address(packet.target_protocol_addr())?, mac(packet.target_hw_addr())?),
    })
}

impl Message {
    pub fn emit(&self, frame: &mut Vec<u8>) {
        let packet = ArpEthIpv4Packet {
            operation: match self.operation {
                Operation::Request => ArpOperation::REQUEST,
                Operation::Reply => ArpOperation::REPLY,
                Operation::Other(number) => ArpOperation(number),
            },
            sender_mac: self.sender.1,
            sender_ipv4: self.sender.0.octets(),
            target_mac: self.target.1,
            target_ipv4: self.target.0.octets(),
        };
        frame.extend_from_slice(&packet.to_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        for operation in [Operation::Request, Operation::Reply, Operation::Other(8)] {
            let message = Message {
                operation,
                sender: ([10, 0, 0, 1].into(), [2, 0, 0, 0, 0, 1]),
                target: ([10, 0, 0, 2].into(), [0; 6]),
            };
            let mut frame = Vec::new();
            message.emit(&mut frame);
            assert_eq!(frame[..6], [0, 1, 8, 0, 6, 4]);
            assert_eq!(parse(&frame), Some(message));
            for length in 0..frame.len() {
                assert_eq!(parse(&frame[..length]), None);
            }
            frame[1] = 6;
            assert_eq!(parse(&frame), None, "addresses of another kind");
        }
    }
}
