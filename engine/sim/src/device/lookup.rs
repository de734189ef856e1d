//! A limit to the frames that a device can look up per second, and what happens above it.
//!
//! Every frame adds one service time (1 / rate) of work to a backlog that time works off. While the
//! backlog stays within `burst_frames` the device forwards everything. When it exceeds that, the
//! device is overloaded: it forwards only `overload_pass_ppm` of the frames, evenly spaced, until
//! the backlog is worked off, that is until the offered rate has been below the capacity for some
//! time. An excess of x frames/s is therefore detected after `burst_frames / x` seconds.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{RateFps, Whole};
use crate::time::{BitClock, Span};

/// `lookup` of a device.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LookupConfig {
    /// Frames per second.
    pub capacity_fps: RateFps,
    /// Share of the frames that pass under overload.
    #[serde(default)]
    pub overload_pass_ppm: Whole<0, 1_000_000>,
    /// Frames that may arrive at once.
    #[serde(default)]
    pub burst_frames: Whole<1, 1_048_576, 64>,
}

/// The backlog of the look-up engine.
pub struct Lookup {
    clock: BitClock,
    service: Span,
    burst: Span,
    pass_ppm: u32,
    busy_until: Span,
    overloaded: bool,
    credit_ppm: u32,
}

impl Lookup {
    pub fn new(config: &LookupConfig) -> Lookup {
        let clock = BitClock::new(config.capacity_fps.get(), 0);
        Lookup {
            clock,
            service: clock.periods(1),
            burst: clock.periods(config.burst_frames.get()),
            pass_ppm: config.overload_pass_ppm.get() as u32,
            busy_until: Span::default(),
            overloaded: false,
            credit_ppm: 0,
        }
    }

    /// True when a frame that arrives now is forwarded.
    #[inline]
    pub fn admit(&mut self, now_ps: u64) -> bool {
        let now = Span::whole(now_ps);
        if self.busy_until <= now {
            self.overloaded = false;
        }
        let work = self.clock.sum(self.busy_until.max(now), self.service);
        let limit = self.clock.sum(now, self.burst);
        if work > limit {
            self.overloaded = true;
        }
        self.busy_until = work.min(limit);
        if !self.overloaded {
            return true;
        }
        self.credit_ppm += self.pass_ppm;
        if self.credit_ppm < 1_000_000 {
            return false;
        }
        self.credit_ppm -= 1_000_000;
        true
    }

    /// Begins the spacing of the frames that pass under overload anew.
    pub fn restart_spacing(&mut self) {
        self.credit_ppm = 0;
    }

    pub fn reset(&mut self) {
        self.busy_until = Span::default();
        self.overloaded = false;
        self.credit_ppm = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(rate_fps: u64, offered_fps: u64, ports: u64, seconds: f64) -> (u64, u64) {
        let config = LookupConfig {
            capacity_fps: RateFps::of(rate_fps),
            overload_pass_ppm: Whole::of(200),
            burst_frames: Whole::of(32),
        };
        let mut lookup = Lookup::new(&config);
        let rounds = (seconds * offered_fps as f64) as u64 / ports;
        let clock = BitClock::new(offered_fps, 0);
        let mut passed = 0;
        for round in 0..rounds {
            let now_ps = clock.periods(round * ports).ps;
            passed += (0..ports).filter(|_| lookup.admit(now_ps)).count() as u64;
        }
        (passed, rounds * ports)
    }

    #[test]
    fn nothing_is_lost_up_to_the_capacity_even_in_bursts_of_all_ports() {
        let (passed_frames, offered) = passed(4_700_000, 4_700_000, 18, 0.1);
        assert_eq!(passed_frames, offered);
    }

    #[test]
    fn above_the_capacity_forwarding_collapses() {
        let (passed_frames, offered) = passed(4_700_000, 4_890_000, 18, 0.1);
        assert!(passed_frames < offered / 100, "{passed_frames} of {offered}");
        let (passed_frames, offered) = passed(4_700_000, 26_785_714, 18, 0.1);
        assert!((500..700).contains(&passed_frames), "{passed_frames} of {offered}");
    }

    #[test]
    fn the_spacing_under_overload_does_not_depend_on_an_earlier_overload() {
        let config = LookupConfig {
            capacity_fps: RateFps::of(1_000_000),
            overload_pass_ppm: Whole::of(250_000),
            burst_frames: Whole::of(4),
        };
        let mut lookup = Lookup::new(&config);
        // Four frames fit; of those beyond, the fourth, the eighth and so on pass.
        let mut first_beyond = |now_ps: u64, frames: usize| {
            let admitted: Vec<bool> = (0..frames).map(|_| lookup.admit(now_ps)).collect();
            lookup.restart_spacing();
            admitted[4..].iter().position(|&passed| passed)
        };
        assert_eq!(first_beyond(0, 10), Some(3));
        assert_eq!(first_beyond(1_000_000_000, 10), Some(3));
    }

    #[test]
    fn the_device_recovers_when_the_load_ends() {
        let config = LookupConfig {
            capacity_fps: RateFps::of(1_000_000),
            overload_pass_ppm: Whole::of(0),
            burst_frames: Whole::of(4),
        };
        let mut lookup = Lookup::new(&config);
        let admitted = (0..10).filter(|_| lookup.admit(0)).count();
        assert_eq!(admitted, 4);
        assert!(!lookup.admit(3_999_999));
        assert!(lookup.admit(10_000_000));
    }
}
