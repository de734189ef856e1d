//! A program on real frames: Linux interfaces in wall-clock time, or pcap files.
//!
//! Owns: sockets, pcap files, the wall clock, and the loop that feeds a switch
//! ([`Runner`]: no rates, no delays, every queue is served at once). Refuses: what a program does
//! with a frame (`p4mesh-pipeline`), P4Runtime, virtual time (`p4mesh-sim`).
//!
//! All of its `unsafe` code is in what talks to the kernel: `packet_socket`, `xdp_port`, `bpf`, `xdp_ring`,
//! `transmitter`, `driver_counters`, `affinity`, `clock`.

mod affinity;
mod bpf;
mod captured_ports;
mod clock;
mod departures;
mod driver_counters;
mod error;
mod fine_clock;
mod live_ports;
mod packet_socket;
mod pauses;
mod pcap;
mod ports;
mod runner;
mod session;
mod transmit_ring;
mod transmitter;
mod xdp_port;
mod xdp_program;
mod xdp_ring;
mod xdp_sender;

pub use affinity::{pin, Cores};
pub use captured_ports::CapturedPorts;
pub use clock::monotonic_ns;
pub use departures::Delays;
pub use error::IoError;
pub use fine_clock::FineClock;
pub use live_ports::{cable_delays, LivePorts, PortAccess};
pub use packet_socket::{wait_readable, PacketSocket};
pub use pauses::Pauses;
pub use pcap::{PcapReader, PcapRecord, PcapWriter};
pub use ports::{ArrivalStamps, FilePorts, Handle, Ports};
pub use runner::{Drops, Runner, RunnerLimits};
pub use session::SessionFirst;
