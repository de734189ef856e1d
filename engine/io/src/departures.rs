//! Departures that the kernel stamps: which ones, and how far its stamps lie behind those of the program.

/// Stamps of a port that are asked for in each [`WINDOW_PS`] at most, about: they cost the kernel a message each.
const STAMPS_PER_WINDOW: u32 = 200;
const WINDOW_PS: u64 = 10_000_000_000;
/// Bins of [`Delays`] for each doubling of a delay: a bin is at most 1.6 % wide.
const BINS_PER_OCTAVE: u64 = 64;
const OCTAVE_BITS: u32 = BINS_PER_OCTAVE.trailing_zeros();

/// Chooses departures by chance, all of them at low rates.
pub(crate) struct Sampler {
    window_ps: u64,
    /// Frames of this window so far.
    frames: u32,
    /// One of so many is chosen, by the frames of the window before.
    share: u32,
    /// Frames to pass over before the next one is chosen.
    passed_over: u32,
    random: u32,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler { window_ps: 0, frames: 0, share: 1, passed_over: 0, random: 1 }
    }
}

impl Sampler {
    /// Whether the frame that leaves at this time is chosen.
    pub fn chooses(&mut self, time_ps: u64) -> bool {
        if time_ps.saturating_sub(self.window_ps) >= WINDOW_PS {
            self.share = 1 + self.frames / STAMPS_PER_WINDOW;
            (self.window_ps, self.frames) = (time_ps, 0);
        }
        self.frames = self.frames.saturating_add(1);
        if let Some(left) = self.passed_over.checked_sub(1) {
            self.passed_over = left;
            return false;
        }
        // Even distances would keep step with bursts.
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.passed_over = (self.random >> 8) % (2 * self.share - 1);
        true
    }
}

/// The distribution of delays in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    count: u64,
    sum_ns: i64,
    /// Smallest and largest.
    range_ns: Option<(i64, i64)>,
    /// Delays per bin; those below 0, by the error of clocks, are in the first one.
    bins: Vec<u64>,
}

impl Delays {
    pub fn add(&mut self, delay_ns: i64) {
        self.count += 1;
        self.sum_ns += delay_ns;
        let (low, high) = self.range_ns.unwrap_or((delay_ns, delay_ns));
        self.range_ns = Some((low.min(delay_ns), high.max(delay_ns)));
        let bin = bin_of(u64::try_from(delay_ns).unwrap_or(0));
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn sum_ns(&self) -> i64 {
        self.sum_ns
    }

    /// The smallest and the largest one.
    pub fn range_ns(&self) -> Option<(i64, i64)> {
        self.range_ns
    }

    /// Bins with delays: the smallest delay of the bin, the smallest one above it, and how many there are.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let used = self.bins.iter().enumerate().filter(|(_, count)| **count > 0);
        used.map(|(bin, count)| (lowest_of(bin), lowest_of(bin + 1), *count))
    }
}

/// Delays below [`BINS_PER_OCTAVE`] have a bin each.
fn bin_of(delay_ns: u64) -> usize {
    let shift = (u64::BITS - delay_ns.leading_zeros()).saturating_sub(OCTAVE_BITS + 1);
    (u64::from(shift) * BINS_PER_OCTAVE + (delay_ns >> shift)) as usize
}

fn lowest_of(bin: usize) -> u64 {
    let bin = bin as u64;
    let shift = (bin / BINS_PER_OCTAVE).saturating_sub(1);
    (bin - shift * BINS_PER_OCTAVE) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_departure_is_chosen_at_a_low_rate() {
        let mut sampler = Sampler::default();
        assert!((1..20_000).all(|number| sampler.chooses(number * 100_000_000)));
    }

    #[test]
    fn a_share_is_chosen_at_a_high_rate_and_not_in_even_steps() {
        let mut sampler = Sampler::default();
        let interval_ps = 1_000_000;
        let chosen: Vec<u64> =
            (0..2_000_000).filter(|number| sampler.chooses(number * interval_ps)).collect();
        // Two seconds, of which the first window has no window before it.
        assert!((40_000..60_000).contains(&chosen.len()), "{}", chosen.len());
        let late = &chosen[chosen.len() - 1_000..];
        let distances: std::collections::BTreeSet<u64> =
            late.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(distances.len() > 50);
    }

    #[test]
    fn bins_follow_each_other_without_gaps() {
        for bin in 0..2_000 {
            assert_eq!(bin_of(lowest_of(bin)), bin);
            assert_eq!(bin_of(lowest_of(bin + 1) - 1), bin);
        }
        assert_eq!((lowest_of(127), lowest_of(128)), (127, 128));
        assert_eq!((lowest_of(bin_of(1_000_000)), lowest_of(bin_of(1_000_000) + 1)), (999_424, 1_007_616));
    }

    #[test]
    fn delays_are_summed_up() {
        let mut delays = Delays::default();
        [5, 1_000_000, -3, 5].into_iter().for_each(|delay| delays.add(delay));
        assert_eq!(
            (delays.count(), delays.sum_ns(), delays.range_ns()),
            (4, 1_000_007, Some((-3, 1_000_000)))
        );
        assert_eq!(delays.bins().collect::<Vec<_>>(), [(0, 1, 1), (5, 6, 2), (999_424, 1_007_616, 1)]);
    }
}
