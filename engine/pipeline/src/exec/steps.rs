//! The instructions that are more than a word operation: parsing, tables, arrays, hashes, headers.

use crate::code::ir::{Op, Pc, Select, SelectCase};
use crate::code::layout::{packet_slot, Regs};
use crate::exec::context::{length_limit, variable_bits, Context, Flow, Wire};
use crate::exec::hash::{self, hash_input};
use crate::exec::header_ops::{extract, header_op};
use crate::exec::wide_ops::wide_op;
use crate::exec::wire;
use crate::numbers::bits::BitWriter;
use crate::numbers::words;
use crate::state::cells::State;
use crate::state::table::{next_of, Target};

impl Context<'_> {
    /// Executes one instruction.
    pub fn step(&mut self, op: &Op) -> Flow {
        let code = &self.program.code;
        match *op {
            Op::Extract { header } => return self.extract(header),
            Op::ExtractNext { stack } => {
                let place = &self.program.layout.stacks[stack as usize];
                let next = self.regs[place.next as usize];
                return match place.headers.get(next as usize) {
                    None => self.parser_error(code.errors.stack_out_of_bounds),
                    Some(&header) => self.extract_next(header, place.next),
                };
            }
            Op::ExtractUnionNext { stack, member } => {
                let layout = &self.program.layout;
                let place = &layout.union_stacks[stack as usize];
                let next = self.regs[place.next as usize];
                return match place.unions.get(next as usize) {
                    None => self.parser_error(code.errors.stack_out_of_bounds),
                    Some(&union) => {
                        let header = layout.unions[union as usize].headers[member as usize];
                        self.extract_next(header, place.next)
                    }
                };
            }
            Op::MoveMany { dst, a, count } => {
                let (dst, a) = (dst as usize, a as usize);
                self.regs.copy_within(a..a + count as usize, dst);
            }
            Op::DivU { dst, a, b } => {
                self.regs[dst as usize] =
                    self.regs[a as usize].checked_div(self.regs[b as usize]).unwrap_or(0)
            }
            Op::ModU { dst, a, b } => {
                self.regs[dst as usize] =
                    self.regs[a as usize].checked_rem(self.regs[b as usize]).unwrap_or(0)
            }
            Op::VariableBits { a } => self.variable_bits = variable_bits(self.regs[a as usize]),
            Op::Lookahead { dst, offset, bits, check, signed } => {
                let Wire { frame, cursor } = self.wire;
                if check && frame.len() - cursor < usize::from(bits).div_ceil(8) {
                    return self.parser_error(code.errors.packet_too_short);
                }
                let first = cursor * 8 + offset as usize;
                let limbs = words::limbs_for(u32::from(bits)).max(1);
                let dst = dst as usize;
                wire::read_wide(&mut self.regs[dst..dst + limbs], frame, first, u32::from(bits), signed);
            }
            Op::Advance { bits } => {
                let bits = self.regs[bits as usize];
                if bits % 8 != 0 {
                    return self.parser_error(code.errors.parser_invalid_argument);
                }
                if ((self.wire.frame.len() - self.wire.cursor) as u64) < bits / 8 {
                    return self.parser_error(code.errors.packet_too_short);
                }
                self.wire.cursor += (bits / 8) as usize;
            }
            Op::ParserError { a } => return self.parser_error(self.regs[a as usize]),
            Op::Select { select } => return Flow::To(self.select(&code.selects[select as usize])),
            Op::Table { table } => return self.apply(table),
            Op::RegisterRead { dst, register, index } => {
                if let Some(cell) = self.state.registers.cell(register, self.regs[index as usize]) {
                    self.regs[dst as usize..dst as usize + cell.len()].copy_from_slice(cell);
                }
            }
            Op::RegisterWrite { register, index, src } => {
                if let Some(cell) = self.state.registers.cell_mut(register, self.regs[index as usize]) {
                    cell.copy_from_slice(&self.regs[src as usize..src as usize + cell.len()]);
                }
            }
            Op::Count { counter, index } => {
                let index = usize::try_from(self.regs[index as usize]).unwrap_or(usize::MAX);
                let bytes = self.regs[packet_slot::INGRESS_LENGTH as usize];
                if let Some(cell) = self.state.counters[counter as usize].get_mut(index) {
                    cell.packets += 1;
                    cell.bytes += bytes;
                }
            }
            Op::Meter { dst, meter, index } => {
                let index = usize::try_from(self.regs[index as usize]).unwrap_or(usize::MAX);
                let meter = &mut self.state.meters[meter as usize];
                let bytes = self.regs[packet_slot::INGRESS_LENGTH as usize];
                if let Some(cell) = meter.cells.get_mut(index) {
                    self.regs[dst as usize] = cell.execute(meter.unit, bytes, self.now_ps);
                }
            }
            Op::Random { dst, a, b } => {
                let (low, high) = (self.regs[a as usize], self.regs[b as usize]);
                if low <= high {
                    self.regs[dst as usize] = self.state.rng.uniform(low, high);
                }
            }
            Op::Hash { dst, calculation } => {
                let plan = &code.calculations[calculation as usize];
                let payload = &self.wire.frame[self.wire.cursor..];
                let payload = &payload[..payload.len().min(length_limit(self.regs))];
                self.regs[dst as usize] = match &plan.sum {
                    Some(sum) => sum.compute(self.regs, payload),
                    None => {
                        let State { scratch, rng, .. } = &mut *self.state;
                        hash_input(&self.program.layout, &plan.input, self.regs, payload, scratch);
                        hash::hash(plan.algorithm, scratch, rng)
                    }
                };
            }
            Op::Truncate { a } => {
                let limit = self.regs[a as usize].saturating_add(1);
                let old = &mut self.regs[packet_slot::TRUNCATE as usize];
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
            | Op::WLess { .. }) => wide_op(op, self.regs),
            ref op => header_op(&self.program.layout, op, self.regs),
        }
        Flow::Next
    }

    fn parser_error(&mut self, error: u64) -> Flow {
        self.regs[packet_slot::PARSER_ERROR as usize] = error;
        Flow::To(self.program.code.parser_end)
    }

    fn extract(&mut self, header: u16) -> Flow {
        match extract(self.program, self.regs, &mut self.wire, header, self.variable_bits) {
            Ok(()) => Flow::Next,
            Err(error) => self.parser_error(error),
        }
    }

    /// Extracts into the next element of a stack, whose index is in slot `next`.
    fn extract_next(&mut self, header: u16, next: u16) -> Flow {
        let flow = self.extract(header);
        if flow == Flow::Next {
            self.regs[next as usize] += 1;
        }
        flow
    }

    fn select(&mut self, select: &Select) -> Pc {
        let (regs, state) = (&*self.regs, &mut *self.state);
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
                    if key.iter().zip(mask).zip(value).all(|((key, mask), value)| key & mask == value & mask)
                    {
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

    /// Looks up a table and prepares its action; returns the next place of the code, and the place to return to.
    pub fn apply(&mut self, index: u16) -> Flow {
        let Context { program, regs, state, now_ps, .. } = self;
        let code = &program.code;
        let plan = &code.tables[index as usize];
        let State { tables, profiles, meters, rng, scratch, .. } = &mut **state;
        let table = &mut tables[index as usize];
        let hit = table.lookup(regs);
        let bytes = regs[packet_slot::INGRESS_LENGTH as usize];
        if plan.counted {
            let cell = table.counter_mut(hit);
            cell.packets += 1;
            cell.bytes += bytes;
        }
        if let Some((meter, field)) = plan.meter {
            // Without a meter of the default entry a miss leaves the field as it is.
            if let Some(cell) = table.meter_in_use(hit) {
                let colour = cell.execute(meters[meter as usize].unit, bytes, *now_ps);
                regs[field.slot as usize] = colour & words::mask64(field.bits.min(64));
            }
        }
        let target = match hit {
            Some(id) => {
                let id = id as usize;
                if plan.timeout {
                    table.last_hit_ps[id] = *now_ps;
                }
                &table.targets[id]
            }
            None => match &table.default {
                Some(target) => target,
                None => return Flow::To(plan.miss),
            },
        };
        let base = code.param_base as usize;
        let member = match target {
            Target::Direct(binding) => {
                put_words(regs, base, &binding.words);
                return Flow::Call { entry: binding.entry, next: binding.next };
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
                put_words(regs, base, &binding.words);
                let next = next_of(plan, binding.action, hit.is_some());
                Flow::Call { entry: code.actions[binding.action].entry, next }
            }
            // An empty group: no action.
            None => Flow::To(plan.miss),
        }
    }
}

/// Copies the parameters of an action. There are few as a rule, and a copy of unknown length is a call.
#[inline]
fn put_words(regs: &mut Regs, base: usize, words: &[u64]) {
    match *words {
        [] => {}
        [first] => regs[base] = first,
        [first, second] => regs[base..base + 2].copy_from_slice(&[first, second]),
        [first, second, third] => regs[base..base + 3].copy_from_slice(&[first, second, third]),
        _ => regs[base..base + words.len()].copy_from_slice(words),
    }
}
