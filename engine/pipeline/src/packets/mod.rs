//! Frames, packets between two passes, and outputs of a pass.

pub(crate) mod frame;
pub(crate) mod output;
pub(crate) mod packet;
pub(crate) mod prefetch;
pub(crate) mod snapshot;
