//! A passive tap in a cable: two ports through, and copies of either direction on further ports.

use std::any::Any;

use serde::Deserialize;

use super::{check_port, invalid, Device, DevicePorts};
use crate::config::ConfigError;
use crate::drops::DropCause;
use crate::fabric::{Arrival, ArrivalRule};

/// `model` of a device `tap`. Its first two ports are in the cable, the others are for monitors.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TapConfig {
    /// Delay of either direction.
    pub latency_ps: u64,
    /// Port that gets what comes in at the first port, and at the second.
    pub monitor_first: Option<u16>,
    pub monitor_second: Option<u16>,
    /// Local index of the monitors, known after the check.
    #[serde(skip)]
    monitors: [Option<usize>; 2],
}

impl TapConfig {
    pub fn check(&self, path: &str, ports: &[u16]) -> Result<(), ConfigError> {
        if ports.len() < 2 {
            let problem = format!("the device has {} ports", ports.len());
            return invalid(path, "ports", problem, "two ports and one per monitor");
        }
        super::check_range(path, "latency_ps", self.latency_ps, 0, 1_000_000_000_000)?;
        for (field, port) in [
            ("monitor_first", self.monitor_first),
            ("monitor_second", self.monitor_second),
        ] {
            if let Some(port) = port {
                check_port(path, field, port, &ports[2..])?;
            }
        }
        Ok(())
    }

    /// Finds the monitors among the ports of the device.
    pub fn resolve(mut self, ports: &[u16]) -> TapConfig {
        let local = |port: Option<u16>| ports.iter().position(|&it| Some(it) == port);
        self.monitors = [local(self.monitor_first), local(self.monitor_second)];
        self
    }
}

/// The model. It adds nothing to a frame but its delay: what is behind it sees the bits of the
/// sender, with its gaps and its clock. Only a monitor of both directions has to queue frames.
pub struct Tap {
    latency_ps: u64,
    monitors: [Option<usize>; 2],
}

impl Tap {
    pub fn new(config: &TapConfig) -> Tap {
        Tap {
            latency_ps: config.latency_ps,
            monitors: config.monitors,
        }
    }
}

impl Device for Tap {
    fn arrival_rule(&self, _port: usize) -> ArrivalRule {
        ArrivalRule {
            lookahead_bytes: Some(0),
            latency_ps: self.latency_ps,
        }
    }

    fn receive(&mut self, port: usize, arrival: Arrival, ports: &mut DevicePorts) {
        let Some(monitor) = self.monitors.get(port) else {
            return ports.drop(port, DropCause::NotRouted, arrival.frame);
        };
        let passed = Arrival {
            first_bit_ps: arrival.first_bit_ps + self.latency_ps,
            last_bit_ps: arrival.last_bit_ps + self.latency_ps,
            ..arrival
        };
        if let &Some(monitor) = monitor {
            let frame = ports.copy(&passed.frame);
            if self.monitors[0] == self.monitors[1] {
                let now_ps = ports.now_ps();
                ports.enqueue_marked(monitor, frame, now_ps, passed.bad_fcs);
            } else {
                ports.relay(monitor, Arrival { frame, ..passed });
            }
        }
        ports.relay(1 - port, passed);
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
