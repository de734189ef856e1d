//! A limit to the frames that a device can replicate to many ports: one server with a service time
//! that depends on the length, and a short queue in front of it.

use std::collections::VecDeque;

use serde::Deserialize;

use super::check_range;
use super::size_table::SizeTable;
use crate::config::ConfigError;

/// `broadcast` of an Ethernet switch: service time max(`min_ps`, `base_ps` + length * `byte_ps`),
/// length with FCS; or that of `service` where measurements follow no such line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BroadcastConfig {
    #[serde(default)]
    pub min_ps: u64,
    #[serde(default)]
    pub base_ps: u64,
    #[serde(default)]
    pub byte_ps: u64,
    /// Service times at some lengths, in place of the three values above.
    #[serde(default)]
    pub service: SizeTable,
    /// Frames that may wait for the server.
    #[serde(default = "default_queue_frames")]
    pub queue_frames: usize,
    /// Unknown unicast frames need the server too.
    #[serde(default)]
    pub unknown_unicast: bool,
}

/// One second.
const MAX_PS: u64 = 1_000_000_000_000;

impl BroadcastConfig {
    pub fn check(&self, path: &str) -> Result<(), ConfigError> {
        check_range(path, "broadcast.min_ps", self.min_ps, 0, MAX_PS)?;
        check_range(path, "broadcast.base_ps", self.base_ps, 0, MAX_PS)?;
        check_range(path, "broadcast.byte_ps", self.byte_ps, 0, MAX_PS)?;
        self.service.check(path, "broadcast.service")
    }

    fn service_ps(&self, wire_bytes: u32) -> u64 {
        if !self.service.is_empty() {
            return self.service.at(wire_bytes);
        }
        let linear_ps = self.base_ps + u64::from(wire_bytes) * self.byte_ps;
        linear_ps.max(self.min_ps)
    }
}

fn default_queue_frames() -> usize {
    64
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
        Broadcast {
            config: config.clone(),
            busy_until_ps: 0,
            starts: VecDeque::new(),
        }
    }

    pub fn serves_unknown_unicast(&self) -> bool {
        self.config.unknown_unicast
    }

    /// How long a frame that comes now waits for the server; `None` when the queue is full.
    pub fn admit(&mut self, now_ps: u64, wire_bytes: u32) -> Option<u64> {
        while self
            .starts
            .front()
            .is_some_and(|&start_ps| start_ps <= now_ps)
        {
            self.starts.pop_front();
        }
        let start_ps = self.busy_until_ps.max(now_ps);
        if start_ps > now_ps {
            if self.starts.len() >= self.config.queue_frames {
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
            min_ps: 1_013_400,
            base_ps: 496_000,
            byte_ps: 8_000,
            service: SizeTable::default(),
            queue_frames: 64,
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
            assert!(
                passed.abs_diff(expected.min(end_ps / slot_ps)) <= 1,
                "{passed} {expected}"
            );
        }
    }
}
