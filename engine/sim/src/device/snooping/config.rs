//! Keys of `snooping` of an Ethernet switch.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::check_port;
use super::super::groups::table::ForwardBy;
use crate::config::{ConfigError, Nanoseconds, Place, PortNumber, PositiveSeconds, Whole};

/// `snooping` of an Ethernet switch; absent: multicast is flooded.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SnoopingConfig {
    /// What of a frame decides: its group's MAC address, which 32 groups of IPv4 share; its group; or source and group,
    /// so that hosts get the senders that they ask for.
    pub forward_by: ForwardBy,
    /// Groups without members are flooded.
    pub flood_unknown: bool,
    // RFC 3376 8.4: 260 s.
    /// A member is forgotten after this time without a report.
    pub membership_s: PositiveSeconds<3_600, 260>,
    /// From a leave message to the end of a membership.
    pub leave_delay_ns: Nanoseconds<3_600_000_000_000, 2_000_000_000>,
    /// Questions about a group that a host leaves, spread evenly over leave_delay_ns; a report in that time keeps the
    /// membership.
    pub last_member_queries: Whole<0, 7>,
    /// Time that the processor takes for each new membership; they are worked off one after the other.
    pub join_time_ns: Nanoseconds<1_000_000_000>,
    /// Groups with members that fit into the table, those of all VLANs together; without it unlimited.
    pub max_groups: Option<Whole<1, 16_777_216>>,
    // The limit of the Linux bridge.
    /// Senders that are told apart for each group and port; reports with more are refused.
    pub max_sources: Whole<0, 4_096, 32>,
    // Next to those that a query came from.
    /// Ports that get every group.
    #[schemars(with = "Vec<PortNumber>")]
    pub router_ports: Vec<u16>,
}

impl SnoopingConfig {
    pub fn check(&self, place: &Place, ports: &[u16]) -> Result<(), ConfigError> {
        for (index, port) in self.router_ports.iter().enumerate() {
            check_port(&place.key("router_ports").index(index), *port, ports)?;
        }
        Ok(())
    }
}
