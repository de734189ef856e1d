//! The run-time state of one match-action table.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use smallvec::SmallVec;

use crate::code::ir::{NextNodes, Op, Pc};
use crate::code::layout::Slot;
use crate::code::program::{Code, KeyPlan, TablePlan};
use crate::numbers::words::{from_bytes, limbs_for, mask64};
use crate::state::matcher::{Matcher, Pattern, RangePattern};
use crate::state::meter::MeterCell;
use crate::vocabulary::entries::{CounterCell, EntryAction, EntryRead, KeyMatch, TableEntry};
use crate::vocabulary::error::ControlError;
use crate::vocabulary::info::{MatchKind, TableInfo};

/// Words of the widest key, 4096 bits.
pub(crate) const MAX_KEY_WORDS: usize = 64;

/// Words of the parameters of an action.
pub(crate) type ParamWords = SmallVec<[u64; 4]>;

/// An action with its data, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    /// First instruction of the action; equal to `next` for an empty action.
    pub entry: Pc,
    /// Next node of the control.
    pub next: Pc,
    /// Index of the action in the program.
    pub action: usize,
    /// Parameters; a few of them lie in the binding itself.
    pub words: ParamWords,
}

/// Result of a hit.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Direct(Binding),
    Member(u32),
    Group(u32),
}

/// The part of an entry that a packet does not need.
struct Entry {
    key: Vec<KeyMatch>,
    pattern: Pattern,
    priority: i32,
    action: EntryAction,
    idle_timeout_ns: u64,
}

/// One field (or 64 bits of one) of the packed key.
#[derive(Clone, Copy)]
struct KeyPart {
    slot: Slot,
    /// Flag of the header; a field of an invalid header is looked up as 0, whatever it holds.
    valid: Slot,
    word: u16,
    shift: u8,
    mask: u64,
}

impl KeyPart {
    /// The field at its place in the word. The flag is 0 or 1, so its negative is a mask.
    #[inline]
    fn value(&self, regs: &[u64; 65_536]) -> u64 {
        let valid = regs[self.valid as usize].wrapping_neg();
        (regs[self.slot as usize] & valid & self.mask) << self.shift
    }
}

enum Index {
    None,
    One(Matcher<u64>),
    Two(Matcher<u128>),
    Eight(Matcher<[u64; 8]>),
    Many(Matcher<[u64; MAX_KEY_WORDS]>),
}

macro_rules! with_matcher {
    ($index:expr, $matcher:ident => $body:expr, $none:expr) => {
        match $index {
            Index::None => $none,
            Index::One($matcher) => $body,
            Index::Two($matcher) => $body,
            Index::Eight($matcher) => $body,
            Index::Many($matcher) => $body,
        }
    };
}

pub(crate) struct TableState {
    parts: Vec<KeyPart>,
    index: Index,
    pub targets: Vec<Target>,
    counters: Vec<CounterCell>,
    meters: Vec<MeterCell>,
    /// Direct resources of the default entry.
    default_counter: CounterCell,
    default_meter: MeterCell,
    pub last_hit_ps: Vec<u64>,
    entries: Vec<Option<Entry>>,
    free: BinaryHeap<Reverse<u32>>,
    len: usize,
    /// The entries are those that the program has brought, in their order.
    as_loaded: bool,
    /// Result of a miss.
    pub default: Option<Target>,
    pub default_action: Option<EntryAction>,
}

impl TableState {
    pub fn new(plan: &TablePlan) -> TableState {
        let mut parts = Vec::new();
        for key in &plan.key {
            for limb in 0..limbs_for(key.bits) {
                parts.push(KeyPart {
                    slot: key.slot + limb as u16,
                    valid: key.valid,
                    word: key.word + limb as u16,
                    shift: key.shift,
                    mask: key.word_mask(limb),
                });
            }
        }
        let shape = if plan.key.iter().any(|key| key.kind == MatchKind::Range) {
            2
        } else if plan.is_exact() {
            0
        } else {
            1
        };
        fn matcher<K: crate::state::matcher::PackedKey>(shape: u8) -> Matcher<K> {
            match shape {
                0 => Matcher::exact(),
                1 => Matcher::masked(),
                _ => Matcher::ranged(),
            }
        }
        let index = match plan.words {
            0 => Index::None,
            1 => Index::One(matcher(shape)),
            2 => Index::Two(matcher(shape)),
            3..=8 => Index::Eight(matcher(shape)),
            _ => Index::Many(matcher(shape)),
        };
        TableState {
            parts,
            index,
            targets: Vec::new(),
            counters: Vec::new(),
            meters: Vec::new(),
            default_counter: CounterCell::default(),
            default_meter: MeterCell::default(),
            last_hit_ps: Vec::new(),
            entries: Vec::new(),
            free: BinaryHeap::new(),
            len: 0,
            as_loaded: false,
            default: None,
            default_action: None,
        }
    }

    /// The entry that the packet's fields match.
    #[inline]
    pub fn lookup(&self, regs: &[u64; 65_536]) -> Option<u32> {
        match &self.index {
            Index::None => None,
            Index::One(matcher) => {
                let mut key = 0;
                for part in &self.parts {
                    key |= part.value(regs);
                }
                matcher.lookup(&[key])
            }
            Index::Two(matcher) => {
                // Two words in registers: an array would be written in parts and read as a whole at once.
                let (mut low, mut high) = (0, 0);
                for part in &self.parts {
                    let value = part.value(regs);
                    let in_first = u64::from(part.word == 0).wrapping_neg();
                    low |= value & in_first;
                    high |= value & !in_first;
                }
                matcher.lookup(&[low, high])
            }
            Index::Eight(matcher) => matcher.lookup(&self.packed_key::<8>(regs)),
            Index::Many(matcher) => matcher.lookup(&self.packed_key::<MAX_KEY_WORDS>(regs)),
        }
    }

    /// As [`TableState::lookup`], of a table whose key is one word, with that word.
    #[inline]
    pub fn lookup_word(&self, key: u64) -> Option<u32> {
        match &self.index {
            Index::One(matcher) => matcher.lookup(&[key]),
            _ => None,
        }
    }

    /// The entry that the packet's fields match, if that is certain from those that are known.
    pub fn lookup_known(&self, regs: &[u64; 65_536], is_known: impl Fn(Slot) -> bool) -> Option<Option<u32>> {
        let (mut key, mut unknown) = ([0; MAX_KEY_WORDS], [0; MAX_KEY_WORDS]);
        for part in &self.parts {
            let place = part.word as usize;
            key[place] |= part.value(regs);
            if !is_known(part.slot) {
                unknown[place] |= part.mask << part.shift;
            }
        }
        with_matcher!(&self.index, matcher => matcher.lookup_known(&key, &unknown), Some(None))
    }

    fn packed_key<const N: usize>(&self, regs: &[u64; 65_536]) -> [u64; N] {
        let mut key = [0; N];
        for part in &self.parts {
            if let Some(word) = key.get_mut(part.word as usize) {
                *word |= part.value(regs);
            }
        }
        key
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Says that the entries are those of the program, until the first change.
    pub fn loaded(&mut self) {
        self.as_loaded = true;
    }

    /// True if the entries are those that the program has brought.
    pub fn is_as_loaded(&self) -> bool {
        self.as_loaded
    }

    /// Action, next node and parameters of every packet, where they are known without a look-up.
    pub fn leads_to(&self, plan: &TablePlan) -> Option<(Pc, Pc, &[u64])> {
        if self.len > 0 || plan.counted || plan.meter.is_some() {
            return None;
        }
        self.after(plan, None)
    }

    /// Action, next node and parameters after a hit of an entry, or after a miss, where they are fixed.
    pub fn after(&self, plan: &TablePlan, entry: Option<u32>) -> Option<(Pc, Pc, &[u64])> {
        let target = match entry {
            Some(id) => Some(self.targets.get(id as usize)?),
            None => self.default.as_ref(),
        };
        match target {
            None => Some((plan.miss, plan.miss, &[])),
            Some(Target::Direct(binding)) if plan.actions.contains(&binding.action) => {
                Some((binding.entry, binding.next, &binding.words))
            }
            Some(_) => None,
        }
    }

    /// Entry ids by key, of a table whose small keys are indices.
    pub fn ids_by_key(&self) -> Option<&[u32]> {
        match &self.index {
            Index::One(matcher) => matcher.ids_by_key(),
            _ => None,
        }
    }

    fn find(&self, pattern: &Pattern, priority: i32) -> Option<u32> {
        with_matcher!(&self.index, matcher => matcher.find(pattern, priority), None)
    }

    /// Id of the entry with this key.
    pub fn find_entry(
        &self,
        info: &TableInfo,
        plan: &TablePlan,
        key: &[KeyMatch],
        priority: i32,
    ) -> Result<u32, ControlError> {
        let (pattern, lpm) = pattern(info, plan, key)?;
        check_priority(info, priority)?;
        self.find(&pattern, rank(info, priority, lpm))
            .ok_or_else(|| ControlError::NotFound { owner: format!("table '{}'", info.name) })
    }

    #[allow(clippy::too_many_arguments)]
    pub fn insert(
        &mut self,
        info: &TableInfo,
        plan: &TablePlan,
        entry: &TableEntry,
        target: Target,
        now_ps: u64,
    ) -> Result<u32, ControlError> {
        let (pattern, lpm) = pattern(info, plan, &entry.key)?;
        check_priority(info, entry.priority)?;
        let owner = || format!("table '{}'", info.name);
        let rank = rank(info, entry.priority, lpm);
        if matches!(self.index, Index::None) {
            return Err(ControlError::Invalid {
                owner: owner(),
                problem: "a table without key has no entries".into(),
            });
        }
        if self.find(&pattern, rank).is_some() {
            return Err(ControlError::Exists { owner: owner() });
        }
        if self.len >= info.max_size {
            return Err(ControlError::Full { owner: owner(), size: info.max_size });
        }
        self.as_loaded = false;
        let id = match self.free.pop() {
            Some(Reverse(id)) => id,
            None => {
                self.targets.push(target.clone());
                self.entries.push(None);
                self.last_hit_ps.push(0);
                if plan.counted {
                    self.counters.push(CounterCell::default());
                }
                if plan.meter.is_some() {
                    self.meters.push(MeterCell::default());
                }
                (self.entries.len() - 1) as u32
            }
        };
        let at = id as usize;
        with_matcher!(&mut self.index, matcher => matcher.insert(&pattern, rank, id), ());
        self.targets[at] = target;
        self.last_hit_ps[at] = now_ps;
        if let Some(cell) = self.counters.get_mut(at) {
            *cell = CounterCell::default();
        }
        if let Some(cell) = self.meters.get_mut(at) {
            *cell = MeterCell::default();
        }
        self.entries[at] = Some(Entry {
            key: entry.key.clone(),
            pattern,
            priority: entry.priority,
            action: entry.action.clone(),
            idle_timeout_ns: entry.idle_timeout_ns,
        });
        self.len += 1;
        Ok(id)
    }

    /// The direct counter of an entry, of the default entry for `None`.
    #[inline]
    pub fn counter_mut(&mut self, entry: Option<u32>) -> &mut CounterCell {
        match entry.and_then(|id| self.counters.get_mut(id as usize)) {
            Some(cell) => cell,
            None => &mut self.default_counter,
        }
    }

    pub fn counter(&self, entry: Option<u32>) -> CounterCell {
        entry.map_or(self.default_counter, |id| self.counters[id as usize])
    }

    /// The direct meter of an entry, of the default entry for `None`.
    pub fn meter_mut(&mut self, entry: Option<u32>) -> &mut MeterCell {
        match entry.and_then(|id| self.meters.get_mut(id as usize)) {
            Some(cell) => cell,
            None => &mut self.default_meter,
        }
    }

    pub fn meter(&self, entry: Option<u32>) -> &MeterCell {
        entry.map_or(&self.default_meter, |id| &self.meters[id as usize])
    }

    /// The meter that a packet meets; the default entry has one only when it is configured.
    #[inline]
    pub fn meter_in_use(&mut self, entry: Option<u32>) -> Option<&mut MeterCell> {
        match entry {
            Some(id) => self.meters.get_mut(id as usize),
            None => Some(&mut self.default_meter).filter(|cell| cell.config().is_some()),
        }
    }

    pub fn modify(&mut self, id: u32, entry: &TableEntry, target: Target, now_ps: u64) {
        self.as_loaded = false;
        self.targets[id as usize] = target;
        self.last_hit_ps[id as usize] = now_ps;
        if let Some(Some(stored)) = self.entries.get_mut(id as usize) {
            stored.action = entry.action.clone();
            stored.idle_timeout_ns = entry.idle_timeout_ns;
        }
    }

    pub fn remove(&mut self, id: u32) {
        self.as_loaded = false;
        if let Some(entry) = self.entries.get_mut(id as usize).and_then(Option::take) {
            with_matcher!(&mut self.index, matcher => matcher.remove(&entry.pattern, id), ());
            self.free.push(Reverse(id));
            self.len -= 1;
        }
    }

    pub fn read(&self, id: u32) -> Option<EntryRead> {
        let at = id as usize;
        let entry = self.entries.get(at)?.as_ref()?;
        Some(EntryRead {
            entry: table_entry(entry),
            counter: self.counters.get(at).copied(),
            meter: self.meters.get(at).and_then(MeterCell::config),
            marked: self.meters.get(at).map(|cell| cell.marked),
            last_hit_ps: self.last_hit_ps[at],
        })
    }

    /// Ids of all entries, ascending.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.ids_from(0)
    }

    /// Ids of the entries from this one on, ascending.
    pub fn ids_from(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        (first..self.entries.len() as u32).filter(|&id| self.entries[id as usize].is_some())
    }

    pub fn expired(&self, now_ps: u64) -> Vec<TableEntry> {
        self.entries
            .iter()
            .zip(&self.last_hit_ps)
            .filter_map(|(entry, &last)| {
                let entry = entry.as_ref()?;
                let idle_ps = u128::from(now_ps.saturating_sub(last));
                let expired =
                    entry.idle_timeout_ns > 0 && idle_ps >= u128::from(entry.idle_timeout_ns) * 1_000;
                expired.then(|| table_entry(entry))
            })
            .collect()
    }

    /// True if an entry or the default leads to this member or group.
    pub fn uses(&self, what: &EntryAction) -> bool {
        self.default_action.as_ref() == Some(what)
            || self.entries.iter().flatten().any(|entry| entry.action == *what)
    }
}

fn table_entry(entry: &Entry) -> TableEntry {
    TableEntry {
        key: entry.key.clone(),
        priority: entry.priority,
        action: entry.action.clone(),
        idle_timeout_ns: entry.idle_timeout_ns,
    }
}

fn check_priority(info: &TableInfo, priority: i32) -> Result<(), ControlError> {
    match (info.needs_priority(), priority) {
        (true, priority) if priority <= 0 => Err(ControlError::PriorityMissing { table: info.name.clone() }),
        (false, priority) if priority != 0 => {
            Err(ControlError::PrioritySuperfluous { table: info.name.clone(), priority })
        }
        _ => Ok(()),
    }
}

/// Preference among entries: the priority, or the prefix length where only prefixes decide.
pub(crate) fn rank(info: &TableInfo, priority: i32, prefix_bits: u32) -> i32 {
    if info.needs_priority() {
        priority
    } else {
        prefix_bits as i32
    }
}

/// Next node after an action of a table.
pub(crate) fn next_of(plan: &TablePlan, action: usize, hit: bool) -> Pc {
    match &plan.next {
        NextNodes::HitMiss { hit: to, .. } if hit => *to,
        NextNodes::HitMiss { miss, .. } => *miss,
        NextNodes::ByAction(next) => match plan.actions.iter().position(|&a| a == action) {
            Some(position) => next.get(position).copied().unwrap_or(plan.miss),
            None => plan.miss,
        },
    }
}

/// An action call as words for the parameter area.
pub(crate) fn bind(code: &Code, plan: &TablePlan, action: usize, params: &[Vec<u8>], hit: bool) -> Binding {
    let next = next_of(plan, action, hit);
    let entry = code.actions[action].entry;
    let empty = code.ops.get(entry as usize) == Some(&Op::Return);
    Binding {
        entry: if empty { next } else { entry },
        next,
        action,
        words: param_words(code, action, params),
    }
}

pub(crate) fn param_words(code: &Code, action: usize, params: &[Vec<u8>]) -> ParamWords {
    let layout = &code.actions[action];
    let mut words = ParamWords::with_capacity(layout.words as usize);
    for (bytes, &(_, limbs, _)) in params.iter().zip(&layout.params) {
        words.extend(from_bytes(bytes, limbs as usize));
    }
    words
}

/// Writes the low bits of `limbs` into the packed words at the place of a key field.
fn place(words: &mut [u64], key: &KeyPlan, limbs: &[u64]) {
    for (limb, &value) in limbs.iter().enumerate() {
        words[key.word as usize + limb] |= value << key.shift;
    }
}

/// The pattern of a key and its prefix length.
pub(crate) fn pattern(
    info: &TableInfo,
    plan: &TablePlan,
    key: &[KeyMatch],
) -> Result<(Pattern, u32), ControlError> {
    if key.len() != plan.key.len() {
        return Err(ControlError::KeyCount {
            table: info.name.clone(),
            expected: plan.key.len(),
            found: key.len(),
        });
    }
    let mut pattern = Pattern { value: vec![0; plan.words], mask: vec![0; plan.words], ranges: Vec::new() };
    let mut prefix = 0;
    for ((field, plan), name) in key.iter().zip(&plan.key).zip(&info.key) {
        let bad = |problem: String| ControlError::BadMatch {
            table: info.name.clone(),
            field: name.name.clone(),
            problem,
        };
        let limbs = limbs_for(plan.bits);
        let number = |bytes: &[u8]| {
            if crate::numbers::words::bit_length(bytes) > plan.bits {
                return Err(ControlError::ValueTooWide {
                    owner: format!("table '{}'", info.name),
                    what: format!("key field '{}'", name.name),
                    width_bits: plan.bits,
                });
            }
            Ok(from_bytes(bytes, limbs))
        };
        let ones: Vec<u64> = (0..limbs).map(|limb| mask64((plan.bits - limb as u32 * 64).min(64))).collect();
        let masked = |value: &mut Vec<u64>| {
            if let Some(fixed) = &plan.mask {
                value.iter_mut().zip(fixed).for_each(|(word, mask)| *word &= mask);
            }
        };
        let (mut value, mut mask) = match (field, plan.kind) {
            (KeyMatch::Exact(value), MatchKind::Exact) => (number(value)?, ones),
            (KeyMatch::Valid(valid), MatchKind::Valid) => (vec![u64::from(*valid)], ones),
            (KeyMatch::Exact(value), MatchKind::Valid) => (number(value)?, ones),
            (KeyMatch::Lpm { value, prefix_bits }, MatchKind::Lpm) => {
                if *prefix_bits > plan.bits {
                    return Err(bad(format!("prefix length {prefix_bits}; valid: 0 to {}", plan.bits)));
                }
                prefix = *prefix_bits;
                let mut mask = ones;
                let mut tail = vec![u64::MAX; limbs];
                crate::numbers::words::shift_left(&mut tail, u64::from(plan.bits - prefix_bits));
                mask.iter_mut().zip(&tail).for_each(|(word, tail)| *word &= tail);
                (number(value)?, mask)
            }
            (KeyMatch::Ternary { value, mask }, MatchKind::Ternary | MatchKind::Optional) => {
                (number(value)?, number(mask)?)
            }
            (KeyMatch::Optional(value), MatchKind::Ternary | MatchKind::Optional) => match value {
                Some(value) => (number(value)?, ones),
                None => (vec![0; limbs], vec![0; limbs]),
            },
            (KeyMatch::Range { low, high }, MatchKind::Range) => {
                let (low, high) = (number(low)?, number(high)?);
                if crate::numbers::words::less(&high, &low, false) {
                    return Err(bad("the low end is above the high end".into()));
                }
                pattern.ranges.push(RangePattern {
                    word: plan.word,
                    shift: plan.shift,
                    bits: plan.bits,
                    low,
                    high,
                });
                continue;
            }
            (found, kind) => {
                let found = match found {
                    KeyMatch::Exact(_) => "exact",
                    KeyMatch::Lpm { .. } => "lpm",
                    KeyMatch::Ternary { .. } => "ternary",
                    KeyMatch::Range { .. } => "range",
                    KeyMatch::Optional(_) => "optional",
                    KeyMatch::Valid(_) => "valid",
                };
                return Err(ControlError::MatchKind {
                    table: info.name.clone(),
                    field: name.name.clone(),
                    expected: kind.name(),
                    found,
                });
            }
        };
        if value.iter().zip(&mask).any(|(value, mask)| value & !mask != 0) {
            return Err(bad("the value has bits outside of its mask".into()));
        }
        masked(&mut value);
        masked(&mut mask);
        place(&mut pattern.value, plan, &value);
        place(&mut pattern.mask, plan, &mask);
    }
    Ok((pattern, prefix))
}
