//! PAUSE frames that a device sends when the frames of one input fill its queues.
//!
//! The frame goes out before the frames that the port of that input has queued in the other direction.

use p4mesh_wire::mac_control::{Pause, QUANTUM_BITS};
use schemars::JsonSchema;
use serde::Deserialize;

use super::buffer::Occupancy;
use super::DevicePorts;
use crate::config::{ConfigError, Place, QueueFrames, Whole};

/// `pause` of an Ethernet switch; absent: it sends no PAUSE frames.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseSenderConfig {
    /// More waiting frames of an input than this stop it.
    pub xoff_frames: Whole<1, 1_048_576>,
    /// Waiting frames at which it goes on, fewer than xoff_frames.
    pub xon_frames: QueueFrames<0>,
    /// Length of a PAUSE in 512 bit times.
    #[serde(default)]
    pub quanta: Whole<1, 65_535, 65_535>,
}

impl PauseSenderConfig {
    pub fn check(&self, place: &Place) -> Result<(), ConfigError> {
        let xon_frames = self.xon_frames.get();
        if xon_frames >= self.xoff_frames.get() {
            let place = place.key("xon_frames");
            return Err(place.invalid(format!("is {xon_frames}"), "less than xoff_frames"));
        }
        Ok(())
    }
}

#[derive(Default)]
struct Input {
    inside: Occupancy,
    /// The pause that was asked for ends then; 0 = not paused.
    paused_until_ps: u64,
    /// Time of the timer that looks at the input again; other timers of the port do not count.
    due_ps: u64,
}

/// Frames of each input in the device, and whether the input is stopped.
pub struct PauseSender {
    config: PauseSenderConfig,
    inputs: Vec<Input>,
    sent: u64,
}

impl PauseSender {
    pub fn new(config: &PauseSenderConfig) -> PauseSender {
        PauseSender { config: config.clone(), inputs: Vec::new(), sent: 0 }
    }

    /// PAUSE frames sent, those that end a pause included.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// A frame of `input` starts to leave the device at `start_ps`.
    pub fn queued(&mut self, input: usize, start_ps: u64, ports: &mut DevicePorts) {
        let now_ps = ports.now_ps();
        if self.inputs.len() <= input {
            self.inputs.resize_with(ports.count(), Input::default);
        }
        self.inputs[input].inside.add(1, start_ps);
        if self.inputs[input].paused_until_ps <= now_ps {
            self.check(input, ports);
        }
    }

    /// Handles a timer of the port: lets a stopped input go on, or looks again later.
    pub fn timer(&mut self, input: usize, ports: &mut DevicePorts) {
        if self.inputs.get(input).is_some_and(|it| it.paused_until_ps > 0 && it.due_ps <= ports.now_ps()) {
            self.check(input, ports);
        }
    }

    fn check(&mut self, input: usize, ports: &mut DevicePorts) {
        let now_ps = ports.now_ps();
        let state = &mut self.inputs[input];
        let inside = state.inside.used(now_ps);
        let paused = state.paused_until_ps > now_ps;
        if inside > self.config.xoff_frames.get() || (paused && inside > self.config.xon_frames.get()) {
            let until_ps = state.inside.falls_to_ps(self.config.xon_frames.get());
            if !paused {
                let quantum_ps = 1_000_000_000_000 * QUANTUM_BITS / ports.rate_bps(input);
                state.paused_until_ps = now_ps + self.config.quanta.get() * quantum_ps;
                self.send(input, self.config.quanta.get() as u16, ports);
            }
            let state = &mut self.inputs[input];
            state.due_ps = until_ps.min(state.paused_until_ps).max(now_ps + 1);
            ports.set_timer(input, state.due_ps);
        } else if state.paused_until_ps > 0 {
            state.paused_until_ps = 0;
            self.send(input, 0, ports);
        }
    }

    fn send(&mut self, input: usize, quanta: u16, ports: &mut DevicePorts) {
        let mut frame = ports.take();
        Pause { quanta }.emit(&mut frame);
        ports.send_first(input, frame);
        self.sent += 1;
    }

    pub fn reset(&mut self) {
        self.inputs.clear();
    }
}
