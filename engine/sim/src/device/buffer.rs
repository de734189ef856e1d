//! Buffer space: one that all ports share, and what each input occupies of the device.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Deserialize;

use super::check_range;
use crate::config::ConfigError;

/// `shared_buffer` of an Ethernet switch. The limits of the port queues hold as well.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedBufferConfig {
    /// Bytes of all frames that wait, with FCS.
    pub bytes: u64,
    /// A frame occupies a whole number of cells of this size.
    #[serde(default = "default_cell_bytes")]
    pub cell_bytes: u32,
}

fn default_cell_bytes() -> u32 {
    1
}

impl SharedBufferConfig {
    pub fn check(&self, path: &str) -> Result<(), ConfigError> {
        check_range(path, "shared_buffer.bytes", self.bytes, 0, 1 << 40)?;
        let cell = u64::from(self.cell_bytes);
        check_range(path, "shared_buffer.cell_bytes", cell, 1, 65_536)
    }

    /// What a frame occupies.
    pub fn occupied_bytes(&self, wire_bytes: u32) -> u64 {
        u64::from(wire_bytes.div_ceil(self.cell_bytes)) * u64::from(self.cell_bytes)
    }
}

/// Amounts that are given back at known times.
#[derive(Default)]
pub struct Occupancy {
    used: u64,
    leaving: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Occupancy {
    /// What is occupied now.
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

    /// When no more than `limit` of what is there now is left.
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
        let config = SharedBufferConfig {
            bytes: 0,
            cell_bytes: 208,
        };
        assert_eq!(config.occupied_bytes(64), 208);
        assert_eq!(config.occupied_bytes(209), 416);
    }
}
