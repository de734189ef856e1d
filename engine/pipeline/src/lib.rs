//! BMv2 JSON to an executable v1model pipeline.
//!
//! Owns: loading and checking the JSON, the compiled program, its state (tables, registers,
//! counters, meters, replication), one ingress or egress pass as a pure function of
//! (program, state, frame, now). Refuses: clocks, files, threads, random sources of its own,
//! ports with rates, queues, and knowing what a tester is.
//!
//! The folders, from the ground up; a folder knows those above it in this list only:
//!
//! | folder | holds |
//! |---|---|
//! | `numbers` | integers of many words, bit strings, random numbers, the unit of time stamps |
//! | `vocabulary` | types of the interface: entries, declarations of a program, errors |
//! | `code` | a compiled program as data: places of fields, instructions, plans of tables |
//! | `load` | from the JSON document to `code` |
//! | `packets` | frames and their pool, packets between two passes, outputs of a pass |
//! | `state` | state that outlives a packet: tables, profiles, meters, replication |
//! | `exec` | runs `code` over a packet and the state: instructions, machine code, the two passes |
//! | `control` | a switch: program and state together, and its control plane by name |
//! | `idle` | proves that a packet in a loop will do nothing but go round |
//!
//! *Invariant:* semantics are those of simple_switch for the same JSON, entries and frames. [`Program::from_json`]
//! refuses an unsupported construct by its name and place. *Invariant:* no input panics, loops for ever, or allocates
//! without bound. *Invariant:* in steady state a pass allocates nothing. *Invariant:* no two files import each other,
//! over however many others.

// Parts that machine code alone needs have no reader where programs are interpreted.
#![cfg_attr(
    not(all(unix, target_endian = "little", any(target_arch = "x86_64", target_arch = "aarch64"))),
    allow(dead_code)
)]

mod code;
mod control;
mod exec;
mod idle;
mod load;
mod numbers;
mod packets;
mod state;
mod vocabulary;

pub use code::program::Program;
pub use control::dispatch::{Dispatch, Passes};
pub use control::switch::Switch;
pub use exec::config::{Execution, SwitchConfig};
pub use exec::executable::Executable;
pub use exec::trace::{hex, Trace};
pub use idle::moving::Refusal;
pub use idle::probe::{IdlePass, IdleProbe, LoopPass};
pub use idle::watch::Watch;
pub use numbers::rng::Rng;
pub use numbers::tick::Tick;
pub use packets::frame::*;
pub use packets::output::*;
pub use packets::packet::*;
pub use packets::prefetch::prefetch;
pub use vocabulary::entries::*;
pub use vocabulary::error::{ControlError, ControlErrorKind, LoadError};
pub use vocabulary::info::*;
