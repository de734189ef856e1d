//! A limit to flooded frames per second (storm control): a token bucket.

use serde::Deserialize;

use super::check_range;
use crate::config::ConfigError;
use crate::time::{BitClock, Span};

/// `flood_limit` of an Ethernet switch; frames above it are dropped.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FloodLimitConfig {
    /// Flooded frames per second, over all ports.
    pub rate_fps: u64,
    /// Frames that may be flooded at once.
    #[serde(default = "default_burst_frames")]
    pub burst_frames: u32,
}

fn default_burst_frames() -> u32 {
    1
}

impl FloodLimitConfig {
    pub fn check(&self, path: &str) -> Result<(), ConfigError> {
        check_range(
            path,
            "flood_limit.rate_fps",
            self.rate_fps,
            1,
            1_000_000_000_000,
        )?;
        let burst = u64::from(self.burst_frames);
        check_range(path, "flood_limit.burst_frames", burst, 1, 1_048_576)
    }
}

/// The bucket.
pub struct FloodLimit {
    clock: BitClock,
    service: Span,
    burst: Span,
    empty_at: Span,
}

impl FloodLimit {
    pub fn new(config: &FloodLimitConfig) -> FloodLimit {
        let clock = BitClock::new(config.rate_fps, 0);
        FloodLimit {
            clock,
            service: clock.periods(1),
            burst: clock.periods(u64::from(config.burst_frames)),
            empty_at: Span::default(),
        }
    }

    /// True when a frame may be flooded now.
    pub fn admit(&mut self, now_ps: u64) -> bool {
        let now = Span::whole(now_ps);
        let work = self.clock.sum(self.empty_at.max(now), self.service);
        if work > self.clock.sum(now, self.burst) {
            return false;
        }
        self.empty_at = work;
        true
    }

    pub fn reset(&mut self) {
        self.empty_at = Span::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_passes_after_a_first_burst() {
        let config = FloodLimitConfig {
            rate_fps: 1_000,
            burst_frames: 10,
        };
        let mut limit = FloodLimit::new(&config);
        let passed = (0..100_000u64)
            .filter(|n| limit.admit(n * 10_000_000))
            .count();
        assert!(passed.abs_diff(1_000 + 10) <= 1, "{passed}");
    }
}
