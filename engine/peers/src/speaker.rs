//! A host that speaks BGP, and BFD where asked, with neighbours on its wire.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use netgauze_bgp_pkt::notification::CeaseError;
use thiserror::Error;

use crate::bgp::{
    self, Announcement, Attributes, Counts, Families, GracefulRestart, RouteChange, SessionSettings, State,
    LONGEST_RESTART_S,
};
use crate::host::{Connection, Host, HostAddresses, TcpHandle, UdpHandle};
use crate::screening::{screen, Screened};
use crate::{bfd, Nanoseconds, NS_PER_S};

/// Time after which a host listens again when a connection broke.
const LISTEN_AGAIN_NS: u64 = NS_PER_S;

/// Own addresses on no wire that a host has room for.
const MAX_SOURCES: usize = 5;

/// BFD beside a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BfdSettings {
    /// Wanted in both directions.
    pub interval_us: u32,
    /// Packets in a row whose loss ends the session.
    pub multiplier: u8,
}

/// The way to a neighbour that is not on the wire (RFC 4271 section 5.1.3: "multihop").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multihop {
    /// Own address that the session is from: that on the wire, or one of the host alone. It is also the next hop of the
    /// networks that are announced.
    pub source: IpAddr,
    /// Router on the wire; all such neighbours of a family have the same one.
    pub gateway: IpAddr,
}

/// A neighbour and the session with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighbourSettings {
    pub address: IpAddr,
    /// `None` takes any AS.
    pub neighbour_as: Option<u32>,
    pub own_as: u32,
    pub router_id: Ipv4Addr,
    /// Zero, or at least 3.
    pub hold_time_s: u16,
    pub families: Families,
    /// Waits for the neighbour to connect.
    pub passive: bool,
    /// Time between attempts to connect.
    pub connect_retry_s: u16,
    pub bfd: Option<BfdSettings>,
    /// `None`: it is on the wire.
    pub multihop: Option<Multihop>,
    /// `None`: routes of a session go with it.
    pub restart: Option<GracefulRestart>,
}

/// Impossible settings.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}: {problem}; valid: {valid}")]
pub struct Refused {
    /// Number of the neighbour whose settings they are.
    pub neighbour: usize,
    pub field: &'static str,
    pub problem: String,
    pub valid: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    Up,
    /// The session is over, and why.
    Down(String),
    /// The neighbour has acknowledged everything that was announced or withdrawn.
    Announced,
    BfdUp,
    BfdDown(String),
}

/// Something that happened to the session with a neighbour, by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub neighbour: usize,
    pub at: Nanoseconds,
    pub kind: EventKind,
}

struct Neighbour {
    settings: NeighbourSettings,
    session: bgp::Session,
    connection: TcpHandle,
    connected: bool,
    /// When to close the connection of a session that is over.
    close_at: Option<Nanoseconds>,
    /// When to connect or to listen again.
    retry_at: Option<Nanoseconds>,
    /// Neither connects nor listens.
    stopped: bool,
    unsent: VecDeque<u8>,
    announcing: bool,
    /// Networks to announce to the neighbour, with the attributes of each, and whether its path is whole.
    announced: BTreeMap<IpNet, (Arc<Attributes>, bool)>,
    bfd: Option<(bfd::Session, UdpHandle)>,
}

/// A host with its sessions. It speaks only when it is given a frame or the time.
pub struct Speaker {
    host: Host,
    neighbours: Vec<Neighbour>,
    bfd_port: Option<UdpHandle>,
    events: Vec<Event>,
}

impl Speaker {
    /// Begins to connect. `seed` decides all numbers that are drawn.
    pub fn new(
        addresses: &HostAddresses,
        neighbours: &[NeighbourSettings],
        seed: u64,
        now: Nanoseconds,
    ) -> Result<Speaker, Refused> {
        check(addresses, neighbours)?;
        let mut host = Host::new(addresses, seed, now);
        for multihop in neighbours.iter().filter_map(|it| it.multihop) {
            host.add_way(multihop.source, multihop.gateway);
        }
        let bfd_port = neighbours.iter().any(|it| it.bfd.is_some()).then(|| host.add_udp(Some(bfd::PORT)));
        let next_hops = [IpAddr::from([0; 4]), IpAddr::from([0; 16])].map(|it| addresses.towards(it));
        let next_hops: Vec<IpAddr> = next_hops.into_iter().flatten().collect();
        let sessions = neighbours.iter().zip(1u32..).map(|(settings, number)| Neighbour {
            settings: settings.clone(),
            session: bgp::Session::new(SessionSettings {
                own_as: settings.own_as,
                router_id: settings.router_id,
                neighbour_as: settings.neighbour_as,
                hold_time_s: settings.hold_time_s,
                families: settings.families,
                restart: settings.restart,
                next_hops: settings.multihop.iter().map(|it| it.source).chain(next_hops.clone()).collect(),
            }),
            connection: host.add_tcp(),
            connected: false,
            close_at: None,
            retry_at: Some(now),
            stopped: false,
            unsent: VecDeque::new(),
            announcing: false,
            announced: BTreeMap::new(),
            bfd: settings.bfd.map(|bfd| {
                let session = bfd::Session::new(bfd.interval_us, bfd.multiplier, number, now);
                (session, host.add_udp(None))
            }),
        });
        let neighbours = sessions.collect();
        let mut speaker = Speaker { host, neighbours, bfd_port, events: Vec::new() };
        speaker.work(now);
        Ok(speaker)
    }

    /// Takes a frame from the wire, from the destination address on, without FCS.
    pub fn on_frame(&mut self, frame: &[u8], now: Nanoseconds) {
        match screen(frame) {
            Screened::Taken => self.host.take_frame(frame),
            Screened::Distant => {}
            Screened::Signed(from) => self.tell_signed(from, now),
        }
        self.work(now);
    }

    /// Says why there can be no session with a neighbour that signs its segments.
    fn tell_signed(&mut self, from: IpAddr, now: Nanoseconds) {
        if let Some(neighbour) = self.neighbours.iter().position(|it| it.settings.address == from) {
            let reason = "the neighbour signs its segments with MD5 (RFC 2385), which is not supported";
            self.events.push(Event { neighbour, at: now, kind: EventKind::Down(reason.to_string()) });
        }
    }

    /// Handles all timers that are due.
    pub fn on_time(&mut self, now: Nanoseconds) {
        for index in 0..self.neighbours.len() {
            if self.neighbours[index].session.next_event().is_some_and(|at| at <= now) {
                let outputs = self.neighbours[index].session.on_time(now);
                self.obey(index, outputs, now);
            }
            let bfd = &mut self.neighbours[index].bfd;
            let outputs = bfd.as_mut().filter(|it| it.0.next_event() <= now).map(|it| it.0.on_time(now));
            self.obey_bfd(index, outputs.unwrap_or_default(), now);
        }
        self.work(now);
    }

    /// When [`Speaker::on_time`] is to be called next.
    pub fn next_event(&mut self, now: Nanoseconds) -> Option<Nanoseconds> {
        let stack = self.host.next_event(now);
        let of_neighbours = self.neighbours.iter().flat_map(|it| {
            [it.close_at, it.retry_at, it.session.next_event(), it.bfd.as_ref().map(|bfd| bfd.0.next_event())]
        });
        of_neighbours.flatten().chain(stack).min()
    }

    /// Takes the frames that leave now.
    pub fn frames(&mut self) -> Vec<Vec<u8>> {
        self.host.leaving()
    }

    /// Takes the events since the last call.
    pub fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    pub fn is_up(&self, neighbour: usize) -> bool {
        self.neighbours[neighbour].session.is_up()
    }

    /// State of a session (RFC 4271 section 8.2.2); it is `Idle` until the next attempt to connect, too.
    pub fn state(&self, neighbour: usize) -> State {
        let it = &self.neighbours[neighbour];
        match (it.session.state(), self.host.connection(it.connection)) {
            (State::Idle, Connection::Opening) if it.settings.passive => State::Active,
            (State::Idle, Connection::Opening) => State::Connect,
            (state, _) => state,
        }
    }

    /// Messages that a session has sent to the neighbour, and those that came from it.
    pub fn counts(&self, neighbour: usize) -> (Counts, Counts) {
        self.neighbours[neighbour].session.counts()
    }

    /// Number of the neighbour's routes that are in use.
    pub fn learned(&self, neighbour: usize) -> usize {
        self.neighbours[neighbour].session.learned().len()
    }

    /// Number of the neighbour's routes, with those that have the own AS in their path and are not used.
    pub fn received(&self, neighbour: usize) -> usize {
        self.neighbours[neighbour].session.learned().received()
    }

    /// The neighbour's routes behind a network in their order, from the first one on without any; those that are not used
    /// are among them.
    pub fn routes(
        &self,
        neighbour: usize,
        behind: Option<IpNet>,
    ) -> impl Iterator<Item = (IpNet, &Attributes)> + '_ {
        self.neighbours[neighbour].session.learned().after(behind)
    }

    /// Takes the routes that the neighbour has announced or withdrawn.
    pub fn route_changes(&mut self, neighbour: usize) -> Vec<RouteChange> {
        self.neighbours[neighbour].session.take_changes()
    }

    /// Announces networks, now or as soon as the session is up, and again after each time that it was down.
    pub fn announce(&mut self, neighbour: usize, announcement: &Announcement, now: Nanoseconds) {
        let it = &mut self.neighbours[neighbour];
        let given = (announcement.attributes.clone(), announcement.whole_path);
        it.announced.extend(announcement.networks.iter().map(|network| (network.trunc(), given.clone())));
        let bytes = it.session.announce(announcement);
        self.say(neighbour, bytes, now);
    }

    /// Withdraws networks that were announced; others are ignored.
    pub fn withdraw(&mut self, neighbour: usize, networks: &[IpNet], now: Nanoseconds) {
        let it = &mut self.neighbours[neighbour];
        let known: Vec<IpNet> = networks
            .iter()
            .map(IpNet::trunc)
            .filter(|network| it.announced.remove(network).is_some())
            .collect();
        let bytes = it.session.withdraw(&known);
        self.say(neighbour, bytes, now);
    }

    /// Ends the session, says so to the neighbour, and neither connects nor listens until [`Speaker::start`].
    pub fn stop(&mut self, neighbour: usize, now: Nanoseconds) {
        let cease = CeaseError::AdministrativeShutdown { value: [].into() };
        let outputs = self.neighbours[neighbour].session.stop(now, cease, "stopped");
        self.obey(neighbour, outputs, now);
        let it = &mut self.neighbours[neighbour];
        (it.stopped, it.retry_at) = (true, None);
        if it.close_at.take().is_some() {
            self.hang_up(neighbour, now);
        } else if self.host.connection(it.connection) == Connection::Opening {
            self.host.abort(it.connection);
        }
        self.work(now);
    }

    /// Connects, or listens, again after [`Speaker::stop`].
    pub fn start(&mut self, neighbour: usize, now: Nanoseconds) {
        let it = &mut self.neighbours[neighbour];
        if std::mem::take(&mut it.stopped) {
            it.retry_at = Some(now);
            self.work(now);
        }
    }

    /// Ends a session with a NOTIFICATION of any code and subcode; its connection closes after a while. Both sides go on
    /// as after any NOTIFICATION: they connect again. Returns false if the session is not up.
    pub fn notify(
        &mut self,
        neighbour: usize,
        notification: (u8, u8),
        close_after_ns: Nanoseconds,
        now: Nanoseconds,
    ) -> bool {
        let it = &mut self.neighbours[neighbour];
        if !it.session.is_up() {
            return false;
        }
        it.close_at = (close_after_ns > 0).then(|| now + close_after_ns);
        let outputs = it.session.notify(notification, now);
        self.obey(neighbour, outputs, now);
        self.work(now);
        true
    }

    /// Restarts gracefully (RFC 4724): ends a session, with a NOTIFICATION or without, is away for a while, and says that
    /// it was when it comes back. Returns false if the session is not up.
    pub fn restart(
        &mut self,
        neighbour: usize,
        notification: Option<(u8, u8)>,
        away_ns: Nanoseconds,
        now: Nanoseconds,
    ) -> bool {
        let it = &mut self.neighbours[neighbour];
        if !it.session.is_up() {
            return false;
        }
        let outputs = it.session.restart(notification, now);
        self.obey(neighbour, outputs, now);
        self.neighbours[neighbour].retry_at = Some(now + away_ns);
        self.work(now);
        true
    }

    fn say(&mut self, neighbour: usize, bytes: Vec<u8>, now: Nanoseconds) {
        if !bytes.is_empty() {
            self.neighbours[neighbour].unsent.extend(bytes);
            self.neighbours[neighbour].announcing = true;
            self.work(now);
        }
    }

    /// Lets the stack and the sessions work until nothing is left to do at this time.
    fn work(&mut self, now: Nanoseconds) {
        loop {
            let mut changed = self.host.poll(now);
            for index in 0..self.neighbours.len() {
                changed |= self.advance(index, now);
            }
            self.take_bfd_packets(now);
            if !changed {
                return;
            }
        }
    }

    /// Brings a session up to date with its connection. Returns true when the stack has something to do.
    fn advance(&mut self, index: usize, now: Nanoseconds) -> bool {
        let it = &mut self.neighbours[index];
        if it.close_at.is_some_and(|at| at > now) {
            return self.flush(index, now);
        }
        if it.close_at.take().is_some() {
            self.hang_up(index, now);
            return true;
        }
        match self.host.connection(it.connection) {
            Connection::Open if !it.connected => self.begin(index, now),
            Connection::Open => {
                let bytes = self.host.receive(it.connection);
                let outputs = if bytes.is_empty() { Vec::new() } else { it.session.on_bytes(&bytes, now) };
                let spoke = !outputs.is_empty();
                self.obey(index, outputs, now);
                self.flush(index, now) || spoke
            }
            _ if it.connected => {
                let outputs = it.session.disconnected(now);
                self.obey(index, outputs, now);
                true
            }
            _ if it.retry_at.is_some_and(|at| at <= now) => self.connect(index, now),
            _ => false,
        }
    }

    /// Begins a session on a connection that is open, if it is with the right neighbour.
    fn begin(&mut self, index: usize, now: Nanoseconds) -> bool {
        let handle = self.neighbours[index].connection;
        let remote = self.host.remote(handle);
        let owner = self.neighbours.iter().position(|it| Some(it.settings.address) == remote);
        match owner.filter(|owner| *owner == index || self.may_take_over(*owner)) {
            Some(owner) => {
                let other = self.neighbours[owner].connection;
                self.neighbours[index].connection = other;
                let it = &mut self.neighbours[owner];
                (it.connection, it.connected, it.retry_at) = (handle, true, None);
                it.unsent.clear();
                let outputs = it.session.connected(now);
                self.obey(owner, outputs, now);
            }
            None => {
                self.host.abort(handle);
                self.neighbours[index].retry_at = Some(now + LISTEN_AGAIN_NS);
            }
        }
        true
    }

    /// Any socket that listens may get the connection of any neighbour.
    fn may_take_over(&self, owner: usize) -> bool {
        let it = &self.neighbours[owner];
        it.settings.passive && !it.stopped && !it.connected && it.close_at.is_none()
    }

    fn connect(&mut self, index: usize, now: Nanoseconds) -> bool {
        let it = &mut self.neighbours[index];
        self.host.abort(it.connection);
        if it.settings.passive {
            it.retry_at = None;
            self.host.listen(it.connection, bgp::PORT);
            return false;
        }
        it.retry_at = Some(now + u64::from(it.settings.connect_retry_s) * NS_PER_S);
        // `new` has refused addresses without a way to the neighbour.
        let source = it.settings.multihop.map(|it| it.source);
        self.host.connect(it.connection, source, SocketAddr::new(it.settings.address, bgp::PORT)).is_ok()
    }

    /// Hands bytes to TCP, as many as it takes. Returns true when it took something.
    fn flush(&mut self, index: usize, now: Nanoseconds) -> bool {
        let it = &mut self.neighbours[index];
        let sent = self.host.send(it.connection, it.unsent.make_contiguous());
        it.unsent.drain(..sent);
        if it.announcing && it.unsent.is_empty() && self.host.all_acknowledged(it.connection) {
            it.announcing = false;
            self.events.push(Event { neighbour: index, at: now, kind: EventKind::Announced });
        }
        sent > 0
    }

    fn obey(&mut self, index: usize, outputs: Vec<bgp::Output>, now: Nanoseconds) {
        for output in outputs {
            let it = &mut self.neighbours[index];
            match output {
                bgp::Output::Send(bytes) => it.unsent.extend(bytes),
                bgp::Output::Up => {
                    self.events.push(Event { neighbour: index, at: now, kind: EventKind::Up });
                    self.announce_all(index);
                }
                bgp::Output::Down(reason) => {
                    (it.connected, it.announcing) = (false, false);
                    let pause_ns = if it.settings.passive {
                        LISTEN_AGAIN_NS
                    } else {
                        u64::from(it.settings.connect_retry_s) * NS_PER_S
                    };
                    it.retry_at = Some(it.close_at.unwrap_or(now) + pause_ns);
                    if it.close_at.is_none() {
                        self.hang_up(index, now);
                    }
                    self.events.push(Event { neighbour: index, at: now, kind: EventKind::Down(reason) });
                }
            }
        }
    }

    /// Closes the connection of a session that is over.
    fn hang_up(&mut self, index: usize, now: Nanoseconds) {
        self.flush(index, now);
        let it = &mut self.neighbours[index];
        if it.unsent.is_empty() {
            self.host.close(it.connection);
        } else {
            self.host.abort(it.connection);
        }
        it.unsent.clear();
    }

    fn announce_all(&mut self, index: usize) {
        let it = &mut self.neighbours[index];
        let mut alike: BTreeMap<(Arc<Attributes>, bool), Vec<IpNet>> = BTreeMap::new();
        for (network, given) in &it.announced {
            alike.entry(given.clone()).or_default().push(*network);
        }
        for ((attributes, whole_path), networks) in alike {
            let bytes = it.session.announce(&Announcement { networks, attributes, whole_path });
            it.announcing |= !bytes.is_empty();
            it.unsent.extend(bytes);
        }
        it.unsent.extend(it.session.end_of_routes());
    }

    fn take_bfd_packets(&mut self, now: Nanoseconds) {
        let Some(port) = self.bfd_port else { return };
        for (from, bytes) in self.host.datagrams(port) {
            if let Some(index) = self.neighbours.iter().position(|it| it.settings.address == from) {
                let bfd = &mut self.neighbours[index].bfd;
                let outputs = bfd.as_mut().map(|it| it.0.on_packet(&bytes, now));
                self.obey_bfd(index, outputs.unwrap_or_default(), now);
            }
        }
    }

    fn obey_bfd(&mut self, index: usize, outputs: Vec<bfd::Output>, now: Nanoseconds) {
        for output in outputs {
            match output {
                bfd::Output::Send(bytes) => {
                    let to = SocketAddr::new(self.neighbours[index].settings.address, bfd::PORT);
                    if let Some((_, handle)) = self.neighbours[index].bfd {
                        self.host.send_datagram(handle, to, &bytes);
                    }
                }
                bfd::Output::Up => {
                    self.events.push(Event { neighbour: index, at: now, kind: EventKind::BfdUp })
                }
                bfd::Output::Down(reason) => {
                    let kind = EventKind::BfdDown(reason.clone());
                    self.events.push(Event { neighbour: index, at: now, kind });
                    let cease = CeaseError::BfdDown { value: [].into() };
                    let outputs = self.neighbours[index].session.stop(now, cease, &reason);
                    self.obey(index, outputs, now);
                }
            }
        }
    }
}

fn check(addresses: &HostAddresses, neighbours: &[NeighbourSettings]) -> Result<(), Refused> {
    let beyond: BTreeSet<IpAddr> = neighbours
        .iter()
        .filter_map(|it| it.multihop.map(|it| it.source))
        .filter(|source| addresses.towards(*source) != Some(*source))
        .collect();
    if beyond.len() > MAX_SOURCES {
        return Err(Refused {
            neighbour: 0,
            field: "source",
            problem: format!("{} addresses on no wire", beyond.len()),
            valid: "up to 5",
        });
    }
    let mut known = BTreeSet::new();
    for (neighbour, it) in neighbours.iter().enumerate() {
        let refuse = |field, problem: String, valid| Err(Refused { neighbour, field, problem, valid });
        let address = it.address;
        let own = match address {
            IpAddr::V4(_) => addresses
                .ipv4
                .and_then(|own| Some(IpNet::V4(Ipv4Net::new(own.address, own.prefix_bits).ok()?))),
            IpAddr::V6(_) => addresses
                .ipv6
                .and_then(|own| Some(IpNet::V6(Ipv6Net::new(own.address, own.prefix_bits).ok()?))),
        };
        let neighbour_on_wire = it.multihop.map_or(address, |it| it.gateway);
        if !own.is_some_and(|own| own.contains(&neighbour_on_wire) && own.addr() != neighbour_on_wire) {
            return refuse(
                if it.multihop.is_some() { "gateway" } else { "address" },
                format!("{neighbour_on_wire} is not a neighbour on the wire"),
                "an address in the host's network",
            );
        }
        if !known.insert(address) {
            return refuse("address", format!("{address} is there twice"), "one session per neighbour");
        }
        for (field, number) in [("own_as", Some(it.own_as)), ("neighbour_as", it.neighbour_as)] {
            if number.is_some_and(|number| matches!(number, 0 | 23_456 | 65_535 | u32::MAX)) {
                return refuse(
                    field,
                    format!("AS {} is reserved", number.unwrap_or_default()),
                    "1 to 4294967294 but 23456 and 65535",
                );
            }
        }
        if matches!(it.hold_time_s, 1 | 2) {
            return refuse("hold_time_s", format!("{} s", it.hold_time_s), "0, or 3 to 65535");
        }
        if it.router_id.is_unspecified() {
            return refuse("router_id", it.router_id.to_string(), "an IPv4 address but 0.0.0.0");
        }
        if it.connect_retry_s == 0 {
            return refuse("connect_retry_s", "0 s".to_string(), "1 to 65535");
        }
        if let Some(restart) = it.restart.filter(|it| it.time_s > LONGEST_RESTART_S) {
            return refuse("restart.time_s", format!("{} s", restart.time_s), "0 to 4095");
        }
        if !(it.families.ipv4 || it.families.ipv6) {
            return refuse("families", "there is none".to_string(), "IPv4, IPv6 or both");
        }
        if let Some(bfd) = it.bfd {
            if bfd.interval_us < 1_000 || bfd.interval_us > 60_000_000 {
                return refuse("bfd.interval_us", bfd.interval_us.to_string(), "1000 to 60000000");
            }
            if bfd.multiplier == 0 {
                return refuse("bfd.multiplier", "0".to_string(), "1 to 255");
            }
        }
    }
    Ok(())
}
