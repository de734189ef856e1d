//! Frames of different ports that come at the same moment, of which a device now and then loses one.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{Latency, Ppb};
use crate::rng::Rng;

/// `simultaneous_arrivals` of an Ethernet switch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimultaneousConfig {
    /// Frames that arrive within this time count as simultaneous.
    #[serde(default)]
    pub window_ns: Latency,
    /// Probability that the later frame is lost.
    pub drop_ppb: Ppb,
}

/// The frame before, and the draw.
pub struct Simultaneous {
    config: SimultaneousConfig,
    /// Time and port of the last decision.
    last: Option<(u64, usize)>,
    rng: Rng,
}

impl Simultaneous {
    pub fn new(config: &SimultaneousConfig, rng: Rng) -> Simultaneous {
        Simultaneous { config: config.clone(), last: None, rng }
    }

    /// Draws from other numbers.
    pub fn reseed(&mut self, rng: Rng) {
        self.rng = rng;
    }

    /// True when the frame of `port` is lost.
    pub fn loses(&mut self, port: usize, now_ps: u64) -> bool {
        let before = self.last.replace((now_ps, port));
        let at_once = before
            .is_some_and(|(at_ps, other)| other != port && now_ps - at_ps <= self.config.window_ns.ps());
        at_once && self.rng.chance_ppb(self.config.drop_ppb.get() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frames_of_other_ports_within_the_window_are_in_the_way() {
        let config =
            SimultaneousConfig { window_ns: Latency::from_ps(100), drop_ppb: Ppb::of(1_000_000_000) };
        let mut arrivals = Simultaneous::new(&config, Rng::new(1));
        assert!(!arrivals.loses(0, 0));
        assert!(!arrivals.loses(0, 10));
        assert!(arrivals.loses(1, 110));
        assert!(!arrivals.loses(2, 211));
    }
}
