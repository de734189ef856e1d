//! The numbers that models draw, and the distributions they have.

/// A stream of pseudo-random numbers that its seed determines.
#[derive(Clone, Debug)]
pub struct Rng(p4mesh_pipeline::Rng);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(p4mesh_pipeline::Rng::new(seed))
    }

    /// An independent generator for a part with a name, so that adding one part to a network does
    /// not change the numbers that another part draws.
    pub fn for_part(seed: u64, name: &str) -> Rng {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut rng = Rng::new(seed ^ hash);
        rng.next();
        rng
    }

    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// A number in `0..bound`; `bound` must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// An exponentially distributed number with mean 1, in units of 2^-32. Von Neumann's method: it
    /// compares uniform numbers only, so it gives the same on every machine.
    pub fn exponential_q32(&mut self) -> u64 {
        let mut whole = 0u64;
        loop {
            let first = self.next() >> 32;
            let (mut last, mut run) = (first, 1u32);
            loop {
                let next = self.next() >> 32;
                if next >= last {
                    break;
                }
                last = next;
                run += 1;
            }
            if run % 2 == 1 {
                return whole << 32 | first;
            }
            whole += 1;
        }
    }

    /// True with a probability in parts per billion.
    pub fn chance_ppb(&mut self, probability_ppb: u32) -> bool {
        probability_ppb > 0 && self.below(1_000_000_000) < u64::from(probability_ppb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_numbers_have_mean_one_and_the_right_tail() {
        let mut rng = Rng::new(5);
        let count = 200_000u64;
        let numbers: Vec<u64> = (0..count).map(|_| rng.exponential_q32()).collect();
        let mean = numbers.iter().map(|&it| u128::from(it)).sum::<u128>() / u128::from(count);
        assert!(mean.abs_diff(1 << 32) < (1 << 32) / 100, "{mean}");
        // P(X > 2) = e^-2 = 0.1353.
        let tail = numbers.iter().filter(|&&it| it > 2 << 32).count();
        assert!((26_400..27_700).contains(&tail), "{tail}");
    }
}
