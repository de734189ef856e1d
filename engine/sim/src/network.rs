//! The whole network and its clock.

use p4mesh_pipeline::Switch;
use thiserror::Error;

use crate::arrival::Arrival;
use crate::device::{Device, DevicePorts};
use crate::drops::DropCause;
use crate::event::{Source, Ticket};
use crate::fabric::{ArrivalRule, Fabric, Receiver};
use crate::idle::Patience;
use crate::tester::Tester;
use crate::upsets::{Restart, Upsets};

mod building;
mod controls;
mod incidents;
mod truth;

pub use building::{DevicePort, NetworkBuilder};
pub use truth::{NodeTruth, PortTruth, Truth};

/// The clock goes no further; times that follow from an event before it are far from overflow.
const MAX_TIME_PS: u64 = 1 << 62;

/// Reason why an operation on a network was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NetworkError {
    #[error("no port {port} on {node}; valid: {valid}")]
    NoSuchPort { node: String, port: u16, valid: String },
    #[error("node {name} is not a host; valid: {valid}")]
    NotAHost { name: String, valid: String },
    #[error("no device named '{name}'; valid: {valid}")]
    NoSuchDevice { name: String, valid: String },
    #[error("no failure {number} in the network; valid: 0 to {highest}")]
    NoSuchFailure { number: u64, highest: u64 },
    #[error("cannot run to {asked_ps} ps: the clock is at {now_ps} ps")]
    TimeIsPast { asked_ps: u64, now_ps: u64 },
    #[error("cannot run to {asked_ps} ps; valid: up to {MAX_TIME_PS} ps, 53 days")]
    TooLate { asked_ps: u64 },
}

/// Reason why [`Network::settle_some`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settling {
    /// No frame is outside the recirculation loop.
    Quiet,
    /// The time limit came first.
    Limit,
    /// The event limit came first; call again.
    Unfinished,
}

/// Condition that ends the handling of events early.
#[derive(Clone, Copy)]
enum Goal {
    /// Nothing: events are handled up to a time.
    Time,
    /// No frame is outside the recirculation loop.
    Quiet,
    /// The program has sent more frames to the controller than these.
    PacketIn { after: u64 },
}

/// Reason why the handling of events ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Goal,
    /// The next event comes later.
    Limit,
    /// As many events have been handled as were allowed.
    Unfinished,
}

pub(crate) struct DeviceNode {
    pub name: String,
    pub device: Box<dyn Device>,
    pub base: usize,
    pub count: usize,
    pub restart: Restart,
}

impl DeviceNode {
    #[inline]
    fn call<T>(
        &mut self,
        fabric: &mut Fabric,
        call: impl FnOnce(&mut dyn Device, &mut DevicePorts) -> T,
    ) -> T {
        let mut ports = DevicePorts { fabric, base: self.base, count: self.count };
        call(self.device.as_mut(), &mut ports)
    }
}

/// A tester, devices, and the links between them.
pub struct Network {
    pub(crate) fabric: Fabric,
    /// The switches of the tester. They are the first nodes; node 0 is kept for them in a network without any.
    testers: Vec<Tester>,
    /// The switch that a controller speaks to.
    chosen: usize,
    tester_name: String,
    devices: Vec<DeviceNode>,
    upsets: Upsets,
    /// The frame that lands. To read it in other pieces than it was written makes the processor wait, so it is copied as a
    /// whole, and stays here until its receiver takes it.
    landed: Arrival,
    seed: u64,
    events_done: u64,
    patience: Patience,
    skipped_passes: u64,
    /// Failures that have begun: those of numbers up to this.
    failures_begun: u64,
}

/// One direction of a cable, for its random numbers.
fn cable_part(node: &str, port: u16) -> String {
    format!("link from {node} port {port}")
}

impl Network {
    fn new(fabric: Fabric, testers: Vec<Tester>, tester_name: String, devices: Vec<DeviceNode>) -> Network {
        let mut network = Network {
            fabric,
            testers,
            chosen: 0,
            tester_name,
            devices,
            upsets: Upsets::default(),
            landed: Arrival::default(),
            seed: 0,
            events_done: 0,
            patience: Patience::new(true),
            skipped_passes: 0,
            failures_begun: 0,
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
        self.devices[index].call(&mut self.fabric, call)
    }

    /// Index of the device with a node number; `None` for the tester.
    pub(crate) fn device_of(&self, node: usize) -> Option<usize> {
        node.checked_sub(self.testers.len().max(1))
    }

    /// Index in the fabric of a port of the tester.
    pub(crate) fn tester_port_index(&self, port: u16) -> Option<usize> {
        let mut ports = self.testers.iter().flat_map(Tester::fabric_ports);
        ports.find(|&index| self.fabric.ports[index].id == port)
    }

    /// Switch of a port of the tester, and its number in the program.
    pub fn place_in_program(&self, port: u16) -> Option<(usize, u16)> {
        let index = self.tester_port_index(port)?;
        let switch = self.fabric.ports[index].node as usize;
        Some((switch, self.testers[switch].program_number(index)))
    }

    /// Chooses the switch of the tester, by its number, which the calls mean that are about its program and controller.
    pub fn choose_switch(&mut self, switch: usize) {
        self.chosen = switch;
    }

    /// Switches that the tester is made of.
    pub fn switches(&self) -> usize {
        self.testers.len()
    }

    fn find(&self, node: &str, port: u16) -> Option<usize> {
        if node == self.tester_name && !self.testers.is_empty() {
            return self.tester_port_index(port);
        }
        let node = self.devices.iter().find(|it| it.name == node)?;
        (node.base..node.base + node.count).find(|&index| self.fabric.ports[index].id == port)
    }

    fn arrival_rule(&self, port: usize) -> ArrivalRule {
        let entry = &self.fabric.ports[port];
        match self.device_of(entry.node as usize) {
            Some(device) => self.devices[device].device.arrival_rule(entry.local as usize),
            None => self.testers[entry.node as usize].arrival_rule(),
        }
    }

    /// Virtual time.
    pub fn now_ps(&self) -> u64 {
        self.fabric.now_ps
    }

    /// Events handled since the beginning.
    pub fn events_done(&self) -> u64 {
        self.events_done + self.testers.iter().map(|tester| tester.slept().events).sum::<u64>()
    }

    /// Idle passes of the loop that were computed instead of executed.
    pub fn skipped_passes(&self) -> u64 {
        self.skipped_passes + self.testers.iter().map(|tester| tester.slept().passes).sum::<u64>()
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
        self.run_while(until_ps, max_events, Goal::Time)
    }

    /// Like [`Network::run_some`], and also done once the program has sent a frame to the controller;
    /// the clock stands at that event then.
    pub fn run_some_to_packet_in(&mut self, until_ps: u64, max_events: u64) -> Result<bool, NetworkError> {
        self.run_while(until_ps, max_events, Goal::PacketIn { after: self.packet_ins_total() })
    }

    fn run_while(&mut self, until_ps: u64, max_events: u64, goal: Goal) -> Result<bool, NetworkError> {
        let now_ps = self.fabric.now_ps;
        if until_ps < now_ps {
            return Err(NetworkError::TimeIsPast { asked_ps: until_ps, now_ps });
        }
        if until_ps > MAX_TIME_PS {
            return Err(NetworkError::TooLate { asked_ps: until_ps });
        }
        let ending = self.handle_events(until_ps, max_events, goal);
        if ending == Ending::Limit {
            self.fabric.now_ps = until_ps;
        }
        self.wake_loop();
        Ok(ending != Ending::Unfinished)
    }

    /// Has all passes of a loop that sleeps done up to now: whoever looks at the network from outside sees them.
    fn wake_loop(&mut self) {
        for tester in &mut self.testers {
            tester.wake(&mut self.fabric);
        }
    }

    /// Runs until no frame is anywhere outside the recirculation loop, or to `limit_ps`, or for
    /// `max_events` events. When the network is quiet the clock stands at the last event.
    pub fn settle_some(&mut self, limit_ps: u64, max_events: u64) -> Settling {
        let limit_ps = limit_ps.min(MAX_TIME_PS);
        let settling = match self.handle_events(limit_ps, max_events, Goal::Quiet) {
            Ending::Goal => Settling::Quiet,
            Ending::Limit => Settling::Limit,
            Ending::Unfinished => Settling::Unfinished,
        };
        if settling == Settling::Limit {
            self.fabric.now_ps = self.fabric.now_ps.max(limit_ps);
        }
        self.wake_loop();
        settling
    }

    /// Handles events up to and including those at `until_ps`, or skips idle passes of the loop. There is one such loop, as
    /// all that an event leads to is compiled into it.
    fn handle_events(&mut self, until_ps: u64, max_events: u64, goal: Goal) -> Ending {
        let mut events_left = max_events;
        loop {
            let is_reached = match goal {
                Goal::Time => false,
                Goal::Quiet => self.fabric.in_flight == 0 && self.in_flight() == 0,
                Goal::PacketIn { after } => self.packet_ins_total() != after,
            };
            if is_reached {
                return Ending::Goal;
            }
            if events_left == 0 {
                return if self.next_is_by(until_ps) { Ending::Unfinished } else { Ending::Limit };
            }
            events_left -= 1;
            if self.patience.is_over() && self.next_is_by(until_ps) && self.skip_idle(until_ps) {
                continue;
            }
            let Some((time_ps, ticket, source)) = self.fabric.events.pop_by(until_ps, &mut self.landed)
            else {
                return Ending::Limit;
            };
            debug_assert!(time_ps >= self.fabric.now_ps, "time goes forward");
            self.fabric.now_ps = time_ps;
            self.events_done += 1;
            if self.fabric.has_many_flights() {
                self.prefetch(source);
            }
            self.handle(source, ticket, until_ps);
        }
    }

    fn next_is_by(&mut self, limit_ps: u64) -> bool {
        self.fabric.events.next_time_ps().is_some_and(|time_ps| time_ps <= limit_ps)
    }

    /// Begins to load what the events that are likely to come soon after this one need.
    #[inline]
    fn prefetch(&self, came: Source) {
        if let Some((switch, frame)) = self.fabric.prefetch(came) {
            self.testers[switch as usize].prefetch(frame);
        }
    }

    /// Skips idle passes of the loop; false if there are none. Of several loops, none is alone: they sleep.
    #[cold]
    fn skip_idle(&mut self, until_ps: u64) -> bool {
        let [tester] = &mut self.testers[..] else {
            return false;
        };
        if !tester.loop_port_is_idle() || tester.loop_is_asleep() {
            return false;
        }
        let Some((packets, passes, events)) = tester.skip_idle(until_ps, &mut self.fabric) else {
            return false;
        };
        self.patience.tried(passes, packets);
        self.events_done += events;
        self.skipped_passes += passes;
        passes > 0
    }

    #[inline]
    fn handle(&mut self, source: Source, ticket: Ticket, until_ps: u64) {
        match source {
            Source::Flight(sender) | Source::Landed(sender) => {
                self.patience.stir();
                let Network { fabric, testers, devices, landed, .. } = self;
                let sender = sender as usize;
                if matches!(source, Source::Flight(_)) && !fabric.land(sender, ticket, landed) {
                    return;
                }
                let Some(receiver) = fabric.arrive(sender, landed) else {
                    return;
                };
                let Receiver { port, node, local } = receiver;
                match testers.get_mut(node) {
                    Some(tester) => tester.receive(local, landed, fabric),
                    None => {
                        let node = &mut devices[node - testers.len().max(1)];
                        if node.restart.is_off() {
                            fabric.drop_frame(port, DropCause::Reset, landed.take_frame());
                        } else {
                            node.call(fabric, |device, ports| device.receive(local, landed, ports));
                        }
                    }
                }
            }
            Source::PortFree(port) => {
                self.patience.stir();
                let entry = &self.fabric.ports[port as usize];
                let (node, local) = (entry.node as usize, entry.local as usize);
                self.testers[node].port_free(local, &mut self.fabric);
            }
            Source::LoopFree(switch) => {
                let tester = &mut self.testers[switch as usize];
                tester.port_free(tester.loop_index(), &mut self.fabric);
            }
            Source::Loop(switch) => {
                let (tester, fabric) = (&mut self.testers[switch as usize], &mut self.fabric);
                if tester.wake_in_time(ticket, fabric) || tester.fall_asleep(ticket, until_ps, fabric) {
                    // Its passes are events, not that they are computed.
                    self.events_done -= 1;
                    return;
                }
                self.patience.calm();
                tester.recirculated(ticket, fabric);
            }
            Source::UPSET => {
                self.patience.stir();
                self.carry_out_upsets();
            }
            Source::Timer(port) => {
                self.patience.stir();
                let entry = &self.fabric.ports[port as usize];
                let (node, local) = (entry.node as usize, entry.local as usize);
                let device = self.device_of(node).expect("the tester sets no timers");
                self.with_device(device, |device, ports| device.timer(local, ports));
            }
        }
    }

    /// Frames anywhere outside the recirculation loop: on links, in devices, in queues.
    pub fn in_flight(&self) -> u64 {
        self.fabric.in_flight + self.testers.iter().map(Tester::queued).sum::<u64>()
    }

    /// The chosen switch of the tester.
    pub fn tester(&mut self) -> Option<&mut Tester> {
        self.testers.get_mut(self.chosen)
    }

    /// Its state, when a program is installed.
    pub fn switch(&mut self) -> Option<&mut Switch> {
        self.tester().and_then(Tester::switch)
    }

    pub(crate) fn port_index(&self, node: &str, port: u16) -> Result<usize, NetworkError> {
        self.find(node, port).ok_or_else(|| {
            let entries = self.fabric.ports.iter().filter(|entry| self.node_name(entry.node) == node);
            let valid: Vec<String> = entries.map(|entry| entry.id.to_string()).collect();
            NetworkError::NoSuchPort { node: node.to_string(), port, valid: valid.join(", ") }
        })
    }

    fn node_name(&self, node: u32) -> &str {
        match self.device_of(node as usize) {
            Some(device) => &self.devices[device].name,
            None => &self.tester_name,
        }
    }

    /// A device, for tests.
    pub fn device<T: 'static>(&mut self, index: usize) -> Option<&mut T> {
        self.devices.get_mut(index)?.device.as_any().downcast_mut()
    }
}
