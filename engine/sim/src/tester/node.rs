//! Parts of the tester, and its interface to the network.

use std::collections::VecDeque;
use std::ops::Range;

use p4mesh_pipeline::{EgressPacket, Frame, Switch, SwitchConfig, Tick};

use crate::config::{LoopConfig, TesterConfig};
use crate::drops::{DropCause, DropCounters};
use crate::event::{Source, Ticket};
use crate::fabric::{ArrivalRule, Fabric};
use crate::idle::{Bounds, Skipped};
use crate::known::Knowledge;
use crate::line::{Line, FCS_BYTES, PREAMBLE_BITS, STANDARD_GAP_BITS};
use crate::recirculation::Recirculation;
use crate::sleepiness::Sleepiness;
use crate::time::BitClock;

pub(super) const PRIORITIES: usize = 8;

/// A digest message on its way to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    pub digest: u32,
    pub fields: Vec<Vec<u8>>,
}

pub(super) struct Queued {
    pub packet: EgressPacket,
    pub enqueue_ps: u64,
    pub enqueue_depth: u32,
}

/// The queues of one port. A frame that is sent needs the first line of the cache alone, unless it is of another priority.
#[repr(C, align(64))]
pub(super) struct TesterPort {
    /// Bit p: queue p is not empty.
    pub(super) occupied: u8,
    pub(super) free_event_pending: bool,
    pub(super) pad_to_minimum: bool,
    /// Its number in the program.
    pub(super) number: u16,
    pub(super) tx_stamp_offset_ps: i64,
    pub(super) rx_stamp_offset_ps: i64,
    pub(super) queues: [VecDeque<Queued>; PRIORITIES],
    pub(super) drops: DropCounters,
}

impl TesterPort {
    fn new(
        number: u16,
        tx_stamp_offset_ps: i64,
        rx_stamp_offset_ps: i64,
        pad_to_minimum: bool,
    ) -> TesterPort {
        TesterPort {
            number,
            queues: Default::default(),
            occupied: 0,
            free_event_pending: false,
            tx_stamp_offset_ps,
            rx_stamp_offset_ps,
            pad_to_minimum,
            drops: DropCounters::default(),
        }
    }

    fn depth(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }
}

/// Meaning of a port number of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Unknown,
    Cpu,
    /// Index among the tester's ports; the loop port is the last.
    Port(usize),
}

/// One switch of the tester, with a program, a loop and an equal part of the ports.
pub struct Tester {
    /// Its number among the switches of the tester, and among the nodes.
    node: u32,
    pub(super) switch: Option<Switch>,
    pub(super) switch_config: SwitchConfig,
    pub(super) ingress_latency_ps: u64,
    pub(super) egress_latency_ps: u64,
    pub(super) packet_in_limit: usize,
    pub(super) cpu_port: u16,
    /// First port in the fabric; the loop port comes after the others.
    pub(super) base: usize,
    pub(super) loop_index: usize,
    /// Packets in the delay line at most; egress passes on other ports recirculate without having
    /// waited for the loop port.
    pub(super) loop_limit: usize,
    pub(super) places: Vec<Place>,
    pub(super) ports: Vec<TesterPort>,
    pub(super) recirculation: Recirculation,
    knowledge: Knowledge,
    sleepiness: Sleepiness,
    /// All that was skipped in sleep.
    slept: Skipped,
    pub(super) packet_ins: VecDeque<Frame>,
    pub(super) packet_ins_total: u64,
    pub(super) digests: VecDeque<Digest>,
    pub(super) drops: DropCounters,
    /// Packets in the queues of the ports, the loop port excepted.
    pub(super) queued: u64,
    /// Clones that egress made and that wait for their turn within the present event.
    pub(super) deferred: VecDeque<EgressPacket>,
    /// Time stamp of the egress pass in work.
    pub(super) egress_stamp_ps: u64,
}

impl Tester {
    /// Adds the ports of a switch of the tester to the fabric.
    pub(crate) fn new(
        config: &TesterConfig,
        skip_idle_loops: bool,
        seed: u64,
        node: u32,
        fabric: &mut Fabric,
    ) -> Tester {
        let base = fabric.ports.len();
        let recirculation = &config.recirculation;
        let members =
            || config.ports.iter().enumerate().filter(|(place, _)| config.switch_of(*place) == node);
        let greatest = members().map(|(place, port)| config.program_number(place, port)).max().unwrap_or(0);
        let greatest = greatest.max(recirculation.port).max(config.cpu_port);
        let mut places = vec![Place::Unknown; usize::from(greatest) + 1];
        let mut ports = Vec::new();
        for (local, (place, port)) in members().enumerate() {
            let line =
                Line::new(port.rate_bps.get(), port.clock_offset_ppm.ppb(), port.ifg_bits.get() as u32);
            let queue_frames = port.queue_frames.get() as usize;
            fabric.add_port(node, local as u32, port.number, line, queue_frames);
            let number = config.program_number(place, port);
            places[usize::from(number)] = Place::Port(local);
            ports.push(TesterPort::new(
                number,
                port.tx_stamp_offset_ns.ps(),
                port.rx_stamp_offset_ns.ps(),
                port.pad_to_minimum,
            ));
        }
        let loop_index = ports.len();
        let loop_frames = recirculation.queue_frames.get() as usize;
        let line = Line::new(recirculation.rate_bps.get(), 0, STANDARD_GAP_BITS);
        fabric.add_port(node, loop_index as u32, config.loop_number(node), line, loop_frames);
        places[usize::from(recirculation.port)] = Place::Port(loop_index);
        places[usize::from(config.cpu_port)] = Place::Cpu;
        ports.push(TesterPort::new(recirculation.port, 0, 0, false));
        Tester {
            node,
            switch: None,
            switch_config: SwitchConfig {
                tick: Tick::new(config.clock_tick_ps.get()),
                max_port: greatest,
                drop_port: config.drop_port,
                cpu_port: Some(config.cpu_port),
                seed,
                pass_limit: SwitchConfig::default().pass_limit,
                max_frame_bytes: config.max_frame_bytes.get() as usize - FCS_BYTES as usize,
                queues_per_port: PRIORITIES as u8,
            },
            ingress_latency_ps: config.ingress_latency_ns.ps(),
            egress_latency_ps: config.egress_latency_ns.ps(),
            packet_in_limit: config.packet_in_limit.get() as usize,
            cpu_port: config.cpu_port,
            base,
            loop_index,
            loop_limit: loop_frames + frames_within(recirculation),
            places,
            ports,
            recirculation: Recirculation::new(node, recirculation.latency_ns.ps()),
            knowledge: Knowledge::default(),
            sleepiness: Sleepiness::new(skip_idle_loops),
            slept: Skipped::default(),
            packet_ins: VecDeque::new(),
            packet_ins_total: 0,
            digests: VecDeque::new(),
            drops: DropCounters::default(),
            queued: 0,
            deferred: VecDeque::new(),
            egress_stamp_ps: 0,
        }
    }

    pub(crate) fn arrival_rule(&self) -> ArrivalRule {
        ArrivalRule { lookahead_bytes: None, latency_ps: self.ingress_latency_ps }
    }

    /// Configuration of a [`Switch`] for this node.
    pub fn switch_config(&self) -> &SwitchConfig {
        &self.switch_config
    }

    /// The switch, for its controller.
    pub fn switch(&mut self) -> Option<&mut Switch> {
        self.knowledge.invalidate();
        self.switch.as_mut()
    }

    /// Puts a switch in the place of the present one. Packets in its queues and in the loop are
    /// dropped, because their metadata belongs to the program that goes.
    pub(crate) fn install(&mut self, switch: Switch, fabric: &mut Fabric) {
        self.flush(fabric);
        self.knowledge.invalidate();
        self.switch = Some(switch);
    }

    /// Drops everything that is in the queues and in the loop.
    pub(crate) fn flush(&mut self, fabric: &mut Fabric) {
        for packet in self.recirculation.drain() {
            self.drops.count(DropCause::Reset);
            fabric.out.pool.give(packet.frame);
        }
        for port in &mut self.ports {
            port.occupied = 0;
            for queued in port.queues.iter_mut().flat_map(|queue| queue.drain(..)) {
                port.drops.count(DropCause::Reset);
                if let Some(switch) = &mut self.switch {
                    switch.discard(queued.packet, &mut fabric.out);
                }
            }
        }
        self.queued = 0;
    }

    /// Indices in the fabric of its ports, without that of the loop.
    pub(crate) fn fabric_ports(&self) -> Range<usize> {
        self.base..self.base + self.loop_index
    }

    /// Number in the program of a port of [`Tester::fabric_ports`].
    pub(crate) fn program_number(&self, index: usize) -> u16 {
        self.ports[index - self.base].number
    }

    pub(super) fn node(&self) -> u32 {
        self.node
    }

    /// True for a port that the program can send to.
    pub fn has_port(&self, port: u16) -> bool {
        self.place(port) != Place::Unknown
    }

    /// All that was skipped while the loop slept.
    pub(crate) fn slept(&self) -> Skipped {
        self.slept
    }

    /// Packets in the queues of the ports, without those of the loop.
    pub fn queued(&self) -> u64 {
        self.queued
    }

    /// Packets in the loop and in front of it.
    pub fn circulating(&self) -> usize {
        self.recirculation.len() + self.ports[self.loop_index].depth()
    }

    /// Packets in the queues of one port.
    pub(crate) fn depth(&self, local: usize) -> usize {
        self.ports[local].depth()
    }

    /// Drops that belong to no port, and those of one port's queues.
    pub(crate) fn drops(&self) -> &DropCounters {
        &self.drops
    }

    pub(crate) fn port_drops(&self, local: usize) -> &DropCounters {
        &self.ports[local].drops
    }

    /// Frames that the program has sent to the controller since the beginning.
    pub fn packet_ins_total(&self) -> u64 {
        self.packet_ins_total
    }

    /// The oldest frame for the controller.
    pub fn take_packet_in(&mut self) -> Option<Frame> {
        self.packet_ins.pop_front()
    }

    /// The oldest digest for the controller.
    pub fn take_digest(&mut self) -> Option<Digest> {
        self.digests.pop_front()
    }

    /// Index of the port that packets recirculate through.
    #[inline]
    pub(crate) fn loop_index(&self) -> usize {
        self.loop_index
    }

    /// True if no packet waits for the loop port: those of the loop are all in the delay line.
    #[inline]
    pub(crate) fn loop_port_is_idle(&self) -> bool {
        let port = &self.ports[self.loop_index];
        port.occupied == 0 && !port.free_event_pending
    }

    /// True while the loop sleeps.
    pub(crate) fn loop_is_asleep(&self) -> bool {
        self.recirculation.is_asleep()
    }

    /// Skips idle passes of the loop, whose port must be idle, up to `until_ps` at most, if there are any: packets in the
    /// loop, passes and events that were skipped. Afterwards the clock stands at the last of them. `None` where something
    /// else happens so soon that it is not worth trying.
    pub(crate) fn skip_idle(&mut self, until_ps: u64, fabric: &mut Fabric) -> Option<(u64, u64, u64)> {
        let (next_ps, calm_ps) = self.recirculation.next_ps()?;
        let before_ps = fabric.events.second_time_ps().unwrap_or(u64::MAX);
        let first_ps = fabric.events.next_time_ps()?;
        if next_ps > first_ps || before_ps.min(until_ps) < next_ps.saturating_add(calm_ps) {
            return None;
        }
        let count = self.recirculation.len();
        let index = self.base + self.loop_index;
        debug_assert!(!self.recirculation.is_asleep(), "its event is not that of a packet");
        let switch = self.switch.as_mut()?;
        if count > fabric.ports[index].queue_frames {
            return Some((count as u64, 0, 0));
        }
        let taken = fabric.events.take(Source::Loop(self.node));
        debug_assert!(taken.is_some(), "packets in the delay line have an event");
        let before_ps = fabric.events.next_time_ps().unwrap_or(u64::MAX);
        let bounds = Bounds { until_ps, before_ps, at_once: false };
        let skipped = self.recirculation.skip_idle(
            switch,
            &mut self.knowledge,
            &mut fabric.ports[index].line,
            self.egress_latency_ps,
            bounds,
            &mut fabric.events,
        );
        if skipped.passes > 0 {
            self.count_skipped(skipped, fabric);
            fabric.now_ps = skipped.last_ps;
        }
        Some((count as u64, skipped.passes, skipped.events))
    }

    fn count_skipped(&self, skipped: Skipped, fabric: &mut Fabric) {
        let counters = &mut fabric.ports[self.base + self.loop_index].counters;
        counters.tx_frames += skipped.passes;
        counters.tx_bytes += self.recirculation.skipped_bytes();
    }

    /// Lets the loop sleep, for whose first packet an event fell due now: up to `until_ps` at most, if that is worth
    /// trying. False if the loop stays awake.
    #[inline]
    pub(crate) fn fall_asleep(&mut self, ticket: Ticket, until_ps: u64, fabric: &mut Fabric) -> bool {
        self.sleepiness.is_due() && self.try_to_sleep(ticket, until_ps, fabric)
    }

    fn try_to_sleep(&mut self, ticket: Ticket, until_ps: u64, fabric: &mut Fabric) -> bool {
        let index = self.base + self.loop_index;
        let count = self.recirculation.len();
        let Some(switch) = &self.switch else {
            return false;
        };
        let line = &fabric.ports[index].line;
        let stamp_ps =
            line.next_first_bit_ps(fabric.now_ps + self.egress_latency_ps) - self.egress_latency_ps;
        // At the end of a sleep the first pass is the one that its proof told.
        let may_idle = self.recirculation.may_idle(ticket, stamp_ps, switch, &self.knowledge);
        if !self.loop_port_is_idle() || !may_idle {
            return false;
        }
        if count > fabric.ports[index].queue_frames {
            self.sleepiness.tried(0, count, 0);
            return false;
        }
        let sleeps = self.recirculation.fall_asleep(
            switch,
            &mut self.knowledge,
            &fabric.ports[index].line,
            self.egress_latency_ps,
            until_ps,
            &mut fabric.events,
        );
        if !sleeps {
            self.sleepiness.tried(0, count, self.recirculation.effort());
        }
        sleeps
    }

    /// Has the passes of a loop that sleeps done up to now, and its events pending again.
    #[inline]
    pub(crate) fn wake(&mut self, fabric: &mut Fabric) {
        if self.recirculation.is_asleep() {
            fabric.events.take(Source::Loop(self.node));
            self.end_sleep(fabric);
        }
    }

    /// The event of a loop that sleeps fell due; false if it is another one.
    #[inline]
    pub(crate) fn wake_in_time(&mut self, ticket: Ticket, fabric: &mut Fabric) -> bool {
        let ends = self.recirculation.is_end_of_sleep(ticket);
        if ends {
            self.end_sleep(fabric);
        }
        ends
    }

    fn end_sleep(&mut self, fabric: &mut Fabric) {
        let Some(switch) = &mut self.switch else {
            return;
        };
        // Before the passes since the sleep began.
        let effort = self.recirculation.effort();
        let skipped = self.recirculation.wake(
            fabric.now_ps,
            switch,
            &mut self.knowledge,
            &mut fabric.ports[self.base + self.loop_index].line,
            self.egress_latency_ps,
            &mut fabric.events,
        );
        self.sleepiness.tried(skipped.passes, self.recirculation.len(), effort);
        self.count_skipped(skipped, fabric);
        self.slept.passes += skipped.passes;
        self.slept.events += skipped.events;
    }

    /// Wakes a loop that sleeps if a pass of another packet has changed a register that its passes read.
    #[inline]
    pub(super) fn wake_if_disturbed(&mut self, fabric: &mut Fabric) {
        if self.recirculation.is_asleep() {
            let disturbed =
                self.switch.as_ref().is_some_and(|switch| !self.recirculation.sleeps_undisturbed(switch));
            if disturbed {
                self.wake(fabric);
            }
        }
    }

    #[inline]
    pub(super) fn place(&self, port: u16) -> Place {
        self.places.get(usize::from(port)).copied().unwrap_or(Place::Unknown)
    }
}

/// Frames of the shortest kind that the loop port sends while one is in the delay line.
fn frames_within(recirculation: &LoopConfig) -> usize {
    let clock = BitClock::new(recirculation.rate_bps.get(), 0);
    let shortest_bits = PREAMBLE_BITS + u64::from(8 * FCS_BYTES + STANDARD_GAP_BITS);
    (recirculation.latency_ns.ps() / clock.periods(shortest_bits).ps.max(1)) as usize + 2
}
