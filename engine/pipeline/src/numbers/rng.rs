//! The seeded generator of `random()` and of the device models.

/// SplitMix64: small, good enough for traffic, the same everywhere; its seed determines it.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `low..=high` without bias; `low` when the range is empty.
    pub fn uniform(&mut self, low: u64, high: u64) -> u64 {
        let Some(span) = high.checked_sub(low) else {
            return low;
        };
        if span == u64::MAX {
            return self.next();
        }
        let count = span + 1;
        let limit = u64::MAX - u64::MAX % count;
        loop {
            let value = self.next();
            if value < limit {
                return low + value % count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_stays_in_range_and_repeats() {
        let (mut a, mut b) = (Rng::new(7), Rng::new(7));
        for _ in 0..1000 {
            let value = a.uniform(3, 9);
            assert!((3..=9).contains(&value));
            assert_eq!(value, b.uniform(3, 9));
        }
        assert_eq!(a.uniform(5, 5), 5);
        assert_eq!(a.uniform(6, 5), 6);
    }
}
