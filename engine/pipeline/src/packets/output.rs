//! Outputs of a pass.

use crate::packets::frame::{Frame, FramePool};
use crate::packets::packet::{EgressPacket, IngressPacket};

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

/// Reason why a packet ended inside the pipeline or the traffic manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// Empty lists, for passes that run while the outputs of another one are worked on.
    spare: Vec<Vec<Output>>,
}

impl Outputs {
    /// Outputs of the last pass; the list comes back with [`Outputs::give_items`].
    pub(crate) fn take_items(&mut self) -> Vec<Output> {
        std::mem::replace(&mut self.items, self.spare.pop().unwrap_or_default())
    }

    /// Takes an emptied list back, for reuse.
    pub(crate) fn give_items(&mut self, items: Vec<Output>) {
        self.spare.push(items);
    }
}
