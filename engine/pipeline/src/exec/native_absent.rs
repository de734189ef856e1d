//! Replaces native execution on machines without it: programs are interpreted.

use crate::code::ir::Pc;
use crate::code::layout::Regs;
use crate::code::program::{Code, Program};
use crate::exec::config::SwitchConfig;
use crate::exec::context::{Egressed, Ended, Outcome, Run, Wire};
use crate::state::cells::State;
use crate::state::table::TableState;

pub(crate) struct Views;

impl Views {
    pub fn of(_: &mut State, _: &SwitchConfig) -> Views {
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

    pub fn sets_slots(&self) -> bool {
        match *self {}
    }

    pub fn start(&self, _: &mut Regs) -> bool {
        match *self {}
    }

    pub fn restore(&self, _: &mut Regs, _: &[u64], _: bool) -> bool {
        match *self {}
    }

    pub fn run(&self, _: Run<Views>, _: Wire, _: Pc) -> Option<(Outcome, usize)> {
        match *self {}
    }

    pub fn run_ingress(&self, _: Run<Views>, _: &[u8]) -> (Ended, usize) {
        match *self {}
    }

    pub fn run_frame(&self, _: Run<Views>, _: &[u8], _: u16, _: u64) -> (Ended, usize) {
        match *self {}
    }

    pub fn run_egress(&self, _: Run<Views>, _: &[u8], _: usize, _: &mut Vec<u8>) -> Option<Egressed> {
        match *self {}
    }
}
