//! P4Runtime v1 over an executable pipeline: the semantics of the specification and its gRPC server.
//!
//! Owns: arbitration, the translation between P4Info ids and names, canonical values, batches and
//! their errors, packet I/O headers. Refuses: forwarding state (that is
//! [`p4mesh_pipeline::Switch`]'s), ports, clocks, and knowing what a tester is.

mod actions;
mod arbitration;
mod batch;
mod cell_data;
mod cells;
mod claim;
mod connections;
mod cursor;
mod data;
mod device;
mod digests;
mod idle;
mod intake;
mod keys;
mod memory;
mod names;
mod outbox;
mod packet;
mod ports;
mod profile_checks;
mod profiles;
pub mod proto;
mod reader;
mod realization;
mod reconcile;
mod refusal;
mod replication;
mod schema;
mod schema_build;
mod server;
mod service;
mod state;
mod symbols;
mod tables;
mod target;
mod value;
mod watch_ports;

pub use device::{verify, Device, Dispatch, Verified};
pub use intake::Received;
pub use memory::{Memory, Share};
pub use reader::Read;
pub use server::{Address, Server, ServerError, Tls, DEFAULT_MEMORY_BYTES};
pub use service::API_VERSION;
pub use target::{Event, Notifier, PacketIoCounters, PacketIoCounts, SharedTarget, Target};
