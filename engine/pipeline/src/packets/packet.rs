//! Packets at the boundary between a program and the target that runs it: those that wait for
//! ingress, and those that wait for egress.

use std::num::NonZeroU32;

use crate::packets::frame::Frame;
use crate::packets::snapshot::Share;
use crate::vocabulary::entries::Replica;

/// `standard_metadata.instance_type`, with the numbers of simple_switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
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

impl IngressPacket {
    /// True for a frame from a port, which brings nothing of earlier passes.
    pub(crate) fn is_new(&self) -> bool {
        let Preserved { fields, resubmits, charged_bytes } = &self.preserved;
        let is_normal = self.instance_type == InstanceType::Normal;
        is_normal && fields.is_empty() && *resubmits == 0 && charged_bytes.is_none()
    }
}

/// Metadata that survives resubmit, recirculate or clone: (field slot, value) pairs whose meaning
/// is private to the program that made them.
#[derive(Clone, Default)]
pub struct Preserved {
    pub(crate) fields: Vec<(u16, u64)>,
    /// Resubmits in a row before this pass.
    pub(crate) resubmits: u32,
    /// Bytes that counters and meters charge, when not the length of the frame. Not 0, so that this and the number before it
    /// are written as one word: packets are copied in larger pieces, which wait for smaller ones.
    pub(crate) charged_bytes: Option<NonZeroU32>,
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
    /// A copy by the replication engine, whose id overrides that of the snapshot.
    pub(crate) replicated: bool,
    /// Headers, metadata and payload, private to the pipeline.
    pub(crate) snapshot: Share,
}

/// Copies of a packet, all of them sharing its state: each goes to the queue of a port.
pub(crate) struct Copies {
    pub replicas: Vec<Replica>,
    pub priority: u8,
    pub instance_type: InstanceType,
    pub length_bytes: u32,
    pub snapshot: Share,
}

impl Copies {
    /// Made one by one, where each goes: a packet that is copied just after it was written makes the processor wait.
    #[inline(always)]
    pub fn packets(&self) -> impl Iterator<Item = EgressPacket> + '_ {
        self.replicas.iter().map(|copy| EgressPacket {
            egress_port: copy.port,
            egress_rid: copy.instance,
            priority: self.priority,
            instance_type: self.instance_type,
            length_bytes: self.length_bytes,
            replicated: true,
            snapshot: self.snapshot.of_copy(),
        })
    }
}

/// Data of the traffic manager when it hands a packet to egress.
#[derive(Clone, Copy, Default)]
pub struct QueueTimes {
    pub enqueue_ps: u64,
    pub dequeue_ps: u64,
    /// Queue depth in packets, seen at enqueue and at dequeue.
    pub enqueue_depth: u32,
    pub dequeue_depth: u32,
}

/// When an egress pass takes place.
#[derive(Clone, Copy, Default)]
pub struct EgressTimes {
    pub queue: QueueTimes,
    /// `standard_metadata.egress_global_timestamp`, in picoseconds.
    pub stamp_ps: u64,
    /// Drives meters and idle timeouts.
    pub now_ps: u64,
}
