//! Traces that idle passes take, to be repeated with other registers and at other times.

use std::sync::Arc;

use crate::idle::pattern::Pattern;
use crate::idle::recording::Step;
use crate::idle::shadow::Effect;
use crate::idle::stamp::StampField;

/// Traces that are kept: one or two for each stream of a tester with many.
const MOST_TRACES: usize = 1_024;
/// Traces that are recorded at first, and repetitions that make up for one more.
const FIRST_RECORDINGS: u32 = 32;
const REPETITIONS: u32 = 4;

/// All of a pass that does not depend on registers and on time, and the steps for the rest.
pub(super) struct Trace {
    pub pattern: Arc<Pattern>,
    pub stamps: Vec<StampField>,
    pub priority: u8,
    pub effects: Vec<Effect>,
    pub steps: Vec<Step>,
}

/// Traces, in the order in which they were recorded.
#[derive(Default)]
pub(super) struct Traces {
    kept: Vec<Trace>,
    /// The trace that was found last. It may be that of the next pass, too, and seeds come round in the same order.
    last: usize,
    /// The one to give way when there are too many.
    oldest: usize,
    /// Recordings and repetitions since the program was loaded first.
    recordings: u32,
    repetitions: u32,
}

impl Traces {
    pub fn clear(&mut self) {
        self.kept.clear();
        (self.last, self.oldest) = (0, 0);
    }

    /// A trace of which `is_taken` is true.
    pub fn find(&mut self, mut is_taken: impl FnMut(&Trace) -> bool) -> Option<&Trace> {
        let count = self.kept.len();
        let mut places = (self.last..count).chain(0..self.last.min(count));
        self.last = places.find(|&place| is_taken(&self.kept[place]))?;
        self.repetitions = self.repetitions.saturating_add(1);
        self.kept.get(self.last)
    }

    /// Whether a recording is worth it: recordings that are never repeated become rare.
    pub fn is_recording_due(&mut self) -> bool {
        let due = self.recordings < FIRST_RECORDINGS.saturating_add(self.repetitions / REPETITIONS);
        self.recordings += u32::from(due);
        due
    }

    pub fn keep(&mut self, trace: Trace) {
        if self.kept.len() < MOST_TRACES {
            self.kept.push(trace);
        } else {
            self.kept[self.oldest] = trace;
            self.oldest = (self.oldest + 1) % MOST_TRACES;
        }
    }
}
