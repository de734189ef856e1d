//! Ports, links and the frames on them, through which every node of the network sends.
//!
//! A frame costs one event per hop. When a port sends, the time at which the receiver must act
//! follows from the line alone; the frame waits in the event queue, or in the port's flight queue, of
//! which only the first frame has an event.

use std::collections::VecDeque;
use std::sync::Arc;

use p4mesh_pipeline::{prefetch, Frame, FramePool, Outputs};
use p4mesh_wire::mac_control::{self, Pause, QUANTUM_BITS};
use p4mesh_wire::payload::CountedPayload;

use crate::arrival::{Arrival, Fcs};
use crate::bit_errors::BitErrors;
use crate::drops::{DropCause, DropCounters};
use crate::event::{EventQueue, Source, Ticket};
use crate::flights::{Flight, Flights, Plan};
use crate::line::{wire_bytes, Line, Slot};
use crate::rng::Rng;
use crate::time::Span;

/// Moment at which a node acts on a frame that it receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalRule {
    /// Bytes that must have arrived (with FCS); `None` is the whole frame.
    pub lookahead_bytes: Option<u32>,
    /// Time from there to the decision.
    pub latency_ps: u64,
}

/// Frames whose six bytes at a place, read as a number, lie in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadFcsRule {
    pub offset_bytes: usize,
    pub low: u64,
    pub high: u64,
}

impl BadFcsRule {
    fn matches(&self, frame: &[u8]) -> bool {
        let Some(field) = frame.get(self.offset_bytes..self.offset_bytes + 6) else {
            return false;
        };
        let number = field.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        (self.low..=self.high).contains(&number)
    }
}

/// Frames and bytes (with FCS) that passed a port.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct PortCounters {
    pub tx_frames: u64,
    pub tx_bytes: u64,
    pub rx_frames: u64,
    pub rx_bytes: u64,
    /// Of the frames sent and received, those with an FCS that does not fit. Frames that the cable damages count at the
    /// receiver.
    pub tx_bad_fcs_frames: u64,
    pub rx_bad_fcs_frames: u64,
    pub drops: DropCounters,
}

/// One port of one node. First comes all that each frame needs, in as few lines of the cache as possible.
#[repr(C, align(64))]
pub struct Port {
    pub line: Line,
    /// Index of the node.
    pub node: u32,
    /// Index among the ports of the node.
    pub local: u32,
    peer: Option<u32>,
    delay_ps: u64,
    /// Latency of the receiver at the other end.
    peer_latency_ps: u64,
    link_up: bool,
    /// Frames that leave need no closer look, and those that come do.
    sends_all: bool,
    looks_at_frames: bool,
    /// PAUSE frames that arrive stop the port from sending (IEEE 802.3 annex 31B).
    honours_pause: bool,
    /// The number that the user gave it.
    pub id: u16,
    /// Longest queue, in frames, not counting the frame on the wire.
    pub queue_frames: usize,
    /// When the frame that was queued last is ready; those behind it wait at least until then.
    ready_ps: u64,
    pub counters: PortCounters,
    /// Start times of frames that wait, for ports without scheduling.
    waiting: VecDeque<u64>,
    flights: Flights,
    /// Frames that leave with an FCS that does not fit.
    bad_fcs_rules: Vec<BadFcsRule>,
    /// Bit errors of the cable in the direction in which the port sends.
    bit_errors: Option<Box<BitErrors>>,
    /// Payload of marked frames that come to the port; ports have one in common.
    payload: Option<Arc<CountedPayload>>,
    link_losses: u64,
}

impl Port {
    pub fn link_up(&self) -> bool {
        self.peer.is_some() && self.link_up
    }

    pub fn peer(&self) -> Option<usize> {
        self.peer.map(|peer| peer as usize)
    }

    /// How often the link has gone down.
    pub fn link_losses(&self) -> u64 {
        self.link_losses
    }

    fn set_link(&mut self, up: bool) {
        self.link_losses += u64::from(self.link_up && !up);
        self.link_up = up;
        self.decide_on_looks();
    }

    /// Takes note whether any frame that leaves or comes needs a closer look.
    fn decide_on_looks(&mut self) {
        self.sends_all = self.link_up() && self.bad_fcs_rules.is_empty() && self.bit_errors.is_none();
        self.looks_at_frames = self.honours_pause || self.payload.is_some();
    }

    /// Whether a frame that leaves has a bad FCS at the other end, after bit errors of the cable; `None` where there is no
    /// other end.
    #[inline(never)]
    fn look_at(&mut self, frame: &mut Frame, mut bad_fcs: bool) -> Option<bool> {
        if !self.link_up() {
            let cause = if self.peer.is_none() { DropCause::Unconnected } else { DropCause::LinkDown };
            self.counters.drops.count(cause);
            return None;
        }
        bad_fcs |= self.bad_fcs_rules.iter().any(|rule| rule.matches(frame));
        self.counters.tx_bad_fcs_frames += u64::from(bad_fcs);
        if let Some(errors) = &mut self.bit_errors {
            bad_fcs |= errors.damage(frame);
        }
        Some(bad_fcs)
    }
}

/// The port that receives a frame, its node and its number there.
pub(crate) struct Receiver {
    pub port: usize,
    pub node: usize,
    pub local: usize,
}

/// Frames in flight that do not fit into the cache nearest to a core.
const MANY_FLIGHTS: u64 = 4_096;
/// Events before its use at which a flight is loaded ahead, and its frame: long enough to load from memory.
const FLIGHT_AHEAD: usize = 8;
const FRAME_AHEAD: usize = 4;
/// All ports of the network, the clock and the pending events.
#[derive(Default)]
pub struct Fabric {
    pub(crate) now_ps: u64,
    pub(crate) events: EventQueue,
    pub(crate) ports: Vec<Port>,
    /// Switches of the tester: the nodes with numbers below it.
    pub(crate) switches: u32,
    /// Frames in flight on all links.
    pub(crate) in_flight: u64,
    /// The outputs of pipeline passes and the pool of frame buffers.
    pub(crate) out: Outputs,
}

impl Fabric {
    pub fn now_ps(&self) -> u64 {
        self.now_ps
    }

    pub fn pool(&mut self) -> &mut FramePool {
        &mut self.out.pool
    }

    pub fn port(&self, port: usize) -> &Port {
        &self.ports[port]
    }

    /// Adds a port without a link and returns its index.
    pub(crate) fn add_port(
        &mut self,
        node: u32,
        local: u32,
        id: u16,
        line: Line,
        queue_frames: usize,
    ) -> usize {
        self.ports.push(Port {
            node,
            local,
            id,
            line,
            queue_frames,
            counters: PortCounters::default(),
            peer: None,
            delay_ps: 0,
            link_up: true,
            sends_all: false,
            looks_at_frames: false,
            link_losses: 0,
            peer_latency_ps: 0,
            flights: Flights::default(),
            waiting: VecDeque::new(),
            ready_ps: 0,
            bit_errors: None,
            honours_pause: false,
            bad_fcs_rules: Vec::new(),
            payload: None,
        });
        self.ports.len() - 1
    }

    /// Starts the random numbers of a cable anew; `part` names one direction of it.
    pub(crate) fn reseed_bit_errors(&mut self, port: usize, seed: u64, part: &str) {
        if let Some(errors) = &mut self.ports[port].bit_errors {
            errors.reseed(Rng::for_part(seed, part));
        }
    }

    /// Sets the bit errors of a cable in one direction.
    pub(crate) fn set_bit_errors(&mut self, port: usize, bit_errors: Option<BitErrors>) {
        self.ports[port].bit_errors = bit_errors.map(Box::new);
        self.ports[port].decide_on_looks();
    }

    /// Chooses the frames that leave a port with an FCS that does not fit, from now on.
    pub(crate) fn set_bad_fcs_rules(&mut self, port: usize, rules: Vec<BadFcsRule>) {
        self.ports[port].bad_fcs_rules = rules;
        self.ports[port].decide_on_looks();
    }

    /// Chooses the payload that marked frames must have which come to a port, from now on.
    pub(crate) fn set_payload(&mut self, port: usize, payload: Option<CountedPayload>) {
        let same = |other: &Port| other.payload.clone().filter(|it| payload.as_ref() == Some(it));
        let known = self.ports.iter().find_map(same);
        self.ports[port].payload = known.or(payload.map(Arc::new));
        self.ports[port].decide_on_looks();
    }

    /// Makes a port obey PAUSE frames, or not.
    pub(crate) fn set_honours_pause(&mut self, port: usize, honours: bool) {
        self.ports[port].honours_pause = honours;
        self.ports[port].decide_on_looks();
    }

    /// Connects two ports; `rules` are those of the nodes at `a` and at `b`.
    pub(crate) fn connect(&mut self, a: usize, b: usize, delay_ps: u64, rules: [ArrivalRule; 2]) {
        for (port, peer, rule) in [(a, b, rules[1]), (b, a, rules[0])] {
            let port = &mut self.ports[port];
            port.peer = Some(peer as u32);
            port.delay_ps = delay_ps;
            port.peer_latency_ps = rule.latency_ps;
            port.line.set_lookahead(rule.lookahead_bytes);
            port.decide_on_looks();
        }
    }

    /// Sets both directions of the link of a port up or down. Frames in flight on a link that is
    /// down when they arrive are lost.
    pub(crate) fn set_link(&mut self, port: usize, up: bool) {
        self.ports[port].set_link(up);
        if let Some(peer) = self.ports[port].peer() {
            self.ports[peer].set_link(up);
        }
    }

    /// Counts a drop at a port and takes the buffer back.
    #[inline]
    pub fn drop_frame(&mut self, port: usize, cause: DropCause, frame: Frame) {
        self.ports[port].counters.drops.count(cause);
        self.out.pool.give(frame);
    }

    /// Sends a frame as early as possible from `from_ps` on (start of the preamble), after
    /// everything that the port sent before. The wire is used even when there is no link.
    #[inline]
    pub fn send(&mut self, port: usize, frame: Frame, from_ps: u64) -> Slot {
        self.send_marked(port, frame, from_ps, false)
    }

    /// Like [`Fabric::send`]; `bad_fcs` sends an FCS that does not fit.
    #[inline(always)]
    pub fn send_marked(&mut self, port: usize, frame: Frame, from_ps: u64, bad_fcs: bool) -> Slot {
        let line = &mut self.ports[port].line;
        let free_before = line.free();
        let slot = line.send(from_ps, wire_bytes(&frame));
        self.fly(port, frame, from_ps, free_before, slot, bad_fcs);
        slot
    }

    /// Sends a frame bit by bit as it arrives: with the gaps and the clock of its sender, past the queue and the line
    /// of the port.
    pub fn relay(&mut self, port: usize, arrival: Arrival) {
        let Arrival { frame, first_bit_ps, last_bit_ps, fcs } = arrival;
        let line = &self.ports[port].line;
        let (whole, awaited) = line.awaited_bytes(wire_bytes(&frame));
        let body_ps = u128::from(last_bit_ps - first_bit_ps) * u128::from(awaited);
        let slot = Slot {
            start_ps: first_bit_ps.saturating_sub(line.preamble_ps()),
            first_bit_ps,
            last_bit_ps,
            decision_ps: first_bit_ps + (body_ps / u128::from(whole)) as u64,
        };
        let free = line.free();
        self.fly(port, frame, slot.start_ps, free, slot, fcs.is_bad());
    }

    /// Puts a frame that has its slot on its way.
    #[inline(always)]
    fn fly(
        &mut self,
        port: usize,
        mut frame: Frame,
        from_ps: u64,
        free_before: Span,
        slot: Slot,
        mut bad_fcs: bool,
    ) {
        let Fabric { ports, events, in_flight, out, now_ps, .. } = self;
        let port_index = port as u32;
        let port = &mut ports[port];
        port.counters.tx_frames += 1;
        port.counters.tx_bytes += u64::from(wire_bytes(&frame));
        if !port.sends_all || bad_fcs {
            match port.look_at(&mut frame, bad_fcs) {
                Some(is_bad) => bad_fcs = is_bad,
                None => return out.pool.give(frame),
            }
        }
        let act_ps = slot.decision_ps + port.delay_ps + port.peer_latency_ps;
        let ticket = events.ticket();
        let mut arrival = Arrival {
            frame,
            first_bit_ps: slot.first_bit_ps + port.delay_ps,
            last_bit_ps: slot.last_bit_ps + port.delay_ps,
            fcs: Fcs::new(bad_fcs),
        };
        *in_flight += 1;
        // A frame that has started is not taken back.
        if slot.start_ps <= *now_ps {
            match events.fly(act_ps, ticket, port_index, arrival) {
                None => return,
                Some(refused) => arrival = refused,
            }
        }
        if port.flights.is_empty() {
            events.push(act_ps, ticket, Source::Flight(port_index));
        }
        let plan = Plan { start_ps: slot.start_ps, from_ps, free_before };
        port.flights.push(Flight { act_ps, ticket, arrival }, plan, *now_ps);
    }

    /// First in, first out with a bounded queue: sends a frame whose first bit may leave at
    /// `ready_ps` at the earliest, or drops it when the queue of the port is full by then. The
    /// departure is computed at once, so waiting costs no event. Returns the start of the preamble.
    #[inline(always)]
    pub fn enqueue(&mut self, port: usize, frame: Frame, ready_ps: u64, bad_fcs: bool) -> Option<u64> {
        let now_ps = self.now_ps;
        if self.room_at_ps(port, ready_ps) > now_ps {
            self.drop_frame(port, DropCause::QueueFull, frame);
            return None;
        }
        let ready_ps = ready_ps.max(now_ps);
        let entry = &mut self.ports[port];
        entry.ready_ps = entry.ready_ps.max(ready_ps);
        let from_ps = ready_ps.saturating_sub(entry.line.preamble_ps());
        let slot = self.send_marked(port, frame, from_ps, bad_fcs);
        if slot.start_ps > now_ps {
            self.ports[port].waiting.push_back(slot.start_ps);
        }
        Some(slot.start_ps)
    }

    /// When the queue of [`Fabric::enqueue`] can take one more frame: now, or when the next frame
    /// leaves it. A frame that is ready at `ready_ps` only, because it is still on its way through
    /// the device, takes its place then; frames keep their order.
    #[inline(always)]
    pub fn room_at_ps(&mut self, port: usize, ready_ps: u64) -> u64 {
        let now_ps = self.now_ps;
        let entry = &mut self.ports[port];
        while entry.waiting.front().is_some_and(|&start_ps| start_ps <= now_ps) {
            entry.waiting.pop_front();
        }
        let at_ps = ready_ps.max(entry.ready_ps).max(now_ps);
        if entry.waiting.len() < entry.queue_frames || entry.line.free_ps() <= at_ps {
            return now_ps;
        }
        let gone = entry.waiting.partition_point(|&start_ps| start_ps <= at_ps);
        if entry.waiting.len() - gone < entry.queue_frames {
            return now_ps;
        }
        let last = entry.waiting.len() - entry.queue_frames;
        let start_ps = entry.waiting.get(last).copied();
        start_ps.unwrap_or(entry.line.free_ps())
    }

    /// Sends a frame before all others of the port that have not started.
    pub(crate) fn send_first(&mut self, port: usize, frame: Frame) {
        let now_ps = self.now_ps;
        let moved = self.take_back(port);
        self.send(port, frame, now_ps);
        self.send_again(port, moved);
    }

    /// Lets a port start no frame before `until_ps` (a PAUSE of that length, or its end): frames
    /// that have not started are put off or brought forward.
    pub(crate) fn hold(&mut self, port: usize, until_ps: u64) {
        let moved = self.take_back(port);
        self.ports[port].line.hold(until_ps);
        self.send_again(port, moved);
        // Waiting senders have to look again: the line may be free earlier than it was.
        let waits = Source::PortFree(port as u32);
        if self.events.take(waits).is_some() {
            self.events.schedule(self.now_ps, waits);
        }
    }

    /// Takes the frames that have not started off the line.
    fn take_back(&mut self, port: usize) -> Vec<(Flight, Plan)> {
        let now_ps = self.now_ps;
        let port = &mut self.ports[port];
        let moved = port.flights.take_back(now_ps);
        if let Some((_, first)) = moved.first() {
            port.line.rewind(first.free_before);
        }
        port.waiting.clear();
        moved
    }

    /// Gives frames that were taken off the line new slots.
    fn send_again(&mut self, port: usize, moved: Vec<(Flight, Plan)>) {
        let now_ps = self.now_ps;
        let Fabric { ports, events, .. } = self;
        let index = port as u32;
        let port = &mut ports[port];
        for (mut flight, plan) in moved {
            let free_before = port.line.free();
            // A frame that has begun to wait cannot start in the past.
            let from_ps = plan.from_ps.max(now_ps);
            let slot = port.line.send(from_ps, wire_bytes(&flight.arrival.frame));
            flight.act_ps = slot.decision_ps + port.delay_ps + port.peer_latency_ps;
            flight.ticket = events.ticket();
            flight.arrival.first_bit_ps = slot.first_bit_ps + port.delay_ps;
            flight.arrival.last_bit_ps = slot.last_bit_ps + port.delay_ps;
            if port.flights.is_empty() {
                events.push(flight.act_ps, flight.ticket, Source::Flight(index));
            }
            port.waiting.push_back(slot.start_ps);
            let plan = Plan { start_ps: slot.start_ps, from_ps: plan.from_ps, free_before };
            port.flights.push(flight, plan, now_ps);
        }
    }

    /// Frames sent by each port that the receiver has not acted on.
    pub fn flights(&self) -> Vec<u64> {
        let mut counts: Vec<u64> = self.ports.iter().map(|port| port.flights.len() as u64).collect();
        self.events.flying().for_each(|sender| counts[sender as usize] += 1);
        counts
    }

    /// Frames that wait in the queue of [`Fabric::enqueue`].
    pub fn waiting(&self, port: usize) -> usize {
        self.ports[port].waiting.iter().filter(|&&start_ps| start_ps > self.now_ps).count()
    }

    /// Drops the frames that a port has queued and not started to send.
    pub fn flush(&mut self, port: usize) {
        let now_ps = self.now_ps;
        let Fabric { ports, in_flight, out, .. } = self;
        let port = &mut ports[port];
        port.waiting.clear();
        port.ready_ps = 0;
        let gone = port.flights.take_back(now_ps);
        if let Some((_, first)) = gone.first() {
            port.line.rewind(first.free_before);
        }
        for (flight, _) in gone {
            port.counters.tx_frames -= 1;
            port.counters.tx_bytes -= u64::from(wire_bytes(&flight.arrival.frame));
            port.counters.drops.count(DropCause::Reset);
            out.pool.give(flight.arrival.frame);
            *in_flight -= 1;
        }
    }

    /// True where so many frames are in flight that loading ahead is worth it.
    #[inline]
    pub(crate) fn has_many_flights(&self) -> bool {
        self.in_flight >= MANY_FLIGHTS
    }

    /// Begins to load what the events that are likely to come soon after one of this kind need. Gives the frame that a
    /// switch of the tester is likely to receive before long, with its number.
    #[inline]
    pub(crate) fn prefetch(&self, came: Source) -> Option<(u32, &Frame)> {
        let (sender, frame) = match came {
            Source::Landed(_) => {
                let (sender, arrival) = self.events.soon_to_land(FRAME_AHEAD)?;
                (&self.ports[sender as usize], &arrival.frame)
            }
            Source::Flight(_) => {
                if let Some(Source::Flight(sender)) = self.events.soon(FLIGHT_AHEAD) {
                    self.ports[sender as usize].flights.load_first();
                }
                let Some(Source::Flight(sender)) = self.events.soon(FRAME_AHEAD) else { return None };
                let sender = &self.ports[sender as usize];
                (sender, &sender.flights.first()?.arrival.frame)
            }
            _ => return None,
        };
        let node = self.ports[sender.peer()?].node;
        if node < self.switches {
            return Some((node, frame));
        }
        prefetch(frame.as_ptr());
        None
    }

    /// Takes the first flight of a port, whose event fell due, to `landed`, where none is; false if the frame is gone
    /// (taken back, or flushed).
    #[inline]
    pub(crate) fn land(&mut self, sender: usize, ticket: Ticket, landed: &mut Arrival) -> bool {
        let flights = &mut self.ports[sender].flights;
        if !flights.land(ticket, landed) {
            return false;
        }
        if let Some(next) = flights.first() {
            self.events.push(next.act_ps, next.ticket, Source::Flight(sender as u32));
        }
        true
    }

    /// The receiver of a frame that has landed; `None` where the frame ends: its link is down, or a switch of the tester does
    /// not take it.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, sender: usize, landed: &mut Arrival) -> Option<Receiver> {
        let Fabric { ports, in_flight, out, .. } = self;
        *in_flight -= 1;
        let port = &mut ports[sender];
        let receiver = port.peer()?;
        if !port.link_up {
            port.counters.drops.count(DropCause::LinkDown);
            out.pool.give(landed.take_frame());
            return None;
        }
        let port = &mut ports[receiver];
        port.counters.rx_frames += 1;
        port.counters.rx_bytes += u64::from(wire_bytes(&landed.frame));
        let found = Receiver { port: receiver, node: port.node as usize, local: port.local as usize };
        if (port.looks_at_frames || landed.fcs.is_bad()) && !self.look_at(&found, landed) {
            return None;
        }
        Some(found)
    }

    /// Looks at a frame that has landed: false where it ends here.
    #[inline(never)]
    fn look_at(&mut self, receiver: &Receiver, landed: &mut Arrival) -> bool {
        let port = &mut self.ports[receiver.port];
        let is_bad = landed.fcs.is_bad();
        port.counters.rx_bad_fcs_frames += u64::from(is_bad);
        if port.honours_pause && !is_bad {
            if let Some(Pause { quanta }) = mac_control::parse(&landed.frame) {
                // Up to 65,535 quanta: more than 64 bits before the division.
                let bit_ps = 1_000_000_000_000 * u128::from(quanta) * u128::from(QUANTUM_BITS);
                let hold_ps = bit_ps / u128::from(port.line.rate_bps());
                let until_ps = self.now_ps + hold_ps as u64;
                self.hold(receiver.port, until_ps);
            }
        }
        if receiver.node >= self.switches as usize {
            return true;
        }
        let payload = &self.ports[receiver.port].payload;
        let cause = match payload {
            _ if is_bad => DropCause::BadFcs,
            Some(payload) if payload.is_damaged(&landed.frame) => DropCause::DamagedPayload,
            _ => return true,
        };
        self.drop_frame(receiver.port, cause, landed.take_frame());
        false
    }
}
