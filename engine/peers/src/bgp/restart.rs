//! Graceful restart (RFC 4724), also after a NOTIFICATION (RFC 8538): what the OPENs of both sides say of it.

use netgauze_bgp_pkt::capabilities::{
    BgpCapability, GracefulRestartAddressFamily, GracefulRestartCapability,
};
use netgauze_bgp_pkt::open::BgpOpenMessage;
use netgauze_iana::address_family::AddressType;

use super::families::Families;
use crate::{Nanoseconds, NS_PER_S};

/// Longest time that an OPEN can say (RFC 4724 section 3), in seconds.
pub const LONGEST_RESTART_S: u16 = 4_095;

/// The offer of one side: routes stay while the other side comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GracefulRestart {
    /// Time within which the own side comes back; up to [`LONGEST_RESTART_S`].
    pub time_s: u16,
    /// Routes stay after a NOTIFICATION, too, if both sides say so, except for a hard reset (RFC 8538).
    pub notifications: bool,
}

impl GracefulRestart {
    /// The capability of an OPEN. `forwards`: frames went on while the session was down.
    pub(crate) fn capability(self, families: Families, restarting: bool, forwards: bool) -> BgpCapability {
        let kinds = [(families.ipv4, AddressType::Ipv4Unicast), (families.ipv6, AddressType::Ipv6Unicast)];
        let spoken = kinds.into_iter().filter(|it| it.0);
        BgpCapability::GracefulRestartCapability(GracefulRestartCapability::new(
            restarting,
            self.notifications,
            self.time_s,
            spoken.map(|it| GracefulRestartAddressFamily::new(forwards, it.1)).collect(),
        ))
    }
}

/// The offer in the neighbour's OPEN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub time_ns: Nanoseconds,
    pub notifications: bool,
    /// Families whose routes stay when the session ends.
    pub families: Families,
    /// Families in which its frames went on while the session was down.
    pub forwards: Families,
}

impl Offer {
    pub fn of(open: &BgpOpenMessage) -> Option<Offer> {
        let capabilities = open.capabilities();
        let said = capabilities.iter().find_map(|it| match it {
            BgpCapability::GracefulRestartCapability(said) => Some(said),
            _ => None,
        })?;
        let families = |wanted: fn(&GracefulRestartAddressFamily) -> bool| {
            let has = |kind| said.address_families().iter().any(|it| it.address_type() == kind && wanted(it));
            Families { ipv4: has(AddressType::Ipv4Unicast), ipv6: has(AddressType::Ipv6Unicast) }
        };
        Some(Offer {
            time_ns: u64::from(said.time()) * NS_PER_S,
            notifications: said.graceful_notification(),
            families: families(|_| true),
            forwards: families(GracefulRestartAddressFamily::forwarding_state),
        })
    }
}
