//! Changes of a device that its configuration asks for, at set times or as parts of a failure.

/// When a change happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At this time after the start.
    At(u64),
    /// So much after a test has asked for the failure of this number.
    Failure { number: u64, after_ps: u64 },
}

/// A change: the network changes the links, the device does the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub when: When,
    /// Links of ports, counted from 0, that come up or go down.
    pub links: Vec<(usize, bool)>,
}
