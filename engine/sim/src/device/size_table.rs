//! A quantity that depends on the frame length, given at some lengths.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{ConfigError, Latency, Place, Whole};

/// One point of a [`SizeTable`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizePoint {
    /// Length with FCS.
    pub frame_bytes: Whole<14, 16_384>,
    /// Time at this length.
    pub time_ns: Latency,
}

/// Durations at ascending frame lengths: linear in between, constant outside.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SizeTable(#[schemars(length(min = 1))] pub Vec<SizePoint>);

impl SizeTable {
    pub fn check(&self, place: &Place) -> Result<(), ConfigError> {
        for (index, points) in self.0.windows(2).enumerate() {
            let (low, high) = (points[0].frame_bytes.get(), points[1].frame_bytes.get());
            if low >= high {
                let place = place.index(index + 1).key("frame_bytes");
                return Err(place.invalid(format!("is {high}"), "lengths in ascending order"));
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
        let wire_bytes = u64::from(wire_bytes);
        let after = self.0.partition_point(|it| it.frame_bytes.get() <= wire_bytes);
        match (after.checked_sub(1).map(|it| &self.0[it]), self.0.get(after)) {
            (Some(low), Some(high)) => {
                let way = wire_bytes - low.frame_bytes.get();
                let whole = high.frame_bytes.get() - low.frame_bytes.get();
                let (low_ps, high_ps) = (low.time_ns.ps(), high.time_ns.ps());
                if high_ps >= low_ps {
                    low_ps + (high_ps - low_ps) * way / whole
                } else {
                    low_ps - (low_ps - high_ps) * way / whole
                }
            }
            (Some(point), None) | (None, Some(point)) => point.time_ns.ps(),
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
        let point = |&(frame_bytes, ps)| SizePoint {
            frame_bytes: Whole::of(frame_bytes),
            time_ns: Latency::from_ps(ps),
        };
        let table = SizeTable(points.iter().map(point).collect());
        let lengths = [60, 64, 96, 128, 192, 256, 1_518];
        let found: Vec<u64> = lengths.iter().map(|&it| table.at(it)).collect();
        assert_eq!(found, [1_000, 1_000, 1_500, 2_000, 1_500, 1_000, 1_000]);
        assert_eq!(SizeTable::default().at(64), 0);
    }
}
