//! Packets in the recirculation loop, behind the wire of the loop port and before ingress.
//!
//! The loop has a module of its own because it repeats: idle seeds come back in the same order with the same period.
//! [`crate::idle`] jumps over rounds in which nothing else happens, and [`crate::known`] knows what single passes do.

use std::collections::VecDeque;

use p4mesh_pipeline::{IngressPacket, Switch};

use crate::event::{EventQueue, Source, Ticket};
use crate::idle::{least_calm_ps, Bounds, Circling, IdleLoop, LoopTimes, Skipped};
use crate::known::{Knowledge, Known};
use crate::line::{Line, Slot};

/// A packet in the delay line.
pub(crate) struct Returning {
    at_ps: u64,
    pub first_bit_ps: u64,
    /// Time stamp of the egress pass.
    pub stamp_ps: u64,
    ticket: Ticket,
    pub packet: IngressPacket,
    /// Knowledge about its next pass.
    pub known: Known,
}

/// The delay line between the loop port and ingress.
pub struct Recirculation {
    latency_ps: u64,
    returning: VecDeque<Returning>,
    idle: IdleLoop,
}

impl Recirculation {
    pub fn new(latency_ps: u64) -> Recirculation {
        Recirculation { latency_ps, returning: VecDeque::new(), idle: IdleLoop::default() }
    }

    /// When the first packet comes back, and how long nothing else must happen from then on, so that
    /// [`Recirculation::skip_idle`] is worth it.
    pub fn next_ps(&self) -> Option<(u64, u64)> {
        let next = self.returning.front()?;
        Some((next.at_ps, least_calm_ps(self.returning.len(), self.latency_ps)))
    }

    /// Packets in the delay line.
    pub fn len(&self) -> usize {
        self.returning.len()
    }

    /// A packet whose bits passed the loop port in `slot`, and whose egress pass saw the time stamp `stamp_ps`.
    pub fn push(
        &mut self,
        packet: IngressPacket,
        known: Known,
        slot: &Slot,
        stamp_ps: u64,
        events: &mut EventQueue,
    ) {
        let at_ps = slot.last_bit_ps + self.latency_ps;
        let ticket = events.ticket();
        if self.returning.is_empty() {
            events.push(at_ps, ticket, Source::Loop);
        }
        let first_bit_ps = slot.first_bit_ps + self.latency_ps;
        self.returning.push_back(Returning { at_ps, first_bit_ps, stamp_ps, ticket, packet, known });
    }

    /// The packet whose event fell due.
    pub fn pop(&mut self, ticket: Ticket, events: &mut EventQueue) -> Option<Returning> {
        if self.returning.front()?.ticket != ticket {
            return None;
        }
        let first = self.returning.pop_front()?;
        if let Some(next) = self.returning.front() {
            events.push(next.at_ps, next.ticket, Source::Loop);
        }
        Some(first)
    }

    /// Skips idle passes of the packets in the delay line, which must be all packets of the loop.
    /// The event of the first one must not be pending; it is afterwards.
    pub fn skip_idle(
        &mut self,
        switch: &mut Switch,
        knowledge: &mut Knowledge,
        line: &mut Line,
        egress_latency_ps: u64,
        bounds: Bounds,
        events: &mut EventQueue,
    ) -> Skipped {
        let Recirculation { returning, idle, .. } = self;
        let circling = |it: &Returning| Circling::new(&it.packet, it.at_ps, it.first_bit_ps, it.stamp_ps);
        idle.ring.clear();
        idle.ring.extend(returning.iter().map(circling));
        idle.proofs.clear();
        idle.proofs.extend(returning.iter_mut().map(|it| knowledge.take(&mut it.known, switch)));
        let times = LoopTimes { latency_ps: self.latency_ps, egress_latency_ps };
        let packets = |index: usize| &returning[index].packet;
        let skipped = idle.skip(switch, &packets, line, times, bounds);
        let count = returning.len();
        returning.rotate_left((skipped.passes % count as u64) as usize);
        // In the order of their last passes, as these would have taken their tickets.
        for (packet, circling) in returning.iter_mut().zip(&idle.ring) {
            let Some(proof) = idle.proofs[circling.proof].take() else {
                continue;
            };
            if circling.passes > 0 {
                switch.repeat_idle(&proof, circling.passes, circling.ingress_ps, circling.egress_ps);
                switch.restamp_idle(&proof, &mut packet.packet.frame, circling.stamp_ps);
                packet.at_ps = circling.at_ps;
                packet.first_bit_ps = circling.first_bit_ps;
                packet.stamp_ps = circling.stamp_ps;
                packet.ticket = events.ticket();
            }
            knowledge.put(&mut packet.known, proof, circling.passes);
        }
        if let Some(first) = returning.front() {
            events.push(first.at_ps, first.ticket, Source::Loop);
        }
        skipped
    }

    /// Bytes on the wire, with FCS, of the passes that were skipped last.
    pub fn skipped_bytes(&self) -> u64 {
        let ring = self.idle.ring.iter();
        ring.map(|it| it.passes * u64::from(it.length)).sum()
    }

    /// Takes everything out.
    pub fn drain(&mut self) -> impl Iterator<Item = IngressPacket> + '_ {
        self.returning.drain(..).map(|it| it.packet)
    }
}
