//! Instructions on headers, over slots that may move with time.

use crate::code::ir::Op;
use crate::code::layout::Slot;
use crate::code::program::Program;
use crate::exec::header_ops::header_op;
use crate::idle::moving::{AbstractValue, Probe, Refusal};
use crate::idle::shadow::Shadow;

impl Shadow {
    /// Base slot of the header whose id is in a slot; `None` for an id out of range.
    fn base_of(&self, program: &Program, header: Slot) -> Probe<Option<Slot>> {
        let id = self.fixed(header)?;
        let place = usize::try_from(id).ok().and_then(|id| program.layout.headers.get(id));
        match place {
            Some(place) => {
                self.fixed(place.base)?;
                Ok(Some(place.base))
            }
            None => Ok(None),
        }
    }

    /// Carries out an instruction on headers; any other one is refused.
    pub(super) fn header(&mut self, program: &Program, op: &Op) -> Probe<()> {
        let layout = &program.layout;
        match *op {
            Op::AddHeader { header } => {
                let base = self.base_of(program, header)?;
                let fresh = base.filter(|&base| self.regs[base as usize] == 0);
                header_op(layout, op, &mut self.regs);
                if let Some(base) = fresh {
                    let id = self.fixed(header)? as u16;
                    self.mark(base, layout.shape_of(id).slots as usize, AbstractValue::Fixed);
                }
            }
            Op::RemoveHeader { header } => {
                if self.base_of(program, header)?.is_some() {
                    let id = self.fixed(header)? as u16;
                    if layout.shape_of(id).variable.is_some() {
                        return Err(Refusal("a header of variable length is removed"));
                    }
                }
                header_op(layout, op, &mut self.regs);
            }
            Op::AssignHeader { dst, src } => {
                let bases = (self.base_of(program, dst)?, self.base_of(program, src)?);
                let (to, from) = (self.fixed(dst)?, self.fixed(src)?);
                let copied = matches!(bases, (Some(_), Some(from)) if self.regs[from as usize] != 0);
                header_op(layout, op, &mut self.regs);
                if let (true, (Some(to_base), Some(from_base))) = (copied, bases) {
                    let (to, from) = (&layout.headers[to as usize], &layout.headers[from as usize]);
                    if to.shape == from.shape && to_base != from_base {
                        let slots = layout.shapes[to.shape].slots as usize;
                        self.copy_forms(from_base + 1, slots - 1, to_base + 1)?;
                    }
                }
            }
            Op::HeaderValid { dst, header } => {
                self.base_of(program, header)?;
                header_op(layout, op, &mut self.regs);
                self.mark(dst, 1, AbstractValue::Fixed);
            }
            Op::LoadField { dst, header, offset, limbs } => {
                let base = self.base_of(program, header)?;
                header_op(layout, op, &mut self.regs);
                match base {
                    Some(base) => {
                        self.copy_forms(base + offset, limbs as usize, dst)?;
                    }
                    None => self.mark(dst, limbs as usize, AbstractValue::Fixed),
                }
            }
            Op::StoreField { src, header, offset, limbs } => {
                let base = self.base_of(program, header)?;
                header_op(layout, op, &mut self.regs);
                if let Some(base) = base {
                    self.copy_forms(src, limbs as usize, base + offset)?;
                }
            }
            Op::StackElement { dst, index, .. } => {
                self.fixed(index)?;
                header_op(layout, op, &mut self.regs);
                self.mark(dst, 1, AbstractValue::Fixed);
            }
            Op::StackLast { dst, stack } => {
                self.fixed(layout.stacks[stack as usize].next)?;
                header_op(layout, op, &mut self.regs);
                self.mark(dst, 1, AbstractValue::Fixed);
            }
            _ => return Err(Refusal("an instruction whose trace over time is not followed")),
        }
        Ok(())
    }
}
