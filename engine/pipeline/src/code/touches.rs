//! Which cells of arrays a program touches, as far as slots say it.

use std::ops::Range;

use crate::code::layout::Slot;

/// An array of cells, or several that lie side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Array {
    /// A block of register arrays ([`crate::code::registers`]).
    Registers(usize),
    Counter(u16),
}

/// Cells that a pass reads or writes: those of one row, whose number is in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub array: Array,
    pub index: Slot,
    /// The bytes of a row from the first one touched to the last.
    pub bytes: Range<usize>,
    pub row_bytes: usize,
    pub rows: usize,
}
