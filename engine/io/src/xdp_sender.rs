//! The frames of a switch that leave by the ring of [`XdpRing`].

use std::sync::Arc;

use crate::transmitter::Transmitter;
use crate::xdp_port::{wait, XdpPort, MAX_XDP_FRAME_BYTES};
use crate::xdp_ring::{XdpRing, PLACES};
use crate::{monotonic_ns, Pauses};

/// How long nothing has to leave before the core rests, and how many rounds go by between two looks at the clock.
const REST_NS: u64 = 1_000_000_000;
const ROUNDS_PER_LOOK: u32 = 128;

/// Where frames of XDP are written.
pub(crate) struct XdpSender {
    ring: Arc<XdpRing>,
    /// Frames that were written, those of them that the program may take, and those that it is known to have taken.
    written: u64,
    published: u64,
    taken: u64,
    /// When `published` was last taken as `awaited`, to see how long frames wait; 0 where nothing waits.
    awaited: u64,
    since_ns: u64,
    pauses: Pauses,
    /// Rounds since a frame was written, and when that was.
    rounds_without: u32,
    written_ns: u64,
    /// Frames of XDP that had left by the interfaces before.
    left_before: u64,
    no_room: u64,
}

impl XdpSender {
    /// Where each of these interfaces takes frames of XDP and counts them.
    pub fn open<'p>(ports: impl Iterator<Item = &'p XdpPort> + Clone) -> Option<XdpSender> {
        let takes = |port: &XdpPort| port.index() <= u32::from(u16::MAX) && port.takes_xdp_frames();
        if !ports.clone().all(takes) {
            return None;
        }
        let left_before = frames_left(ports)?;
        Some(XdpSender {
            ring: Arc::new(XdpRing::open(MAX_XDP_FRAME_BYTES).ok()?),
            written: 0,
            published: 0,
            taken: 0,
            awaited: 0,
            since_ns: 0,
            pauses: Pauses::default(),
            rounds_without: 0,
            written_ns: 0,
            left_before,
            no_room: 0,
        })
    }

    pub fn ring(&self) -> Arc<XdpRing> {
        self.ring.clone()
    }

    /// Writes a frame of at most [`MAX_XDP_FRAME_BYTES`]; [`XdpSender::flush`] hands it over.
    #[inline]
    pub fn send(&mut self, interface: u16, frame: &[u8], transmitter: &Transmitter) {
        if self.written - self.taken >= PLACES && !self.make_room(transmitter) {
            self.no_room += 1;
            return;
        }
        self.ring.put(self.written, interface, frame);
        self.written += 1;
    }

    #[cold]
    fn make_room(&mut self, transmitter: &Transmitter) -> bool {
        let mut end = None;
        loop {
            self.flush(transmitter);
            if self.written - self.taken < PLACES {
                return true;
            }
            if !wait(&mut end, &mut || {}) {
                return false;
            }
        }
    }

    /// Hands what was written to the program, and lets its core rest when nothing has been for a while.
    pub fn flush(&mut self, transmitter: &Transmitter) {
        if self.written == self.published && self.since_ns == 0 {
            return self.rest(transmitter);
        }
        self.rounds_without = 0;
        self.published = self.written;
        self.ring.publish(self.published);
        transmitter.lend();
        self.taken = self.ring.taken();
        if self.taken >= self.awaited {
            let now_ns = monotonic_ns();
            if self.since_ns > 0 {
                self.pauses.add(now_ns - self.since_ns);
            }
            self.awaited = self.published;
            self.since_ns = if self.taken < self.published { now_ns } else { 0 };
        }
    }

    /// Gives the core back when nothing has left for a while.
    fn rest(&mut self, transmitter: &Transmitter) {
        self.rounds_without = self.rounds_without.wrapping_add(1);
        if self.rounds_without == 1 {
            self.written_ns = monotonic_ns();
        } else if self.rounds_without % ROUNDS_PER_LOOK == 0 && monotonic_ns() - self.written_ns > REST_NS {
            transmitter.take_back();
        }
    }

    pub fn take_pauses(&mut self) -> Pauses {
        std::mem::take(&mut self.pauses)
    }

    /// Frames that found no room.
    pub fn drops(&self) -> u64 {
        self.no_room
    }

    /// Frames that were sent by these interfaces and have not left, or not yet.
    pub fn refused<'p>(&self, ports: impl Iterator<Item = &'p XdpPort>) -> u64 {
        let taken = self.ring.taken();
        let missing = |left: u64| taken.saturating_sub(left - self.left_before);
        frames_left(ports).map_or(0, missing)
    }
}

fn frames_left<'p>(mut ports: impl Iterator<Item = &'p XdpPort>) -> Option<u64> {
    ports.try_fold(0_u64, |sum, port| Some(sum + port.xdp_frames_left()?))
}
