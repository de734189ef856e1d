//! An IPv4 and IPv6 router: longest prefix match, equal-cost paths by a hash of the flow, hop
//! limits, and neighbours that it asks for by ARP and neighbour discovery. Store and forward. On request
//! it learns routes by BGP, with BFD beside it, and answers SNMP questions for the time since its start.
//!
//! Not modelled: fragmentation, ICMP errors, multicast, VLAN tags.

mod bgp;
mod management;
mod neighbours;
mod packets;
mod routes;
mod texts;

use std::any::Any;
use std::collections::BTreeMap;
use std::net::IpAddr;

use p4mesh_pipeline::Frame;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::bgp::{Bgp, BgpConfig, Work};
use self::neighbours::{Held, Key, Neighbours};
use self::packets::{Header, Packet, Resolution};
use self::routes::{Prefix, Route, Routes};
use super::lookup::{Lookup, LookupConfig};
use super::{check_port, Device, DevicePorts};
use crate::config::{ConfigError, Latency, Place, PortNumber};
use crate::drops::DropCause;
use crate::fabric::{Arrival, ArrivalRule};
use crate::wire::ethernet::{self, Mac};

pub use self::neighbours::NeighboursConfig;

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

/// A port of the router.
#[derive(Clone, Default)]
struct Interface {
    mac: Mac,
    networks: Vec<Prefix>,
}

impl Interface {
    fn owns(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|it| it.address == address)
    }

    fn reaches(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|it| it.contains(address))
    }

    /// The own address from which to ask for a neighbour.
    fn address_towards(&self, neighbour: IpAddr) -> Option<IpAddr> {
        let network = self.networks.iter().find(|it| it.contains(neighbour));
        network.map(|it| it.address)
    }
}

#[derive(Default)]
struct Counters {
    routed: u64,
    to_itself: u64,
    asked: u64,
    answered: u64,
    learned: u64,
    managed: u64,
}

/// The model.
pub struct Router {
    latency_ps: u64,
    /// By local port; without addresses where the configuration gives no address.
    interfaces: Vec<Interface>,
    routes: Routes,
    bgp: Option<Bgp>,
    static_neighbours: BTreeMap<Key, Mac>,
    neighbours: Neighbours,
    lookup: Option<Lookup>,
    snmp_community: Option<String>,
    /// When the device started, for `sysUpTime`.
    started_ps: u64,
    counters: Counters,
}

impl Router {
    /// Checks and translates a configuration; `latency` is from the last bit of a packet to the queue of its output.
    pub fn new(
        config: &RouterConfig,
        latency: Latency,
        place: &Place,
        ports: &[u16],
    ) -> Result<Router, ConfigError> {
        let mut router = Router {
            latency_ps: latency.ps(),
            interfaces: vec![Interface::default(); ports.len()],
            routes: Routes::default(),
            bgp: None,
            static_neighbours: BTreeMap::new(),
            neighbours: Neighbours::new(config.neighbours.clone()),
            lookup: config.lookup.as_ref().map(Lookup::new),
            snmp_community: config.snmp_community.clone(),
            started_ps: 0,
            counters: Counters::default(),
        };
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

    /// Reason why a frame ends at the input, if it does.
    fn refuse(&mut self, port: usize, arrival: &Arrival, now_ps: u64) -> Option<DropCause> {
        if arrival.bad_fcs {
            return Some(DropCause::BadFcs);
        }
        if arrival.frame.len() < ethernet::HEADER_BYTES {
            return Some(DropCause::Undersize);
        }
        let destination = ethernet::destination(&arrival.frame);
        let multicast = destination[0] & 1 == 1;
        if !multicast && destination != self.interfaces[port].mac {
            return Some(DropCause::NotRouted);
        }
        let lookup = self.lookup.as_mut();
        lookup.is_some_and(|lookup| !lookup.admit(now_ps)).then_some(DropCause::LookupOverload)
    }

    fn resolve(&mut self, port: usize, message: Resolution, ports: &mut DevicePorts) {
        let interface = &self.interfaces[port];
        let is_own = |address: &IpAddr| interface.owns(*address);
        let asked = message.asked.filter(is_own);
        let own_mac = interface.mac;
        let told =
            message.told.filter(|(address, _)| interface.reaches(*address) && !interface.owns(*address));
        if let Some((address, mac)) = told {
            let now_ps = ports.now_ps();
            let key = (port, address);
            self.counters.learned += u64::from(self.neighbours.mac(key, now_ps) != Some(mac));
            let waiting = self.neighbours.learn(key, mac, asked.is_some(), now_ps);
            for packet in waiting {
                ports.releases_frame();
                self.send(port, mac, packet, ports);
            }
        }
        if let Some(own) = asked {
            self.counters.answered += 1;
            let mut frame = ports.take();
            packets::write_answer(&mut frame, (own, own_mac), told);
            let now_ps = ports.now_ps();
            ports.enqueue(port, frame, now_ps);
        }
    }

    fn route(&mut self, input: usize, frame: Frame, header: Header, ports: &mut DevicePorts) {
        if self.interfaces.iter().any(|it| it.owns(header.destination)) {
            self.counters.to_itself += 1;
            return self.manage(input, frame, header, ports);
        }
        if header.destination.is_multicast() || ethernet::destination(&frame)[0] & 1 == 1 {
            return ports.drop(input, DropCause::NotRouted, frame);
        }
        if header.hops <= 1 {
            return ports.drop(input, DropCause::TtlExpired, frame);
        }
        self.send_towards(header.destination, header.flow, input, frame, ports);
    }

    /// Hands a packet to the router itself to BGP, or answers a manager's question; all else ends here.
    fn manage(&mut self, input: usize, mut frame: Frame, header: Header, ports: &mut DevicePorts) {
        if let Some(bgp) = &mut self.bgp {
            let work = bgp.on_frame(input, &frame, ports.now_ps());
            self.obey(work, ports);
        }
        let up_ps = ports.now_ps() - self.started_ps;
        let community = self.snmp_community.as_deref();
        match community.and_then(|it| management::answer(&mut frame, &header, it, up_ps)) {
            None => ports.give(frame),
            Some(()) => {
                self.counters.managed += 1;
                self.send_towards(header.source, header.flow, input, frame, ports);
            }
        }
    }

    /// Carries out the requests of BGP.
    fn obey(&mut self, work: Work, ports: &mut DevicePorts) {
        for route in work.routes {
            self.routes.learn(route.prefix, route.via);
        }
        for (port, bytes) in work.frames {
            let frame = ports.copy(&bytes);
            let now_ps = ports.now_ps();
            ports.enqueue(port, frame, now_ps);
        }
        for (port, at_ps) in work.timers {
            ports.set_timer(port, at_ps);
        }
    }

    /// Sends a packet by the routes to its destination, or keeps it while the neighbour is asked for.
    fn send_towards(
        &mut self,
        destination: IpAddr,
        flow: u32,
        input: usize,
        frame: Frame,
        ports: &mut DevicePorts,
    ) {
        let next = match self.routes.find(destination) {
            None => None,
            Some(&Route::Connected(port)) => Some((port, destination)),
            Some(Route::Via(next_hops) | Route::Learned(next_hops)) => {
                let usable = |&&(port, _): &&Key| ports.link_up(port);
                let count = next_hops.iter().filter(usable).count();
                let choice = flow as usize % count.max(1);
                next_hops.iter().filter(usable).nth(choice).copied()
            }
        };
        let Some(next) = next else {
            return ports.drop(input, DropCause::NoRoute, frame);
        };
        let now_ps = ports.now_ps();
        let known = self.static_neighbours.get(&next).copied();
        if let Some(mac) = known.or_else(|| self.neighbours.mac(next, now_ps)) {
            return self.send(next.0, mac, frame, ports);
        }
        match self.neighbours.hold(next, frame, now_ps) {
            Held::Ask => {
                ports.keeps_frame();
                self.ask(next, ports);
            }
            Held::AskOnly(frame) => {
                ports.drop(next.0, DropCause::NoNeighbour, frame);
                self.ask(next, ports);
            }
            Held::Waits => ports.keeps_frame(),
            Held::Full(frame) => ports.drop(next.0, DropCause::NoNeighbour, frame),
        }
    }

    fn send(&mut self, output: usize, to: Mac, mut frame: Frame, ports: &mut DevicePorts) {
        self.counters.routed += 1;
        packets::forward(&mut frame, self.interfaces[output].mac, to);
        let now_ps = ports.now_ps();
        ports.enqueue(output, frame, now_ps);
    }

    /// Asks a neighbour for its MAC, and again later.
    fn ask(&mut self, (port, address): Key, ports: &mut DevicePorts) {
        let interface = &self.interfaces[port];
        let Some(own) = interface.address_towards(address) else {
            return;
        };
        self.counters.asked += 1;
        let mut frame = ports.take();
        packets::write_question(&mut frame, (own, interface.mac), address);
        let now_ps = ports.now_ps();
        ports.enqueue(port, frame, now_ps);
        ports.set_timer(port, now_ps + self.neighbours.retry_ps());
    }

    fn give_up(gone: Vec<(Key, Vec<Frame>)>, cause: DropCause, ports: &mut DevicePorts) {
        for ((port, _), packets) in gone {
            for packet in packets {
                ports.releases_frame();
                ports.drop(port, cause, packet);
            }
        }
    }
}

impl Device for Router {
    fn arrival_rule(&self, _port: usize) -> ArrivalRule {
        ArrivalRule { lookahead_bytes: None, latency_ps: self.latency_ps }
    }

    fn receive(&mut self, port: usize, arrival: Arrival, ports: &mut DevicePorts) {
        if let Some(cause) = self.refuse(port, &arrival, ports.now_ps()) {
            return ports.drop(port, cause, arrival.frame);
        }
        match packets::read(&arrival.frame) {
            Err(cause) => ports.drop(port, cause, arrival.frame),
            Ok(Packet::Resolution(message)) => {
                // The router answers for itself; its BGP listens to answers only.
                if let Some(bgp) = self.bgp.as_mut().filter(|_| message.asked.is_none()) {
                    let work = bgp.on_frame(port, &arrival.frame, ports.now_ps());
                    self.obey(work, ports);
                }
                ports.give(arrival.frame);
                self.resolve(port, message, ports);
            }
            Ok(Packet::Ip(header)) => self.route(port, arrival.frame, header, ports),
        }
    }

    fn timer(&mut self, _port: usize, ports: &mut DevicePorts) {
        let (ask, gone) = self.neighbours.due(ports.now_ps());
        for key in ask {
            self.ask(key, ports);
        }
        Router::give_up(gone, DropCause::NoNeighbour, ports);
        if let Some(bgp) = &mut self.bgp {
            let work = bgp.on_time(ports.now_ps());
            self.obey(work, ports);
        }
    }

    /// Lets BGP begin.
    fn start(&mut self, ports: &mut DevicePorts) {
        if let Some(bgp) = &mut self.bgp {
            let work = bgp.on_time(ports.now_ps());
            self.obey(work, ports);
        }
    }

    fn link_changed(&mut self, port: usize, up: bool, ports: &mut DevicePorts) {
        if !up {
            let gone = self.neighbours.forget(|it| it == port);
            Router::give_up(gone, DropCause::LinkDown, ports);
        }
    }

    fn reseed(&mut self, _seed: u64, _name: &str) {
        if let Some(lookup) = &mut self.lookup {
            lookup.restart_spacing();
        }
    }

    fn reset(&mut self, ports: &mut DevicePorts) {
        let gone = self.neighbours.forget(|_| true);
        Router::give_up(gone, DropCause::Reset, ports);
        if let Some(lookup) = &mut self.lookup {
            lookup.reset();
        }
        self.started_ps = ports.now_ps();
        if let Some(bgp) = &mut self.bgp {
            let work = bgp.reset(ports.now_ps());
            self.obey(work, ports);
        }
    }

    fn counters(&self) -> BTreeMap<&'static str, u64> {
        let mut counters = BTreeMap::from([
            ("routed", self.counters.routed),
            ("to_itself", self.counters.to_itself),
            ("asked", self.counters.asked),
            ("answered", self.counters.answered),
            ("learned", self.counters.learned),
            ("managed", self.counters.managed),
        ]);
        if let Some(bgp) = &self.bgp {
            counters.extend([
                ("bgp_routes", bgp.routes()),
                ("bgp_routes_refused", bgp.counters.routes_refused),
                ("bgp_sessions_up", bgp.counters.sessions_up),
                ("bgp_sessions_lost", bgp.counters.sessions_lost),
            ]);
        }
        counters
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

fn mac(place: &Place, text: &str) -> Result<Mac, ConfigError> {
    match ethernet::parse_mac(text) {
        Some(mac) if mac[0] & 1 == 0 => Ok(mac),
        _ => Err(place.invalid(format!("is '{text}'"), VALID_MAC)),
    }
}
