//! Handles the outputs of a pass: one loop for every target, in virtual time and
//! in real time.

use crate::control::switch::Switch;
use crate::packets::frame::Frame;
use crate::packets::output::{DropReason, Output, Outputs};
use crate::packets::packet::{EgressPacket, IngressPacket, InstanceType, QueueTimes};

/// Interface of a target to the passes of a packet.
pub struct Passes<'a> {
    pub switch: &'a mut Switch,
    pub out: &'a mut Outputs,
    /// How many more passes may follow from the present event.
    pub left: &'a mut u32,
}

/// A target: it runs passes with [`Dispatch::ingress`] and [`Dispatch::egress`], and is handed their outputs, in order.
/// An output may lead to further passes at once.
pub trait Dispatch {
    /// `None` while there is no program.
    fn passes(&mut self) -> Option<Passes<'_>>;

    /// A packet for the queue of its egress port.
    fn enqueue(&mut self, packet: EgressPacket);

    /// True where the next pass after [`Dispatch::enqueue`] is certain to be the egress of that packet, if it is the
    /// only output of its ingress: its metadata need not be put aside.
    fn passes_on_at_once(&self, packet: &EgressPacket) -> bool;

    /// A frame that leaves through a port.
    fn transmit(&mut self, port: u16, frame: Frame);

    /// A packet that goes back to ingress through the recirculation port.
    fn recirculate(&mut self, packet: IngressPacket);

    /// A message for the controller.
    fn digest(&mut self, digest: u32, fields: Vec<Vec<u8>>);

    /// A packet that the pass ended.
    fn drop(&mut self, reason: DropReason);

    /// A packet that ended because no further pass may follow from the present event.
    fn exhausted(&mut self);

    /// An ingress pass and its consequences. A packet that it resubmits is given back, for its next pass takes no time.
    fn ingress(
        &mut self,
        packet: IngressPacket,
        ingress_timestamp_ps: u64,
        now_ps: u64,
    ) -> Option<IngressPacket> {
        let Passes { switch, out, left } = self.passes()?;
        if *left == 0 {
            out.pool.give(packet.frame);
            self.exhausted();
            return None;
        }
        *left -= 1;
        let last = switch.ingress_at_once(packet, ingress_timestamp_ps, now_ps, out);
        hand_out_others(self);
        last.and_then(|last| hand_out(self, last))
    }

    /// An egress pass and its consequences.
    fn egress(&mut self, packet: EgressPacket, times: QueueTimes, egress_timestamp_ps: u64, now_ps: u64) {
        let Some(Passes { switch, out, left }) = self.passes() else { return };
        if *left == 0 {
            switch.discard(packet, out);
            return self.exhausted();
        }
        *left -= 1;
        let last = switch.egress_at_once(packet, times, egress_timestamp_ps, now_ps, out);
        hand_out_others(self);
        // Only ingress resubmits.
        hand_out(self, last);
    }

    /// Frees the buffers of a packet that the target drops before egress.
    fn discard(&mut self, packet: EgressPacket) {
        if let Some(Passes { switch, out, .. }) = self.passes() {
            switch.discard(packet, out);
        }
    }
}

/// Hands the outputs of a pass, the last one excepted, to the target. Most passes have none.
#[inline]
fn hand_out_others<T: Dispatch + ?Sized>(target: &mut T) {
    let Some(Passes { out, .. }) = target.passes() else { return };
    if out.items.is_empty() {
        return;
    }
    let mut items = out.take_items();
    for item in items.drain(..) {
        hand_out(target, item);
    }
    if let Some(Passes { out, .. }) = target.passes() {
        out.give_items(items);
    }
}

/// Hands an output to the target, unless it is a packet that was resubmitted: that is given back.
#[inline]
fn hand_out<T: Dispatch + ?Sized>(target: &mut T, item: Output) -> Option<IngressPacket> {
    match item {
        Output::Enqueue(packet) => {
            if !target.passes_on_at_once(&packet) {
                target.passes()?.switch.keep(&packet);
            }
            target.enqueue(packet);
        }
        Output::Transmit { port, frame } => target.transmit(port, frame),
        Output::Reenter(packet) if packet.instance_type == InstanceType::Resubmitted => return Some(packet),
        Output::Reenter(packet) => target.recirculate(packet),
        Output::Digest { digest, fields } => target.digest(digest, fields),
        Output::Drop(reason) => target.drop(reason),
    }
    None
}
