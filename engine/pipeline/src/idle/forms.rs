//! The forms of all slots.

use std::ops::Range;

use crate::code::layout::Slot;
use crate::idle::moving::Form;

/// A form per slot. A pass touches few of the 65,536, so those to be reset are listed.
pub(super) struct Forms {
    forms: Vec<Form>,
    /// Slots that may be something other than fixed.
    touched: Vec<Slot>,
}

impl Forms {
    pub fn new() -> Forms {
        Forms { forms: vec![Form::Fixed; 65_536], touched: Vec::new() }
    }

    /// Makes all slots fixed.
    pub fn reset(&mut self) {
        for slot in self.touched.drain(..) {
            self.forms[slot as usize] = Form::Fixed;
        }
    }

    pub fn get(&self, slot: Slot) -> Form {
        self.forms[slot as usize]
    }

    pub fn set(&mut self, slot: Slot, form: Form) {
        self.forms[slot as usize] = form;
        if form != Form::Fixed {
            self.touched.push(slot);
        }
    }

    pub fn all_fixed(&self, slots: Range<usize>) -> bool {
        self.forms[slots].iter().all(|&form| form == Form::Fixed)
    }

    pub fn fill(&mut self, slots: Range<usize>, form: Form) {
        if form != Form::Fixed {
            self.touched.extend(slots.clone().map(|slot| slot as Slot));
        }
        self.forms[slots].fill(form);
    }

    pub fn copy(&mut self, from: Range<usize>, to: usize) {
        if !self.all_fixed(from.clone()) {
            self.touched.extend((to..to + from.len()).map(|slot| slot as Slot));
        }
        self.forms.copy_within(from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_leaves_nothing_of_what_was_set_filled_and_copied() {
        let mut forms = Forms::new();
        forms.set(65_535, Form::Unknown);
        forms.fill(10..20, Form::Unknown);
        forms.copy(5..15, 100);
        assert_eq!((forms.get(104), forms.get(105)), (Form::Fixed, Form::Unknown));
        forms.fill(12..14, Form::Fixed);
        assert!(forms.all_fixed(12..14) && !forms.all_fixed(11..13));
        forms.reset();
        assert!(forms.all_fixed(0..65_536));
    }
}
