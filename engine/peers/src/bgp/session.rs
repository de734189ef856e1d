//! The state machine of one session (RFC 4271 section 8), on bytes: the caller owns the TCP connection.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use ipnet::IpNet;
use netgauze_bgp_pkt::capabilities::{
    BgpCapability, FourOctetAsCapability, MultiProtocolExtensionsCapability,
};
use netgauze_bgp_pkt::notification::{
    BgpNotificationMessage, CeaseError, FiniteStateMachineError, HoldTimerExpiredError, OpenMessageError,
};
use netgauze_bgp_pkt::open::{BgpOpenMessage, BgpOpenMessageParameter};
use netgauze_bgp_pkt::update::BgpUpdateMessage;
use netgauze_bgp_pkt::wire::deserializer::BgpParsingContext;
use netgauze_bgp_pkt::BgpMessage;
use netgauze_iana::address_family::AddressType;

use super::attributes::{Attributes, AS_TRANS};
use super::counts::Counts;
use super::families::Families;
use super::messages::{self, Announcement, Conversation};
use super::reading::{decode, Received, Unreadable};
use super::restart::{GracefulRestart, Offer};
use super::routes_in::RoutesIn;
use crate::{Nanoseconds, NS_PER_S};

/// Hold time until the neighbour's OPEN says another (RFC 4271 section 8.2.2).
const OPEN_HOLD_NS: u64 = 240 * NS_PER_S;
/// Code and subcode of a NOTIFICATION after which no route stays (RFC 8538 section 3.1).
const HARD_RESET: (u8, u8) = (6, 9);
const ADMINISTRATIVE_SHUTDOWN: [u8; 2] = [6, 2];
/// KEEPALIVEs per hold time (RFC 4271 section 10).
const KEEPALIVES: u64 = 3;

/// One side of a session.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    pub own_as: u32,
    pub router_id: Ipv4Addr,
    /// `None` takes any neighbour.
    pub neighbour_as: Option<u32>,
    /// Zero keeps a session without KEEPALIVEs; else at least 3 (RFC 4271 section 4.2).
    pub hold_time_s: u16,
    pub families: Families,
    /// `None`: the routes of a session go with it, on both sides.
    pub restart: Option<GracefulRestart>,
    /// Next hops of announced networks.
    pub next_hops: Vec<IpAddr>,
}

/// A new route of the neighbour, or one that is gone: it has no attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteChange {
    pub network: IpNet,
    pub attributes: Option<Arc<Attributes>>,
    pub at: Nanoseconds,
}

/// Request of a session to its owner.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Send(Vec<u8>),
    Up,
    /// The session is over; the connection closes after what was sent.
    Down(String),
}

/// State of RFC 4271 section 8.2.2. `Connect` and `Active` are known to the owner of the connection alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Idle,
    Connect,
    Active,
    OpenSent,
    OpenConfirm,
    Established,
}

pub(crate) struct Session {
    settings: SessionSettings,
    state: State,
    stream: Vec<u8>,
    context: BgpParsingContext,
    hold_ns: u64,
    hold_until: Option<Nanoseconds>,
    keepalive_at: Option<Nanoseconds>,
    four_octets: bool,
    /// The neighbour is of the same AS.
    internal: bool,
    /// The neighbour's offer of graceful restart.
    offer: Option<Offer>,
    /// This side comes back after a graceful restart.
    restarting: bool,
    /// There was a session before this one.
    was_up: bool,
    /// When routes of the session before are gone, unless the neighbour comes back.
    stale_until: Option<Nanoseconds>,
    families: Families,
    learned: RoutesIn,
    changes: Vec<RouteChange>,
    sent: Counts,
    received: Counts,
}

impl Session {
    pub fn new(settings: SessionSettings) -> Session {
        let families = settings.families;
        Session {
            settings,
            state: State::Idle,
            stream: Vec::new(),
            context: BgpParsingContext::default(),
            hold_ns: 0,
            hold_until: None,
            keepalive_at: None,
            four_octets: false,
            internal: false,
            offer: None,
            restarting: false,
            was_up: false,
            stale_until: None,
            families,
            learned: RoutesIn::default(),
            changes: Vec::new(),
            sent: Counts::default(),
            received: Counts::default(),
        }
    }

    pub fn is_up(&self) -> bool {
        self.state == State::Established
    }

    pub fn state(&self) -> State {
        self.state
    }

    /// Messages that were sent, and those that came.
    pub fn counts(&self) -> (Counts, Counts) {
        (self.sent, self.received)
    }

    /// Routes of the neighbour.
    pub fn learned(&self) -> &RoutesIn {
        &self.learned
    }

    pub fn take_changes(&mut self) -> Vec<RouteChange> {
        std::mem::take(&mut self.changes)
    }

    pub fn next_event(&self) -> Option<Nanoseconds> {
        [self.hold_until, self.keepalive_at, self.stale_until].into_iter().flatten().min()
    }

    /// The connection is open: send the OPEN.
    pub fn connected(&mut self, now: Nanoseconds) -> Vec<Output> {
        self.state = State::OpenSent;
        self.stream.clear();
        // The session handles malformed attributes (RFC 7606); unusable networks are left out.
        let (labels, paths) = (HashMap::new(), HashMap::new());
        self.context = BgpParsingContext::new(true, labels, paths, false, false, false, false);
        self.hold_until = Some(now + OPEN_HOLD_NS);
        let open = self.open();
        vec![self.send(&open)]
    }

    /// The connection is gone.
    pub fn disconnected(&mut self, now: Nanoseconds) -> Vec<Output> {
        if self.state == State::Idle {
            return Vec::new();
        }
        let hint = if self.settings.restart.is_none() && self.offer.is_some() {
            "; it offers graceful restart (RFC 4724), and this side does not"
        } else {
            ""
        };
        let keeps = self.keeps_routes(None);
        self.end(now, format!("the neighbour closed the connection{hint}"), keeps)
    }

    /// Ends the session on the owner's behalf; its routes are gone. A neighbour that would keep those of this side after a
    /// NOTIFICATION is told by a hard reset that it has been shut down for good (RFC 8538 section 3.1).
    pub fn stop(&mut self, now: Nanoseconds, because: CeaseError, reason: &str) -> Vec<Output> {
        self.forget(now);
        if self.state == State::Idle {
            return Vec::new();
        }
        let told = match because {
            CeaseError::AdministrativeShutdown { .. } if self.keeps_routes(Some(false)) => {
                CeaseError::HardReset { value: ADMINISTRATIVE_SHUTDOWN.to_vec() }
            }
            _ => because,
        };
        self.refuse(now, BgpNotificationMessage::CeaseError(told), reason.to_string())
    }

    /// Ends a session that is up with a NOTIFICATION of any code.
    pub fn notify(&mut self, notification: (u8, u8), now: Nanoseconds) -> Vec<Output> {
        let keeps = self.keeps_routes(Some(notification == HARD_RESET));
        let (code, subcode) = notification;
        let mut outputs = vec![self.notification(notification)];
        outputs.extend(self.end(now, format!("a NOTIFICATION was asked for, {code}/{subcode}"), keeps));
        outputs
    }

    /// Ends a session that is up, with a NOTIFICATION or without: the next OPEN says that this side has restarted.
    pub fn restart(&mut self, notification: Option<(u8, u8)>, now: Nanoseconds) -> Vec<Output> {
        self.restarting = true;
        let told = notification.map(|it| self.notification(it));
        // Routes of the neighbour are lost with what has restarted.
        let ended = self.end(now, "a graceful restart was asked for".to_string(), false);
        told.into_iter().chain(ended).collect()
    }

    /// Takes bytes of the neighbour.
    pub fn on_bytes(&mut self, bytes: &[u8], now: Nanoseconds) -> Vec<Output> {
        self.stream.extend_from_slice(bytes);
        let mut outputs = Vec::new();
        while self.state != State::Idle {
            match decode(&mut self.stream, &mut self.context, self.internal) {
                None => break,
                Some(Ok(received)) => outputs.extend(self.on_message(received, now)),
                Some(Err(Unreadable::Notification(code, subcode))) => {
                    self.received.notifications += 1;
                    let keeps = self.keeps_routes(Some(false));
                    let reason = format!("the neighbour ends the session: NOTIFICATION {code}/{subcode}");
                    outputs.extend(self.end(now, reason, keeps));
                }
                Some(Err(Unreadable::Malformed(malformed))) => {
                    let reason = format!("a message of the neighbour is malformed: {}", malformed.problem);
                    outputs.extend(self.refuse(now, malformed.told, reason));
                }
            }
        }
        outputs
    }

    pub fn on_time(&mut self, now: Nanoseconds) -> Vec<Output> {
        if self.stale_until.is_some_and(|until| until <= now) {
            self.stale_until = None;
            self.forget_stale(now, |_| true);
        }
        if self.hold_until.is_some_and(|until| until <= now) {
            let error = HoldTimerExpiredError::Unspecific { sub_code: 0, value: [].into() };
            let silence_s = if self.is_up() { self.hold_ns } else { OPEN_HOLD_NS } / NS_PER_S;
            let reason = format!("hold time: nothing heard from the neighbour for {silence_s} s");
            return self.refuse(now, BgpNotificationMessage::HoldTimerExpiredError(error), reason);
        }
        if self.keepalive_at.is_some_and(|at| at <= now) {
            self.keepalive_at = Some(now + self.hold_ns / KEEPALIVES);
            return vec![self.send(&BgpMessage::KeepAlive)];
        }
        Vec::new()
    }

    /// Messages that announce networks; nothing unless the session is up. Networks of a family that the neighbour
    /// does not speak are left out.
    pub fn announce(&mut self, announcement: &Announcement) -> Vec<u8> {
        let conversation = Conversation {
            own_as: self.settings.own_as,
            four_octets: self.four_octets,
            internal: self.internal,
        };
        let updates = messages::announce(announcement, conversation, |network| {
            let (hops, given) = (&self.settings.next_hops, announcement.attributes.next_hop);
            let spoken =
                if matches!(network, IpNet::V4(_)) { self.families.ipv4 } else { self.families.ipv6 };
            let same_family = |hop: &IpAddr| hop.is_ipv4() == matches!(network, IpNet::V4(_));
            given.into_iter().chain(hops.iter().copied()).find(same_family).filter(|_| spoken)
        });
        self.bytes_of(&updates)
    }

    /// Messages that withdraw networks; nothing unless the session is up.
    pub fn withdraw(&mut self, networks: &[IpNet]) -> Vec<u8> {
        self.bytes_of(&messages::withdraw(networks))
    }

    /// Messages that say that everything is announced (RFC 4724 section 2), where restarts are graceful.
    pub fn end_of_routes(&mut self) -> Vec<u8> {
        if self.settings.restart.is_none() {
            return Vec::new();
        }
        self.bytes_of(&messages::end_of_routes(self.families))
    }

    fn bytes_of(&mut self, updates: &[BgpMessage]) -> Vec<u8> {
        if !self.is_up() {
            return Vec::new();
        }
        updates.iter().for_each(|it| self.sent.count(it));
        updates.iter().flat_map(messages::encode).collect()
    }

    fn on_message(&mut self, received: Received, now: Nanoseconds) -> Vec<Output> {
        // Networks that are none of hosts are left out (RFC 4271 section 6.3).
        self.context.reset_parsing_errors();
        self.received.count(&received.message);
        match (self.state, received.message) {
            (_, BgpMessage::Notification(notification)) => {
                let hard =
                    matches!(&notification, BgpNotificationMessage::CeaseError(CeaseError::HardReset { .. }));
                let keeps = self.keeps_routes(Some(hard));
                self.end(now, format!("the neighbour ends the session: {notification:?}"), keeps)
            }
            (State::OpenSent, BgpMessage::Open(open)) => self.on_open(&open, now),
            (State::OpenConfirm, BgpMessage::KeepAlive) => {
                self.state = State::Established;
                (self.restarting, self.was_up, self.stale_until) = (false, true, None);
                self.heard(now);
                vec![Output::Up]
            }
            (State::Established, BgpMessage::KeepAlive | BgpMessage::RouteRefresh(_)) => {
                self.heard(now);
                Vec::new()
            }
            (State::Established, BgpMessage::Update(update)) => {
                self.heard(now);
                self.learn(&update, received.withdraws, now);
                if let Some(family) = update.end_of_rib().filter(|_| !received.withdraws) {
                    let over = |family: AddressType, network: &IpNet| match network {
                        IpNet::V4(_) => family == AddressType::Ipv4Unicast,
                        IpNet::V6(_) => family == AddressType::Ipv6Unicast,
                    };
                    self.forget_stale(now, |network| over(family, network));
                }
                if self.learned.is_full() {
                    let error = CeaseError::MaximumNumberOfPrefixesReached { value: [].into() };
                    let reason =
                        format!("{} routes are more than there is memory for", self.learned.received());
                    self.forget(now);
                    return self.refuse(now, BgpNotificationMessage::CeaseError(error), reason);
                }
                Vec::new()
            }
            (state, unexpected) => {
                let value = [unexpected.get_type() as u8].into();
                let error = match state {
                    State::OpenSent => {
                        FiniteStateMachineError::ReceiveUnexpectedMessageInOpenSentState { value }
                    }
                    State::OpenConfirm => {
                        FiniteStateMachineError::ReceiveUnexpectedMessageInOpenConfirmState { value }
                    }
                    _ => FiniteStateMachineError::ReceiveUnexpectedMessageInEstablishedState { value },
                };
                let reason = format!("the neighbour sent {} out of turn", unexpected.get_type());
                self.refuse(now, BgpNotificationMessage::FiniteStateMachineError(error), reason)
            }
        }
    }

    fn on_open(&mut self, open: &BgpOpenMessage, now: Nanoseconds) -> Vec<Output> {
        if let Err((error, reason)) = self.check(open) {
            return self.refuse(now, BgpNotificationMessage::OpenMessageError(error), reason);
        }
        self.four_octets = open.capabilities().iter().any(|it| matches!(it, BgpCapability::FourOctetAs(_)));
        self.context.set_asn4(self.four_octets);
        self.internal = open.my_asn4() == self.settings.own_as;
        self.offer = Offer::of(open);
        let forwards = self.offer.map_or(Families { ipv4: false, ipv6: false }, |it| it.forwards);
        self.forget_stale(now, |network| !forwards.has(network));
        self.families = common_families(self.settings.families, open);
        self.hold_ns = u64::from(open.hold_time().min(self.settings.hold_time_s)) * NS_PER_S;
        self.keepalive_at = (self.hold_ns > 0).then(|| now + self.hold_ns / KEEPALIVES);
        self.state = State::OpenConfirm;
        self.heard(now);
        vec![self.send(&BgpMessage::KeepAlive)]
    }

    fn check(&self, open: &BgpOpenMessage) -> Result<(), (OpenMessageError, String)> {
        let neighbour_as = open.my_asn4();
        if self.settings.neighbour_as.is_some_and(|expected| expected != neighbour_as) {
            let expected = self.settings.neighbour_as.unwrap_or_default();
            let reason = format!("the neighbour says that its AS is {neighbour_as}, not {expected}");
            return Err((OpenMessageError::BadPeerAs { value: [].into() }, reason));
        }
        if open.bgp_id().is_unspecified() || open.bgp_id() == self.settings.router_id {
            let reason = format!("the neighbour's identifier is {}", open.bgp_id());
            return Err((OpenMessageError::BadBgpIdentifier { value: [].into() }, reason));
        }
        if matches!(open.hold_time(), 1 | 2) {
            let reason =
                format!("the neighbour's hold time is {} s; valid: 0, or 3 and more", open.hold_time());
            return Err((OpenMessageError::UnacceptableHoldTime { value: [].into() }, reason));
        }
        let common = common_families(self.settings.families, open);
        if !common.ipv4 && !common.ipv6 {
            let reason = "the neighbour speaks none of the wanted address families".to_string();
            return Err((OpenMessageError::UnsupportedCapability { value: [].into() }, reason));
        }
        Ok(())
    }

    fn learn(&mut self, update: &BgpUpdateMessage, withdraws: bool, now: Nanoseconds) {
        let routes = messages::routes(update, withdraws);
        let usable = routes.attributes.path().all(|it| it != self.settings.own_as);
        for network in routes.withdrawn {
            if self.learned.remove(&network) {
                self.changes.push(RouteChange { network, attributes: None, at: now });
            }
        }
        for (next_hop, networks) in routes.reached {
            let attributes = Arc::new(Attributes { next_hop: Some(next_hop), ..routes.attributes.clone() });
            let lost = self.learned.add(&networks, &attributes, usable);
            let now_used = if usable { networks } else { Vec::new() };
            let gone = lost.into_iter().map(|network| (network, None));
            let come = now_used.into_iter().map(|network| (network, Some(attributes.clone())));
            let changes = gone.chain(come);
            self.changes.extend(changes.map(|(network, attributes)| RouteChange {
                network,
                attributes,
                at: now,
            }));
        }
    }

    fn heard(&mut self, now: Nanoseconds) {
        self.hold_until = (self.hold_ns > 0).then(|| now + self.hold_ns);
    }

    fn refuse(&mut self, now: Nanoseconds, error: BgpNotificationMessage, reason: String) -> Vec<Output> {
        let keeps = self.keeps_routes(Some(false));
        let mut outputs = vec![self.send(&BgpMessage::Notification(error))];
        outputs.extend(self.end(now, reason, keeps));
        outputs
    }

    /// Whether routes of the neighbour stay when the session ends now, with a NOTIFICATION, of a hard reset or not, or
    /// without one (RFC 4724 section 4.2, RFC 8538 section 3).
    fn keeps_routes(&self, notification: Option<bool>) -> bool {
        let (Some(own), Some(offer)) = (self.settings.restart, self.offer) else { return false };
        let notified = |hard: bool| own.notifications && offer.notifications && !hard;
        self.is_up() && notification.is_none_or(notified)
    }

    /// Ends the session. Its routes are gone, or with `keeps` stale for the time that the neighbour has to come back. Those
    /// of a session before stay until their time is over.
    fn end(&mut self, now: Nanoseconds, reason: String, keeps: bool) -> Vec<Output> {
        let was_up = self.is_up();
        self.state = State::Idle;
        (self.hold_until, self.keepalive_at) = (None, None);
        match self.offer.filter(|_| keeps) {
            Some(offer) => {
                // Those that were stale already are not kept twice.
                self.forget_stale(now, |_| true);
                self.learned.go_stale();
                self.forget_stale(now, |network| !offer.families.has(network));
                self.stale_until = Some(now + offer.time_ns);
            }
            None if was_up => self.forget(now),
            None => {}
        }
        vec![Output::Down(reason)]
    }

    /// All routes of the neighbour are gone.
    fn forget(&mut self, now: Nanoseconds) {
        self.stale_until = None;
        let gone = std::mem::take(&mut self.learned);
        self.changes.extend(gone.in_use().map(|network| RouteChange { network, attributes: None, at: now }));
    }

    /// Routes of a session before, of some networks, are gone.
    fn forget_stale(&mut self, now: Nanoseconds, which: impl Fn(&IpNet) -> bool) {
        let gone = self.learned.remove_stale(which).into_iter();
        self.changes.extend(gone.map(|network| RouteChange { network, attributes: None, at: now }));
    }

    fn notification(&mut self, (code, subcode): (u8, u8)) -> Output {
        self.sent.notifications += 1;
        Output::Send(messages::notification(code, subcode))
    }

    fn send(&mut self, message: &BgpMessage) -> Output {
        self.sent.count(message);
        Output::Send(messages::encode(message))
    }

    fn open(&self) -> BgpMessage {
        let families = self.settings.families;
        let family = |on: bool, kind: AddressType| {
            on.then(|| BgpCapability::MultiProtocolExtensions(MultiProtocolExtensionsCapability::new(kind)))
        };
        let mut capabilities: Vec<BgpCapability> = Vec::new();
        capabilities.extend(family(families.ipv4, AddressType::Ipv4Unicast));
        capabilities.extend(family(families.ipv6, AddressType::Ipv6Unicast));
        capabilities.push(BgpCapability::FourOctetAs(FourOctetAsCapability::new(self.settings.own_as)));
        let restart = self.settings.restart;
        capabilities.extend(restart.map(|it| it.capability(families, self.restarting, self.was_up)));
        BgpMessage::Open(BgpOpenMessage::new(
            u16::try_from(self.settings.own_as).unwrap_or(AS_TRANS),
            self.settings.hold_time_s,
            self.settings.router_id,
            vec![BgpOpenMessageParameter::Capabilities(capabilities)],
        ))
    }
}

/// Families that both sides speak; a neighbour without capabilities speaks IPv4 (RFC 4760 section 8).
fn common_families(own: Families, open: &BgpOpenMessage) -> Families {
    let said: Vec<AddressType> = open
        .capabilities()
        .iter()
        .filter_map(|it| match it {
            BgpCapability::MultiProtocolExtensions(family) => Some(family.address_type()),
            _ => None,
        })
        .collect();
    Families {
        ipv4: own.ipv4 && (said.is_empty() || said.contains(&AddressType::Ipv4Unicast)),
        ipv6: own.ipv6 && said.contains(&AddressType::Ipv6Unicast),
    }
}

#[cfg(test)]
mod tests {
    use netgauze_bgp_pkt::capabilities::GracefulRestartCapability;

    use super::*;

    fn session(number: u8) -> Session {
        Session::new(SessionSettings {
            own_as: 64_512 + u32::from(number),
            router_id: Ipv4Addr::new(10, 0, 0, number),
            neighbour_as: None,
            hold_time_s: 90,
            families: Families { ipv4: true, ipv6: false },
            restart: None,
            next_hops: Vec::new(),
        })
    }

    /// The OPEN of a neighbour, and its first KEEPALIVE.
    fn greeting(restarts_gracefully: bool) -> Vec<u8> {
        let mut capabilities = vec![BgpCapability::FourOctetAs(FourOctetAsCapability::new(64_513))];
        if restarts_gracefully {
            let capability = GracefulRestartCapability::new(false, false, 120, Vec::new());
            capabilities.push(BgpCapability::GracefulRestartCapability(capability));
        }
        let parameters = vec![BgpOpenMessageParameter::Capabilities(capabilities)];
        let open = BgpOpenMessage::new(64_513, 90, Ipv4Addr::new(10, 0, 0, 1), parameters);
        [BgpMessage::Open(open), BgpMessage::KeepAlive].iter().flat_map(messages::encode).collect()
    }

    /// Graceful restart in an OPEN: restarting, after NOTIFICATIONs, seconds, whether frames went on.
    fn said(output: &Output) -> Option<(bool, bool, u16, Vec<bool>)> {
        let Output::Send(bytes) = output else { panic!("an OPEN") };
        let Some(Ok(open)) = decode(&mut bytes.clone(), &mut BgpParsingContext::default(), false) else {
            panic!("a message")
        };
        let BgpMessage::Open(open) = open.message else { panic!("an OPEN") };
        open.capabilities().iter().find_map(|it| match it {
            BgpCapability::GracefulRestartCapability(it) => {
                let families = it.address_families().iter().map(|it| it.forwarding_state()).collect();
                Some((it.restart(), it.graceful_notification(), it.time(), families))
            }
            _ => None,
        })
    }

    #[test]
    fn the_open_after_a_restart_says_so_and_only_that() {
        let mut session = session(2);
        session.settings.restart = Some(GracefulRestart { time_s: 45, notifications: true });
        assert_eq!(said(&session.connected(0)[0]), Some((false, true, 45, vec![false])));
        session.on_bytes(&greeting(true), 0);
        let told = [Output::Send(messages::notification(6, 4))];
        let outputs = session.restart(Some((6, 4)), 1);
        assert_eq!(outputs[..1], told);
        // It is not over before the session is up again.
        for _ in 0..2 {
            assert_eq!(said(&session.connected(2)[0]), Some((true, true, 45, vec![true])));
        }
        session.on_bytes(&greeting(true), 2);
        assert!(session.is_up());
        session.notify((6, 4), 3);
        assert_eq!(said(&session.connected(4)[0]), Some((false, true, 45, vec![true])));
    }

    #[test]
    fn graceful_restart_is_neither_offered_nor_expected() {
        for (restarts_gracefully, reason) in [
            (false, "the neighbour closed the connection"),
            (
                true,
                "the neighbour closed the connection; it offers graceful restart (RFC 4724), and this side does not",
            ),
        ] {
            let mut session = session(2);
            let BgpMessage::Open(open) = session.open() else { panic!("an OPEN") };
            let graceful = |it: &&BgpCapability| matches!(it, BgpCapability::GracefulRestartCapability(_));
            assert!(!open.capabilities().iter().any(graceful));
            session.connected(0);
            session.on_bytes(&greeting(restarts_gracefully), 0);
            assert!(session.is_up());
            assert_eq!(session.disconnected(1), [Output::Down(reason.to_string())]);
        }
    }
}
