//! Blocks of code under construction, and what is known of the slots in each: which value a slot holds, so that nothing is
//! loaded that was computed or loaded before, and nothing is stored that nobody loads.
//!
//! A part is built several times. The first time shows what its loops change: from then on all else is known in them, too.
//! The next one shows where several values of a slot meet that is read later: those are handed over as parameters of the
//! block from then on. The third time shows which stores are never loaded, which the last one leaves out.

use std::rc::Rc;

use cranelift_codegen::ir::{self, types::I64, types::I64X2, BlockArg, InstBuilder, MemFlags, Value};
use cranelift_frontend::FunctionBuilder;
use rustc_hash::{FxHashMap, FxHashSet};

use super::at::At;
use crate::code::layout::Slot;

/// A slot, or the cursor.
pub(super) type Place = u32;

/// Next byte that the parser reads.
pub(super) const CURSOR: Place = 1 << 16;

/// A number, or the value of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Known {
    Const(u64),
    Value(Value),
}

/// A block: where it begins, and which of those that the instruction there needs.
pub(super) type Key = (At, u32);

/// The knowledge at a point of the code, by place: it is copied for every way to a block.
#[derive(Clone, Default)]
struct State {
    known: Vec<Option<Known>>,
    /// Values of places whose numbers a branch has told: where ways meet, those are what the places hold on all of them.
    told: Vec<(Place, Known)>,
}

impl State {
    fn get(&self, place: Place) -> Option<Known> {
        self.known.get(number(place)).copied().flatten()
    }

    fn set(&mut self, place: Place, known: Option<Known>) {
        let number = number(place);
        if self.known.len() <= number {
            self.known.resize(number + 1, None);
        }
        self.known[number] = known;
        self.told.retain(|&(other, _)| other != place);
    }

    /// Takes the number of a place from a branch.
    fn tell(&mut self, place: Place, told: u64) {
        let before = self.before_told(place);
        self.set(place, Some(Known::Const(told)));
        self.told.extend(before.map(|before| (place, before)));
    }

    /// The value of a place, a number that a branch has told left aside.
    fn before_told(&self, place: Place) -> Option<Known> {
        let told = self.told.iter().find(|&&(other, _)| other == place);
        told.map(|&(_, before)| before).or_else(|| self.get(place))
    }

    /// Keeps what holds on another way, too; gives the places with different values there.
    fn meet(&mut self, other: &State) -> Vec<Place> {
        let mut differ = Vec::new();
        for number in 0..self.known.len() {
            let place = place_of(number);
            let (Some(here), there) = (self.known[number], other.get(place)) else { continue };
            if there == Some(here) {
                continue;
            }
            let before = self.before_told(place).filter(|&before| other.before_told(place) == Some(before));
            self.set(place, before);
            if there.is_some() && before.is_none() {
                differ.push(place);
            }
        }
        self.told.retain(|&(place, before)| other.before_told(place) == Some(before));
        differ
    }

    fn retain(&mut self, mut holds: impl FnMut(Place, Known) -> bool) {
        for number in 0..self.known.len() {
            let place = place_of(number);
            if self.known[number].is_some_and(|known| !holds(place, known)) {
                self.set(place, None);
            }
        }
    }

    fn places(&self) -> impl Iterator<Item = Place> + '_ {
        (0..self.known.len()).filter(|&number| self.known[number].is_some()).map(place_of)
    }
}

/// Numbers of places: the cursor is before all slots.
fn number(place: Place) -> usize {
    if place == CURSOR {
        0
    } else {
        place as usize + 1
    }
}

fn place_of(number: usize) -> Place {
    match number {
        0 => CURSOR,
        number => number as Place - 1,
    }
}

/// The knowledge where a block begins, of the ways to it that were seen so far.
struct Entry {
    state: State,
    /// Places that are known on every way, with different values.
    differ: FxHashSet<Place>,
}

/// A set of places.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Set(Vec<u64>);

impl Set {
    fn add(&mut self, place: Place) {
        let bit = number(place);
        if self.0.len() <= bit / 64 {
            self.0.resize(bit / 64 + 1, 0);
        }
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    pub fn has(&self, place: Place) -> bool {
        let bit = number(place);
        self.0.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    /// False where it was no member.
    fn remove(&mut self, place: Place) -> bool {
        let has = self.has(place);
        if has {
            let bit = number(place);
            self.0[bit / 64] &= !(1 << (bit % 64));
        }
        has
    }

    pub fn iter(&self) -> impl Iterator<Item = Place> + '_ {
        let bits = |(at, &word): (usize, &u64)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| place_of(64 * at + bit))
        };
        self.0.iter().enumerate().flat_map(bits)
    }

    /// Keeps the members that another set has, too.
    fn keep(&mut self, other: &Set) {
        self.0.truncate(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(word, also)| *word &= also);
    }

    fn join(&mut self, other: &Set) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }
}

impl FromIterator<Place> for Set {
    fn from_iter<I: IntoIterator<Item = Place>>(places: I) -> Set {
        let mut set = Set::default();
        set.extend(places);
        set
    }
}

impl Extend<Place> for Set {
    fn extend<I: IntoIterator<Item = Place>>(&mut self, places: I) {
        places.into_iter().for_each(|place| self.add(place));
    }
}

enum Event {
    /// Its value is used.
    Load(Place),
    /// Something else may look at the memory.
    Look(Place),
    /// As `Look`, at a field of a header, where that is valid.
    LookIfValid(Place),
    LookAt(Rc<Seen>),
    /// The number of the store in its block.
    Store(Place, u32),
    /// It has its value of the start of a pass, when no header is valid.
    Start(Place),
    /// Something else has written a place.
    Written(Place),
    /// Something else may have written a place, or any.
    Forget(Place),
    ForgetAll,
}

#[derive(Default)]
struct Record {
    events: Vec<Event>,
    next: Vec<Key>,
    stores: u32,
    entered: bool,
    /// Places that are known on every way to the block, with different values.
    differ: Vec<Place>,
    /// Other places that are known on every way to the block, if it is that of a loop.
    known: Vec<Place>,
}

/// The places that are read after a part of a program.
pub(super) struct Seen {
    pub places: Set,
    /// Fields of headers, where those are valid.
    pub if_valid: Set,
}

/// The places that a loop changes.
#[derive(Default, Clone)]
struct Changed {
    all: Set,
    /// Those that the host leaves alone, and the cursor.
    handed_over: Set,
    /// The loop can be entered elsewhere: nothing is known in it but what has been so from the start.
    has_other_entrances: bool,
}

/// The purpose of building a part.
#[derive(Clone, Copy)]
pub(super) enum Round {
    /// To find what its loops change, and the values to hand over.
    Values,
    /// To find the stores that are never loaded.
    Stores,
    Code,
}

/// All that building a part has shown.
#[derive(Default, Clone)]
pub(super) struct Findings {
    /// Places that a loop changes, by its first block; a loop that may change any place is absent.
    changed: FxHashMap<Key, Changed>,
    /// Places whose values are handed over to a block.
    parameters: FxHashMap<Key, Vec<Place>>,
    /// Places whose values at the start of a pass have to be in memory.
    pub at_start: FxHashSet<Place>,
    /// Places that have the value of the start of a pass wherever a packet goes on, and are looked at there.
    pub late: Set,
    /// Stores that are never loaded.
    dead: FxHashSet<(Key, u32)>,
}

pub(super) struct Builder<'f> {
    pub ins: FunctionBuilder<'f>,
    /// The address of the slots, once the block in work has asked for it.
    regs: Option<Value>,
    /// The former value of the register that holds this address.
    kept: Value,
    pub frame: Value,
    state: State,
    at_start: State,
    /// Places that have had this value wherever the part has ended so far with a packet that goes on.
    untouched: Option<Set>,
    cursor_offset: i32,
    findings: &'f Findings,
    blocks: FxHashMap<Key, ir::Block>,
    entries: FxHashMap<Key, Entry>,
    records: FxHashMap<Key, Record>,
    order: Vec<Key>,
    /// Blocks to which later ones lead.
    loops: FxHashSet<Key>,
    current: Key,
    /// The greatest number that a value may be.
    bounds: FxHashMap<Value, u64>,
    /// The code after this point is never reached.
    pub ended: bool,
}

/// Slots, the frame with the bytes of the packet, and the cells of arrays do not overlap.
pub(super) fn slot_flags() -> MemFlags {
    MemFlags::trusted().with_alias_region(Some(ir::AliasRegion::Heap))
}

/// A pair of slots may lie at any of them.
fn pair_flags() -> MemFlags {
    MemFlags::new().with_notrap().with_alias_region(Some(ir::AliasRegion::Heap))
}

pub(super) fn frame_flags() -> MemFlags {
    MemFlags::trusted().with_alias_region(Some(ir::AliasRegion::Vmctx))
}

/// Words of the frame, and of what it points to, that never change while the code runs.
pub(super) fn fixed_flags() -> MemFlags {
    frame_flags().with_readonly().with_can_move()
}

pub(super) fn cell_flags() -> MemFlags {
    MemFlags::trusted().with_alias_region(Some(ir::AliasRegion::Table))
}

impl<'f> Builder<'f> {
    pub fn new(
        mut ins: FunctionBuilder<'f>,
        entry: Key,
        loops: FxHashSet<Key>,
        cursor_offset: i32,
        findings: &'f Findings,
    ) -> Builder<'f> {
        let block = ins.create_block();
        ins.append_block_params_for_function_params(block);
        ins.switch_to_block(block);
        let (regs, frame) = (ins.block_params(block)[0], ins.block_params(block)[1]);
        // Nearly all that is live has to give way to another value somewhere: the address of the slots has its own register.
        let kept = ins.ins().get_pinned_reg(I64);
        ins.ins().set_pinned_reg(regs);
        Builder {
            ins,
            regs: None,
            kept,
            frame,
            state: State::default(),
            at_start: State::default(),
            untouched: None,
            cursor_offset,
            findings,
            blocks: FxHashMap::default(),
            entries: FxHashMap::default(),
            records: FxHashMap::from_iter([(entry, Record::default())]),
            order: vec![entry],
            loops,
            current: entry,
            bounds: FxHashMap::default(),
            ended: false,
        }
    }

    /// A value that is not a number yet.
    pub fn value(&mut self, known: Known) -> Value {
        match known {
            Known::Const(number) => self.ins.ins().iconst(I64, number as i64),
            Known::Value(value) => value,
        }
    }

    /// The greatest number that a value may be.
    pub fn bound_of(&self, value: Value) -> u64 {
        self.bounds.get(&value).copied().unwrap_or(u64::MAX)
    }

    pub fn bound(&mut self, value: Value, bound: u64) {
        let known = self.bounds.entry(value).or_insert(u64::MAX);
        *known = bound.min(*known);
    }

    fn address(&mut self, place: Place) -> (Value, i32, MemFlags) {
        match place {
            CURSOR => (self.frame, self.cursor_offset, frame_flags()),
            slot => {
                let ins = &mut self.ins;
                let regs = *self.regs.get_or_insert_with(|| ins.ins().get_pinned_reg(I64));
                (regs, 8 * slot as i32, slot_flags())
            }
        }
    }

    fn record(&mut self) -> &mut Record {
        self.records.entry(self.current).or_default()
    }

    pub fn load(&mut self, place: Place) -> Known {
        if let Some(known) = self.state.get(place) {
            return known;
        }
        self.record().events.push(Event::Load(place));
        let (base, offset, flags) = self.address(place);
        let known = Known::Value(self.ins.ins().load(I64, flags, base, offset));
        self.state.set(place, Some(known));
        known
    }

    pub fn store(&mut self, place: Place, value: Known) {
        let current = self.current;
        let record = self.record();
        let number = record.stores;
        record.stores += 1;
        record.events.push(Event::Store(place, number));
        if !self.findings.dead.contains(&(current, number)) {
            let value = self.value(value);
            let (base, offset, flags) = self.address(place);
            self.ins.ins().store(flags, value, base, offset);
        }
        self.state.set(place, Some(value));
    }

    /// Slots have values at the start of a pass, when no header is valid; the findings tell which of those that may be read
    /// have to be in memory.
    pub fn start_with(&mut self, slots: impl Iterator<Item = (Slot, u64, bool)>) {
        let mut needed = Vec::new();
        for (slot, value, is_read) in slots {
            let place = Place::from(slot);
            if is_read {
                self.record().events.push(Event::Start(place));
            }
            if self.findings.at_start.contains(&place) {
                needed.push((slot, value));
            }
            self.begin_with(place, value);
        }
        self.put(needed);
    }

    /// A place has a number at the start of a pass, which is in memory if that is needed.
    pub fn begin_with(&mut self, place: Place, value: u64) {
        self.state.set(place, Some(Known::Const(value)));
        self.at_start.set(place, Some(Known::Const(value)));
    }

    /// Puts numbers into slots, two at a time where that is possible.
    fn put(&mut self, mut slots: Vec<(Slot, u64)>) {
        slots.sort_unstable();
        let mut left = &slots[..];
        while let [(slot, value), rest @ ..] = left {
            let (regs, offset, flags) = self.address((*slot).into());
            left = match rest {
                [(next, other), rest @ ..] if *next == slot + 1 && value == other => {
                    let number = self.ins.ins().iconst(I64, *value as i64);
                    let pair = self.ins.ins().splat(I64X2, number);
                    self.ins.ins().store(pair_flags(), pair, regs, offset);
                    rest
                }
                rest => {
                    let number = self.ins.ins().iconst(I64, *value as i64);
                    self.ins.ins().store(flags, number, regs, offset);
                    rest
                }
            };
        }
    }

    /// Something else looks at a place: brings it to memory where its value is known, for a way that is seldom taken.
    pub fn show(&mut self, place: Place) {
        self.show_as(place, Event::Look);
    }

    /// As `show`, of a field of a header that is looked at where the header is valid.
    pub fn show_if_valid(&mut self, place: Place) {
        self.show_as(place, Event::LookIfValid);
    }

    fn show_as(&mut self, place: Place, event: impl Fn(Place) -> Event) {
        match self.state.get(place) {
            Some(known) => {
                let value = self.value(known);
                let (base, offset, flags) = self.address(place);
                self.ins.ins().store(flags, value, base, offset);
            }
            None => self.record().events.push(event(place)),
        }
    }

    pub fn look_at(&mut self, seen: &Rc<Seen>) {
        let seen = Rc::clone(seen);
        self.record().events.push(Event::LookAt(seen));
    }

    pub fn forget(&mut self, place: Place) {
        self.record().events.push(Event::Forget(place));
        self.state.set(place, None);
    }

    /// Something else has written a place, before it is loaded: nothing older is.
    pub fn load_written(&mut self, place: Place) {
        self.record().events.push(Event::Written(place));
        self.state.set(place, None);
        self.load(place);
    }

    pub fn forget_all(&mut self) {
        self.record().events.push(Event::ForgetAll);
        self.state = State::default();
    }

    fn block(&mut self, key: Key) -> ir::Block {
        let (ins, findings) = (&mut self.ins, self.findings);
        *self.blocks.entry(key).or_insert_with(|| {
            let block = ins.create_block();
            for _ in findings.parameters.get(&key).into_iter().flatten() {
                ins.append_block_param(block, I64);
            }
            block
        })
    }

    pub fn seldom(&mut self, key: Key) {
        let block = self.block(key);
        self.ins.set_cold_block(block);
    }

    /// Takes note of a way to a block with what is known on it; gives the values that are handed over.
    fn edge(&mut self, key: Key) -> (ir::Block, Vec<BlockArg>) {
        let block = self.block(key);
        let parameters: Vec<Place> = self.findings.parameters.get(&key).cloned().unwrap_or_default();
        let mut arguments = Vec::new();
        for place in parameters {
            let known = self.load(place);
            arguments.push(BlockArg::Value(self.value(known)));
        }
        self.record().next.push(key);
        match self.entries.get_mut(&key) {
            // The way back to the start of a loop.
            None if self.records.get(&key).is_some_and(|record| record.entered) => {}
            None => {
                let entry = Entry { state: self.state.clone(), differ: FxHashSet::default() };
                self.entries.insert(key, entry);
            }
            Some(Entry { state, differ }) => {
                let now = &self.state;
                differ.retain(|&place| now.get(place).is_some());
                differ.extend(state.meet(now));
            }
        }
        (block, arguments)
    }

    pub fn goto(&mut self, key: Key) {
        let (block, arguments) = self.edge(key);
        self.ins.ins().jump(block, &arguments);
        self.ended = true;
    }

    /// Goes to one of two blocks.
    pub fn branch(&mut self, condition: Value, then: Key, otherwise: Key) {
        self.branch_knowing(condition, then, None, otherwise, None);
    }

    /// As `branch`; what is known where the condition holds, and where it does not.
    pub fn branch_knowing(
        &mut self,
        condition: Value,
        then: Key,
        if_so: Option<(Place, u64)>,
        otherwise: Key,
        if_not: Option<(Place, u64)>,
    ) {
        let edge = |this: &mut Self, key, knowing: Option<(Place, u64)>| {
            let Some((place, number)) = knowing else { return this.edge(key) };
            let before = (this.state.get(place), this.state.told.clone());
            this.state.tell(place, number);
            let edge = this.edge(key);
            this.state.set(place, before.0);
            this.state.told = before.1;
            edge
        };
        let (then, then_arguments) = edge(self, then, if_so);
        let (otherwise, arguments) = edge(self, otherwise, if_not);
        self.ins.ins().brif(condition, then, &then_arguments, otherwise, &arguments);
        self.ended = true;
    }

    /// Begins a block; false where nothing leads to it.
    pub fn begin(&mut self, key: Key) -> bool {
        let Some(Entry { mut state, differ }) = self.entries.remove(&key) else { return false };
        let block = self.block(key);
        self.ins.switch_to_block(block);
        self.regs = None;
        let mut known = Vec::new();
        if self.loops.contains(&key) {
            known.extend(state.places());
            match self.findings.changed.get(&key) {
                Some(changed) => {
                    state.retain(|place, known| {
                        let holds = !changed.has_other_entrances || self.at_start.get(place) == Some(known);
                        holds && !changed.all.has(place)
                    });
                    if changed.has_other_entrances {
                        state.told.clear();
                    }
                }
                None => state = State::default(),
            }
        }
        let parameters: Vec<Place> = self.findings.parameters.get(&key).cloned().unwrap_or_default();
        for (index, place) in parameters.into_iter().enumerate() {
            let value = self.ins.block_params(block)[index];
            // Where all ways bring the same value, that is known better.
            state.set(place, state.get(place).or(Some(Known::Value(value))));
        }
        self.state = state;
        self.current = key;
        self.ended = false;
        self.order.push(key);
        let record = self.record();
        record.entered = true;
        record.differ = differ.into_iter().collect();
        record.differ.sort_unstable();
        record.known = known;
        true
    }

    pub fn leave(&mut self, status: u32) {
        self.return_with(Known::Const(status.into()));
    }

    /// Ends the part, after which something looks at places. Those that have the number of the start of a pass wherever the
    /// part ends in this way are brought to memory here: where it ends otherwise nobody looks at them.
    pub fn leave_late(&mut self, status: Known, seen: &Seen) {
        let is_untouched = |place: &Place| {
            let start = self.at_start.get(*place);
            start.is_some() && self.state.get(*place) == start
        };
        let untouched = seen.places.iter().filter(is_untouched).collect::<Set>();
        match &mut self.untouched {
            Some(others) => others.keep(&untouched),
            others => *others = Some(untouched),
        }
        let late = &self.findings.late;
        let without = |set: &Set| set.iter().filter(|&place| !late.has(place)).collect();
        let looked_at = &seen.places;
        let seen = Seen { places: without(&seen.places), if_valid: without(&seen.if_valid) };
        let mut untouched = Vec::new();
        for place in late.iter().filter(|&place| looked_at.has(place)) {
            let (here, Some(Known::Const(number))) = (self.state.get(place), self.at_start.get(place)) else {
                unreachable!("a number was known here");
            };
            assert_eq!(here, Some(Known::Const(number)), "it is known in each round");
            untouched.push((place as Slot, number));
        }
        self.look_at(&Rc::new(seen));
        self.put(untouched);
        self.return_with(status);
    }

    fn return_with(&mut self, status: Known) {
        let status = match status {
            Known::Const(status) => self.ins.ins().iconst(ir::types::I32, status as i64),
            Known::Value(status) => self.ins.ins().ireduce(ir::types::I32, status),
        };
        self.ins.ins().set_pinned_reg(self.kept);
        self.ins.ins().return_(&[status]);
        self.ended = true;
    }

    /// Ends the construction with what it has shown in addition to what was known.
    pub fn finish(mut self, round: Round) -> Findings {
        let mut findings = self.findings.clone();
        match round {
            Round::Values => {
                self.find_values(&mut findings);
                findings.late = self.untouched.take().unwrap_or_default();
            }
            Round::Stores => {
                findings.dead = live(&self.order, &self.records, Looks::All).dead;
                findings.at_start = live(&self.order, &self.records, Looks::AtStart).at_start;
            }
            Round::Code => {}
        }
        self.ins.seal_all_blocks();
        self.ins.finalize();
        findings
    }

    /// Finds what loops change, and the values to hand over.
    fn find_values(&self, findings: &mut Findings) {
        let used = live(&self.order, &self.records, Looks::None).before;
        findings.changed = self.changed();
        for (key, record) in &self.records {
            let changed = findings.changed.get(key);
            let is_changed = |place: &&Place| changed.is_some_and(|changed| changed.handed_over.has(**place));
            let is_used = |place: &&Place| used.get(key).is_some_and(|used| used.has(**place));
            let places = record.differ.iter().chain(record.known.iter().filter(is_changed)).filter(is_used);
            let places: Vec<Place> = places.copied().collect();
            if !places.is_empty() {
                // A place that is handed over already is not loaded any more.
                let parameters = findings.parameters.entry(*key).or_default();
                parameters.extend(places);
                parameters.sort_unstable();
                parameters.dedup();
            }
        }
    }

    /// The places that each loop changes.
    fn changed(&self) -> FxHashMap<Key, Changed> {
        let mut before: FxHashMap<Key, Vec<Key>> = FxHashMap::default();
        for (key, record) in &self.records {
            record.next.iter().for_each(|next| before.entry(*next).or_default().push(*key));
        }
        let changed = |start: &Key| Some((*start, self.changed_in(*start, &before)?));
        self.loops.iter().filter_map(changed).collect()
    }

    /// The places that the loop that begins with a block changes, or all that may happen before that block where the loop has
    /// other entrances; `None` where that may be any.
    fn changed_in(&self, start: Key, before: &FxHashMap<Key, Vec<Key>>) -> Option<Changed> {
        let position = self.order.iter().position(|key| *key == start)?;
        let earlier: FxHashSet<Key> = self.order[..position].iter().copied().collect();
        let all_before = |keys: &mut dyn Iterator<Item = &Key>| {
            let mut within = FxHashSet::from_iter([start]);
            let mut pending: Vec<Key> = keys.copied().collect();
            while let Some(key) = pending.pop() {
                if within.insert(key) {
                    pending.extend(before.get(&key).into_iter().flatten());
                }
            }
            within
        };
        let entrances = before.get(&start)?;
        let mut within = all_before(&mut entrances.iter().filter(|key| !earlier.contains(key)));
        let has_other_entrances = within.iter().any(|key| earlier.contains(key));
        if has_other_entrances {
            within = all_before(&mut entrances.iter());
        }
        let mut changed = Changed { has_other_entrances, ..Changed::default() };
        let events = || within.iter().flat_map(|key| &self.records[key].events);
        for event in events() {
            if let Event::Store(place, _) = event {
                changed.all.add(*place);
                changed.handed_over.add(*place);
            }
        }
        for event in events() {
            match event {
                Event::ForgetAll => return None,
                Event::Forget(CURSOR) | Event::Written(CURSOR) => changed.all.add(CURSOR),
                Event::Forget(place) | Event::Written(place) => {
                    changed.all.add(*place);
                    changed.handed_over.remove(*place);
                }
                _ => {}
            }
        }
        if changed.all.has(CURSOR) {
            changed.handed_over.add(CURSOR);
        }
        Some(changed)
    }
}

/// Looks from elsewhere that count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looks {
    None,
    /// Those that may find what a store at the start of a pass has left.
    AtStart,
    All,
}

#[derive(Default)]
struct Alive {
    /// The places that are read from each block on before they are written.
    before: FxHashMap<Key, Set>,
    /// Those of the start of a pass that are.
    at_start: FxHashSet<Place>,
    /// The stores that are never read.
    dead: FxHashSet<(Key, u32)>,
}

fn live(order: &[Key], records: &FxHashMap<Key, Record>, looks: Looks) -> Alive {
    let mut alive = Alive::default();
    loop {
        let mut changed = false;
        alive.dead.clear();
        for key in order.iter().rev() {
            let record = &records[key];
            let mut set = Set::default();
            for next in &record.next {
                alive.before.get(next).into_iter().for_each(|next| set.join(next));
            }
            for event in record.events.iter().rev() {
                match event {
                    Event::Load(place) => set.add(*place),
                    Event::Look(place) if looks != Looks::None => set.add(*place),
                    Event::LookIfValid(place) if looks == Looks::All => set.add(*place),
                    Event::LookAt(seen) if looks != Looks::None => {
                        set.join(&seen.places);
                        if looks == Looks::All {
                            set.join(&seen.if_valid);
                        }
                    }
                    Event::Look(_) | Event::LookIfValid(_) | Event::LookAt(_) => {}
                    Event::Written(place) => _ = set.remove(*place),
                    Event::Forget(_) | Event::ForgetAll => {}
                    Event::Start(place) => {
                        if set.remove(*place) {
                            alive.at_start.insert(*place);
                        }
                    }
                    Event::Store(place, number) => {
                        if !set.remove(*place) {
                            alive.dead.insert((*key, *number));
                        }
                    }
                }
            }
            let known = alive.before.entry(*key).or_default();
            if *known != set {
                *known = set;
                changed = true;
            }
        }
        if !changed {
            return alive;
        }
    }
}
