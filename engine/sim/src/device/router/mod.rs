//! An IPv4 and IPv6 router: longest prefix match, equal-cost paths by a hash of the flow, hop
//! limits, and neighbours that it asks for by ARP and neighbour discovery. Store and forward. On request
//! it learns routes by BGP, with BFD beside it, routes multicast, and answers SNMP questions for the time since its
//! start.
//!
//! Not modelled: fragmentation, ICMP errors, VLAN tags.

mod bgp;
mod config;
mod management;
mod multicast;
mod neighbours;
mod packets;
mod routes;
mod texts;

use std::any::Any;
use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};

use p4mesh_peers::resolution::write_question;
use p4mesh_pipeline::Frame;
use p4mesh_wire::ethernet::{self, Mac};

use self::bgp::{Bgp, Work};
use self::multicast::{Decision, Multicast, Surroundings};
use self::neighbours::{Held, Key, Neighbours};
use self::packets::{Header, Packet, Resolution};
use self::routes::{Prefix, Route, Routes};
use super::chassis::Chassis;
use super::input_queue::Ready;
use super::lookup::Lookup;
use super::{Device, DevicePorts, RefusedRoutes};
use crate::arrival::Arrival;
use crate::drops::DropCause;
use crate::fabric::ArrivalRule;
use crate::line::wire_bytes;
use crate::rng::Rng;

pub use self::config::RouterConfig;

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

    fn ipv4(&self) -> Option<Ipv4Addr> {
        self.networks.iter().find_map(|it| match it.address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        })
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
    /// Copies of multicast packets.
    replicated: u64,
}

/// The model.
pub struct Router {
    latency_ps: u64,
    /// By local port; without addresses where the configuration gives no address.
    interfaces: Vec<Interface>,
    /// Addresses of all interfaces.
    own: HashSet<IpAddr>,
    routes: Routes,
    bgp: Option<Bgp>,
    multicast: Option<Multicast>,
    static_neighbours: BTreeMap<Key, Mac>,
    neighbours: Neighbours,
    lookup: Option<Lookup>,
    chassis: Option<Chassis>,
    snmp_community: Option<String>,
    /// When the device started, for `sysUpTime`.
    started_ps: u64,
    counters: Counters,
}

impl Router {
    /// Reason why a frame ends at the input, if it does.
    fn refuse(&mut self, port: usize, arrival: &Arrival, now_ps: u64) -> Option<DropCause> {
        if arrival.fcs.is_bad() {
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
                // It has waited longer than any way through the device takes.
                self.send(port, port, mac, packet, ports);
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
        if self.own.contains(&header.destination) {
            self.counters.to_itself += 1;
            return self.manage(input, frame, header, ports);
        }
        if header.destination.is_multicast() && self.multicast.is_some() {
            return self.route_group(input, frame, header, ports);
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

    /// Takes a message about groups, or sends copies of a packet to those who have joined.
    fn route_group(&mut self, input: usize, frame: Frame, header: Header, ports: &mut DevicePorts) {
        let now_ps = ports.now_ps();
        let around = Surroundings { interfaces: &self.interfaces, routes: &self.routes, now_ps };
        let Some(multicast) = &mut self.multicast else {
            return ports.give(frame);
        };
        if let Some(work) = multicast.on_frame(input, &frame, &around) {
            ports.give(frame);
            return Router::send_own(work, ports);
        }
        if is_local(header.destination) {
            return ports.drop(input, DropCause::NotRouted, frame);
        }
        if header.hops <= 1 {
            return ports.drop(input, DropCause::TtlExpired, frame);
        }
        match multicast.decide(input, &frame, header.source, header.destination, &around) {
            Decision::ReversePath => ports.drop(input, DropCause::ReversePath, frame),
            Decision::NoMembers => ports.drop(input, DropCause::NoMembers, frame),
            Decision::Ports(outputs) => {
                let to = ethernet::destination(&frame);
                for output in outputs.into_iter().filter(|&it| ports.link_up(it)).collect::<Vec<_>>() {
                    let mut copy = ports.copy(&frame);
                    packets::forward(&mut copy, self.interfaces[output].mac, to);
                    self.counters.replicated += 1;
                    self.cross(input, output, copy, ports);
                }
                ports.give(frame);
            }
        }
    }

    /// Sends what the router itself has to say about groups.
    fn send_own(work: multicast::Work, ports: &mut DevicePorts) {
        let now_ps = ports.now_ps();
        for (port, bytes) in work.frames {
            let frame = ports.copy(&bytes);
            ports.enqueue(port, frame, now_ps);
        }
        if let Some(at_ps) = work.again_ps {
            ports.set_timer(0, at_ps);
        }
    }

    /// Lets multicast do something.
    fn tend_groups(
        &mut self,
        ports: &mut DevicePorts,
        act: impl FnOnce(&mut Multicast, &Surroundings) -> multicast::Work,
    ) {
        let around =
            Surroundings { interfaces: &self.interfaces, routes: &self.routes, now_ps: ports.now_ps() };
        if let Some(multicast) = &mut self.multicast {
            Router::send_own(act(multicast, &around), ports);
        }
    }

    /// Carries out the requests of BGP.
    fn obey(&mut self, work: Work, ports: &mut DevicePorts) {
        for route in work.routes {
            self.routes.learn(route.prefix, route.via);
        }
        for (port, mut bytes) in work.frames {
            ethernet::pad(&mut bytes);
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
            return self.send(input, next.0, mac, frame, ports);
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

    fn send(&mut self, input: usize, output: usize, to: Mac, mut frame: Frame, ports: &mut DevicePorts) {
        self.counters.routed += 1;
        packets::forward(&mut frame, self.interfaces[output].mac, to);
        self.cross(input, output, frame, ports);
    }

    /// Over the fabric between modules, where there is one, into the queue of the output.
    fn cross(&mut self, input: usize, output: usize, frame: Frame, ports: &mut DevicePorts) {
        let ready_ps = ports.now_ps();
        let Some(chassis) = &mut self.chassis else {
            ports.enqueue(output, frame, ready_ps);
            return;
        };
        let ready = Ready { output, ready_ps, bad_fcs: false, wire_bytes: wire_bytes(&frame), frame };
        if let Some(ready) = chassis.carry(input, ready, ports) {
            ports.enqueue(output, ready.frame, ready.ready_ps);
        }
    }

    /// Asks a neighbour for its MAC, and again later.
    fn ask(&mut self, (port, address): Key, ports: &mut DevicePorts) {
        let interface = &self.interfaces[port];
        let Some(own) = interface.address_towards(address) else {
            return;
        };
        self.counters.asked += 1;
        let mut frame = ports.take();
        write_question(&mut frame, (own, interface.mac), address);
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

    fn receive(&mut self, port: usize, arrival: &mut Arrival, ports: &mut DevicePorts) {
        if let Some(cause) = self.refuse(port, arrival, ports.now_ps()) {
            return ports.drop(port, cause, arrival.take_frame());
        }
        match packets::read(&arrival.frame) {
            Err(cause) => ports.drop(port, cause, arrival.take_frame()),
            Ok(Packet::Resolution(message)) => {
                // The router answers for itself; its BGP listens to answers only.
                if let Some(bgp) = self.bgp.as_mut().filter(|_| message.asked.is_none()) {
                    let work = bgp.on_frame(port, &arrival.frame, ports.now_ps());
                    self.obey(work, ports);
                }
                ports.give(arrival.take_frame());
                self.resolve(port, message, ports);
            }
            Ok(Packet::Ip(header)) => self.route(port, arrival.take_frame(), header, ports),
        }
    }

    fn timer(&mut self, port: usize, ports: &mut DevicePorts) {
        if let Some(chassis) = &mut self.chassis {
            if chassis.is_due(port, ports.now_ps()) {
                while let Some((_, ready)) = chassis.next(port, ports) {
                    ports.enqueue(port, ready.frame, ready.ready_ps);
                }
                return;
            }
        }
        let (ask, gone) = self.neighbours.due(ports.now_ps());
        for key in ask {
            self.ask(key, ports);
        }
        Router::give_up(gone, DropCause::NoNeighbour, ports);
        if let Some(bgp) = &mut self.bgp {
            let work = bgp.on_time(port, ports.now_ps());
            self.obey(work, ports);
        }
        self.tend_groups(ports, Multicast::on_time);
    }

    /// Lets BGP, and questions about groups, begin.
    fn start(&mut self, ports: &mut DevicePorts) {
        if let Some(bgp) = &mut self.bgp {
            let work = bgp.start(ports.now_ps());
            self.obey(work, ports);
        }
        if self.multicast.is_some() {
            // Frames that are sent now would be lost: the cables are not yet connected.
            ports.set_timer(0, ports.now_ps());
        }
    }

    fn link_changed(&mut self, port: usize, up: bool, ports: &mut DevicePorts) {
        if !up {
            let gone = self.neighbours.forget(|it| it == port);
            Router::give_up(gone, DropCause::LinkDown, ports);
            self.tend_groups(ports, |multicast, around| multicast.forget_port(port, around));
        }
    }

    fn reseed(&mut self, seed: u64, name: &str) {
        if let Some(chassis) = &mut self.chassis {
            chassis.reseed(Rng::for_part(seed, name));
        }
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
        if let Some(chassis) = &mut self.chassis {
            chassis.reset(ports);
        }
        if let Some(bgp) = &mut self.bgp {
            let work = bgp.reset(ports.now_ps());
            self.obey(work, ports);
        }
        self.tend_groups(ports, Multicast::reset);
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
        if let Some(multicast) = &self.multicast {
            counters.insert("replicated", self.counters.replicated);
            counters.extend(multicast.counters());
        }
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

    fn take_refused_routes(&mut self) -> Vec<RefusedRoutes> {
        self.bgp.as_mut().map_or_else(Vec::new, Bgp::take_refused_routes)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// Groups of one network, which no router forwards (RFC 5771 4, RFC 4291 2.7).
fn is_local(group: IpAddr) -> bool {
    match group {
        IpAddr::V4(group) => group.octets()[..3] == [224, 0, 0],
        IpAddr::V6(group) => group.octets()[1] & 0xf <= 2,
    }
}
