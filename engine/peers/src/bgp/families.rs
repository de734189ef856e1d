//! Address families of routes.

use ipnet::IpNet;

/// Address families of unicast routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Families {
    pub ipv4: bool,
    pub ipv6: bool,
}

impl Families {
    pub(crate) fn has(self, network: &IpNet) -> bool {
        match network {
            IpNet::V4(_) => self.ipv4,
            IpNet::V6(_) => self.ipv6,
        }
    }
}
