//! Packets in the recirculation loop, behind the wire of the loop port and before ingress.
//!
//! The loop has a module of its own because it repeats: idle seeds come back in the same order with the same period,
//! and [`crate::idle`] jumps over rounds in which nothing else happens.

use std::collections::VecDeque;

use p4mesh_pipeline::{IngressPacket, Switch};

use crate::event::{EventQueue, Source, Ticket};
use crate::idle::{Bounds, Circling, IdleLoop, LoopTimes, Skipped};
use crate::line::Line;

struct Returning {
    at_ps: u64,
    first_bit_ps: u64,
    /// Time stamp of the egress pass.
    stamp_ps: u64,
    ticket: Ticket,
    packet: IngressPacket,
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

    /// Packets in the delay line.
    pub fn len(&self) -> usize {
        self.returning.len()
    }

    /// A packet whose bits passed the loop port at these times, and whose egress pass saw the time
    /// stamp `stamp_ps`.
    pub fn push(
        &mut self,
        packet: IngressPacket,
        first_bit_ps: u64,
        last_bit_ps: u64,
        stamp_ps: u64,
        events: &mut EventQueue,
    ) {
        let at_ps = last_bit_ps + self.latency_ps;
        let ticket = events.ticket();
        if self.returning.is_empty() {
            events.push(at_ps, ticket, Source::Loop);
        }
        let first_bit_ps = first_bit_ps + self.latency_ps;
        self.returning.push_back(Returning { at_ps, first_bit_ps, stamp_ps, ticket, packet });
    }

    /// The packet whose event fell due, with the time of its first bit at ingress.
    pub fn pop(&mut self, ticket: Ticket, events: &mut EventQueue) -> Option<(IngressPacket, u64)> {
        if self.returning.front()?.ticket != ticket {
            return None;
        }
        let Returning { packet, first_bit_ps, .. } = self.returning.pop_front()?;
        if let Some(next) = self.returning.front() {
            events.push(next.at_ps, next.ticket, Source::Loop);
        }
        Some((packet, first_bit_ps))
    }

    /// Skips idle passes of the packets in the delay line, which must be all packets of the loop.
    /// The event of the first one must not be pending; it is afterwards.
    pub fn skip_idle(
        &mut self,
        switch: &mut Switch,
        line: &mut Line,
        egress_latency_ps: u64,
        bounds: Bounds,
        events: &mut EventQueue,
    ) -> Skipped {
        let Recirculation { returning, idle, .. } = self;
        let circling = |it: &Returning| Circling::new(&it.packet, it.at_ps, it.first_bit_ps, it.stamp_ps);
        idle.ring.clear();
        idle.ring.extend(returning.iter().map(circling));
        let times = LoopTimes { latency_ps: self.latency_ps, egress_latency_ps };
        let packets = |index: usize| &returning[index].packet;
        let skipped = idle.skip(switch, &packets, line, times, bounds);
        let count = returning.len();
        returning.rotate_left((skipped.passes % count as u64) as usize);
        // In the order of their last passes, as these would have taken their tickets.
        for (packet, circling) in returning.iter_mut().zip(&idle.ring) {
            let Some(proof) = idle.proof(circling).filter(|_| circling.passes > 0) else {
                continue;
            };
            switch.repeat_idle(proof, circling.passes, circling.ingress_ps, circling.egress_ps);
            switch.restamp_idle(proof, &mut packet.packet.frame, circling.stamp_ps);
            packet.at_ps = circling.at_ps;
            packet.first_bit_ps = circling.first_bit_ps;
            packet.stamp_ps = circling.stamp_ps;
            packet.ticket = events.ticket();
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
