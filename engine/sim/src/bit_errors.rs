//! Bit errors of a cable: independent, at a mean distance in bits.

use crate::line::FCS_BYTES;
use crate::rng::Rng;

/// Bits among which `bit_errors_per_1e15` of a link counts.
const PER_BITS: u128 = 1_000_000_000_000_000;

/// The errors of one direction of a link.
#[derive(Clone, Debug)]
pub struct BitErrors {
    /// Errors per 10^15 bits: 1000 is a bit error rate of 1e-12.
    per_1e15: u64,
    /// Bits that pass before the next error.
    bits_left: u64,
    rng: Rng,
}

impl BitErrors {
    /// `per_1e15` must not be 0.
    pub fn new(per_1e15: u64, rng: Rng) -> BitErrors {
        let mut errors = BitErrors { per_1e15, bits_left: 0, rng };
        errors.bits_left = errors.distance();
        errors
    }

    /// Draws from other numbers.
    pub fn reseed(&mut self, rng: Rng) {
        *self = BitErrors::new(self.per_1e15, rng);
    }

    fn distance(&mut self) -> u64 {
        let unit = u128::from(self.rng.exponential_q32());
        let bits = (unit * PER_BITS / u128::from(self.per_1e15)) >> 32;
        u64::try_from(bits).unwrap_or(u64::MAX)
    }

    /// Damages the bits of one frame that are due. True when there was one, in the frame or in its
    /// FCS.
    pub fn damage(&mut self, frame: &mut [u8]) -> bool {
        let bits = 8 * (frame.len() as u64 + u64::from(FCS_BYTES));
        let (mut damaged, mut from) = (false, 0);
        while self.bits_left < bits - from {
            let at = from + self.bits_left;
            if let Some(byte) = frame.get_mut((at / 8) as usize) {
                *byte ^= 0x80 >> (at % 8);
            }
            damaged = true;
            from = at + 1;
            self.bits_left = self.distance();
            if from >= bits {
                return damaged;
            }
        }
        self.bits_left -= bits - from;
        damaged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_mean_rate() {
        // 1e-6 per bit: 20,000 frames of 1000 bytes are 1.6e8 bits, 160 errors, sigma 13.
        let mut errors = BitErrors::new(1_000_000_000, Rng::new(3));
        let damaged = (0..20_000).filter(|_| errors.damage(&mut [0; 996])).count();
        assert!((110..210).contains(&damaged), "{damaged}");
    }

    #[test]
    fn a_damaged_frame_differs_in_the_bits_that_were_hit() {
        let mut errors = BitErrors::new(100_000_000_000, Rng::new(3));
        for _ in 0..1_000 {
            let mut frame = [0u8; 996];
            let damaged = errors.damage(&mut frame);
            let ones: u32 = frame.iter().map(|byte| byte.count_ones()).sum();
            assert!(damaged || ones == 0);
        }
    }
}
