//! Which slots an instruction reads and writes.

use crate::code::calculation::HashInput;
use crate::code::ir::Op;
use crate::code::layout::{packet_slot, Layout, Slot};
use crate::code::program::Code;
use crate::numbers::words::limbs_for;

/// The effect of an instruction on what has to be known of a packet before it.
#[derive(Default)]
pub(crate) struct Effects {
    /// First slot and number of what it may read.
    pub reads: Vec<(Slot, usize)>,
    /// Headers that it may read as a whole, if they are valid.
    pub contents: Vec<u16>,
    /// Its writes in any case.
    pub writes: Vec<(Slot, usize)>,
    /// Its possible writes: a use of it does not hide what was there before.
    pub may_write: Vec<(Slot, usize)>,
    /// Headers of which nothing is left that counts while they are valid.
    pub ends: Vec<u16>,
    /// A header that is new where the next instruction follows, and as it was where the parser ends.
    pub extracts: Option<u16>,
}

/// Reads of a calculation.
pub(super) fn add_inputs(effects: &mut Effects, layout: &Layout, inputs: &[HashInput]) {
    for input in inputs {
        match *input {
            HashInput::Field { slot, bits, variable, header } if layout.headers[header as usize].metadata => {
                let count = limbs_for(bits).max(1) + usize::from(variable);
                effects.reads.push((slot - u16::from(variable), count));
            }
            HashInput::Field { header, .. } => effects.contents.push(header),
            HashInput::Header { header } => effects.contents.push(header),
            HashInput::Constant { .. } | HashInput::Payload => {}
        }
    }
}

impl Effects {
    fn of(reads: &[(Slot, usize)], writes: &[(Slot, usize)]) -> Option<Effects> {
        Some(Effects { reads: reads.to_vec(), writes: writes.to_vec(), ..Effects::default() })
    }

    fn maybe(reads: &[(Slot, usize)], may_write: &[(Slot, usize)]) -> Option<Effects> {
        Some(Effects { reads: reads.to_vec(), may_write: may_write.to_vec(), ..Effects::default() })
    }
}

/// The effects of an instruction; `None` where they depend on more than the program. Tables are not followed into
/// their actions. The packet registers count as read at any time.
pub(crate) fn effects(code: &Code, layout: &Layout, op: &Op) -> Option<Effects> {
    let header_of = |slot: Slot| -> Option<u16> {
        let id = usize::try_from(code.constant(slot)?).ok()?;
        layout.headers.get(id).map(|_| id as u16)
    };
    let base = |header: u16| layout.headers[header as usize].base;
    match *op {
        Op::Halt
        | Op::Return
        | Op::HaltIfExit
        | Op::Jump { .. }
        | Op::Guard
        | Op::ParserError { .. }
        | Op::Advance { .. }
        | Op::Truncate { .. }
        | Op::VariableBits { .. }
        | Op::BranchZero { .. }
        | Op::BranchNotZero { .. } => {
            let read = match *op {
                Op::ParserError { a }
                | Op::Truncate { a }
                | Op::VariableBits { a }
                | Op::Advance { bits: a }
                | Op::BranchZero { a, .. }
                | Op::BranchNotZero { a, .. } => a,
                _ => packet_slot::EXIT,
            };
            Effects::of(&[(read, 1)], &[])
        }
        Op::BranchEq { a, b, .. }
        | Op::BranchNe { a, b, .. }
        | Op::BranchLessU { a, b, .. }
        | Op::BranchNotLessU { a, b, .. }
        | Op::BranchLessS { a, b, .. }
        | Op::BranchNotLessS { a, b, .. } => Effects::of(&[(a, 1), (b, 1)], &[]),
        Op::Move { dst, a }
        | Op::AndMask { dst, a, .. }
        | Op::Not { dst, a, .. }
        | Op::Slice { dst, a, .. }
        | Op::SignExtend { dst, a, .. }
        | Op::IsZero { dst, a } => Effects::of(&[(a, 1)], &[(dst, 1)]),
        Op::MoveMany { dst, a, count } => Effects::of(&[(a, count as usize)], &[(dst, count as usize)]),
        Op::Add { dst, a, b, .. }
        | Op::Sub { dst, a, b, .. }
        | Op::Mul { dst, a, b, .. }
        | Op::And { dst, a, b }
        | Op::Or { dst, a, b, .. }
        | Op::Xor { dst, a, b, .. }
        | Op::ShiftLeft { dst, a, b, .. }
        | Op::ShiftRightU { dst, a, b }
        | Op::ShiftRightS { dst, a, b }
        | Op::DivU { dst, a, b }
        | Op::ModU { dst, a, b }
        | Op::Eq { dst, a, b }
        | Op::Ne { dst, a, b }
        | Op::LessU { dst, a, b }
        | Op::LessS { dst, a, b }
        | Op::MinS { dst, a, b }
        | Op::MaxS { dst, a, b }
        | Op::MinU { dst, a, b } => Effects::of(&[(a, 1), (b, 1)], &[(dst, 1)]),
        Op::WExtend { dst, a, from, to, .. } => Effects::of(&[(a, from as usize)], &[(dst, to as usize)]),
        Op::WAdd { dst, a, b, limbs }
        | Op::WSub { dst, a, b, limbs }
        | Op::WMul { dst, a, b, limbs }
        | Op::WAnd { dst, a, b, limbs }
        | Op::WOr { dst, a, b, limbs }
        | Op::WXor { dst, a, b, limbs }
        | Op::WDiv { dst, a, b, limbs }
        | Op::WMod { dst, a, b, limbs } => {
            let limbs = limbs as usize;
            Effects::of(&[(a, limbs), (b, limbs)], &[(dst, limbs)])
        }
        Op::WNot { dst, a, limbs } => Effects::of(&[(a, limbs as usize)], &[(dst, limbs as usize)]),
        Op::WShiftLeft { dst, a, b, limbs } | Op::WShiftRight { dst, a, b, limbs, .. } => {
            Effects::of(&[(a, limbs as usize), (b, 1)], &[(dst, limbs as usize)])
        }
        Op::WTruncate { dst, limbs, .. } => {
            Effects::maybe(&[(dst, limbs as usize)], &[(dst, limbs as usize)])
        }
        Op::WEq { dst, a, b, limbs } | Op::WLess { dst, a, b, limbs, .. } => {
            Effects::of(&[(a, limbs as usize), (b, limbs as usize)], &[(dst, 1)])
        }
        Op::AddHeader { header } => Effects::of(&[(base(header_of(header)?), 1)], &[]),
        Op::RemoveHeader { header } => {
            let header = header_of(header)?;
            let mut effects = Effects::of(&[(base(header), 1)], &[])?;
            let shape = layout.shape_of(header);
            if let Some(index) = shape.variable {
                effects.reads.push((base(header) + shape.fields[index].offset - 1, 1));
            }
            if !layout.headers[header as usize].metadata {
                effects.ends.push(header);
            }
            Some(effects)
        }
        Op::AssignHeader { dst, src } => {
            let (dst, src) = (header_of(dst)?, header_of(src)?);
            let mut effects = Effects::of(&[(base(dst), 1)], &[])?;
            effects.contents.push(src);
            let (to, from) = (&layout.headers[dst as usize], &layout.headers[src as usize]);
            if dst != src && to.shape == from.shape && !to.metadata && !from.metadata {
                effects.ends.push(dst);
            }
            Some(effects)
        }
        Op::HeaderValid { dst, header } => Effects::of(&[(base(header_of(header)?), 1)], &[(dst, 1)]),
        Op::HeaderEq { dst, a, b } => {
            let mut effects = Effects::of(&[], &[(dst, 1)])?;
            effects.contents.extend([header_of(a)?, header_of(b)?]);
            Some(effects)
        }
        Op::StackElement { dst, index, .. } | Op::UnionStackElement { dst, index, .. } => {
            Effects::of(&[(index, 1)], &[(dst, 1)])
        }
        Op::StackLast { dst, stack } => Effects::of(&[(layout.stacks[stack as usize].next, 1)], &[(dst, 1)]),
        Op::LoadField { dst, header, offset, limbs } => {
            let mut effects = Effects::of(&[(header, 1)], &[(dst, limbs as usize)])?;
            // An id that is no constant is that of a member of a stack or of a union.
            let members = layout.stacks.iter().flat_map(|stack| &stack.headers);
            let members = members.chain(layout.unions.iter().flat_map(|union| &union.headers));
            let headers = match header_of(header) {
                Some(header) => vec![header],
                None => members.copied().collect(),
            };
            effects.reads.extend(headers.iter().map(|&it| (base(it) + offset, limbs as usize)));
            Some(effects)
        }
        Op::Extract { header } => Some(Effects { extracts: Some(header), ..Effects::default() }),
        Op::ExtractNext { stack } => {
            let next = layout.stacks[stack as usize].next;
            Effects::maybe(&[(next, 1)], &[(next, 1)])
        }
        Op::Lookahead { dst, bits, check, .. } => {
            let written = (dst, limbs_for(u32::from(bits)).max(1));
            if check {
                Effects::maybe(&[], &[written])
            } else {
                Effects::of(&[], &[written])
            }
        }
        Op::Select { select } => {
            let parts = code.selects[select as usize].parts.iter();
            let reads: Vec<_> = parts.map(|part| (part.slot, limbs_for(part.bits).max(1))).collect();
            Effects::of(&reads, &[])
        }
        Op::Table { table } => {
            let plan = &code.tables[table as usize];
            let mut effects = Effects::default();
            for key in &plan.key {
                effects.reads.extend([(key.slot, limbs_for(key.bits)), (key.valid, 1)]);
            }
            if let Some((_, field)) = plan.meter {
                effects.may_write.push((field.slot, 1));
            }
            if let Some((_, inputs)) =
                plan.profile.and_then(|profile| code.profiles[profile as usize].selector.as_ref())
            {
                add_inputs(&mut effects, layout, inputs);
            }
            Some(effects)
        }
        Op::RegisterRead { dst, register, index } => {
            Effects::maybe(&[(index, 1)], &[(dst, code.registers[register as usize].limbs)])
        }
        Op::RegisterWrite { register, index, src } => {
            Effects::of(&[(index, 1), (src, code.registers[register as usize].limbs)], &[])
        }
        Op::Count { index, .. } => Effects::of(&[(index, 1)], &[]),
        Op::Meter { dst, index, .. } => Effects::maybe(&[(index, 1)], &[(dst, 1)]),
        Op::Random { dst, a, b } => Effects::maybe(&[(a, 1), (b, 1)], &[(dst, 1)]),
        Op::Hash { dst, calculation } => {
            let mut effects = Effects::of(&[], &[(dst, 1)])?;
            let plan = &code.calculations[calculation as usize];
            add_inputs(&mut effects, layout, &plan.input);
            Some(effects)
        }
        Op::UnionValid { .. }
        | Op::UnionEq { .. }
        | Op::AssignUnion { .. }
        | Op::AssignStack { .. }
        | Op::AssignUnionStack { .. }
        | Op::Push { .. }
        | Op::Pop { .. }
        | Op::PushUnion { .. }
        | Op::PopUnion { .. }
        | Op::UnionMember { .. }
        | Op::StoreField { .. }
        | Op::AssignVariable { .. }
        | Op::ExtractUnionNext { .. } => None,
    }
}
