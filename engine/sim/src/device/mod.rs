//! Devices under test: nodes that receive frames and send frames, without a P4 program.
//!
//! A model owns its state and its decisions; lines, links, queues and time belong to the
//! [`Fabric`]. To add one: a file here, a name in [`build`].

mod broadcast;
mod buffer;
mod changes;
mod chassis;
mod ethernet_switch;
mod flood_limit;
mod groups;
mod host;
mod impairments;
mod input_pacing;
mod input_queue;
mod jitter;
mod learning;
mod lookup;
mod mac_table;
mod p4_config;
mod p4_device;
mod p4_entries;
mod p4_loop;
mod p4_names;
mod pause_sender;
mod router;
mod simultaneous;
mod size_table;
mod snooping;
mod station;
mod switch_config;
mod switching_fabric;
mod tap;
mod vlan;

use std::collections::BTreeMap;

use p4mesh_pipeline::Frame;

use crate::arrival::Arrival;
use crate::config::{ConfigError, DeviceConfig, Place};
use crate::drops::DropCause;
use crate::event::Source;
use crate::fabric::{ArrivalRule, Fabric};
use crate::rng::Rng;

pub use broadcast::BroadcastConfig;
pub use buffer::SharedBufferConfig;
pub use changes::{Change, When};
pub use chassis::ChassisConfig;
pub use ethernet_switch::EthernetSwitch;
pub use flood_limit::FloodLimitConfig;
pub use host::{Host, HostFrame};
pub use impairments::ImpairmentsConfig;
pub use input_queue::InputQueueConfig;
pub use jitter::JitterConfig;
pub use learning::LearningConfig;
pub use lookup::LookupConfig;
pub use mac_table::{Aging, Hash, MacTable, MacTableConfig};
pub use p4_config::P4Config;
pub use p4_device::P4Device;
pub use pause_sender::PauseSenderConfig;
pub use router::{Router, RouterConfig};
pub use simultaneous::{FrameClass, SimultaneousConfig};
pub use size_table::{SizePoint, SizeTable};
pub use snooping::SnoopingConfig;
pub use station::{Received, Station, Stream};
pub use switch_config::{EthernetSwitchConfig, Forwarding};
pub use switching_fabric::FabricConfig;
pub use tap::{Tap, TapConfig};
pub use vlan::{VlanConfig, VlanMode, VlanPort};

/// Networks of one IP version that a device has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedRoutes {
    pub ip_version: u8,
    pub networks: u64,
    /// Routes that fit.
    pub most: u64,
}

/// A model of a device. Ports are numbered from 0 in the order of the configuration.
pub trait Device: Send {
    /// Moment at which the device acts on frames that arrive at a port.
    fn arrival_rule(&self, port: usize) -> ArrivalRule;

    /// A frame for which the arrival rule is fulfilled. The device takes it: it enqueues it, drops
    /// it with a cause, or gives it back to the pool.
    fn receive(&mut self, port: usize, arrival: &mut Arrival, ports: &mut DevicePorts);

    /// A timer that the device set for a port fell due.
    fn timer(&mut self, _port: usize, _ports: &mut DevicePorts) {}

    /// Called once, before the clock starts.
    fn start(&mut self, _ports: &mut DevicePorts) {}

    /// The link of a port has gone down or come up.
    fn link_changed(&mut self, _port: usize, _up: bool, _ports: &mut DevicePorts) {}

    /// Starts the random numbers of the device called `name` anew, and state that stands for chance in a model:
    /// afterwards decisions depend on earlier frames by the learned addresses alone.
    fn reseed(&mut self, _seed: u64, _name: &str) {}

    /// Back to the state after power-on; the queues have been flushed.
    fn reset(&mut self, _ports: &mut DevicePorts) {}

    /// Changes that the configuration of the device asks for.
    fn changes(&self) -> Vec<Change> {
        Vec::new()
    }

    /// The time of one of [`Device::changes`] has come: carries out what is the device's own.
    fn change(&mut self, _index: usize) {}

    /// Counters of the model, by name, for truth checks.
    fn counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }

    /// Networks that were announced to it and did not fit since the last call, as its management tells.
    fn take_refused_routes(&mut self) -> Vec<RefusedRoutes> {
        Vec::new()
    }

    /// Access to the concrete type, for tests.
    fn as_any(&mut self) -> &mut dyn std::any::Any;
}

/// The ports of one device.
pub struct DevicePorts<'a> {
    pub(crate) fabric: &'a mut Fabric,
    /// Index of its first port in the fabric.
    pub(crate) base: usize,
    pub(crate) count: usize,
}

impl DevicePorts<'_> {
    #[inline]
    pub fn now_ps(&self) -> u64 {
        self.fabric.now_ps
    }

    /// Number of ports.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn rate_bps(&self, port: usize) -> u64 {
        self.fabric.port(self.base + port).line.rate_bps()
    }

    /// Frames that may wait for a port.
    #[inline]
    pub fn queue_frames(&self, port: usize) -> usize {
        self.fabric.port(self.base + port).queue_frames
    }

    #[inline]
    pub fn link_up(&self, port: usize) -> bool {
        self.fabric.port(self.base + port).link_up()
    }

    /// A buffer with a copy of `bytes`.
    #[inline]
    pub fn copy(&mut self, bytes: &[u8]) -> Frame {
        self.fabric.out.pool.copy_of(bytes)
    }

    /// An empty buffer.
    pub fn take(&mut self) -> Frame {
        self.fabric.out.pool.take()
    }

    /// Gives a buffer back.
    pub fn give(&mut self, frame: Frame) {
        self.fabric.out.pool.give(frame);
    }

    /// Puts a frame into the queue of a port; its first bit leaves at `ready_ps` or, behind other
    /// frames, later. Returns the start of its preamble, or `None` when the queue was full.
    #[inline]
    pub fn enqueue(&mut self, port: usize, frame: Frame, ready_ps: u64) -> Option<u64> {
        self.enqueue_marked(port, frame, ready_ps, false)
    }

    /// Like [`DevicePorts::enqueue`]; `bad_fcs` sends an FCS that does not fit.
    #[inline]
    pub fn enqueue_marked(&mut self, port: usize, frame: Frame, ready_ps: u64, bad_fcs: bool) -> Option<u64> {
        self.fabric.enqueue(self.base + port, frame, ready_ps, bad_fcs)
    }

    /// Time at which the queue of a port has room for one more frame that is ready at `ready_ps`: now, or later.
    #[inline]
    pub fn room_at_ps(&mut self, port: usize, ready_ps: u64) -> u64 {
        self.fabric.room_at_ps(self.base + port, ready_ps)
    }

    /// True when a frame to this port that is ready at `at_ps` would not have to wait.
    #[inline]
    pub fn idle_at(&self, port: usize, at_ps: u64) -> bool {
        self.fabric.port(self.base + port).line.free_ps() <= at_ps
    }

    /// Says that the device keeps a frame outside of the queues of its ports.
    pub fn keeps_frame(&mut self) {
        self.fabric.in_flight += 1;
    }

    /// Says that the device gives up a frame that it kept.
    pub fn releases_frame(&mut self) {
        self.fabric.in_flight -= 1;
    }

    /// Sends a frame as soon as the line is free, however many wait.
    pub fn send_now(&mut self, port: usize, frame: Frame) {
        let now_ps = self.fabric.now_ps;
        self.fabric.send(self.base + port, frame, now_ps);
    }

    /// Sends a frame before all others that have not started, as a MAC does with a PAUSE frame.
    pub fn send_first(&mut self, port: usize, frame: Frame) {
        self.fabric.send_first(self.base + port, frame);
    }

    /// Sends a frame as it arrives, with the bits of its sender at their times.
    #[inline]
    pub fn relay(&mut self, port: usize, arrival: Arrival) {
        self.fabric.relay(self.base + port, arrival);
    }

    /// Counts a drop at a port.
    #[inline]
    pub fn drop(&mut self, port: usize, cause: DropCause, frame: Frame) {
        self.fabric.drop_frame(self.base + port, cause, frame);
    }

    /// Calls [`Device::timer`] at `at_ps`, or in this moment when that is over.
    pub fn set_timer(&mut self, port: usize, at_ps: u64) {
        let at_ps = at_ps.max(self.fabric.now_ps);
        self.fabric.events.schedule(at_ps, Source::Timer((self.base + port) as u32));
    }
}

/// Checks that a model names a port of its device.
fn check_port(place: &Place, port: u16, ports: &[u16]) -> Result<(), ConfigError> {
    if ports.contains(&port) {
        return Ok(());
    }
    let valid: Vec<String> = ports.iter().map(u16::to_string).collect();
    let problem = format!("no port {port} on this device");
    Err(place.invalid(problem, valid.join(", ")))
}

/// A device without keys of its own.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoKeys {}

/// Names of the models, as `device` in the configuration has them.
pub const MODELS: &[&str] = &["ethernet_switch", "host", "p4", "router", "tap"];

/// Makes the device of one of the `nodes` of the configuration, which is at `place`.
pub(crate) fn build(place: &Place, entry: &DeviceConfig, seed: u64) -> Result<Box<dyn Device>, ConfigError> {
    let (name, latency, model) = (entry.name.as_str(), entry.latency_ns, &entry.model);
    let ports: Vec<u16> = entry.ports.iter().map(|port| port.number).collect();
    match entry.device.as_str() {
        "ethernet_switch" => {
            let config: EthernetSwitchConfig = place.read(model)?;
            config.check(place, &ports)?;
            let switch = EthernetSwitch::with_ports(config, latency, name, seed, &ports);
            Ok(Box::new(switch))
        }
        "host" => {
            let NoKeys {} = place.read(model)?;
            Ok(Box::new(Host::default()))
        }
        "p4" => {
            let config: P4Config = place.read(model)?;
            let seed = Rng::for_part(seed, name).next();
            Ok(Box::new(P4Device::new(config, latency, place, &ports, seed)?))
        }
        "router" => {
            let config: RouterConfig = place.read(model)?;
            Ok(Box::new(Router::new(&config, latency, place, (name, seed), &ports)?))
        }
        "tap" => {
            let config: TapConfig = place.read(model)?;
            Ok(Box::new(Tap::new(&config, latency, place, &ports)?))
        }
        device => {
            let problem = format!("no device model named '{device}'");
            Err(place.key("device").invalid(problem, MODELS.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(device: &str, keys: &str) -> String {
        let entry = format!(
            r#"{{"name": "dut", "device": "{device}", {keys}
                 "ports": [{{"number": 1, "rate_bps": 1000000000}}, {{"number": 2, "rate_bps": 1000000000}}]}}"#
        );
        let place = Place::default().key("nodes").index(0);
        let built = build(&place, &serde_json::from_str(&entry).unwrap(), 1);
        built.map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn errors_say_where_what_and_what_is_valid() {
        for (device, keys, message) in [
            ("hub", "", "nodes[0].device: no device model named 'hub'; valid: ethernet_switch, host, p4, router, tap"),
            (
                "ethernet_switch",
                r#""mac_table": {"entries": 10, "ways": 4},"#,
                "nodes[0].mac_table.ways: is 4; valid: a divisor of mac_table.entries",
            ),
            (
                "ethernet_switch",
                r#""lookup": {"capacity_fps": 0},"#,
                "nodes[0].lookup.capacity_fps: invalid value: integer `0`, expected an integer from 1 to 1000000000000",
            ),
            (
                "ethernet_switch",
                r#""look_ahead_bytes": 64,"#,
                "nodes[0].forwarding: look_ahead_bytes and forwarding do not fit together; \
                 valid: look_ahead_bytes with cut_through, and only then",
            ),
            (
                "ethernet_switch",
                r#""jitter": {"uniform": {"max_ns": 0.5, "min_ns": 1}},"#,
                "nodes[0].jitter.uniform.min_ns: unknown field `min_ns`, expected `max_ns`",
            ),
            (
                "router",
                r#""interfaces": [{"port": 3, "mac": "02:00:00:00:00:01", "addresses": ["10.0.0.1/24"]}],"#,
                "nodes[0].interfaces[0].port: no port 3 on this device; valid: 1, 2",
            ),
            (
                "router",
                r#""interfaces": [{"port": 1, "mac": "03:00:00:00:00:01", "addresses": ["10.0.0.1/24"]}],"#,
                "nodes[0].interfaces[0].mac: is '03:00:00:00:00:01'; valid: the MAC of one station, such as 02:f4:bc:00:00:01",
            ),
            (
                "router",
                r#""interfaces": [{"port": 1, "mac": "02:00:00:00:00:01", "addresses": ["10.0.0.1"]}],"#,
                "nodes[0].interfaces[0].addresses[0]: is '10.0.0.1'; valid: an address and the bits of its prefix, such as 198.18.1.1/24 or 2001:db8::1/64",
            ),
            (
                "router",
                r#""interfaces": [], "routes": [{"prefix": "10.0.0.0/8", "next_hops": ["10.0.0.1"]}],"#,
                "nodes[0].routes[0].next_hops[0]: 10.0.0.1 is in no network of an interface; valid: an address in the network of an interface",
            ),
            (
                "tap",
                r#""monitor_first": 3,"#,
                "nodes[0].monitor_first: no port 3 on this device; valid: ",
            ),
        ] {
            assert_eq!(error_of(device, keys), message);
        }
        for (keys, message) in [
            (
                r#""mac_table": {"entries": 4, "sise": 4},"#,
                "nodes[0].mac_table.sise: unknown field `sise`, expected one of",
            ),
            (
                r#""forwarding": "fast","#,
                "nodes[0].forwarding: unknown variant `fast`, expected `store_and_forward` or `cut_through`",
            ),
            (r#""monitor_first": 1,"#, "nodes[0].monitor_first: unknown field `monitor_first`"),
        ] {
            let error = error_of("ethernet_switch", keys);
            assert!(error.starts_with(message), "{error}");
        }
    }
}
