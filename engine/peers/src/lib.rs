//! Routing protocols of hosts on a wire: BGP-4 (RFC 4271) over TCP, and BFD (RFC 5880) beside it.
//!
//! Owns: the TCP/IP stack of a host (smoltcp), the state machines of BGP and BFD, and the routes that are announced and
//! learned. Frames go in and come out as bytes, and time is a number, so that a host lives on the port of a tester, in a
//! simulated router and in a test alike. Refuses: sockets of the operating system, a clock, forwarding.

pub mod bfd;
pub mod bgp;
mod host;
mod screening;
mod speaker;

pub use host::{HostAddresses, Ipv4Interface, Ipv6Interface};
pub use speaker::{BfdSettings, Event, EventKind, NeighbourSettings, Refused, Speaker};

/// Nanoseconds of the caller's clock, which never goes back. Only differences have a meaning.
pub type Nanoseconds = u64;

pub(crate) const NS_PER_US: u64 = 1_000;
pub(crate) const NS_PER_S: u64 = 1_000_000_000;
