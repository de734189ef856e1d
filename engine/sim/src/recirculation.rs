//! Packets in the recirculation loop, behind the wire of the loop port and before ingress.
//!
//! The loop is apart from everything else because it is what repeats: idle seeds come back in the
//! same order with the same period, and a later version may jump over periods in which nothing
//! else happens.

use std::collections::VecDeque;

use p4mesh_pipeline::IngressPacket;

use crate::event::{EventQueue, Source, Ticket};

struct Returning {
    at_ps: u64,
    first_bit_ps: u64,
    ticket: Ticket,
    packet: IngressPacket,
}

/// The delay line between the loop port and ingress.
pub struct Recirculation {
    latency_ps: u64,
    returning: VecDeque<Returning>,
}

impl Recirculation {
    pub fn new(latency_ps: u64) -> Recirculation {
        Recirculation {
            latency_ps,
            returning: VecDeque::new(),
        }
    }

    /// Packets in the delay line.
    pub fn len(&self) -> usize {
        self.returning.len()
    }

    /// A packet whose bits passed the loop port at these times.
    pub fn push(
        &mut self,
        packet: IngressPacket,
        first_bit_ps: u64,
        last_bit_ps: u64,
        events: &mut EventQueue,
    ) {
        let at_ps = last_bit_ps + self.latency_ps;
        let ticket = events.ticket();
        if self.returning.is_empty() {
            events.push(at_ps, ticket, Source::Loop);
        }
        let first_bit_ps = first_bit_ps + self.latency_ps;
        self.returning.push_back(Returning {
            at_ps,
            first_bit_ps,
            ticket,
            packet,
        });
    }

    /// The packet whose event fell due, with the time of its first bit at ingress.
    pub fn pop(&mut self, ticket: Ticket, events: &mut EventQueue) -> Option<(IngressPacket, u64)> {
        if self.returning.front()?.ticket != ticket {
            return None;
        }
        let Returning {
            packet,
            first_bit_ps,
            ..
        } = self.returning.pop_front()?;
        if let Some(next) = self.returning.front() {
            events.push(next.at_ps, next.ticket, Source::Loop);
        }
        Some((packet, first_bit_ps))
    }

    /// Takes everything out.
    pub fn drain(&mut self) -> impl Iterator<Item = IngressPacket> + '_ {
        self.returning.drain(..).map(|it| it.packet)
    }
}
