//! BMv2 JSON to an executable v1model pipeline.
//!
//! Owns: loading and checking the JSON, the compiled program, its state (tables, registers,
//! counters, meters, replication), one ingress or egress pass as a pure function of
//! (program, state, frame, now). Refuses: clocks, files, threads, random sources of its own,
//! ports with rates, queues, and knowing what a tester is.

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
pub use switch::{Execution, Switch, SwitchConfig};
