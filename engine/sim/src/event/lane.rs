//! Events that come in ascending order, and leave in it.

/// Greater than the key of any event.
pub(super) const NONE: u128 = u128::MAX;

/// An event, by its place in the order of all.
pub(super) trait Keyed {
    fn key(&self) -> u128;
}

impl Keyed for u128 {
    #[inline]
    fn key(&self) -> u128 {
        *self
    }
}

/// A ring, which is quicker than a `VecDeque`: an entry is written where it stays, and swapped out where it leaves.
pub(super) struct Lane<T> {
    /// As many as a power of two.
    places: Box<[T]>,
    /// Place of the first entry.
    start: usize,
    len: usize,
    /// The last key; 0 in an empty lane, which takes any other key.
    last: u128,
}

impl<T: Keyed + Default> Default for Lane<T> {
    fn default() -> Lane<T> {
        Lane { places: empty(4), start: 0, len: 0, last: 0 }
    }
}

fn empty<T: Default>(places: usize) -> Box<[T]> {
    (0..places).map(|_| T::default()).collect()
}

impl<T: Keyed + Default> Lane<T> {
    /// The place of the entry that is so many behind the first.
    #[inline]
    fn place(&self, behind: usize) -> usize {
        (self.start + behind) & (self.places.len() - 1)
    }

    /// The entry that is so many behind the first.
    #[inline]
    pub fn get(&self, behind: usize) -> Option<&T> {
        (behind < self.len).then(|| &self.places[self.place(behind)])
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|behind| &self.places[self.place(behind)])
    }

    /// True for a key that comes after all others.
    #[inline]
    pub fn fits(&self, key: u128) -> bool {
        key > self.last
    }

    /// Appends an entry whose key fits.
    #[inline(always)]
    pub fn push(&mut self, entry: T) {
        if self.len == self.places.len() {
            self.grow();
        }
        self.last = entry.key();
        let place = self.place(self.len);
        // Nothing is there that would have to be dropped.
        std::mem::forget(std::mem::replace(&mut self.places[place], entry));
        self.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.places.rotate_left(self.start);
        self.start = 0;
        let mut places = std::mem::take(&mut self.places).into_vec();
        places.resize_with(2 * self.len, T::default);
        self.places = places.into();
    }

    /// Has the first entry taken: what it leaves behind needs no drop. Gives the one that is the first then.
    #[inline(always)]
    pub fn take_first(&mut self, take: impl FnOnce(&mut T)) -> Option<&T> {
        take(&mut self.places[self.start]);
        self.start = self.place(1);
        self.len -= 1;
        if self.len == 0 {
            self.last = 0;
            return None;
        }
        Some(&self.places[self.start])
    }

    /// Takes a key out, wherever it is; looks at all of them.
    pub fn take(&mut self, is_wanted: impl Fn(u128) -> bool) -> Option<u128> {
        let at = self.iter().position(|entry| is_wanted(entry.key()))?;
        (at..self.len - 1).for_each(|behind| self.places.swap(self.place(behind), self.place(behind + 1)));
        self.len -= 1;
        let key = std::mem::take(&mut self.places[self.place(self.len)]).key();
        self.last = self.iter().last().map_or(0, Keyed::key);
        Some(key)
    }

    pub fn len(&self) -> usize {
        self.len
    }
}
