//! The fabric between inputs and outputs: its capacity is shared evenly by the inputs that have frames.
//!
//! Every input has a queue of its own. A frame at its head is served in n / capacity, n being the inputs that have a
//! frame in service at that moment, itself included. An input whose share is less than its line fills its queue, however
//! idle its output is; a fabric with room for all lines is not noticed.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{QueueFrames, RateFps};

const PS_PER_S: u64 = 1_000_000_000_000;

/// `fabric` of an Ethernet switch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FabricConfig {
    /// Frames per second of all inputs together.
    pub capacity_fps: RateFps,
    /// Frames of an input that wait.
    #[serde(default)]
    pub queue_frames: QueueFrames<64>,
}

#[derive(Default)]
struct Input {
    busy_until_ps: u64,
    /// Times at which the frames that wait are taken up.
    starts: VecDeque<u64>,
}

/// The fabric.
pub struct SwitchingFabric {
    queue_frames: usize,
    slot_ps: u64,
    inputs: Vec<Input>,
}

impl SwitchingFabric {
    pub fn new(config: &FabricConfig) -> SwitchingFabric {
        SwitchingFabric {
            queue_frames: config.queue_frames.get() as usize,
            slot_ps: PS_PER_S / config.capacity_fps.get(),
            inputs: Vec::new(),
        }
    }

    /// Time from now to the end of the frame's service beyond that of a lone frame; `None` when its queue is full.
    pub fn admit(&mut self, input: usize, now_ps: u64) -> Option<u64> {
        if input >= self.inputs.len() {
            self.inputs.resize_with(input + 1, Input::default);
        }
        let others = self.inputs.iter().enumerate();
        let active = 1 + others.filter(|(at, it)| *at != input && it.busy_until_ps > now_ps).count() as u64;
        let own = &mut self.inputs[input];
        while own.starts.front().is_some_and(|&start_ps| start_ps <= now_ps) {
            own.starts.pop_front();
        }
        let start_ps = own.busy_until_ps.max(now_ps);
        if start_ps > now_ps {
            if own.starts.len() >= self.queue_frames {
                return None;
            }
            own.starts.push_back(start_ps);
        }
        own.busy_until_ps = start_ps + active * self.slot_ps;
        Some(start_ps - now_ps)
    }

    pub fn reset(&mut self) {
        self.inputs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT_PS: u64 = 1_000_000;

    /// Waiting time of the last of `rounds` frames of each input, which come one per slot in turn.
    fn last_waits(capacity_fps: u64, inputs: u64, rounds: u64) -> Vec<Option<u64>> {
        let config =
            FabricConfig { capacity_fps: RateFps::of(capacity_fps), queue_frames: QueueFrames::of(1_000) };
        let mut fabric = SwitchingFabric::new(&config);
        let mut waits = Vec::new();
        for round in 0..rounds {
            waits = (0..inputs)
                .map(|input| fabric.admit(input as usize, round * SLOT_PS + input * SLOT_PS / inputs))
                .collect();
        }
        waits
    }

    #[test]
    fn inputs_wait_only_when_all_lines_are_more_than_the_fabric() {
        assert_eq!(last_waits(7_500_000, 7, 500), [Some(0); 7]);
        // Eight lines at a capacity of 7.5: every frame falls behind by 8 / 7.5 - 1 of a slot.
        for wait in last_waits(7_500_000, 8, 500) {
            let expected = 499 * (8 * PS_PER_S / 7_500_000 - SLOT_PS);
            assert!(wait.unwrap().abs_diff(expected) < 20 * SLOT_PS, "{wait:?} {expected}");
        }
    }

    #[test]
    fn a_full_queue_loses_frames() {
        let config = FabricConfig { capacity_fps: RateFps::of(1_000_000), queue_frames: QueueFrames::of(2) };
        let mut fabric = SwitchingFabric::new(&config);
        let waits: Vec<Option<u64>> = (0..4).map(|_| fabric.admit(0, 0)).collect();
        assert_eq!(waits, [Some(0), Some(SLOT_PS), Some(2 * SLOT_PS), None]);
        assert_eq!(fabric.admit(1, 0), Some(0));
    }
}
