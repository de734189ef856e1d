//! A four-way heap of different keys.

#[derive(Default)]
pub(super) struct Heap {
    keys: Vec<u128>,
    /// The first key has been taken and its place is free. Most events cause another one, which
    /// then goes down from there: one pass over the heap instead of two.
    root_free: bool,
}

impl Heap {
    #[inline]
    pub fn push(&mut self, key: u128) {
        if self.root_free {
            self.root_free = false;
            self.sift_down(key);
        } else {
            self.keys.push(key);
            self.sift_up(self.keys.len() - 1, key);
        }
    }

    /// The least key.
    #[inline]
    pub fn first(&mut self) -> Option<u128> {
        self.fill_root();
        self.keys.first().copied()
    }

    /// The least key but one.
    pub fn second(&mut self) -> Option<u128> {
        self.fill_root();
        self.keys.iter().take(5).skip(1).min().copied()
    }

    /// Takes the key that [`Heap::first`] has just given.
    #[inline]
    pub fn drop_first(&mut self) {
        debug_assert!(!self.root_free && !self.keys.is_empty());
        self.root_free = true;
    }

    /// Takes a key out, wherever it is; looks at all of them.
    pub fn take(&mut self, is_wanted: impl Fn(u128) -> bool) -> Option<u128> {
        self.fill_root();
        let at = self.keys.iter().position(|&key| is_wanted(key))?;
        let key = self.keys[at];
        let last = self.keys.pop().expect("the key is there");
        if at < self.keys.len() {
            // Upwards as if it were the least, then down from the root.
            self.sift_up(at, 0);
            self.sift_down(last);
        }
        Some(key)
    }

    pub fn len(&self) -> usize {
        self.keys.len() - usize::from(self.root_free)
    }

    #[inline]
    fn fill_root(&mut self) {
        if self.root_free {
            self.root_free = false;
            let last = self.keys.pop().expect("a free root is a place");
            if !self.keys.is_empty() {
                self.sift_down(last);
            }
        }
    }

    fn sift_up(&mut self, mut hole: usize, key: u128) {
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[hole] = self.keys[parent];
            hole = parent;
        }
        self.keys[hole] = key;
    }

    /// Puts `key` where it belongs, from the root downwards.
    fn sift_down(&mut self, key: u128) {
        let heap = self.keys.as_mut_slice();
        let mut hole = 0;
        loop {
            let first = 4 * hole + 1;
            let child = match heap.get(first..) {
                // Sums instead of branches: which child is least is not predictable.
                Some([a, b, c, d, ..]) => {
                    let left = first + usize::from(b < a);
                    let right = first + 2 + usize::from(d < c);
                    left + (right - left) * usize::from(heap[right] < heap[left])
                }
                Some(rest) if !rest.is_empty() => {
                    (first..heap.len()).min_by_key(|&child| heap[child]).unwrap_or(first)
                }
                _ => break,
            };
            if heap[child] >= key {
                break;
            }
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = key;
    }
}
