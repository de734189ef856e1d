//! Frames of an input that are read no closer to each other than a distance, until they are behind by a limit.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::Latency;

/// `input_pacing` of an Ethernet switch: a store at each input that is read a little slower than the line. Latency grows
/// from the first frame after a pause to the next ones, and stops at the limit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputPacingConfig {
    /// Least distance of frames that go on.
    pub distance_ns: Latency,
    /// No frame is held back for longer.
    pub most_ns: Latency,
}

/// When the last frame of each input went on.
pub struct InputPacing {
    config: InputPacingConfig,
    last_ps: Vec<Option<u64>>,
}

impl InputPacing {
    pub fn new(config: &InputPacingConfig) -> InputPacing {
        InputPacing { config: config.clone(), last_ps: Vec::new() }
    }

    /// For how long a frame of `port` is held back.
    pub fn delay_ps(&mut self, port: usize, now_ps: u64) -> u64 {
        if self.last_ps.len() <= port {
            self.last_ps.resize(port + 1, None);
        }
        let due_ps = self.last_ps[port].map_or(now_ps, |it| it + self.config.distance_ns.ps());
        let at_ps = due_ps.clamp(now_ps, now_ps + self.config.most_ns.ps());
        self.last_ps[port] = Some(at_ps);
        at_ps - now_ps
    }

    pub fn reset(&mut self) {
        self.last_ps.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_grows_to_the_limit_and_a_pause_takes_it_back() {
        let config =
            InputPacingConfig { distance_ns: Latency::from_ps(1_010), most_ns: Latency::from_ps(35) };
        let mut pacing = InputPacing::new(&config);
        let delays: Vec<u64> = (0..6).map(|n| pacing.delay_ps(0, 1_000 * n)).collect();
        assert_eq!(delays, [0, 10, 20, 30, 35, 35]);
        assert_eq!(pacing.delay_ps(0, 6_020), 25);
        assert_eq!(pacing.delay_ps(0, 9_000), 0);
        assert_eq!(pacing.delay_ps(2, 9_001), 0, "inputs have nothing to do with each other");
    }
}
