//! State that outlives a packet.

pub(crate) mod cells;
pub(crate) mod matcher;
pub(crate) mod meter;
pub(crate) mod profile;
pub(crate) mod registers;
pub(crate) mod replication;
pub(crate) mod table;
pub(crate) mod value_set;
pub(crate) mod zeroed;
