//! Traces that idle passes take, to be repeated with other registers and at other times.

use std::sync::Arc;

use crate::idle::pattern::Pattern;
use crate::idle::recording::Step;
use crate::idle::shadow::Effect;
use crate::idle::stamp::StampField;

/// Traces that are kept.
const MOST_TRACES: usize = 32;
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

/// Traces, the last ones first.
#[derive(Default)]
pub(super) struct Traces {
    kept: Vec<Trace>,
    /// Recordings and repetitions since the program was loaded first.
    recordings: u32,
    repetitions: u32,
}

impl Traces {
    pub fn clear(&mut self) {
        self.kept.clear();
    }

    /// The first trace of which `is_taken` is true.
    pub fn find(&mut self, is_taken: impl FnMut(&Trace) -> bool) -> Option<&Trace> {
        let place = self.kept.iter().position(is_taken)?;
        self.kept[..=place].rotate_right(1);
        self.repetitions = self.repetitions.saturating_add(1);
        self.kept.first()
    }

    /// Whether a recording is worth it: recordings that are never repeated become rare.
    pub fn is_recording_due(&mut self) -> bool {
        let due = self.recordings < FIRST_RECORDINGS.saturating_add(self.repetitions / REPETITIONS);
        self.recordings += u32::from(due);
        due
    }

    pub fn keep(&mut self, trace: Trace) {
        self.kept.truncate(MOST_TRACES - 1);
        self.kept.insert(0, trace);
    }
}
