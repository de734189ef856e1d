//! A passive tap in a cable: two ports through, and copies of either direction on further ports.

use std::any::Any;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{check_port, Device, DevicePorts};
use crate::arrival::Arrival;
use crate::config::{ConfigError, Latency, Place, PortNumber};
use crate::drops::DropCause;
use crate::fabric::ArrivalRule;

/// Keys of a device `tap`. Its first two ports are in the cable, the others are for monitors.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TapConfig {
    /// Port with copies of the frames that come in at port 1.
    #[schemars(with = "PortNumber")]
    pub monitor_first: Option<u16>,
    /// Port with copies of the frames that come in at port 2.
    #[schemars(with = "PortNumber")]
    pub monitor_second: Option<u16>,
}

impl TapConfig {
    fn monitors(&self) -> [(&'static str, Option<u16>); 2] {
        [("monitor_first", self.monitor_first), ("monitor_second", self.monitor_second)]
    }

    fn check(&self, place: &Place, ports: &[u16]) -> Result<(), ConfigError> {
        if ports.len() < 2 {
            let problem = format!("the device has {} ports", ports.len());
            let place = place.key("ports");
            return Err(place.invalid(problem, "two ports and one per monitor"));
        }
        for (key, port) in self.monitors() {
            if let Some(port) = port {
                check_port(&place.key(key), port, &ports[2..])?;
            }
        }
        Ok(())
    }
}

/// The model. It only delays a frame: a receiver behind it sees the bits of the sender, with its gaps and its clock.
/// Only a monitor of both directions has to queue frames.
pub struct Tap {
    latency_ps: u64,
    monitors: [Option<usize>; 2],
}

impl Tap {
    /// Checks a configuration; `ports` are the port numbers of the device, `latency` delays either direction.
    pub fn new(
        config: &TapConfig,
        latency: Latency,
        place: &Place,
        ports: &[u16],
    ) -> Result<Tap, ConfigError> {
        config.check(place, ports)?;
        let local = |port: Option<u16>| ports.iter().position(|&it| Some(it) == port);
        Ok(Tap { latency_ps: latency.ps(), monitors: config.monitors().map(|(_, port)| local(port)) })
    }
}

impl Device for Tap {
    fn arrival_rule(&self, _port: usize) -> ArrivalRule {
        ArrivalRule { lookahead_bytes: Some(0), latency_ps: self.latency_ps }
    }

    fn receive(&mut self, port: usize, arrival: &mut Arrival, ports: &mut DevicePorts) {
        let Some(monitor) = self.monitors.get(port) else {
            return ports.drop(port, DropCause::NotRouted, arrival.take_frame());
        };
        let passed = Arrival {
            first_bit_ps: arrival.first_bit_ps + self.latency_ps,
            last_bit_ps: arrival.last_bit_ps + self.latency_ps,
            ..std::mem::take(arrival)
        };
        if let &Some(monitor) = monitor {
            let frame = ports.copy(&passed.frame);
            if self.monitors[0] == self.monitors[1] {
                let now_ps = ports.now_ps();
                ports.enqueue_marked(monitor, frame, now_ps, passed.fcs.is_bad());
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
