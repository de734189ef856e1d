//! How far the kernel's stamps of departures lie behind those of the program.

/// Bins of [`Delays`] for each doubling of a delay: a bin is at most 1.6 % wide.
const BINS_PER_OCTAVE: u64 = 64;
const OCTAVE_BITS: u32 = BINS_PER_OCTAVE.trailing_zeros();

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
