//! A limit to the frames that a device can replicate to many ports: one server with a service time
//! that depends on the length, and a short queue in front of it.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::Deserialize;

use super::size_table::SizeTable;
use crate::config::{ConfigError, Latency, Place, QueueFrames};

/// `broadcast` of an Ethernet switch: service time max(`service_min_ns`, `service_base_ns` + length *
/// `service_per_byte_ns`), length with FCS; or `service_by_size` where measured times do not follow this formula.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BroadcastConfig {
    /// Least time per frame.
    #[serde(default)]
    pub service_min_ns: Latency,
    /// Time per frame.
    #[serde(default)]
    pub service_base_ns: Latency,
    /// Time per byte with FCS.
    #[serde(default)]
    pub service_per_byte_ns: Latency,
    /// Times by length, in place of the three above; between them interpolated.
    #[serde(default)]
    pub service_by_size: SizeTable,
    /// Frames that wait for the server.
    #[serde(default)]
    pub queue_frames: QueueFrames<64>,
    /// Flooded unicast frames need the server, too.
    #[serde(default)]
    pub unknown_unicast: bool,
}

impl BroadcastConfig {
    pub fn check(&self, place: &Place) -> Result<(), ConfigError> {
        self.service_by_size.check(&place.key("service_by_size"))
    }

    fn service_ps(&self, wire_bytes: u32) -> u64 {
        if !self.service_by_size.is_empty() {
            return self.service_by_size.at(wire_bytes);
        }
        let bytes_ps = u64::from(wire_bytes) * self.service_per_byte_ns.ps();
        let linear_ps = self.service_base_ns.ps() + bytes_ps;
        linear_ps.max(self.service_min_ns.ps())
    }
}

/// The server.
pub struct Broadcast {
    config: BroadcastConfig,
    busy_until_ps: u64,
    /// Times at which the frames that wait are taken up.
    starts: VecDeque<u64>,
}

impl Broadcast {
    pub fn new(config: &BroadcastConfig) -> Broadcast {
        Broadcast { config: config.clone(), busy_until_ps: 0, starts: VecDeque::new() }
    }

    pub fn serves_unknown_unicast(&self) -> bool {
        self.config.unknown_unicast
    }

    /// Time for which a frame that comes now waits for the server; `None` when the queue is full.
    pub fn admit(&mut self, now_ps: u64, wire_bytes: u32) -> Option<u64> {
        while self.starts.front().is_some_and(|&start_ps| start_ps <= now_ps) {
            self.starts.pop_front();
        }
        let start_ps = self.busy_until_ps.max(now_ps);
        if start_ps > now_ps {
            if self.starts.len() >= self.config.queue_frames.get() as usize {
                return None;
            }
            self.starts.push_back(start_ps);
        }
        self.busy_until_ps = start_ps + self.config.service_ps(wire_bytes);
        Some(start_ps - now_ps)
    }

    pub fn reset(&mut self) {
        self.busy_until_ps = 0;
        self.starts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_service_time() {
        let config = BroadcastConfig {
            service_min_ns: Latency::from_ps(1_013_400),
            service_base_ns: Latency::from_ps(496_000),
            service_per_byte_ns: Latency::from_ps(8_000),
            service_by_size: SizeTable::default(),
            queue_frames: QueueFrames::default(),
            unknown_unicast: false,
        };
        for (wire_bytes, service_ps) in [(64, 1_013_400), (128, 1_520_000), (1_518, 12_640_000)] {
            let mut server = Broadcast::new(&config);
            let end_ps = 100_000_000_000;
            let slot_ps = 8_000 * (u64::from(wire_bytes) + 20);
            let passed = (0..end_ps / slot_ps)
                .filter(|n| server.admit(n * slot_ps, wire_bytes).is_some())
                .count() as u64;
            let expected = end_ps / service_ps + 64;
            assert!(passed.abs_diff(expected.min(end_ps / slot_ps)) <= 1, "{passed} {expected}");
        }
    }
}
