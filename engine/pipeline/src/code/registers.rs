//! The places of register cells.
//!
//! Arrays of one size share a block, in which the cells of one index lie side by side. Programs keep what belongs to
//! one flow at one index of many arrays, so a packet touches a few cache lines instead of one for each array; and
//! arrays whose sizes are powers of two would compete for the same places of the cache.

use crate::numbers::words::limbs_for;
use crate::vocabulary::info::RegisterInfo;

/// Where the cells of one register array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegisterPlace {
    pub block: usize,
    /// Words before the cell in its row; a row holds the cells of one index.
    pub offset: usize,
    /// Words of a cell.
    pub limbs: usize,
    /// Words of a row.
    pub stride: usize,
    /// Number of cells.
    pub size: usize,
}

impl RegisterPlace {
    /// First word of a cell in its block, `None` if there is no such cell.
    #[inline]
    pub fn word(&self, index: u64) -> Option<usize> {
        (index < self.size as u64).then(|| index as usize * self.stride + self.offset)
    }
}

/// Places for arrays in the order of the program.
pub(crate) fn place_registers(registers: &[RegisterInfo]) -> Vec<RegisterPlace> {
    // Rows and words of a row, block by block.
    let mut blocks: Vec<(usize, usize)> = Vec::new();
    let mut places = Vec::with_capacity(registers.len());
    for info in registers {
        let block = blocks.iter().position(|block| block.0 == info.size).unwrap_or(blocks.len());
        if block == blocks.len() {
            blocks.push((info.size, 0));
        }
        let limbs = limbs_for(info.width_bits);
        places.push(RegisterPlace { block, offset: blocks[block].1, limbs, stride: 0, size: info.size });
        blocks[block].1 += limbs;
    }
    for place in &mut places {
        place.stride = blocks[place.block].1;
    }
    places
}
