//! BGP-4: messages (by netgauze) and the session with one neighbour.

mod attributes;
mod counts;
mod families;
#[cfg(test)]
mod malformed_updates;
mod messages;
mod reading;
mod restart;
mod routes_in;
mod session;
mod sifting;

pub use attributes::{Attributes, Origin, Segment};
pub use counts::Counts;
pub use families::Families;
pub use messages::Announcement;
pub use restart::{GracefulRestart, LONGEST_RESTART_S};
pub(crate) use session::{Output, Session};
pub use session::{RouteChange, SessionSettings, State};

/// TCP port of BGP (RFC 4271 section 8.2.1.2).
pub const PORT: u16 = 179;
