//! P4Runtime v1 over an executable pipeline: the semantics of the specification and its gRPC server.
//!
//! Owns: arbitration, the translation between P4Info ids and names, canonical values, batches and
//! their errors, packet I/O headers. Refuses: forwarding state (that is
//! [`p4mesh_pipeline::Switch`]'s), ports, clocks, and knowing what a tester is.

pub mod proto;
mod target;

pub use target::{Event, Notifier, PacketIoCounters, PacketIoCounts, SharedTarget, Target};
