//! Input queues: the first frame of an input waits until its output has room, and all frames behind
//! it wait too, whatever their output (head-of-line blocking). Without input queues an Ethernet
//! switch behaves as with virtual output queues.

use std::collections::VecDeque;

use p4mesh_pipeline::Frame;
use serde::Deserialize;

use super::{check_range, DevicePorts};
use crate::config::ConfigError;
use crate::drops::DropCause;

/// `input_queue` of an Ethernet switch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputQueueConfig {
    /// Frames that may wait at each input.
    pub frames: usize,
}

impl InputQueueConfig {
    pub fn check(&self, path: &str) -> Result<(), ConfigError> {
        let frames = self.frames as u64;
        check_range(path, "input_queue.frames", frames, 1, 1_048_576)
    }
}

/// A frame with its output, ready to leave.
pub struct Ready {
    pub output: usize,
    pub ready_ps: u64,
    pub bad_fcs: bool,
    pub wire_bytes: u32,
    pub frame: Frame,
}

/// The queues of all inputs.
pub struct InputQueues {
    limit: usize,
    queues: Vec<VecDeque<Ready>>,
    /// When the timer that each queue waits for falls due. Others of the port are not for it: if
    /// each of them set a further one, they would multiply.
    due_ps: Vec<u64>,
}

impl InputQueues {
    pub fn new(config: &InputQueueConfig) -> InputQueues {
        InputQueues {
            limit: config.frames,
            queues: Vec::new(),
            due_ps: Vec::new(),
        }
    }

    /// A frame comes to an input. `Some` when it need not wait.
    pub fn arrive(&mut self, input: usize, ready: Ready, ports: &mut DevicePorts) -> Option<Ready> {
        if self.queues.is_empty() {
            self.queues.resize_with(ports.count(), VecDeque::new);
            self.due_ps.resize(ports.count(), 0);
        }
        let queue = &mut self.queues[input];
        let room_at_ps = ports.room_at_ps(ready.output);
        if queue.is_empty() && room_at_ps <= ports.now_ps() {
            return Some(ready);
        }
        if queue.len() >= self.limit {
            ports.drop(input, DropCause::InputQueueFull, ready.frame);
            return None;
        }
        if queue.is_empty() {
            self.due_ps[input] = room_at_ps;
            ports.set_timer(input, room_at_ps);
        }
        ports.keeps_frame();
        queue.push_back(ready);
        None
    }

    /// A timer of the port fell due: the next frame that can go, if there is one.
    pub fn next(&mut self, input: usize, ports: &mut DevicePorts) -> Option<Ready> {
        let queue = self.queues.get_mut(input)?;
        let head = queue.front()?;
        if ports.now_ps() < self.due_ps[input] {
            return None;
        }
        let room_at_ps = ports.room_at_ps(head.output);
        if room_at_ps > ports.now_ps() {
            self.due_ps[input] = room_at_ps;
            ports.set_timer(input, room_at_ps);
            return None;
        }
        ports.releases_frame();
        let mut ready = queue.pop_front()?;
        // It was ready before it could leave.
        ready.ready_ps = ready.ready_ps.max(ports.now_ps());
        Some(ready)
    }

    pub fn reset(&mut self, ports: &mut DevicePorts) {
        for (input, queue) in self.queues.iter_mut().enumerate() {
            for ready in queue.drain(..) {
                ports.releases_frame();
                ports.drop(input, DropCause::Reset, ready.frame);
            }
        }
    }
}
