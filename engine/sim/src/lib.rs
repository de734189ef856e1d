//! A network in virtual time: a tester that runs a P4 program, devices under test, links.
//!
//! Owns: the clock (picoseconds), events, ports, lines, links, the traffic manager and the
//! recirculation port of the tester, device models, counters of what truly happened. Refuses: what
//! a program does with a frame (`p4mesh-pipeline`), P4Runtime, real interfaces, test methods.
//!
//! Deterministic: the same document, program and calls give the same results on any machine.
//! Events are ordered by (time, insertion), random numbers come from seeded generators.
//!
//! # The document
//!
//! [`Network::from_json`] reads it. Times are picoseconds, rates bits per second, clock offsets
//! parts per billion, lengths bytes with FCS; unknown fields are errors. Fields with a value below
//! that are marked * may be left out and have that value then.
//!
//! ```json
//! {
//!   "seed": 1,                                    // *
//!   "skip_idle_loops": true,                      // *
//!   "tester": {
//!     "name": "tester",                           // *
//!     "ports": [{
//!       "id": 1, "rate_bps": 1000000000,
//!       "inter_frame_gap_bits": 96,               // *
//!       "clock_ppb": 0,                           // *
//!       "queue_frames": 1024,                     // * per priority
//!       "tx_stamp_offset_ps": 0,                  // *
//!       "rx_stamp_offset_ps": 0,                  // *
//!       "pad_to_minimum": true,                   // *
//!       "honours_pause": false                    // *
//!     }],
//!     "loop": {"port": 509, "rate_bps": 100000000000, "latency_ps": 500000, "queue_frames": 16384},
//!     "cpu_port": 510, "drop_port": 511,          // *
//!     "timestamp_tick_ps": 1,                     // *
//!     "ingress_latency_ps": 0,                    // *
//!     "egress_latency_ps": 0,                     // *
//!     "max_frame_bytes": 16384,                   // *
//!     "packet_in_limit": 1048576                  // *
//!   },
//!   "devices": [{
//!     "name": "dut", "device": "ethernet_switch",
//!     "ports": [{"id": 1, "rate_bps": 1000000000, "inter_frame_gap_bits": 128,
//!                "clock_ppb": 1000, "queue_frames": 64,
//!                "honours_pause": false, "min_slot_bits": 0}],
//!     "model": {                                  // * and every field in it
//!       "forwarding": {"cut_through": {"lookahead_bytes": 122}},   // or "store_and_forward" (*)
//!       "latency_ps": 1720000,                    // 0
//!       "latency_by_size": [{"wire_bytes": 64, "ps": 0}],         // none; further latency
//!       "jitter": {"uniform": {"max_ps": 2000}},  // none; or "normal", "exponential", "spike"
//!       "mac_table": {"size": 2048, "aging_ps": 300000000000000, "ways": 4,   // 16384, 300 s, none
//!                     "hash": "crc16", "aging": "works", "station_move": true},
//!       "learning": true,
//!       "learning_path": {"delay_ps": 0, "rate_fps": 0, "queue_frames": 1024},         // none
//!       "lookup": {"rate_fps": 4700000, "overload_pass_ppm": 200, "burst_frames": 64},   // none
//!       "broadcast": {"min_ps": 1013400, "base_ps": 496000, "byte_ps": 8000,
//!                     "service": [{"wire_bytes": 64, "ps": 1108000}],      // in place of the line
//!                     "queue_frames": 64, "unknown_unicast": false},                     // none
//!       "flood_limit": {"rate_fps": 1000, "burst_frames": 1},                            // none
//!       "input_queue": {"frames": 64},            // none: virtual output queues
//!       "shared_buffer": {"bytes": 1000000, "cell_bytes": 1},                            // none
//!       "pause": {"xoff_frames": 20, "xon_frames": 10, "quanta": 65535},                 // none
//!       "vlans": {"ports": [{"port": 1, "mode": {"access": 10}},
//!                           {"port": 2, "mode": {"trunk": {"vids": [10], "native": 1}}}]},  // none
//!       "snooping": {"flood_unknown": false, "membership_ps": 260000000000000,
//!                    "leave_delay_ps": 2000000000000, "router_ports": [2]},              // none
//!       "impairments": {"duplicate_ppb": 0, "reorder_ppb": 0, "reorder_delay_ps": 0,
//!                       "corrupt_ppb": 0},        // none
//!       "loss_ppb": 0,
//!       "min_frame_bytes": 64, "max_frame_bytes": 16384, "filter_bad_fcs": true
//!     }
//!   }],
//!   "links": [{"a": {"node": "tester", "port": 1}, "b": {"node": "dut", "port": 1},
//!              "delay_ps": 5000, "bit_errors_per_1e15": 0,
//!              "outages": [{"at_ps": 7000000000000, "duration_ps": 1000000000000}]}]   // none
//! }
//! ```
//!
//! A device may say what its reset takes: `"reset": {"time_ps": 300000000000, "links_down": true}`.
//!
//! A device `host` has no model fields: tests send and take frames at its ports by hand. A `tap` has
//! its first two ports in a cable: `latency_ps`, `monitor_first`, `monitor_second` (port numbers).
//! A device `router` has `interfaces` (`port`, `mac`, `addresses` with prefix lengths), `routes` (`prefix`,
//! `next_hops`), `static_neighbours` (`address`, `mac`), `neighbours` (`accept_unsolicited`, `retry_ps`,
//! `attempts`, `waiting_packets`, `lifetime_ps`), `lookup` and `latency_ps`; addresses and MACs are texts.
//! A device `p4` runs a program: `program` (BMv2 JSON), `latency_ps`, `timestamp_tick_ps`, and what
//! does not change: `groups` (`group`, `ports`) and `entries` (`table`, `key` by field name,
//! `priority`, `action`, `params`); values are numbers or texts such as `"0x02f4bc000001"`, a key
//! field may be `{"value", "prefix_bits"}`, `{"value", "mask"}` or `{"low", "high"}`.
//!
//! The comments are explanations; the document is plain JSON. A wire is a link between two ports
//! of the tester. The program is not part of the document: a P4Runtime server installs it with
//! [`Network::set_program`].

mod bit_errors;
pub mod config;
pub mod device;
mod drops;
mod event;
mod fabric;
mod idle;
mod line;
mod network;
mod recirculation;
mod rng;
mod tester;
mod time;
mod upsets;
pub mod wire;

pub use config::ConfigError;
pub use drops::{DropCause, DropCounters};
pub use event::{EventQueue, Source};
pub use fabric::{Arrival, ArrivalRule, BadFcsRule, Fabric, PortCounters};
pub use line::{wire_bytes, Line, Slot, STANDARD_GAP_BITS};
pub use network::{
    DevicePort, Network, NetworkBuilder, NetworkError, NodeTruth, PortTruth, Settling, Truth,
};
pub use rng::Rng;
pub use tester::{Digest, Tester};
pub use time::{BitClock, Span};
pub use upsets::{LinkState, PortStatus};
