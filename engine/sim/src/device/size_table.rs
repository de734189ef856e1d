//! A quantity that depends on the frame length, given at some lengths.

use serde::Deserialize;

use super::{check_range, invalid};
use crate::config::ConfigError;

/// One second.
const MAX_PS: u64 = 1_000_000_000_000;

/// One point of a [`SizeTable`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizePoint {
    /// Length with FCS.
    pub wire_bytes: u32,
    pub ps: u64,
}

/// Durations at ascending frame lengths: linear in between, constant outside.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct SizeTable(pub Vec<SizePoint>);

impl SizeTable {
    pub fn check(&self, path: &str, field: &str) -> Result<(), ConfigError> {
        for (index, point) in self.0.iter().enumerate() {
            check_range(path, &format!("{field}[{index}].ps"), point.ps, 0, MAX_PS)?;
            if index > 0 && self.0[index - 1].wire_bytes >= point.wire_bytes {
                return invalid(
                    path,
                    &format!("{field}[{index}].wire_bytes"),
                    format!("is {}", point.wire_bytes),
                    "lengths in ascending order",
                );
            }
        }
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The duration for a frame of `wire_bytes`; 0 when the table is empty.
    #[inline]
    pub fn at(&self, wire_bytes: u32) -> u64 {
        let after = self.0.partition_point(|it| it.wire_bytes <= wire_bytes);
        match (
            after.checked_sub(1).map(|it| &self.0[it]),
            self.0.get(after),
        ) {
            (Some(low), Some(high)) => {
                let way = u64::from(wire_bytes - low.wire_bytes);
                let whole = u64::from(high.wire_bytes - low.wire_bytes);
                if high.ps >= low.ps {
                    low.ps + (high.ps - low.ps) * way / whole
                } else {
                    low.ps - (low.ps - high.ps) * way / whole
                }
            }
            (Some(point), None) | (None, Some(point)) => point.ps,
            (None, None) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_linear_between_its_points_and_constant_outside() {
        let points = [(64, 1_000), (128, 2_000), (256, 1_000)];
        let point = |&(wire_bytes, ps)| SizePoint { wire_bytes, ps };
        let table = SizeTable(points.iter().map(point).collect());
        let lengths = [60, 64, 96, 128, 192, 256, 1_518];
        let found: Vec<u64> = lengths.iter().map(|&it| table.at(it)).collect();
        assert_eq!(found, [1_000, 1_000, 1_500, 2_000, 1_500, 1_000, 1_000]);
        assert_eq!(SizeTable::default().at(64), 0);
    }
}
