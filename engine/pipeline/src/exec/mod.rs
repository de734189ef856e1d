//! Runs compiled code over a packet and the state of a switch.
//!
//! The instructions are implemented in `machine` (words and branches) and `steps` (everything else);
//! `native` translates them to machine code where it can, with `machine` as its reference.
//! `passes` holds the order of events in ingress and egress.

pub(crate) mod boundary;
pub(crate) mod checksum;
pub(crate) mod config;
pub(crate) mod context;
mod copies;
pub(crate) mod executable;
pub(crate) mod hash;
pub(crate) mod header_ops;
pub(crate) mod machine;
#[cfg(all(unix, target_endian = "little", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) mod native;
#[cfg(not(all(unix, target_endian = "little", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "native_absent.rs"]
pub(crate) mod native;
pub(crate) mod passes;
pub(crate) mod row_prefetch;
pub(crate) mod steps;
pub(crate) mod trace;
pub(crate) mod wide_ops;
pub(crate) mod wire;
