//! Builds the code of a part of a program, instruction by instruction. Word operations, branches, register arrays,
//! counters, tables and the headers of fixed size are inline; everything else calls the host, which executes the
//! instruction as the interpreter would.

use std::rc::Rc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types::I32, types::I64, InstBuilder, SigRef, Value};
use cranelift_frontend::{FunctionBuilder, Variable};
use rustc_hash::FxHashSet;

use super::at::{At, NOWHERE};
use super::cases::Case;
use super::flow::{cell_flags, fixed_flags, Builder, Findings, Key, Known, Place, Round, Seen, CURSOR};
use super::graph::Graph;
use super::views::COUNTER_WORDS;
use super::ways::Way;
use super::{
    Offsets, PORT_SHIFT, STATUS_BITS, STATUS_DONE, STATUS_DROPPED, STATUS_QUEUED, STATUS_REPLICATES,
    STATUS_RUNAWAY, STATUS_STOPPED,
};
use crate::code::calculation::SumPlan;
use crate::code::ir::{Op, Pc, Select, SelectCase};
use crate::code::layout::{packet_slot, Layout, Slot};
use crate::code::program::Code;
use crate::code::registers::RegisterPlace;
use crate::exec::context::LOOP_LIMIT;
use crate::load::effects::{effects, Effects};
use crate::numbers::words::{from_bytes, limbs_for, mask64, sign_extend};
use crate::packets::packet::InstanceType;

/// Select cases that become a chain of comparisons.
const MAX_INLINE_CASES: usize = 24;

/// Addresses of host functions.
#[derive(Clone, Copy)]
pub(super) struct Host {
    /// Executes one instruction.
    pub step: u64,
    /// Finds where a table leads, if it has leads.
    pub find: u64,
    /// As `find`, given a key of one word.
    pub find_word: u64,
    /// Looks up a table and prepares its action.
    pub table: u64,
}

/// The parts of a program that are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Parser and ingress.
    Ingress,
    /// The same for a frame from a port, which brings no metadata.
    Frame,
    /// Egress alone.
    Egress,
    /// Deparser and headers follow egress.
    EgressToHeaders,
    Deparser,
}

/// The places that the parts of a program leave for others.
pub(super) struct Ends {
    pub ingress: Rc<Seen>,
    /// After ingress that drops the packet.
    pub dropped: Rc<Seen>,
    pub egress: Rc<Seen>,
    pub deparser: Rc<Seen>,
    /// After all: what the target looks at.
    pub target: Rc<Seen>,
}

/// All that building needs to know of a program.
pub(super) struct Source<'c> {
    pub code: &'c Code,
    pub layout: &'c Layout,
    /// By table.
    pub ways: &'c [Vec<Way>],
    /// The entries that the program brings, by table.
    pub entries: &'c [Vec<Case>],
    pub host: Host,
    pub ends: &'c Ends,
    /// Packets leave the pipeline by `exit`.
    pub exits: bool,
    /// Cells of each counter.
    pub counters: Vec<usize>,
    /// The greatest number that a slot may hold.
    pub bounds: &'c [u64],
    /// Slots with their values at the start of a pass, those that the target may set excepted.
    pub start: &'c [(Slot, u64)],
    /// Those that the target may set, as they are before.
    pub of_target: &'c [(Slot, u64)],
}

pub(super) struct Emitter<'c, 'f> {
    pub source: &'c Source<'c>,
    pub b: Builder<'f>,
    part: Part,
    /// The instruction in work.
    pub at: At,
    /// Loops that were counted; there only where the part has any.
    loops: Option<Variable>,
    /// The lead that a table has given, and the number of the way in it.
    pub lead: Variable,
    pub way: Variable,
    /// Where the next byte of a header goes.
    pub out: Variable,
    call_step: SigRef,
    call_with_key: SigRef,
}

/// Builds a part; `signatures` are those of a host function without and with a key.
pub(super) fn build(
    source: &Source,
    part: Part,
    graph: &Graph,
    mut ins: FunctionBuilder,
    signatures: (SigRef, SigRef),
    findings: &Findings,
    round: Round,
) -> Findings {
    let entry = graph.blocks[0];
    let loops: FxHashSet<Key> = graph.loops.iter().map(|&at| (at, 0)).collect();
    let has_loops = !loops.is_empty();
    let first = (At { pc: NOWHERE, ..entry }, 0);
    let [counter, lead, way, out] = std::array::from_fn(|number| {
        let variable = Variable::from_u32(number as u32);
        ins.declare_var(variable, I64);
        variable
    });
    let b = Builder::new(ins, first, loops, i32::from(Offsets::CURSOR), findings);
    let loops = has_loops.then_some(counter);
    let (call_step, call_with_key) = signatures;
    let mut emitter = Emitter { source, b, part, at: entry, loops, lead, way, out, call_step, call_with_key };
    emitter.restart_loops();
    if matches!(part, Part::Ingress | Part::Frame) {
        emitter.start();
    }
    emitter.b.goto((entry, 0));
    for &block in &graph.blocks {
        if !emitter.b.begin((block, 0)) {
            continue;
        }
        let mut at = block;
        loop {
            emitter.at = at;
            match source.code.ops.get(at.pc as usize) {
                Some(op) => emitter.op(op),
                None => emitter.end(),
            }
            if emitter.b.ended {
                break;
            }
            at = at.to(at.pc + 1);
            if graph.starts.contains(&at) {
                emitter.b.goto((at, 0));
                break;
            }
        }
    }
    emitter.b.finish(round)
}

fn low_bits(mask: u64) -> bool {
    mask & mask.wrapping_add(1) == 0
}

impl<'c> Emitter<'c, '_> {
    /// Value of a slot that holds a constant.
    pub fn constant(&self, slot: Slot) -> Option<u64> {
        self.source.code.constant(slot)
    }

    pub fn get(&mut self, slot: Slot) -> Known {
        match self.constant(slot) {
            Some(value) => Known::Const(value),
            None => {
                let known = self.b.load(slot.into());
                if let Known::Value(value) = known {
                    if let Some(&bound) = self.source.bounds.get(slot as usize) {
                        self.b.bound(value, bound);
                    }
                }
                known
            }
        }
    }

    /// Puts a value into a slot; the slot's greatest number has to hold for it.
    pub fn set(&mut self, slot: Slot, known: Known) {
        let bound = self.source.bounds.get(slot as usize).copied().unwrap_or(u64::MAX);
        let known = self.mask(known, bound);
        self.b.store(slot.into(), known);
    }

    pub fn key(&self, number: u32) -> Key {
        (self.at, number)
    }

    pub fn to(&self, pc: Pc) -> Key {
        (self.at.to(pc.min(self.source.code.ops.len() as Pc)), 0)
    }

    fn ended(&self) -> Key {
        (self.at.outside(self.source.code.ops.len() as Pc), 0)
    }

    /// Sets the slots of a new packet; those that the target may set are there already, unless it is a frame from a port.
    fn start(&mut self) {
        let Source { code, start, of_target, .. } = self.source;
        let read = code.liveness.as_ref().map_or(&[][..], |liveness| &liveness.start.slots);
        let of_target = if self.part == Part::Frame { *of_target } else { &[] };
        let no_error = code.errors.no_error;
        let of_parser = [(packet_slot::PARSER_ERROR, no_error), (packet_slot::CHECKSUM_ERROR, 0)];
        let others = start.iter().chain(of_target).copied();
        let others = others.filter(|(slot, _)| of_parser.iter().all(|(of_parser, _)| of_parser != slot));
        let slots = others.chain(of_parser);
        // Steps that the host executes may read any register of the packet.
        let is_read = |slot: Slot| slot < packet_slot::COUNT || read.binary_search(&slot).is_ok();
        let slots = slots.map(|(slot, value)| (slot, value, is_read(slot)));
        self.b.start_with(slots);
        if self.part == Part::Frame {
            let length = Known::Value(self.load_frame(Offsets::LENGTH));
            let drop_port = Known::Value(self.load_frame(Offsets::DROP_PORT));
            self.b.store(packet_slot::DROP_PORT.into(), drop_port);
            self.b.store(packet_slot::LENGTH.into(), length);
            self.b.store(packet_slot::INGRESS_LENGTH.into(), length);
            let fields = &code.intrinsics;
            for (field, word) in [
                (fields.ingress_port, Offsets::PORT),
                (fields.ingress_timestamp, Offsets::STAMP),
                (fields.packet_length, Offsets::LENGTH),
            ] {
                if let Some(field) = field {
                    let value = Known::Value(self.load_frame(word));
                    let value = self.mask(value, field.mask);
                    self.set(field.slot, value);
                }
            }
        }
        self.b.begin_with(CURSOR, 0);
    }

    fn restart_loops(&mut self) {
        if let Some(loops) = self.loops {
            let zero = self.b.ins.ins().iconst(I64, 0);
            self.b.ins.def_var(loops, zero);
        }
    }

    // Words.

    fn with(
        &mut self,
        a: Known,
        b: Known,
        fold: impl Fn(u64, u64) -> u64,
        emit: impl Fn(&mut Self, Value, Value) -> Value,
    ) -> Known {
        match (a, b) {
            (Known::Const(a), Known::Const(b)) => Known::Const(fold(a, b)),
            _ => {
                let (a, b) = (self.b.value(a), self.b.value(b));
                Known::Value(emit(self, a, b))
            }
        }
    }

    pub fn mask(&mut self, a: Known, mask: u64) -> Known {
        match a {
            Known::Const(a) => Known::Const(a & mask),
            Known::Value(value) => {
                if low_bits(mask) && self.b.bound_of(value) <= mask {
                    return a;
                }
                let masked = match mask {
                    0 => return Known::Const(0),
                    0xffff_ffff => {
                        let low = self.b.ins.ins().ireduce(I32, value);
                        self.b.ins.ins().uextend(I64, low)
                    }
                    _ => self.b.ins.ins().band_imm(value, mask as i64),
                };
                self.b.bound(masked, mask);
                Known::Value(masked)
            }
        }
    }

    pub fn and(&mut self, a: Known, b: Known) -> Known {
        match (a, b) {
            (Known::Const(0), _) | (_, Known::Const(0)) => Known::Const(0),
            (a, Known::Const(u64::MAX)) | (Known::Const(u64::MAX), a) => a,
            _ => {
                let bound = self.bound(a).min(self.bound(b));
                let known = self.with(a, b, |a, b| a & b, |this, a, b| this.b.ins.ins().band(a, b));
                self.bounded(known, bound)
            }
        }
    }

    pub fn or(&mut self, a: Known, b: Known) -> Known {
        match (a, b) {
            (a, Known::Const(0)) | (Known::Const(0), a) => a,
            _ => {
                let most = self.bound(a).max(self.bound(b));
                let bound = mask64(64 - most.leading_zeros());
                let known = self.with(a, b, |a, b| a | b, |this, a, b| this.b.ins.ins().bor(a, b));
                self.bounded(known, bound)
            }
        }
    }

    pub fn xor(&mut self, a: Known, b: Known) -> Known {
        let most = self.bound(a).max(self.bound(b));
        let bound = mask64(64 - most.leading_zeros());
        let known = self.with(a, b, |a, b| a ^ b, |this, a, b| this.b.ins.ins().bxor(a, b));
        self.bounded(known, bound)
    }

    pub fn add(&mut self, a: Known, b: Known) -> Known {
        match (a, b) {
            (a, Known::Const(0)) | (Known::Const(0), a) => a,
            _ => {
                let bound = self.bound(a).saturating_add(self.bound(b));
                let known =
                    self.with(a, b, |a, b| a.wrapping_add(b), |this, a, b| this.b.ins.ins().iadd(a, b));
                self.bounded(known, bound)
            }
        }
    }

    fn sub(&mut self, a: Known, b: Known) -> Known {
        self.with(a, b, |a, b| a.wrapping_sub(b), |this, a, b| this.b.ins.ins().isub(a, b))
    }

    /// By a number of 0..=63.
    pub fn left(&mut self, a: Known, amount: u8) -> Known {
        match a {
            a if amount == 0 => a,
            Known::Const(a) => Known::Const(a << amount),
            Known::Value(value) => {
                let bound = self.bound(a);
                let bound =
                    if bound.leading_zeros() >= u32::from(amount) { bound << amount } else { u64::MAX };
                let shifted = self.b.ins.ins().ishl_imm(value, i64::from(amount));
                self.bounded(Known::Value(shifted), bound)
            }
        }
    }

    /// By a number of 0..=63.
    pub fn right(&mut self, a: Known, amount: u8) -> Known {
        match a {
            a if amount == 0 => a,
            Known::Const(a) => Known::Const(a >> amount),
            Known::Value(value) => {
                let bound = self.bound(a) >> amount;
                let shifted = self.b.ins.ins().ushr_imm(value, i64::from(amount));
                self.bounded(Known::Value(shifted), bound)
            }
        }
    }

    pub fn bound(&self, known: Known) -> u64 {
        match known {
            Known::Const(value) => value,
            Known::Value(value) => self.b.bound_of(value),
        }
    }

    pub fn bounded(&mut self, known: Known, bound: u64) -> Known {
        if let Known::Value(value) = known {
            self.b.bound(value, bound);
        }
        known
    }

    fn shift_by(&mut self, a: Known, amount: Known, left: bool) -> Known {
        match amount {
            Known::Const(amount) if amount > 63 => Known::Const(0),
            Known::Const(amount) if left => self.left(a, amount as u8),
            Known::Const(amount) => self.right(a, amount as u8),
            Known::Value(amount) => {
                let a = self.b.value(a);
                let ins = &mut self.b.ins;
                let shifted = if left { ins.ins().ishl(a, amount) } else { ins.ins().ushr(a, amount) };
                let zero = ins.ins().iconst(I64, 0);
                let fits = ins.ins().icmp_imm(IntCC::UnsignedLessThan, amount, 64);
                Known::Value(ins.ins().select(fits, shifted, zero))
            }
        }
    }

    fn shift_signed(&mut self, a: Known, amount: Known) -> Known {
        let most = Known::Const(63);
        let amount = self.with(amount, most, u64::min, |this, a, b| this.b.ins.ins().umin(a, b));
        self.with(a, amount, |a, b| (a as i64 >> b) as u64, |this, a, b| this.b.ins.ins().sshr(a, b))
    }

    /// True where both are equal, and so on: 1 or 0.
    fn truth(&mut self, cond: IntCC, a: Known, b: Known) -> Known {
        if let (Known::Const(a), Known::Const(b)) = (a, b) {
            return Known::Const(u64::from(holds(cond, a, b)));
        }
        let truth = self.compare(cond, a, b);
        let truth = self.b.ins.ins().uextend(I64, truth);
        self.bounded(Known::Value(truth), 1)
    }

    /// Compares; at least one of both is no number.
    fn compare(&mut self, cond: IntCC, a: Known, b: Known) -> Value {
        match (a, b) {
            (Known::Value(a), Known::Const(b)) => self.b.ins.ins().icmp_imm(cond, a, b as i64),
            _ => {
                let (a, b) = (self.b.value(a), self.b.value(b));
                self.b.ins.ins().icmp(cond, a, b)
            }
        }
    }

    fn branch(&mut self, cond: IntCC, a: Slot, b: Slot, to: Pc) {
        let (then, otherwise) = (self.to(to), self.to(self.at.pc + 1));
        let (left, right) = (self.get(a), self.get(b));
        if let (Known::Const(left), Known::Const(right)) = (left, right) {
            return self.b.goto(if holds(cond, left, right) { then } else { otherwise });
        }
        let condition = self.compare(cond, left, right);
        let known = |slot: Slot, other: Known| match other {
            Known::Const(number) => Some((Place::from(slot), number)),
            Known::Value(_) => None,
        };
        let equal = if self.constant(a).is_none() { known(a, right) } else { known(b, left) };
        let equal = equal.filter(|&(place, _)| self.constant(place as Slot).is_none());
        match cond {
            IntCC::Equal => self.b.branch_knowing(condition, then, equal, otherwise, None),
            IntCC::NotEqual => self.b.branch_knowing(condition, then, None, otherwise, equal),
            _ => self.b.branch(condition, then, otherwise),
        }
    }

    pub fn branch_on_zero(&mut self, a: Slot, zero: Key, other: Key) {
        match self.get(a) {
            Known::Const(0) => self.b.goto(zero),
            Known::Const(_) => self.b.goto(other),
            Known::Value(value) => {
                let place = Place::from(a);
                let one = (self.b.bound_of(value) == 1).then_some((place, 1));
                self.b.branch_knowing(value, other, one, zero, Some((place, 0)));
            }
        }
    }

    // The host.

    fn call(&mut self, function: u64, argument: u32) -> Value {
        let function = self.b.ins.ins().iconst(I64, function as i64);
        let argument = self.b.ins.ins().iconst(I32, i64::from(argument));
        let call = self.b.ins.ins().call_indirect(self.call_step, function, &[self.b.frame, argument]);
        self.b.ins.inst_results(call)[0]
    }

    pub fn call_table(&mut self, table: u16) -> Value {
        self.call(self.source.host.table, table.into())
    }

    pub fn call_find(&mut self, table: u16) -> Value {
        self.call(self.source.host.find, table.into())
    }

    pub fn call_find_word(&mut self, table: u16, key: Known) -> Value {
        let function = self.b.ins.ins().iconst(I64, self.source.host.find_word as i64);
        let table = self.b.ins.ins().iconst(I32, i64::from(table));
        let key = self.b.value(key);
        let call = self.b.ins.ins().call_indirect(self.call_with_key, function, &[self.b.frame, table, key]);
        self.b.ins.inst_results(call)[0]
    }

    /// Lets the host see all that the instruction in work reads.
    pub fn show_reads(&mut self) {
        let Source { code, layout, .. } = self.source;
        self.b.show(CURSOR);
        for slot in 0..packet_slot::COUNT {
            self.b.show(slot.into());
        }
        match effects(code, layout, &code.ops[self.at.pc as usize]) {
            Some(Effects { reads, contents, extracts, .. }) => {
                for (first, count) in reads {
                    (first..first + count as Slot).for_each(|slot| self.show(slot));
                }
                for header in contents.into_iter().chain(extracts) {
                    let mut block = layout.block(header);
                    block.next().into_iter().for_each(|valid| self.show(valid));
                    block.for_each(|field| self.b.show_if_valid(field.into()));
                }
            }
            None => (0..code.constant_base).for_each(|slot| self.show(slot)),
        }
    }

    pub fn show(&mut self, slot: Slot) {
        if self.constant(slot).is_none() {
            self.b.show(slot.into());
        }
    }

    /// Forgets all that the instruction in work changes.
    pub fn forget_writes(&mut self) {
        let Source { code, layout, .. } = self.source;
        let op = &code.ops[self.at.pc as usize];
        self.b.forget(CURSOR);
        let leaves_registers = matches!(
            op,
            Op::Extract { .. }
                | Op::ExtractNext { .. }
                | Op::ExtractUnionNext { .. }
                | Op::Advance { .. }
                | Op::Lookahead { .. }
                | Op::Select { .. }
                | Op::Table { .. }
        );
        if !leaves_registers {
            (0..packet_slot::COUNT).for_each(|slot| self.b.forget(slot.into()));
        }
        match effects(code, layout, op).filter(|_| layout.unions.is_empty()) {
            Some(Effects { writes, may_write, extracts, .. }) => {
                for (first, count) in writes.into_iter().chain(may_write) {
                    (first..first + count as Slot).for_each(|slot| self.b.forget(slot.into()));
                }
                for header in extracts.into_iter().chain(self.changed_header(op)) {
                    layout.block(header).for_each(|slot| self.b.forget(slot.into()));
                }
                if let Op::ExtractNext { stack } = *op {
                    for &header in &layout.stacks[stack as usize].headers {
                        layout.block(header).for_each(|slot| self.b.forget(slot.into()));
                    }
                }
            }
            None => self.b.forget_all(),
        }
    }

    /// The header that an instruction changes as a whole.
    fn changed_header(&self, op: &Op) -> Option<u16> {
        let (Op::AddHeader { header } | Op::RemoveHeader { header } | Op::AssignHeader { dst: header, .. }) =
            *op
        else {
            return None;
        };
        self.constant(header).and_then(|id| u16::try_from(id).ok())
    }

    /// Lets the host execute the instruction, which may only go on with the next one.
    pub fn host(&mut self) {
        self.show_reads();
        self.call(self.source.host.step, self.at.pc);
        self.forget_writes();
    }

    /// Lets the host execute the instruction, which goes on with the next one or with the end of the parser.
    pub fn host_jump(&mut self) {
        self.host_jump_to(self.to(self.at.pc + 1));
    }

    pub fn host_jump_to(&mut self, next: Key) {
        self.show_reads();
        let elsewhere = self.call(self.source.host.step, self.at.pc);
        self.forget_writes();
        let failed = self.key(999);
        self.b.seldom(failed);
        self.b.branch(elsewhere, failed, next);
        self.b.begin(failed);
        self.b.forget(packet_slot::PARSER_ERROR.into());
        self.b.goto(self.to(self.source.code.parser_end));
    }

    pub fn branch_if(&mut self, cond: IntCC, a: Known, b: u64, then: Key, otherwise: Key) {
        match a {
            Known::Const(a) => self.b.goto(if holds(cond, a, b) { then } else { otherwise }),
            a => {
                let condition = self.compare(cond, a, Known::Const(b));
                self.b.branch(condition, then, otherwise);
            }
        }
    }

    // Parts.

    /// The end of a stage.
    fn end(&mut self) {
        let ends = self.source.ends;
        match (self.part, self.at.second) {
            (Part::Ingress | Part::Frame, false) => self.enter_ingress(),
            (Part::Ingress | Part::Frame, true) => self.leave_ingress(),
            (Part::EgressToHeaders, false) => self.enter_deparser(),
            (Part::Egress, _) => self.leave(STATUS_DONE, &ends.egress),
            (Part::Deparser, _) => self.leave(STATUS_DONE, &ends.deparser),
            (Part::EgressToHeaders, true) => {
                self.emit_headers();
                self.leave(STATUS_DONE, &ends.target);
            }
        }
    }

    fn leave(&mut self, status: u32, seen: &Rc<Seen>) {
        self.b.look_at(seen);
        self.b.leave(status);
    }

    /// Says what becomes of the packet, as [`crate::exec::boundary::fate`] does; where it asks for something, or goes nowhere,
    /// that is left to the host.
    fn leave_ingress(&mut self) {
        let ends = self.source.ends;
        let fields = &self.source.code.intrinsics;
        let undecided = self.key(1);
        self.b.seldom(undecided);
        let requests = [
            packet_slot::ASSERT_FAILED,
            packet_slot::CLONE_SESSION,
            packet_slot::LEARN,
            packet_slot::RESUBMIT,
        ];
        let mut is_reached = true;
        for (number, slot) in (2..).zip(requests) {
            let on = self.key(number);
            self.branch_on_zero(slot, on, undecided);
            is_reached = self.b.begin(on);
            if !is_reached {
                break;
            }
        }
        let [alone, copied, stays, known, queued, dropped] =
            std::array::from_fn(|at| self.key(10 + at as u32));
        if is_reached {
            match fields.multicast_group {
                Some(group) => self.branch_on_zero(group.slot, alone, copied),
                None => self.b.goto(alone),
            }
        }
        if self.b.begin(alone) {
            let port = fields.egress_spec.map_or(Known::Const(0), |field| self.get(field.slot));
            let drop_port = self.load_frame(Offsets::DROP_PORT);
            let drops = self.compare(IntCC::Equal, port, Known::Value(drop_port));
            self.b.branch(drops, dropped, stays);
            if self.b.begin(stays) {
                let max_port = self.load_frame(Offsets::MAX_PORT);
                let is_port = self.compare(IntCC::UnsignedLessThanOrEqual, port, Known::Value(max_port));
                self.b.branch(is_port, known, undecided);
            }
            if self.b.begin(known) {
                let priority = fields.priority.map_or(Known::Const(0), |field| self.get(field.slot));
                let queues = self.load_frame(Offsets::QUEUES_PER_PORT);
                let is_queue = self.compare(IntCC::UnsignedLessThan, priority, Known::Value(queues));
                self.b.branch(is_queue, queued, undecided);
                if self.b.begin(queued) {
                    let (port, priority) =
                        (self.left(port, PORT_SHIFT as u8), self.left(priority, STATUS_BITS as u8));
                    let status = self.or(port, priority);
                    let status = self.or(status, Known::Const(STATUS_QUEUED.into()));
                    self.goes_on(InstanceType::Normal);
                    self.b.leave_late(status, &ends.ingress);
                }
            }
            if self.b.begin(dropped) {
                self.leave(STATUS_DROPPED, &ends.dropped);
            }
        }
        if self.b.begin(copied) {
            self.goes_on(InstanceType::Replicated);
            self.b.leave_late(Known::Const(STATUS_REPLICATES.into()), &ends.ingress);
        }
        if self.b.begin(undecided) {
            self.b.leave_late(Known::Const(STATUS_DONE.into()), &ends.ingress);
        }
    }

    /// Sets the slots of a packet that goes to egress.
    fn goes_on(&mut self, instance_type: InstanceType) {
        self.set(packet_slot::EXIT, Known::Const(0));
        if let Some(field) = self.source.code.intrinsics.instance_type {
            self.set(field.slot, Known::Const(instance_type as u64 & field.mask));
        }
    }

    /// Tells the program the verdict of the parser, and goes on with ingress, as [`crate::exec::boundary`] does.
    fn enter_ingress(&mut self) {
        let code = self.source.code;
        for (field, slot) in [
            (code.intrinsics.parser_error, packet_slot::PARSER_ERROR),
            (code.intrinsics.checksum_error, packet_slot::CHECKSUM_ERROR),
        ] {
            if let Some(field) = field {
                let value = self.get(slot);
                let value = self.mask(value, field.mask);
                self.set(field.slot, value);
            }
        }
        self.restart_loops();
        self.b.goto((At { pc: code.ingress_entry, next: NOWHERE, second: true }, 0));
    }

    /// Goes on with the deparser, unless egress asked for something or dropped the packet: then the host is told that the
    /// code has stopped.
    fn enter_deparser(&mut self) {
        let code = self.source.code;
        let stop = self.key(1);
        self.b.seldom(stop);
        for (number, slot) in [(2, packet_slot::ASSERT_FAILED), (3, packet_slot::CLONE_SESSION)] {
            let on = self.key(number);
            self.branch_on_zero(slot, on, stop);
            if !self.b.begin(on) {
                break;
            }
        }
        if !self.b.ended {
            let spec = code.intrinsics.egress_spec.map_or(Known::Const(0), |field| self.get(field.slot));
            let drop_port = self.load_frame(Offsets::DROP_PORT);
            let drops = self.compare(IntCC::Equal, spec, Known::Value(drop_port));
            self.b.branch(drops, stop, self.key(4));
        }
        if self.b.begin(stop) {
            self.leave(STATUS_STOPPED, &self.source.ends.egress);
        }
        if self.b.begin(self.key(4)) {
            self.restart_loops();
            self.b.goto((At { pc: code.deparser_entry, next: NOWHERE, second: true }, 0));
        }
    }

    /// A word of the frame that does not change while the code runs.
    pub fn load_frame(&mut self, offset: u8) -> Value {
        self.b.ins.ins().load(I64, fixed_flags(), self.b.frame, i32::from(offset))
    }

    fn op(&mut self, op: &Op) {
        let code = self.source.code;
        let on = self.to(self.at.pc + 1);
        match *op {
            Op::Halt => self.b.goto(self.ended()),
            Op::Return => {
                let back = (self.at.outside(self.at.next.min(code.ops.len() as Pc)), 0);
                if self.source.exits {
                    self.branch_on_zero(packet_slot::EXIT, back, self.ended());
                } else {
                    self.b.goto(back);
                }
            }
            Op::HaltIfExit => {
                if self.source.exits {
                    self.branch_on_zero(packet_slot::EXIT, on, self.ended());
                } else {
                    self.b.goto(on);
                }
            }
            Op::Jump { to } => self.b.goto(self.to(to)),
            Op::Guard => self.count_loop(),
            Op::BranchZero { a, to } => self.branch_on_zero(a, self.to(to), on),
            Op::BranchNotZero { a, to } => self.branch_on_zero(a, on, self.to(to)),
            Op::BranchEq { a, b, to } => self.branch(IntCC::Equal, a, b, to),
            Op::BranchNe { a, b, to } => self.branch(IntCC::NotEqual, a, b, to),
            Op::BranchLessU { a, b, to } => self.branch(IntCC::UnsignedLessThan, a, b, to),
            Op::BranchNotLessU { a, b, to } => self.branch(IntCC::UnsignedGreaterThanOrEqual, a, b, to),
            Op::BranchLessS { a, b, to } => self.branch(IntCC::SignedLessThan, a, b, to),
            Op::BranchNotLessS { a, b, to } => self.branch(IntCC::SignedGreaterThanOrEqual, a, b, to),
            Op::MoveMany { dst, a, count } if count <= 2 && !(dst > a && dst < a + count) => {
                for word in 0..count {
                    let value = self.get(a + word);
                    self.set(dst + word, value);
                }
            }
            Op::Extract { header } => self.extract(header),
            Op::ParserError { a } => {
                let error = self.get(a);
                self.set(packet_slot::PARSER_ERROR, error);
                self.b.goto(self.to(code.parser_end));
            }
            Op::Select { select } => {
                let select = &code.selects[select as usize];
                match &select.narrow {
                    Some(cases) if cases.len() <= MAX_INLINE_CASES => self.select(select, cases),
                    None if has_few_values(select) => self.wide_select(select),
                    _ => self.host_select(select),
                }
            }
            Op::Table { table } => self.table(table),
            Op::RegisterRead { dst, register, index } if code.registers[register as usize].limbs == 1 => {
                self.read_register(dst, register, index);
            }
            Op::RegisterWrite { register, index, src } if code.registers[register as usize].limbs == 1 => {
                self.write_register(register, index, src);
            }
            Op::Count { counter, index } => self.count(counter, index),
            Op::Hash { dst, calculation } => match &code.calculations[calculation as usize].sum {
                Some(plan) if !plan.payload => self.checksum(dst, plan),
                _ => self.host(),
            },
            Op::Lookahead { dst, offset, bits, check, signed } => {
                self.lookahead(dst, offset, u32::from(bits), check, signed);
            }
            Op::AddHeader { header } => self.add_header(header),
            Op::RemoveHeader { header } => self.remove_header(header),
            Op::ExtractNext { .. } | Op::ExtractUnionNext { .. } | Op::Advance { .. } => self.host_jump(),
            ref op => match self.word(op) {
                Some((dst, value)) => self.set(dst, value),
                None => self.host(),
            },
        }
    }

    /// The result of an instruction on words.
    fn word(&mut self, op: &Op) -> Option<(Slot, Known)> {
        let value = match *op {
            Op::Move { dst, a } => (dst, self.get(a)),
            Op::Add { dst, a, b, mask } => {
                let (a, b) = (self.get(a), self.get(b));
                let sum = self.add(a, b);
                (dst, self.mask(sum, mask))
            }
            Op::Sub { dst, a, b, mask } => {
                let (a, b) = (self.get(a), self.get(b));
                let difference = self.sub(a, b);
                (dst, self.mask(difference, mask))
            }
            Op::Mul { dst, a, b, mask } => {
                let (a, b) = (self.get(a), self.get(b));
                let product =
                    self.with(a, b, |a, b| a.wrapping_mul(b), |this, a, b| this.b.ins.ins().imul(a, b));
                (dst, self.mask(product, mask))
            }
            Op::And { dst, a, b } => {
                let (a, b) = (self.get(a), self.get(b));
                (dst, self.and(a, b))
            }
            Op::Or { dst, a, b, mask } => {
                let (a, b) = (self.get(a), self.get(b));
                let both = self.or(a, b);
                (dst, self.mask(both, mask))
            }
            Op::Xor { dst, a, b, mask } => {
                let (a, b) = (self.get(a), self.get(b));
                let either = self.xor(a, b);
                (dst, self.mask(either, mask))
            }
            Op::AndMask { dst, a, mask } => {
                let a = self.get(a);
                (dst, self.mask(a, mask))
            }
            Op::Not { dst, a, mask } => {
                let a = self.get(a);
                let not = self.xor(a, Known::Const(u64::MAX));
                (dst, self.mask(not, mask))
            }
            Op::ShiftLeft { dst, a, b, mask } => {
                let (a, b) = (self.get(a), self.get(b));
                let shifted = self.shift_by(a, b, true);
                (dst, self.mask(shifted, mask))
            }
            Op::ShiftRightU { dst, a, b } => {
                let (a, b) = (self.get(a), self.get(b));
                (dst, self.shift_by(a, b, false))
            }
            Op::ShiftRightS { dst, a, b } => {
                let (a, b) = (self.get(a), self.get(b));
                (dst, self.shift_signed(a, b))
            }
            Op::Slice { dst, a, right, mask } => {
                let a = self.get(a);
                let shifted = self.right(a, right & 63);
                (dst, self.mask(shifted, mask))
            }
            Op::SignExtend { dst, a, bits } => {
                let a = self.get(a);
                let extended = match a {
                    Known::Const(a) => Known::Const(sign_extend(a, u32::from(bits))),
                    Known::Value(value) if (1..64).contains(&bits) => {
                        let up = self.b.ins.ins().ishl_imm(value, i64::from(64 - bits));
                        Known::Value(self.b.ins.ins().sshr_imm(up, i64::from(64 - bits)))
                    }
                    a => a,
                };
                (dst, extended)
            }
            Op::Eq { dst, a, b } => self.truth_of(IntCC::Equal, dst, a, b),
            Op::Ne { dst, a, b } => self.truth_of(IntCC::NotEqual, dst, a, b),
            Op::LessU { dst, a, b } => self.truth_of(IntCC::UnsignedLessThan, dst, a, b),
            Op::LessS { dst, a, b } => self.truth_of(IntCC::SignedLessThan, dst, a, b),
            Op::IsZero { dst, a } => {
                let a = self.get(a);
                (dst, self.truth(IntCC::Equal, a, Known::Const(0)))
            }
            Op::MinS { dst, a, b } => self.choose(dst, a, b, IntCC::SignedLessThan),
            Op::MaxS { dst, a, b } => self.choose(dst, a, b, IntCC::SignedGreaterThan),
            Op::MinU { dst, a, b } => self.choose(dst, a, b, IntCC::UnsignedLessThan),
            _ => return None,
        };
        Some(value)
    }

    fn truth_of(&mut self, cond: IntCC, dst: Slot, a: Slot, b: Slot) -> (Slot, Known) {
        let (a, b) = (self.get(a), self.get(b));
        (dst, self.truth(cond, a, b))
    }

    /// The first of two values if the condition holds for both, else the second.
    fn choose(&mut self, dst: Slot, a: Slot, b: Slot, cond: IntCC) -> (Slot, Known) {
        let (a, b) = (self.get(a), self.get(b));
        let fold = |a, b| if holds(cond, a, b) { a } else { b };
        let choice = self.with(a, b, fold, |this, a, b| {
            let first = this.b.ins.ins().icmp(cond, a, b);
            this.b.ins.ins().select(first, a, b)
        });
        (dst, choice)
    }

    fn count_loop(&mut self) {
        let Some(loops) = self.loops else { return };
        let count = self.b.ins.use_var(loops);
        let count = self.b.ins.ins().iadd_imm(count, 1);
        self.b.ins.def_var(loops, count);
        let runaway = self.b.ins.ins().icmp_imm(IntCC::UnsignedGreaterThan, count, i64::from(LOOP_LIMIT));
        let (runs_away, on) = (self.key(1), self.key(2));
        self.b.seldom(runs_away);
        self.b.branch(runaway, runs_away, on);
        if self.b.begin(runs_away) {
            self.b.leave(STATUS_RUNAWAY);
        }
        self.b.begin(on);
    }

    fn select(&mut self, select: &Select, cases: &[(u64, u64, Pc)]) {
        let mut key = Known::Const(0);
        for (index, part) in select.parts.iter().enumerate() {
            let bytes = part.bits.div_ceil(8) as u8;
            let value = self.get(part.slot);
            let value = self.mask(value, mask64(part.bits));
            // Eight bytes can only be a part of their own.
            key = if index == 0 { value } else { self.left(key, 8 * bytes.min(7)) };
            key = if index == 0 { key } else { self.or(key, value) };
        }
        for (number, &(mask, value, to)) in (1..).zip(cases) {
            let subject = self.mask(key, mask);
            if let Known::Const(subject) = subject {
                if subject == value {
                    return self.b.goto(self.to(to));
                }
                continue;
            }
            let equal = self.compare(IntCC::Equal, subject, Known::Const(value));
            let otherwise = self.key(number);
            self.b.branch(equal, self.to(to), otherwise);
            self.b.begin(otherwise);
        }
        self.b.goto(self.to(select.default));
    }

    /// Compares a key of more than 64 bits with one case after the other, limb by limb.
    fn wide_select(&mut self, select: &Select) {
        for (number, case) in (1..).zip(&select.cases) {
            let SelectCase::Value { value, mask, to } = case else { continue };
            let next_case = self.key(2 * number);
            let mut test = None;
            let mut never = false;
            let mut at = 0;
            for part in &select.parts {
                let bytes = at..at + part.bits.div_ceil(8) as usize;
                at = bytes.end;
                let limbs = limbs_for(part.bits).max(1);
                let wanted = from_bytes(&value[bytes.clone()], limbs);
                let looked_at = match mask {
                    Some(mask) => from_bytes(&mask[bytes], limbs),
                    None => vec![u64::MAX; limbs],
                };
                for (limb, (wanted, looked_at)) in wanted.into_iter().zip(looked_at).enumerate() {
                    let held = mask64((part.bits - 64 * limb as u32).min(64));
                    // The key is 0 where its part has no bits.
                    if wanted & looked_at & !held != 0 {
                        never = true;
                    } else if looked_at & held != 0 {
                        let slot = part.slot + limb as Slot;
                        test = Some(self.differs(test, slot, looked_at & held, wanted & looked_at));
                    }
                }
            }
            if never {
                continue;
            }
            match test {
                None | Some(Known::Const(0)) => return self.b.goto(self.to(*to)),
                Some(Known::Const(_)) => continue,
                Some(Known::Value(differs)) => self.b.branch(differs, next_case, self.to(*to)),
            }
            self.b.begin(next_case);
        }
        self.b.goto(self.to(select.default));
    }

    /// Not 0 where a limb does not hold what it must, or where `others` did not.
    pub fn differs(&mut self, others: Option<Known>, slot: Slot, mask: u64, wanted: u64) -> Known {
        let value = self.get(slot);
        let value = self.mask(value, mask);
        let difference = self.xor(value, Known::Const(wanted));
        others.map_or(difference, |others| self.or(others, difference))
    }

    fn host_select(&mut self, select: &Select) {
        self.show_reads();
        let next = self.call(self.source.host.step, self.at.pc);
        self.forget_writes();
        let mut targets: Vec<Pc> = select.targets().collect();
        targets.sort_unstable();
        targets.dedup();
        let last = targets.pop().unwrap_or(select.default);
        for (number, to) in (1..).zip(targets) {
            // The host gives the number of the instruction, from 1 on.
            let equal = self.b.ins.ins().icmp_imm(IntCC::Equal, next, i64::from(to) + 1);
            let otherwise = self.key(number);
            self.b.branch(equal, self.to(to), otherwise);
            self.b.begin(otherwise);
        }
        self.b.goto(self.to(last));
    }

    /// The address of a cell of an array; for a number that is too large that of cells which nobody reads. The second result
    /// is true where there is such a cell; absent where there always is.
    fn cell(
        &mut self,
        views: u8,
        array: u16,
        index: Known,
        size: usize,
        stride: usize,
    ) -> (Value, Option<Value>) {
        let may_lack = self.bound(index) >= size as u64;
        let index = self.b.value(index);
        let views = self.load_frame(views);
        let first = self.b.ins.ins().load(I64, fixed_flags(), views, i32::from(array) * 16);
        let offset = self.b.ins.ins().imul_imm(index, stride as i64);
        let address = self.b.ins.ins().iadd(first, offset);
        if !may_lack {
            return (address, None);
        }
        let is_there = self.b.ins.ins().icmp_imm(IntCC::UnsignedLessThan, index, size as i64);
        let spare = self.load_frame(Offsets::SPARE_ROW);
        (self.b.ins.ins().select(is_there, address, spare), Some(is_there))
    }

    /// Address of the row of a register cell, whether there is one as in `cell`, and the distance of the cell from it.
    fn row(&mut self, register: u16, index: Slot) -> (Value, Option<Value>, i32) {
        let index = self.get(index);
        let registers = &self.source.code.registers;
        let place = &registers[register as usize];
        // All registers of a block have the same rows: the address of the first one is what all share.
        let is_first = |other: &RegisterPlace| other.block == place.block && other.offset == 0;
        let first = registers.iter().position(is_first).expect("a block has a first register");
        let (row, is_there) =
            self.cell(Offsets::REGISTERS, first as u16, index, place.size, 8 * place.stride);
        (row, is_there, 8 * place.offset as i32)
    }

    /// Reads a cell of one word; a cell that there is not leaves `dst` alone.
    fn read_register(&mut self, dst: Slot, register: u16, index: Slot) {
        let (row, is_there, at) = self.row(register, index);
        // Before the branch, so that all that follows shares the address of the row.
        let cell = self.b.ins.ins().load(I64, cell_flags(), row, at);
        let (absent, present, on) = (self.key(1), self.key(2), self.key(3));
        if let Some(is_there) = is_there {
            self.b.seldom(absent);
            self.b.branch(is_there, present, absent);
            self.b.begin(absent);
            self.b.load(dst.into());
            self.b.goto(on);
            self.b.begin(present);
        }
        self.set(dst, Known::Value(cell));
        if is_there.is_some() {
            self.b.goto(on);
            self.b.begin(on);
        }
    }

    /// Writes a cell of one word, if there is one.
    fn write_register(&mut self, register: u16, index: Slot, src: Slot) {
        let (row, _, at) = self.row(register, index);
        let src = self.get(src);
        let src = self.b.value(src);
        self.b.ins.ins().store(cell_flags(), src, row, at);
    }

    fn count(&mut self, counter: u16, index: Slot) {
        let index = self.get(index);
        let length = self.get(packet_slot::INGRESS_LENGTH);
        let size = self.source.counters[counter as usize];
        // A cell is two words: packets, then bytes.
        let (cell, _) = self.cell(Offsets::COUNTERS, counter, index, size, 8 * COUNTER_WORDS);
        let length = self.b.value(length);
        let packets = self.b.ins.ins().load(I64, cell_flags(), cell, 0);
        let packets = self.b.ins.ins().iadd_imm(packets, 1);
        self.b.ins.ins().store(cell_flags(), packets, cell, 0);
        let bytes = self.b.ins.ins().load(I64, cell_flags(), cell, 8);
        let bytes = self.b.ins.ins().iadd(bytes, length);
        self.b.ins.ins().store(cell_flags(), bytes, cell, 8);
    }

    /// Sums the fields of an Internet checksum and folds the sum.
    fn checksum(&mut self, dst: Slot, plan: &SumPlan) {
        let mut sum = Known::Const(plan.constant);
        for group in &plan.groups {
            let mut part = Known::Const(0);
            let valid = self.get(group.valid);
            if valid == Known::Const(0) {
                continue;
            }
            for term in &group.terms {
                let word = self.get(term.slot);
                let word = self.right(word, term.right);
                let word = if term.is_uppermost { word } else { self.mask(word, term.mask) };
                let word = self.left(word, term.left);
                let most = term.mask << term.left;
                let word = if self.bound(word) > most { self.bounded(word, most) } else { word };
                part = self.add(part, word);
            }
            let counts = match valid {
                Known::Const(_) => part,
                Known::Value(valid) => {
                    let (part, zero) = (self.b.value(part), self.b.value(Known::Const(0)));
                    let bound = self.b.bound_of(part);
                    let chosen = self.b.ins.ins().select(valid, part, zero);
                    self.bounded(Known::Value(chosen), bound)
                }
            };
            sum = self.add(sum, counts);
        }
        while self.bound(sum) > 0xffff {
            let most = self.bound(sum);
            let (low, high) = (self.mask(sum, 0xffff), self.right(sum, 16));
            sum = self.add(low, high);
            // One carry at most, which leaves room for itself.
            let most = if most < 0x1_ffff { 0xffff } else { 0xffff + (most >> 16) };
            sum = self.bounded(sum, most);
        }
        let sum = self.xor(sum, Known::Const(0xffff));
        self.set(dst, sum);
    }
}

/// True where all cases of a select are values as long as its key, and not too many to compare one after the other.
fn has_few_values(select: &Select) -> bool {
    let bytes = select.parts.iter().map(|part| part.bits.div_ceil(8) as usize).sum::<usize>();
    let fits = |case: &SelectCase| match case {
        SelectCase::Value { value, mask, .. } => {
            value.len() == bytes && mask.as_ref().is_none_or(|mask| mask.len() == bytes)
        }
        SelectCase::ValueSet { .. } => false,
    };
    select.cases.len() <= MAX_INLINE_CASES && select.cases.iter().all(fits)
}

fn holds(cond: IntCC, a: u64, b: u64) -> bool {
    match cond {
        IntCC::Equal => a == b,
        IntCC::NotEqual => a != b,
        IntCC::UnsignedLessThan => a < b,
        IntCC::UnsignedGreaterThanOrEqual => a >= b,
        IntCC::SignedLessThan => (a as i64) < b as i64,
        IntCC::SignedGreaterThan => a as i64 > b as i64,
        IntCC::SignedGreaterThanOrEqual => a as i64 >= b as i64,
        _ => unreachable!("no such comparison is made"),
    }
}
