//! A learning Ethernet switch: the way of a frame through it. Its parts have files of their own.

use std::collections::BTreeMap;

use p4mesh_pipeline::Frame;
use p4mesh_wire::ethernet::{self, is_group, is_link_local};
use p4mesh_wire::vlan::{self, Tag};

use super::broadcast::Broadcast;
use super::buffer::Occupancy;
use super::chassis::Chassis;
use super::flood_limit::FloodLimit;
use super::impairments::{Faults, Impairments};
use super::input_pacing::InputPacing;
use super::input_queue::{InputQueues, Ready};
use super::learning::LearningPath;
use super::lookup::Lookup;
use super::mac_table::{Learned, MacTable};
use super::pause_sender::PauseSender;
use super::simultaneous::Simultaneous;
use super::snooping::{Scope, Snooping};
use super::switch_config::{EthernetSwitchConfig, Forwarding};
use super::switching_fabric::SwitchingFabric;
use super::vlan::Vlans;
use super::{Device, DevicePorts};
use crate::arrival::Arrival;
use crate::config::Latency;
use crate::drops::DropCause;
use crate::fabric::ArrivalRule;
use crate::line::wire_bytes;
use crate::rng::Rng;

#[derive(Default)]
struct Counters {
    learned: u64,
    moved: u64,
    not_learned: u64,
    /// Requests that the learning path had no room for.
    not_asked: u64,
    unicast: u64,
    flooded_unknown: u64,
    flooded_group: u64,
    /// Copies to the members of a group.
    to_members: u64,
}

impl Counters {
    fn learned(&mut self, learned: Learned) {
        match learned {
            Learned::Known => {}
            Learned::New => self.learned += 1,
            Learned::Moved => self.moved += 1,
            Learned::Full | Learned::Refused => self.not_learned += 1,
        }
    }
}

/// The model.
pub struct EthernetSwitch {
    macs: MacTable,
    lookup: Option<Lookup>,
    broadcast: Option<Broadcast>,
    learning_path: Option<LearningPath>,
    flood_limit: Option<FloodLimit>,
    input_pacing: Option<InputPacing>,
    input_queues: Option<InputQueues>,
    chassis: Option<Chassis>,
    fabric: Option<SwitchingFabric>,
    buffer: Occupancy,
    pause: Option<PauseSender>,
    vlans: Option<Vlans>,
    snooping: Option<Snooping>,
    simultaneous: Option<Simultaneous>,
    impairments: Option<Impairments>,
    loss: Rng,
    jitter: Rng,
    counters: Counters,
    /// From the last bit (store and forward) or the look-ahead to the first bit out.
    latency_ps: u64,
    config: EthernetSwitchConfig,
}

/// Outputs of a frame.
enum Decision {
    One(usize),
    /// To all ports of the VLAN with a link but the one it came from.
    Flood,
    /// To these, but the one it came from.
    Members(Vec<usize>),
    Drop(DropCause),
}

/// Shared data of the copies of one frame.
#[derive(Clone, Copy)]
struct Passage {
    input: usize,
    last_bit_ps: u64,
    /// Extra latency.
    delay_ps: u64,
    tag: Option<Tag>,
    /// Its length without FCS on arrival, up to the minimum of Ethernet.
    least_bytes: usize,
    bad_fcs: bool,
    faults: Faults,
}

impl EthernetSwitch {
    pub fn new(config: EthernetSwitchConfig, latency: Latency, name: &str, seed: u64) -> EthernetSwitch {
        EthernetSwitch::with_ports(config, latency, name, seed, &[])
    }

    /// `ports` are the port numbers of the device, for the parts that name them.
    pub fn with_ports(
        config: EthernetSwitchConfig,
        latency: Latency,
        name: &str,
        seed: u64,
        ports: &[u16],
    ) -> EthernetSwitch {
        let numbers = || Rng::new(seed);
        let mut switch = EthernetSwitch {
            macs: MacTable::new(&config.mac_table),
            lookup: config.lookup.as_ref().map(Lookup::new),
            broadcast: config.broadcast.as_ref().map(Broadcast::new),
            learning_path: config.learning_path.as_ref().map(LearningPath::new),
            flood_limit: config.flood_limit.as_ref().map(FloodLimit::new),
            input_pacing: config.input_pacing.as_ref().map(InputPacing::new),
            input_queues: config.input_queue.as_ref().map(InputQueues::new),
            chassis: config.chassis.as_ref().map(|it| Chassis::new(it, numbers())),
            fabric: config.fabric.as_ref().map(SwitchingFabric::new),
            buffer: Occupancy::default(),
            pause: config.pause.as_ref().map(PauseSender::new),
            vlans: config.vlans.as_ref().map(|it| Vlans::new(it, ports)),
            snooping: config.snooping.as_ref().map(|it| Snooping::new(it, ports)),
            simultaneous: config.simultaneous_arrivals.as_ref().map(|it| Simultaneous::new(it, numbers())),
            impairments: config.impairments.as_ref().map(|it| Impairments::new(it, numbers())),
            loss: numbers(),
            jitter: numbers(),
            counters: Counters::default(),
            latency_ps: latency.ps(),
            config,
        };
        switch.reseed(seed, name);
        switch
    }

    /// Addresses in the table that have not aged.
    pub fn addresses(&self, now_ps: u64) -> usize {
        self.macs.len(now_ps)
    }

    /// Multicast groups with a member.
    pub fn groups(&self, now_ps: u64) -> usize {
        self.snooping.as_ref().map_or(0, |it| it.groups(now_ps))
    }

    /// Reason why a frame ends at the input, if it does.
    #[inline]
    fn refuse(&mut self, arrival: &Arrival, port: usize, now_ps: u64) -> Option<DropCause> {
        let length = u64::from(wire_bytes(&arrival.frame));
        if length < self.config.min_frame_bytes.get() || arrival.frame.len() < ethernet::HEADER_BYTES {
            return Some(DropCause::Undersize);
        }
        if length > self.config.max_frame_bytes.get() {
            return Some(DropCause::Oversize);
        }
        if arrival.fcs.is_bad() && self.config.filter_bad_fcs {
            return Some(DropCause::BadFcs);
        }
        if is_link_local(ethernet::destination_number(&arrival.frame)) {
            return Some(DropCause::LinkLocal);
        }
        if self.lookup.as_mut().is_some_and(|lookup| !lookup.admit(now_ps)) {
            return Some(DropCause::LookupOverload);
        }
        let to_group = is_group(ethernet::destination_number(&arrival.frame));
        if self.simultaneous.as_mut().is_some_and(|it| it.loses(port, to_group, length as u32, now_ps)) {
            return Some(DropCause::SimultaneousArrival);
        }
        self.loss.chance_ppb(self.config.loss_ppb.get() as u32).then_some(DropCause::RandomLoss)
    }

    /// Learns the source address, at once or through the learning path. An address that is known
    /// at its port is refreshed at once either way.
    #[inline]
    fn learn(&mut self, key: u64, port: usize, now_ps: u64) {
        if let Some(path) = &mut self.learning_path {
            if self.macs.lookup(key, now_ps) != Some(port) {
                self.counters.not_asked += u64::from(!path.ask(key, port, now_ps));
                return;
            }
        }
        self.counters.learned(self.macs.learn(key, port, now_ps));
    }

    #[inline]
    fn decide(&mut self, frame: &[u8], port: usize, vid: u16, now_ps: u64) -> Decision {
        let destination = ethernet::destination_number(frame);
        if !is_group(destination) {
            return match self.macs.lookup(key(vid, destination), now_ps) {
                Some(output) if output == port => Decision::Drop(DropCause::SamePort),
                Some(output) => Decision::One(output),
                None => Decision::Flood,
            };
        }
        let Some(snooping) = &mut self.snooping else {
            return Decision::Flood;
        };
        match snooping.scope(vid, destination, port, frame, now_ps) {
            Scope::Flood => Decision::Flood,
            Scope::Ports(ports) => Decision::Members(ports),
            Scope::Drop => Decision::Drop(DropCause::NoMembers),
        }
    }

    /// Sends the questions of the snooping table that are due, with the tag that the port asks for.
    fn ask_members(&mut self, ports: &mut DevicePorts) {
        let Some(snooping) = self.snooping.as_mut().filter(|it| it.next_question_ps().is_some()) else {
            return;
        };
        let now_ps = ports.now_ps();
        for (port, vid, mut frame) in snooping.ask(now_ps) {
            if let Some(vlans) = &self.vlans {
                vlans.dress(port, Tag { tag_type: vlan::CUSTOMER, vid, priority: 0 }, &mut frame);
            }
            let frame = ports.copy(&frame);
            ports.enqueue(port, frame, now_ps);
            if let Some(at_ps) = snooping.next_question_ps() {
                ports.set_timer(port, at_ps);
            }
        }
    }

    /// How long a flooded frame waits for the broadcast server; an error when it is dropped.
    fn admit_to_all(&mut self, frame: &Frame, now_ps: u64) -> Result<u64, DropCause> {
        if let Some(limit) = &mut self.flood_limit {
            if !limit.admit(now_ps) {
                return Err(DropCause::FloodLimit);
            }
        }
        self.serve(frame, now_ps)
    }

    /// How long a frame waits for the server that replicates frames, if it needs it.
    fn serve(&mut self, frame: &Frame, now_ps: u64) -> Result<u64, DropCause> {
        let group = is_group(ethernet::destination_number(frame));
        let Some(server) = self.broadcast.as_mut().filter(|it| group || it.serves_unknown_unicast()) else {
            return Ok(0);
        };
        server.admit(now_ps, wire_bytes(frame)).ok_or(DropCause::BroadcastOverload)
    }

    /// One copy of a frame for every port in `outputs` that the VLAN and the link allow.
    fn replicate(
        &mut self,
        frame: Frame,
        outputs: impl Iterator<Item = usize>,
        passage: Passage,
        ports: &mut DevicePorts,
    ) {
        let mut copies = 0;
        for output in outputs {
            if output != passage.input && ports.link_up(output) && self.carries(output, passage.tag) {
                let copy = ports.copy(&frame);
                self.pass(copy, output, passage, ports);
                copies += 1;
            }
        }
        match copies {
            0 => ports.drop(passage.input, DropCause::NoOutput, frame),
            _ => ports.give(frame),
        }
    }

    fn carries(&self, output: usize, tag: Option<Tag>) -> bool {
        match (&self.vlans, tag) {
            (Some(vlans), Some(tag)) => vlans.carries(output, tag.vid),
            _ => true,
        }
    }

    /// One frame on its way to one output: tag, faults, delays.
    #[inline(always)]
    fn pass(&mut self, mut frame: Frame, output: usize, passage: Passage, ports: &mut DevicePorts) {
        if let (Some(vlans), Some(tag)) = (&self.vlans, passage.tag) {
            vlans.dress(output, tag, &mut frame);
            // A frame that has lost its tag is padded, as IEEE 802.3 knows none below its minimum.
            if frame.len() < passage.least_bytes {
                frame.resize(passage.least_bytes, 0);
            }
        }
        let mut ready_ps = self.ready_ps(passage, output, ports) + passage.delay_ps;
        // In front of the fabric of a chassis, which takes frames as they come, jitter would let them overtake.
        if self.chassis.is_none() {
            ready_ps += self.jitter_ps();
        }
        if passage.faults != Faults::default() {
            return self.fault(frame, output, ready_ps, passage, ports);
        }
        let ready = ready(frame, output, ready_ps, passage.bad_fcs);
        self.send_to_output(passage.input, ready, ports);
    }

    #[inline]
    fn jitter_ps(&mut self) -> u64 {
        self.config.jitter.as_ref().map_or(0, |jitter| jitter.draw_ps(&mut self.jitter))
    }

    fn fault(
        &mut self,
        mut frame: Frame,
        output: usize,
        ready_ps: u64,
        passage: Passage,
        ports: &mut DevicePorts,
    ) {
        let Some(impairments) = &mut self.impairments else {
            return ports.give(frame);
        };
        if passage.faults.corrupt {
            impairments.corrupt(&mut frame);
        }
        let second = passage.faults.duplicate.then(|| ports.copy(&frame));
        let first = ready(frame, output, ready_ps, passage.bad_fcs);
        if passage.faults.reorder {
            impairments.hold(passage.input, first, ports);
        } else {
            self.send_to_output(passage.input, first, ports);
        }
        if let Some(second) = second {
            let second = ready(second, output, ready_ps, passage.bad_fcs);
            self.send_to_output(passage.input, second, ports);
        }
    }

    /// Into the queue of the output, or of the input where there are input queues.
    #[inline(always)]
    fn send_to_output(&mut self, input: usize, mut ready: Ready, ports: &mut DevicePorts) {
        if let Some(queues) = &mut self.input_queues {
            let Some(first) = queues.arrive(input, ready, ports) else { return };
            ready = first;
        }
        self.cross(input, ready, ports);
    }

    /// Over the fabric between modules, where there is one, into the queue of the output.
    #[inline(always)]
    fn cross(&mut self, input: usize, mut ready: Ready, ports: &mut DevicePorts) {
        if let Some(chassis) = &mut self.chassis {
            let Some(carried) = chassis.carry(input, ready, ports) else { return };
            ready = carried;
        }
        self.enqueue(input, ready, ports);
    }

    #[inline(always)]
    fn enqueue(&mut self, input: usize, ready: Ready, ports: &mut DevicePorts) {
        // A frame on its way through the device does not wait before it is ready.
        let mut ready_ps = ready.ready_ps.max(ports.now_ps());
        if self.chassis.is_some() {
            ready_ps += self.jitter_ps();
        }
        let bytes = match &self.config.shared_buffer {
            Some(shared) => {
                let bytes = shared.occupied_bytes(ready.wire_bytes);
                let waits = !ports.idle_at(ready.output, ready_ps);
                if waits && self.buffer.used(ready_ps) + bytes > shared.bytes.get() {
                    return ports.drop(ready.output, DropCause::BufferFull, ready.frame);
                }
                bytes
            }
            None => 0,
        };
        let start_ps = ports.enqueue_marked(ready.output, ready.frame, ready_ps, ready.bad_fcs);
        let Some(start_ps) = start_ps.filter(|&start_ps| start_ps > ready_ps) else {
            return;
        };
        if bytes > 0 {
            self.buffer.add(bytes, start_ps);
        }
        if let Some(pause) = &mut self.pause {
            pause.queued(input, start_ps, ports);
        }
    }

    /// When the first bit may leave: now, or after storing when the output is faster than the input.
    #[inline]
    fn ready_ps(&self, passage: Passage, output: usize, ports: &DevicePorts) -> u64 {
        match self.config.forwarding {
            Forwarding::CutThrough if ports.rate_bps(output) > ports.rate_bps(passage.input) => {
                passage.last_bit_ps + self.latency_ps
            }
            _ => ports.now_ps(),
        }
    }
}

#[inline]
fn ready(frame: Frame, output: usize, ready_ps: u64, bad_fcs: bool) -> Ready {
    Ready { output, ready_ps, bad_fcs, wire_bytes: wire_bytes(&frame), frame }
}

impl Device for EthernetSwitch {
    fn arrival_rule(&self, _port: usize) -> ArrivalRule {
        let look_ahead = self.config.look_ahead_bytes;
        ArrivalRule { lookahead_bytes: look_ahead.map(|it| it.get() as u32), latency_ps: self.latency_ps }
    }

    fn receive(&mut self, port: usize, arrival: &mut Arrival, ports: &mut DevicePorts) {
        let now_ps = ports.now_ps();
        if let Some(cause) = self.refuse(arrival, port, now_ps) {
            return ports.drop(port, cause, arrival.take_frame());
        }
        let least_bytes = arrival.frame.len().min(ethernet::MIN_FRAME_BYTES);
        let mut tag = None;
        if let Some(vlans) = &self.vlans {
            tag = vlans.admit(port, &mut arrival.frame);
            if tag.is_none() {
                return ports.drop(port, DropCause::VlanFilter, arrival.take_frame());
            }
        }
        if let Some(path) = &mut self.learning_path {
            let Self { macs, counters, .. } = self;
            path.carry_out(now_ps, macs, |learned| counters.learned(learned));
        }
        let vid = tag.map_or(0, |tag| tag.vid);
        let source = ethernet::source_number(&arrival.frame);
        if self.config.learning && !is_group(source) {
            self.learn(key(vid, source), port, now_ps);
        }
        let faults = self.impairments.as_mut().map(Impairments::draw);
        let mut passage = Passage {
            input: port,
            last_bit_ps: arrival.last_bit_ps,
            delay_ps: self.config.latency_by_size.at(wire_bytes(&arrival.frame)),
            tag,
            least_bytes,
            bad_fcs: arrival.fcs.is_bad(),
            faults: faults.unwrap_or_default(),
        };
        if let Some(pacing) = &mut self.input_pacing {
            passage.delay_ps += pacing.delay_ps(port, now_ps);
        }
        let decision = self.decide(&arrival.frame, port, vid, now_ps);
        if self.snooping.is_some() {
            self.ask_members(ports);
        }
        if let (Some(fabric), false) = (&mut self.fabric, matches!(decision, Decision::Drop(_))) {
            let Some(wait_ps) = fabric.admit(port, now_ps) else {
                return ports.drop(port, DropCause::FabricQueueFull, arrival.take_frame());
            };
            passage.delay_ps += wait_ps;
        }
        match decision {
            Decision::Drop(cause) => ports.drop(port, cause, arrival.take_frame()),
            Decision::One(output) => {
                self.counters.unicast += 1;
                self.pass(arrival.take_frame(), output, passage, ports);
            }
            Decision::Flood => match self.admit_to_all(&arrival.frame, now_ps) {
                Ok(wait_ps) => {
                    passage.delay_ps += wait_ps;
                    *(if is_group(ethernet::destination_number(&arrival.frame)) {
                        &mut self.counters.flooded_group
                    } else {
                        &mut self.counters.flooded_unknown
                    }) += 1;
                    let outputs = 0..ports.count();
                    self.replicate(arrival.take_frame(), outputs, passage, ports);
                }
                Err(cause) => ports.drop(port, cause, arrival.take_frame()),
            },
            Decision::Members(members) => match self.serve(&arrival.frame, now_ps) {
                Ok(wait_ps) => {
                    passage.delay_ps += wait_ps;
                    self.counters.to_members += members.len() as u64;
                    self.replicate(arrival.take_frame(), members.into_iter(), passage, ports);
                }
                Err(cause) => ports.drop(port, cause, arrival.take_frame()),
            },
        }
    }

    fn timer(&mut self, port: usize, ports: &mut DevicePorts) {
        if self.chassis.as_mut().is_some_and(|it| it.is_due(port, ports.now_ps())) {
            while let Some((input, ready)) = self.chassis.as_mut().and_then(|it| it.next(port, ports)) {
                self.enqueue(input, ready, ports);
            }
            return;
        }
        while let Some((input, ready)) = self.impairments.as_mut().and_then(|it| it.release(ports)) {
            self.send_to_output(input, ready, ports);
        }
        while let Some((input, ready)) = self.input_queues.as_mut().and_then(|it| it.next(port, ports)) {
            self.cross(input, ready, ports);
        }
        if let Some(pause) = &mut self.pause {
            pause.timer(port, ports);
        }
        self.ask_members(ports);
    }

    fn reseed(&mut self, seed: u64, name: &str) {
        let part = |part: &str| Rng::for_part(seed, &format!("{name} {part}"));
        self.loss = Rng::for_part(seed, name);
        self.jitter = part("jitter");
        if let Some(simultaneous) = &mut self.simultaneous {
            simultaneous.reseed(part("simultaneous arrivals"));
        }
        if let Some(impairments) = &mut self.impairments {
            impairments.reseed(part("impairments"));
        }
        if let Some(chassis) = &mut self.chassis {
            chassis.reseed(part("chassis"));
        }
        if let Some(lookup) = &mut self.lookup {
            lookup.restart_spacing();
        }
    }

    /// A port without a link keeps no address and no membership.
    fn link_changed(&mut self, port: usize, up: bool, _ports: &mut DevicePorts) {
        if up {
            return;
        }
        self.macs.forget_port(port);
        if let Some(path) = &mut self.learning_path {
            path.forget_port(port);
        }
        if let Some(snooping) = &mut self.snooping {
            snooping.forget_port(port);
        }
    }

    fn reset(&mut self, ports: &mut DevicePorts) {
        self.macs.clear();
        self.buffer.clear();
        if let Some(lookup) = &mut self.lookup {
            lookup.reset();
        }
        if let Some(broadcast) = &mut self.broadcast {
            broadcast.reset();
        }
        if let Some(path) = &mut self.learning_path {
            path.reset();
        }
        if let Some(limit) = &mut self.flood_limit {
            limit.reset();
        }
        if let Some(pacing) = &mut self.input_pacing {
            pacing.reset();
        }
        if let Some(queues) = &mut self.input_queues {
            queues.reset(ports);
        }
        if let Some(chassis) = &mut self.chassis {
            chassis.reset(ports);
        }
        if let Some(fabric) = &mut self.fabric {
            fabric.reset();
        }
        if let Some(pause) = &mut self.pause {
            pause.reset();
        }
        if let Some(snooping) = &mut self.snooping {
            snooping.reset();
        }
        if let Some(impairments) = &mut self.impairments {
            impairments.reset(ports);
        }
    }

    fn counters(&self) -> BTreeMap<&'static str, u64> {
        let mut counters = BTreeMap::from([
            ("learned", self.counters.learned),
            ("moved", self.counters.moved),
            ("not_learned", self.counters.not_learned),
            ("unicast", self.counters.unicast),
            ("flooded_unknown", self.counters.flooded_unknown),
            ("flooded_group", self.counters.flooded_group),
        ]);
        if self.learning_path.is_some() {
            counters.insert("not_asked", self.counters.not_asked);
        }
        if let Some(snooping) = &self.snooping {
            counters.insert("to_members", self.counters.to_members);
            counters.extend(snooping.counters());
        }
        if let Some(pause) = &self.pause {
            counters.insert("pause_sent", pause.sent());
        }
        if let Some(impairments) = &self.impairments {
            counters.insert("duplicated", impairments.duplicated);
            counters.insert("corrupted", impairments.corrupted);
            counters.insert("reordered", impairments.reordered());
        }
        counters
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}

/// The key of the address table.
#[inline]
fn key(vid: u16, mac: u64) -> u64 {
    u64::from(vid) << 48 | mac
}
