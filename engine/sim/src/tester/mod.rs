//! The tester node: a P4 pipeline between ports, with a traffic manager.
//!
//! One queue per (port, priority), strict priority, tail drop. The egress pass of a packet runs when its port can start
//! to send it; where the port is idle, that is in the event of the ingress pass. Time stamps are those of a MAC: the
//! first bit after the start frame delimiter, leaving in egress, arriving in ingress, so that their difference is the
//! first-bit to first-bit delay between the two ports.

mod flow;
mod node;

pub use node::{Digest, Tester};
