//! Learning in software: an address is learned some time after its frame, and only so many per
//! second. Frames that come before are flooded.

use std::collections::{BTreeSet, VecDeque};

use schemars::JsonSchema;
use serde::Deserialize;

use super::mac_table::{Learned, MacTable};
use crate::config::{Latency, Whole};

/// One second.
const PS_PER_S: u64 = 1_000_000_000_000;

/// `learning_path` of an Ethernet switch; absent: addresses are learned at once.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LearningConfig {
    /// From the frame to the entry.
    #[serde(default)]
    pub delay_ns: Latency,
    /// Addresses per second, 0 = any number.
    #[serde(default)]
    pub rate_fps: Whole<0, 1_000_000_000_000>,
    /// Addresses that wait to be learned.
    #[serde(default)]
    pub queue_frames: Whole<1, 1_048_576, 1_024>,
}

struct Request {
    at_ps: u64,
    mac: u64,
    port: usize,
}

/// Addresses on their way into the table.
pub struct LearningPath {
    delay_ps: u64,
    service_ps: u64,
    limit: usize,
    busy_until_ps: u64,
    /// In the order in which they are carried out.
    requests: VecDeque<Request>,
    /// The addresses and ports of `requests`: further frames of a station ask for nothing new.
    asked: BTreeSet<(u64, usize)>,
}

impl LearningPath {
    pub fn new(config: &LearningConfig) -> LearningPath {
        LearningPath {
            delay_ps: config.delay_ns.ps(),
            service_ps: PS_PER_S.checked_div(config.rate_fps.get()).unwrap_or(0),
            limit: config.queue_frames.get() as usize,
            busy_until_ps: 0,
            requests: VecDeque::new(),
            asked: BTreeSet::new(),
        }
    }

    /// Carries out the requests that are due; `done` gets the result of each address.
    pub fn carry_out(&mut self, now_ps: u64, macs: &mut MacTable, mut done: impl FnMut(Learned)) {
        while let Some(request) = self.requests.front().filter(|it| it.at_ps <= now_ps) {
            done(macs.learn(request.mac, request.port, request.at_ps));
            self.asked.remove(&(request.mac, request.port));
            self.requests.pop_front();
        }
    }

    /// Asks for an address to be learned. False when the request was lost.
    pub fn ask(&mut self, mac: u64, port: usize, now_ps: u64) -> bool {
        if self.asked.contains(&(mac, port)) {
            return true;
        }
        if self.requests.len() >= self.limit {
            return false;
        }
        self.asked.insert((mac, port));
        self.busy_until_ps = self.busy_until_ps.max(now_ps) + self.service_ps;
        let at_ps = self.busy_until_ps + self.delay_ps;
        self.requests.push_back(Request { at_ps, mac, port });
        true
    }

    /// Drops the requests of a port.
    pub fn forget_port(&mut self, port: usize) {
        self.requests.retain(|request| request.port != port);
        self.asked.retain(|&(_, asked_at)| asked_at != port);
    }

    pub fn reset(&mut self) {
        self.requests.clear();
        self.asked.clear();
        self.busy_until_ps = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::mac_table::MacTableConfig;
    use super::*;

    #[test]
    fn addresses_are_learned_at_the_rate_and_after_the_delay() {
        let config = LearningConfig {
            delay_ns: Latency::from_ps(5_000_000_000),
            rate_fps: Whole::of(100),
            queue_frames: Whole::of(8),
        };
        let mut path = LearningPath::new(&config);
        let mut macs = MacTable::new(&MacTableConfig::default());
        let accepted = (0..20).filter(|&mac| path.ask(mac, 1, 0)).count();
        assert_eq!(accepted, 8, "the queue holds eight");
        assert!(path.ask(0, 1, 0), "a station that waits already");
        // One every 10 ms, the first one 5 ms after its turn.
        for (at_ms, known) in [(14u64, 0), (15, 1), (24, 1), (25, 2), (85, 8)] {
            path.carry_out(at_ms * 1_000_000_000, &mut macs, |_| {});
            assert_eq!(macs.len(at_ms * 1_000_000_000), known, "{at_ms} ms");
        }
    }
}
