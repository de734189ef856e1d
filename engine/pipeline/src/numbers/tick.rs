//! The unit of time stamps.

/// Time that a unit of P4 time stamps takes. Every packet counts its stamps in it, and to multiply by a reciprocal takes
/// less time than to divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    ps: u64,
    /// `2^(64 + shift) / ps`, rounded up. It fits, as `2^shift < ps <= 2^(shift + 1)`. Rounding adds less than 1 to it, and
    /// less than `2^63` to its product with a time below [`LIMIT_PS`]: the last time of a tick does not get into the next
    /// one, which is `2^(64 + shift) / ps >= 2^63` away.
    reciprocal: u64,
    shift: u32,
    /// Bits of times that are divided: all of them for a tick of 1 ps, which has no reciprocal that fits.
    divided: u64,
}

/// From here on, times are divided.
const LIMIT_PS: u64 = 1 << 63;

impl Tick {
    /// A tick of 0 ps is taken for one of 1 ps.
    pub const fn new(ps: u64) -> Tick {
        if ps <= 1 {
            return Tick { ps: 1, reciprocal: 0, shift: 0, divided: u64::MAX };
        }
        let shift = (ps - 1).ilog2();
        let reciprocal = (1_u128 << (64 + shift)).div_ceil(ps as u128) as u64;
        Tick { ps, reciprocal, shift, divided: LIMIT_PS }
    }

    /// Picoseconds of a tick.
    pub fn ps(self) -> u64 {
        self.ps
    }

    /// Whole ticks in a time.
    #[inline]
    pub fn count(self, time_ps: u64) -> u64 {
        if time_ps & self.divided != 0 {
            return self.divide(time_ps);
        }
        ((u128::from(time_ps) * u128::from(self.reciprocal)) >> 64) as u64 >> self.shift
    }

    #[cold]
    fn divide(self, time_ps: u64) -> u64 {
        time_ps / self.ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::rng::Rng;

    /// Around a number, as far as there are numbers.
    fn around(number: u64) -> impl Iterator<Item = u64> {
        (0..3).flat_map(move |by| [number.saturating_sub(by), number.saturating_add(by)])
    }

    #[test]
    fn ticks_are_counted_as_a_division_counts_them() {
        let mut rng = Rng::new(7);
        let mut ticks = vec![10, 1_000, 1_000_000, u64::MAX];
        ticks.extend((0..64).flat_map(|bit| around(1 << bit)));
        ticks.extend((0..500).map(|_| rng.next() >> (rng.next() % 64)));
        for ps in ticks.into_iter().map(|ps| ps.max(1)) {
            let tick = Tick::new(ps);
            assert_eq!(tick.ps(), ps);
            let random: Vec<u64> = (0..50).map(|_| rng.next() >> (rng.next() % 64)).collect();
            // Quotients change at multiples of the tick; the last ones below the limit are the hardest.
            let multiples = random.iter().map(|time_ps| time_ps / ps * ps).chain([(LIMIT_PS - 1) / ps * ps]);
            let edges = multiples.chain([0, LIMIT_PS, u64::MAX]).flat_map(around);
            for time_ps in edges.chain(random.iter().copied()) {
                assert_eq!(tick.count(time_ps), time_ps / ps, "{time_ps} ps in ticks of {ps} ps");
            }
        }
    }

    #[test]
    fn a_tick_of_nothing_is_a_picosecond() {
        assert_eq!(Tick::new(0), Tick::new(1));
        assert_eq!(Tick::new(0).count(u64::MAX), u64::MAX);
    }
}
