//! Times in which nothing left, though it was due.

/// A pause up to this is part of the work.
const USUAL_NS: u64 = 1_000_000;

/// The pauses of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    pub longest_ns: u64,
    /// Sum of those that are longer than usual: 1 ms.
    pub late_ns: u64,
}

impl Pauses {
    pub fn add(&mut self, pause_ns: u64) {
        self.longest_ns = self.longest_ns.max(pause_ns);
        if pause_ns > USUAL_NS {
            self.late_ns += pause_ns;
        }
    }

    /// The pauses of both threads, which may have been at different times.
    pub fn with(self, other: Pauses) -> Pauses {
        Pauses { longest_ns: self.longest_ns.max(other.longest_ns), late_ns: self.late_ns + other.late_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_pauses_make_frames_late() {
        let mut pauses = Pauses::default();
        [5, 1_000_000, 3_000_000, 2_000_000].into_iter().for_each(|pause| pauses.add(pause));
        assert_eq!(pauses, Pauses { longest_ns: 3_000_000, late_ns: 5_000_000 });
        let other = Pauses { longest_ns: 7, late_ns: 0 };
        assert_eq!(other.with(pauses), pauses);
    }
}
