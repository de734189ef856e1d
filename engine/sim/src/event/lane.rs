//! Keys that come in ascending order, and leave in it, each with what it brings.

use std::collections::VecDeque;

/// Greater than the key of any event.
pub(super) const NONE: u128 = u128::MAX;

pub(super) struct Lane<T> {
    entries: VecDeque<(u128, T)>,
    /// The first key; [`NONE`] in an empty lane.
    first: u128,
    /// The last key; 0 in an empty lane, which takes any other key.
    last: u128,
}

impl<T> Default for Lane<T> {
    fn default() -> Lane<T> {
        Lane { entries: VecDeque::new(), first: NONE, last: 0 }
    }
}

impl<T: Default> Lane<T> {
    /// The first key; [`NONE`] in an empty lane.
    #[inline]
    pub fn first(&self) -> u128 {
        self.first
    }

    /// The entry that is `place` behind the first.
    #[inline]
    pub fn get(&self, place: usize) -> Option<&(u128, T)> {
        self.entries.get(place)
    }

    pub fn iter(&self) -> impl Iterator<Item = &(u128, T)> {
        self.entries.iter()
    }

    /// True for a key that comes after all others.
    #[inline]
    pub fn fits(&self, key: u128) -> bool {
        key > self.last
    }

    /// Appends a key that fits.
    #[inline(always)]
    pub fn push(&mut self, key: u128, brings: T) {
        self.first = self.first.min(key);
        self.last = key;
        self.entries.push_back((key, brings));
    }

    /// Takes the first key, and what it brings to `brought`, where nothing is.
    #[inline]
    pub fn take_first(&mut self, brought: &mut T) {
        if let Some((_, brings)) = self.entries.front_mut() {
            // It is copied as a whole: the processor waits for what was just written in other pieces than it is read.
            std::mem::swap(brought, brings);
            self.entries.pop_front();
        }
        match self.entries.front() {
            Some(&(first, _)) => self.first = first,
            None => (self.first, self.last) = (NONE, 0),
        }
    }

    /// Takes a key out, wherever it is; looks at all of them.
    pub fn take(&mut self, is_wanted: impl Fn(u128) -> bool) -> Option<u128> {
        let at = self.entries.iter().position(|&(key, _)| is_wanted(key))?;
        let key = self.entries.remove(at).map(|(key, _)| key);
        self.first = self.entries.front().map_or(NONE, |it| it.0);
        self.last = self.entries.back().map_or(0, |it| it.0);
        key
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }
}
