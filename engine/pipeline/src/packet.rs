//! What crosses the boundary between a program and the target that runs it: frames with their
//! pool, packets that wait for ingress or egress, and the outputs of one pass.

/// Bytes of one frame, without FCS. Buffers come from and go back to a [`FramePool`], so that a
/// target in steady state allocates nothing per frame.
pub type Frame = Vec<u8>;

/// Buffers that a pool keeps; the rest goes back to the allocator, so that a target which brings
/// buffers of its own does not fill the memory.
const MAX_FREE_FRAMES: usize = 65_536;

/// A stack of buffers that are ready for reuse.
#[derive(Default)]
pub struct FramePool {
    free: Vec<Frame>,
}

impl FramePool {
    /// An empty buffer, reused where one is free.
    pub fn take(&mut self) -> Frame {
        self.free.pop().unwrap_or_default()
    }

    /// A buffer that holds a copy of `bytes`.
    pub fn copy_of(&mut self, bytes: &[u8]) -> Frame {
        let mut frame = self.take();
        frame.extend_from_slice(bytes);
        frame
    }

    /// Hands a buffer back.
    pub fn give(&mut self, mut frame: Frame) {
        if self.free.len() < MAX_FREE_FRAMES {
            frame.clear();
            self.free.push(frame);
        }
    }
}

/// `standard_metadata.instance_type`, with the numbers of simple_switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum InstanceType {
    Normal = 0,
    IngressClone = 1,
    EgressClone = 2,
    Coalesced = 3,
    Recirculated = 4,
    Replicated = 5,
    Resubmitted = 6,
}

/// A frame on its way into the parser and the ingress control.
pub struct IngressPacket {
    /// `standard_metadata.ingress_port`.
    pub port: u16,
    pub frame: Frame,
    pub instance_type: InstanceType,
    /// Metadata kept by a resubmit or recirculate field list; empty for a frame from a port.
    pub preserved: Preserved,
}

/// Metadata that survives resubmit, recirculate or clone: (field slot, value) pairs whose meaning
/// is private to the program that made them.
#[derive(Clone, Default)]
pub struct Preserved {
    pub(crate) fields: Vec<(u16, u64)>,
    /// Resubmits in a row before this pass.
    pub(crate) resubmits: u32,
    /// Bytes that counters and meters charge, when not the length of the frame.
    pub(crate) charged_bytes: Option<u32>,
}

/// A packet between ingress and egress, in the hands of the traffic manager.
pub struct EgressPacket {
    /// Port whose queue it waits in.
    pub egress_port: u16,
    /// Replication id, 0 for unicast.
    pub egress_rid: u16,
    /// Queue of the port, 0..=7, larger is more urgent (simple_switch `priority`).
    pub priority: u8,
    pub instance_type: InstanceType,
    /// Length that the packet has while it waits, in bytes without FCS.
    pub length_bytes: u32,
    /// Headers, metadata and payload, private to the pipeline.
    pub(crate) state: crate::snapshot::PacketState,
}

/// What the traffic manager knows when it hands a packet to egress.
#[derive(Clone, Copy, Default)]
pub struct QueueTimes {
    pub enqueue_ps: u64,
    pub dequeue_ps: u64,
    /// Queue depth in packets, seen at enqueue and at dequeue.
    pub enqueue_depth: u32,
    pub dequeue_depth: u32,
}

/// One consequence of an ingress or egress pass, in the order in which simple_switch produces them.
pub enum Output {
    /// To the queue of `egress_port`; the target calls `Switch::egress` when it is dequeued.
    Enqueue(EgressPacket),
    /// Out of `port`.
    Transmit { port: u16, frame: Frame },
    /// Back to ingress: resubmit (at once) or recirculate (through the recirculation port).
    Reenter(IngressPacket),
    /// One digest message of `learn_list` (P4Runtime DigestEntry) with its packed fields.
    Digest { digest: u32, fields: Vec<Vec<u8>> },
    /// The packet ended here.
    Drop(DropReason),
}

/// Why a packet ended inside the pipeline or the traffic manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DropReason {
    /// `mark_to_drop` in ingress.
    Ingress,
    /// `mark_to_drop` in egress.
    Egress,
    /// The multicast group has no member.
    EmptyMulticastGroup,
    /// No such port on this target.
    UnknownPort,
    /// The clone session is not configured.
    UnknownCloneSession,
    /// The packet was resubmitted more often than the target allows.
    PassLimit,
    /// A parser state or an action repeated too often within one pass.
    LoopLimit,
    /// An `assert` or `assume` of the program failed.
    AssertionFailed,
    /// `priority` names a queue that the port does not have.
    UnknownQueue,
    /// The frame was larger than the target carries.
    Oversize,
}

/// Collects the outputs of passes and owns the frame buffers.
#[derive(Default)]
pub struct Outputs {
    pub items: Vec<Output>,
    pub pool: FramePool,
}
