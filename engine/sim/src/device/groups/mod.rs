//! Multicast groups as routers and switches see them: what is known of the receivers behind a port.
//!
//! Owns: the router's side of RFC 3376 and RFC 3810. Refuses: messages (`p4mesh_peers::groups`), and where a frame goes,
//! which is a device's decision.

pub mod questions;
pub mod receivers;
pub mod table;
