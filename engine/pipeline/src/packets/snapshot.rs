//! Packet state between ingress and egress. Copies of a multicast share one snapshot; buffers go
//! round through a pool.

use crate::packets::frame::Frame;

#[derive(Default)]
pub(crate) struct Snapshot {
    /// Packet slots at the end of ingress.
    pub slots: Vec<u64>,
    /// Number of the pass that made it.
    pub pass: u64,
    /// Number of the last egress pass of one of its copies, 0 before that.
    pub egressed: u64,
    pub frame: Frame,
    /// Offset of the first byte that the parser left alone.
    pub payload: usize,
}

/// A packet's share in a snapshot of its switch. It is given back with [`SnapshotPool::give`], else the snapshot is never
/// used again.
pub(crate) struct Share(u32);

impl Share {
    /// Another one of the shares with which the snapshot was made.
    #[inline]
    pub fn of_copy(&self) -> Share {
        Share(self.0)
    }
}

struct Shared {
    /// Not here while a pass works on it.
    snapshot: Option<Box<Snapshot>>,
    shares: u32,
}

/// The snapshots of a switch, those without a share among them.
#[derive(Default)]
pub(crate) struct SnapshotPool {
    snapshots: Vec<Shared>,
    free: Vec<u32>,
}

impl SnapshotPool {
    /// A snapshot with so many shares, of which this is one and the others are [`Share::of_copy`].
    pub fn make(&mut self, slots: &[u64], frame: Frame, payload: usize, pass: u64, shares: u32) -> Share {
        let place = self.free.pop().unwrap_or_else(|| {
            self.snapshots.push(Shared { snapshot: None, shares: 0 });
            self.snapshots.len() as u32 - 1
        });
        let shared = &mut self.snapshots[place as usize];
        let snapshot = shared.snapshot.get_or_insert_default();
        snapshot.slots.clear();
        snapshot.slots.extend_from_slice(slots);
        snapshot.frame = frame;
        snapshot.payload = payload;
        snapshot.pass = pass;
        snapshot.egressed = 0;
        shared.shares = shares;
        Share(place)
    }

    /// Takes the snapshot out for a pass, and says whether nobody else has a share in it.
    #[inline]
    pub fn lend(&mut self, share: &Share) -> (Box<Snapshot>, bool) {
        let shared = &mut self.snapshots[share.0 as usize];
        (shared.snapshot.take().unwrap_or_default(), shared.shares == 1)
    }

    /// Ends a share in a snapshot that was lent; its frame comes out if this was the last one.
    #[inline(always)]
    pub fn end(&mut self, share: Share, mut snapshot: Box<Snapshot>) -> Option<Frame> {
        let shared = &mut self.snapshots[share.0 as usize];
        shared.shares -= 1;
        let frame = (shared.shares == 0).then(|| std::mem::take(&mut snapshot.frame));
        shared.snapshot = Some(snapshot);
        if frame.is_some() {
            self.free.push(share.0);
        }
        frame
    }

    /// Takes a share back; the frame comes out if this was the last one.
    pub fn give(&mut self, share: Share) -> Option<Frame> {
        let (snapshot, _) = self.lend(&share);
        self.end(share, snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_share_gives_the_frame_back_and_the_place_is_used_again() {
        let mut pool = SnapshotPool::default();
        let first = pool.make(&[7], vec![1, 2], 1, 5, 2);
        let second = first.of_copy();
        assert_eq!(pool.give(first), None);
        assert_eq!(pool.give(second), Some(vec![1, 2]));
        let third = pool.make(&[], vec![3], 0, 6, 1);
        assert_eq!(pool.snapshots.len(), 1);
        let (snapshot, alone) = pool.lend(&third);
        assert!(alone && snapshot.slots.is_empty());
        assert_eq!(pool.end(third, snapshot), Some(vec![3]));
    }
}
