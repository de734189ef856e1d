//! Replaces native execution on machines without it: programs are interpreted.

use crate::code::ir::Pc;
use crate::code::layout::Layout;
use crate::code::layout::Regs;
use crate::code::program::{Code, Program};
use crate::exec::context::Context;
use crate::exec::context::Outcome;
use crate::state::cells::State;

pub(crate) struct Views;

impl Views {
    pub fn of(_: &mut State) -> Views {
        Views
    }

    pub fn set_shortcut(&mut self, native: &NativeCode, _: usize, _: Option<(Pc, Pc, &[u64])>) {
        match *native {}
    }
}

/// Never made.
pub(crate) enum NativeCode {}

impl NativeCode {
    pub fn compile(_: &Code, _: &Layout) -> Option<NativeCode> {
        None
    }

    pub fn emit(&self, _: &Program, _: &mut Regs, _: &mut Vec<u8>) -> Option<usize> {
        match *self {}
    }

    pub fn run(&self, _: &mut Context, _: &Views, _: Pc) -> Outcome {
        match *self {}
    }
}
