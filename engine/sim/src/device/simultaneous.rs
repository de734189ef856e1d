//! Frames of different ports that come at the same moment, of which a device now and then loses one.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::size_table::SizeTable;
use crate::config::{ConfigError, Latency, Place, Ppb, Whole};
use crate::rng::Rng;

/// Frames by their destination.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameClass {
    #[default]
    All,
    /// To one station.
    Unicast,
    /// To a group, or to everybody.
    Group,
}

impl FrameClass {
    fn has(self, to_group: bool) -> bool {
        match self {
            FrameClass::All => true,
            FrameClass::Unicast => !to_group,
            FrameClass::Group => to_group,
        }
    }
}

/// `simultaneous_arrivals` of an Ethernet switch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimultaneousConfig {
    /// Frames that arrive within this time count as simultaneous.
    #[serde(default)]
    pub window_ns: Latency,
    /// This time by the length of the later frame, in place of window_ns.
    #[serde(default)]
    pub window_by_size: SizeTable,
    /// Probability that the later frame is lost.
    pub drop_ppb: Ppb,
    /// Frames that are lost: all, unicast or group.
    #[serde(default)]
    pub frames: FrameClass,
    /// Frames that are in the way of those; the same without this key.
    pub in_the_way: Option<FrameClass>,
    /// As many other ports must have a frame in that time.
    #[serde(default)]
    pub other_ports: Whole<1, 512, 1>,
}

impl SimultaneousConfig {
    pub fn check(&self, place: &Place) -> Result<(), ConfigError> {
        self.window_by_size.check(&place.key("window_by_size"))
    }

    fn window_ps(&self, wire_bytes: u32) -> u64 {
        match self.window_by_size.is_empty() {
            true => self.window_ns.ps(),
            false => self.window_by_size.at(wire_bytes),
        }
    }
}

/// The frames before, and the draw.
pub struct Simultaneous {
    config: SimultaneousConfig,
    /// Last arrival of each port, the latest one behind.
    recent: VecDeque<(u64, usize)>,
    rng: Rng,
}

impl Simultaneous {
    pub fn new(config: &SimultaneousConfig, rng: Rng) -> Simultaneous {
        Simultaneous { config: config.clone(), recent: VecDeque::new(), rng }
    }

    /// Draws from other numbers.
    pub fn reseed(&mut self, rng: Rng) {
        self.rng = rng;
    }

    /// True when the frame of `port` is lost.
    pub fn loses(&mut self, port: usize, to_group: bool, wire_bytes: u32, now_ps: u64) -> bool {
        let config = &self.config;
        let can_be_lost = config.frames.has(to_group);
        let in_the_way = config.in_the_way.unwrap_or(config.frames).has(to_group);
        if !(can_be_lost || in_the_way) {
            return false;
        }
        let window_ps = self.config.window_ps(wire_bytes);
        let within = self.recent.iter().rev().take_while(|(at_ps, _)| now_ps - at_ps <= window_ps);
        let at_once = within.filter(|&&(_, other)| other != port).count();
        if in_the_way {
            self.recent.retain(|&(_, other)| other != port);
            self.recent.push_back((now_ps, port));
        }
        can_be_lost
            && at_once as u64 >= self.config.other_ports.get()
            && self.rng.chance_ppb(self.config.drop_ppb.get() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::size_table::SizePoint;

    fn config(window_ps: u64) -> SimultaneousConfig {
        SimultaneousConfig {
            window_ns: Latency::from_ps(window_ps),
            window_by_size: SizeTable::default(),
            drop_ppb: Ppb::of(1_000_000_000),
            frames: FrameClass::All,
            in_the_way: None,
            other_ports: Whole::default(),
        }
    }

    #[test]
    fn only_frames_of_other_ports_within_the_window_are_in_the_way() {
        let mut arrivals = Simultaneous::new(&config(100), Rng::new(1));
        assert!(!arrivals.loses(0, false, 64, 0));
        assert!(!arrivals.loses(0, false, 64, 10));
        assert!(arrivals.loses(1, false, 64, 110));
        assert!(!arrivals.loses(2, false, 64, 211));
    }

    #[test]
    fn other_classes_are_not_lost_and_not_in_the_way() {
        let unicast = SimultaneousConfig { frames: FrameClass::Unicast, ..config(100) };
        let mut arrivals = Simultaneous::new(&unicast, Rng::new(1));
        assert!(!arrivals.loses(0, true, 64, 0));
        assert!(!arrivals.loses(1, false, 64, 0));
        assert!(!arrivals.loses(2, true, 64, 0));
        assert!(arrivals.loses(3, false, 64, 0));
    }

    #[test]
    fn frames_that_are_never_lost_may_be_in_the_way() {
        let of_unicast = SimultaneousConfig {
            frames: FrameClass::Unicast,
            in_the_way: Some(FrameClass::All),
            ..config(100)
        };
        let mut arrivals = Simultaneous::new(&of_unicast, Rng::new(1));
        assert!(!arrivals.loses(0, true, 64, 0));
        assert!(!arrivals.loses(1, true, 64, 0));
        assert!(arrivals.loses(2, false, 64, 0));
        assert!(!arrivals.loses(3, true, 64, 0));
        assert!(arrivals.loses(1, false, 64, 100));
        assert!(!arrivals.loses(2, false, 64, 201));
    }

    #[test]
    fn a_port_is_not_in_its_own_way() {
        let in_the_way = Some(FrameClass::Group);
        let of_unicast = SimultaneousConfig { frames: FrameClass::Unicast, in_the_way, ..config(100) };
        let mut arrivals = Simultaneous::new(&of_unicast, Rng::new(1));
        assert!(!arrivals.loses(0, true, 64, 0));
        assert!(!arrivals.loses(0, false, 64, 1));
        assert!(arrivals.loses(1, false, 64, 2));
        assert!(arrivals.loses(2, false, 64, 3));
    }

    #[test]
    fn the_window_may_depend_on_the_length() {
        let point = |frame_bytes, ps| SizePoint {
            frame_bytes: Whole::of(frame_bytes),
            time_ns: Latency::from_ps(ps),
        };
        let window_by_size = SizeTable(vec![point(90, 1_000), point(134, 0)]);
        let mut arrivals =
            Simultaneous::new(&SimultaneousConfig { window_by_size, ..config(0) }, Rng::new(1));
        assert!(!arrivals.loses(0, false, 64, 0));
        assert!(!arrivals.loses(1, false, 134, 500));
        assert!(arrivals.loses(2, false, 90, 1_400));
        assert!(arrivals.loses(3, false, 1_518, 1_400));
    }

    #[test]
    fn as_many_other_ports_as_asked_for_must_have_a_frame() {
        let several = SimultaneousConfig { other_ports: Whole::of(2), ..config(0) };
        let mut arrivals = Simultaneous::new(&several, Rng::new(1));
        let lost: Vec<bool> = [0, 1, 1, 2, 3].map(|port| arrivals.loses(port, false, 64, 0)).to_vec();
        assert_eq!(lost, [false, false, false, true, true]);
    }
}
