//! Machine code that sets the packet's slots: for a new packet, or to those of one that was put aside. It writes the
//! slots that the program may read before it writes them, four at a time; what lies between them does not matter.

use super::translate::Translator;
use super::x86::{Alu, Cond, Label, Reg};
use crate::code::layout::Slot;
use crate::code::program::{Filled, Live};

/// Slots that one instruction loads or stores.
const QUAD: usize = 4;

impl Translator<'_> {
    /// Code that clears the slots for a new packet.
    pub(super) fn emit_start(&mut self) -> Option<Label> {
        let code = self.code;
        let live = &code.liveness.as_ref().filter(|_| can_move_quads())?.start;
        let entry = self.asm.label();
        self.asm.bind(entry);
        self.asm.clear_quad();
        for first in self.cover(live.slots.iter().copied()) {
            self.asm.store_quad(first);
        }
        for &slot in &live.slots {
            match code.image[slot as usize] {
                0 => {}
                value => self.asm.store_imm(slot, i32::try_from(value).ok()?),
            }
        }
        self.leave();
        Some(entry)
    }

    /// Code that brings back, for egress, the slots that the host gives it in the place of a frame; `again`, where the last
    /// egress has been that of another copy of the packet: those that this may have written.
    pub(super) fn emit_restore(&mut self, again: bool) -> Option<Label> {
        let liveness = self.code.liveness.as_ref().filter(|_| can_move_quads())?;
        let Live { slots, contents } = &liveness.egress;
        let differs = |slot: &Slot| !again || liveness.written.binary_search(slot).is_ok();
        let entry = self.asm.label();
        self.asm.bind(entry);
        self.asm.move_frame(Reg::Rcx);
        let always = self.cover(slots.iter().copied().filter(differs));
        for &first in &always {
            self.move_quad(first);
        }
        let is_moved = |slot: &Slot| always.iter().any(|&first| (first..first + QUAD as Slot).contains(slot));
        let mut stack = None;
        for &header in contents {
            let fields = self.layout.block(header).filter(|slot| differs(slot) && !is_moved(slot));
            let rest = self.cover(fields);
            if rest.is_empty() {
                continue;
            }
            stack = self.enter_stack(header, stack);
            let skip = self.asm.label();
            match stack {
                Some((Filled { next, index }, end)) => {
                    self.asm.load_at(Reg::Rax, Reg::Rcx, 8 * i32::from(next));
                    self.asm.alu_imm(Alu::Cmp, Reg::Rax, i32::from(index) + 1);
                    self.asm.jump_if(Cond::Below, end);
                }
                // To ask takes longer than to move a single one.
                None if rest.len() == 1 => {}
                None => {
                    let base = self.layout.headers[header as usize].base;
                    self.asm.load_at(Reg::Rax, Reg::Rcx, 8 * i32::from(base));
                    self.asm.alu_imm(Alu::Cmp, Reg::Rax, 0);
                    self.asm.jump_if(Cond::Equal, skip);
                }
            }
            for first in rest {
                self.move_quad(first);
            }
            self.asm.bind(skip);
        }
        self.leave_stack(stack);
        self.leave();
        Some(entry)
    }

    /// Code for one header after the other goes behind a stack where nothing of it is left: `last` is the stack before
    /// `header`, with the place behind it. Gives that of `header`, if extraction alone fills it.
    pub(super) fn enter_stack(
        &mut self,
        header: u16,
        last: Option<(Filled, Label)>,
    ) -> Option<(Filled, Label)> {
        let filled = self.code.filled[header as usize];
        let goes_on = |(last, _): &(Filled, Label)| {
            filled.is_some_and(|filled| filled.next == last.next && filled.index > last.index)
        };
        let end = last.filter(goes_on).map(|(_, end)| end);
        if end.is_none() {
            self.leave_stack(last);
        }
        filled.map(|filled| (filled, end.unwrap_or_else(|| self.asm.label())))
    }

    pub(super) fn leave_stack(&mut self, stack: Option<(Filled, Label)>) {
        if let Some((_, end)) = stack {
            self.asm.bind(end);
        }
    }

    fn move_quad(&mut self, first: Slot) {
        self.asm.load_quad(Reg::Rcx, 8 * i32::from(first));
        self.asm.store_quad(first);
    }

    fn leave(&mut self) {
        self.asm.end_quads();
        self.asm.jump(self.ended);
    }

    /// First slots of quads within the packet's slots that hold all the given ones, which ascend.
    fn cover(&self, slots: impl Iterator<Item = Slot>) -> Vec<Slot> {
        let last = (self.layout.slots - QUAD) as Slot;
        let mut quads: Vec<Slot> = Vec::new();
        for slot in slots {
            if quads.last().is_none_or(|&first| slot >= first + QUAD as Slot) {
                quads.push(slot.min(last));
            }
        }
        quads
    }
}

/// True where the processor has the instructions.
fn can_move_quads() -> bool {
    is_x86_feature_detected!("avx")
}
