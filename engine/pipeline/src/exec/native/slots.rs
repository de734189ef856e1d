//! Machine code that sets the packet's slots: for a new packet, or to those of one that was put aside. It writes the
//! slots that the program may read before it writes them, four at a time; what lies between them does not matter.

use super::translate::Translator;
use super::x86::{Alu, Cond, Label, Reg};
use crate::code::layout::Slot;
use crate::code::program::Live;

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

    /// Code that brings back, for egress, the slots that the host gives it in the place of a frame.
    pub(super) fn emit_restore(&mut self) -> Option<Label> {
        let code = self.code;
        let Live { slots, contents } = &code.liveness.as_ref().filter(|_| can_move_quads())?.egress;
        let entry = self.asm.label();
        self.asm.bind(entry);
        self.asm.move_frame(Reg::Rcx);
        let always = self.cover(slots.iter().copied());
        for &first in &always {
            self.move_quad(first);
        }
        let is_moved = |slot: &Slot| always.iter().any(|&first| (first..first + QUAD as Slot).contains(slot));
        for &header in contents {
            let base = self.layout.headers[header as usize].base;
            let fields = base..base + self.layout.shape_of(header).slots;
            let rest = self.cover(fields.filter(|slot| !is_moved(slot)));
            if rest.is_empty() {
                continue;
            }
            let skip = self.asm.label();
            self.asm.load_at(Reg::Rax, Reg::Rcx, 8 * i32::from(base));
            self.asm.alu_imm(Alu::Cmp, Reg::Rax, 0);
            self.asm.jump_if(Cond::Equal, skip);
            for first in rest {
                self.move_quad(first);
            }
            self.asm.bind(skip);
        }
        self.leave();
        Some(entry)
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
