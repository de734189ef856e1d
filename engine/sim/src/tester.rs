//! The tester node: a P4 pipeline between ports, with a traffic manager.
//!
//! One queue per (port, priority), strict priority, tail drop. The egress pass of a packet runs
//! when its port can start to send it; where the port is idle, that is in the event of the ingress
//! pass. Time stamps are those of a MAC: the first bit after the start frame delimiter, leaving in
//! egress, arriving in ingress, so that their difference is the first-bit to first-bit delay of
//! whatever lies between.

use std::collections::VecDeque;

use p4mesh_pipeline::{
    EgressPacket, Frame, IngressPacket, InstanceType, Output, Preserved, QueueTimes, Switch,
    SwitchConfig,
};

use crate::config::{LoopConfig, TesterConfig};
use crate::drops::{DropCause, DropCounters};
use crate::event::{Source, Ticket};
use crate::fabric::{Arrival, ArrivalRule, Fabric};
use crate::idle::Bounds;
use crate::line::{wire_bytes, Line, FCS_BYTES, MIN_WIRE_BYTES, PREAMBLE_BITS, STANDARD_GAP_BITS};
use crate::recirculation::Recirculation;
use crate::time::BitClock;

/// Passes that one event may cause without time going by (resubmits, clones of clones).
const PASSES_PER_EVENT: u32 = 65_536;
const PRIORITIES: usize = 8;

/// A digest message on its way to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    pub digest: u32,
    pub fields: Vec<Vec<u8>>,
}

struct Queued {
    packet: EgressPacket,
    enqueue_ps: u64,
    enqueue_depth: u32,
}

/// The queues of one port.
struct TesterPort {
    queues: [VecDeque<Queued>; PRIORITIES],
    /// Bit p: queue p is not empty.
    occupied: u8,
    free_event_pending: bool,
    tx_stamp_offset_ps: i64,
    rx_stamp_offset_ps: i64,
    pad_to_minimum: bool,
    drops: DropCounters,
}

impl TesterPort {
    fn new(tx_stamp_offset_ps: i64, rx_stamp_offset_ps: i64, pad_to_minimum: bool) -> TesterPort {
        TesterPort {
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

/// Where a port number of the program leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Unknown,
    Cpu,
    /// Index among the tester's ports; the loop port is the last.
    Port(usize),
}

/// The node.
pub struct Tester {
    switch: Option<Switch>,
    switch_config: SwitchConfig,
    ingress_latency_ps: u64,
    egress_latency_ps: u64,
    packet_in_limit: usize,
    cpu_port: u16,
    /// First port in the fabric; the loop port comes after the others.
    base: usize,
    loop_index: usize,
    /// Packets in the delay line at most; egress passes on other ports recirculate without having
    /// waited for the loop port.
    loop_limit: usize,
    places: Vec<Place>,
    ports: Vec<TesterPort>,
    recirculation: Recirculation,
    packet_ins: VecDeque<Frame>,
    packet_ins_total: u64,
    digests: VecDeque<Digest>,
    drops: DropCounters,
    /// Packets in the queues of the ports, the loop port excepted.
    queued: u64,
    /// Clones that egress made and that wait for their turn within the present event.
    deferred: VecDeque<EgressPacket>,
    passes_left: u32,
    /// Time stamp of the egress pass in work.
    egress_stamp_ps: u64,
    ingress_outputs: Vec<Output>,
    egress_outputs: Vec<Output>,
}

impl Tester {
    /// Adds the ports of a tester to the fabric.
    pub(crate) fn new(config: &TesterConfig, seed: u64, node: u32, fabric: &mut Fabric) -> Tester {
        let base = fabric.ports.len();
        let recirculation = &config.recirculation;
        let greatest = config
            .ports
            .iter()
            .map(|port| port.number)
            .max()
            .unwrap_or(0);
        let greatest = greatest.max(recirculation.port).max(config.cpu_port);
        let mut places = vec![Place::Unknown; usize::from(greatest) + 1];
        let mut ports = Vec::new();
        for (local, port) in config.ports.iter().enumerate() {
            let line = Line::new(
                port.rate_bps.get(),
                port.clock_offset_ppm.ppb(),
                port.ifg_bits.get() as u32,
            );
            let queue_frames = port.queue_frames.get() as usize;
            fabric.add_port(node, local as u32, port.number, line, queue_frames);
            places[usize::from(port.number)] = Place::Port(local);
            ports.push(TesterPort::new(
                port.tx_stamp_offset_ns.ps(),
                port.rx_stamp_offset_ns.ps(),
                port.pad_to_minimum,
            ));
        }
        let loop_index = ports.len();
        let loop_frames = recirculation.queue_frames.get() as usize;
        let line = Line::new(recirculation.rate_bps.get(), 0, STANDARD_GAP_BITS);
        fabric.add_port(
            node,
            loop_index as u32,
            recirculation.port,
            line,
            loop_frames,
        );
        places[usize::from(recirculation.port)] = Place::Port(loop_index);
        places[usize::from(config.cpu_port)] = Place::Cpu;
        ports.push(TesterPort::new(0, 0, false));
        Tester {
            switch: None,
            switch_config: SwitchConfig {
                ps_per_tick: config.clock_tick_ps.get(),
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
            recirculation: Recirculation::new(recirculation.latency_ns.ps()),
            packet_ins: VecDeque::new(),
            packet_ins_total: 0,
            digests: VecDeque::new(),
            drops: DropCounters::default(),
            queued: 0,
            deferred: VecDeque::new(),
            passes_left: 0,
            egress_stamp_ps: 0,
            ingress_outputs: Vec::new(),
            egress_outputs: Vec::new(),
        }
    }

    pub(crate) fn arrival_rule(&self) -> ArrivalRule {
        ArrivalRule {
            lookahead_bytes: None,
            latency_ps: self.ingress_latency_ps,
        }
    }

    /// How a [`Switch`] for this node is configured.
    pub fn switch_config(&self) -> &SwitchConfig {
        &self.switch_config
    }

    pub fn switch(&mut self) -> Option<&mut Switch> {
        self.switch.as_mut()
    }

    /// Puts a switch in the place of the present one. Packets in its queues and in the loop are
    /// dropped, because their metadata belongs to the program that goes.
    pub(crate) fn install(&mut self, switch: Switch, fabric: &mut Fabric) {
        self.flush(fabric);
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

    /// Index in the fabric of the port that the program calls `port`.
    pub(crate) fn fabric_port(&self, port: u16) -> Option<usize> {
        match self.place(port) {
            Place::Port(local) if local != self.loop_index => Some(self.base + local),
            _ => None,
        }
    }

    /// True for a port that the program can send to.
    pub fn has_port(&self, port: u16) -> bool {
        self.place(port) != Place::Unknown
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

    /// A frame from the controller, as the program sees it on the CPU port.
    pub(crate) fn packet_out(&mut self, frame: Frame, fabric: &mut Fabric) {
        let now_ps = fabric.now_ps;
        self.accept(self.cpu_port, frame, now_ps, fabric);
    }

    /// A frame from a link.
    #[inline]
    pub(crate) fn receive(&mut self, local: usize, arrival: Arrival, fabric: &mut Fabric) {
        let port = fabric.ports[self.base + local].id;
        let stamp_ps = arrival
            .first_bit_ps
            .saturating_add_signed(self.ports[local].rx_stamp_offset_ps);
        self.accept(port, arrival.frame, stamp_ps, fabric);
    }

    /// A packet that comes back from the loop.
    pub(crate) fn recirculated(&mut self, ticket: Ticket, fabric: &mut Fabric) {
        if let Some((packet, first_bit_ps)) = self.recirculation.pop(ticket, &mut fabric.events) {
            self.passes_left = PASSES_PER_EVENT;
            self.ingress(packet, first_bit_ps, fabric);
        }
    }

    /// True for the port that packets recirculate through.
    #[inline]
    pub(crate) fn is_loop(&self, local: usize) -> bool {
        local == self.loop_index
    }

    /// True if no packet waits for the loop port: those of the loop are all in the delay line.
    #[inline]
    pub(crate) fn loop_port_is_idle(&self) -> bool {
        let port = &self.ports[self.loop_index];
        port.occupied == 0 && !port.free_event_pending
    }

    /// Skips idle passes of the loop, whose port must be idle, up to `until_ps` at most, if there are any: packets in the
    /// loop, passes and events that were skipped. Afterwards the clock stands at the last of them.
    pub(crate) fn skip_idle(&mut self, until_ps: u64, fabric: &mut Fabric) -> (u64, u64, u64) {
        let count = self.recirculation.len();
        let index = self.base + self.loop_index;
        let Some(switch) = &mut self.switch else {
            return (0, 0, 0);
        };
        if count == 0 || count > fabric.ports[index].queue_frames {
            return (count as u64, 0, 0);
        }
        let taken = fabric.events.take(Source::Loop);
        debug_assert!(taken.is_some(), "packets in the delay line have an event");
        let before_ps = fabric.events.next_time_ps().unwrap_or(u64::MAX);
        let bounds = Bounds {
            until_ps,
            before_ps,
        };
        let line = &mut fabric.ports[index].line;
        let skipped = self.recirculation.skip_idle(
            switch,
            line,
            self.egress_latency_ps,
            bounds,
            &mut fabric.events,
        );
        if skipped.passes > 0 {
            let counters = &mut fabric.ports[index].counters;
            counters.tx_frames += skipped.passes;
            counters.tx_bytes += self.recirculation.skipped_bytes();
            fabric.now_ps = skipped.last_ps;
        }
        (count as u64, skipped.passes, skipped.events)
    }

    /// The wire of a port is free.
    pub(crate) fn port_free(&mut self, local: usize, fabric: &mut Fabric) {
        self.passes_left = PASSES_PER_EVENT;
        self.ports[local].free_event_pending = false;
        self.serve(local, fabric);
        self.finish_deferred(fabric);
    }

    fn accept(&mut self, port: u16, frame: Frame, stamp_ps: u64, fabric: &mut Fabric) {
        if self.switch.is_none() {
            self.drops.count(DropCause::NoProgram);
            fabric.out.pool.give(frame);
            return;
        }
        self.passes_left = PASSES_PER_EVENT;
        let instance_type = InstanceType::Normal;
        let packet = IngressPacket {
            port,
            frame,
            instance_type,
            preserved: Preserved::default(),
        };
        self.ingress(packet, stamp_ps, fabric);
    }

    /// An ingress pass, the passes of packets that it resubmits, and the egress passes for which
    /// the port is idle.
    fn ingress(&mut self, packet: IngressPacket, stamp_ps: u64, fabric: &mut Fabric) {
        let now_ps = fabric.now_ps;
        let mut resubmitted = Some(packet);
        while let Some(packet) = resubmitted.take() {
            if !self.may_pass() {
                fabric.out.pool.give(packet.frame);
                break;
            }
            let Some(switch) = &mut self.switch else {
                break;
            };
            switch.ingress(packet, stamp_ps, now_ps, &mut fabric.out);
            let mut outputs = std::mem::replace(
                &mut fabric.out.items,
                std::mem::take(&mut self.ingress_outputs),
            );
            for output in outputs.drain(..) {
                match output {
                    Output::Reenter(packet)
                        if packet.instance_type == InstanceType::Resubmitted =>
                    {
                        resubmitted = Some(packet);
                    }
                    other => self.dispatch(other, fabric),
                }
            }
            self.ingress_outputs = outputs;
        }
        self.finish_deferred(fabric);
    }

    fn finish_deferred(&mut self, fabric: &mut Fabric) {
        while let Some(packet) = self.deferred.pop_front() {
            self.enqueue(packet, fabric);
        }
    }

    /// Uses up one of the passes of this event.
    fn may_pass(&mut self) -> bool {
        if self.passes_left == 0 {
            self.drops.count(DropCause::PassLimit);
            return false;
        }
        self.passes_left -= 1;
        true
    }

    /// Carries out one output of a pass.
    fn dispatch(&mut self, output: Output, fabric: &mut Fabric) {
        match output {
            Output::Enqueue(packet) => self.enqueue(packet, fabric),
            Output::Transmit { port, frame } => self.transmit(port, frame, fabric),
            Output::Reenter(packet) => self.recirculate(packet, fabric),
            Output::Digest { digest, fields } => {
                if self.digests.len() < self.packet_in_limit {
                    self.digests.push_back(Digest { digest, fields });
                } else {
                    self.drops.count(DropCause::DigestOverflow);
                }
            }
            Output::Drop(reason) => self.drops.count(reason.into()),
        }
    }

    #[inline]
    fn place(&self, port: u16) -> Place {
        self.places
            .get(usize::from(port))
            .copied()
            .unwrap_or(Place::Unknown)
    }

    fn enqueue(&mut self, packet: EgressPacket, fabric: &mut Fabric) {
        let now_ps = fabric.now_ps;
        let local = match self.place(packet.egress_port) {
            Place::Port(local) => local,
            Place::Cpu => return self.egress(None, packet, QueueTimes::at(now_ps), fabric),
            Place::Unknown => {
                self.drops.count(DropCause::UnknownPort);
                return self.discard(packet, fabric);
            }
        };
        let free_ps = fabric.ports[self.base + local].line.free_ps();
        let port = &mut self.ports[local];
        if port.occupied == 0 && free_ps <= now_ps + self.egress_latency_ps {
            return self.egress(Some(local), packet, QueueTimes::at(now_ps), fabric);
        }
        let priority = usize::from(packet.priority).min(PRIORITIES - 1);
        let queue = &mut port.queues[priority];
        if queue.len() >= fabric.ports[self.base + local].queue_frames {
            let cause = if local == self.loop_index {
                DropCause::LoopFull
            } else {
                DropCause::QueueFull
            };
            port.drops.count(cause);
            return self.discard(packet, fabric);
        }
        let enqueue_depth = queue.len() as u32;
        queue.push_back(Queued {
            packet,
            enqueue_ps: now_ps,
            enqueue_depth,
        });
        port.occupied |= 1 << priority;
        if local != self.loop_index {
            self.queued += 1;
        }
        self.await_free(local, fabric);
    }

    fn discard(&mut self, packet: EgressPacket, fabric: &mut Fabric) {
        if let Some(switch) = &mut self.switch {
            switch.discard(packet, &mut fabric.out);
        }
    }

    /// Asks for an event when the wire of a port becomes free.
    fn await_free(&mut self, local: usize, fabric: &mut Fabric) {
        let port = &mut self.ports[local];
        if !port.free_event_pending {
            port.free_event_pending = true;
            let index = self.base + local;
            let at_ps = fabric.ports[index]
                .line
                .free_ps()
                .saturating_sub(self.egress_latency_ps);
            fabric
                .events
                .schedule(at_ps.max(fabric.now_ps), Source::PortFree(index as u32));
        }
    }

    /// Sends from the queues of a port while its wire is free.
    fn serve(&mut self, local: usize, fabric: &mut Fabric) {
        loop {
            let port = &mut self.ports[local];
            if port.occupied == 0 {
                return;
            }
            if fabric.ports[self.base + local].line.free_ps()
                > fabric.now_ps + self.egress_latency_ps
            {
                return self.await_free(local, fabric);
            }
            let priority = port.occupied.ilog2() as usize;
            let queue = &mut port.queues[priority];
            let Some(queued) = queue.pop_front() else {
                return;
            };
            let dequeue_depth = queue.len() as u32;
            if queue.is_empty() {
                port.occupied &= !(1 << priority);
            }
            if local != self.loop_index {
                self.queued -= 1;
            }
            let Queued {
                packet,
                enqueue_ps,
                enqueue_depth,
            } = queued;
            let times = QueueTimes {
                enqueue_ps,
                dequeue_ps: fabric.now_ps,
                enqueue_depth,
                dequeue_depth,
            };
            self.egress(Some(local), packet, times, fabric);
        }
    }

    /// An egress pass on a port, or on the CPU port, and what follows from it. Clones wait until
    /// the event has done everything else.
    fn egress(
        &mut self,
        local: Option<usize>,
        packet: EgressPacket,
        times: QueueTimes,
        fabric: &mut Fabric,
    ) {
        if !self.may_pass() {
            return self.discard(packet, fabric);
        }
        let now_ps = fabric.now_ps;
        let stamp_ps = match local {
            Some(local) => {
                let line = &fabric.ports[self.base + local].line;
                let first_bit_ps = line.next_first_bit_ps(now_ps + self.egress_latency_ps);
                let offset_ps = self.ports[local].tx_stamp_offset_ps;
                (first_bit_ps - self.egress_latency_ps).saturating_add_signed(offset_ps)
            }
            None => now_ps,
        };
        self.egress_stamp_ps = stamp_ps;
        let Some(switch) = &mut self.switch else {
            return;
        };
        switch.egress(packet, times, stamp_ps, now_ps, &mut fabric.out);
        let mut outputs = std::mem::replace(
            &mut fabric.out.items,
            std::mem::take(&mut self.egress_outputs),
        );
        for output in outputs.drain(..) {
            match output {
                Output::Enqueue(packet) => self.deferred.push_back(packet),
                other => self.dispatch(other, fabric),
            }
        }
        self.egress_outputs = outputs;
    }

    fn transmit(&mut self, port: u16, mut frame: Frame, fabric: &mut Fabric) {
        match self.place(port) {
            Place::Cpu => self.packet_in(frame, fabric),
            Place::Unknown => {
                self.drops.count(DropCause::UnknownPort);
                fabric.out.pool.give(frame);
            }
            Place::Port(local) if local == self.loop_index => {
                let instance_type = InstanceType::Normal;
                self.recirculate(
                    IngressPacket {
                        port,
                        frame,
                        instance_type,
                        preserved: Preserved::default(),
                    },
                    fabric,
                );
            }
            Place::Port(local) => {
                let minimum = (MIN_WIRE_BYTES - FCS_BYTES) as usize;
                if frame.len() < minimum && self.ports[local].pad_to_minimum {
                    frame.resize(minimum, 0);
                }
                fabric.send(
                    self.base + local,
                    frame,
                    fabric.now_ps + self.egress_latency_ps,
                );
            }
        }
    }

    fn packet_in(&mut self, frame: Frame, fabric: &mut Fabric) {
        self.packet_ins_total += 1;
        if self.packet_ins.len() < self.packet_in_limit {
            self.packet_ins.push_back(frame);
        } else {
            self.drops.count(DropCause::PacketInOverflow);
            fabric.out.pool.give(frame);
        }
    }

    /// Over the wire of the loop port and back to ingress.
    fn recirculate(&mut self, packet: IngressPacket, fabric: &mut Fabric) {
        if self.recirculation.len() >= self.loop_limit {
            self.drops.count(DropCause::LoopFull);
            fabric.out.pool.give(packet.frame);
            return;
        }
        let length = wire_bytes(&packet.frame);
        let port = &mut fabric.ports[self.base + self.loop_index];
        let slot = port
            .line
            .send(fabric.now_ps + self.egress_latency_ps, length);
        port.counters.tx_frames += 1;
        port.counters.tx_bytes += u64::from(length);
        self.recirculation.push(
            packet,
            slot.first_bit_ps,
            slot.last_bit_ps,
            self.egress_stamp_ps,
            &mut fabric.events,
        );
    }
}

/// Frames of the shortest kind that the loop port sends while one is in the delay line.
fn frames_within(recirculation: &LoopConfig) -> usize {
    let clock = BitClock::new(recirculation.rate_bps.get(), 0);
    let shortest_bits = PREAMBLE_BITS + u64::from(8 * FCS_BYTES + STANDARD_GAP_BITS);
    (recirculation.latency_ns.ps() / clock.periods(shortest_bits).ps.max(1)) as usize + 2
}

/// Queue times of a packet that did not wait.
trait AtOnce {
    fn at(now_ps: u64) -> Self;
}

impl AtOnce for QueueTimes {
    fn at(now_ps: u64) -> QueueTimes {
        QueueTimes {
            enqueue_ps: now_ps,
            dequeue_ps: now_ps,
            enqueue_depth: 0,
            dequeue_depth: 0,
        }
    }
}
