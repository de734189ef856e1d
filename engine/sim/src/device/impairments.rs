//! Random faults of a device: loss, duplication, reordering, corruption.

use std::collections::BTreeMap;

use p4mesh_wire::ethernet::HEADER_BYTES;
use schemars::JsonSchema;
use serde::Deserialize;

use super::input_queue::Ready;
use super::DevicePorts;
use crate::config::{Latency, Ppb};
use crate::drops::DropCause;
use crate::rng::Rng;

/// `impairments` of an Ethernet switch.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImpairmentsConfig {
    /// Another copy follows at once.
    pub duplicate_ppb: Ppb,
    /// Held back, so that later frames overtake.
    pub reorder_ppb: Ppb,
    /// For so long.
    pub reorder_delay_ns: Latency,
    /// One bit behind the Ethernet header changes, with an FCS that fits.
    pub corrupt_ppb: Ppb,
}

/// Faults drawn for one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub duplicate: bool,
    pub reorder: bool,
    pub corrupt: bool,
}

/// The faults and the frames held back.
pub struct Impairments {
    config: ImpairmentsConfig,
    rng: Rng,
    held: BTreeMap<(u64, u64), (usize, Ready)>,
    held_total: u64,
    pub duplicated: u64,
    pub corrupted: u64,
}

impl Impairments {
    pub fn new(config: &ImpairmentsConfig, rng: Rng) -> Impairments {
        Impairments {
            config: config.clone(),
            rng,
            held: BTreeMap::new(),
            held_total: 0,
            duplicated: 0,
            corrupted: 0,
        }
    }

    /// Draws from other numbers.
    pub fn reseed(&mut self, rng: Rng) {
        self.rng = rng;
    }

    /// Frames held back since the beginning.
    pub fn reordered(&self) -> u64 {
        self.held_total
    }

    /// Draws the faults of one frame.
    pub fn draw(&mut self) -> Faults {
        let mut chance = |ppb: Ppb| self.rng.chance_ppb(ppb.get() as u32);
        let faults = Faults {
            duplicate: chance(self.config.duplicate_ppb),
            reorder: chance(self.config.reorder_ppb),
            corrupt: chance(self.config.corrupt_ppb),
        };
        self.duplicated += u64::from(faults.duplicate);
        self.corrupted += u64::from(faults.corrupt);
        faults
    }

    /// Changes one bit behind the Ethernet header.
    pub fn corrupt(&mut self, frame: &mut [u8]) {
        if frame.len() > HEADER_BYTES {
            let payload = &mut frame[HEADER_BYTES..];
            let bit = self.rng.below(8 * payload.len() as u64);
            payload[(bit / 8) as usize] ^= 0x80 >> (bit % 8);
        }
    }

    /// Keeps a frame until the reordering delay is over; the timer of `input` then falls due.
    pub fn hold(&mut self, input: usize, ready: Ready, ports: &mut DevicePorts) {
        let at_ps = ports.now_ps() + self.config.reorder_delay_ns.ps();
        self.held.insert((at_ps, self.held_total), (input, ready));
        self.held_total += 1;
        ports.keeps_frame();
        ports.set_timer(input, at_ps);
    }

    /// The next frame whose delay is over, with its input.
    pub fn release(&mut self, ports: &mut DevicePorts) -> Option<(usize, Ready)> {
        let first = self.held.first_entry()?;
        if first.key().0 > ports.now_ps() {
            return None;
        }
        ports.releases_frame();
        Some(first.remove())
    }

    pub fn reset(&mut self, ports: &mut DevicePorts) {
        for (_, (input, ready)) in std::mem::take(&mut self.held) {
            ports.releases_frame();
            ports.drop(input, DropCause::Reset, ready.frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_their_probabilities() {
        let config = ImpairmentsConfig {
            duplicate_ppb: Ppb::of(10_000_000),
            corrupt_ppb: Ppb::of(20_000_000),
            ..Default::default()
        };
        let mut impairments = Impairments::new(&config, Rng::new(1));
        for _ in 0..100_000 {
            assert!(!impairments.draw().reorder);
        }
        assert!(impairments.duplicated.abs_diff(1_000) < 150);
        assert!(impairments.corrupted.abs_diff(2_000) < 200);
    }

    #[test]
    fn corruption_changes_one_bit_and_never_an_address() {
        let mut impairments = Impairments::new(&ImpairmentsConfig::default(), Rng::new(1));
        for _ in 0..1_000 {
            let mut frame = [0u8; 60];
            impairments.corrupt(&mut frame);
            assert_eq!(frame.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
            assert_eq!(frame[..14], [0; 14]);
        }
    }
}
