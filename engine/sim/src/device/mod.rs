//! Devices under test: nodes that receive frames and send frames, without a P4 program.
//!
//! A model owns its state and its decisions; lines, links, queues and time belong to the
//! [`Fabric`]. To add one: a file here, a name in [`build`].

mod broadcast;
mod ethernet_switch;
mod host;
mod lookup;
mod mac_table;
mod station;

use std::collections::BTreeMap;

use p4mesh_pipeline::Frame;
use serde::de::DeserializeOwned;

use crate::config::ConfigError;
use crate::drops::DropCause;
use crate::event::Source;
use crate::fabric::{Arrival, ArrivalRule, Fabric};

pub use broadcast::BroadcastConfig;
pub use ethernet_switch::{EthernetSwitch, EthernetSwitchConfig, Forwarding};
pub use host::{Host, HostFrame};
pub use lookup::LookupConfig;
pub use mac_table::{MacTable, MacTableConfig};
pub use station::{Received, Station, Stream};

/// A model of a device. Ports are numbered from 0 in the order of the configuration.
pub trait Device: Send {
    /// When the device acts on frames that arrive at a port.
    fn arrival_rule(&self, port: usize) -> ArrivalRule;

    /// A frame for which the arrival rule is fulfilled. The device owns it: it enqueues it, drops
    /// it with a cause, or gives it back to the pool.
    fn receive(&mut self, port: usize, arrival: Arrival, ports: &mut DevicePorts);

    /// A timer that the device set for a port fell due.
    fn timer(&mut self, _port: usize, _ports: &mut DevicePorts) {}

    /// Called once, before the clock starts.
    fn start(&mut self, _ports: &mut DevicePorts) {}

    /// Back to the state after power-on; the queues have been flushed.
    fn reset(&mut self) {}

    /// Counters of the model, by name, for truth checks.
    fn counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
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
    /// frames, later.
    #[inline]
    pub fn enqueue(&mut self, port: usize, frame: Frame, ready_ps: u64) {
        self.fabric.enqueue(self.base + port, frame, ready_ps);
    }

    /// Sends a frame as soon as the line is free, however many wait.
    pub fn send_now(&mut self, port: usize, frame: Frame) {
        let now_ps = self.fabric.now_ps;
        self.fabric.send(self.base + port, frame, now_ps);
    }

    /// Counts a drop at a port.
    #[inline]
    pub fn drop(&mut self, port: usize, cause: DropCause, frame: Frame) {
        self.fabric.drop_frame(self.base + port, cause, frame);
    }

    /// Calls [`Device::timer`] at `at_ps`.
    pub fn set_timer(&mut self, port: usize, at_ps: u64) {
        self.fabric
            .events
            .schedule(at_ps, Source::Timer((self.base + port) as u32));
    }
}

/// `model` of a device that has nothing to configure.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoFields {}

/// Names of the models, as `device` in the configuration has them.
pub const MODELS: &[&str] = &["ethernet_switch", "host"];

/// Makes the device of one `devices[i]` of the configuration.
pub(crate) fn build(
    path: &str,
    name: &str,
    device: &str,
    model: &serde_json::Value,
    seed: u64,
) -> Result<Box<dyn Device>, ConfigError> {
    match device {
        "ethernet_switch" => {
            let path = format!("{path}.model");
            let config: EthernetSwitchConfig = parse(&path, model)?;
            config.check(&path)?;
            Ok(Box::new(EthernetSwitch::new(config, name, seed)))
        }
        "host" => {
            let NoFields {} = parse(&format!("{path}.model"), model)?;
            Ok(Box::new(Host::default()))
        }
        _ => Err(ConfigError::Invalid {
            at: format!("{path}.device"),
            problem: format!("no device model named '{device}'"),
            valid: MODELS.join(", "),
        }),
    }
}

fn parse<T: DeserializeOwned>(path: &str, value: &serde_json::Value) -> Result<T, ConfigError> {
    serde_path_to_error::deserialize(value).map_err(|error| ConfigError::Parse {
        at: format!("{path}.{}", error.path()),
        problem: error.inner().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(device: &str, model: &str) -> String {
        let model = serde_json::from_str(model).unwrap();
        let built = build("devices[0]", "dut", device, &model, 1);
        built.map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn errors_say_where_what_and_what_is_valid() {
        for (device, model, message) in [
            ("hub", "{}", "devices[0].device: no device model named 'hub'; valid: ethernet_switch, host"),
            (
                "ethernet_switch",
                r#"{"mac_table": {"size": 10, "ways": 4}}"#,
                "devices[0].model.mac_table.ways: is 4; valid: a divisor of mac_table.size",
            ),
            (
                "ethernet_switch",
                r#"{"latency_ps": 1000000000001}"#,
                "devices[0].model.latency_ps: is 1000000000001; valid: 0 to 1000000000000",
            ),
            (
                "ethernet_switch",
                r#"{"lookup": {"rate_fps": 0}}"#,
                "devices[0].model.lookup.rate_fps: is 0; valid: 1 to 1000000000000",
            ),
            (
                "ethernet_switch",
                r#"{"lookup": {"rate_fps": 5, "overload_pass_ppm": 2000000}}"#,
                "devices[0].model.lookup.overload_pass_ppm: is 2000000; valid: 0 to 1000000",
            ),
            (
                "ethernet_switch",
                r#"{"forwarding": {"cut_through": {"lookahead_bytes": 13}}}"#,
                "devices[0].model.forwarding.cut_through.lookahead_bytes: is shorter than an Ethernet header; valid: 14 or more",
            ),
            ("ethernet_switch", r#"{"loss_ppb": 1000000001}"#, "devices[0].model.loss_ppb: is 1000000001; valid: 0 to 1000000000"),
        ] {
            assert_eq!(error_of(device, model), message);
        }
        let message = error_of("ethernet_switch", r#"{"mac_table": {"sise": 4}}"#);
        assert!(
            message.starts_with(
                "devices[0].model.mac_table.sise: unknown field `sise`, expected one of"
            ),
            "{message}"
        );
        let message = error_of("ethernet_switch", r#"{"forwarding": "fast"}"#);
        assert!(
            message
                .contains("unknown variant `fast`, expected `store_and_forward` or `cut_through`"),
            "{message}"
        );
    }
}
