//! Input queues: the first frame of an input waits until its output has room, and all frames behind it wait too,
//! whatever their output (head-of-line blocking). When the first frames of several inputs wait for one output, the
//! frame that came first goes first. Without input queues an Ethernet switch behaves as with virtual output queues.

use std::collections::{BTreeSet, VecDeque};

use p4mesh_pipeline::Frame;
use schemars::JsonSchema;
use serde::Deserialize;

use super::DevicePorts;
use crate::config::Whole;
use crate::drops::DropCause;

/// `input_queue` of an Ethernet switch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputQueueConfig {
    /// Its length.
    pub frames: Whole<1, 1_048_576>,
}

/// A frame with its output, ready to leave.
pub struct Ready {
    pub output: usize,
    pub ready_ps: u64,
    pub bad_fcs: bool,
    pub wire_bytes: u32,
    pub frame: Frame,
}

/// The inputs whose first frames wait for one output.
#[derive(Default)]
struct Output {
    /// The number of each frame, in the order in which they came, and its input.
    first: BTreeSet<(u64, usize)>,
    /// When the timer that they wait for falls due. Other timers of the port do not count: if each of them set a
    /// further one, they would multiply.
    due_ps: Option<u64>,
}

/// The queues of all inputs.
pub struct InputQueues {
    limit: usize,
    /// Frames with their numbers.
    queues: Vec<VecDeque<(u64, Ready)>>,
    outputs: Vec<Output>,
    arrivals: u64,
}

impl InputQueues {
    pub fn new(config: &InputQueueConfig) -> InputQueues {
        InputQueues {
            limit: config.frames.get() as usize,
            queues: Vec::new(),
            outputs: Vec::new(),
            arrivals: 0,
        }
    }

    /// A frame comes to an input. `Some` when it need not wait.
    pub fn arrive(&mut self, input: usize, ready: Ready, ports: &mut DevicePorts) -> Option<Ready> {
        if self.queues.is_empty() {
            self.queues.resize_with(ports.count(), VecDeque::new);
            self.outputs.resize_with(ports.count(), Output::default);
        }
        let queue = &mut self.queues[input];
        let nobody_waits = queue.is_empty() && self.outputs[ready.output].first.is_empty();
        if nobody_waits && ports.room_at_ps(ready.output, ready.ready_ps) <= ports.now_ps() {
            return Some(ready);
        }
        if queue.len() >= self.limit {
            ports.drop(input, DropCause::InputQueueFull, ready.frame);
            return None;
        }
        ports.keeps_frame();
        let (number, is_first) = (self.arrivals, queue.is_empty());
        self.arrivals += 1;
        let (output, ready_ps) = (ready.output, ready.ready_ps);
        queue.push_back((number, ready));
        if is_first {
            self.outputs[output].first.insert((number, input));
            self.await_room(output, ready_ps, ports);
        }
        None
    }

    /// Asks for a timer when the output has room, unless one is to come.
    fn await_room(&mut self, output: usize, ready_ps: u64, ports: &mut DevicePorts) {
        let room_at_ps = ports.room_at_ps(output, ready_ps);
        let due_ps = &mut self.outputs[output].due_ps;
        if due_ps.is_none_or(|due_ps| due_ps > room_at_ps) {
            *due_ps = Some(room_at_ps);
            ports.set_timer(output, room_at_ps);
        }
    }

    /// A timer of the port fell due: the next frame that can go there, with its input, if there is
    /// one.
    pub fn next(&mut self, output: usize, ports: &mut DevicePorts) -> Option<(usize, Ready)> {
        let now_ps = ports.now_ps();
        let waiting = self.outputs.get_mut(output)?;
        if waiting.due_ps.is_some_and(|due_ps| due_ps > now_ps) {
            return None;
        }
        waiting.due_ps = None;
        let (_, input) = *waiting.first.first()?;
        let ready_ps = self.queues[input].front()?.1.ready_ps;
        if ports.room_at_ps(output, ready_ps) > now_ps {
            self.await_room(output, ready_ps, ports);
            return None;
        }
        ports.releases_frame();
        self.outputs[output].first.pop_first();
        let (_, ready) = self.queues[input].pop_front()?;
        if let Some((number, next)) = self.queues[input].front() {
            let (number, behind, ready_ps) = (*number, next.output, next.ready_ps);
            self.outputs[behind].first.insert((number, input));
            self.await_room(behind, ready_ps, ports);
        }
        Some((input, ready))
    }

    pub fn reset(&mut self, ports: &mut DevicePorts) {
        for (input, queue) in self.queues.iter_mut().enumerate() {
            for (_, ready) in queue.drain(..) {
                ports.releases_frame();
                ports.drop(input, DropCause::Reset, ready.frame);
            }
        }
        for output in &mut self.outputs {
            output.first.clear();
            output.due_ps = None;
        }
    }
}
