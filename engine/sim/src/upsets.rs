//! Scheduled incidents of a network itself: links that go down and come up, devices that come back
//! from a reset or change; and what the tester is to be told of it.

use std::collections::{BTreeMap, VecDeque};

use crate::config::ResetConfig;

/// The link of a port of the tester has gone down or come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortStatus {
    pub port: u16,
    pub up: bool,
}

/// The link of a port of the tester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    pub port: u16,
    pub up: bool,
    /// How often it has gone down since the beginning.
    pub losses: u64,
}

/// A change that waits for its time.
pub(crate) enum Upset {
    /// Index of a port in the fabric.
    Link { port: usize, up: bool },
    /// A device comes back from its reset of this number.
    Back { device: usize, reset: u64 },
    /// The change of this number of a device.
    Change { device: usize, index: usize },
}

/// Changes to come, in the order (time, insertion), and what the tester has not been told.
#[derive(Default)]
pub(crate) struct Upsets {
    planned: BTreeMap<(u64, u64), Upset>,
    planned_total: u64,
    pub statuses: VecDeque<PortStatus>,
}

impl Upsets {
    pub fn plan(&mut self, at_ps: u64, upset: Upset) {
        self.planned.insert((at_ps, self.planned_total), upset);
        self.planned_total += 1;
    }

    /// Takes the next change whose time has come.
    pub fn take_due(&mut self, now_ps: u64) -> Option<Upset> {
        let first = self.planned.first_entry()?;
        (first.key().0 <= now_ps).then(|| first.remove())
    }
}

/// The resets of one device.
#[derive(Default)]
pub(crate) struct Restart {
    /// From a reset until the device forwards again.
    pub time_ps: u64,
    pub links_down: bool,
    resets: u64,
    off: bool,
    /// Ports whose links went down with the device.
    pub dark: Vec<usize>,
}

impl Restart {
    /// Without a configuration a reset takes no time.
    pub fn new(config: Option<ResetConfig>) -> Restart {
        Restart {
            time_ps: config.map_or(0, |it| it.time_s.ps()),
            links_down: config.is_some_and(|it| it.links_down),
            ..Restart::default()
        }
    }

    /// The device is in a reset: what comes to it is lost.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.off
    }

    /// A reset begins; returns its number.
    pub fn begin(&mut self) -> u64 {
        self.resets += 1;
        self.off = true;
        self.resets
    }

    /// The reset of this number is over; returns the ports whose links come up. Nothing happens when
    /// another reset has begun since.
    pub fn end(&mut self, reset: u64) -> Vec<usize> {
        if self.resets != reset {
            return Vec::new();
        }
        self.off = false;
        std::mem::take(&mut self.dark)
    }
}
