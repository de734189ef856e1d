//! Instructions on headers, stacks and unions.

use crate::code::ir::Op;
use crate::code::layout::{packet_slot, Layout, Regs, Slot, UnionPlace};
use crate::code::program::Program;
use crate::exec::context::Wire;
use crate::exec::wire;

/// Extracts one header; the error is a parser error code.
pub(crate) fn extract(
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
            if variable_bits > greatest || shape.max_bytes != 0 && wanted > u64::from(shape.max_bytes) {
                return Err(errors.header_too_short);
            }
            bytes = wanted as usize;
            wire::extract_variable(shape, place.base, regs, wire.frame, wire.cursor, variable_bits as u32);
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
pub(crate) fn header_op(layout: &Layout, op: &Op, regs: &mut Regs) {
    let header_id = |regs: &Regs, slot: Slot| -> Option<u16> {
        let id = regs[slot as usize];
        (id < layout.headers.len() as u64).then_some(id as u16)
    };
    let union_at = |regs: &Regs, slot: Slot| -> Option<&UnionPlace> {
        layout.unions.get(usize::try_from(regs[slot as usize]).ok()?)
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
                regs[packet_slot::LENGTH as usize] = regs[packet_slot::LENGTH as usize].wrapping_sub(bytes);
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
            let valid = union_at(regs, union)
                .is_some_and(|union| union.headers.iter().any(|&header| regs[base_of(header)] != 0));
            regs[dst as usize] = u64::from(valid);
        }
        Op::UnionEq { dst, a, b } => {
            let equal = match (union_at(regs, a), union_at(regs, b)) {
                (Some(a), Some(b)) => {
                    a.headers.iter().zip(&b.headers).any(|(&a, &b)| headers_equal(layout, regs, a, b))
                }
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
            let (to, from) = (&layout.union_stacks[dst as usize], &layout.union_stacks[src as usize]);
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
            let (base, slots) = (base_of(place.headers[0]), layout.shapes[place.shape].slots as usize);
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
            regs[dst as usize] = headers.get(index).map_or(u64::MAX, |&header| u64::from(header));
        }
        Op::StackLast { dst, stack } => {
            let place = &layout.stacks[stack as usize];
            let last = (regs[place.next as usize] as usize).wrapping_sub(1);
            regs[dst as usize] = place.headers.get(last).map_or(u64::MAX, |&header| u64::from(header));
        }
        Op::UnionStackElement { dst, stack, index } => {
            let unions = &layout.union_stacks[stack as usize].unions;
            let index = usize::try_from(regs[index as usize]).unwrap_or(usize::MAX);
            regs[dst as usize] = unions.get(index).map_or(u64::MAX, |&union| u64::from(union));
        }
        Op::UnionMember { dst, union, member } => {
            let header = union_at(regs, union).and_then(|union| union.headers.get(member as usize));
            regs[dst as usize] = header.map_or(u64::MAX, |&header| u64::from(header));
        }
        Op::LoadField { dst, header, offset, limbs } => {
            let (dst, limbs) = (dst as usize, limbs as usize);
            match header_id(regs, header) {
                Some(header) => {
                    let from = base_of(header) + offset as usize;
                    regs.copy_within(from..from + limbs, dst);
                }
                None => regs[dst..dst + limbs].fill(0),
            }
        }
        Op::StoreField { src, header, offset, limbs } => {
            if let Some(header) = header_id(regs, header) {
                let src = src as usize;
                regs.copy_within(src..src + limbs as usize, base_of(header) + offset as usize);
            }
        }
        Op::AssignVariable { dst, src, dst_limbs, src_limbs } => {
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
    x.shape == y.shape && regs[p] != 0 && regs[q] != 0 && regs[p + 1..p + slots] == regs[q + 1..q + slots]
}

fn shift_next(regs: &mut Regs, next: Slot, count: usize, size: usize, push: bool) {
    let old = regs[next as usize];
    regs[next as usize] =
        if push { (old + count as u64).min(size as u64) } else { old.saturating_sub(count as u64) };
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
    for step in 0..size {
        // From the end that is emptied last, so that no element is overwritten before it moved.
        let index = if push { size - 1 - step } else { step };
        let source = if push { index.checked_sub(count) } else { Some(index + count) };
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
