//! Executes compiled code over the slots of one packet and the state of a switch.

use crate::control::CounterCell;
use crate::hash::{self, hash_input, BitWriter};
use crate::header_ops::{extract, header_op};
use crate::info::MeterUnit;
use crate::ir::{Op, Pc, Select, SelectCase};
use crate::layout::packet_slot;
use crate::meter::MeterCell;
use crate::profile::ProfileState;
use crate::program::Program;
use crate::rng::Rng;
use crate::table::{next_of, TableState, Target};
use crate::value_set::ValueSetState;
use crate::wide_ops::wide_op;
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

/// Runs from `entry` to the end of that part of the program.
pub(crate) fn run(
    program: &Program,
    regs: &mut Regs,
    state: &mut State,
    wire: &mut Wire,
    entry: Pc,
    now_ps: u64,
) -> Outcome {
    let code = &program.code;
    let ops = &code.ops[..];
    let layout = &program.layout;
    let mut pc = entry as usize;
    let mut return_to = 0;
    let mut loops = 0;
    let mut variable_bits = 0u64;
    loop {
        let Some(op) = ops.get(pc) else {
            return Outcome::Done;
        };
        pc += 1;
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
            Op::Move { dst, a } => regs[dst as usize] = regs[a as usize],
            Op::MoveMany { dst, a, count } => {
                let (dst, a) = (dst as usize, a as usize);
                regs.copy_within(a..a + count as usize, dst);
            }
            Op::Add { dst, a, b, mask } => {
                regs[dst as usize] = regs[a as usize].wrapping_add(regs[b as usize]) & mask
            }
            Op::Sub { dst, a, b, mask } => {
                regs[dst as usize] = regs[a as usize].wrapping_sub(regs[b as usize]) & mask
            }
            Op::Mul { dst, a, b, mask } => {
                regs[dst as usize] = regs[a as usize].wrapping_mul(regs[b as usize]) & mask
            }
            Op::And { dst, a, b } => regs[dst as usize] = regs[a as usize] & regs[b as usize],
            Op::AndMask { dst, a, mask } => regs[dst as usize] = regs[a as usize] & mask,
            Op::Or { dst, a, b, mask } => regs[dst as usize] = (regs[a as usize] | regs[b as usize]) & mask,
            Op::Xor { dst, a, b, mask } => regs[dst as usize] = (regs[a as usize] ^ regs[b as usize]) & mask,
            Op::Not { dst, a, mask } => regs[dst as usize] = !regs[a as usize] & mask,
            Op::ShiftLeft { dst, a, b, mask } => {
                let amount = regs[b as usize];
                let value = if amount < 64 { regs[a as usize] << amount } else { 0 };
                regs[dst as usize] = value & mask
            }
            Op::ShiftRightU { dst, a, b } => {
                let amount = regs[b as usize];
                regs[dst as usize] = if amount < 64 { regs[a as usize] >> amount } else { 0 }
            }
            Op::ShiftRightS { dst, a, b } => {
                let amount = regs[b as usize].min(63);
                regs[dst as usize] = (regs[a as usize] as i64 >> amount) as u64
            }
            Op::Slice { dst, a, right, mask } => regs[dst as usize] = regs[a as usize] >> (right & 63) & mask,
            Op::DivU { dst, a, b } => {
                regs[dst as usize] = regs[a as usize].checked_div(regs[b as usize]).unwrap_or(0)
            }
            Op::ModU { dst, a, b } => {
                regs[dst as usize] = regs[a as usize].checked_rem(regs[b as usize]).unwrap_or(0)
            }
            Op::SignExtend { dst, a, bits } => {
                regs[dst as usize] = words::sign_extend(regs[a as usize], u32::from(bits))
            }
            Op::Eq { dst, a, b } => regs[dst as usize] = u64::from(regs[a as usize] == regs[b as usize]),
            Op::Ne { dst, a, b } => regs[dst as usize] = u64::from(regs[a as usize] != regs[b as usize]),
            Op::LessU { dst, a, b } => regs[dst as usize] = u64::from(regs[a as usize] < regs[b as usize]),
            Op::LessS { dst, a, b } => {
                regs[dst as usize] = u64::from((regs[a as usize] as i64) < regs[b as usize] as i64)
            }
            Op::IsZero { dst, a } => regs[dst as usize] = u64::from(regs[a as usize] == 0),
            Op::MinS { dst, a, b } => {
                regs[dst as usize] = (regs[a as usize] as i64).min(regs[b as usize] as i64) as u64
            }
            Op::MaxS { dst, a, b } => {
                regs[dst as usize] = (regs[a as usize] as i64).max(regs[b as usize] as i64) as u64
            }
            Op::MinU { dst, a, b } => regs[dst as usize] = regs[a as usize].min(regs[b as usize]),

            Op::Extract { header } => {
                if let Err(code) = extract(program, regs, wire, header, variable_bits) {
                    regs[packet_slot::PARSER_ERROR as usize] = code;
                    pc = code_end(program);
                }
            }
            Op::ExtractNext { stack } => {
                let place = &layout.stacks[stack as usize];
                let next = regs[place.next as usize];
                let result = match place.headers.get(next as usize) {
                    None => Err(code.errors.stack_out_of_bounds),
                    Some(&header) => extract(program, regs, wire, header, variable_bits),
                };
                match result {
                    Ok(()) => regs[place.next as usize] = next + 1,
                    Err(code) => {
                        regs[packet_slot::PARSER_ERROR as usize] = code;
                        pc = code_end(program);
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
                        extract(program, regs, wire, header, variable_bits)
                    }
                };
                match result {
                    Ok(()) => regs[place.next as usize] = next + 1,
                    Err(code) => {
                        regs[packet_slot::PARSER_ERROR as usize] = code;
                        pc = code_end(program);
                    }
                }
            }
            Op::VariableBits { a } => variable_bits = regs[a as usize],
            Op::Lookahead { dst, offset, bits, check, signed } => {
                let available = wire.frame.len() - wire.cursor.min(wire.frame.len());
                if check && available < usize::from(bits).div_ceil(8) {
                    regs[packet_slot::PARSER_ERROR as usize] = code.errors.packet_too_short;
                    pc = code_end(program);
                    continue;
                }
                let first = wire.cursor * 8 + offset as usize;
                let limbs = words::limbs_for(u32::from(bits)).max(1);
                let dst = dst as usize;
                wire::read_wide(&mut regs[dst..dst + limbs], wire.frame, first, u32::from(bits), signed);
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
                        pc = code_end(program);
                    }
                }
            }
            Op::ParserError { a } => {
                regs[packet_slot::PARSER_ERROR as usize] = regs[a as usize];
                pc = code_end(program);
            }
            Op::Select { select } => pc = next_state(regs, state, &code.selects[select as usize]) as usize,

            Op::Table { table } => {
                let (entry, next) = apply(program, regs, state, table, now_ps);
                return_to = next as usize;
                pc = entry as usize;
            }
            Op::RegisterRead { dst, register, index } => {
                let array = &state.registers[register as usize];
                let index = regs[index as usize];
                if array.limbs == 1 {
                    if let Some(&value) = usize::try_from(index).ok().and_then(|i| array.cells.get(i)) {
                        regs[dst as usize] = value;
                    }
                } else {
                    let from = usize::try_from(index).unwrap_or(usize::MAX).saturating_mul(array.limbs);
                    if let Some(cell) = array.cells.get(from..from.saturating_add(array.limbs)) {
                        regs[dst as usize..dst as usize + array.limbs].copy_from_slice(cell);
                    }
                }
            }
            Op::RegisterWrite { register, index, src } => {
                let array = &mut state.registers[register as usize];
                let index = usize::try_from(regs[index as usize]).unwrap_or(usize::MAX);
                if array.limbs == 1 {
                    if let Some(cell) = array.cells.get_mut(index) {
                        *cell = regs[src as usize];
                    }
                } else {
                    let from = index.saturating_mul(array.limbs);
                    if let Some(cell) = array.cells.get_mut(from..from.saturating_add(array.limbs)) {
                        cell.copy_from_slice(&regs[src as usize..src as usize + array.limbs]);
                    }
                }
            }
            Op::Count { counter, index } => {
                let index = usize::try_from(regs[index as usize]).unwrap_or(usize::MAX);
                let bytes = regs[packet_slot::INGRESS_LENGTH as usize];
                if let Some(cell) = state.counters[counter as usize].get_mut(index) {
                    cell.packets += 1;
                    cell.bytes += bytes;
                }
            }
            Op::Meter { dst, meter, index } => {
                let index = usize::try_from(regs[index as usize]).unwrap_or(usize::MAX);
                let meter = &mut state.meters[meter as usize];
                let amount = match meter.unit {
                    MeterUnit::Packets => 1,
                    MeterUnit::Bytes => regs[packet_slot::INGRESS_LENGTH as usize],
                };
                if let Some(cell) = meter.cells.get_mut(index) {
                    regs[dst as usize] = cell.execute(amount, now_ps);
                }
            }
            Op::Random { dst, a, b } => {
                let (low, high) = (regs[a as usize], regs[b as usize]);
                if low <= high {
                    regs[dst as usize] = state.rng.uniform(low, high);
                }
            }
            Op::Hash { dst, calculation } => {
                let plan = &code.calculations[calculation as usize];
                let State { scratch, rng, .. } = &mut *state;
                hash_input(layout, &plan.input, regs, &wire.frame[wire.cursor..], scratch);
                regs[dst as usize] = hash::hash(plan.algorithm, scratch, rng);
            }
            Op::Truncate { a } => {
                let limit = regs[a as usize].saturating_add(1);
                let old = &mut regs[packet_slot::TRUNCATE as usize];
                *old = if *old == 0 { limit } else { limit.min(*old) };
            }
            ref op @ (Op::WExtend { .. }
            | Op::WAdd { .. }
            | Op::WSub { .. }
            | Op::WMul { .. }
            | Op::WAnd { .. }
            | Op::WOr { .. }
            | Op::WXor { .. }
            | Op::WNot { .. }
            | Op::WDiv { .. }
            | Op::WMod { .. }
            | Op::WShiftLeft { .. }
            | Op::WShiftRight { .. }
            | Op::WTruncate { .. }
            | Op::WEq { .. }
            | Op::WLess { .. }) => wide_op(op, regs),
            ref op => header_op(layout, op, regs),
        }
    }
}

fn next_state(regs: &Regs, state: &mut State, select: &Select) -> Pc {
    if let Some(cases) = &select.narrow {
        let mut key = 0u64;
        for part in &select.parts {
            let bytes = part.bits.div_ceil(8);
            let value = regs[part.slot as usize] & words::mask64(part.bits);
            key = if bytes == 8 { value } else { key << (8 * bytes) | value };
        }
        for &(mask, value, to) in cases {
            if key & mask == value {
                return to;
            }
        }
        return select.default;
    }
    let key = &mut state.scratch;
    key.clear();
    for part in &select.parts {
        let slot = part.slot as usize;
        let padding = part.bits.div_ceil(8) * 8 - part.bits;
        let mut writer = BitWriter::new(key);
        writer.word(0, padding);
        writer.wide(&regs[slot..slot + words::limbs_for(part.bits).max(1)], part.bits);
    }
    for case in &select.cases {
        match case {
            SelectCase::Value { value, mask: None, to } if value == key => return *to,
            SelectCase::Value { value, mask: Some(mask), to } => {
                if key.iter().zip(mask).zip(value).all(|((key, mask), value)| key & mask == value & mask) {
                    return *to;
                }
            }
            SelectCase::ValueSet { set, mask, to } => {
                if state.value_sets[*set as usize].contains(key, mask.as_deref()) {
                    return *to;
                }
            }
            SelectCase::Value { .. } => {}
        }
    }
    select.default
}

/// Looks up a table and prepares its action; gives where to go and where that returns to.
fn apply(program: &Program, regs: &mut Regs, state: &mut State, index: u16, now_ps: u64) -> (Pc, Pc) {
    let code = &program.code;
    let plan = &code.tables[index as usize];
    let State { tables, profiles, meters, rng, scratch, .. } = &mut *state;
    let table = &mut tables[index as usize];
    let hit = table.lookup(regs);
    let target = match hit {
        Some(id) => {
            let id = id as usize;
            if plan.timeout {
                table.last_hit_ps[id] = now_ps;
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
                    let colour = cell.execute(amount, now_ps);
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
                    hash_input(&program.layout, input, regs, &[], scratch);
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

fn code_end(program: &Program) -> usize {
    program.code.parser_end as usize
}
