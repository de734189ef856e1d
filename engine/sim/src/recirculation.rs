//! Packets in the recirculation loop, behind the wire of the loop port and before ingress.
//!
//! The loop has a module of its own because it repeats: idle seeds come back in the same order with the same period.
//! [`crate::idle`] computes their passes, and [`crate::known`] keeps what is proved of them.
//!
//! A loop may also sleep while other things happen: it has no events until the first pass that is not known to be idle.
//! What wakes it up earlier (a packet for the loop port, a change of a register that its passes read, the end of the run)
//! has the idle passes until then computed first. They change nothing that anything else in the network could see.

use std::collections::VecDeque;
use std::sync::Arc;

use p4mesh_pipeline::{IngressPacket, Switch, Watch};

use crate::event::{EventQueue, Source, Ticket};
use crate::idle::{least_calm_ps, Bounds, Circling, IdleLoop, LoopTimes, Prover, Skipped};
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
    known: Known,
}

/// The delay line between the loop port and ingress.
pub struct Recirculation {
    /// Number of its switch among those of the tester.
    switch: u32,
    latency_ps: u64,
    returning: VecDeque<Returning>,
    idle: IdleLoop,
    sleep: Option<Sleep>,
    /// Registers that the passes of a loop that sleeps read.
    watched: Watch,
}

/// A sleep of the loop, and how it ends if nothing disturbs it.
struct Sleep {
    /// The pending event of the loop.
    ticket: Ticket,
    skipped: Skipped,
    line_then: Line,
}

impl Recirculation {
    pub fn new(switch: u32, latency_ps: u64) -> Recirculation {
        Recirculation {
            switch,
            latency_ps,
            returning: VecDeque::new(),
            idle: IdleLoop::default(),
            sleep: None,
            watched: Watch::default(),
        }
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
    pub fn push(&mut self, packet: IngressPacket, slot: &Slot, stamp_ps: u64, events: &mut EventQueue) {
        let at_ps = slot.last_bit_ps + self.latency_ps;
        let ticket = events.ticket();
        if self.returning.is_empty() {
            events.push(at_ps, ticket, Source::Loop(self.switch));
        }
        let first_bit_ps = slot.first_bit_ps + self.latency_ps;
        let known = Known::default();
        self.returning.push_back(Returning { at_ps, first_bit_ps, stamp_ps, ticket, packet, known });
    }

    /// The packet whose event fell due.
    pub fn pop(&mut self, ticket: Ticket, events: &mut EventQueue) -> Option<Returning> {
        if self.returning.front()?.ticket != ticket {
            return None;
        }
        let first = self.returning.pop_front()?;
        if let Some(next) = self.returning.front() {
            events.push(next.at_ps, next.ticket, Source::Loop(self.switch));
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
        self.take_proofs(switch, knowledge);
        let skipped = self.compute(&mut knowledge.prover(switch), line, egress_latency_ps, bounds);
        self.carry_out(skipped, switch, knowledge, events);
        skipped
    }

    /// True while the loop sleeps.
    #[inline]
    pub fn is_asleep(&self) -> bool {
        self.sleep.is_some()
    }

    /// Lets the loop sleep until its first pass that is not known to be idle, or until the first one after `until_ps`.
    /// The event of the first packet, with its `ticket`, must not be pending. False if the loop stays awake.
    pub fn fall_asleep(
        &mut self,
        switch: &Switch,
        knowledge: &mut Knowledge,
        line: &Line,
        egress_latency_ps: u64,
        until_ps: u64,
        events: &mut EventQueue,
    ) -> bool {
        self.take_proofs(switch, knowledge);
        let mut line_then = line.clone();
        let bounds = Bounds { until_ps, before_ps: u64::MAX, at_once: true };
        let skipped = self.compute(&mut knowledge.prover(switch), &mut line_then, egress_latency_ps, bounds);
        let next_ps = self.idle.ring.front().map_or(u64::MAX, |next| next.at_ps);
        if skipped.passes == 0
            || !switch.watch_idle(&mut self.watched, self.idle.proofs.iter().flatten().map(Arc::as_ref))
        {
            self.give_proofs_back(knowledge);
            return false;
        }
        let ticket = events.ticket();
        events.push(next_ps, ticket, Source::Loop(self.switch));
        self.sleep = Some(Sleep { ticket, skipped, line_then });
        true
    }

    /// Whether the registers that the passes of a loop that sleeps read are what they were.
    #[inline]
    pub fn sleeps_undisturbed(&self, switch: &Switch) -> bool {
        switch.is_as_watched(&self.watched)
    }

    /// Wakes a loop that sleeps, once its passes up to `now_ps` are done; its first event is pending afterwards.
    pub fn wake(
        &mut self,
        now_ps: u64,
        switch: &mut Switch,
        knowledge: &mut Knowledge,
        line: &mut Line,
        egress_latency_ps: u64,
        events: &mut EventQueue,
    ) -> Skipped {
        let Some(Sleep { skipped, line_then, .. }) = self.sleep.take() else {
            return Skipped::default();
        };
        let skipped = if now_ps >= skipped.last_ps {
            *line = line_then;
            skipped
        } else {
            self.lay_ring();
            let bounds = Bounds { until_ps: now_ps, before_ps: u64::MAX, at_once: true };
            self.compute(&mut knowledge.prover(switch), line, egress_latency_ps, bounds)
        };
        self.carry_out(skipped, switch, knowledge, events);
        skipped
    }

    /// Whether an event is that of the first packet, and nothing says that its pass with this time stamp is not idle.
    pub fn may_idle(&self, ticket: Ticket, stamp_ps: u64, switch: &Switch, knowledge: &Knowledge) -> bool {
        self.returning.front().is_some_and(|first| {
            let proof = knowledge.holding(&first.known, switch);
            first.ticket == ticket && proof.is_none_or(|proof| proof.is_in_time(first.stamp_ps, stamp_ps))
        })
    }

    /// Whether an event of the loop is the end of its sleep.
    pub fn is_end_of_sleep(&self, ticket: Ticket) -> bool {
        self.sleep.as_ref().is_some_and(|sleep| sleep.ticket == ticket)
    }

    /// Executed passes that cost as much as the proofs of the last computation.
    pub fn effort(&self) -> u64 {
        self.idle.effort
    }

    /// Takes what is known of the packets to the computation.
    fn take_proofs(&mut self, switch: &Switch, knowledge: &Knowledge) {
        let Recirculation { returning, idle, .. } = self;
        idle.proofs.clear();
        idle.proofs.extend(returning.iter_mut().map(|it| knowledge.take(&mut it.known, switch)));
        self.lay_ring();
    }

    fn give_proofs_back(&mut self, knowledge: &Knowledge) {
        for (packet, proof) in self.returning.iter_mut().zip(&mut self.idle.proofs) {
            if let Some(proof) = proof.take() {
                knowledge.put(&mut packet.known, proof);
            }
        }
    }

    /// The packets as they are before the computation.
    fn lay_ring(&mut self) {
        let Recirculation { returning, idle, .. } = self;
        let circling = |it: &Returning| Circling::new(&it.packet, it.at_ps, it.first_bit_ps, it.stamp_ps);
        idle.ring.clear();
        idle.ring.extend(returning.iter().map(circling));
    }

    /// Times the idle passes of the packets in the ring; nothing but `line` changes outside of it.
    fn compute(
        &mut self,
        prover: &mut Prover,
        line: &mut Line,
        egress_latency_ps: u64,
        bounds: Bounds,
    ) -> Skipped {
        let Recirculation { latency_ps, returning, idle, .. } = self;
        let times = LoopTimes { latency_ps: *latency_ps, egress_latency_ps };
        let packets = |index: usize| (&returning[index].packet, returning[index].known.proof());
        idle.skip(prover, &packets, line, times, bounds)
    }

    /// Does to the state of the switch and to the packets what the passes in the ring do.
    fn carry_out(
        &mut self,
        skipped: Skipped,
        switch: &mut Switch,
        knowledge: &Knowledge,
        events: &mut EventQueue,
    ) {
        let Recirculation { switch: number, returning, idle, .. } = self;
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
            knowledge.put(&mut packet.known, proof);
        }
        if let Some(first) = returning.front() {
            events.push(first.at_ps, first.ticket, Source::Loop(*number));
        }
    }

    /// Bytes on the wire, with FCS, of the passes that were skipped last.
    pub fn skipped_bytes(&self) -> u64 {
        let ring = self.idle.ring.iter();
        ring.map(|it| it.passes * u64::from(it.length)).sum()
    }

    /// Takes everything out of a loop that is awake.
    pub fn drain(&mut self) -> impl Iterator<Item = IngressPacket> + '_ {
        self.returning.drain(..).map(|it| it.packet)
    }
}
