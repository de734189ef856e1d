//! Look-up structures over packed keys: an index or a hash map for exact keys, one hash map per mask for
//! prefixes and ternary keys (tuple space search), a list by priority where ranges take part.
//!
//! Order of preference is simple_switch's: the higher priority first, then the lower entry id.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// A key packed into words, small enough to be copied.
pub(crate) trait PackedKey: Copy + Eq + Hash + Send + Sync {
    fn pack(words: &[u64]) -> Self;
    fn and(self, other: Self) -> Self;
    /// A key of one word as a number.
    fn number(self) -> Option<u64>;
}

impl PackedKey for u64 {
    #[inline]
    fn pack(words: &[u64]) -> u64 {
        words.first().copied().unwrap_or(0)
    }

    #[inline]
    fn and(self, other: u64) -> u64 {
        self & other
    }

    #[inline]
    fn number(self) -> Option<u64> {
        Some(self)
    }
}

impl PackedKey for u128 {
    #[inline]
    fn pack(words: &[u64]) -> u128 {
        let word = |index: usize| u128::from(words.get(index).copied().unwrap_or(0));
        word(0) | word(1) << 64
    }

    #[inline]
    fn and(self, other: u128) -> u128 {
        self & other
    }

    #[inline]
    fn number(self) -> Option<u64> {
        None
    }
}

impl<const N: usize> PackedKey for [u64; N]
where
    [u64; N]: Hash,
{
    fn pack(words: &[u64]) -> [u64; N] {
        let mut key = [0; N];
        for (to, from) in key.iter_mut().zip(words) {
            *to = *from;
        }
        key
    }

    fn and(mut self, other: [u64; N]) -> [u64; N] {
        for (word, mask) in self.iter_mut().zip(other) {
            *word &= mask;
        }
        self
    }

    fn number(self) -> Option<u64> {
        None
    }
}

/// Condition of an entry on a key: `key & mask == value`, and every range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub value: Vec<u64>,
    pub mask: Vec<u64>,
    pub ranges: Vec<RangePattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RangePattern {
    /// Place of the field in the packed key.
    pub word: u16,
    pub shift: u8,
    pub bits: u32,
    pub low: Vec<u64>,
    pub high: Vec<u64>,
}

impl RangePattern {
    fn matches(&self, key: &[u64]) -> bool {
        if self.bits <= 64 {
            let word = key.get(self.word as usize).copied().unwrap_or(0);
            let value = word >> self.shift & crate::numbers::words::mask64(self.bits);
            return self.low[0] <= value && value <= self.high[0];
        }
        let from = self.word as usize;
        match key.get(from..from + self.low.len()) {
            Some(value) => {
                !crate::numbers::words::less(value, &self.low, false)
                    && !crate::numbers::words::less(&self.high, value, false)
            }
            None => false,
        }
    }
}

/// No entry.
pub(crate) const NONE: u32 = u32::MAX;

/// Keys below this are found by index.
pub(crate) const DIRECT_KEYS: u64 = 1 << 16;

/// Entry ids by key. Small keys, as ports and identifiers are, are indices, so that they need no hash.
pub(crate) struct Exact<K> {
    direct: Vec<u32>,
    others: FxHashMap<K, u32>,
}

impl<K: PackedKey> Exact<K> {
    fn new() -> Exact<K> {
        Exact { direct: Vec::new(), others: FxHashMap::default() }
    }

    /// The index of a small key.
    #[inline]
    fn index(key: K) -> Option<usize> {
        key.number().filter(|&number| number < DIRECT_KEYS).map(|number| number as usize)
    }

    #[inline]
    fn get(&self, key: K) -> Option<u32> {
        match Exact::index(key) {
            Some(index) => self.direct.get(index).copied().filter(|&id| id != NONE),
            None => self.others.get(&key).copied(),
        }
    }

    fn insert(&mut self, key: K, id: u32) {
        match Exact::index(key) {
            Some(index) => {
                if self.direct.len() <= index {
                    self.direct.resize(index + 1, NONE);
                }
                self.direct[index] = id;
            }
            None => {
                self.others.insert(key, id);
            }
        }
    }

    fn remove(&mut self, key: K) {
        match Exact::index(key) {
            Some(index) => {
                if let Some(id) = self.direct.get_mut(index) {
                    *id = NONE;
                }
            }
            None => {
                self.others.remove(&key);
            }
        }
    }
}

struct Group<K> {
    mask: K,
    /// Highest priority of its entries.
    best: i32,
    /// No entry has a lower one.
    least: i32,
    /// Masked key to the best entry with it; others follow in `Masked::chain`.
    heads: FxHashMap<K, u32>,
    len: usize,
}

/// Entries that are quicker compared one after the other than found by the hash of each mask.
const FEW: usize = 16;

struct Candidate<K> {
    value: K,
    mask: K,
    priority: i32,
    id: u32,
}

pub(crate) struct Masked<K> {
    /// All entries in the order of preference, as long as they have been at most [`FEW`].
    few: Vec<Candidate<K>>,
    len: usize,
    /// By falling priority.
    groups: Vec<Group<K>>,
    /// Per entry id: priority and the next entry of the same masked key.
    chain: Vec<(i32, u32)>,
}

impl<K: PackedKey> Masked<K> {
    fn new() -> Masked<K> {
        Masked { few: Vec::new(), len: 0, groups: Vec::new(), chain: Vec::new() }
    }

    #[inline]
    fn lookup(&self, key: K) -> Option<u32> {
        match self.groups.as_slice() {
            // Many entries with one mask, as routes to networks of one size are.
            [only] if self.few.len() < self.len => only.heads.get(&key.and(only.mask)).copied(),
            _ => self.lookup_in_all(key),
        }
    }

    // Out of line, as is the one for ranges: else the short way above pays for its loops.
    #[inline(never)]
    fn lookup_in_all(&self, key: K) -> Option<u32> {
        if self.few.len() == self.len {
            let matches = |candidate: &&Candidate<K>| key.and(candidate.mask) == candidate.value;
            return self.few.iter().find(matches).map(|candidate| candidate.id);
        }
        self.lookup_by_mask(key)
    }

    fn lookup_by_mask(&self, key: K) -> Option<u32> {
        let mut found: Option<(i32, u32)> = None;
        for group in &self.groups {
            if found.is_some_and(|(priority, _)| priority > group.best) {
                break;
            }
            if let Some(&id) = group.heads.get(&key.and(group.mask)) {
                // Prefixes of one length have one priority.
                let is_best = group.least == group.best;
                let priority = if is_best { group.best } else { self.chain[id as usize].0 };
                let better = match found {
                    None => true,
                    Some((best, at)) => priority > best || priority == best && id < at,
                };
                if better {
                    found = Some((priority, id));
                }
            }
        }
        found.map(|(_, id)| id)
    }

    /// As [`Masked::lookup`], `None` if the result depends on bits that are not known.
    fn lookup_known(&self, key: K, unknown: K, known: K) -> Option<Option<u32>> {
        if self.few.len() != self.len {
            return None;
        }
        let nothing = K::pack(&[]);
        let is_open = |it: &&Candidate<K>| key.and(it.mask).and(known) == it.value.and(known);
        match self.few.iter().find(is_open) {
            None => Some(None),
            Some(first) => (first.mask.and(unknown) == nothing).then_some(Some(first.id)),
        }
    }

    fn sort(&mut self) {
        self.groups.sort_by_key(|group| std::cmp::Reverse(group.best));
    }

    fn insert(&mut self, value: K, mask: K, priority: i32, id: u32) {
        if self.few.len() == self.len && self.len < FEW {
            let before = |other: &Candidate<K>| {
                other.priority > priority || other.priority == priority && other.id < id
            };
            let at = self.few.partition_point(before);
            self.few.insert(at, Candidate { value, mask, priority, id });
        } else {
            self.few.clear();
        }
        self.len += 1;
        if self.chain.len() <= id as usize {
            self.chain.resize(id as usize + 1, (0, NONE));
        }
        let at = match self.groups.iter().position(|group| group.mask == mask) {
            Some(at) => at,
            None => {
                let heads = FxHashMap::default();
                self.groups.push(Group { mask, best: priority, least: priority, heads, len: 0 });
                self.groups.len() - 1
            }
        };
        let group = &mut self.groups[at];
        group.len += 1;
        group.least = group.least.min(priority);
        let head = group.heads.get(&value).copied().unwrap_or(NONE);
        // Keep each chain by falling priority, then rising id.
        let (mut before, mut next) = (NONE, head);
        while next != NONE {
            let (other, after) = self.chain[next as usize];
            if other < priority || other == priority && next > id {
                break;
            }
            before = next;
            next = after;
        }
        self.chain[id as usize] = (priority, next);
        if before == NONE {
            group.heads.insert(value, id);
        } else {
            self.chain[before as usize].1 = id;
        }
        if group.best < priority || group.len == 1 {
            group.best = priority;
            self.sort();
        }
    }

    fn remove(&mut self, value: K, mask: K, id: u32) {
        let Some(at) = self.groups.iter().position(|group| group.mask == mask) else {
            return;
        };
        let group = &mut self.groups[at];
        let Some(&head) = group.heads.get(&value) else {
            return;
        };
        let after = self.chain[id as usize].1;
        if head == id {
            if after == NONE {
                group.heads.remove(&value);
            } else {
                group.heads.insert(value, after);
            }
        } else {
            let mut at = head;
            while at != NONE && self.chain[at as usize].1 != id {
                at = self.chain[at as usize].1;
            }
            if at != NONE {
                self.chain[at as usize].1 = after;
            }
        }
        group.len -= 1;
        if group.len == 0 {
            self.groups.remove(at);
        }
        self.len -= 1;
        self.few.retain(|candidate| candidate.id != id);
    }

    fn find(&self, value: K, mask: K, priority: i32) -> Option<u32> {
        let group = self.groups.iter().find(|group| group.mask == mask)?;
        let mut at = group.heads.get(&value).copied().unwrap_or(NONE);
        while at != NONE {
            let (other, next) = self.chain[at as usize];
            if other == priority {
                return Some(at);
            }
            at = next;
        }
        None
    }
}

pub(crate) struct Ranged<K> {
    value: K,
    mask: K,
    ranges: Vec<RangePattern>,
    priority: i32,
    id: u32,
}

#[inline(never)]
fn first_in_range<K: PackedKey>(list: &[Ranged<K>], key: K, words: &[u64]) -> Option<u32> {
    let matches = |entry: &&Ranged<K>| {
        key.and(entry.mask) == entry.value && entry.ranges.iter().all(|range| range.matches(words))
    };
    list.iter().find(matches).map(|entry| entry.id)
}

pub(crate) enum Matcher<K> {
    Exact(Exact<K>),
    Masked(Masked<K>),
    /// By falling priority, then rising id.
    Ranged(Vec<Ranged<K>>),
}

impl<K: PackedKey> Matcher<K> {
    pub fn exact() -> Matcher<K> {
        Matcher::Exact(Exact::new())
    }

    pub fn masked() -> Matcher<K> {
        Matcher::Masked(Masked::new())
    }

    pub fn ranged() -> Matcher<K> {
        Matcher::Ranged(Vec::new())
    }

    #[inline]
    pub fn lookup(&self, words: &[u64]) -> Option<u32> {
        let key = K::pack(words);
        match self {
            Matcher::Exact(exact) => exact.get(key),
            Matcher::Masked(masked) => masked.lookup(key),
            Matcher::Ranged(list) => first_in_range(list, key, words),
        }
    }

    /// As [`Matcher::lookup`], `None` if the result may depend on bits that are not known.
    pub fn lookup_known(&self, words: &[u64], unknown: &[u64]) -> Option<Option<u32>> {
        let Matcher::Masked(masked) = self else { return None };
        let known: Vec<u64> = unknown.iter().map(|word| !word).collect();
        masked.lookup_known(K::pack(words), K::pack(unknown), K::pack(&known))
    }

    /// Entry ids by key, [`NONE`] where there is none, for keys below its length; none for keys from there up to
    /// [`DIRECT_KEYS`].
    pub fn ids_by_key(&self) -> Option<&[u32]> {
        match self {
            Matcher::Exact(exact) => Some(&exact.direct),
            _ => None,
        }
    }

    pub fn insert(&mut self, pattern: &Pattern, priority: i32, id: u32) {
        let (value, mask) = (K::pack(&pattern.value), K::pack(&pattern.mask));
        match self {
            Matcher::Exact(exact) => exact.insert(value, id),
            Matcher::Masked(masked) => masked.insert(value, mask, priority, id),
            Matcher::Ranged(list) => {
                let at = list.partition_point(|entry| {
                    entry.priority > priority || entry.priority == priority && entry.id < id
                });
                let entry = Ranged { value, mask, ranges: pattern.ranges.clone(), priority, id };
                list.insert(at, entry);
            }
        }
    }

    pub fn remove(&mut self, pattern: &Pattern, id: u32) {
        let (value, mask) = (K::pack(&pattern.value), K::pack(&pattern.mask));
        match self {
            Matcher::Exact(exact) => exact.remove(value),
            Matcher::Masked(masked) => masked.remove(value, mask, id),
            Matcher::Ranged(list) => list.retain(|entry| entry.id != id),
        }
    }

    /// The entry with exactly this pattern and priority.
    pub fn find(&self, pattern: &Pattern, priority: i32) -> Option<u32> {
        let (value, mask) = (K::pack(&pattern.value), K::pack(&pattern.mask));
        match self {
            Matcher::Exact(exact) => exact.get(value),
            Matcher::Masked(masked) => masked.find(value, mask, priority),
            Matcher::Ranged(list) => list
                .iter()
                .find(|entry| {
                    entry.priority == priority
                        && entry.value == value
                        && entry.mask == mask
                        && entry.ranges == pattern.ranges
                })
                .map(|entry| entry.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(value: u64, mask: u64) -> Pattern {
        Pattern { value: vec![value & mask], mask: vec![mask], ranges: Vec::new() }
    }

    #[test]
    fn ternary_prefers_priority_then_lower_id() {
        let mut matcher: Matcher<u64> = Matcher::masked();
        matcher.insert(&pattern(0x10, 0xf0), 5, 3);
        matcher.insert(&pattern(0x12, 0xff), 5, 4);
        matcher.insert(&pattern(0, 0), 1, 0);
        assert_eq!(matcher.lookup(&[0x12]), Some(3));
        matcher.insert(&pattern(0x12, 0xff), 7, 9);
        assert_eq!(matcher.lookup(&[0x12]), Some(9));
        assert_eq!(matcher.find(&pattern(0x12, 0xff), 5), Some(4));
        matcher.remove(&pattern(0x12, 0xff), 9);
        matcher.remove(&pattern(0x10, 0xf0), 3);
        assert_eq!(matcher.lookup(&[0x12]), Some(4));
        assert_eq!(matcher.lookup(&[0x99]), Some(0));
    }

    #[test]
    fn what_is_found_with_unknown_bits_is_found_whatever_they_are() {
        let mut rng = crate::numbers::rng::Rng::new(17);
        let mut certain = 0;
        for _ in 0..2_000 {
            let mut matcher: Matcher<u64> = Matcher::masked();
            for id in 0..rng.uniform(0, 5) as u32 {
                matcher.insert(
                    &pattern(rng.uniform(0, 15), rng.uniform(0, 15)),
                    rng.uniform(1, 3) as i32,
                    id,
                );
            }
            let (key, unknown) = (rng.uniform(0, 15), rng.uniform(0, 15));
            if let Some(found) = matcher.lookup_known(&[key], &[unknown]) {
                certain += 1;
                assert!((0..16).all(|bits| matcher.lookup(&[key & !unknown | bits & unknown]) == found));
            }
        }
        assert!(certain > 500, "{certain}");
    }

    #[test]
    fn few_entries_and_many_are_found_alike() {
        let (mut few, mut many): (Masked<u64>, Masked<u64>) = (Masked::new(), Masked::new());
        for id in 0..FEW as u32 + 1 {
            many.insert(u64::MAX - u64::from(id), u64::MAX, 100, 100 + id);
        }
        let mut random = crate::numbers::rng::Rng::new(5);
        let mut entries = Vec::new();
        for round in 0..2_000 {
            if entries.len() < FEW && random.uniform(0, 2) > 0 {
                let mask = random.uniform(0, 15);
                let entry = (random.uniform(0, 15) & mask, mask, random.uniform(1, 3) as i32, round % 64);
                if few.find(entry.0, entry.1, entry.2).is_none() && entries.iter().all(|it| *it != entry) {
                    let taken = entries.iter().any(|&(_, _, _, id): &(u64, u64, i32, u32)| id == entry.3);
                    if !taken {
                        few.insert(entry.0, entry.1, entry.2, entry.3);
                        many.insert(entry.0, entry.1, entry.2, entry.3);
                        entries.push(entry);
                    }
                }
            } else if !entries.is_empty() {
                let at = random.uniform(0, entries.len() as u64 - 1) as usize;
                let (value, mask, _, id) = entries.swap_remove(at);
                few.remove(value, mask, id);
                many.remove(value, mask, id);
            }
            for key in 0..16 {
                assert_eq!(few.lookup(key), many.lookup(key), "round {round}, key {key}");
                assert_eq!(few.lookup(key), few.lookup_by_mask(key), "round {round}, key {key}");
            }
        }
        assert!(entries.len() == few.len && few.few.len() == few.len && many.few.is_empty());
    }

    #[test]
    fn small_and_great_keys_are_found_by_value() {
        let mut matcher: Matcher<u64> = Matcher::exact();
        let keys = [0, 7, DIRECT_KEYS - 1, DIRECT_KEYS, u64::MAX];
        for (id, &key) in keys.iter().enumerate() {
            matcher.insert(&pattern(key, u64::MAX), 0, id as u32);
        }
        for (id, &key) in keys.iter().enumerate() {
            assert_eq!(matcher.lookup(&[key]), Some(id as u32));
            assert_eq!(matcher.find(&pattern(key, u64::MAX), 0), Some(id as u32));
            assert_eq!(matcher.lookup(&[key ^ 1 << 5]), None, "{key}");
        }
        for &key in &keys {
            matcher.remove(&pattern(key, u64::MAX), 0);
            assert_eq!(matcher.lookup(&[key]), None);
            matcher.remove(&pattern(key ^ 1, u64::MAX), 0);
        }
    }

    #[test]
    fn many_entries_of_one_mask_are_found_by_priority() {
        let mut masked = Masked::<u64>::new();
        let networks = 2 * FEW as u64;
        for id in 0..2 * networks {
            // The second entry of each even network has the higher priority, that of each odd one the lower.
            let (network, is_second) = (id % networks, id >= networks);
            let priority = i32::from(is_second == (network % 2 == 0));
            masked.insert(network << 8, 0xff00, priority, id as u32);
        }
        for network in 0..networks {
            let best = if network % 2 == 0 { network + networks } else { network };
            assert_eq!(masked.lookup(network << 8 | 7), Some(best as u32));
            masked.remove(network << 8, 0xff00, best as u32);
            let other = (best + networks) % (2 * networks);
            assert_eq!(masked.lookup(network << 8 | 7), Some(other as u32));
        }
        assert_eq!(masked.lookup(networks << 8), None);
    }

    #[test]
    fn ranges_include_both_ends() {
        let range = RangePattern { word: 0, shift: 8, bits: 8, low: vec![3], high: vec![5] };
        let mut matcher: Matcher<u64> = Matcher::ranged();
        matcher.insert(&Pattern { value: vec![7], mask: vec![0xff], ranges: vec![range] }, 1, 0);
        assert_eq!(matcher.lookup(&[0x0307]), Some(0));
        assert_eq!(matcher.lookup(&[0x0507]), Some(0));
        assert_eq!(matcher.lookup(&[0x0607]), None);
        assert_eq!(matcher.lookup(&[0x0308]), None);
    }
}
