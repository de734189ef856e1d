//! Sets the packet's slots to those of one that was put aside: of those that the program may read before it writes them,
//! several at a time; what lies between them does not matter.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types::I32, types::I64, types::I64X2, Block, InstBuilder, MemFlags, Value};
use cranelift_frontend::FunctionBuilder;

use super::compiler::Compiler;
use super::flow::frame_flags;
use super::STATUS_DONE;
use crate::code::layout::{Layout, Slot};
use crate::code::program::{Code, Filled, Live};

/// Slots that one instruction loads or stores.
const PAIR: usize = 2;

/// Code that brings back, for egress, the slots that the host gives it in the place of a frame; `again`, where the last
/// egress has been that of another copy of the packet: those that this may have written.
pub(super) fn restore(compiler: &mut Compiler, code: &Code, layout: &Layout, again: bool) -> Option<usize> {
    let liveness = code.liveness.as_ref()?;
    let Live { slots, contents } = &liveness.egress;
    let differs = |slot: &Slot| !again || liveness.written.binary_search(slot).is_ok();
    compiler.build(|mut ins| {
        let (regs, from) = enter(&mut ins);
        let always = cover(layout, PAIR, slots.iter().copied().filter(differs));
        always.iter().for_each(|&first| move_pair(&mut ins, regs, from, first));
        let is_moved = |slot: &Slot| always.iter().any(|&first| (first..first + PAIR as Slot).contains(slot));
        let mut stack: Option<(Filled, Block)> = None;
        for &header in contents {
            let fields = layout.block(header).filter(|slot| differs(slot) && !is_moved(slot));
            let rest = cover(layout, PAIR, fields);
            if rest.is_empty() {
                continue;
            }
            let filled = code.filled[header as usize];
            let goes_on = |(last, _): &(Filled, Block)| {
                filled.is_some_and(|filled| filled.next == last.next && filled.index > last.index)
            };
            let last_end = stack.filter(goes_on).map(|(_, end)| end);
            if last_end.is_none() {
                leave_stack(&mut ins, stack);
            }
            stack = filled.map(|filled| (filled, last_end.unwrap_or_else(|| ins.create_block())));
            let skip = match stack {
                Some((Filled { next, index }, end)) => {
                    let next = ins.ins().load(I64, frame_flags(), from, 8 * i32::from(next));
                    let is_empty = ins.ins().icmp_imm(IntCC::UnsignedLessThan, next, i64::from(index) + 1);
                    Some((is_empty, end))
                }
                // To ask takes longer than to move a single one.
                None if rest.len() == 1 => None,
                None => {
                    let base = layout.headers[header as usize].base;
                    let valid = ins.ins().load(I64, frame_flags(), from, 8 * i32::from(base));
                    Some((ins.ins().icmp_imm(IntCC::Equal, valid, 0), ins.create_block()))
                }
            };
            if let Some((skips, to)) = skip {
                let on = ins.create_block();
                ins.ins().brif(skips, to, &[], on, &[]);
                ins.switch_to_block(on);
            }
            rest.into_iter().for_each(|first| move_pair(&mut ins, regs, from, first));
            if let (None, Some((_, to))) = (stack, skip) {
                ins.ins().jump(to, &[]);
                ins.switch_to_block(to);
            }
        }
        leave_stack(&mut ins, stack);
        leave(ins);
    });
    compiler.compile()
}

/// The two parameters: the slots, and those to bring back.
fn enter(ins: &mut FunctionBuilder) -> (Value, Value) {
    let block = ins.create_block();
    ins.append_block_params_for_function_params(block);
    ins.switch_to_block(block);
    (ins.block_params(block)[0], ins.block_params(block)[1])
}

fn leave(mut ins: FunctionBuilder) {
    let status = ins.ins().iconst(I32, i64::from(STATUS_DONE));
    ins.ins().return_(&[status]);
    ins.seal_all_blocks();
    ins.finalize();
}

fn leave_stack(ins: &mut FunctionBuilder, stack: Option<(Filled, Block)>) {
    if let Some((_, end)) = stack {
        ins.ins().jump(end, &[]);
        ins.switch_to_block(end);
    }
}

fn move_pair(ins: &mut FunctionBuilder, regs: Value, from: Value, first: Slot) {
    let at = 8 * i32::from(first);
    let pair = ins.ins().load(I64X2, pair_flags(), from, at);
    ins.ins().store(pair_flags(), pair, regs, at);
}

/// First slots of groups within the packet's slots that hold all the given ones, which ascend.
fn cover(layout: &Layout, size: usize, slots: impl Iterator<Item = Slot>) -> Vec<Slot> {
    let last = (layout.slots - size) as Slot;
    let mut groups: Vec<Slot> = Vec::new();
    for slot in slots {
        if groups.last().is_none_or(|&first| slot >= first + size as Slot) {
            groups.push(slot.min(last));
        }
    }
    groups
}

/// A pair may lie at any slot.
fn pair_flags() -> MemFlags {
    MemFlags::new().with_notrap()
}
