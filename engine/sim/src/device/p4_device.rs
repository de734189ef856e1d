//! A P4 program as a device under test: executed by the pipeline, with the entries of the configuration.
//!
//! Ingress and egress of a frame run in one event, `latency_ps` after its last bit; then each copy goes to the queue of
//! its port. A packet that the program recirculates goes round the loop, if there is one, or takes another pass at
//! once, up to a limit; a packet for the controller ends here and is counted.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use p4mesh_pipeline::{
    Dispatch, DropReason, EgressPacket, EgressTimes, Executable, Frame, IngressPacket, InstanceType, Passes,
    Preserved, Program, QueueTimes, Switch, SwitchConfig, Tick,
};

use super::changes::{Change, When};
use super::p4_config::{P4Config, P4Event};
use super::p4_entries::{install, rehearse, writes, OwnMembers, Write};
use super::p4_loop::P4Loop;
use super::{check_port, Device, DevicePorts};
use crate::arrival::Arrival;
use crate::config::{ConfigError, Latency, Place};
use crate::drops::DropCause;
use crate::fabric::ArrivalRule;
use crate::rng::Rng;

/// Passes that one frame may cause, its copies included.
const PASSES_PER_FRAME: u32 = 4_096;
/// The program's port number for "drop".
const DROP_PORT: u16 = 511;

/// The model.
pub struct P4Device {
    config: P4Config,
    /// From the last bit of a frame to the queue of its output.
    latency_ps: u64,
    ids: Vec<u16>,
    switch: Switch,
    turns: Option<P4Loop>,
    events: Vec<Event>,
    counters: Counters,
}

/// An event of the configuration.
struct Event {
    change: Change,
    writes: Vec<Write>,
}

#[derive(Default)]
struct Counters {
    to_controller: u64,
    digests: u64,
    passes: u64,
    turns: u64,
    /// Writes of events that did not fit the entries of their time.
    refused_writes: u64,
}

impl P4Device {
    /// Compiles the program and installs its entries.
    pub fn new(
        config: P4Config,
        latency: Latency,
        place: &Place,
        ports: &[u16],
        seed: u64,
    ) -> Result<P4Device, ConfigError> {
        if let Some(&id) = ports.iter().find(|&&id| id >= DROP_PORT) {
            let problem = format!("port {id} is beyond the ports of a program");
            return Err(place.key("ports").invalid(problem, "0 to 510"));
        }
        let program = Program::from_json(&config.program.to_string()).map_err(|error| {
            let place = place.key("program");
            place.invalid(error.to_string(), "BMv2 JSON of p4c-bm2-ss")
        })?;
        let switch_config =
            SwitchConfig { tick: Tick::new(config.timestamp_tick_ps.get()), seed, ..Default::default() };
        let mut switch = Switch::new(Arc::new(Executable::new(program)), switch_config);
        install(&mut switch, &config, place, ports)?;
        let events = events_of(&config, &switch, place, ports)?;
        let turns = config.recirculation.as_ref().map(|it| P4Loop::new(it, latency.ps()));
        if let Some(&port) = ports.iter().find(|&&port| turns.as_ref().is_some_and(|it| it.has_port(port))) {
            let problem = format!("{port} is a port of the device");
            return Err(place.key("loop").key("port").invalid(problem, "a number of its own"));
        }
        Ok(P4Device {
            config,
            latency_ps: latency.ps(),
            ids: ports.to_vec(),
            switch,
            turns,
            events,
            counters: Counters::default(),
        })
    }
}

/// A packet that waits for its next pass.
enum Waiting {
    Ingress(IngressPacket),
    Egress(EgressPacket),
}

/// All passes that one frame causes, in the order in which they were asked for.
struct Flow<'a, 'p> {
    device: &'a mut P4Device,
    ports: &'a mut DevicePorts<'p>,
    /// Index of the port on which the frame came in.
    input: usize,
    waiting: VecDeque<Waiting>,
    passes_left: u32,
}

impl Flow<'_, '_> {
    /// Runs the passes that are left; `first` is a packet that the first pass has resubmitted.
    fn run(&mut self, first: Option<IngressPacket>, passes_left: u32, first_bit_ps: u64) {
        let now_ps = self.ports.now_ps();
        self.waiting.extend(first.map(Waiting::Ingress));
        while let Some(packet) = self.waiting.pop_front() {
            match packet {
                Waiting::Ingress(packet) => {
                    let resubmitted = self.ingress(packet, first_bit_ps, now_ps);
                    self.waiting.extend(resubmitted.map(Waiting::Ingress));
                }
                Waiting::Egress(packet) => self.egress(packet, &egress_at(now_ps)),
            }
        }
        self.device.counters.passes += u64::from(passes_left - self.passes_left);
    }

    fn end(&mut self, cause: DropCause, frame: Frame) {
        self.ports.drop(self.input, cause, frame);
    }
}

impl Dispatch for Flow<'_, '_> {
    fn passes(&mut self) -> Option<Passes<'_>> {
        Some(Passes {
            switch: &mut self.device.switch,
            out: &mut self.ports.fabric.out,
            left: &mut self.passes_left,
        })
    }

    fn enqueue(&mut self, packet: EgressPacket) {
        self.waiting.push_back(Waiting::Egress(packet));
    }

    fn begin_egress(&mut self, _: u16) -> Option<EgressTimes> {
        self.waiting.is_empty().then(|| egress_at(self.ports.now_ps()))
    }

    fn transmit(&mut self, port: u16, frame: Frame) {
        if self.device.turns.as_ref().is_some_and(|it| it.has_port(port)) {
            let instance_type = InstanceType::Normal;
            return self.recirculate(IngressPacket {
                port,
                frame,
                instance_type,
                preserved: Preserved::default(),
            });
        }
        match self.device.ids.iter().position(|&id| id == port) {
            Some(output) => {
                let now_ps = self.ports.now_ps();
                self.ports.enqueue(output, frame, now_ps);
            }
            None => {
                self.device.counters.to_controller += 1;
                self.end(DropCause::UnknownPort, frame);
            }
        }
    }

    fn recirculate(&mut self, packet: IngressPacket) {
        let now_ps = self.ports.now_ps();
        let Some(turns) = &mut self.device.turns else {
            return self.waiting.push_back(Waiting::Ingress(packet));
        };
        match turns.enter(packet, self.input, self.passes_left, now_ps) {
            Ok(at_ps) => {
                self.device.counters.turns += 1;
                self.ports.keeps_frame();
                self.ports.set_timer(self.input, at_ps);
            }
            Err(frame) => self.end(DropCause::LoopFull, frame),
        }
    }

    fn digest(&mut self, _digest: u32, _fields: Vec<Vec<u8>>) {
        self.device.counters.digests += 1;
    }

    fn drop(&mut self, reason: DropReason) {
        self.end(reason.into(), Frame::new());
    }

    fn exhausted(&mut self) {
        self.end(DropCause::PassLimit, Frame::new());
    }
}

/// Times of an egress pass for which the packet did not wait.
fn egress_at(now_ps: u64) -> EgressTimes {
    let queue = QueueTimes { enqueue_ps: now_ps, dequeue_ps: now_ps, ..Default::default() };
    EgressTimes { queue, stamp_ps: now_ps, now_ps }
}

impl Device for P4Device {
    fn arrival_rule(&self, _port: usize) -> ArrivalRule {
        ArrivalRule { lookahead_bytes: None, latency_ps: self.latency_ps }
    }

    fn receive(&mut self, port: usize, arrival: &mut Arrival, ports: &mut DevicePorts) {
        if arrival.fcs.is_bad() {
            return ports.drop(port, DropCause::BadFcs, arrival.take_frame());
        }
        let (id, first_bit_ps, now_ps) = (self.ids[port], arrival.first_bit_ps, ports.now_ps());
        let (waiting, passes_left) = (VecDeque::new(), PASSES_PER_FRAME);
        let mut flow = Flow { device: self, ports, input: port, waiting, passes_left };
        let resubmitted = flow.ingress_of_frame(id, &mut arrival.frame, first_bit_ps, now_ps);
        flow.run(resubmitted, passes_left, first_bit_ps);
    }

    /// A packet comes back from the loop.
    fn timer(&mut self, _port: usize, ports: &mut DevicePorts) {
        let Some(turn) = self.turns.as_mut().and_then(|it| it.leave(ports.now_ps())) else {
            return;
        };
        ports.releases_frame();
        let (waiting, passes_left) = (VecDeque::new(), turn.passes_left);
        Flow { device: self, ports, input: turn.input, waiting, passes_left }.run(
            Some(turn.packet),
            passes_left,
            turn.first_bit_ps,
        );
    }

    fn reseed(&mut self, seed: u64, name: &str) {
        self.switch.reseed(Rng::for_part(seed, name).next());
    }

    fn reset(&mut self, ports: &mut DevicePorts) {
        for frame in self.turns.iter_mut().flat_map(P4Loop::drain) {
            ports.releases_frame();
            ports.drop(0, DropCause::Reset, frame);
        }
        let executable = self.switch.executable().clone();
        self.switch = Switch::new(executable, self.switch.config().clone());
        install(&mut self.switch, &self.config, &Place::default(), &self.ids)
            .expect("the entries were installed before");
    }

    fn changes(&self) -> Vec<Change> {
        self.events.iter().map(|it| it.change.clone()).collect()
    }

    fn change(&mut self, index: usize) {
        for write in &self.events[index].writes {
            // A reset in between may have brought other entries back.
            self.counters.refused_writes += u64::from(write.apply(&mut self.switch).is_err());
        }
    }

    fn counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::from([
            ("to_controller", self.counters.to_controller),
            ("digests", self.counters.digests),
            ("passes", self.counters.passes),
            ("turns", self.counters.turns),
            ("refused_writes", self.counters.refused_writes),
        ])
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// The events, after a rehearsal: those with a time in the order of their times, then failure by failure.
fn events_of(
    config: &P4Config,
    switch: &Switch,
    place: &Place,
    ports: &[u16],
) -> Result<Vec<Event>, ConfigError> {
    let mut resolved = Vec::new();
    let mut own = OwnMembers::after(config.entries.len(), switch.program(), &config.members);
    for (index, event) in config.events.iter().enumerate() {
        let place = place.key("events").index(index);
        let change = Change { when: when(event, &place)?, links: links(event, &place, ports)? };
        resolved.push((change, writes(switch.program(), event, &place, &mut own)?));
    }
    let mut order: Vec<usize> = (0..resolved.len()).collect();
    order.sort_by_key(|&index| match resolved[index].0.when {
        When::At(ps) => (0, ps),
        When::Failure { number, after_ps } => (number, after_ps),
    });
    if !order.is_empty() {
        let mut copy = Switch::new(switch.executable().clone(), switch.config().clone());
        install(&mut copy, config, place, ports)?;
        rehearse(&mut copy, order.iter().flat_map(|&index| &resolved[index].1))?;
    }
    let event = |(change, writes): (Change, Vec<(Write, Place)>)| Event {
        change,
        writes: writes.into_iter().map(|(write, _)| write).collect(),
    };
    Ok(resolved.into_iter().map(event).collect())
}

fn when(event: &P4Event, place: &Place) -> Result<When, ConfigError> {
    match (event.at_s, event.failure, event.after_s) {
        (Some(at), None, None) => Ok(When::At(at.ps())),
        (None, Some(number), after) => {
            Ok(When::Failure { number: number.get(), after_ps: after.map_or(0, |it| it.ps()) })
        }
        _ => {
            let problem = "at_s, failure and after_s do not fit together";
            Err(place.invalid(problem, "at_s alone, or failure with or without after_s"))
        }
    }
}

fn links(event: &P4Event, place: &Place, ports: &[u16]) -> Result<Vec<(usize, bool)>, ConfigError> {
    let mut links = Vec::new();
    for (name, numbers, up) in [("links_down", &event.links_down, false), ("links_up", &event.links_up, true)]
    {
        for (index, &port) in numbers.iter().enumerate() {
            check_port(&place.key(name).index(index), port, ports)?;
            links.extend(ports.iter().position(|&it| it == port).map(|local| (local, up)));
        }
    }
    Ok(links)
}
