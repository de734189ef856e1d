//! Keys of a device `router`, and the router that they make.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

use p4mesh_wire::ethernet::{self, Mac};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bgp::{Bgp, BgpConfig};
use super::multicast::{Multicast, MulticastConfig};
use super::neighbours::{Key, Neighbours, NeighboursConfig};
use super::routes::{Prefix, Route, Routes};
use super::{texts, Counters, Interface, Router};
use crate::config::{ConfigError, Latency, Place, PortNumber};
use crate::device::chassis::{Chassis, ChassisConfig};
use crate::device::check_port;
use crate::device::lookup::{Lookup, LookupConfig};
use crate::rng::Rng;

const VALID_NETWORK: &str = "an address and the bits of its prefix, such as 198.18.1.1/24 or 2001:db8::1/64";
const VALID_ADDRESS: &str = "an address in the network of an interface";
const VALID_MAC: &str = "the MAC of one station, such as 02:f4:bc:00:00:01";

/// Keys of a device `router`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouterConfig {
    /// Ports with addresses; their networks are routes.
    #[schemars(length(min = 1))]
    pub interfaces: Vec<InterfaceConfig>,
    /// Routes behind neighbours, longest prefix first.
    #[serde(default)]
    pub routes: Vec<RouteConfig>,
    /// Routes learned from neighbours.
    pub bgp: Option<BgpConfig>,
    /// Routes of groups; without it multicast is dropped.
    pub multicast: Option<MulticastConfig>,
    /// ARP and neighbour discovery.
    #[serde(default)]
    pub neighbours: NeighboursConfig,
    /// Community whose SNMPv1 questions for sysUpTime are answered; without it none.
    #[schemars(with = "texts::Community")]
    pub snmp_community: Option<String>,
    /// Neighbours that are not asked.
    #[serde(default)]
    pub static_neighbours: Vec<StaticNeighbourConfig>,
    /// Capacity of the look-up, all ports together; without it unlimited.
    pub lookup: Option<LookupConfig>,
    /// Modules of ports, and the fabric between them; without it every port is as near as any other.
    pub chassis: Option<ChassisConfig>,
}

/// A port with its addresses; their networks are routes.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct InterfaceConfig {
    /// The port.
    #[schemars(with = "PortNumber")]
    pub port: u16,
    /// MAC of the router at the port.
    #[schemars(with = "texts::Mac")]
    pub mac: String,
    /// IPv4 and IPv6 addresses with prefix lengths.
    #[schemars(with = "Vec<texts::Network>", length(min = 1))]
    pub addresses: Vec<String>,
}

/// A route; with several next hops each flow takes one of those whose link is up.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RouteConfig {
    /// Destinations.
    #[schemars(with = "texts::Network")]
    pub prefix: String,
    /// Neighbours; of several, each flow takes one whose link is up.
    #[schemars(with = "Vec<texts::Address>", length(min = 1))]
    pub next_hops: Vec<String>,
}

/// A neighbour that need not be asked.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StaticNeighbourConfig {
    /// Address in the network of an interface.
    #[schemars(with = "texts::Address")]
    pub address: String,
    /// Its MAC.
    #[schemars(with = "texts::Mac")]
    pub mac: String,
}

impl Router {
    /// Checks and translates a configuration; `latency` is from the last bit of a packet to the queue of its output.
    pub fn new(
        config: &RouterConfig,
        latency: Latency,
        place: &Place,
        (name, seed): (&str, u64),
        ports: &[u16],
    ) -> Result<Router, ConfigError> {
        let mut router = Router {
            latency_ps: latency.ps(),
            interfaces: vec![Interface::default(); ports.len()],
            own: HashSet::new(),
            routes: Routes::default(),
            bgp: None,
            multicast: None,
            static_neighbours: BTreeMap::new(),
            neighbours: Neighbours::new(config.neighbours.clone()),
            lookup: config.lookup.as_ref().map(Lookup::new),
            chassis: None,
            snmp_community: config.snmp_community.clone(),
            started_ps: 0,
            counters: Counters::default(),
        };
        if let Some(chassis) = &config.chassis {
            chassis.check(&place.key("chassis"), ports.len())?;
            router.chassis = Some(Chassis::new(chassis, Rng::for_part(seed, name)));
        }
        for (index, interface) in config.interfaces.iter().enumerate() {
            let place = place.key("interfaces").index(index);
            router.add_interface(interface, &place, ports)?;
        }
        for (index, route) in config.routes.iter().enumerate() {
            router.add_route(route, &place.key("routes").index(index))?;
        }
        for (index, neighbour) in config.static_neighbours.iter().enumerate() {
            let place = place.key("static_neighbours").index(index);
            let key = router.neighbour(&place.key("address"), &neighbour.address)?;
            let mac = mac(&place.key("mac"), &neighbour.mac)?;
            router.static_neighbours.insert(key, mac);
        }
        if let Some(bgp) = &config.bgp {
            let neighbour = |place: &Place, text: &str| router.neighbour(place, text);
            router.bgp = Some(Bgp::new(bgp, &place.key("bgp"), &router.interfaces, neighbour)?);
        }
        if let Some(multicast) = &config.multicast {
            let place = place.key("multicast");
            router.multicast = Some(Multicast::new(multicast, &place, ports, &router.interfaces)?);
        }
        Ok(router)
    }

    fn add_interface(
        &mut self,
        interface: &InterfaceConfig,
        place: &Place,
        ports: &[u16],
    ) -> Result<(), ConfigError> {
        let number = interface.port;
        check_port(&place.key("port"), number, ports)?;
        let port = ports.iter().position(|&it| it == number).unwrap_or(0);
        if !self.interfaces[port].networks.is_empty() {
            let problem = format!("port {number} has its addresses");
            return Err(place.key("port").invalid(problem, "each port once"));
        }
        let addresses = place.key("addresses");
        if interface.addresses.is_empty() {
            return Err(addresses.invalid("is empty", VALID_NETWORK));
        }
        self.interfaces[port].mac = mac(&place.key("mac"), &interface.mac)?;
        for (index, text) in interface.addresses.iter().enumerate() {
            let place = addresses.index(index);
            let Some(network) = Prefix::parse(text) else {
                return Err(place.invalid(format!("is '{text}'"), VALID_NETWORK));
            };
            if !self.routes.add(network, Route::Connected(port)) {
                let problem = format!("the network of {text} is at another port");
                return Err(place.invalid(problem, "each network once"));
            }
            self.interfaces[port].networks.push(network);
            self.own.insert(network.address);
        }
        Ok(())
    }

    fn add_route(&mut self, route: &RouteConfig, place: &Place) -> Result<(), ConfigError> {
        let prefix_place = place.key("prefix");
        let Some(prefix) = Prefix::parse(&route.prefix) else {
            let problem = format!("is '{}'", route.prefix);
            return Err(prefix_place.invalid(problem, VALID_NETWORK));
        };
        let place = place.key("next_hops");
        if route.next_hops.is_empty() {
            return Err(place.invalid("is empty", VALID_ADDRESS));
        }
        let mut via = Vec::new();
        for (index, text) in route.next_hops.iter().enumerate() {
            let key = self.neighbour(&place.index(index), text)?;
            if key.1.is_ipv4() != prefix.address.is_ipv4() {
                let problem = format!("{text} is of another family than {}", route.prefix);
                return Err(place.invalid(problem, "next hops of the family of the prefix"));
            }
            via.push(key);
        }
        if !self.routes.add(prefix, Route::Via(via)) {
            let problem = format!("there is a route to {}", route.prefix);
            return Err(prefix_place.invalid(problem, "each prefix once"));
        }
        Ok(())
    }

    /// The port at which an address is a neighbour, and the address.
    fn neighbour(&self, place: &Place, text: &str) -> Result<Key, ConfigError> {
        let address: Option<IpAddr> = text.parse().ok();
        let at = |address: &IpAddr| self.interfaces.iter().position(|it| it.reaches(*address));
        let problem = match address.map(|it| (at(&it), it)) {
            Some((Some(port), address)) if !self.interfaces[port].owns(address) => {
                return Ok((port, address));
            }
            Some((Some(_), _)) => format!("{text} is an address of the router itself"),
            Some((None, _)) => format!("{text} is in no network of an interface"),
            None => format!("'{text}' is not an address"),
        };
        Err(place.invalid(problem, VALID_ADDRESS))
    }
}

fn mac(place: &Place, text: &str) -> Result<Mac, ConfigError> {
    match ethernet::parse_mac(text) {
        Some(mac) if mac[0] & 1 == 0 => Ok(mac),
        _ => Err(place.invalid(format!("is '{text}'"), VALID_MAC)),
    }
}
