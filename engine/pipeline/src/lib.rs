//! BMv2 JSON to an executable v1model pipeline.
//!
//! Owns: loading and checking the JSON, the compiled program, its state (tables, registers,
//! counters, meters, replication), one ingress or egress pass as a pure function of
//! (program, state, frame, now). Refuses: clocks, files, threads, random sources of its own,
//! ports with rates, queues, and knowing what a tester is.
//!
//! A program is loaded once: `layout` gives every field a place in one flat array of 64-bit slots,
//! `expr` reads expressions, `range`, `lower` and `conditions` turn them into the instructions of
//! `ir`, and `compile` does so for parsers, actions, controls and checksums. What the instructions
//! do is in `machine` (words and branches) and `steps` (everything else); `native` translates them
//! to machine code where it can, with `machine` as its reference. `passes` holds the order of
//! events in ingress and egress, `switch_*` the control plane.
//!
//! *Invariant:* semantics are those of simple_switch for the same JSON, entries and frames. What is
//! not supported is refused by [`Program::from_json`] with the construct and its place.
//! *Invariant:* no input panics, loops for ever, or allocates without bound.
//! *Invariant:* in steady state a pass allocates nothing.

mod asm;
mod checksum;
mod compile;
mod conditions;
mod control;
mod error;
mod expr;
mod hash;
mod header_ops;
mod idle;
mod info;
mod ir;
mod json;
mod layout;
mod lower;
mod machine;
mod matcher;
mod meter;
#[cfg(all(target_arch = "x86_64", unix))]
mod native;
#[cfg(not(all(target_arch = "x86_64", unix)))]
#[path = "native_absent.rs"]
mod native;
mod packet;
mod passes;
mod profile;
mod program;
mod range;
mod replication;
mod rng;
mod snapshot;
mod steps;
mod switch;
mod switch_arrays;
mod switch_tables;
mod table;
mod value_set;
mod wide_ops;
mod wire;
mod words;

pub use control::*;
pub use error::{ControlError, ControlErrorKind, LoadError};
pub use idle::{IdlePass, IdleProbe, LoopPass, Refusal};
pub use info::*;
pub use packet::*;
pub use program::Program;
pub use rng::Rng;
pub use switch::{Execution, Switch, SwitchConfig};
