//! Keys of `multicast` of a router.

use std::net::{IpAddr, Ipv4Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::routes::Prefix;
use super::super::{texts, Interface};
use crate::config::{ConfigError, Nanoseconds, Place, PortNumber, PositiveSeconds, Whole};
use crate::device::check_port;

const VALID_GROUPS: &str = "multicast groups such as 225.1.1.0/24 or ff1e::/64";
const VALID_SENDER: &str = "the address of a sender, of the family of the groups";
const VALID_INTERFACE: &str = "a port of interfaces with an IPv4 address";

/// `multicast` of a router; absent: multicast is dropped.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MulticastConfig {
    /// Ports whose hosts join groups by IGMP and MLD; the router is their querier.
    #[schemars(with = "Vec<PortNumber>")]
    pub host_ports: Vec<u16>,
    /// From one general question to the next.
    pub query_interval_s: PositiveSeconds<31_744, 125>,
    /// Time that hosts have to answer a general question.
    pub response_s: PositiveSeconds<3_174, 10>,
    /// Questions whose loss does not end a membership, and number of those at the start and after a leave.
    pub robustness: Whole<1, 7, 2>,
    /// From a leave message to the end of a membership, in which the questions after it lie; 0 = at once, without a
    /// question, as where each port has one host.
    pub leave_delay_ns: Nanoseconds<3_600_000_000_000, 2_000_000_000>,
    /// Time that the processor takes for each new membership; they are worked off one after the other.
    pub join_time_ns: Nanoseconds<1_000_000_000>,
    /// Groups with members that fit into the table; without it unlimited.
    pub max_groups: Option<Whole<1, 16_777_216>>,
    /// Senders that are told apart for each group and port; reports with more are refused.
    pub max_sources: Whole<0, 4_096, 32>,
    /// Groups that go to ports without a join.
    pub routes: Vec<GroupRouteConfig>,
    /// Routers that join groups here, or where this router joins them.
    pub pim: Option<PimConfig>,
}

/// A fixed route of groups.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GroupRouteConfig {
    /// Groups.
    #[schemars(with = "texts::Network")]
    pub groups: String,
    /// Their sender; without it any.
    #[schemars(with = "Option<texts::Address>")]
    pub source: Option<String>,
    /// Port on which they come; without it the one towards the sender.
    #[schemars(with = "Option<PortNumber>")]
    pub input: Option<u16>,
    /// Ports to which they go.
    #[schemars(with = "Vec<PortNumber>", length(min = 1))]
    pub outputs: Vec<u16>,
}

/// PIM sparse mode (RFC 7761), IPv4.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PimConfig {
    /// Ports on which it says hello.
    #[schemars(with = "Vec<PortNumber>", length(min = 1))]
    pub ports: Vec<u16>,
    /// Rendezvous point of all groups, to which groups are joined whose hosts take any sender; without it, or when
    /// it is an address of this router, those are joined nowhere.
    #[schemars(with = "Option<texts::Address>")]
    pub rendezvous_point: Option<String>,
    /// From one hello to the next; a neighbour is gone after 3.5 of them.
    #[serde(default)]
    pub hello_interval_s: PositiveSeconds<18_000, 30>,
    /// From one join to its repetition; a neighbour forgets it after 3.5 of them.
    #[serde(default)]
    pub join_interval_s: PositiveSeconds<18_000, 60>,
}

/// A checked [`GroupRouteConfig`] with local ports.
pub struct GroupRoute {
    pub groups: Prefix,
    pub source: Option<IpAddr>,
    pub input: Option<usize>,
    pub outputs: Vec<usize>,
}

/// A checked [`PimConfig`] with local ports.
pub struct PimSettings {
    /// Ports and the address of the router there.
    pub ports: Vec<(usize, Ipv4Addr)>,
    pub rendezvous_point: Option<Ipv4Addr>,
    pub hello_ps: u64,
    pub join_ps: u64,
}

/// The local port of a number.
fn local(place: &Place, port: u16, ports: &[u16]) -> Result<usize, ConfigError> {
    check_port(place, port, ports)?;
    Ok(ports.iter().position(|&it| it == port).expect("it was checked"))
}

/// Local ports of a list, which must be interfaces.
pub fn interfaces_of(
    place: &Place,
    list: &[u16],
    ports: &[u16],
    interfaces: &[Interface],
) -> Result<Vec<usize>, ConfigError> {
    let one = |(index, &port): (usize, &u16)| {
        let place = place.index(index);
        let local = local(&place, port, ports)?;
        match interfaces[local].networks.is_empty() {
            true => Err(place.invalid(format!("port {port} has no address"), "a port of interfaces")),
            false => Ok(local),
        }
    };
    list.iter().enumerate().map(one).collect()
}

impl GroupRouteConfig {
    pub fn check(&self, place: &Place, ports: &[u16]) -> Result<GroupRoute, ConfigError> {
        let groups = Prefix::parse(&self.groups).filter(|it| it.address.is_multicast());
        let Some(groups) = groups else {
            return Err(place.key("groups").invalid(format!("is '{}'", self.groups), VALID_GROUPS));
        };
        let mut source = None;
        if let Some(text) = &self.source {
            let address: Option<IpAddr> = text.parse().ok();
            let valid = |it: &IpAddr| !it.is_multicast() && it.is_ipv4() == groups.address.is_ipv4();
            source = address.filter(valid);
            if source.is_none() {
                return Err(place.key("source").invalid(format!("is '{text}'"), VALID_SENDER));
            }
        }
        let input = self.input.map(|it| local(&place.key("input"), it, ports)).transpose()?;
        let outputs = place.key("outputs");
        if self.outputs.is_empty() {
            return Err(outputs.invalid("is empty", "ports of the device"));
        }
        let output = |(index, &port): (usize, &u16)| local(&outputs.index(index), port, ports);
        let outputs = self.outputs.iter().enumerate().map(output).collect::<Result<_, _>>()?;
        Ok(GroupRoute { groups, source, input, outputs })
    }
}

impl PimConfig {
    pub(in super::super) fn check(
        &self,
        place: &Place,
        ports: &[u16],
        interfaces: &[Interface],
    ) -> Result<PimSettings, ConfigError> {
        let locals = interfaces_of(&place.key("ports"), &self.ports, ports, interfaces)?;
        let mut with_addresses = Vec::new();
        for (index, port) in locals.into_iter().enumerate() {
            let Some(address) = interfaces[port].ipv4() else {
                let place = place.key("ports").index(index);
                let problem = format!("port {} has no IPv4 address", self.ports[index]);
                return Err(place.invalid(problem, VALID_INTERFACE));
            };
            with_addresses.push((port, address));
        }
        let mut rendezvous_point = None;
        if let Some(text) = &self.rendezvous_point {
            let address = text.parse::<Ipv4Addr>().ok().filter(|it| !it.is_multicast());
            let Some(address) = address else {
                let place = place.key("rendezvous_point");
                return Err(place.invalid(format!("is '{text}'"), "the IPv4 address of a router"));
            };
            rendezvous_point =
                Some(address).filter(|it| !interfaces.iter().any(|port| port.owns((*it).into())));
        }
        Ok(PimSettings {
            ports: with_addresses,
            rendezvous_point,
            hello_ps: self.hello_interval_s.ps(),
            join_ps: self.join_interval_s.ps(),
        })
    }
}
