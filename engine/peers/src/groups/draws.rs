//! Random delays that are the same on every machine.

/// Numbers one after the other, by SplitMix64 of the one before; equal seeds give equal numbers.
#[derive(Clone, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Draws {
        Draws(splitmix64(seed))
    }

    /// A number from 1 to `highest`.
    pub fn up_to(&mut self, highest: u64) -> u64 {
        self.0 = splitmix64(self.0);
        1 + ((u128::from(self.0) * u128::from(highest)) >> 64) as u64
    }
}

/// 64 bits that look random, a pure function of `value` (Steele, Lea and Flood, OOPSLA 2014).
fn splitmix64(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix64_and_reach_both_ends() {
        // The first output of the generator with the state 0.
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
        let mut draws = Draws::new(7);
        let drawn: std::collections::BTreeSet<u64> = (0..200).map(|_| draws.up_to(4)).collect();
        assert_eq!(drawn, (1..=4).collect());
    }
}
