//! A network in virtual time: a tester that runs a P4 program, devices under test, links.
//!
//! Owns: the clock (picoseconds), events, ports, lines, links, the traffic manager and the recirculation port of the
//! tester, device models, the true counts. Refuses: the semantics of a program (`p4mesh-pipeline`), P4Runtime, real
//! interfaces, test methods.
//!
//! Deterministic: the same document, program and calls give the same results on any machine.
//! Events are ordered by (time, the loop first, insertion), random numbers come from seeded generators.
//!
//! # The document
//!
//! [`Network::from_json`] reads it. Its keys are those of topologies, which docs/DEVICES.md lists with
//! their meanings, ranges and defaults; [`description`] says the same to programs. Unknown keys
//! are errors. Other than in a topology every port has its own entry with its `number`, and every cable
//! its own link:
//!
//! ```json
//! {
//!   "seed": 1,
//!   "tester": {
//!     "ports": [{"number": 1, "rate_bps": 1000000000, "clock_offset_ppm": 0.5}],
//!     "loop": {"port": 509, "rate_bps": 100000000000, "latency_ns": 500},
//!     "cpu_port": 510, "drop_port": 511
//!   },
//!   "nodes": [{
//!     "name": "dut", "device": "ethernet_switch",
//!     "ports": [{"number": 1, "rate_bps": 1000000000, "queue_frames": 64}],
//!     "latency_ns": 1720,
//!     "mac_table": {"entries": 2048, "ways": 4}
//!   }],
//!   "links": [{"from": {"node": "tester", "port": 1}, "to": {"node": "dut", "port": 1}, "latency_ns": 5}]
//! }
//! ```
//!
//! The node of a P4 program has its BMv2 JSON as `program`. A device `host` has no keys of its own: tests
//! send and take frames at its ports by hand. The program of the tester is not part of the document: a
//! P4Runtime server installs it with [`Network::set_program`].

mod arrival;
mod bit_errors;
pub mod config;
mod description;
pub mod device;
mod drops;
mod event;
mod fabric;
mod flights;
mod idle;
mod known;
mod line;
mod network;
mod recirculation;
mod rng;
mod sleepiness;
mod tester;
mod time;
mod upsets;

pub use arrival::{Arrival, Fcs};
pub use config::ConfigError;
pub use description::description;
pub use drops::{DropCause, DropCounters};
pub use event::{EventQueue, Source};
pub use fabric::{ArrivalRule, BadFcsRule, Fabric, PortCounters};
pub use line::{wire_bytes, Line, Slot, STANDARD_GAP_BITS};
pub use network::{DevicePort, Network, NetworkBuilder, NetworkError, NodeTruth, PortTruth, Settling, Truth};
pub use rng::Rng;
pub use tester::{Digest, Tester};
pub use time::{BitClock, Span};
pub use upsets::{LinkState, PortStatus};
