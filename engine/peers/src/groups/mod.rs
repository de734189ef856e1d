//! Multicast groups as hosts and queriers see them: IGMPv2 (RFC 2236), IGMPv3 (RFC 3376), MLDv1 (RFC 2710) and MLDv2
//! (RFC 3810).

mod draws;
mod filters;
mod hosts;
pub mod messages;
mod querier;

pub use filters::Filter;
pub use hosts::{GroupHosts, HostSettings, UnknownPort};
pub use querier::{Querier, QuerierSettings};

use std::net::IpAddr;

/// A protocol by which hosts tell their memberships.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Igmpv2,
    Igmpv3,
    Mldv1,
    Mldv2,
}

impl Protocol {
    /// True for the protocols whose reports have records, which can name single senders.
    pub fn has_records(self) -> bool {
        matches!(self, Protocol::Igmpv3 | Protocol::Mldv2)
    }

    /// True for an address of the protocol's family.
    pub fn speaks_of(self, address: IpAddr) -> bool {
        address.is_ipv4() == matches!(self, Protocol::Igmpv2 | Protocol::Igmpv3)
    }

    /// All groups, in a query.
    pub fn any_group(self) -> IpAddr {
        match self {
            Protocol::Igmpv2 | Protocol::Igmpv3 => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
            Protocol::Mldv1 | Protocol::Mldv2 => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
        }
    }
}
