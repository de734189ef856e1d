//! Executes a part of a program without changing anything, over slots that may move with time.
//!
//! Instructions and state are those of `machine`; an instruction that is not listed here refuses the pass, so a new one
//! costs speed and changes no result.

use crate::code::calculation::{HashAlgorithm, HashInput};
use crate::code::ir::{Op, Pc, Select, SelectCase};
use crate::code::layout::{packet_slot, Piece, Regs, Slot};
use crate::code::program::Program;
use crate::exec::context::Wire;
use crate::exec::hash::{self, hash_input};
use crate::exec::header_ops::extract;
use crate::exec::wire;
use crate::idle::abstract_values::AbstractValues;
use crate::idle::moving::{AbstractValue, Bits, Limits, Probe, Refusal, Value};
use crate::idle::recording::{Recording, Step};
use crate::idle::stamp::{carries, form_of_bits, touches, StampField};
use crate::numbers::bits::BitWriter;
use crate::numbers::rng::Rng;
use crate::numbers::words;
use crate::state::cells::State;
use crate::state::table::{next_of, Target};

/// Instructions that one part of a pass may take.
const OP_LIMIT: u32 = 100_000;

/// Change of the state by a repetition of the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Count {
        counter: u16,
        cell: u32,
        bytes: u64,
    },
    /// The direct counter of an entry, of the default entry for `None`.
    EntryCount {
        table: u16,
        entry: Option<u32>,
        bytes: u64,
    },
    /// A packet is green to a meter that is not configured.
    Green {
        meter: u16,
        cell: u32,
        bytes: u64,
    },
    EntryGreen {
        table: u16,
        entry: u32,
        bytes: u64,
    },
    /// The time of the hit, in ingress or in egress.
    Hit {
        table: u16,
        entry: u32,
        egress: bool,
    },
}

/// A word of a register that the pass has read, or has written with what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Guard {
    block: usize,
    word: usize,
    value: u64,
}

impl Guard {
    /// Whether the word is what it was.
    #[inline]
    pub fn holds(&self, state: &State) -> bool {
        state.registers.word(self.block, self.word) == Some(self.value)
    }
}

/// Slots with their abstract values, and the requests of the pass so far.
pub(super) struct Shadow {
    pub regs: Box<Regs>,
    pub abstract_values: AbstractValues,
    pub limits: Limits,
    pub effects: Vec<Effect>,
    pub guards: Vec<Guard>,
    /// Fields of the frame on which nothing may depend.
    pub carried: Vec<Bits>,
    /// Fields that the parser has extracted.
    pub extracted: Vec<Bits>,
    /// Bytes at the start of the frame among which are all that the pass looks at.
    pub head_bytes: usize,
    /// Steps of this pass, if it is recorded. While it is, nothing but arithmetic may depend on a register or a clock.
    pub recording: Option<Box<Recording>>,
    /// Ticks of the clocks at this pass.
    pub ticks: [u64; 2],
    scratch: Vec<u8>,
}

impl Shadow {
    pub fn new() -> Shadow {
        let regs: Box<[u64]> = vec![0; 65_536].into_boxed_slice();
        let Ok(regs) = regs.try_into() else { unreachable!("the length is that of the slots") };
        Shadow {
            regs,
            abstract_values: AbstractValues::new(),
            limits: Limits::default(),
            effects: Vec::new(),
            guards: Vec::new(),
            carried: Vec::new(),
            extracted: Vec::new(),
            head_bytes: 0,
            recording: None,
            ticks: [0; 2],
            scratch: Vec::new(),
        }
    }

    pub fn value(&self, slot: Slot) -> Value {
        (self.regs[slot as usize], self.abstract_values.get(slot))
    }

    #[inline]
    pub fn set_value(&mut self, slot: Slot, (value, abstract_value): Value) {
        self.regs[slot as usize] = value;
        self.abstract_values.set(slot, abstract_value);
        self.overwritten(slot, 1);
    }

    /// The content of a slot that must not depend on time.
    pub fn fixed(&self, slot: Slot) -> Probe<u64> {
        match self.value(slot) {
            (_, AbstractValue::Fixed) if self.is_recorded(slot, 1) => {
                Err(Refusal("a decision depends on a register"))
            }
            (value, AbstractValue::Fixed) => Ok(value),
            _ => Err(Refusal("a decision depends on the time as a whole")),
        }
    }

    pub fn all_fixed(&self, from: Slot, count: usize) -> bool {
        self.abstract_values.all_fixed(from as usize..from as usize + count) && !self.is_recorded(from, count)
    }

    /// Sets the abstract values of a run of slots.
    pub fn mark(&mut self, from: Slot, count: usize, abstract_value: AbstractValue) {
        self.abstract_values.fill(from as usize..from as usize + count, abstract_value);
        self.overwritten(from, count);
    }

    /// Copies the abstract values of a run of slots.
    pub fn copy_forms(&mut self, from: Slot, count: usize, to: Slot) -> Probe<()> {
        if self.is_recorded(from, count) {
            return Err(Refusal("a header takes what depends on a register"));
        }
        self.abstract_values.copy(from as usize..from as usize + count, to as usize);
        self.overwritten(to, count);
        Ok(())
    }

    /// Whether some of these slots are results of recorded steps.
    #[inline]
    fn is_recorded(&self, from: Slot, count: usize) -> bool {
        self.recording.as_ref().is_some_and(|recording| recording.is_any_computed(from, count))
    }

    /// Slots hold what no recorded step has put there.
    #[inline]
    pub fn overwritten(&mut self, from: Slot, count: usize) {
        if let Some(recording) = &mut self.recording {
            recording.leaves(from, count);
        }
    }

    /// Runs from `entry` to the end of that part of the program. `stamps` are the bits of the
    /// frame that move with the clock of the frame.
    pub fn run(
        &mut self,
        program: &Program,
        state: &State,
        wire: &mut Wire,
        stamps: &[StampField],
        entry: Pc,
    ) -> Probe<()> {
        let code = &program.code;
        let parser_end = code.parser_end as usize;
        let mut pc = entry as usize;
        let mut return_to = 0;
        let mut variable_bits = 0;
        for _ in 0..OP_LIMIT {
            let Some(op) = code.ops.get(pc) else {
                return Ok(());
            };
            pc += 1;
            match *op {
                Op::Halt => return Ok(()),
                Op::Return if self.fixed(packet_slot::EXIT)? != 0 => return Ok(()),
                Op::Return => pc = return_to,
                Op::HaltIfExit => {
                    if self.fixed(packet_slot::EXIT)? != 0 {
                        return Ok(());
                    }
                }
                Op::Jump { to } => pc = to as usize,
                Op::Guard => {}
                Op::VariableBits { a } => variable_bits = crate::exec::context::variable_bits(self.fixed(a)?),
                Op::Extract { header } => match self.extract(program, wire, stamps, header, variable_bits)? {
                    Ok(()) => {}
                    Err(error) => {
                        self.set_value(packet_slot::PARSER_ERROR, (error, AbstractValue::Fixed));
                        pc = parser_end;
                    }
                },
                Op::ExtractNext { stack } => {
                    let place = &program.layout.stacks[stack as usize];
                    let next = self.fixed(place.next)?;
                    let result = match place.headers.get(next as usize) {
                        None => Err(code.errors.stack_out_of_bounds),
                        Some(&header) => self.extract(program, wire, stamps, header, variable_bits)?,
                    };
                    match result {
                        Ok(()) => self.regs[place.next as usize] = next + 1,
                        Err(error) => {
                            self.set_value(packet_slot::PARSER_ERROR, (error, AbstractValue::Fixed));
                            pc = parser_end;
                        }
                    }
                }
                Op::Lookahead { dst, offset, bits, check, signed } => {
                    let available = wire.frame.len().saturating_sub(wire.cursor);
                    if check && available < usize::from(bits).div_ceil(8) {
                        self.set_value(
                            packet_slot::PARSER_ERROR,
                            (code.errors.packet_too_short, AbstractValue::Fixed),
                        );
                        pc = parser_end;
                        continue;
                    }
                    let first = wire.cursor * 8 + offset as usize;
                    self.head_bytes = self.head_bytes.max((first + usize::from(bits)).div_ceil(8));
                    let limbs = words::limbs_for(u32::from(bits)).max(1);
                    let to = &mut self.regs[dst as usize..][..limbs];
                    wire::read_wide(to, wire.frame, first, u32::from(bits), signed);
                    let abstract_value = match limbs {
                        1 if !signed => form_of_bits(stamps, &self.carried, first, u32::from(bits)),
                        _ if touches(stamps, first, u32::from(bits)) => AbstractValue::Unknown,
                        _ if carries(&self.carried, first, u32::from(bits)) => AbstractValue::Unknown,
                        _ => AbstractValue::Fixed,
                    };
                    self.mark(dst, limbs, abstract_value);
                    self.record_time(dst);
                }
                Op::Advance { bits } => {
                    let bits = self.fixed(bits)?;
                    let available = wire.frame.len().saturating_sub(wire.cursor) as u64;
                    if bits % 8 != 0 || available < bits / 8 {
                        return Err(Refusal("the parser leaves the frame"));
                    }
                    wire.cursor += (bits / 8) as usize;
                }
                Op::ParserError { a } => {
                    let error = self.fixed(a)?;
                    self.set_value(packet_slot::PARSER_ERROR, (error, AbstractValue::Fixed));
                    pc = parser_end;
                }
                Op::Select { select } => pc = self.select(state, &code.selects[select as usize])? as usize,
                Op::Table { table } => {
                    let (entry, next) = self.table(program, state, table)?;
                    return_to = next as usize;
                    pc = entry as usize;
                }
                Op::RegisterRead { dst, register, index } => {
                    let index = self.fixed(index)?;
                    self.read_register(state, dst, register, index);
                }
                Op::RegisterWrite { register, index, src } => {
                    let index = self.fixed(index)?;
                    self.write_register(state, register, index, src)?;
                }
                Op::Count { counter, index } => {
                    let cell = self.fixed(index)?;
                    let bytes = self.fixed(packet_slot::INGRESS_LENGTH)?;
                    if cell < state.counters[counter as usize].len() as u64 {
                        self.effects.push(Effect::Count { counter, cell: cell as u32, bytes });
                    }
                }
                Op::Meter { dst, meter, index } => {
                    let index = usize::try_from(self.fixed(index)?).unwrap_or(usize::MAX);
                    if let Some(cell) = state.meters[meter as usize].cells.get(index) {
                        if cell.config().is_some() {
                            return Err(Refusal("the pass is metered"));
                        }
                        let bytes = self.fixed(packet_slot::INGRESS_LENGTH)?;
                        self.effects.push(Effect::Green { meter, cell: index as u32, bytes });
                        self.set_value(dst, (0, AbstractValue::Fixed));
                    }
                }
                Op::Random { .. } => return Err(Refusal("the pass takes a random number")),
                Op::Hash { dst, calculation } => {
                    let plan = &code.calculations[calculation as usize];
                    if plan.input.iter().any(|item| matches!(item, HashInput::Payload)) {
                        self.head_bytes = wire.frame.len();
                    }
                    let payload = wire.frame.get(wire.cursor..).unwrap_or(&[]);
                    let value = self.hash(program, plan.algorithm, &plan.input, payload)?;
                    self.set_value(dst, value);
                }
                Op::Truncate { .. } => return Err(Refusal("the pass cuts the frame")),
                ref op => {
                    let is_step = self.prepare_step(program, op)?;
                    match self.branch(op)? {
                        Some(to) => {
                            if is_step {
                                self.record(Step::Branch { op: *op, to });
                            }
                            pc = to.map_or(pc, |to| to as usize);
                        }
                        None if self.narrow(op)? => {
                            if is_step {
                                self.record_computation(program, op);
                            }
                        }
                        None if is_step => {
                            return Err(Refusal("a register is used in a way that is not recorded"))
                        }
                        None if self.wide(op) => {}
                        None => self.header(program, op)?,
                    }
                }
            }
        }
        Err(Refusal("the pass is long"))
    }

    /// Whether all that is carried are fields that the parser has extracted; both lists are in the order of the parser.
    pub fn carries_fields(&self) -> bool {
        let mut extracted = self.extracted.iter();
        self.carried.iter().all(|field| extracted.any(|other| other == field))
    }

    /// Reads a cell of a register, if there is one.
    pub fn read_register(&mut self, state: &State, dst: Slot, register: u16, index: u64) {
        if let Some(cell) = state.registers.cell(register, index) {
            self.regs[dst as usize..][..cell.len()].copy_from_slice(cell);
            self.mark(dst, cell.len(), AbstractValue::Fixed);
            self.guard(state, register, index);
            if let Some(recording) = &mut self.recording {
                recording.steps.push(Step::Read { dst, register, index });
                (0..cell.len() as Slot).for_each(|limb| recording.computes(dst + limb));
            }
        }
    }

    /// Writes a cell of a register, if there is one: what it holds, or the pass is refused.
    pub fn write_register(&mut self, state: &State, register: u16, index: u64, src: Slot) -> Probe<()> {
        if let Some(cell) = state.registers.cell(register, index) {
            let from = src as usize..src as usize + cell.len();
            if cell != &self.regs[from.clone()] || !self.abstract_values.all_fixed(from.clone()) {
                return Err(Refusal("the pass writes a register"));
            }
            self.guard(state, register, index);
            if let Some(recording) = &mut self.recording {
                from.for_each(|slot| recording.uses(slot as Slot, (self.regs[slot], AbstractValue::Fixed)));
                recording.steps.push(Step::Write { register, index, src });
            }
        }
        Ok(())
    }

    /// Records a step.
    pub fn record(&mut self, step: Step) {
        if let Some(recording) = &mut self.recording {
            recording.steps.push(step);
        }
    }

    /// Makes the proof depend on a cell of a register.
    fn guard(&mut self, state: &State, register: u16, index: u64) {
        let place = state.registers.place(register);
        let cell = state.registers.cell(register, index).unwrap_or(&[]);
        let words = place.word(index).unwrap_or(0)..;
        self.guards.extend(words.zip(cell).map(|(word, &value)| Guard { block: place.block, word, value }));
    }

    /// Extracts a header; the inner error is a parser error.
    fn extract(
        &mut self,
        program: &Program,
        wire: &mut Wire,
        stamps: &[StampField],
        header: u16,
        variable_bits: u64,
    ) -> Probe<Result<(), u64>> {
        let first = wire.cursor * 8;
        if let Err(error) = extract(program, &mut self.regs, wire, header, variable_bits) {
            return Ok(Err(error));
        }
        let place = &program.layout.headers[header as usize];
        let shape = program.layout.shape_of(header);
        self.mark(place.base, shape.slots as usize, AbstractValue::Fixed);
        let bits = (wire.cursor * 8 - first) as u32;
        if shape.variable.is_none() {
            let field = |piece: &Piece| Bits { first_bit: piece.first_bit(first), bits: piece.bits.into() };
            self.extracted.extend(shape.pieces.iter().filter(|piece| !piece.signed).map(field));
        }
        if !touches(stamps, first, bits) && !carries(&self.carried, first, bits) {
            return Ok(Ok(()));
        }
        if shape.variable.is_some() {
            return Err(Refusal("a header of variable length holds the time stamp"));
        }
        for piece in &shape.pieces {
            let at = piece.first_bit(first) as usize;
            let mut abstract_value = form_of_bits(stamps, &self.carried, at, u32::from(piece.bits));
            if piece.signed && abstract_value != AbstractValue::Fixed {
                abstract_value = AbstractValue::Unknown;
            }
            self.abstract_values.set(place.base + piece.offset, abstract_value);
            self.record_time(place.base + piece.offset);
        }
        Ok(Ok(()))
    }

    fn select(&mut self, state: &State, select: &Select) -> Probe<Pc> {
        for part in &select.parts {
            if !self.all_fixed(part.slot, words::limbs_for(part.bits).max(1)) {
                return Err(Refusal("the parser selects by the time"));
            }
        }
        self.scratch.clear();
        for part in &select.parts {
            let slot = part.slot as usize;
            let mut writer = BitWriter::new(&mut self.scratch);
            writer.word(0, part.bits.div_ceil(8) * 8 - part.bits);
            writer.wide(&self.regs[slot..slot + words::limbs_for(part.bits).max(1)], part.bits);
        }
        let key = &self.scratch;
        if let Some(cases) = &select.narrow {
            let key = key.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
            let case = cases.iter().find(|(mask, value, _)| key & mask == *value);
            return Ok(case.map_or(select.default, |case| case.2));
        }
        for case in &select.cases {
            let (matches, to) = match case {
                SelectCase::Value { value, mask: None, to } => (value == key, *to),
                SelectCase::Value { value, mask: Some(mask), to } => {
                    let bytes = key.iter().zip(mask).zip(value);
                    let mut equal = bytes.map(|((key, mask), value)| key & mask == value & mask);
                    (equal.all(|equal| equal), *to)
                }
                SelectCase::ValueSet { set, mask, to } => {
                    (state.value_sets[*set as usize].contains(key, mask.as_deref()), *to)
                }
            };
            if matches {
                return Ok(to);
            }
        }
        Ok(select.default)
    }

    /// Looks up a table and prepares its action; gives where to go and where that returns to.
    fn table(&mut self, program: &Program, state: &State, index: u16) -> Probe<(Pc, Pc)> {
        let code = &program.code;
        let plan = &code.tables[index as usize];
        let table = &state.tables[index as usize];
        let is_known = |slot: Slot, limbs: usize| self.all_fixed(slot, limbs);
        if !plan.key.iter().all(|key| is_known(key.valid, 1)) {
            return Err(Refusal("a table is looked up by the time"));
        }
        let hit = match plan.key.iter().all(|key| is_known(key.slot, words::limbs_for(key.bits).max(1))) {
            true => table.lookup(&self.regs),
            false => table
                .lookup_known(&self.regs, |slot| is_known(slot, 1))
                .ok_or(Refusal("a table is looked up by the time"))?,
        };
        let bytes = self.fixed(packet_slot::INGRESS_LENGTH)?;
        if plan.counted {
            self.effects.push(Effect::EntryCount { table: index, entry: hit, bytes });
        }
        if plan.meter.is_some() && table.meter(hit).config().is_some() {
            return Err(Refusal("the pass is metered"));
        }
        if let Some(entry) = hit {
            if plan.timeout {
                self.effects.push(Effect::Hit { table: index, entry, egress: false });
            }
            if let Some((_, field)) = plan.meter {
                self.effects.push(Effect::EntryGreen { table: index, entry, bytes });
                self.set_value(field.slot, (0, AbstractValue::Fixed));
            }
        }
        let target = match hit {
            Some(entry) => &table.targets[entry as usize],
            None => match &table.default {
                Some(target) => target,
                None => return Ok((plan.miss, plan.miss)),
            },
        };
        let profile = plan.profile.unwrap_or(0) as usize;
        let member = match target {
            Target::Direct(binding) => {
                self.bind(code.param_base, &binding.words);
                return Ok((binding.entry, binding.next));
            }
            Target::Member(member) => Some(*member),
            Target::Group(group) => match &code.profiles[profile].selector {
                Some((algorithm, input)) => match self.hash(program, *algorithm, input, &[])? {
                    (hash, AbstractValue::Fixed) => state.profiles[profile].choose(*group, hash),
                    _ => return Err(Refusal("a member is selected by the time")),
                },
                None => None,
            },
        };
        match member.and_then(|member| state.profiles[profile].member(member)) {
            Some(binding) => {
                self.bind(code.param_base, &binding.words);
                let next = next_of(plan, binding.action, hit.is_some());
                Ok((code.actions[binding.action].entry, next))
            }
            None => Ok((plan.miss, plan.miss)),
        }
    }

    fn bind(&mut self, base: Slot, words: &[u64]) {
        self.regs[base as usize..][..words.len()].copy_from_slice(words);
        self.mark(base, words.len(), AbstractValue::Fixed);
    }

    fn hash(
        &mut self,
        program: &Program,
        algorithm: HashAlgorithm,
        input: &[HashInput],
        payload: &[u8],
    ) -> Probe<Value> {
        if algorithm == HashAlgorithm::Random {
            return Err(Refusal("the pass takes a random number"));
        }
        let layout = &program.layout;
        let fixed = input.iter().all(|item| match item {
            HashInput::Field { slot, bits, variable, header } => {
                let base = layout.flag(*header);
                let first = slot - u16::from(*variable);
                self.all_fixed(base, 1) && self.all_fixed(first, words::limbs_for(*bits).max(1) + 1)
                    || self.regs[base as usize] == 0 && self.all_fixed(base, 1)
                    || !variable && *bits <= 64 && self.all_fixed(base, 1) && self.all_fixed(*slot, 1)
            }
            HashInput::Header { header } => {
                let base = layout.headers[*header as usize].base;
                self.all_fixed(base, layout.shape_of(*header).slots as usize)
                    || self.regs[base as usize] == 0 && self.all_fixed(base, 1)
            }
            HashInput::Constant { .. } | HashInput::Payload => true,
        });
        hash_input(layout, input, &self.regs, payload, &mut self.scratch);
        let value = hash::hash(algorithm, &self.scratch, &mut Rng::new(0));
        Ok((value, if fixed { AbstractValue::Fixed } else { AbstractValue::Unknown }))
    }
}
