//! Multicast groups as routers and switches see them: messages of IGMP and MLD as one, and what is known of the
//! receivers behind a port.
//!
//! Owns: the router's side of RFC 3376 and RFC 3810. Refuses: where a frame goes, which is a device's decision.

pub mod messages;
pub mod questions;
pub mod receivers;
pub mod table;
