//! Finds what a program may read of a packet before it writes it: at the start of a pass, and where egress begins.
//! Only that much has to be cleared for a packet, or to be brought back after others; the rest is never looked at.

use std::collections::{HashMap, VecDeque};

use crate::code::ir::{NextNodes, Op, Pc};
use crate::code::layout::{packet_slot, FieldRef, Layout, Slot};
use crate::code::program::{Code, DefaultAction, Filled, Live, LiveAfter, Liveness};
use crate::load::effects::{effects, Effects};
use crate::load::filled::filled;

/// Words of memory that the analysis may take; a program that needs more is taken to read everything.
const MAX_WORDS: usize = 1 << 22;

/// Slots, and behind them headers whose fields count while they are valid.
#[derive(Clone, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn add(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    fn remove(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }

    fn has(&self, bit: usize) -> bool {
        self.0[bit / 64] >> (bit % 64) & 1 != 0
    }

    /// Adds the members of another set; true if there were new ones.
    fn join(&mut self, other: &Set) -> bool {
        let mut grew = false;
        for (word, &more) in self.0.iter_mut().zip(&other.0) {
            grew |= more & !*word != 0;
            *word |= more;
        }
        grew
    }
}

/// The instructions of a program, their effects, and how they follow each other.
pub(super) struct Analysis<'p> {
    code: &'p Code,
    layout: &'p Layout,
    effects: Vec<Effects>,
    /// By header, of those in stacks that only extraction fills.
    pub filled: Vec<Option<Filled>>,
    /// By slot, the header whose field it holds.
    owners: Vec<Option<u16>>,
    /// By the slot that tells whether it is valid, each header.
    flags: HashMap<Slot, u16>,
    /// Actions that each table may run, and the nodes that follow.
    actions: Vec<Vec<usize>>,
    nodes: Vec<Vec<Pc>>,
    /// Entries of the actions with their numbers, ascending.
    entries: Vec<(Pc, usize)>,
}

/// The last element of a stack that only extraction fills has been extracted, whichever it is: what reads it reads nothing
/// of before.
fn leave_out_last_elements(code: &Code, layout: &Layout, filled: &[Option<Filled>], effects: &mut [Effects]) {
    let mut is_any_read = vec![false; layout.stacks.len()];
    for op in &code.ops {
        if let Op::StackElement { stack, .. } = *op {
            is_any_read[stack as usize] = true;
        }
    }
    let last_alone = layout.stacks.iter().zip(is_any_read).filter(|(_, is_any_read)| !is_any_read);
    let elements = last_alone.flat_map(|(stack, _)| &stack.headers);
    let elements = elements.filter(|&&element| filled[element as usize].is_some());
    let blocks: Vec<_> = elements.map(|&element| layout.block(element)).collect();
    for (op, effects) in code.ops.iter().zip(effects) {
        if matches!(*op, Op::LoadField { header, .. } if code.constant(header).is_none()) {
            effects.reads.retain(|(first, _)| !blocks.iter().any(|block| block.contains(first)));
        }
    }
}

impl<'p> Analysis<'p> {
    /// `None` where the program does what the analysis does not follow.
    pub fn new(code: &'p Code, layout: &'p Layout, defaults: &[DefaultAction]) -> Option<Analysis<'p>> {
        let words = (layout.slots + layout.headers.len()).div_ceil(64);
        if words * code.ops.len() > MAX_WORDS {
            return None;
        }
        let effects: Option<Vec<Effects>> = code.ops.iter().map(|op| effects(code, layout, op)).collect();
        let mut effects = effects?;
        let filled = filled(code, layout, &effects);
        leave_out_last_elements(code, layout, &filled, &mut effects);
        let flags = layout.headers.iter().filter(|place| !place.metadata).map(|place| place.base);
        let mut is_flag = vec![false; layout.slots];
        flags.for_each(|flag| is_flag[flag as usize] = true);
        let sets_flag = |&(first, count): &(Slot, usize)| {
            (first as usize..first as usize + count).any(|slot| is_flag.get(slot) == Some(&true))
        };
        // The fields of a header that becomes valid in such a way are those that it had before.
        if effects.iter().any(|it| it.writes.iter().chain(&it.may_write).any(sets_flag)) {
            return None;
        }
        if code.field_lists.values().flatten().any(|field| sets_flag(&(field.slot, field.limbs()))) {
            return None;
        }
        let mut owners = vec![None; layout.slots];
        let mut flags = HashMap::new();
        for header in (0..layout.headers.len() as u16).filter(|&it| !layout.headers[it as usize].metadata) {
            flags.insert(layout.headers[header as usize].base, header);
            layout.block(header).skip(1).for_each(|slot| owners[slot as usize] = Some(header));
        }
        let mut actions = Vec::new();
        let mut nodes = Vec::new();
        for (plan, default) in code.tables.iter().zip(defaults) {
            let mut of_table = plan.actions.clone();
            of_table.extend(default.iter().map(|&(action, _)| action));
            if let Some(profile) = plan.profile {
                of_table.extend(&code.profiles[profile as usize].actions);
            }
            of_table.sort_unstable();
            of_table.dedup();
            actions.push(of_table);
            let mut next = vec![plan.miss];
            match &plan.next {
                NextNodes::HitMiss { hit, miss } => next.extend([hit, miss]),
                NextNodes::ByAction(all) => next.extend(all),
            }
            nodes.push(next);
        }
        let mut entries: Vec<_> =
            code.actions.iter().enumerate().map(|(action, it)| (it.entry, action)).collect();
        entries.sort_unstable();
        Some(Analysis { code, layout, effects, filled, owners, flags, actions, nodes, entries })
    }

    /// `None` where the program does what the analysis does not follow; then everything counts as read.
    pub fn liveness(&self) -> Option<Liveness> {
        // Reads of the target itself, at any time.
        let mut target = self.empty();
        for slot in 0..packet_slot::COUNT {
            target.add(slot as usize);
        }
        let lists =
            self.code.field_lists.values().chain(self.code.digests.iter().map(|digest| &digest.fields));
        for field in lists.flatten().copied().chain(self.code.intrinsics.fields()) {
            self.add_field(&mut target, field);
        }
        let mut after_deparser = target.clone();
        for &header in &self.code.deparse_order {
            match self.filled[header as usize] {
                Some(Filled { next, .. }) => {
                    after_deparser.add(next as usize);
                    after_deparser.add(self.layout.slots + header as usize);
                }
                None => self.add_contents(&mut after_deparser, header),
            }
        }
        let deparser = self.before(self.code.deparser_entry, &after_deparser)?;
        // A clone goes to egress as the egress of its original leaves it.
        let mut egress = self.empty();
        let mut after_egress = target.clone();
        after_egress.join(&deparser);
        loop {
            let mut after = after_egress.clone();
            after.join(&egress);
            let before = self.before(self.code.egress_entry, &after)?;
            if !egress.join(&before) {
                break;
            }
        }
        after_egress.join(&egress);
        let mut after_ingress = target.clone();
        after_ingress.join(&egress);
        let ingress = self.before(self.code.ingress_entry, &after_ingress)?;
        // A clone goes from the parser to egress.
        let mut after_parser = after_ingress.clone();
        after_parser.join(&ingress);
        let start = self.before(self.code.parser_entry, &after_parser)?;
        let written = self.written(&[self.code.egress_entry, self.code.deparser_entry])?;
        let ends = LiveAfter {
            ingress: self.live(&after_ingress),
            egress: self.live(&after_egress),
            deparser: self.live(&after_deparser),
            target: self.live(&target),
        };
        Some(Liveness { start: self.live(&start), egress: self.live(&egress), written, ends })
    }

    /// Slots that some parts of the program may write, and the packet registers; `None` for a part that extracts.
    fn written(&self, entries: &[Pc]) -> Option<Vec<Slot>> {
        let mut written = self.empty();
        self.add_slots(&mut written, 0, packet_slot::COUNT as usize);
        for &entry in entries {
            for pc in self.part(entry)?.0 {
                let effects = &self.effects[pc as usize];
                if effects.extracts.is_some() {
                    return None;
                }
                for &(first, count) in effects.writes.iter().chain(&effects.may_write) {
                    self.add_slots(&mut written, first as usize, count);
                }
                if let Op::AddHeader { header: operand }
                | Op::RemoveHeader { header: operand }
                | Op::AssignHeader { dst: operand, .. } = self.code.ops[pc as usize]
                {
                    let block = self.layout.block(self.code.constant(operand)? as u16);
                    self.add_slots(&mut written, block.start as usize, block.len());
                }
            }
        }
        Some(self.live(&written).slots)
    }

    fn empty(&self) -> Set {
        Set(vec![0; (self.layout.slots + self.layout.headers.len()).div_ceil(64)])
    }

    fn add_slots(&self, set: &mut Set, first: usize, count: usize) {
        (first..(first + count).min(self.layout.slots)).for_each(|slot| set.add(slot));
    }

    fn add_field(&self, set: &mut Set, field: FieldRef) {
        let variable = usize::from(field.variable);
        self.add_slots(set, field.slot as usize - variable, field.limbs() + variable);
    }

    /// Adds a header whose fields are read if it is valid.
    fn add_contents(&self, set: &mut Set, header: u16) {
        let place = &self.layout.headers[header as usize];
        if place.metadata {
            self.add_slots(set, place.base as usize, self.layout.shape_of(header).slots as usize);
        } else {
            set.add(place.base as usize);
            set.add(self.layout.slots + header as usize);
        }
    }

    /// Next instructions within the code, those after an action's end excepted.
    fn successors(&self, pc: Pc) -> Vec<Pc> {
        let mut next = Vec::new();
        let mut falls_through = true;
        match self.code.ops[pc as usize] {
            Op::Halt | Op::Return => falls_through = false,
            Op::Jump { to } => {
                next.push(to);
                falls_through = false;
            }
            Op::ParserError { .. } => {
                next.push(self.code.parser_end);
                falls_through = false;
            }
            Op::Extract { .. } | Op::ExtractNext { .. } | Op::Advance { .. } | Op::Lookahead { .. } => {
                next.push(self.code.parser_end);
            }
            Op::Select { select } => {
                next.extend(self.code.selects[select as usize].targets());
                falls_through = false;
            }
            Op::Table { table } => {
                let table = table as usize;
                next.extend(self.actions[table].iter().map(|&action| self.code.actions[action].entry));
                next.extend(&self.nodes[table]);
                falls_through = false;
            }
            mut op => op.map_target(|to| {
                next.push(to);
                to
            }),
        }
        if falls_through {
            next.push(pc + 1);
        }
        next
    }

    /// The action whose end an instruction is.
    fn action_of(&self, end: Pc) -> Option<usize> {
        let place = self.entries.partition_point(|&(entry, _)| entry <= end).checked_sub(1)?;
        Some(self.entries[place].1)
    }

    /// The instructions of the part of the program that begins at `entry`, last first, and those that follow each.
    pub fn part(&self, entry: Pc) -> Option<(Vec<Pc>, Vec<Vec<Pc>>)> {
        let ops = &self.code.ops;
        let mut next: Vec<Vec<Pc>> = vec![Vec::new(); ops.len()];
        let mut order = Vec::new();
        let mut reached = vec![false; ops.len()];
        let mut returns: Vec<Vec<Pc>> = vec![Vec::new(); self.code.actions.len()];
        let mut pending = vec![entry];
        while let Some(pc) = pending.pop() {
            let at = pc as usize;
            if at >= ops.len() || std::mem::replace(&mut reached[at], true) {
                continue;
            }
            order.push(pc);
            next[at] = self.successors(pc);
            pending.extend(&next[at]);
            if let Op::Table { table } = ops[at] {
                for &action in &self.actions[table as usize] {
                    returns[action].extend(&self.nodes[table as usize]);
                }
            }
        }
        for &pc in order.iter().filter(|&&pc| ops[pc as usize] == Op::Return) {
            next[pc as usize].clone_from(&returns[self.action_of(pc)?]);
        }
        order.sort_unstable_by(|a, b| b.cmp(a));
        Some((order, next))
    }

    /// Everything that is read from `entry` on, if `after` is read after the end of that part of the program.
    fn before(&self, entry: Pc, after: &Set) -> Option<Set> {
        let (order, next) = self.part(entry)?;
        let count = self.code.ops.len();
        let mut previous: Vec<Vec<Pc>> = vec![Vec::new(); count];
        for &pc in &order {
            for &to in next[pc as usize].iter().filter(|&&to| (to as usize) < count) {
                previous[to as usize].push(pc);
            }
        }
        let mut live: Vec<Option<Set>> = vec![None; count];
        let mut waits = vec![false; count];
        order.iter().for_each(|&pc| waits[pc as usize] = true);
        let mut pending = VecDeque::from(order);
        while let Some(pc) = pending.pop_front() {
            waits[pc as usize] = false;
            let set = self.through(pc, after, &next[pc as usize], &live);
            let grew = match &mut live[pc as usize] {
                Some(known) => known.join(&set),
                place => {
                    *place = Some(set);
                    true
                }
            };
            for &before in previous[pc as usize].iter().filter(|_| grew) {
                if !std::mem::replace(&mut waits[before as usize], true) {
                    pending.push_back(before);
                }
            }
        }
        Some(live.get_mut(entry as usize).and_then(Option::take).unwrap_or_else(|| after.clone()))
    }

    /// Everything that is read from an instruction on, as far as it is known what is read from the `next` ones on.
    fn through(&self, pc: Pc, after: &Set, next: &[Pc], live: &[Option<Set>]) -> Set {
        let mut set = self.empty();
        let join = |set: &mut Set, to: Pc| match live.get(to as usize) {
            Some(known) => known.iter().for_each(|known| _ = set.join(known)),
            None => _ = set.join(after),
        };
        if matches!(self.code.ops[pc as usize], Op::Halt | Op::HaltIfExit | Op::Return) {
            set.join(after);
        }
        let effects = &self.effects[pc as usize];
        let slots = self.layout.slots;
        if let Some(header) = effects.extracts {
            join(&mut set, pc + 1);
            let first = self.layout.headers[header as usize].base as usize;
            let count = self.layout.shape_of(header).slots as usize;
            (first..first + count).for_each(|slot| set.remove(slot));
            set.remove(slots + header as usize);
            join(&mut set, self.code.parser_end);
        } else if let Some((header, if_valid, otherwise)) = self.asks_whether_valid(pc) {
            // Fields that are read where it is valid count only then: a header that becomes valid later has new ones.
            join(&mut set, if_valid);
            for slot in self.layout.block(header).skip(1).map(usize::from) {
                if set.has(slot) {
                    set.remove(slot);
                    set.add(slots + header as usize);
                }
            }
            join(&mut set, otherwise);
        } else {
            next.iter().for_each(|&to| join(&mut set, to));
        }
        let changed = self.changed(pc);
        // A field that nobody reads may have any value.
        let is_wanted = |header: &u16| set.has(slots + *header as usize);
        let is_read = |dst: Slot| set.has(dst as usize);
        let (reads_nothing, of_itself) = match changed {
            Some((dst, header)) if !is_read(dst) => (!is_wanted(&header), Some(self.layout.block(header))),
            _ => (false, None),
        };
        for &(first, count) in &effects.writes {
            let end = (first as usize + count).min(slots);
            (first as usize..end).for_each(|slot| set.remove(slot));
        }
        effects.ends.iter().for_each(|&header| set.remove(slots + header as usize));
        if reads_nothing {
            return set;
        }
        for &(first, count) in &effects.reads {
            // Fields of the same header matter while it is valid, as the field that is written does.
            if !of_itself.as_ref().is_some_and(|block| block.contains(&first)) {
                self.add_slots(&mut set, first as usize, count);
            }
        }
        effects.contents.iter().for_each(|&header| self.add_contents(&mut set, header));
        set
    }

    /// The header whose validity decides which instruction follows, the one that follows where it is valid, and the other.
    fn asks_whether_valid(&self, pc: Pc) -> Option<(u16, Pc, Pc)> {
        let (flag, if_valid, otherwise) = match self.code.ops[pc as usize] {
            Op::BranchZero { a, to } => (a, pc + 1, to),
            Op::BranchNotZero { a, to } => (a, to, pc + 1),
            _ => return None,
        };
        self.flags.get(&flag).map(|&header| (header, if_valid, otherwise))
    }

    /// The field of a header that an instruction does nothing but write, with that header.
    fn changed(&self, pc: Pc) -> Option<(Slot, u16)> {
        let (Op::Move { dst, .. }
        | Op::Add { dst, .. }
        | Op::Sub { dst, .. }
        | Op::And { dst, .. }
        | Op::Or { dst, .. }
        | Op::Xor { dst, .. }
        | Op::AndMask { dst, .. }) = self.code.ops[pc as usize]
        else {
            return None;
        };
        let header = *self.owners.get(dst as usize)?;
        header.map(|header| (dst, header))
    }

    fn live(&self, set: &Set) -> Live {
        let slots = self.layout.slots;
        Live {
            slots: (0..slots).filter(|&slot| set.has(slot)).map(|slot| slot as Slot).collect(),
            contents: (0..self.layout.headers.len())
                .filter(|&header| set.has(slots + header))
                .map(|header| header as u16)
                .collect(),
        }
    }
}
