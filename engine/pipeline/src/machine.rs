//! Executes compiled code over the slots of one packet and the state of a switch.

use crate::control::CounterCell;
use crate::hash::{self, BitWriter};
use crate::info::MeterUnit;
use crate::ir::{HashInput, Op, Pc, Select, SelectCase};
use crate::layout::{packet_slot, Layout, Slot, UnionPlace};
use crate::meter::MeterCell;
use crate::profile::ProfileState;
use crate::program::Program;
use crate::rng::Rng;
use crate::table::{next_of, TableState, Target};
use crate::value_set::ValueSetState;
use crate::wire::{self, Regs};
use crate::words;

/// Repetitions of parser states and action loops that one pass may make.
const LOOP_LIMIT: u32 = 70_000;

pub(crate) struct RegisterState {
    /// Cell by cell, `limbs` words each.
    pub cells: Vec<u64>,
    pub limbs: usize,
}

pub(crate) struct MeterState {
    pub cells: Vec<MeterCell>,
    pub unit: MeterUnit,
}

/// Everything that outlives a packet.
pub(crate) struct State {
    pub regs: Box<Regs>,
    pub registers: Vec<RegisterState>,
    pub counters: Vec<Vec<CounterCell>>,
    pub meters: Vec<MeterState>,
    pub tables: Vec<TableState>,
    pub profiles: Vec<ProfileState>,
    pub value_sets: Vec<ValueSetState>,
    pub rng: Rng,
    /// Reused for hash inputs and wide keys.
    pub scratch: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The loop limit was reached.
    Runaway,
}

/// Bytes that the code works on.
pub(crate) struct Wire<'f> {
    pub frame: &'f [u8],
    /// Next byte that the parser reads; afterwards the start of the payload.
    pub cursor: usize,
}

struct Machine<'m> {
    program: &'m Program,
    state: &'m mut State,
    now_ps: u64,
}

/// Runs from `entry` to the end of that part of the program.
pub(crate) fn run(
    program: &Program,
    state: &mut State,
    wire: &mut Wire,
    entry: Pc,
    now_ps: u64,
) -> Outcome {
    Machine {
        program,
        state,
        now_ps,
    }
    .run(wire, entry)
}

macro_rules! binary {
    ($regs:ident, $dst:ident, $value:expr) => {
        $regs[$dst as usize] = $value
    };
}

impl Machine<'_> {
    fn run(&mut self, wire: &mut Wire, entry: Pc) -> Outcome {
        let code = &self.program.code;
        let ops = &code.ops[..];
        let layout = &self.program.layout;
        let mut pc = entry as usize;
        let mut return_to = 0;
        let mut loops = 0;
        let mut variable_bits = 0u64;
        loop {
            let Some(op) = ops.get(pc) else {
                return Outcome::Done;
            };
            pc += 1;
            let regs = &mut *self.state.regs;
            match *op {
                Op::Halt => return Outcome::Done,
                Op::Return => {
                    if regs[packet_slot::EXIT as usize] != 0 {
                        return Outcome::Done;
                    }
                    pc = return_to;
                }
                Op::HaltIfExit => {
                    if regs[packet_slot::EXIT as usize] != 0 {
                        return Outcome::Done;
                    }
                }
                Op::Jump { to } => pc = to as usize,
                Op::Guard => {
                    loops += 1;
                    if loops > LOOP_LIMIT {
                        return Outcome::Runaway;
                    }
                }
                Op::BranchZero { a, to } => {
                    if regs[a as usize] == 0 {
                        pc = to as usize;
                    }
                }
                Op::BranchNotZero { a, to } => {
                    if regs[a as usize] != 0 {
                        pc = to as usize;
                    }
                }
                Op::BranchEq { a, b, to } => {
                    if regs[a as usize] == regs[b as usize] {
                        pc = to as usize;
                    }
                }
                Op::BranchNe { a, b, to } => {
                    if regs[a as usize] != regs[b as usize] {
                        pc = to as usize;
                    }
                }
                Op::BranchLessU { a, b, to } => {
                    if regs[a as usize] < regs[b as usize] {
                        pc = to as usize;
                    }
                }
                Op::BranchNotLessU { a, b, to } => {
                    if regs[a as usize] >= regs[b as usize] {
                        pc = to as usize;
                    }
                }
                Op::BranchLessS { a, b, to } => {
                    if (regs[a as usize] as i64) < regs[b as usize] as i64 {
                        pc = to as usize;
                    }
                }
                Op::BranchNotLessS { a, b, to } => {
                    if regs[a as usize] as i64 >= regs[b as usize] as i64 {
                        pc = to as usize;
                    }
                }
                Op::Move { dst, a } => binary!(regs, dst, regs[a as usize]),
                Op::MoveMany { dst, a, count } => {
                    let (dst, a) = (dst as usize, a as usize);
                    regs.copy_within(a..a + count as usize, dst);
                }
                Op::Add { dst, a, b, mask } => {
                    binary!(
                        regs,
                        dst,
                        regs[a as usize].wrapping_add(regs[b as usize]) & mask
                    )
                }
                Op::Sub { dst, a, b, mask } => {
                    binary!(
                        regs,
                        dst,
                        regs[a as usize].wrapping_sub(regs[b as usize]) & mask
                    )
                }
                Op::Mul { dst, a, b, mask } => {
                    binary!(
                        regs,
                        dst,
                        regs[a as usize].wrapping_mul(regs[b as usize]) & mask
                    )
                }
                Op::And { dst, a, b } => binary!(regs, dst, regs[a as usize] & regs[b as usize]),
                Op::AndMask { dst, a, mask } => binary!(regs, dst, regs[a as usize] & mask),
                Op::Or { dst, a, b, mask } => {
                    binary!(regs, dst, (regs[a as usize] | regs[b as usize]) & mask)
                }
                Op::Xor { dst, a, b, mask } => {
                    binary!(regs, dst, (regs[a as usize] ^ regs[b as usize]) & mask)
                }
                Op::Not { dst, a, mask } => binary!(regs, dst, !regs[a as usize] & mask),
                Op::ShiftLeft { dst, a, b, mask } => {
                    let amount = regs[b as usize];
                    let value = if amount < 64 {
                        regs[a as usize] << amount
                    } else {
                        0
                    };
                    binary!(regs, dst, value & mask)
                }
                Op::ShiftRightU { dst, a, b } => {
                    let amount = regs[b as usize];
                    binary!(
                        regs,
                        dst,
                        if amount < 64 {
                            regs[a as usize] >> amount
                        } else {
                            0
                        }
                    )
                }
                Op::ShiftRightS { dst, a, b } => {
                    let amount = regs[b as usize].min(63);
                    binary!(regs, dst, (regs[a as usize] as i64 >> amount) as u64)
                }
                Op::Slice {
                    dst,
                    a,
                    right,
                    mask,
                } => {
                    binary!(regs, dst, regs[a as usize] >> (right & 63) & mask)
                }
                Op::DivU { dst, a, b } => {
                    binary!(
                        regs,
                        dst,
                        regs[a as usize].checked_div(regs[b as usize]).unwrap_or(0)
                    )
                }
                Op::ModU { dst, a, b } => {
                    binary!(
                        regs,
                        dst,
                        regs[a as usize].checked_rem(regs[b as usize]).unwrap_or(0)
                    )
                }
                Op::SignExtend { dst, a, bits } => {
                    binary!(
                        regs,
                        dst,
                        words::sign_extend(regs[a as usize], u32::from(bits))
                    )
                }
                Op::Eq { dst, a, b } => {
                    binary!(regs, dst, u64::from(regs[a as usize] == regs[b as usize]))
                }
                Op::Ne { dst, a, b } => {
                    binary!(regs, dst, u64::from(regs[a as usize] != regs[b as usize]))
                }
                Op::LessU { dst, a, b } => {
                    binary!(regs, dst, u64::from(regs[a as usize] < regs[b as usize]))
                }
                Op::LessS { dst, a, b } => {
                    binary!(
                        regs,
                        dst,
                        u64::from((regs[a as usize] as i64) < regs[b as usize] as i64)
                    )
                }
                Op::IsZero { dst, a } => binary!(regs, dst, u64::from(regs[a as usize] == 0)),
                Op::MinS { dst, a, b } => {
                    binary!(
                        regs,
                        dst,
                        (regs[a as usize] as i64).min(regs[b as usize] as i64) as u64
                    )
                }
                Op::MaxS { dst, a, b } => {
                    binary!(
                        regs,
                        dst,
                        (regs[a as usize] as i64).max(regs[b as usize] as i64) as u64
                    )
                }
                Op::MinU { dst, a, b } => {
                    binary!(regs, dst, regs[a as usize].min(regs[b as usize]))
                }

                Op::Extract { header } => {
                    if let Err(code) = extract(self.program, regs, wire, header, variable_bits) {
                        regs[packet_slot::PARSER_ERROR as usize] = code;
                        pc = code_end(self.program);
                    }
                }
                Op::ExtractNext { stack } => {
                    let place = &layout.stacks[stack as usize];
                    let next = regs[place.next as usize];
                    let result = match place.headers.get(next as usize) {
                        None => Err(code.errors.stack_out_of_bounds),
                        Some(&header) => extract(self.program, regs, wire, header, variable_bits),
                    };
                    match result {
                        Ok(()) => regs[place.next as usize] = next + 1,
                        Err(code) => {
                            regs[packet_slot::PARSER_ERROR as usize] = code;
                            pc = code_end(self.program);
                        }
                    }
                }
                Op::ExtractUnionNext { stack, member } => {
                    let place = &layout.union_stacks[stack as usize];
                    let next = regs[place.next as usize];
                    let result = match place.unions.get(next as usize) {
                        None => Err(code.errors.stack_out_of_bounds),
                        Some(&union) => {
                            let header = layout.unions[union as usize].headers[member as usize];
                            extract(self.program, regs, wire, header, variable_bits)
                        }
                    };
                    match result {
                        Ok(()) => regs[place.next as usize] = next + 1,
                        Err(code) => {
                            regs[packet_slot::PARSER_ERROR as usize] = code;
                            pc = code_end(self.program);
                        }
                    }
                }
                Op::VariableBits { a } => variable_bits = regs[a as usize],
                Op::Lookahead {
                    dst,
                    offset,
                    bits,
                    check,
                    signed,
                } => {
                    let available = wire.frame.len() - wire.cursor.min(wire.frame.len());
                    if check && available < usize::from(bits).div_ceil(8) {
                        regs[packet_slot::PARSER_ERROR as usize] = code.errors.packet_too_short;
                        pc = code_end(self.program);
                        continue;
                    }
                    let first = wire.cursor * 8 + offset as usize;
                    let limbs = words::limbs_for(u32::from(bits)).max(1);
                    let dst = dst as usize;
                    wire::read_wide(
                        &mut regs[dst..dst + limbs],
                        wire.frame,
                        first,
                        u32::from(bits),
                        signed,
                    );
                }
                Op::Advance { bits } => {
                    let bits = regs[bits as usize];
                    let available = (wire.frame.len() - wire.cursor) as u64;
                    let error = if bits % 8 != 0 {
                        Some(code.errors.parser_invalid_argument)
                    } else if available < bits / 8 {
                        Some(code.errors.packet_too_short)
                    } else {
                        None
                    };
                    match error {
                        None => wire.cursor += (bits / 8) as usize,
                        Some(error) => {
                            regs[packet_slot::PARSER_ERROR as usize] = error;
                            pc = code_end(self.program);
                        }
                    }
                }
                Op::ParserError { a } => {
                    regs[packet_slot::PARSER_ERROR as usize] = regs[a as usize];
                    pc = code_end(self.program);
                }
                Op::Select { select } => pc = self.select(&code.selects[select as usize]) as usize,

                Op::Table { table } => {
                    let (entry, next) = self.apply(table);
                    return_to = next as usize;
                    pc = entry as usize;
                }
                Op::RegisterRead {
                    dst,
                    register,
                    index,
                } => {
                    let array = &self.state.registers[register as usize];
                    let index = regs[index as usize];
                    if array.limbs == 1 {
                        if let Some(&value) =
                            usize::try_from(index).ok().and_then(|i| array.cells.get(i))
                        {
                            regs[dst as usize] = value;
                        }
                    } else {
                        let from = usize::try_from(index)
                            .unwrap_or(usize::MAX)
                            .saturating_mul(array.limbs);
                        if let Some(cell) = array.cells.get(from..from.saturating_add(array.limbs))
                        {
                            regs[dst as usize..dst as usize + array.limbs].copy_from_slice(cell);
                        }
                    }
                }
                Op::RegisterWrite {
                    register,
                    index,
                    src,
                } => {
                    let array = &mut self.state.registers[register as usize];
                    let index = usize::try_from(regs[index as usize]).unwrap_or(usize::MAX);
                    if array.limbs == 1 {
                        if let Some(cell) = array.cells.get_mut(index) {
                            *cell = regs[src as usize];
                        }
                    } else {
                        let from = index.saturating_mul(array.limbs);
                        if let Some(cell) =
                            array.cells.get_mut(from..from.saturating_add(array.limbs))
                        {
                            cell.copy_from_slice(&regs[src as usize..src as usize + array.limbs]);
                        }
                    }
                }
                Op::Count { counter, index } => {
                    let index = usize::try_from(regs[index as usize]).unwrap_or(usize::MAX);
                    let bytes = regs[packet_slot::INGRESS_LENGTH as usize];
                    if let Some(cell) = self.state.counters[counter as usize].get_mut(index) {
                        cell.packets += 1;
                        cell.bytes += bytes;
                    }
                }
                Op::Meter { dst, meter, index } => {
                    let index = usize::try_from(regs[index as usize]).unwrap_or(usize::MAX);
                    let meter = &mut self.state.meters[meter as usize];
                    let amount = match meter.unit {
                        MeterUnit::Packets => 1,
                        MeterUnit::Bytes => regs[packet_slot::INGRESS_LENGTH as usize],
                    };
                    if let Some(cell) = meter.cells.get_mut(index) {
                        regs[dst as usize] = cell.execute(amount, self.now_ps);
                    }
                }
                Op::Random { dst, a, b } => {
                    let (low, high) = (regs[a as usize], regs[b as usize]);
                    if low <= high {
                        regs[dst as usize] = self.state.rng.uniform(low, high);
                    }
                }
                Op::Hash { dst, calculation } => {
                    let plan = &code.calculations[calculation as usize];
                    let State {
                        regs, scratch, rng, ..
                    } = &mut *self.state;
                    hash_input(
                        layout,
                        &plan.input,
                        regs,
                        &wire.frame[wire.cursor..],
                        scratch,
                    );
                    regs[dst as usize] = hash::hash(plan.algorithm, scratch, rng);
                }
                Op::Truncate { a } => {
                    let limit = regs[a as usize].saturating_add(1);
                    let old = &mut regs[packet_slot::TRUNCATE as usize];
                    *old = if *old == 0 { limit } else { limit.min(*old) };
                }
                ref other => {
                    if !wide(other, regs) {
                        header_op(layout, other, regs);
                    }
                }
            }
        }
    }

    fn select(&mut self, select: &Select) -> Pc {
        let regs = &*self.state.regs;
        if let Some(cases) = &select.narrow {
            let mut key = 0u64;
            for part in &select.parts {
                let bytes = part.bits.div_ceil(8);
                let value = regs[part.slot as usize] & words::mask64(part.bits);
                key = if bytes == 8 {
                    value
                } else {
                    key << (8 * bytes) | value
                };
            }
            for &(mask, value, to) in cases {
                if key & mask == value {
                    return to;
                }
            }
            return select.default;
        }
        let key = &mut self.state.scratch;
        key.clear();
        for part in &select.parts {
            let slot = part.slot as usize;
            let padding = part.bits.div_ceil(8) * 8 - part.bits;
            let mut writer = BitWriter::new(key);
            writer.word(0, padding);
            writer.wide(
                &regs[slot..slot + words::limbs_for(part.bits).max(1)],
                part.bits,
            );
        }
        for case in &select.cases {
            match case {
                SelectCase::Value {
                    value,
                    mask: None,
                    to,
                } if value == key => return *to,
                SelectCase::Value {
                    value,
                    mask: Some(mask),
                    to,
                } => {
                    if key
                        .iter()
                        .zip(mask)
                        .zip(value)
                        .all(|((key, mask), value)| key & mask == value & mask)
                    {
                        return *to;
                    }
                }
                SelectCase::ValueSet { set, mask, to } => {
                    if self.state.value_sets[*set as usize].contains(key, mask.as_deref()) {
                        return *to;
                    }
                }
                SelectCase::Value { .. } => {}
            }
        }
        select.default
    }

    /// Looks up a table and prepares its action; gives where to go and where that returns to.
    fn apply(&mut self, index: u16) -> (Pc, Pc) {
        let code = &self.program.code;
        let plan = &code.tables[index as usize];
        let State {
            regs,
            tables,
            profiles,
            meters,
            rng,
            scratch,
            ..
        } = &mut *self.state;
        let table = &mut tables[index as usize];
        let hit = table.lookup(regs);
        let target = match hit {
            Some(id) => {
                let id = id as usize;
                if plan.timeout {
                    table.last_hit_ps[id] = self.now_ps;
                }
                let bytes = regs[packet_slot::INGRESS_LENGTH as usize];
                if plan.counted {
                    if let Some(cell) = table.counters.get_mut(id) {
                        cell.packets += 1;
                        cell.bytes += bytes;
                    }
                }
                if let Some((meter, field)) = plan.meter {
                    let amount = match meters[meter as usize].unit {
                        MeterUnit::Packets => 1,
                        MeterUnit::Bytes => bytes,
                    };
                    if let Some(cell) = table.meters.get_mut(id) {
                        let colour = cell.execute(amount, self.now_ps);
                        regs[field.slot as usize] = colour & words::mask64(field.bits.min(64));
                    }
                }
                &table.targets[id]
            }
            None => match &table.default {
                Some(target) => target,
                None => return (plan.miss, plan.miss),
            },
        };
        let base = code.param_base as usize;
        let member = match target {
            Target::Direct(binding) => {
                regs[base..base + binding.words.len()].copy_from_slice(&binding.words);
                return (binding.entry, binding.next);
            }
            Target::Member(member) => Some(*member),
            Target::Group(group) => {
                let profile = plan.profile.unwrap_or(0) as usize;
                match &code.profiles[profile].selector {
                    Some((algorithm, input)) => {
                        hash_input(&self.program.layout, input, regs, &[], scratch);
                        let hash = hash::hash(*algorithm, scratch, rng);
                        profiles[profile].choose(*group, hash)
                    }
                    None => None,
                }
            }
        };
        let profile = plan.profile.unwrap_or(0) as usize;
        match member.and_then(|member| profiles[profile].member(member)) {
            Some(binding) => {
                regs[base..base + binding.words.len()].copy_from_slice(&binding.words);
                let next = next_of(plan, binding.action, hit.is_some());
                (code.actions[binding.action].entry, next)
            }
            // An empty group: no action.
            None => (plan.miss, plan.miss),
        }
    }
}

fn code_end(program: &Program) -> usize {
    program.code.parser_end as usize
}

/// Extracts one header; the error is a parser error code.
fn extract(
    program: &Program,
    regs: &mut Regs,
    wire: &mut Wire,
    header: u16,
    variable_bits: u64,
) -> Result<(), u64> {
    let layout = &program.layout;
    let errors = &program.code.errors;
    let place = &layout.headers[header as usize];
    let shape = &layout.shapes[place.shape];
    let available = wire.frame.len() - wire.cursor;
    let mut bytes = shape.fixed_bytes();
    match shape.variable {
        None => {
            if available < bytes {
                return Err(errors.packet_too_short);
            }
            wire::extract(shape, place.base, regs, wire.frame, wire.cursor);
        }
        Some(index) => {
            if variable_bits % 8 != 0 {
                return Err(errors.parser_invalid_argument);
            }
            let wanted = bytes as u64 + variable_bits / 8;
            if (available as u64) < wanted {
                return Err(errors.packet_too_short);
            }
            let greatest = u64::from(shape.fields[index].bits);
            if variable_bits > greatest
                || shape.max_bytes != 0 && wanted > u64::from(shape.max_bytes)
            {
                return Err(errors.header_too_short);
            }
            bytes = wanted as usize;
            wire::extract_variable(
                shape,
                place.base,
                regs,
                wire.frame,
                wire.cursor,
                variable_bits as u32,
            );
        }
    }
    wire.cursor += bytes;
    set_valid(layout, regs, header);
    Ok(())
}

/// Makes a header valid; the other members of its union become invalid.
fn set_valid(layout: &Layout, regs: &mut Regs, header: u16) {
    let place = &layout.headers[header as usize];
    if let Some(union) = place.union {
        for &other in &layout.unions[union].headers {
            regs[layout.headers[other as usize].base as usize] = 0;
        }
    }
    regs[place.base as usize] = 1;
}

fn assign_header(layout: &Layout, regs: &mut Regs, dst: u16, src: u16) {
    let (to, from) = (&layout.headers[dst as usize], &layout.headers[src as usize]);
    if regs[from.base as usize] == 0 {
        if !to.metadata {
            regs[to.base as usize] = 0;
        }
        return;
    }
    if to.shape != from.shape || dst == src {
        return;
    }
    let slots = layout.shapes[to.shape].slots as usize;
    let from = from.base as usize;
    regs.copy_within(from + 1..from + slots, to.base as usize + 1);
    set_valid(layout, regs, dst);
}

/// Instructions on headers, stacks and unions. Ids out of range do nothing and read 0.
fn header_op(layout: &Layout, op: &Op, regs: &mut Regs) {
    let header_id = |regs: &Regs, slot: Slot| -> Option<u16> {
        let id = regs[slot as usize];
        (id < layout.headers.len() as u64).then_some(id as u16)
    };
    let union_at = |regs: &Regs, slot: Slot| -> Option<&UnionPlace> {
        layout
            .unions
            .get(usize::try_from(regs[slot as usize]).ok()?)
    };
    let base_of = |header: u16| layout.headers[header as usize].base as usize;
    match *op {
        Op::AddHeader { header } => {
            let Some(header) = header_id(regs, header) else {
                return;
            };
            let base = base_of(header);
            if regs[base] == 0 {
                let shape = layout.shape_of(header);
                regs[base + 1..base + shape.slots as usize].fill(0);
                set_valid(layout, regs, header);
                regs[packet_slot::LENGTH as usize] =
                    regs[packet_slot::LENGTH as usize].wrapping_add(shape.fixed_bytes() as u64);
            }
        }
        Op::RemoveHeader { header } => {
            let Some(header) = header_id(regs, header) else {
                return;
            };
            let place = &layout.headers[header as usize];
            if regs[place.base as usize] != 0 && !place.metadata {
                let bytes = wire::header_bytes(layout.shape_of(header), place.base, regs) as u64;
                regs[packet_slot::LENGTH as usize] =
                    regs[packet_slot::LENGTH as usize].wrapping_sub(bytes);
                regs[place.base as usize] = 0;
            }
        }
        Op::AssignHeader { dst, src } => {
            if let (Some(dst), Some(src)) = (header_id(regs, dst), header_id(regs, src)) {
                assign_header(layout, regs, dst, src);
            }
        }
        Op::HeaderValid { dst, header } => {
            regs[dst as usize] = header_id(regs, header).map_or(0, |header| regs[base_of(header)]);
        }
        Op::HeaderEq { dst, a, b } => {
            regs[dst as usize] = match (header_id(regs, a), header_id(regs, b)) {
                (Some(a), Some(b)) => u64::from(headers_equal(layout, regs, a, b)),
                _ => 0,
            };
        }
        Op::UnionValid { dst, union } => {
            let valid = union_at(regs, union).is_some_and(|union| {
                union
                    .headers
                    .iter()
                    .any(|&header| regs[base_of(header)] != 0)
            });
            regs[dst as usize] = u64::from(valid);
        }
        Op::UnionEq { dst, a, b } => {
            let equal = match (union_at(regs, a), union_at(regs, b)) {
                (Some(a), Some(b)) => a
                    .headers
                    .iter()
                    .zip(&b.headers)
                    .any(|(&a, &b)| headers_equal(layout, regs, a, b)),
                _ => false,
            };
            regs[dst as usize] = u64::from(equal);
        }
        Op::AssignUnion { dst, src } => {
            if let (Some(dst), Some(src)) = (union_at(regs, dst), union_at(regs, src)) {
                for (&dst, &src) in dst.headers.iter().zip(&src.headers) {
                    assign_header(layout, regs, dst, src);
                }
            }
        }
        Op::AssignStack { dst, src } => {
            let (to, from) = (&layout.stacks[dst as usize], &layout.stacks[src as usize]);
            regs[to.next as usize] = regs[from.next as usize];
            for (&dst, &src) in to.headers.iter().zip(&from.headers) {
                assign_header(layout, regs, dst, src);
            }
        }
        Op::AssignUnionStack { dst, src } => {
            let (to, from) = (
                &layout.union_stacks[dst as usize],
                &layout.union_stacks[src as usize],
            );
            regs[to.next as usize] = regs[from.next as usize];
            for (&to, &from) in to.unions.iter().zip(&from.unions) {
                let (to, from) = (&layout.unions[to as usize], &layout.unions[from as usize]);
                for (&dst, &src) in to.headers.iter().zip(&from.headers) {
                    assign_header(layout, regs, dst, src);
                }
            }
        }
        Op::Push { stack, count } | Op::Pop { stack, count } => {
            let push = matches!(op, Op::Push { .. });
            let place = &layout.stacks[stack as usize];
            let count = regs[count as usize].min(place.headers.len() as u64) as usize;
            shift_next(regs, place.next, count, place.headers.len(), push);
            let (base, slots) = (
                base_of(place.headers[0]),
                layout.shapes[place.shape].slots as usize,
            );
            shift_blocks(regs, base, slots, place.headers.len(), count, push);
        }
        Op::PushUnion { stack, count } | Op::PopUnion { stack, count } => {
            let push = matches!(op, Op::PushUnion { .. });
            let place = &layout.union_stacks[stack as usize];
            let size = place.unions.len();
            let count = regs[count as usize].min(size as u64) as usize;
            shift_next(regs, place.next, count, size, push);
            shift_unions(layout, regs, &place.unions, count, push);
        }
        Op::StackElement { dst, stack, index } => {
            let headers = &layout.stacks[stack as usize].headers;
            let index = usize::try_from(regs[index as usize]).unwrap_or(usize::MAX);
            regs[dst as usize] = headers
                .get(index)
                .map_or(u64::MAX, |&header| u64::from(header));
        }
        Op::StackLast { dst, stack } => {
            let place = &layout.stacks[stack as usize];
            let last = (regs[place.next as usize] as usize).wrapping_sub(1);
            regs[dst as usize] = place
                .headers
                .get(last)
                .map_or(u64::MAX, |&header| u64::from(header));
        }
        Op::UnionStackElement { dst, stack, index } => {
            let unions = &layout.union_stacks[stack as usize].unions;
            let index = usize::try_from(regs[index as usize]).unwrap_or(usize::MAX);
            regs[dst as usize] = unions
                .get(index)
                .map_or(u64::MAX, |&union| u64::from(union));
        }
        Op::UnionMember { dst, union, member } => {
            let header = union_at(regs, union).and_then(|union| union.headers.get(member as usize));
            regs[dst as usize] = header.map_or(u64::MAX, |&header| u64::from(header));
        }
        Op::LoadField {
            dst,
            header,
            offset,
            limbs,
        } => {
            let (dst, limbs) = (dst as usize, limbs as usize);
            match header_id(regs, header) {
                Some(header) => {
                    let from = base_of(header) + offset as usize;
                    regs.copy_within(from..from + limbs, dst);
                }
                None => regs[dst..dst + limbs].fill(0),
            }
        }
        Op::StoreField {
            src,
            header,
            offset,
            limbs,
        } => {
            if let Some(header) = header_id(regs, header) {
                let src = src as usize;
                regs.copy_within(src..src + limbs as usize, base_of(header) + offset as usize);
            }
        }
        Op::AssignVariable {
            dst,
            src,
            dst_limbs,
            src_limbs,
        } => {
            let (dst, src) = (dst as usize, src as usize);
            let limbs = dst_limbs.min(src_limbs) as usize;
            regs[dst] = regs[src].min(u64::from(dst_limbs) * 64);
            regs.copy_within(src + 1..src + 1 + limbs, dst + 1);
            regs[dst + 1 + limbs..dst + 1 + dst_limbs as usize].fill(0);
        }
        _ => {}
    }
}

fn headers_equal(layout: &Layout, regs: &Regs, a: u16, b: u16) -> bool {
    let (x, y) = (&layout.headers[a as usize], &layout.headers[b as usize]);
    let (p, q) = (x.base as usize, y.base as usize);
    let slots = layout.shapes[x.shape].slots as usize;
    x.shape == y.shape
        && regs[p] != 0
        && regs[q] != 0
        && regs[p + 1..p + slots] == regs[q + 1..q + slots]
}

fn shift_next(regs: &mut Regs, next: Slot, count: usize, size: usize, push: bool) {
    let old = regs[next as usize];
    regs[next as usize] = if push {
        (old + count as u64).min(size as u64)
    } else {
        old.saturating_sub(count as u64)
    };
}

/// Moves the elements of a stack by `count`; the ones that come in are invalid.
fn shift_blocks(regs: &mut Regs, base: usize, slots: usize, size: usize, count: usize, push: bool) {
    let kept = size - count;
    if push {
        regs.copy_within(base..base + kept * slots, base + count * slots);
    } else {
        regs.copy_within(base + count * slots..base + size * slots, base);
    }
    let fresh = if push { 0..count } else { kept..size };
    for index in fresh {
        regs[base + index * slots] = 0;
    }
}

fn shift_unions(layout: &Layout, regs: &mut Regs, unions: &[u16], count: usize, push: bool) {
    let size = unions.len();
    let order: Box<dyn Iterator<Item = usize>> = if push {
        Box::new((0..size).rev())
    } else {
        Box::new(0..size)
    };
    for index in order {
        let source = if push {
            index.checked_sub(count)
        } else {
            Some(index + count)
        };
        let source = source.filter(|&source| source < size);
        let to = &layout.unions[unions[index] as usize].headers;
        for (member, &header) in to.iter().enumerate() {
            let base = layout.headers[header as usize].base as usize;
            match source {
                Some(source) => {
                    let from = layout.unions[unions[source] as usize].headers[member];
                    let from = layout.headers[from as usize].base as usize;
                    let slots = layout.shape_of(header).slots as usize;
                    regs.copy_within(from..from + slots, base);
                }
                None => regs[base] = 0,
            }
        }
    }
}

/// Wide instructions; false if the instruction is not one of them.
fn wide(op: &Op, regs: &mut Regs) -> bool {
    /// Copies operands out, so that the destination may overlap them.
    fn apply(
        regs: &mut Regs,
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
        f: fn(&mut [u64], &[u64], &[u64]),
    ) {
        let (dst, a, b, n) = (dst as usize, a as usize, b as usize, limbs as usize);
        let left = regs[a..a + n].to_vec();
        let right = regs[b..b + n].to_vec();
        f(&mut regs[dst..dst + n], &left, &right);
    }
    match *op {
        Op::WExtend {
            dst,
            a,
            from,
            to,
            signed,
        } => {
            let (dst, a, from, to) = (dst as usize, a as usize, from as usize, to as usize);
            let fill = if signed && words::is_negative(&regs[a..a + from]) {
                u64::MAX
            } else {
                0
            };
            regs.copy_within(a..a + from, dst);
            regs[dst + from..dst + to].fill(fill);
        }
        Op::WAdd { dst, a, b, limbs } => apply(regs, dst, a, b, limbs, |dst, a, b| {
            dst.copy_from_slice(a);
            words::add(dst, b);
        }),
        Op::WSub { dst, a, b, limbs } => apply(regs, dst, a, b, limbs, |dst, a, b| {
            dst.copy_from_slice(a);
            words::sub(dst, b);
        }),
        Op::WMul { dst, a, b, limbs } => apply(regs, dst, a, b, limbs, words::mul),
        Op::WAnd { dst, a, b, limbs } => {
            for i in 0..limbs as usize {
                regs[dst as usize + i] = regs[a as usize + i] & regs[b as usize + i];
            }
        }
        Op::WOr { dst, a, b, limbs } => {
            for i in 0..limbs as usize {
                regs[dst as usize + i] = regs[a as usize + i] | regs[b as usize + i];
            }
        }
        Op::WXor { dst, a, b, limbs } => {
            for i in 0..limbs as usize {
                regs[dst as usize + i] = regs[a as usize + i] ^ regs[b as usize + i];
            }
        }
        Op::WNot { dst, a, limbs } => {
            for i in 0..limbs as usize {
                regs[dst as usize + i] = !regs[a as usize + i];
            }
        }
        Op::WDiv { dst, a, b, limbs } => {
            apply(regs, dst, a, b, limbs, |dst, a, b| {
                dst.copy_from_slice(&words::div_rem(a, b).0)
            });
        }
        Op::WMod { dst, a, b, limbs } => {
            apply(regs, dst, a, b, limbs, |dst, a, b| {
                dst.copy_from_slice(&words::div_rem(a, b).1)
            });
        }
        Op::WShiftLeft { dst, a, b, limbs } => {
            let (amount, dst, a, n) = (regs[b as usize], dst as usize, a as usize, limbs as usize);
            regs.copy_within(a..a + n, dst);
            words::shift_left(&mut regs[dst..dst + n], amount);
        }
        Op::WShiftRight {
            dst,
            a,
            b,
            limbs,
            signed,
        } => {
            let (amount, dst, a, n) = (regs[b as usize], dst as usize, a as usize, limbs as usize);
            regs.copy_within(a..a + n, dst);
            words::shift_right(&mut regs[dst..dst + n], amount, signed);
        }
        Op::WTruncate {
            dst,
            limbs,
            bits,
            signed,
        } => {
            let value = &mut regs[dst as usize..dst as usize + limbs as usize];
            if signed {
                words::truncate_signed(value, bits);
            } else {
                words::truncate(value, bits);
            }
        }
        Op::WEq { dst, a, b, limbs } => {
            let (a, b, n) = (a as usize, b as usize, limbs as usize);
            regs[dst as usize] = u64::from(regs[a..a + n] == regs[b..b + n]);
        }
        Op::WLess {
            dst,
            a,
            b,
            limbs,
            signed,
        } => {
            let (a, b, n) = (a as usize, b as usize, limbs as usize);
            regs[dst as usize] = u64::from(words::less(&regs[a..a + n], &regs[b..b + n], signed));
        }
        _ => return false,
    }
    true
}

/// Collects the input of a calculation as bytes.
fn hash_input(
    layout: &Layout,
    input: &[HashInput],
    regs: &Regs,
    payload: &[u8],
    bytes: &mut Vec<u8>,
) {
    bytes.clear();
    let mut with_payload = false;
    let mut writer = BitWriter::new(bytes);
    for item in input {
        match item {
            HashInput::Field {
                slot,
                bits,
                variable,
                header,
                ..
            } => {
                let place = &layout.headers[*header as usize];
                if regs[place.base as usize] == 0 {
                    continue;
                }
                let slot = *slot as usize;
                if *bits <= 64 && !variable {
                    writer.word(regs[slot], *bits);
                } else {
                    let limbs = words::limbs_for(*bits).max(1);
                    let bits = if *variable {
                        regs[slot - 1] as u32
                    } else {
                        *bits
                    };
                    writer.wide(&regs[slot..slot + limbs], bits);
                }
            }
            HashInput::Constant { limbs, bits } => writer.wide(limbs, *bits),
            HashInput::Header { header } => {
                let place = &layout.headers[*header as usize];
                if regs[place.base as usize] != 0 {
                    writer.header(layout.shape_of(*header), place.base, regs);
                }
            }
            HashInput::Payload => with_payload = true,
        }
    }
    if with_payload {
        bytes.extend_from_slice(payload);
    }
}
