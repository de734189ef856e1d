//! Replaces native execution on machines without it: programs are interpreted.

use crate::code::ir::Pc;
use crate::code::layout::Regs;
use crate::code::program::{Code, Program};
use crate::exec::context::{Context, Egressed, Outcome};
use crate::state::cells::State;
use crate::state::table::TableState;

pub(crate) struct Views;

impl Views {
    pub fn of(_: &mut State) -> Views {
        Views
    }

    pub fn table_changed(&mut self, native: &NativeCode, _: &Code, _: usize, _: &TableState, _: Option<u32>) {
        match *native {}
    }
}

/// Never made.
pub(crate) enum NativeCode {}

impl NativeCode {
    pub fn compile(_: &Program) -> Option<NativeCode> {
        None
    }

    pub fn start(&self, _: &mut Regs) -> bool {
        match *self {}
    }

    pub fn restore(&self, _: &mut Regs, _: &[u64], _: bool) -> bool {
        match *self {}
    }

    pub fn run(&self, _: &mut Context, _: &Views, _: Pc) -> Option<Outcome> {
        match *self {}
    }

    pub fn run_ingress(&self, _: &mut Context, _: &[u8], _: &Views) -> Outcome {
        match *self {}
    }

    pub fn run_egress(
        &self,
        _: &mut Context,
        _: &[u8],
        _: usize,
        _: &Views,
        _: u64,
        _: &mut Vec<u8>,
    ) -> Option<Egressed> {
        match *self {}
    }
}
