//! Extra delay of a frame from a seeded distribution, in integer arithmetic throughout, so that it
//! is the same on every machine.

use serde::Deserialize;

use super::check_range;
use crate::config::ConfigError;
use crate::rng::Rng;

/// One second.
const MAX_PS: u64 = 1_000_000_000_000;

/// `jitter` of an Ethernet switch: the distribution of the extra delay. Frames of one output stay
/// in order.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum JitterConfig {
    /// Evenly from 0 to `max_ps`.
    Uniform { max_ps: u64 },
    /// Bell-shaped (the sum of twelve even numbers), cut off at 0 and at mean + 6 sigma.
    Normal { mean_ps: u64, sigma_ps: u64 },
    /// Exponential with a mean, cut off at `max_ps`.
    Exponential { mean_ps: u64, max_ps: u64 },
    /// With a probability `delay_ps`, else nothing: a frame of the device's own in the way.
    Spike { delay_ps: u64, chance_ppb: u32 },
}

impl JitterConfig {
    pub fn check(&self, path: &str, field: &str) -> Result<(), ConfigError> {
        let named =
            |name: &str, value| check_range(path, &format!("{field}.{name}"), value, 0, MAX_PS);
        match *self {
            JitterConfig::Uniform { max_ps } => named("uniform.max_ps", max_ps),
            JitterConfig::Normal { mean_ps, sigma_ps } => {
                named("normal.mean_ps", mean_ps)?;
                named("normal.sigma_ps", sigma_ps)
            }
            JitterConfig::Exponential { mean_ps, max_ps } => {
                named("exponential.mean_ps", mean_ps)?;
                named("exponential.max_ps", max_ps)
            }
            JitterConfig::Spike {
                delay_ps,
                chance_ppb,
            } => {
                named("spike.delay_ps", delay_ps)?;
                let name = format!("{field}.spike.chance_ppb");
                check_range(path, &name, u64::from(chance_ppb), 0, 1_000_000_000)
            }
        }
    }

    /// The extra delay of one frame.
    pub fn draw_ps(&self, rng: &mut Rng) -> u64 {
        match *self {
            JitterConfig::Uniform { max_ps } => rng.below(max_ps + 1),
            JitterConfig::Normal { mean_ps, sigma_ps } => {
                let sum: u64 = (0..12).map(|_| rng.next() >> 32).sum();
                let offset = i128::from(sum) - (6 << 32);
                let ps = i128::from(mean_ps) + ((offset * i128::from(sigma_ps)) >> 32);
                ps.max(0) as u64
            }
            JitterConfig::Exponential { mean_ps, max_ps } => {
                let unit = u128::from(rng.exponential_q32());
                let ps = (unit * u128::from(mean_ps)) >> 32;
                ps.min(u128::from(max_ps)) as u64
            }
            JitterConfig::Spike {
                delay_ps,
                chance_ppb,
            } => u64::from(rng.chance_ppb(chance_ppb)) * delay_ps,
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
        let (mean, max) = mean_and_max(&JitterConfig::Uniform { max_ps: 10_000 });
        assert!(mean.abs_diff(5_000) < 50 && max == 10_000, "{mean} {max}");
        let normal = JitterConfig::Normal {
            mean_ps: 10_000,
            sigma_ps: 1_000,
        };
        let (mean, max) = mean_and_max(&normal);
        assert!(mean.abs_diff(10_000) < 20 && (13_000..16_001).contains(&max));
        let exponential = JitterConfig::Exponential {
            mean_ps: 1_000,
            max_ps: 5_000,
        };
        let (mean, max) = mean_and_max(&exponential);
        assert!(mean.abs_diff(993) < 20 && max == 5_000, "{mean} {max}");
        let spike = JitterConfig::Spike {
            delay_ps: 2_000,
            chance_ppb: 100_000_000,
        };
        let (mean, max) = mean_and_max(&spike);
        assert!(mean.abs_diff(200) < 10 && max == 2_000, "{mean} {max}");
    }
}
