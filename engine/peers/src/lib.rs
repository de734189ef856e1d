//! Protocols of hosts on a wire: ARP and neighbour discovery, memberships of groups and their querier, BGP-4 (RFC 4271)
//! over TCP, and BFD (RFC 5880) beside it.
//!
//! Owns: what hosts say and when: answers, random delays, the state machines of BGP and BFD, the TCP/IP stack of a host
//! (smoltcp), and the routes that are announced and learned. Frames go in and come out as bytes, and time is a number, so
//! that a host lives on the port of a tester, in a simulated device and in a test alike. Refuses: the bytes of messages
//! (`p4mesh-wire`), sockets of the operating system, a clock, forwarding.

pub mod bfd;
pub mod bgp;
pub mod groups;
mod host;
pub mod resolution;
mod screening;
mod speaker;
mod stations;

pub use host::{HostAddresses, Ipv4Interface, Ipv6Interface};
pub use speaker::{BfdSettings, Event, EventKind, Multihop, NeighbourSettings, Refused, Speaker};
pub use stations::{IpVersion, Station, Stations};

/// Nanoseconds of the caller's clock, which never goes back. Only differences have a meaning.
pub type Nanoseconds = u64;

/// Number of a port on which hosts live.
pub type Port = u32;

/// A frame that leaves a port, without FCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaving {
    pub port: Port,
    pub frame: Vec<u8>,
    /// The time at which it leaves is to be kept.
    pub stamped: bool,
}

pub(crate) const NS_PER_US: u64 = 1_000;
pub(crate) const NS_PER_S: u64 = 1_000_000_000;
