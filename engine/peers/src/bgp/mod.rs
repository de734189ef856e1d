//! BGP-4: messages (by netgauze) and the session with one neighbour.

mod attributes;
#[cfg(test)]
mod malformed_updates;
mod messages;
mod reading;
mod routes_in;
mod session;
mod sifting;

pub use attributes::{Attributes, Origin, Segment};
pub use messages::Announcement;
pub use session::{Families, RouteChange, SessionSettings};
pub(crate) use session::{Output, Session};

/// TCP port of BGP (RFC 4271 section 8.2.1.2).
pub const PORT: u16 = 179;
