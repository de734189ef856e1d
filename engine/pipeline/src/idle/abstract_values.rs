//! The abstract values of all slots.

use std::ops::Range;

use crate::code::layout::Slot;
use crate::idle::moving::AbstractValue;

/// An abstract value per slot. A pass touches few of the 65,536, so those to be reset are listed.
pub(super) struct AbstractValues {
    abstract_values: Vec<AbstractValue>,
    /// Slots that may be something other than fixed.
    touched: Vec<Slot>,
}

impl AbstractValues {
    pub fn new() -> AbstractValues {
        AbstractValues { abstract_values: vec![AbstractValue::Fixed; 65_536], touched: Vec::new() }
    }

    /// Makes all slots fixed.
    pub fn reset(&mut self) {
        for slot in self.touched.drain(..) {
            self.abstract_values[slot as usize] = AbstractValue::Fixed;
        }
    }

    pub fn get(&self, slot: Slot) -> AbstractValue {
        self.abstract_values[slot as usize]
    }

    pub fn set(&mut self, slot: Slot, abstract_value: AbstractValue) {
        self.abstract_values[slot as usize] = abstract_value;
        if abstract_value != AbstractValue::Fixed {
            self.touched.push(slot);
        }
    }

    pub fn all_fixed(&self, slots: Range<usize>) -> bool {
        self.abstract_values[slots].iter().all(|&abstract_value| abstract_value == AbstractValue::Fixed)
    }

    pub fn fill(&mut self, slots: Range<usize>, abstract_value: AbstractValue) {
        if abstract_value != AbstractValue::Fixed {
            self.touched.extend(slots.clone().map(|slot| slot as Slot));
        }
        self.abstract_values[slots].fill(abstract_value);
    }

    pub fn copy(&mut self, from: Range<usize>, to: usize) {
        if !self.all_fixed(from.clone()) {
            self.touched.extend((to..to + from.len()).map(|slot| slot as Slot));
        }
        self.abstract_values.copy_within(from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_leaves_nothing_of_what_was_set_filled_and_copied() {
        let mut abstract_values = AbstractValues::new();
        abstract_values.set(65_535, AbstractValue::Unknown);
        abstract_values.fill(10..20, AbstractValue::Unknown);
        abstract_values.copy(5..15, 100);
        assert_eq!(
            (abstract_values.get(104), abstract_values.get(105)),
            (AbstractValue::Fixed, AbstractValue::Unknown)
        );
        abstract_values.fill(12..14, AbstractValue::Fixed);
        assert!(abstract_values.all_fixed(12..14) && !abstract_values.all_fixed(11..13));
        abstract_values.reset();
        assert!(abstract_values.all_fixed(0..65_536));
    }
}
