//! Extra delay of a frame from a seeded distribution, in integer arithmetic throughout, so that it
//! is the same on every machine.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{Latency, Ppb};
use crate::rng::Rng;

/// `jitter` of an Ethernet switch: the distribution of the extra delay. Frames of one output stay
/// in order.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum JitterConfig {
    /// Evenly from 0.
    Uniform {
        /// To this.
        max_ns: Latency,
    },
    // The sum of twelve even numbers, cut off at mean + 6 sigma, too.
    /// Bell-shaped, cut off at 0.
    Normal {
        /// Mean.
        mean_ns: Latency,
        /// Standard deviation.
        sigma_ns: Latency,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean_ns: Latency,
        /// Cut off here.
        max_ns: Latency,
    },
    /// Now and then the frame waits for a frame of the device's own.
    Spike {
        /// Its time.
        delay_ns: Latency,
        /// Its probability per frame.
        chance_ppb: Ppb,
    },
}

impl JitterConfig {
    /// The extra delay of one frame.
    pub fn draw_ps(&self, rng: &mut Rng) -> u64 {
        match *self {
            JitterConfig::Uniform { max_ns } => rng.below(max_ns.ps() + 1),
            JitterConfig::Normal { mean_ns, sigma_ns } => {
                let sum: u64 = (0..12).map(|_| rng.next() >> 32).sum();
                let offset = i128::from(sum) - (6 << 32);
                let ps = i128::from(mean_ns.ps()) + ((offset * i128::from(sigma_ns.ps())) >> 32);
                ps.max(0) as u64
            }
            JitterConfig::Exponential { mean_ns, max_ns } => {
                let unit = u128::from(rng.exponential_q32());
                let ps = (unit * u128::from(mean_ns.ps())) >> 32;
                ps.min(u128::from(max_ns.ps())) as u64
            }
            JitterConfig::Spike { delay_ns, chance_ppb } => {
                u64::from(rng.chance_ppb(chance_ppb.get() as u32)) * delay_ns.ps()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_max(jitter: &JitterConfig) -> (u64, u64) {
        let mut rng = Rng::new(11);
        let drawn: Vec<u64> = (0..100_000).map(|_| jitter.draw_ps(&mut rng)).collect();
        let sum: u64 = drawn.iter().sum();
        (sum / 100_000, *drawn.iter().max().unwrap())
    }

    #[test]
    fn distributions_have_their_means_and_ends() {
        let (mean, max) = mean_and_max(&JitterConfig::Uniform { max_ns: Latency::from_ps(10_000) });
        assert!(mean.abs_diff(5_000) < 50 && max == 10_000, "{mean} {max}");
        let normal =
            JitterConfig::Normal { mean_ns: Latency::from_ps(10_000), sigma_ns: Latency::from_ps(1_000) };
        let (mean, max) = mean_and_max(&normal);
        assert!(mean.abs_diff(10_000) < 20 && (13_000..16_001).contains(&max));
        let exponential =
            JitterConfig::Exponential { mean_ns: Latency::from_ps(1_000), max_ns: Latency::from_ps(5_000) };
        let (mean, max) = mean_and_max(&exponential);
        assert!(mean.abs_diff(993) < 20 && max == 5_000, "{mean} {max}");
        let spike =
            JitterConfig::Spike { delay_ns: Latency::from_ps(2_000), chance_ppb: Ppb::of(100_000_000) };
        let (mean, max) = mean_and_max(&spike);
        assert!(mean.abs_diff(200) < 10 && max == 2_000, "{mean} {max}");
    }
}
