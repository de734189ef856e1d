//! The way of packets through the tester: passes, queues, wires, and the loop.

use p4mesh_pipeline::{
    Dispatch, DropReason, EgressPacket, EgressTimes, Frame, IngressPacket, InstanceType, Passes, Preserved,
    QueueTimes,
};

use crate::arrival::Arrival;
use crate::drops::DropCause;
use crate::event::{Source, Ticket};
use crate::fabric::Fabric;
use crate::line::{wire_bytes, FCS_BYTES, MIN_WIRE_BYTES};

use super::node::{Digest, Place, Queued, Tester, PRIORITIES};

/// Passes that one event may cause without time going by (resubmits, clones of clones).
const PASSES_PER_EVENT: u32 = 65_536;

impl Tester {
    /// A frame from the controller, as the program sees it on the CPU port.
    pub(crate) fn packet_out(&mut self, mut frame: Frame, fabric: &mut Fabric) {
        let (cpu_port, now_ps) = (self.cpu_port, fabric.now_ps);
        self.accept(cpu_port, &mut frame, now_ps, fabric);
    }

    /// A frame from a link.
    #[inline]
    pub(crate) fn receive(&mut self, local: usize, arrival: &mut Arrival, fabric: &mut Fabric) {
        let port = self.ports[local].number;
        let stamp_ps = arrival.first_bit_ps.saturating_add_signed(self.ports[local].rx_stamp_offset_ps);
        self.accept(port, &mut arrival.frame, stamp_ps, fabric);
    }

    /// Begins to load what the pass of a frame that arrives soon is likely to need.
    #[inline]
    pub(crate) fn prefetch(&self, frame: &Frame) {
        if let Some(switch) = &self.switch {
            switch.prefetch(frame);
        }
    }

    /// A packet that comes back from the loop.
    pub(crate) fn recirculated(&mut self, ticket: Ticket, fabric: &mut Fabric) {
        let Some(returning) = self.recirculation.pop(ticket, &mut fabric.events) else {
            return;
        };
        Flow::new(self, fabric).take(returning.packet, returning.first_bit_ps);
    }

    /// The wire of a port is free.
    pub(crate) fn port_free(&mut self, local: usize, fabric: &mut Fabric) {
        self.ports[local].free_event_pending = false;
        let mut flow = Flow::new(self, fabric);
        flow.serve(local);
        flow.finish_deferred();
    }

    /// Takes a frame out of its place, where it stays as long as it can: to move it takes time.
    #[inline(always)]
    fn accept(&mut self, port: u16, frame: &mut Frame, stamp_ps: u64, fabric: &mut Fabric) {
        if self.switch.is_none() {
            self.drops.count(DropCause::NoProgram);
            fabric.out.pool.give(std::mem::take(frame));
            return;
        }
        Flow::new(self, fabric).take_frame(port, frame, stamp_ps);
    }
}

/// The passes of one event.
struct Flow<'a> {
    tester: &'a mut Tester,
    fabric: &'a mut Fabric,
    passes_left: u32,
}

impl<'a> Flow<'a> {
    fn new(tester: &'a mut Tester, fabric: &'a mut Fabric) -> Flow<'a> {
        Flow { tester, fabric, passes_left: PASSES_PER_EVENT }
    }

    /// An ingress pass, the passes of packets that it resubmits, and the egress passes for which
    /// the port is idle.
    #[inline]
    fn take(&mut self, packet: IngressPacket, stamp_ps: u64) {
        let resubmitted = self.ingress(packet, stamp_ps, self.fabric.now_ps);
        self.finish(resubmitted, stamp_ps);
    }

    /// As `take`, of a frame from a link or from the controller.
    #[inline]
    fn take_frame(&mut self, port: u16, frame: &mut Frame, stamp_ps: u64) {
        let resubmitted = self.ingress_of_frame(port, frame, stamp_ps, self.fabric.now_ps);
        self.finish(resubmitted, stamp_ps);
    }

    #[inline(always)]
    fn finish(&mut self, mut resubmitted: Option<IngressPacket>, stamp_ps: u64) {
        while let Some(packet) = resubmitted {
            resubmitted = self.ingress(packet, stamp_ps, self.fabric.now_ps);
        }
        self.finish_deferred();
    }

    #[inline(always)]
    fn finish_deferred(&mut self) {
        if !self.tester.deferred.is_empty() {
            self.place_deferred();
        }
        self.tester.wake_if_disturbed(self.fabric);
    }

    #[inline(never)]
    fn place_deferred(&mut self) {
        while let Some(packet) = self.tester.deferred.pop_front() {
            self.place(packet);
        }
    }

    /// To the egress pass if its port can start to send now, or else to a queue of the port.
    // Compiled into where packets are made: one that is copied just after it was written makes the processor wait.
    #[inline(always)]
    fn place(&mut self, packet: EgressPacket) {
        let Flow { tester, fabric, .. } = self;
        let now_ps = fabric.now_ps;
        let local = match tester.place(packet.egress_port) {
            Place::Port(local) => local,
            Place::Cpu => return self.leave_at_once(None, packet),
            Place::Unknown => {
                tester.drops.count(DropCause::UnknownPort);
                return self.discard(packet);
            }
        };
        if local == tester.loop_index {
            tester.wake(fabric);
        }
        if self.is_idle(local) {
            return self.leave_at_once(Some(local), packet);
        }
        let Flow { tester, fabric, .. } = self;
        let port = &mut tester.ports[local];
        let priority = usize::from(packet.priority).min(PRIORITIES - 1);
        let queue = &mut port.queues[priority];
        if queue.len() >= fabric.ports[tester.base + local].queue_frames {
            let cause = if local == tester.loop_index { DropCause::LoopFull } else { DropCause::QueueFull };
            port.drops.count(cause);
            return self.discard(packet);
        }
        let enqueue_depth = queue.len() as u32;
        queue.push_back(Queued { packet, enqueue_ps: now_ps, enqueue_depth });
        port.occupied |= 1 << priority;
        if local != tester.loop_index {
            tester.queued += 1;
        }
        self.await_free(local);
    }

    /// True for a port that can start to send now.
    #[inline]
    fn is_idle(&self, local: usize) -> bool {
        let Flow { tester, fabric, .. } = self;
        let free_ps = fabric.ports[tester.base + local].line.free_ps();
        tester.ports[local].occupied == 0 && free_ps <= fabric.now_ps + tester.egress_latency_ps
    }

    /// Asks for an event when the wire of a port becomes free.
    #[inline(always)]
    fn await_free(&mut self, local: usize) {
        let Flow { tester, fabric, .. } = self;
        let port = &mut tester.ports[local];
        if !port.free_event_pending {
            port.free_event_pending = true;
            let index = tester.base + local;
            let at_ps = fabric.ports[index].line.free_ps().saturating_sub(tester.egress_latency_ps);
            let source = if local == tester.loop_index {
                Source::LoopFree(tester.node())
            } else {
                Source::PortFree(index as u32)
            };
            fabric.events.schedule(at_ps.max(fabric.now_ps), source);
        }
    }

    /// Sends from the queues of a port while its wire is free.
    #[inline(always)]
    fn serve(&mut self, local: usize) {
        loop {
            let Flow { tester, fabric, .. } = self;
            let port = &mut tester.ports[local];
            if port.occupied == 0 {
                return;
            }
            let now_ps = fabric.now_ps;
            let free_ps = fabric.ports[tester.base + local].line.free_ps();
            if free_ps > now_ps + tester.egress_latency_ps {
                return self.await_free(local);
            }
            let priority = port.occupied.ilog2() as usize;
            let queue = &mut port.queues[priority];
            let Some(queued) = queue.pop_front() else {
                return;
            };
            let dequeue_depth = queue.len() as u32;
            if queue.is_empty() {
                port.occupied &= !(1 << priority);
            }
            if local != tester.loop_index {
                tester.queued -= 1;
            }
            let depths = [queued.enqueue_depth, dequeue_depth];
            self.leave(Some(local), queued.packet, queued.enqueue_ps, depths);
        }
    }

    /// An egress pass of a packet that has not waited.
    #[inline(never)]
    fn leave_at_once(&mut self, local: Option<usize>, packet: EgressPacket) {
        self.leave(local, packet, self.fabric.now_ps, [0, 0]);
    }

    /// An egress pass on a port, or on the CPU port.
    // Its arguments are no `QueueTimes`: a copy of one that was written just before makes the processor wait.
    #[inline(always)]
    fn leave(&mut self, local: Option<usize>, packet: EgressPacket, enqueue_ps: u64, depths: [u32; 2]) {
        let times = self.egress_times(local, enqueue_ps, depths);
        self.egress(packet, &times);
    }

    /// Times of an egress pass that begins now; `depths` are those of the queue at enqueue and at dequeue.
    #[inline]
    fn egress_times(&mut self, local: Option<usize>, enqueue_ps: u64, depths: [u32; 2]) -> EgressTimes {
        let Flow { tester, fabric, .. } = self;
        let now_ps = fabric.now_ps;
        let [enqueue_depth, dequeue_depth] = depths;
        let queue = QueueTimes { enqueue_ps, dequeue_ps: now_ps, enqueue_depth, dequeue_depth };
        let stamp_ps = match local {
            Some(local) => {
                let line = &fabric.ports[tester.base + local].line;
                let first_bit_ps = line.next_first_bit_ps(now_ps + tester.egress_latency_ps);
                let offset_ps = tester.ports[local].tx_stamp_offset_ps;
                (first_bit_ps - tester.egress_latency_ps).saturating_add_signed(offset_ps)
            }
            None => now_ps,
        };
        tester.egress_stamp_ps = stamp_ps;
        EgressTimes { queue, stamp_ps, now_ps }
    }

    fn packet_in(&mut self, frame: Frame) {
        let Flow { tester, fabric, .. } = self;
        tester.packet_ins_total += 1;
        if tester.packet_ins.len() < tester.packet_in_limit {
            tester.packet_ins.push_back(frame);
        } else {
            tester.drops.count(DropCause::PacketInOverflow);
            fabric.out.pool.give(frame);
        }
    }
}

impl Dispatch for Flow<'_> {
    #[inline]
    fn passes(&mut self) -> Option<Passes<'_>> {
        Some(Passes {
            switch: self.tester.switch.as_mut()?,
            out: &mut self.fabric.out,
            left: &mut self.passes_left,
        })
    }

    #[inline(always)]
    fn enqueue(&mut self, packet: EgressPacket) {
        self.place(packet);
    }

    /// Clones wait until all else in the event is done.
    #[inline]
    fn enqueue_clone(&mut self, packet: EgressPacket) {
        self.tester.deferred.push_back(packet);
    }

    #[inline]
    fn begin_egress(&mut self, port: u16) -> Option<EgressTimes> {
        let local = match self.tester.place(port) {
            // The line of a loop that sleeps is not that of now.
            Place::Port(local)
                if local == self.tester.loop_index && self.tester.recirculation.is_asleep() =>
            {
                return None;
            }
            Place::Port(local) if self.is_idle(local) => Some(local),
            Place::Cpu => None,
            Place::Port(_) | Place::Unknown => return None,
        };
        Some(self.egress_times(local, self.fabric.now_ps, [0, 0]))
    }

    #[inline(always)]
    fn transmit(&mut self, port: u16, mut frame: Frame) {
        let Flow { tester, fabric, .. } = self;
        match tester.place(port) {
            Place::Cpu => self.packet_in(frame),
            Place::Unknown => {
                tester.drops.count(DropCause::UnknownPort);
                fabric.out.pool.give(frame);
            }
            Place::Port(local) if local == tester.loop_index => {
                self.recirculate(IngressPacket {
                    port,
                    frame,
                    instance_type: InstanceType::Normal,
                    preserved: Preserved::default(),
                });
            }
            Place::Port(local) => {
                let minimum = (MIN_WIRE_BYTES - FCS_BYTES) as usize;
                if frame.len() < minimum && tester.ports[local].pad_to_minimum {
                    frame.resize(minimum, 0);
                }
                let at_ps = fabric.now_ps + tester.egress_latency_ps;
                fabric.send(tester.base + local, frame, at_ps);
            }
        }
    }

    fn recirculate(&mut self, packet: IngressPacket) {
        let Flow { tester, fabric, .. } = self;
        tester.wake(fabric);
        if tester.recirculation.len() >= tester.loop_limit {
            tester.drops.count(DropCause::LoopFull);
            fabric.out.pool.give(packet.frame);
            return;
        }
        let length = wire_bytes(&packet.frame);
        let port = &mut fabric.ports[tester.base + tester.loop_index];
        let slot = port.line.send(fabric.now_ps + tester.egress_latency_ps, length);
        port.counters.tx_frames += 1;
        port.counters.tx_bytes += u64::from(length);
        tester.recirculation.push(packet, &slot, tester.egress_stamp_ps, &mut fabric.events);
    }

    fn digest(&mut self, digest: u32, fields: Vec<Vec<u8>>) {
        if self.tester.digests.len() < self.tester.packet_in_limit {
            self.tester.digests.push_back(Digest { digest, fields });
        } else {
            self.tester.drops.count(DropCause::DigestOverflow);
        }
    }

    fn drop(&mut self, reason: DropReason) {
        self.tester.drops.count(reason.into());
    }

    fn exhausted(&mut self) {
        self.tester.drops.count(DropCause::PassLimit);
    }
}
