//! Ports on modules, and the fabric between the modules, as in a chassis of line cards.
//!
//! A frame between ports of one module stays in it. Any other frame crosses the fabric: stages store it, and it takes
//! one of the links out of its module and one into the module of its output, chosen at random as by a hash over many
//! flows; where a link is busy it waits. Copies of one multicast frame are made behind the fabric, so none of them waits there. Towards each
//! port the fabric has so many slots per second, of which a unicast frame takes one, however short it is: frames that
//! take less of the line than a slot leave no faster than slots come.

use std::collections::VecDeque;

use p4mesh_wire::ethernet::{self, is_group, TYPE_IPV4, TYPE_IPV6};
use p4mesh_wire::vlan;
use schemars::JsonSchema;
use serde::Deserialize;

use super::input_queue::Ready;
use super::DevicePorts;
use crate::config::{ConfigError, Latency, Place, RateFps, Whole};
use crate::drops::DropCause;
use crate::rng::Rng;
use crate::time::{BitClock, Span};

/// `chassis` of an Ethernet switch or a router.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChassisConfig {
    /// Neighbouring ports that make a module.
    pub ports_per_module: Whole<1, 512>,
    /// From one module to another, beside the time of the stages.
    #[serde(default)]
    pub crossing_ns: Latency,
    /// Stages between modules that store a frame for its time on a link.
    #[serde(default)]
    pub stages: Whole<0, 16>,
    /// Links between a module and the fabric in each direction, of the rate of its ports; a frame takes one at random;
    /// without it no frame waits for them.
    pub links_per_module: Option<Whole<1, 4_096>>,
    /// Further latency of IPv4 packets that stay in a module, where their routes are in the fabric.
    #[serde(default)]
    pub local_ipv4_ns: Latency,
    /// Slots per second towards a port, of which a unicast frame takes one; without it unlimited.
    pub unicast_slots_fps: Option<RateFps>,
    /// The slots of IPv6 packets, where they are others.
    pub ipv6_slots_fps: Option<RateFps>,
}

impl ChassisConfig {
    /// Checks what types cannot express; `ports` is the number of ports of the device.
    pub fn check(&self, place: &Place, ports: usize) -> Result<(), ConfigError> {
        let own = self.ports_per_module.get();
        if ports as u64 % own != 0 {
            let place = place.key("ports_per_module");
            return Err(
                place.invalid(format!("is {own}"), format!("a divisor of {ports}, the number of ports"))
            );
        }
        Ok(())
    }
}

/// Slots of one length towards each port.
struct Slots {
    clock: BitClock,
    length: Span,
}

impl Slots {
    fn new(rate: RateFps) -> Slots {
        let clock = BitClock::new(rate.get(), 0);
        Slots { clock, length: clock.periods(1) }
    }
}

/// State of the fabric for one output.
#[derive(Default)]
struct Output {
    /// Frames on their way with their inputs, in the order in which they come.
    coming: VecDeque<(usize, Ready)>,
    /// When the timers for them fall due, the first one last.
    timers_ps: Vec<u64>,
    /// When the next slot may begin, and whether the one before it was of IPv6.
    free: Span,
    was_ipv6: bool,
}

/// The modules of a device and the fabric between them.
pub struct Chassis {
    config: ChassisConfig,
    slots: Option<Slots>,
    ipv6_slots: Option<Slots>,
    outputs: Vec<Output>,
    /// When each link out of a module, and into a module, is free, module by module.
    outward_ps: Vec<u64>,
    inward_ps: Vec<u64>,
    rng: Rng,
}

impl Chassis {
    pub fn new(config: &ChassisConfig, rng: Rng) -> Chassis {
        Chassis {
            slots: config.unicast_slots_fps.map(Slots::new),
            ipv6_slots: config.ipv6_slots_fps.map(Slots::new),
            config: config.clone(),
            outputs: Vec::new(),
            outward_ps: Vec::new(),
            inward_ps: Vec::new(),
            rng,
        }
    }

    /// Draws from other numbers.
    pub fn reseed(&mut self, rng: Rng) {
        self.rng = rng;
    }

    /// Takes a frame that is ready at its input. `Some` when it can go to the queue of its output at once; any other one
    /// comes with the timer of the output.
    pub fn carry(&mut self, input: usize, mut ready: Ready, ports: &mut DevicePorts) -> Option<Ready> {
        if self.outputs.is_empty() {
            self.outputs.resize_with(ports.count(), Output::default);
        }
        let way_ps = self.way_ps(input, &ready, ports);
        if way_ps == 0 && self.outputs[ready.output].coming.is_empty() {
            return self.slotted(ready, ports);
        }
        ready.ready_ps += way_ps;
        let (output, at_ps) = (ready.output, ready.ready_ps);
        let coming = &mut self.outputs[output].coming;
        let place = coming.partition_point(|(_, it)| it.ready_ps <= at_ps);
        coming.insert(place, (input, ready));
        ports.keeps_frame();
        self.await_first(output, ports);
        None
    }

    /// True when the timer of this port that fell due is one of [`Chassis::carry`]: [`Chassis::next`] has its frames.
    pub fn is_due(&mut self, port: usize, now_ps: u64) -> bool {
        let Some(output) = self.outputs.get_mut(port) else {
            return false;
        };
        let is_due = output.timers_ps.last().is_some_and(|&at_ps| at_ps <= now_ps);
        if is_due {
            output.timers_ps.pop();
        }
        is_due
    }

    /// The next frame that has come to an output, with its input; asks for a timer for the one behind the last of them.
    pub fn next(&mut self, output: usize, ports: &mut DevicePorts) -> Option<(usize, Ready)> {
        loop {
            let now_ps = ports.now_ps();
            let coming = &mut self.outputs.get_mut(output)?.coming;
            if coming.front().is_none_or(|(_, it)| it.ready_ps > now_ps) {
                self.await_first(output, ports);
                return None;
            }
            let (input, ready) = coming.pop_front()?;
            ports.releases_frame();
            if let Some(ready) = self.slotted(ready, ports) {
                return Some((input, ready));
            }
        }
    }

    fn await_first(&mut self, output: usize, ports: &mut DevicePorts) {
        let entry = &mut self.outputs[output];
        let Some(at_ps) = entry.coming.front().map(|(_, it)| it.ready_ps) else {
            return;
        };
        if entry.timers_ps.last().is_none_or(|&first_ps| first_ps > at_ps) {
            entry.timers_ps.push(at_ps);
            ports.set_timer(output, at_ps);
        }
    }

    /// Time from the input to the queue of the output.
    fn way_ps(&mut self, input: usize, ready: &Ready, ports: &DevicePorts) -> u64 {
        let own = self.config.ports_per_module.get() as usize;
        let module = ready.output / own;
        if input / own == module {
            let by_fabric = is_type(&ready.frame, TYPE_IPV4);
            return if by_fabric { self.config.local_ipv4_ns.ps() } else { 0 };
        }
        // A link has the rate of the ports of its module.
        let bits = 8 * u128::from(ready.wire_bytes);
        let frame_ps = (bits * 1_000_000_000_000 / u128::from(ports.rate_bps(ready.output))) as u64;
        let stored_ps = self.config.crossing_ns.ps() + self.config.stages.get() * frame_ps;
        let Some(links) = self.config.links_per_module.filter(|_| is_unicast(&ready.frame)) else {
            return stored_ps;
        };
        let links = links.get() as usize;
        if self.inward_ps.is_empty() {
            let all = links * ports.count().div_ceil(own);
            self.outward_ps.resize(all, 0);
            self.inward_ps.resize(all, 0);
        }
        let mut at_ps = ready.ready_ps;
        for (free_ps, module) in [(&mut self.outward_ps, input / own), (&mut self.inward_ps, module)] {
            let link = &mut free_ps[module * links + self.rng.below(links as u64) as usize];
            at_ps = at_ps.max(*link);
            *link = at_ps + frame_ps;
        }
        stored_ps + (at_ps - ready.ready_ps)
    }

    /// The frame, when its slot has come; `None` when as many frames wait for slots as fit into the queue of the output.
    fn slotted(&mut self, mut ready: Ready, ports: &mut DevicePorts) -> Option<Ready> {
        if !is_unicast(&ready.frame) {
            return Some(ready);
        }
        let ipv6 = self.ipv6_slots.as_ref().filter(|_| is_type(&ready.frame, TYPE_IPV6));
        let Some(slots) = ipv6.or(self.slots.as_ref()) else {
            return Some(ready);
        };
        let Output { free, was_ipv6, .. } = &mut self.outputs[ready.output];
        if *was_ipv6 != ipv6.is_some() {
            // Remainders of a picosecond are those of one clock.
            (*free, *was_ipv6) = (Span::whole(free.ps), ipv6.is_some());
        }
        let start = Span::whole(ready.ready_ps).max(*free);
        let wait_ps = start.ps - ready.ready_ps;
        if wait_ps / slots.length.ps.max(1) > ports.queue_frames(ready.output) as u64 {
            ports.drop(ready.output, DropCause::QueueFull, ready.frame);
            return None;
        }
        *free = slots.clock.sum(start, slots.length);
        ready.ready_ps = start.ps;
        Some(ready)
    }

    pub fn reset(&mut self, ports: &mut DevicePorts) {
        for (port, output) in self.outputs.iter_mut().enumerate() {
            for (_, ready) in output.coming.drain(..) {
                ports.releases_frame();
                ports.drop(port, DropCause::Reset, ready.frame);
            }
            output.free = Span::default();
        }
        self.outward_ps.fill(0);
        self.inward_ps.fill(0);
    }
}

#[inline]
fn is_unicast(frame: &[u8]) -> bool {
    !is_group(ethernet::number(ethernet::destination(frame)))
}

/// Whether the EtherType behind the tags is this one.
#[inline]
fn is_type(frame: &[u8], ether_type: u16) -> bool {
    let mut at = ethernet::HEADER_BYTES - 2;
    while let Some(&[high, low]) = frame.get(at..at + 2) {
        let found = u16::from_be_bytes([high, low]);
        if !vlan::is_tag(found) {
            return found == ether_type;
        }
        at += vlan::TAG_BYTES;
    }
    false
}
