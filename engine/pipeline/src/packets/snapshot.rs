//! Packet state between ingress and egress. Copies of a multicast share one snapshot; buffers go
//! round through a pool.

use std::sync::Arc;

use crate::packets::frame::Frame;

#[derive(Default)]
pub(crate) struct Snapshot {
    /// Packet slots at the end of ingress; none where they are still those of the switch.
    pub slots: Vec<u64>,
    /// Number of the pass that made it.
    pub pass: u64,
    pub frame: Frame,
    /// Offset of the first byte that the parser left alone.
    pub payload: usize,
}

/// Private part of a packet between ingress and egress.
pub(crate) struct PacketState {
    pub shared: Arc<Snapshot>,
    /// A copy by the replication engine, whose rid overrides the snapshot's.
    pub replicated: bool,
}

/// Snapshots without a reference.
#[derive(Default)]
pub(crate) struct SnapshotPool {
    free: Vec<Arc<Snapshot>>,
}

impl SnapshotPool {
    pub fn make(&mut self, slots: &[u64], frame: Frame, payload: usize, pass: u64) -> Arc<Snapshot> {
        let mut shared = self.free.pop().unwrap_or_default();
        match Arc::get_mut(&mut shared) {
            Some(snapshot) => {
                snapshot.slots.clear();
                snapshot.slots.extend_from_slice(slots);
                snapshot.frame = frame;
                snapshot.payload = payload;
                snapshot.pass = pass;
                shared
            }
            // The pool holds unshared snapshots only; a new one is right in any case.
            None => Arc::new(Snapshot { slots: slots.to_vec(), frame, payload, pass }),
        }
    }

    /// Takes a snapshot back; its frame comes out if this was the last reference.
    pub fn give(&mut self, mut shared: Arc<Snapshot>) -> Option<Frame> {
        let snapshot = Arc::get_mut(&mut shared)?;
        let frame = std::mem::take(&mut snapshot.frame);
        self.free.push(shared);
        Some(frame)
    }
}
