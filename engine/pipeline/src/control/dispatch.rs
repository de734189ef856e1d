//! Handles the outputs of a pass: one loop for every target, in virtual time and
//! in real time.

use crate::control::switch::Switch;
use crate::exec::passes::{Held, Ingressed};
use crate::packets::frame::Frame;
use crate::packets::output::{DropReason, Output, Outputs};
use crate::packets::packet::{Copies, EgressPacket, EgressTimes, IngressPacket};

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

    /// A clone that an egress pass made, for the queue of its egress port.
    fn enqueue_clone(&mut self, packet: EgressPacket) {
        self.enqueue(packet);
    }

    /// Begins the egress of a packet for a port, which is the only output of its ingress, and says when that is; `None`
    /// where the packet has to wait for other passes.
    fn begin_egress(&mut self, port: u16) -> Option<EgressTimes>;

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
        mut packet: IngressPacket,
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
        let ended = switch.ingress_at_once(&mut packet, ingress_timestamp_ps, now_ps, out);
        hand_out_of_ingress(self, ended, &mut packet.frame)
    }

    /// As [`Dispatch::ingress`], of a frame from a port, which it takes.
    #[inline(always)]
    fn ingress_of_frame(
        &mut self,
        port: u16,
        frame: &mut Frame,
        ingress_timestamp_ps: u64,
        now_ps: u64,
    ) -> Option<IngressPacket> {
        let Passes { switch, out, left } = self.passes()?;
        if *left == 0 {
            out.pool.give(std::mem::take(frame));
            self.exhausted();
            return None;
        }
        *left -= 1;
        let ended = switch.ingress_of_frame(port, frame, ingress_timestamp_ps, now_ps, out);
        hand_out_of_ingress(self, ended, frame)
    }

    /// An egress pass and its consequences.
    fn egress(&mut self, packet: EgressPacket, times: &EgressTimes) {
        let Some(Passes { switch, out, left }) = self.passes() else { return };
        if *left == 0 {
            switch.discard(packet, out);
            return self.exhausted();
        }
        *left -= 1;
        let (port, mut frame) = (packet.egress_port, Frame::new());
        let last = switch.egress_at_once(packet, times, out, &mut frame);
        hand_out_of_egress(self, port, last, frame);
    }

    /// Frees the buffers of a packet that the target drops before egress.
    fn discard(&mut self, packet: EgressPacket) {
        if let Some(Passes { switch, out, .. }) = self.passes() {
            switch.discard(packet, out);
        }
    }
}

/// Hands the outputs of an ingress pass to the target, or goes on with the egress of the packet; gives back one that is
/// resubmitted.
// Compiled into the ingress, as what follows depends on what it decides last.
#[inline(always)]
fn hand_out_of_ingress<T: Dispatch + ?Sized>(
    target: &mut T,
    ended: Ingressed,
    frame: &mut Frame,
) -> Option<IngressPacket> {
    match ended {
        Ingressed::Held(held) if target.passes()?.out.items.is_empty() => {
            match target.begin_egress(held.port) {
                Some(times) => egress_of_held(target, held, frame, &times),
                None => {
                    let packet = target.passes()?.switch.keep(held, std::mem::take(frame));
                    target.enqueue(packet);
                }
            }
        }
        Ingressed::Held(held) => {
            let packet = target.passes()?.switch.keep(held, std::mem::take(frame));
            hand_out_others(target, T::enqueue);
            target.enqueue(packet);
        }
        Ingressed::Dropped(reason) => {
            hand_out_others(target, T::enqueue);
            target.drop(reason);
        }
        Ingressed::Replicated(copies) => {
            hand_out_others(target, T::enqueue);
            hand_out_copies(target, copies);
        }
        Ingressed::Ended => hand_out_others(target, T::enqueue),
        Ingressed::Resubmitted(packet) => {
            hand_out_others(target, T::enqueue);
            return Some(packet);
        }
    }
    None
}

/// As [`Dispatch::egress`], of the packet of the last ingress pass, whose frame it takes.
// Compiled into the ingress, so that the frame is not moved between the two.
#[inline(always)]
fn egress_of_held<T: Dispatch + ?Sized>(target: &mut T, held: Held, frame: &mut Frame, times: &EgressTimes) {
    let Some(Passes { switch, out, left }) = target.passes() else { return };
    if *left == 0 {
        out.pool.give(std::mem::take(frame));
        return target.exhausted();
    }
    *left -= 1;
    let last = switch.egress_of_held(held, frame, times, out);
    hand_out_of_egress(target, held.port, last, std::mem::take(frame));
}

/// Hands the outputs of an egress pass to the target; where the last is `None`, the frame leaves through the port.
#[inline(always)]
fn hand_out_of_egress<T: Dispatch + ?Sized>(target: &mut T, port: u16, last: Option<Output>, frame: Frame) {
    hand_out_others(target, T::enqueue_clone);
    match last {
        None => target.transmit(port, frame),
        // A packet that is moved once more just after it was written makes the processor wait.
        Some(Output::Reenter(packet)) => target.recirculate(packet),
        Some(last) => hand_out(target, last, T::enqueue_clone),
    }
}

/// Hands the outputs of a pass, the last one excepted, to the target. Most passes have none.
#[inline]
fn hand_out_others<T: Dispatch + ?Sized>(target: &mut T, enqueue: fn(&mut T, EgressPacket)) {
    if target.passes().is_some_and(|it| !it.out.items.is_empty()) {
        hand_out_items(target, enqueue);
    }
}

#[inline(never)]
fn hand_out_items<T: Dispatch + ?Sized>(target: &mut T, enqueue: fn(&mut T, EgressPacket)) {
    let Some(Passes { out, .. }) = target.passes() else { return };
    let mut items = out.take_items();
    for item in items.drain(..) {
        hand_out(target, item, enqueue);
    }
    if let Some(Passes { out, .. }) = target.passes() {
        out.give_items(items);
    }
}

/// Hands the copies of a packet to the target.
#[inline(never)]
fn hand_out_copies<T: Dispatch + ?Sized>(target: &mut T, copies: Copies) {
    for packet in copies.packets() {
        target.enqueue(packet);
    }
    if let Some(Passes { switch, .. }) = target.passes() {
        switch.end_copies(copies);
    }
}

/// Hands an output to the target.
// Out of line: most passes end with a frame that leaves, or with a drop, and do not come here.
#[inline(never)]
fn hand_out<T: Dispatch + ?Sized>(target: &mut T, item: Output, enqueue: fn(&mut T, EgressPacket)) {
    match item {
        Output::Enqueue(packet) => enqueue(target, packet),
        Output::Transmit { port, frame } => target.transmit(port, frame),
        Output::Reenter(packet) => target.recirculate(packet),
        Output::Digest { digest, fields } => target.digest(digest, fields),
        Output::Drop(reason) => target.drop(reason),
    }
}
