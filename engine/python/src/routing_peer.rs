//! A host that speaks BGP and BFD, for the ports of a tester.

use std::net::IpAddr;

use ipnet::IpNet;
use p4mesh_peers::bgp::{
    Announcement, Attributes, Counts, Families, GracefulRestart, Origin, Segment, State,
};
use p4mesh_peers::{
    BfdSettings, EventKind, HostAddresses, Ipv4Interface, Ipv6Interface, Multihop, NeighbourSettings, Speaker,
};
use pyo3::prelude::*;

use crate::error::refused;

/// One host with sessions; it acts when it is given a frame or the time.
#[pyclass(module = "p4mesh._engine")]
pub struct RoutingPeer {
    speaker: Speaker,
    sessions: usize,
}

/// An address with the length of its network's prefix.
#[derive(FromPyObject)]
struct Interface {
    address: IpAddr,
    prefix_bits: u8,
}

/// Keys of a session, as in `NeighbourSettings`.
#[derive(FromPyObject)]
struct Session {
    address: IpAddr,
    neighbour_as: Option<u32>,
    own_as: u32,
    router_id: IpAddr,
    hold_time_s: u16,
    passive: bool,
    connect_retry_s: u16,
    bfd_interval_us: Option<u32>,
    bfd_multiplier: u8,
    /// Own address of a session with a neighbour that is not on the wire, and the router to it.
    multihop: Option<(IpAddr, IpAddr)>,
    /// Routes of both families, of whatever version the host's addresses are.
    both_families: bool,
    /// Time to come back in, in seconds, and whether after NOTIFICATIONs, too, where restarts are graceful.
    graceful_restart: Option<(u16, bool)>,
}

/// Attributes of routes. In an announcement `as_path` is the whole path; without it the path is the own AS.
#[derive(FromPyObject)]
struct Announced {
    origin: String,
    as_path: Option<Vec<(bool, Vec<u32>)>>,
    next_hop: Option<IpAddr>,
    metric: Option<u32>,
    local_preference: Option<u32>,
    communities: Vec<u32>,
    extended_communities: Vec<[u8; 8]>,
}

/// A route of the neighbour.
#[derive(IntoPyObject)]
struct Route {
    network: String,
    origin: &'static str,
    as_path: Vec<(bool, Vec<u32>)>,
    next_hop: Option<IpAddr>,
    metric: Option<u32>,
    local_preference: Option<u32>,
    communities: Vec<u32>,
    extended_communities: Vec<[u8; 8]>,
}

/// Messages of one direction.
#[derive(IntoPyObject)]
struct Counted {
    opens: u64,
    updates: u64,
    keepalives: u64,
    notifications: u64,
    route_withdraws: u64,
    ends_of_routes: u64,
}

impl From<Counts> for Counted {
    fn from(it: Counts) -> Counted {
        let Counts { opens, updates, keepalives, notifications, withdrawn, ends_of_routes } = it;
        Counted { opens, updates, keepalives, notifications, route_withdraws: withdrawn, ends_of_routes }
    }
}

#[pymethods]
impl RoutingPeer {
    #[new]
    fn new(
        mac: [u8; 6],
        interfaces: Vec<Interface>,
        sessions: Vec<Session>,
        seed: u64,
        now_ns: u64,
    ) -> PyResult<RoutingPeer> {
        let mut addresses = HostAddresses { mac, ipv4: None, ipv6: None };
        for Interface { address, prefix_bits } in interfaces {
            match address {
                IpAddr::V4(address) => addresses.ipv4 = Some(Ipv4Interface { address, prefix_bits }),
                IpAddr::V6(address) => addresses.ipv6 = Some(Ipv6Interface { address, prefix_bits }),
            }
        }
        let families = Families { ipv4: addresses.ipv4.is_some(), ipv6: addresses.ipv6.is_some() };
        let neighbours = sessions.into_iter().map(|it| {
            let IpAddr::V4(router_id) = it.router_id else {
                return Err(refused(format!("router_id: {} is no IPv4 address", it.router_id)));
            };
            Ok(NeighbourSettings {
                address: it.address,
                neighbour_as: it.neighbour_as,
                own_as: it.own_as,
                router_id,
                hold_time_s: it.hold_time_s,
                families: if it.both_families { Families { ipv4: true, ipv6: true } } else { families },
                passive: it.passive,
                connect_retry_s: it.connect_retry_s,
                bfd: it
                    .bfd_interval_us
                    .map(|interval_us| BfdSettings { interval_us, multiplier: it.bfd_multiplier }),
                multihop: it.multihop.map(|(source, gateway)| Multihop { source, gateway }),
                restart: it
                    .graceful_restart
                    .map(|(time_s, notifications)| GracefulRestart { time_s, notifications }),
            })
        });
        let neighbours: Vec<NeighbourSettings> = neighbours.collect::<PyResult<_>>()?;
        let speaker = Speaker::new(&addresses, &neighbours, seed, now_ns).map_err(refused)?;
        Ok(RoutingPeer { speaker, sessions: neighbours.len() })
    }

    fn on_frame(&mut self, frame: &[u8], now_ns: u64) {
        self.speaker.on_frame(frame, now_ns);
    }

    fn on_time(&mut self, now_ns: u64) {
        self.speaker.on_time(now_ns);
    }

    fn next_event(&mut self, now_ns: u64) -> Option<u64> {
        self.speaker.next_event(now_ns)
    }

    fn take_frames(&mut self) -> Vec<Vec<u8>> {
        self.speaker.frames()
    }

    /// Events since the last call: (session, time in ns, event, reason).
    fn take_events(&mut self) -> Vec<(usize, u64, &'static str, Option<String>)> {
        let named = |kind| match kind {
            EventKind::Up => ("up", None),
            EventKind::Down(reason) => ("down", Some(reason)),
            EventKind::Announced => ("announced", None),
            EventKind::BfdUp => ("bfd_up", None),
            EventKind::BfdDown(reason) => ("bfd_down", Some(reason)),
        };
        // Routes are read from the table: nobody asks for their changes.
        for session in 0..self.sessions {
            self.speaker.route_changes(session);
        }
        let events = self.speaker.events().into_iter();
        events
            .map(|it| {
                let (name, why) = named(it.kind);
                (it.neighbour, it.at, name, why)
            })
            .collect()
    }

    fn is_up(&self, session: usize) -> bool {
        self.speaker.is_up(session)
    }

    fn state(&self, session: usize) -> &'static str {
        match self.speaker.state(session) {
            State::Idle => "idle",
            State::Connect => "connect",
            State::Active => "active",
            State::OpenSent => "opensent",
            State::OpenConfirm => "openconfirm",
            State::Established => "established",
        }
    }

    fn counts(&self, session: usize) -> (Counted, Counted) {
        let (sent, received) = self.speaker.counts(session);
        (sent.into(), received.into())
    }

    fn learned(&self, session: usize) -> usize {
        self.speaker.learned(session)
    }

    fn received(&self, session: usize) -> usize {
        self.speaker.received(session)
    }

    /// Routes of the neighbour behind a network, or from the first one on; at most `count`.
    fn routes(&self, session: usize, behind: Option<String>, count: usize) -> PyResult<Vec<Route>> {
        let behind = behind.map(|text| network(&text)).transpose()?;
        Ok(self.speaker.routes(session, behind).take(count).map(|(network, it)| route(network, it)).collect())
    }

    #[pyo3(signature = (session, networks, now_ns, attributes=None))]
    fn announce(
        &mut self,
        session: usize,
        networks: Vec<String>,
        now_ns: u64,
        attributes: Option<Announced>,
    ) -> PyResult<()> {
        let mut announcement = Announcement::new(parse(&networks)?, &[]);
        if let Some(given) = attributes {
            announcement.whole_path = given.as_path.is_some();
            announcement.attributes = attributes_of(given)?.into();
        }
        self.speaker.announce(session, &announcement, now_ns);
        Ok(())
    }

    fn withdraw(&mut self, session: usize, networks: Vec<String>, now_ns: u64) -> PyResult<()> {
        self.speaker.withdraw(session, &parse(&networks)?, now_ns);
        Ok(())
    }

    fn stop(&mut self, session: usize, now_ns: u64) {
        self.speaker.stop(session, now_ns);
    }

    fn start(&mut self, session: usize, now_ns: u64) {
        self.speaker.start(session, now_ns);
    }

    fn notify(&mut self, session: usize, notification: (u8, u8), close_after_ns: u64, now_ns: u64) -> bool {
        self.speaker.notify(session, notification, close_after_ns, now_ns)
    }

    fn restart(&mut self, session: usize, notification: Option<(u8, u8)>, away_ns: u64, now_ns: u64) -> bool {
        self.speaker.restart(session, notification, away_ns, now_ns)
    }
}

fn attributes_of(given: Announced) -> PyResult<Attributes> {
    let origin = match given.origin.as_str() {
        "igp" => Origin::Igp,
        "egp" => Origin::Egp,
        "incomplete" => Origin::Incomplete,
        other => return Err(refused(format!("origin: '{other}'; valid: igp, egp, incomplete"))),
    };
    let path = given.as_path.unwrap_or_default().into_iter();
    Ok(Attributes {
        origin,
        as_path: path.map(|(is_set, as_numbers)| Segment { is_set, as_numbers }).collect(),
        next_hop: given.next_hop,
        metric: given.metric,
        local_preference: given.local_preference,
        communities: given.communities,
        extended_communities: given.extended_communities,
    })
}

fn route(network: IpNet, it: &Attributes) -> Route {
    Route {
        network: network.to_string(),
        origin: match it.origin {
            Origin::Igp => "igp",
            Origin::Egp => "egp",
            Origin::Incomplete => "incomplete",
        },
        as_path: it.as_path.iter().map(|it| (it.is_set, it.as_numbers.clone())).collect(),
        next_hop: it.next_hop,
        metric: it.metric,
        local_preference: it.local_preference,
        communities: it.communities.clone(),
        extended_communities: it.extended_communities.clone(),
    }
}

fn network(text: &String) -> PyResult<IpNet> {
    text.parse().map_err(|_| refused(format!("'{text}' is no network")))
}

fn parse(networks: &[String]) -> PyResult<Vec<IpNet>> {
    networks.iter().map(network).collect()
}
