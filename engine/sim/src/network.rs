//! The whole network and its clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use p4mesh_pipeline::{Program, Switch};
use serde::Serialize;
use thiserror::Error;

use crate::bit_errors::BitErrors;
use crate::config::{ConfigError, NetworkConfig};
use crate::device::{self, Device, DevicePorts, Host, HostFrame};
use crate::drops::DropCause;
use crate::event::{Source, Ticket};
use crate::fabric::{ArrivalRule, BadFcsRule, Fabric};
use crate::idle::Patience;
use crate::line::Line;
use crate::rng::Rng;
use crate::tester::{Digest, Tester};
use crate::upsets::{Restart, Upsets};

/// The clock goes no further; times that follow from an event before it are far from overflow.
const MAX_TIME_PS: u64 = 1 << 62;

/// Why an operation on a network was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NetworkError {
    #[error("no port {port} on {node}; valid: {valid}")]
    NoSuchPort {
        node: String,
        port: u16,
        valid: String,
    },
    #[error("node {name} is not a host; valid: {valid}")]
    NotAHost { name: String, valid: String },
    #[error("no device named '{name}'; valid: {valid}")]
    NoSuchDevice { name: String, valid: String },
    #[error("cannot run to {asked_ps} ps: the clock is at {now_ps} ps")]
    TimeIsPast { asked_ps: u64, now_ps: u64 },
    #[error("cannot run to {asked_ps} ps; valid: up to {MAX_TIME_PS} ps, 53 days")]
    TooLate { asked_ps: u64 },
}

/// How [`Network::settle_some`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settling {
    /// No frame is outside the recirculation loop.
    Quiet,
    /// The time limit came first.
    Limit,
    /// The event limit came first; call again.
    Unfinished,
}

/// What one port did, for truth checks.
#[derive(Clone, Debug, Serialize)]
pub struct PortTruth {
    pub tx_frames: u64,
    pub tx_bytes: u64,
    pub rx_frames: u64,
    pub rx_bytes: u64,
    /// Frames in the queue now.
    pub queued_frames: u64,
    /// Frames between this port and the decision of the node at the other end now.
    pub in_flight_frames: u64,
    /// Frames sent, and received, with an FCS that does not fit.
    pub tx_bad_fcs_frames: u64,
    pub rx_bad_fcs_frames: u64,
    pub drops: BTreeMap<&'static str, u64>,
}

/// What one node did.
#[derive(Clone, Debug, Serialize)]
pub struct NodeTruth {
    pub ports: BTreeMap<u16, PortTruth>,
    /// Drops that belong to no port.
    pub drops: BTreeMap<&'static str, u64>,
    /// Counters of the device model.
    pub counters: BTreeMap<&'static str, u64>,
}

/// What everything did: for tests of the tester, which must not look at it when it measures.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    pub now_ps: u64,
    pub events: u64,
    pub in_flight_frames: u64,
    pub circulating_frames: u64,
    pub nodes: BTreeMap<String, NodeTruth>,
}

pub(crate) struct DeviceNode {
    pub name: String,
    pub device: Box<dyn Device>,
    pub base: usize,
    pub count: usize,
    pub restart: Restart,
}

/// A port of a device, for [`NetworkBuilder`].
#[derive(Clone, Debug)]
pub struct DevicePort {
    pub id: u16,
    pub line: Line,
    pub queue_frames: usize,
}

/// A tester, devices, and the links between them.
pub struct Network {
    pub(crate) fabric: Fabric,
    tester: Option<Tester>,
    tester_name: String,
    pub(crate) devices: Vec<DeviceNode>,
    pub(crate) upsets: Upsets,
    seed: u64,
    events_done: u64,
    patience: Patience,
    skipped_passes: u64,
}

/// Builds a network out of devices, without a tester; [`Network::from_json`] is the usual way.
#[derive(Default)]
pub struct NetworkBuilder {
    fabric: Fabric,
    devices: Vec<DeviceNode>,
}

impl NetworkBuilder {
    /// Adds a device and returns its index.
    pub fn device(&mut self, name: &str, device: Box<dyn Device>, ports: &[DevicePort]) -> usize {
        let node = self.devices.len() as u32 + 1;
        let base = self.fabric.ports.len();
        for (local, port) in ports.iter().enumerate() {
            self.fabric.add_port(
                node,
                local as u32,
                port.id,
                port.line.clone(),
                port.queue_frames,
            );
        }
        self.devices.push(DeviceNode {
            name: name.to_string(),
            device,
            base,
            count: ports.len(),
            restart: Restart::default(),
        });
        self.devices.len() - 1
    }

    /// Connects port `a.1` of device `a.0` with port `b.1` of device `b.0`, counted from 0.
    pub fn link(&mut self, a: (usize, usize), b: (usize, usize), delay_ps: u64) {
        let index = |end: (usize, usize)| self.devices[end.0].base + end.1;
        let rule = |end: (usize, usize)| self.devices[end.0].device.arrival_rule(end.1);
        let (rules, a, b) = ([rule(a), rule(b)], index(a), index(b));
        self.fabric.connect(a, b, delay_ps, rules);
    }

    pub fn build(self) -> Network {
        Network::new(self.fabric, None, String::new(), self.devices)
    }
}

/// One direction of a cable, for its random numbers.
fn cable_part(node: &str, port: u16) -> String {
    format!("link from {node} port {port}")
}

impl Network {
    /// Builds the network of a JSON document (see the crate documentation).
    pub fn from_json(text: &str) -> Result<Network, ConfigError> {
        Network::from_config(&NetworkConfig::from_json(text)?)
    }

    fn from_config(config: &NetworkConfig) -> Result<Network, ConfigError> {
        let mut builder = NetworkBuilder::default();
        let tester = Tester::new(&config.tester, config.seed, 0, &mut builder.fabric);
        for (index, entry) in config.devices.iter().enumerate() {
            let path = format!("devices[{index}]");
            let device = device::build(&path, entry, config.seed)?;
            let port = |port: &crate::config::PortConfig| {
                let mut line = Line::new(port.rate_bps, port.clock_ppb, port.inter_frame_gap_bits);
                line.set_min_slot_bits(port.min_slot_bits);
                DevicePort {
                    id: port.id,
                    line,
                    queue_frames: port.queue_frames,
                }
            };
            let ports: Vec<DevicePort> = entry.ports.iter().map(port).collect();
            let base = builder.fabric.ports.len();
            let node = builder.device(&entry.name, device, &ports);
            builder.devices[node].restart = Restart::new(entry.reset);
            for (local, port) in entry.ports.iter().enumerate() {
                let fabric = &mut builder.fabric;
                fabric.set_honours_pause(base + local, port.honours_pause);
            }
        }
        let NetworkBuilder { fabric, devices } = builder;
        let mut network = Network::new(fabric, Some(tester), config.tester.name.clone(), devices);
        network.patience = Patience::new(config.skip_idle_loops);
        network.seed = config.seed;
        for link in &config.links {
            let end = |end: &crate::config::EndConfig| {
                network
                    .find(&end.node, end.port)
                    .expect("the configuration has been checked")
            };
            let (a, b) = (end(&link.a), end(&link.b));
            let rules = [network.arrival_rule(a), network.arrival_rule(b)];
            network.fabric.connect(a, b, link.delay_ps, rules);
            network.plan_outages(a, &link.outages);
            if link.bit_errors_per_1e15 > 0 {
                for (from, end) in [(a, &link.a), (b, &link.b)] {
                    let rng = Rng::for_part(config.seed, &cable_part(&end.node, end.port));
                    let errors = BitErrors::new(link.bit_errors_per_1e15, rng);
                    network.fabric.set_bit_errors(from, Some(errors));
                }
            }
        }
        for port in &config.tester.ports {
            if let Some(index) = network.find(&config.tester.name, port.id) {
                let fabric = &mut network.fabric;
                fabric.set_honours_pause(index, port.honours_pause);
            }
        }
        Ok(network)
    }

    fn new(
        fabric: Fabric,
        tester: Option<Tester>,
        tester_name: String,
        devices: Vec<DeviceNode>,
    ) -> Network {
        let mut network = Network {
            fabric,
            tester,
            tester_name,
            devices,
            upsets: Upsets::default(),
            seed: 0,
            events_done: 0,
            patience: Patience::new(true),
            skipped_passes: 0,
        };
        for index in 0..network.devices.len() {
            network.with_device(index, |device, ports| device.start(ports));
        }
        network
    }

    pub(crate) fn with_device<T>(
        &mut self,
        index: usize,
        call: impl FnOnce(&mut dyn Device, &mut DevicePorts) -> T,
    ) -> T {
        let DeviceNode {
            device,
            base,
            count,
            ..
        } = &mut self.devices[index];
        let mut ports = DevicePorts {
            fabric: &mut self.fabric,
            base: *base,
            count: *count,
        };
        call(device.as_mut(), &mut ports)
    }

    /// Index of the device with a node number; `None` for the tester.
    pub(crate) fn device_of(&self, node: usize) -> Option<usize> {
        node.checked_sub(1)
    }

    /// Index in the fabric of a port of the tester.
    pub(crate) fn tester_port_index(&self, port: u16) -> Option<usize> {
        self.tester.as_ref()?.fabric_port(port)
    }

    fn find(&self, node: &str, port: u16) -> Option<usize> {
        match &self.tester {
            Some(tester) if node == self.tester_name => tester.fabric_port(port),
            _ => {
                let node = self.devices.iter().find(|it| it.name == node)?;
                (node.base..node.base + node.count)
                    .find(|&index| self.fabric.ports[index].id == port)
            }
        }
    }

    fn arrival_rule(&self, port: usize) -> ArrivalRule {
        let entry = &self.fabric.ports[port];
        match (entry.node, &self.tester) {
            (0, Some(tester)) => tester.arrival_rule(),
            (node, _) => self.devices[node as usize - 1]
                .device
                .arrival_rule(entry.local as usize),
        }
    }

    /// Virtual time.
    pub fn now_ps(&self) -> u64 {
        self.fabric.now_ps
    }

    /// Events handled since the beginning.
    pub fn events_done(&self) -> u64 {
        self.events_done
    }

    /// Idle passes of the loop that were computed instead of executed.
    pub fn skipped_passes(&self) -> u64 {
        self.skipped_passes
    }

    /// Handles everything up to and including `until_ps`, and sets the clock to it.
    pub fn run_until(&mut self, until_ps: u64) -> Result<(), NetworkError> {
        while !self.run_some(until_ps, u64::MAX)? {}
        Ok(())
    }

    /// Like [`Network::run_until`], but stops after `max_events` events, idle passes of the loop
    /// that are skipped not counted. Returns true when it is done; otherwise the clock stands at
    /// the last event.
    pub fn run_some(&mut self, until_ps: u64, max_events: u64) -> Result<bool, NetworkError> {
        let now_ps = self.fabric.now_ps;
        if until_ps < now_ps {
            return Err(NetworkError::TimeIsPast {
                asked_ps: until_ps,
                now_ps,
            });
        }
        if until_ps > MAX_TIME_PS {
            return Err(NetworkError::TooLate { asked_ps: until_ps });
        }
        let mut events_left = max_events;
        while self.next_is_by(until_ps) {
            if events_left == 0 {
                return Ok(false);
            }
            events_left -= 1;
            self.step(until_ps);
        }
        self.fabric.now_ps = until_ps;
        Ok(true)
    }

    /// Runs until no frame is anywhere outside the recirculation loop, or to `limit_ps`, or for
    /// `max_events` events. When the network is quiet the clock stands at the last event.
    pub fn settle_some(&mut self, limit_ps: u64, max_events: u64) -> Settling {
        let limit_ps = limit_ps.min(MAX_TIME_PS);
        let mut events_left = max_events;
        while self.in_flight() > 0 {
            if !self.next_is_by(limit_ps) {
                self.fabric.now_ps = self.fabric.now_ps.max(limit_ps);
                return Settling::Limit;
            }
            if events_left == 0 {
                return Settling::Unfinished;
            }
            events_left -= 1;
            self.step(limit_ps);
        }
        Settling::Quiet
    }

    #[inline]
    fn next_is_by(&mut self, limit_ps: u64) -> bool {
        self.fabric
            .events
            .next_time_ps()
            .is_some_and(|time_ps| time_ps <= limit_ps)
    }

    /// Handles the next event, which is not after `until_ps`, or skips idle passes of the loop.
    #[inline]
    fn step(&mut self, until_ps: u64) {
        if self.patience.is_over() && self.skip_idle(until_ps) {
            return;
        }
        self.handle_next();
    }

    /// Skips idle passes of the loop; false if there are none.
    #[cold]
    fn skip_idle(&mut self, until_ps: u64) -> bool {
        let Some(tester) = &mut self.tester else {
            return false;
        };
        if !tester.loop_port_is_idle() {
            return false;
        }
        let (packets, passes, events) = tester.skip_idle(until_ps, &mut self.fabric);
        self.patience.tried(passes, packets);
        self.events_done += events;
        self.skipped_passes += passes;
        passes > 0
    }

    fn handle_next(&mut self) {
        let Some((time_ps, ticket, source)) = self.fabric.events.pop() else {
            return;
        };
        debug_assert!(time_ps >= self.fabric.now_ps, "time goes forward");
        self.fabric.now_ps = time_ps;
        self.events_done += 1;
        self.handle(source, ticket);
    }

    #[inline]
    fn handle(&mut self, source: Source, ticket: Ticket) {
        match source {
            Source::Flight(sender) => {
                self.patience.stir();
                let Some((receiver, arrival)) = self.fabric.arrive(sender as usize, ticket) else {
                    return;
                };
                let entry = &self.fabric.ports[receiver];
                let local = entry.local as usize;
                match (entry.node, &mut self.tester) {
                    (0, Some(_)) if arrival.bad_fcs => {
                        self.fabric
                            .drop_frame(receiver, DropCause::BadFcs, arrival.frame);
                    }
                    (0, Some(tester)) => tester.receive(local, arrival, &mut self.fabric),
                    (node, _) if self.devices[node as usize - 1].restart.is_off() => {
                        self.fabric
                            .drop_frame(receiver, DropCause::Reset, arrival.frame);
                    }
                    (node, _) => self.with_device(node as usize - 1, |device, ports| {
                        device.receive(local, arrival, ports)
                    }),
                }
            }
            Source::PortFree(port) => {
                if let Some(tester) = &mut self.tester {
                    let local = self.fabric.ports[port as usize].local as usize;
                    if !tester.is_loop(local) {
                        self.patience.stir();
                    }
                    tester.port_free(local, &mut self.fabric);
                }
            }
            Source::Loop => {
                self.patience.calm();
                if let Some(tester) = &mut self.tester {
                    tester.recirculated(ticket, &mut self.fabric);
                }
            }
            Source::UPSET => {
                self.patience.stir();
                self.carry_out_upsets();
            }
            Source::Timer(port) => {
                self.patience.stir();
                let entry = &self.fabric.ports[port as usize];
                let (node, local) = (entry.node as usize, entry.local as usize);
                self.with_device(node - 1, |device, ports| device.timer(local, ports));
            }
        }
    }

    /// Frames anywhere outside the recirculation loop: on links, in devices, in queues.
    pub fn in_flight(&self) -> u64 {
        self.fabric.in_flight + self.tester.as_ref().map_or(0, Tester::queued)
    }

    /// The tester node.
    pub fn tester(&mut self) -> Option<&mut Tester> {
        self.tester.as_mut()
    }

    /// The switch of the tester node, when a program is installed.
    pub fn switch(&mut self) -> Option<&mut Switch> {
        self.tester.as_mut().and_then(Tester::switch)
    }

    /// Installs a program with fresh state on the tester. Packets in its queues and in its loop
    /// are dropped.
    pub fn set_program(&mut self, program: Arc<Program>) {
        if let Some(tester) = &mut self.tester {
            let switch = Switch::new(program, tester.switch_config().clone());
            tester.install(switch, &mut self.fabric);
        }
    }

    /// Gives the program a frame on the CPU port, now.
    pub fn packet_out(&mut self, frame: Vec<u8>) {
        if let Some(tester) = &mut self.tester {
            tester.packet_out(frame, &mut self.fabric);
        }
    }

    /// The oldest frame that the program sent to the CPU port.
    pub fn take_packet_in(&mut self) -> Option<Vec<u8>> {
        self.tester.as_mut().and_then(Tester::take_packet_in)
    }

    /// Frames that the program sent to the CPU port since the beginning.
    pub fn packet_ins_total(&self) -> u64 {
        self.tester.as_ref().map_or(0, Tester::packet_ins_total)
    }

    /// The oldest digest of the program.
    pub fn take_digest(&mut self) -> Option<Digest> {
        self.tester.as_mut().and_then(Tester::take_digest)
    }

    /// Port numbers and rates of the tester, in ascending order of their numbers.
    pub fn tester_ports(&self) -> Vec<(u16, u64)> {
        let ports = self
            .fabric
            .ports
            .iter()
            .filter(|port| port.node == 0 && self.tester.is_some());
        let known = ports.filter(|port| self.find(&self.tester_name, port.id).is_some());
        let mut list: Vec<(u16, u64)> = known.map(|port| (port.id, port.line.rate_bps())).collect();
        list.sort_unstable();
        list
    }

    /// True for a port that the program can send to: links, the CPU port, the loop port.
    pub fn has_port(&self, port: u16) -> bool {
        self.tester
            .as_ref()
            .is_some_and(|tester| tester.has_port(port))
    }

    /// Starts all random numbers of devices, cables and programs anew. Those of number 0 are the
    /// ones of the beginning; what number draws what does not depend on what was drawn before.
    /// What stands for chance in a device, such as the spacing of frames that pass under overload, too.
    pub fn reseed(&mut self, number: u64) {
        let seed = match number {
            0 => self.seed,
            _ => Rng::for_part(self.seed, &format!("number {number}")).next(),
        };
        for index in 0..self.fabric.ports.len() {
            let entry = &self.fabric.ports[index];
            let part = cable_part(self.node_name(entry.node), entry.id);
            self.fabric.reseed_bit_errors(index, seed, &part);
        }
        for node in &mut self.devices {
            node.device.reseed(seed, &node.name);
        }
        if let Some(switch) = self.switch() {
            switch.reseed(seed);
        }
    }

    /// Changes the gap that a port of the tester or of a device keeps after each frame.
    pub fn set_gap_bits(
        &mut self,
        node: &str,
        port: u16,
        gap_bits: u32,
    ) -> Result<(), NetworkError> {
        let index = self.port_index(node, port)?;
        self.fabric.ports[index].line.set_gap_bits(gap_bits);
        Ok(())
    }

    /// Chooses the frames that leave a port of the tester with an FCS that does not fit, from now
    /// on: what its MAC can be told to damage. No rule damages none.
    pub fn set_bad_fcs(&mut self, port: u16, rules: Vec<BadFcsRule>) -> Result<(), NetworkError> {
        let index = self.port_index(&self.tester_name, port)?;
        self.fabric.set_bad_fcs_rules(index, rules);
        Ok(())
    }

    /// Frames with an FCS that does not fit which the MACs of the tester have counted since the
    /// beginning: port, sent, received.
    pub fn bad_fcs_counts(&self) -> Vec<(u16, u64, u64)> {
        let counts = |(port, _): (u16, u64)| {
            let counters = &self.fabric.ports[self.find(&self.tester_name, port)?].counters;
            Some((port, counters.tx_bad_fcs_frames, counters.rx_bad_fcs_frames))
        };
        self.tester_ports().into_iter().filter_map(counts).collect()
    }

    pub(crate) fn port_index(&self, node: &str, port: u16) -> Result<usize, NetworkError> {
        self.find(node, port).ok_or_else(|| {
            let entries = self
                .fabric
                .ports
                .iter()
                .filter(|entry| self.node_name(entry.node) == node);
            let valid: Vec<String> = entries.map(|entry| entry.id.to_string()).collect();
            NetworkError::NoSuchPort {
                node: node.to_string(),
                port,
                valid: valid.join(", "),
            }
        })
    }

    fn node_name(&self, node: u32) -> &str {
        match node {
            0 => &self.tester_name,
            _ => &self.devices[node as usize - 1].name,
        }
    }

    /// Sends a frame (without FCS) from a port of a device `host`, as soon as its line is free.
    pub fn host_send(&mut self, name: &str, port: u16, frame: &[u8]) -> Result<(), NetworkError> {
        let index = self.host_index(name)?;
        let local = self.fabric.ports[self.port_index(name, port)?].local as usize;
        self.with_device(index, |_, ports| {
            let frame = ports.copy(frame);
            ports.send_now(local, frame);
        });
        Ok(())
    }

    /// Takes the frames that have come to a device `host`: port, time of the first bit, bytes.
    pub fn host_take(&mut self, name: &str) -> Result<Vec<(u16, u64, Vec<u8>)>, NetworkError> {
        let index = self.host_index(name)?;
        let base = self.devices[index].base;
        let frames = self
            .device::<Host>(index)
            .map(Host::take)
            .unwrap_or_default();
        let with_id = |it: HostFrame| {
            (
                self.fabric.ports[base + it.port].id,
                it.first_bit_ps,
                it.frame,
            )
        };
        Ok(frames.into_iter().map(with_id).collect())
    }

    fn host_index(&mut self, name: &str) -> Result<usize, NetworkError> {
        let mut valid = Vec::new();
        for (index, node) in self.devices.iter_mut().enumerate() {
            if node.device.as_any().is::<Host>() {
                if node.name == name {
                    return Ok(index);
                }
                valid.push(node.name.clone());
            }
        }
        Err(NetworkError::NotAHost {
            name: name.to_string(),
            valid: valid.join(", "),
        })
    }

    /// A device, for tests.
    pub fn device<T: 'static>(&mut self, index: usize) -> Option<&mut T> {
        self.devices.get_mut(index)?.device.as_any().downcast_mut()
    }

    /// All counters.
    pub fn truth(&self) -> Truth {
        let mut nodes = BTreeMap::new();
        if let Some(tester) = &self.tester {
            let drops = tester.drops().nonzero();
            nodes.insert(
                self.tester_name.clone(),
                NodeTruth {
                    ports: BTreeMap::new(),
                    drops,
                    counters: BTreeMap::new(),
                },
            );
        }
        for node in &self.devices {
            let counters = node.device.counters();
            nodes.insert(
                node.name.clone(),
                NodeTruth {
                    ports: BTreeMap::new(),
                    drops: BTreeMap::new(),
                    counters,
                },
            );
        }
        for (index, port) in self.fabric.ports.iter().enumerate() {
            let counters = &port.counters;
            let mut drops = counters.drops.nonzero();
            let mut queued_frames = self.fabric.waiting(index) as u64;
            if let (0, Some(tester)) = (port.node, &self.tester) {
                drops.extend(tester.port_drops(port.local as usize).nonzero());
                queued_frames += tester.depth(port.local as usize) as u64;
            }
            let truth = PortTruth {
                tx_frames: counters.tx_frames,
                tx_bytes: counters.tx_bytes,
                rx_frames: counters.rx_frames,
                rx_bytes: counters.rx_bytes,
                queued_frames,
                in_flight_frames: port.flights() as u64,
                tx_bad_fcs_frames: counters.tx_bad_fcs_frames,
                rx_bad_fcs_frames: counters.rx_bad_fcs_frames,
                drops,
            };
            let node = nodes
                .get_mut(self.node_name(port.node))
                .expect("every port has a node");
            node.ports.insert(port.id, truth);
        }
        Truth {
            now_ps: self.now_ps(),
            events: self.events_done,
            in_flight_frames: self.in_flight(),
            circulating_frames: self
                .tester
                .as_ref()
                .map_or(0, |tester| tester.circulating() as u64),
            nodes,
        }
    }
}
