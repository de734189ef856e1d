//! Records what of a pass depends on registers and on time, and repeats that alone.

use crate::code::ir::Op;
use crate::code::layout::Slot;
use crate::code::program::Program;
use crate::idle::moving::{AbstractValue, Clock, Limits, Moving, Probe, Refusal};
use crate::idle::recording::Step;
use crate::idle::shadow::Shadow;
use crate::load::effects::effects;
use crate::numbers::words::mask64;
use crate::state::cells::State;

impl Shadow {
    /// Prepares a step for an instruction that reads results of other steps; false if it reads none.
    pub(super) fn prepare_step(&mut self, program: &Program, op: &Op) -> Probe<bool> {
        let Some(recording) = &mut self.recording else {
            return Ok(false);
        };
        let effects = effects(&program.code, &program.layout, op)
            .ok_or(Refusal("an instruction whose operands are not known"))?;
        if !effects.reads.iter().any(|&(from, count)| recording.is_any_computed(from, count)) {
            return Ok(false);
        }
        for slot in effects.reads.iter().flat_map(|&(from, count)| from as usize..from as usize + count) {
            recording.uses(slot as Slot, (self.regs[slot], self.abstract_values.get(slot as Slot)));
        }
        Ok(true)
    }

    /// Records an instruction of arithmetic that has been carried out.
    pub(super) fn record_computation(&mut self, program: &Program, op: &Op) {
        let written = effects(&program.code, &program.layout, op).unwrap_or_default().writes;
        if let Some(recording) = &mut self.recording {
            recording.steps.push(Step::Compute(*op));
            for slot in written.into_iter().flat_map(|(from, count)| from as usize..from as usize + count) {
                recording.computes(slot as Slot);
            }
        }
    }

    /// Records the content of a slot, if it moves with a clock.
    pub(super) fn record_time(&mut self, slot: Slot) {
        let (value, abstract_value) = self.value(slot);
        if let (Some(recording), AbstractValue::Moving(moving)) = (&mut self.recording, abstract_value) {
            let offset = value.wrapping_sub(self.ticks[moving.clock as usize]);
            recording.steps.push(Step::Time { slot, moving, offset });
            recording.computes(slot);
        }
    }

    /// Repeats steps with the present registers, while the clocks stand at `ticks`; refused where they turn out
    /// differently. Leaves the limits and the guards of the pass.
    pub(super) fn repeat(&mut self, steps: &[Step], state: &State, ticks: [u64; 2]) -> Probe<()> {
        const OTHER: Refusal = Refusal("the pass takes another trace");
        self.limits = Limits::default();
        self.guards.clear();
        self.abstract_values.reset();
        for step in steps {
            match *step {
                Step::Give { slot, content } => self.set_value(slot, content),
                Step::Time { slot, moving, offset } => {
                    let value = ticks[moving.clock as usize].wrapping_add(offset);
                    let content = (value & mask64(u32::from(moving.width)), AbstractValue::Moving(moving));
                    self.set_value(slot, content);
                }
                Step::Compute(ref op) => {
                    self.narrow(op)?;
                }
                Step::Branch { ref op, to } => {
                    if self.branch(op)? != Some(to) {
                        return Err(OTHER);
                    }
                }
                Step::Read { dst, register, index } => self.read_register(state, dst, register, index),
                Step::Write { register, index, src } => self.write_register(state, register, index, src)?,
                Step::Stamp { slot, bits, offset } => {
                    let (value, moving) = match self.value(slot) {
                        (value, AbstractValue::Moving(moving)) if is_stamp(moving) => (value, moving),
                        _ => return Err(OTHER),
                    };
                    self.limits.resized(value, moving, bits);
                    if value.wrapping_sub(ticks[Clock::Egress as usize]) & mask64(bits) != offset {
                        return Err(OTHER);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether a value may be written into the frame as the time stamp of this egress.
pub(super) fn is_stamp(moving: Moving) -> bool {
    moving.clock == Clock::Egress && !moving.down
}
