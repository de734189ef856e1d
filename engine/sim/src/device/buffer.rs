//! Buffer space: the buffer that all ports share, and the share of each input in it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::Whole;

/// `shared_buffer` of an Ethernet switch. The limits of the port queues hold as well.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedBufferConfig {
    /// Bytes of all frames that wait.
    pub bytes: Whole<64, 1_099_511_627_776>,
    /// A frame takes a whole number of cells.
    #[serde(default)]
    pub cell_bytes: Whole<1, 16_384, 1>,
}

impl SharedBufferConfig {
    /// Bytes that a frame occupies.
    pub fn occupied_bytes(&self, wire_bytes: u32) -> u64 {
        let cell_bytes = self.cell_bytes.get();
        u64::from(wire_bytes).div_ceil(cell_bytes) * cell_bytes
    }
}

/// Amounts that are given back at known times.
#[derive(Default)]
pub struct Occupancy {
    used: u64,
    leaving: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Occupancy {
    /// Bytes that are occupied now.
    pub fn used(&mut self, now_ps: u64) -> u64 {
        while let Some(&Reverse((at_ps, amount))) = self.leaving.peek() {
            if at_ps > now_ps {
                break;
            }
            self.leaving.pop();
            self.used -= amount;
        }
        self.used
    }

    /// Occupies `amount` until `until_ps`.
    pub fn add(&mut self, amount: u64, until_ps: u64) {
        self.used += amount;
        self.leaving.push(Reverse((until_ps, amount)));
    }

    /// Time at which no more than `limit` of the present amount is left.
    pub fn falls_to_ps(&self, limit: u64) -> u64 {
        let mut times: Vec<(u64, u64)> = self.leaving.iter().map(|it| it.0).collect();
        times.sort_unstable();
        let mut left = self.used;
        for (at_ps, amount) in times {
            left -= amount;
            if left <= limit {
                return at_ps;
            }
        }
        0
    }

    pub fn clear(&mut self) {
        self.used = 0;
        self.leaving.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_comes_back_when_a_frame_leaves() {
        let mut occupancy = Occupancy::default();
        occupancy.add(64, 500);
        occupancy.add(128, 300);
        assert_eq!(occupancy.used(299), 192);
        assert_eq!(occupancy.falls_to_ps(100), 300);
        assert_eq!(occupancy.used(300), 64);
        assert_eq!(occupancy.used(500), 0);
    }

    #[test]
    fn cells_round_up() {
        let config = SharedBufferConfig { bytes: Whole::of(0), cell_bytes: Whole::of(208) };
        assert_eq!(config.occupied_bytes(64), 208);
        assert_eq!(config.occupied_bytes(209), 416);
    }
}
