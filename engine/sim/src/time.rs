//! Exact line time: a bit at a rate with a clock offset is a rational number of picoseconds, and
//! sums of such times keep their remainder, so that a port never drifts.

/// A time or a duration: whole picoseconds and a remainder in units of `1 / den` picoseconds of
/// the [`BitClock`] that made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub ps: u64,
    frac: u64,
}

impl Span {
    /// A whole number of picoseconds.
    pub fn whole(ps: u64) -> Span {
        Span { ps, frac: 0 }
    }

    /// The same, `ps` later.
    pub fn later(self, ps: u64) -> Span {
        Span { ps: self.ps + ps, ..self }
    }
}

/// Periods of a rate: `num / den` picoseconds per unit (a bit of a line, a frame of a server).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitClock {
    num: u128,
    /// Below 2^63, so that two remainders can be added.
    den: u64,
}

impl BitClock {
    /// The clock of a line of `rate_bps` whose oscillator is off by `clock_ppb` parts per billion
    /// (positive: fast). `rate_bps` must not be 0 and `clock_ppb` must be above -1e9; the
    /// configuration checks both.
    pub fn new(rate_bps: u64, clock_ppb: i64) -> BitClock {
        let num: u128 = 1_000_000_000_000 * 1_000_000_000;
        let den = u128::from(rate_bps) * (1_000_000_000 + i128::from(clock_ppb)) as u128;
        assert!(den > 0, "a line needs a rate");
        let divisor = gcd(num, den);
        let (num, den) = (num / divisor, den / divisor);
        // Only a rate and an offset without common factors reach this size; the error is less than one part in 10^18.
        let excess = (u128::BITS - den.leading_zeros()).saturating_sub(63);
        BitClock { num: num >> excess, den: (den >> excess) as u64 }
    }

    /// Duration of `count` periods.
    pub fn periods(&self, count: u64) -> Span {
        let total = u128::from(count) * self.num;
        let den = u128::from(self.den);
        Span { ps: (total / den) as u64, frac: (total % den) as u64 }
    }

    /// True if each period takes whole picoseconds, so that no time of this clock has a remainder.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.den == 1
    }

    /// `a + b`, both of this clock.
    #[inline]
    pub fn sum(&self, a: Span, b: Span) -> Span {
        let frac = a.frac + b.frac;
        if frac >= self.den {
            Span { ps: a.ps + b.ps + 1, frac: frac - self.den }
        } else {
            Span { ps: a.ps + b.ps, frac }
        }
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_times_are_exact() {
        for (rate_bps, byte_ps) in [
            (10_000_000, 800_000),
            (1_000_000_000, 8_000),
            (10_000_000_000, 800),
            (25_000_000_000, 320),
            (40_000_000_000, 200),
            (100_000_000_000, 80),
            (400_000_000_000, 20),
        ] {
            assert_eq!(BitClock::new(rate_bps, 0).periods(8), Span::whole(byte_ps));
        }
    }

    #[test]
    fn clock_offset_does_not_drift() {
        // One second of frames of 672 bit times at 1 Gb/s + 1 ppm: 1,488,096 whole frames fit when
        // the nominal clock fits 1,488,095; summing frame by frame ends where one product ends.
        let clock = BitClock::new(1_000_000_000, 1_000);
        let frame = clock.periods(672);
        let mut sum = Span::default();
        for _ in 0..1_488_096 {
            sum = clock.sum(sum, frame);
        }
        assert_eq!(sum, clock.periods(672 * 1_488_096));
        assert!(sum.ps < 1_000_000_000_000);
    }

    #[test]
    fn a_rate_without_common_factors_is_still_good_to_a_picosecond_in_a_day() {
        let clock = BitClock::new(399_999_999_979, 999_983);
        let bits = 399_999_999_979 * 86_400;
        let exact_ps = u128::from(bits) * 1_000_000_000_000_000_000_000 / (399_999_999_979 * 1_000_999_983);
        assert!(u128::from(clock.periods(bits).ps).abs_diff(exact_ps) <= 1);
    }
}
