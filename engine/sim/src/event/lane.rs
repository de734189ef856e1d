//! Keys that come in ascending order, and leave in it.

use std::collections::VecDeque;

/// Greater than the key of any event.
pub(super) const NONE: u128 = u128::MAX;

pub(super) struct Lane {
    keys: VecDeque<u128>,
    /// The first key; [`NONE`] in an empty lane.
    first: u128,
    /// The last key; 0 in an empty lane, which takes any other key.
    last: u128,
}

impl Default for Lane {
    fn default() -> Lane {
        Lane { keys: VecDeque::new(), first: NONE, last: 0 }
    }
}

impl Lane {
    /// The first key; [`NONE`] in an empty lane.
    #[inline]
    pub fn first(&self) -> u128 {
        self.first
    }

    /// The key that is `place` behind the first.
    #[inline]
    pub fn get(&self, place: usize) -> Option<u128> {
        self.keys.get(place).copied()
    }

    /// Appends a key that comes after all others; false when it does not.
    #[inline]
    pub fn push(&mut self, key: u128) -> bool {
        if key <= self.last {
            return false;
        }
        self.first = self.first.min(key);
        self.last = key;
        self.keys.push_back(key);
        true
    }

    /// Takes the first key.
    #[inline]
    pub fn drop_first(&mut self) {
        self.keys.pop_front();
        match self.keys.front() {
            Some(&first) => self.first = first,
            None => (self.first, self.last) = (NONE, 0),
        }
    }

    /// Takes a key out, wherever it is; looks at all of them.
    pub fn take(&mut self, is_wanted: impl Fn(u128) -> bool) -> Option<u128> {
        let at = self.keys.iter().position(|&key| is_wanted(key))?;
        let key = self.keys.remove(at);
        self.first = self.keys.front().copied().unwrap_or(NONE);
        self.last = self.keys.back().copied().unwrap_or(0);
        key
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }
}
