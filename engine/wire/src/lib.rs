//! Formats on the wire, one protocol per file: `parse` turns the bytes of a protocol into values, or `None` if they are
//! not a whole message; `emit` appends the bytes to a frame.
//!
//! Owns: bytes and checksums. Refuses: what a device or host does with a message, time, state. Headers of Ethernet, ARP,
//! IP, UDP, ICMPv6 and IGMP are those of the crate `etherparse` (design note 0011); frames carry no FCS.

pub mod arp;
pub mod checksum;
pub mod ethernet;
pub mod icmpv6;
pub mod igmp;
pub mod ipv4;
pub mod ipv6;
pub mod mac_control;
pub mod membership;
pub mod mld;
pub mod nd;
pub mod payload;
pub mod pim;
pub mod udp;
pub mod vlan;
