//! BMv2 JSON to an executable v1model pipeline.
//!
//! Owns: loading and checking the JSON, the compiled program, its state (tables, registers,
//! counters, meters, replication), one ingress or egress pass as a pure function of
//! (program, state, frame, now). Refuses: clocks, files, threads, random sources of its own,
//! ports with rates, queues, and knowing what a tester is.

mod control;
mod error;
mod info;
mod packet;
mod program;
mod switch;
mod switch_control;

pub use control::*;
pub use error::{ControlError, ControlErrorKind, LoadError};
pub use info::*;
pub use packet::*;
pub use program::Program;
pub use switch::{Switch, SwitchConfig};

/// Private part of a packet between ingress and egress.
pub(crate) struct PacketState {}
