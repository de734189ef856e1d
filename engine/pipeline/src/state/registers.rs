//! The register arrays of a switch.

use crate::code::registers::RegisterPlace;
use crate::state::zeroed::Zeroed;

/// All cells of all arrays, in the places that the program gave them.
pub(crate) struct Registers {
    places: Vec<RegisterPlace>,
    blocks: Vec<Zeroed<u64>>,
}

impl Registers {
    pub fn new(places: &[RegisterPlace]) -> Registers {
        let mut words: Vec<usize> = Vec::new();
        for place in places {
            words.resize(words.len().max(place.block + 1), 0);
            words[place.block] = place.size * place.stride;
        }
        Registers { places: places.to_vec(), blocks: words.into_iter().map(Zeroed::new).collect() }
    }

    pub fn place(&self, register: u16) -> &RegisterPlace {
        &self.places[register as usize]
    }

    /// A cell, `None` if there is no such cell.
    #[inline]
    pub fn cell(&self, register: u16, index: u64) -> Option<&[u64]> {
        let place = &self.places[register as usize];
        let word = place.word(index)?;
        self.blocks[place.block].get(word..word + place.limbs)
    }

    #[inline]
    pub fn cell_mut(&mut self, register: u16, index: u64) -> Option<&mut [u64]> {
        let place = &self.places[register as usize];
        let word = place.word(index)?;
        self.blocks[place.block].get_mut(word..word + place.limbs)
    }

    /// A word of a block.
    #[inline]
    pub fn word(&self, block: usize, word: usize) -> Option<u64> {
        self.blocks.get(block)?.get(word).copied()
    }

    /// The words of a block.
    pub fn block_mut(&mut self, block: usize) -> &mut [u64] {
        &mut self.blocks[block]
    }

    /// The cells of each array from its first one to the end of its block.
    pub fn arrays_mut(&mut self) -> impl Iterator<Item = (&RegisterPlace, *mut u64)> + '_ {
        let Registers { places, blocks } = self;
        places.iter().map(move |place| (place, blocks[place.block].as_mut_ptr().wrapping_add(place.offset)))
    }
}
