//! A limit to flooded frames per second (storm control): a token bucket.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{RateFps, Whole};
use crate::time::{BitClock, Span};

/// `flood_limit` of an Ethernet switch; frames above it are dropped.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FloodLimitConfig {
    /// Flooded frames per second, all ports together.
    pub rate_fps: RateFps,
    /// Frames that may be flooded at once.
    #[serde(default)]
    pub burst_frames: Whole<1, 1_048_576, 1>,
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
        let clock = BitClock::new(config.rate_fps.get(), 0);
        FloodLimit {
            clock,
            service: clock.periods(1),
            burst: clock.periods(config.burst_frames.get()),
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
        let config = FloodLimitConfig { rate_fps: RateFps::of(1_000), burst_frames: Whole::of(10) };
        let mut limit = FloodLimit::new(&config);
        let passed = (0..100_000u64).filter(|n| limit.admit(n * 10_000_000)).count();
        assert!(passed.abs_diff(1_000 + 10) <= 1, "{passed}");
    }
}
