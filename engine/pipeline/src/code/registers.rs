//! The places of register cells.
//!
//! Arrays of one size that the same parts of the program use share a block, in which the cells of one index lie side by
//! side. Programs keep what belongs to one flow at one index of many arrays, so a packet touches a few cache lines
//! instead of one for each array; and arrays whose sizes are powers of two would compete for the same places of the
//! cache. What another part of the program uses, for another packet of the flow, would only make the rows longer.

use crate::numbers::words::limbs_for;
use crate::vocabulary::info::RegisterInfo;

/// Words in a line of the cache.
const LINE_WORDS: usize = 8;

/// Where the cells of one register array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegisterPlace {
    pub block: usize,
    /// Words before the cell in its row; a row holds the cells of one index.
    pub offset: usize,
    /// Words of a cell.
    pub limbs: usize,
    /// Words from one row to the next.
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

/// Places for arrays in the order of the program; `users` says for each by which parts of the program it is used, as any
/// number.
pub(crate) fn place_registers(registers: &[RegisterInfo], users: &[u8]) -> Vec<RegisterPlace> {
    // Size and users that the arrays of a block share, and words of a row.
    let mut blocks: Vec<((usize, u8), usize)> = Vec::new();
    let mut places = Vec::with_capacity(registers.len());
    for (info, &users) in registers.iter().zip(users) {
        let common = (info.size, users);
        let block = blocks.iter().position(|block| block.0 == common).unwrap_or(blocks.len());
        if block == blocks.len() {
            blocks.push((common, 0));
        }
        let limbs = limbs_for(info.width_bits);
        places.push(RegisterPlace { block, offset: blocks[block].1, limbs, stride: 0, size: info.size });
        blocks[block].1 += limbs;
    }
    for place in &mut places {
        let words = blocks[place.block].1;
        // A long row begins with a line of the cache, so that it takes no more lines than it needs.
        place.stride = if words < LINE_WORDS { words } else { words.next_multiple_of(LINE_WORDS) };
    }
    places
}
