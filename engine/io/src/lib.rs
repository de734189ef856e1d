//! A program on real frames: Linux interfaces in wall-clock time, or pcap files.
//!
//! Owns: sockets, pcap files, the wall clock, and the loop that feeds a switch
//! ([`Runner`]: no rates, no delays, every queue is served at once). Refuses: what a program does
//! with a frame (`p4mesh-pipeline`), P4Runtime, virtual time (`p4mesh-sim`).
//!
//! All of its `unsafe` code is in `packet_socket`.

mod error;
mod packet_socket;
mod pcap;
mod ports;
mod runner;

pub use error::IoError;
pub use packet_socket::{wait_readable, PacketSocket};
pub use pcap::{PcapReader, PcapRecord, PcapWriter};
pub use ports::{FilePorts, LivePorts, Ports};
pub use runner::{Drops, Runner, RunnerLimits};
