//! BGP of a router: sessions with neighbours at its ports, the routes learned from them, and the routes told to others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;
use std::sync::Arc;

use ipnet::IpNet;
use p4mesh_peers::bgp::{Announcement, Families, RouteChange};
use p4mesh_peers::{
    BfdSettings, Event, EventKind, HostAddresses, Ipv4Interface, Ipv6Interface, NeighbourSettings, Speaker,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::neighbours::Key;
use super::routes::Prefix;
use super::{texts, Interface};
use crate::config::{ConfigError, Nanoseconds, Place, Whole};
use crate::device::RefusedRoutes;

const PS_PER_NS: u64 = 1_000;

/// Routes of one family that a router of the data sheets holds.
pub type RouteLimit = Whole<0, 10_000_000, 1_000_000>;

/// `bgp` of a router.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BgpConfig {
    /// The router's AS.
    #[serde(rename = "as")]
    #[schemars(with = "Whole<1, 4_294_967_294, 1>")]
    pub own_as: u32,
    /// BGP identifier.
    #[schemars(with = "texts::Address")]
    pub router_id: String,
    /// Seconds of silence after which a session ends; 0 keeps sessions without KEEPALIVEs.
    #[serde(default)]
    pub hold_time_s: Whole<0, 65_535, 90>,
    /// Sessions; the router waits for the neighbours to connect.
    #[schemars(length(min = 1))]
    pub neighbours: Vec<BgpNeighbourConfig>,
    /// IPv4 routes that fit; further ones are counted and not used.
    #[serde(default)]
    pub max_ipv4_routes: RouteLimit,
    /// IPv6 routes that fit; further ones are counted and not used.
    #[serde(default)]
    pub max_ipv6_routes: RouteLimit,
    /// Time that the processor takes for each route that comes, changes or goes; they are worked off one after the other.
    #[serde(default)]
    pub route_time_ns: Nanoseconds<1_000_000_000>,
    /// Tell the other neighbours of each route that was learned.
    #[serde(default = "yes")]
    pub advertise: bool,
}

/// A neighbour in the network of an interface.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BgpNeighbourConfig {
    /// Its address.
    #[schemars(with = "texts::Address")]
    pub address: String,
    /// Its AS; without it any.
    #[serde(rename = "as")]
    #[schemars(with = "Option<Whole<1, 4_294_967_294, 1>>")]
    pub neighbour_as: Option<u32>,
    /// BFD beside the session.
    pub bfd: Option<BfdConfig>,
}

/// `bfd` of a neighbour.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BfdConfig {
    /// Interval in both directions.
    pub interval_ms: Whole<1, 60_000, 150>,
    /// Packets in a row whose loss ends the session.
    pub multiplier: Whole<1, 255, 3>,
}

fn yes() -> bool {
    true
}

/// The neighbours at one port.
struct PortSessions {
    port: usize,
    addresses: HostAddresses,
    settings: Vec<NeighbourSettings>,
    speaker: Speaker,
    /// The timer that the fabric has for this port.
    armed_ns: Option<u64>,
}

/// A route of one neighbour.
struct Path {
    from: Key,
    via: Key,
    as_path: Arc<[u32]>,
}

/// All sessions of a router.
pub struct Bgp {
    sessions: Vec<PortSessions>,
    paths: BTreeMap<IpNet, Vec<Path>>,
    /// Routes in use and how many may be, by [`family`].
    routes: [u64; 2],
    max_routes: [u64; 2],
    /// Networks that did not fit since somebody asked, by [`family`].
    refused: [BTreeSet<IpNet>; 2],
    processor: Processor,
    advertise: bool,
    pub counters: Counters,
}

/// Works off changes of routes, in the order in which they come.
struct Processor {
    route_ps: u64,
    free_ps: u64,
    /// Each with the time at which it is done.
    waiting: VecDeque<(u64, NewRoute)>,
}

impl Processor {
    /// Puts changes behind those that wait. Returns when each of them is done.
    fn take(&mut self, changes: Vec<NewRoute>, now_ps: u64) -> impl Iterator<Item = u64> {
        let first_ps = self.free_ps.max(now_ps);
        let (count, route_ps) = (changes.len() as u64, self.route_ps);
        let done_ps = (1..=count).map(move |place| first_ps + place * route_ps);
        self.waiting.extend(done_ps.clone().zip(changes));
        self.free_ps = first_ps + count * route_ps;
        done_ps
    }

    /// Takes the changes out that are done.
    fn done(&mut self, now_ps: u64) -> Vec<NewRoute> {
        let count = self.waiting.partition_point(|(at_ps, _)| *at_ps <= now_ps);
        self.waiting.drain(..count).map(|(_, change)| change).collect()
    }
}

/// Events of the sessions since power-on.
#[derive(Default)]
pub struct Counters {
    pub sessions_up: u64,
    pub sessions_lost: u64,
    pub routes_refused: u64,
}

/// The next hops of a prefix have changed; without any the route is gone.
pub struct NewRoute {
    pub prefix: Prefix,
    pub via: Vec<Key>,
}

/// Requests of the sessions to the router.
#[derive(Default)]
pub struct Work {
    /// Frames to send, by port.
    pub frames: Vec<(usize, Vec<u8>)>,
    pub routes: Vec<NewRoute>,
    /// When to call again, by port, in ps.
    pub timers: Vec<(usize, u64)>,
}

impl Bgp {
    /// Checks a configuration. `neighbour` finds the port at which an address is a neighbour.
    pub fn new(
        config: &BgpConfig,
        place: &Place,
        interfaces: &[Interface],
        neighbour: impl Fn(&Place, &str) -> Result<Key, ConfigError>,
    ) -> Result<Bgp, ConfigError> {
        let Ok(router_id) = config.router_id.parse::<Ipv4Addr>() else {
            let problem = format!("is '{}'", config.router_id);
            return Err(place.key("router_id").invalid(problem, "an IPv4 address"));
        };
        let mut by_port: BTreeMap<usize, Vec<(usize, NeighbourSettings)>> = BTreeMap::new();
        for (index, it) in config.neighbours.iter().enumerate() {
            let place = place.key("neighbours").index(index);
            let (port, address) = neighbour(&place.key("address"), &it.address)?;
            let addresses = host_addresses(&interfaces[port]);
            let settings = NeighbourSettings {
                address,
                neighbour_as: it.neighbour_as,
                own_as: config.own_as,
                router_id,
                hold_time_s: config.hold_time_s.get() as u16,
                families: Families { ipv4: addresses.ipv4.is_some(), ipv6: addresses.ipv6.is_some() },
                passive: true,
                connect_retry_s: 1,
                multihop: None,
                restart: None,
                bfd: it.bfd.map(|bfd| BfdSettings {
                    interval_us: bfd.interval_ms.get() as u32 * 1_000,
                    multiplier: bfd.multiplier.get() as u8,
                }),
            };
            by_port.entry(port).or_default().push((index, settings));
        }
        let mut sessions = Vec::new();
        for (port, neighbours) in by_port {
            let addresses = host_addresses(&interfaces[port]);
            let (numbers, settings): (Vec<usize>, Vec<NeighbourSettings>) = neighbours.into_iter().unzip();
            let speaker = Speaker::new(&addresses, &settings, seed(port), 0).map_err(|refused| {
                let neighbour = place.key("neighbours").index(numbers[refused.neighbour]);
                let place = match refused.field {
                    "own_as" => place.key("as"),
                    "hold_time_s" | "router_id" => place.key(refused.field),
                    "neighbour_as" => neighbour.key("as"),
                    field => neighbour.key(field),
                };
                place.invalid(refused.problem, refused.valid)
            })?;
            sessions.push(PortSessions { port, addresses, settings, speaker, armed_ns: None });
        }
        Ok(Bgp {
            sessions,
            paths: BTreeMap::new(),
            routes: [0; 2],
            max_routes: [config.max_ipv4_routes.get(), config.max_ipv6_routes.get()],
            refused: Default::default(),
            processor: Processor {
                route_ps: config.route_time_ns.ps(),
                free_ps: 0,
                waiting: VecDeque::new(),
            },
            advertise: config.advertise,
            counters: Counters::default(),
        })
    }

    /// Routes in use.
    pub fn routes(&self) -> u64 {
        self.routes.iter().sum()
    }

    /// Networks that did not fit since the last call, by IP version, where there are any.
    pub fn take_refused_routes(&mut self) -> Vec<RefusedRoutes> {
        let networks = std::mem::take(&mut self.refused);
        let of = |((ip_version, networks), most): ((u8, &BTreeSet<IpNet>), u64)| RefusedRoutes {
            ip_version,
            networks: networks.len() as u64,
            most,
        };
        let families = [4, 6].into_iter().zip(&networks).zip(self.max_routes);
        families.map(of).filter(|it| it.networks > 0).collect()
    }

    /// Takes a frame for the router itself, or an answer about a neighbour's MAC.
    pub fn on_frame(&mut self, port: usize, frame: &[u8], now_ps: u64) -> Work {
        let now_ns = now_ps / PS_PER_NS;
        let Some(session) = self.session_at(port) else {
            return Work::default();
        };
        self.sessions[session].speaker.on_frame(frame, now_ns);
        self.work(session..session + 1, now_ns)
    }

    /// Handles the timers of a port that are due, and the routes that the processor is done with.
    pub fn on_time(&mut self, port: usize, now_ps: u64) -> Work {
        let now_ns = now_ps / PS_PER_NS;
        let Some(session) = self.session_at(port) else {
            return Work::default();
        };
        let done = self.processor.done(now_ps);
        let it = &mut self.sessions[session];
        it.armed_ns = it.armed_ns.filter(|at| *at > now_ns);
        if it.speaker.next_event(now_ns).is_some_and(|at| at <= now_ns) {
            it.speaker.on_time(now_ns);
        }
        let mut work = self.work(session..session + 1, now_ns);
        work.routes.splice(..0, done);
        work
    }

    /// Begins.
    pub fn start(&mut self, now_ps: u64) -> Work {
        self.work(0..self.sessions.len(), now_ps / PS_PER_NS)
    }

    /// The place of the sessions of a port, which are in the order of the ports.
    fn session_at(&self, port: usize) -> Option<usize> {
        self.sessions.binary_search_by_key(&port, |it| it.port).ok()
    }

    /// Forgets everything, as a new start of the device does.
    pub fn reset(&mut self, now_ps: u64) -> Work {
        let now_ns = now_ps / PS_PER_NS;
        self.routes = [0; 2];
        self.processor.waiting.clear();
        self.processor.free_ps = now_ps;
        let known: Vec<IpNet> = std::mem::take(&mut self.paths).into_keys().collect();
        for it in &mut self.sessions {
            // Everything was checked when the router was made.
            if let Ok(speaker) = Speaker::new(&it.addresses, &it.settings, seed(it.port) ^ now_ns, now_ns) {
                it.speaker = speaker;
            }
            it.armed_ns = None;
        }
        let mut work = self.work(0..self.sessions.len(), now_ns);
        work.routes
            .extend(known.into_iter().map(|network| NewRoute { prefix: prefix(network), via: Vec::new() }));
        work
    }

    /// Collects the requests of the sessions that something has happened to, and of those that are told of it.
    fn work(&mut self, touched: Range<usize>, now_ns: u64) -> Work {
        let mut work = Work::default();
        let mut changed: BTreeMap<(usize, usize), Vec<RouteChange>> = BTreeMap::new();
        for session in touched.clone() {
            let it = &mut self.sessions[session];
            for Event { kind, .. } in it.speaker.events() {
                self.counters.sessions_up += u64::from(kind == EventKind::Up);
                self.counters.sessions_lost += u64::from(matches!(kind, EventKind::Down(_)));
            }
            for neighbour in 0..it.settings.len() {
                let changes = it.speaker.route_changes(neighbour);
                if !changes.is_empty() {
                    changed.insert((session, neighbour), changes);
                }
            }
        }
        let changed_routes = !changed.is_empty();
        for ((session, neighbour), changes) in changed {
            let it = &self.sessions[session];
            let key = (it.port, it.settings[neighbour].address);
            for change in &changes {
                work.routes.extend(self.learn(key, change));
            }
            if self.advertise {
                self.tell_others((session, neighbour), &changes, now_ns);
            }
        }
        if self.processor.route_ps > 0 {
            let done_ps = self.processor.take(std::mem::take(&mut work.routes), now_ns * PS_PER_NS);
            // Timers of any session do.
            work.timers.extend(done_ps.map(|at_ps| (self.sessions[0].port, at_ps)));
        }
        let told = if changed_routes && self.advertise { 0..self.sessions.len() } else { touched };
        for it in &mut self.sessions[told] {
            work.frames.extend(it.speaker.frames().into_iter().map(|frame| (it.port, frame)));
            if let Some(next_ns) = it.speaker.next_event(now_ns) {
                if it.armed_ns.is_none_or(|armed| next_ns < armed) {
                    it.armed_ns = Some(next_ns);
                    work.timers.push((it.port, next_ns * PS_PER_NS));
                }
            }
        }
        work
    }

    /// Takes a change of one neighbour's routes; returns the route when its next hops have changed.
    fn learn(&mut self, from: Key, change: &RouteChange) -> Option<NewRoute> {
        let network = change.network;
        let before = best(self.paths.get(&network));
        let was_there = !before.is_empty();
        let reached = change.attributes.as_ref().and_then(|it| Some((it.next_hop?, it)));
        if reached.is_some() && !was_there && self.routes[family(network)] >= self.max_routes[family(network)]
        {
            self.counters.routes_refused += 1;
            self.refused[family(network)].insert(network);
            return None;
        }
        let paths = self.paths.entry(network).or_default();
        paths.retain(|it| it.from != from);
        if let Some((hop, attributes)) = reached {
            paths.push(Path { from, via: (from.0, hop), as_path: attributes.path().collect() });
        }
        let is_there = !paths.is_empty();
        if !is_there {
            self.paths.remove(&network);
        }
        let count = &mut self.routes[family(network)];
        *count = *count + u64::from(is_there) - u64::from(was_there);
        let after = best(self.paths.get(&network));
        (before != after).then(|| NewRoute { prefix: prefix(network), via: after })
    }

    /// Tells all other neighbours of routes that have come or gone.
    fn tell_others(&mut self, source: (usize, usize), changes: &[RouteChange], now_ns: u64) {
        let mut reached: BTreeMap<Arc<[u32]>, Vec<IpNet>> = BTreeMap::new();
        let mut gone = Vec::new();
        for change in changes {
            match self.paths.get(&change.network).and_then(|it| it.iter().min_by_key(|it| it.as_path.len())) {
                Some(path) => reached.entry(path.as_path.clone()).or_default().push(change.network),
                None => gone.push(change.network),
            }
        }
        for (session, it) in self.sessions.iter_mut().enumerate() {
            for neighbour in (0..it.settings.len()).filter(|neighbour| (session, *neighbour) != source) {
                for (path, networks) in &reached {
                    let announcement = Announcement::new(networks.clone(), path);
                    it.speaker.announce(neighbour, &announcement, now_ns);
                }
                if !gone.is_empty() {
                    it.speaker.withdraw(neighbour, &gone, now_ns);
                }
            }
        }
    }
}

/// The next hops of the shortest AS paths (RFC 4271 section 9.1.2.2 a); all of them share the load.
fn best(paths: Option<&Vec<Path>>) -> Vec<Key> {
    let paths = paths.map_or(&[][..], Vec::as_slice);
    let shortest = paths.iter().map(|it| it.as_path.len()).min();
    let chosen = paths.iter().filter(|it| Some(it.as_path.len()) == shortest);
    let mut via: Vec<Key> = chosen.map(|it| it.via).collect();
    via.sort_unstable();
    via.dedup();
    via
}

fn family(network: IpNet) -> usize {
    usize::from(network.addr().is_ipv6())
}

fn prefix(network: IpNet) -> Prefix {
    Prefix { address: network.addr(), bits: network.prefix_len() }
}

fn host_addresses(interface: &Interface) -> HostAddresses {
    let mut found = HostAddresses { mac: interface.mac, ipv4: None, ipv6: None };
    for network in interface.networks.iter().rev() {
        let prefix_bits = network.bits;
        match network.address {
            IpAddr::V4(address) => found.ipv4 = Some(Ipv4Interface { address, prefix_bits }),
            IpAddr::V6(address) => found.ipv6 = Some(Ipv6Interface { address, prefix_bits }),
        }
    }
    found
}

fn seed(port: usize) -> u64 {
    0x7034_6d65_7368 ^ port as u64
}
