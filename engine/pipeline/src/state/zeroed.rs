//! Arrays of zeros that cost nothing until they are used.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

use crate::vocabulary::entries::CounterCell;

/// Cells of an array that begins with zeros.
///
/// # Safety
///
/// A type of whole numbers without padding, of which any bits are a value.
pub(crate) unsafe trait Cell: Copy {}

// SAFETY: a number.
unsafe impl Cell for u64 {}
// SAFETY: two numbers of 64 bits.
unsafe impl Cell for CounterCell {}

/// Cells of 0 in pages of their own, which the system clears when they are touched first.
///
/// An allocator clears memory that it has used before, as a whole. Each trial has a new switch with arrays of
/// megabytes, of which it uses a few pages.
pub(crate) struct Zeroed<T> {
    memory: MmapMut,
    count: usize,
    cells: PhantomData<T>,
}

impl<T: Cell> Zeroed<T> {
    /// Panics where the system has no room for them.
    pub fn new(count: usize) -> Zeroed<T> {
        const { assert!(align_of::<T>() <= 4_096, "pages are aligned for it") };
        let bytes = count.checked_mul(size_of::<T>()).expect("an array that can be addressed");
        let memory = MmapMut::map_anon(bytes).expect("memory for the arrays of a program");
        Zeroed { memory, count, cells: PhantomData }
    }
}

impl<T: Cell> Deref for Zeroed<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the memory holds `count` cells and is aligned for them; any bits are a value.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.count) }
    }
}

impl<T: Cell> DerefMut for Zeroed<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the memory belongs to this array alone.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), self.count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_zero_and_keep_what_is_written() {
        for count in [0, 1, 511, 1 << 20] {
            let mut cells = Zeroed::<CounterCell>::new(count);
            assert_eq!(cells.len(), count);
            assert!(cells.iter().all(|cell| *cell == CounterCell::default()));
            if let Some(last) = cells.last_mut() {
                last.bytes = u64::MAX;
            }
            assert_eq!(
                cells.last().map(|cell| (cell.packets, cell.bytes)),
                (count > 0).then_some((0, u64::MAX))
            );
        }
    }
}
