//! Two-rate three-colour meters, colour-blind, with integer arithmetic over pipeline time.

use crate::vocabulary::entries::{CounterCell, MeterConfig};
use crate::vocabulary::error::ControlError;
use crate::vocabulary::info::MeterUnit;

const PS_PER_S: u128 = 1_000_000_000_000;
/// Greatest token count that keeps bucket arithmetic within 128 bits.
const MAX_METER_VALUE: u64 = 1 << 62;

/// A token bucket. Tokens are kept as tokens times picoseconds per second, so that no fraction
/// is ever lost.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    rate_per_s: u64,
    burst: u64,
    level: u128,
    updated_ps: u64,
}

impl Bucket {
    fn new(rate_per_s: u64, burst: u64, now_ps: u64) -> Bucket {
        Bucket { rate_per_s, burst, level: u128::from(burst) * PS_PER_S, updated_ps: now_ps }
    }

    /// Takes `amount` tokens if there are as many.
    fn take(&mut self, amount: u64, now_ps: u64) -> bool {
        let elapsed = now_ps.saturating_sub(self.updated_ps);
        self.updated_ps = self.updated_ps.max(now_ps);
        let full = u128::from(self.burst) * PS_PER_S;
        self.level = (self.level + u128::from(elapsed) * u128::from(self.rate_per_s)).min(full);
        let wanted = u128::from(amount) * PS_PER_S;
        if self.level < wanted {
            return false;
        }
        self.level -= wanted;
        true
    }
}

/// One cell; green for everything until it is configured.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MeterCell {
    /// (committed, peak)
    buckets: Option<(Bucket, Bucket)>,
    /// Packets and bytes marked green, yellow and red.
    pub marked: [CounterCell; 3],
}

impl MeterCell {
    pub fn configure(&mut self, config: Option<MeterConfig>, now_ps: u64) {
        self.buckets = config.map(|config| {
            (
                Bucket::new(config.committed_rate_per_s, config.committed_burst, now_ps),
                Bucket::new(config.peak_rate_per_s, config.peak_burst, now_ps),
            )
        });
    }

    pub fn config(&self) -> Option<MeterConfig> {
        self.buckets.map(|(committed, peak)| MeterConfig {
            committed_rate_per_s: committed.rate_per_s,
            committed_burst: committed.burst,
            peak_rate_per_s: peak.rate_per_s,
            peak_burst: peak.burst,
        })
    }

    /// 0 green, 1 yellow, 2 red, for a packet of so many bytes.
    pub fn execute(&mut self, unit: MeterUnit, bytes: u64, now_ps: u64) -> u64 {
        let amount = match unit {
            MeterUnit::Packets => 1,
            MeterUnit::Bytes => bytes,
        };
        let colour = self.colour(amount, now_ps);
        let marked = &mut self.marked[colour as usize];
        marked.packets += 1;
        marked.bytes += bytes;
        colour
    }

    fn colour(&mut self, amount: u64, now_ps: u64) -> u64 {
        match &mut self.buckets {
            None => 0,
            Some((committed, peak)) => {
                // simple_switch asks the peak bucket first and leaves the other alone when red.
                if !peak.take(amount, now_ps) {
                    2
                } else if !committed.take(amount, now_ps) {
                    1
                } else {
                    0
                }
            }
        }
    }
}

/// Refuses values that the arithmetic cannot hold, or that the specification does not allow.
pub(crate) fn check_meter(owner: &str, config: Option<MeterConfig>) -> Result<(), ControlError> {
    let Some(config) = config else { return Ok(()) };
    let invalid =
        |problem: &str| Err(ControlError::Invalid { owner: owner.to_string(), problem: problem.into() });
    let MeterConfig { committed_rate_per_s, committed_burst, peak_rate_per_s, peak_burst } = config;
    if [committed_rate_per_s, committed_burst, peak_rate_per_s, peak_burst]
        .iter()
        .any(|&v| v > MAX_METER_VALUE)
    {
        return invalid("a rate or burst size is above 2^62");
    }
    if committed_rate_per_s > peak_rate_per_s {
        return invalid("the committed rate is above the peak rate");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_both_rates() {
        let mut cell = MeterCell::default();
        let execute = |cell: &mut MeterCell, now_ps| cell.execute(MeterUnit::Packets, 60, now_ps);
        assert_eq!(execute(&mut cell, 0), 0);
        let config =
            MeterConfig { committed_rate_per_s: 1, committed_burst: 1, peak_rate_per_s: 2, peak_burst: 2 };
        cell.configure(Some(config), 0);
        assert_eq!([0; 3].map(|now_ps| execute(&mut cell, now_ps)), [0, 1, 2]);
        assert_eq!(execute(&mut cell, 500_000_000_000), 1);
        assert_eq!(execute(&mut cell, 2_000_000_000_000), 0);
        assert_eq!(cell.marked.map(|count| (count.packets, count.bytes)), [(3, 180), (2, 120), (1, 60)]);
        assert_eq!(cell.config(), Some(config));
    }
}
