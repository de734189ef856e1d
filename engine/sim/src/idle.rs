//! Jumps over idle passes of the recirculation loop.
//!
//! When nothing but the loop has an event for a while, each packet in it needs a proof that its passes are idle, and
//! until when ([`Switch::probe_idle`]). Proofs are kept with the packets ([`crate::known`]). With the proofs the passes need not be executed: their times follow from
//! the line of the loop port alone. This module computes them, pass by pass until a whole round is the one before
//! shifted by a fixed time, then many rounds in one step, and stops where the first proof ends or another event comes.
//! The effects of the passes (counters, time stamps in the frames, times of the line) are then written to the state.
//! docs/designs/0004-idle-loops.md argues why all results are the same.

use std::collections::VecDeque;
use std::sync::Arc;

use p4mesh_pipeline::{IdlePass, IdleProbe, IngressPacket, LoopPass, Switch};

use crate::line::{wire_bytes, Line};
use crate::time::Span;

/// Loop events in a row, without any other event, after which a jump is tried.
const CALM_EVENTS: u32 = 4;
/// Passes of each packet that make up for an attempt, most of which is the proof.
const WORTH_PASSES: u64 = 16;
/// Passes that cost as much as an attempt whose proofs are known, and rounds on top of that.
const LEAST_PASSES: u64 = 16;
const LEAST_ROUNDS: u64 = 2;
/// Loop events to the next attempt after one that was not worth it: at first, and at most.
const PAUSE_EVENTS: u32 = 8;
const MAX_PAUSE_EVENTS: u32 = 4_096;
/// Packets of the loop in front of one that may have the same proof.
const NEIGHBOURS: usize = 4;
/// Passes that are timed one by one within one attempt; some 10 ms of work.
const TIMED_PASSES: u64 = 1 << 20;

/// Decides when an attempt is worth it. Costs a comparison per event where nothing is idle.
///
/// A pause in loop events of all kinds makes attempts rare, not a longer calm: the calm between two departures
/// never gets longer.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    enabled: bool,
    /// Loop events since any other event.
    calm: u32,
    /// Loop events before the next attempt.
    left: u32,
    /// Those after the next attempt that is not worth it.
    pause: u32,
}

impl Patience {
    pub fn new(enabled: bool) -> Patience {
        Patience { enabled, calm: 0, left: 0, pause: PAUSE_EVENTS }
    }

    /// An event of the loop.
    #[inline]
    pub fn calm(&mut self) {
        self.calm = self.calm.saturating_add(1);
        self.left = self.left.saturating_sub(1);
    }

    /// Any other event.
    #[inline]
    pub fn stir(&mut self) {
        self.calm = 0;
    }

    #[inline]
    pub fn is_over(&self) -> bool {
        self.calm >= CALM_EVENTS && self.left == 0 && self.enabled
    }

    /// An attempt saved `passes` passes of `packets` packets.
    pub fn tried(&mut self, passes: u64, packets: u64) {
        self.calm = 0;
        if passes > WORTH_PASSES * packets {
            self.pause = PAUSE_EVENTS;
        } else {
            self.left = self.pause;
            // An attempt looks at every packet, so it must be rare in proportion.
            let most = u64::from(MAX_PAUSE_EVENTS).max(32 * packets);
            let most = u32::try_from(most).unwrap_or(u32::MAX);
            self.pause = self.pause.saturating_mul(2).min(most);
        }
    }
}

/// A packet in the delay line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Circling {
    /// Event of its next ingress, and its first bit there.
    pub at_ps: u64,
    pub first_bit_ps: u64,
    /// Time stamp of its last egress.
    pub stamp_ps: u64,
    /// When its last skipped ingress and egress took place.
    pub ingress_ps: u64,
    pub egress_ps: u64,
    /// Skipped passes.
    pub passes: u64,
    pub length: u32,
    /// Index of its proof.
    pub proof: usize,
}

/// How long nothing else must happen, so that an attempt is worth it for packets with a round of this time.
pub(crate) fn least_calm_ps(packets: usize, round_ps: u64) -> u64 {
    (LEAST_ROUNDS + LEAST_PASSES / packets.max(1) as u64).saturating_mul(round_ps)
}

/// Bounds of a jump.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Events up to this time.
    pub until_ps: u64,
    /// Events before the next event outside of the loop.
    pub before_ps: u64,
    /// Passes of one event alone: their packets do not wait for the line.
    pub at_once: bool,
}

/// Constants of the loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopTimes {
    pub latency_ps: u64,
    pub egress_latency_ps: u64,
}

/// A moment at which every packet is in the delay line.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    passes: u64,
    events: u64,
    /// The last event so far.
    last_ps: u64,
    line: Span,
}

/// The passes that were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub passes: u64,
    pub events: u64,
    /// Time of the last event.
    pub last_ps: u64,
}

/// A packet, and the proof of its last idle pass.
pub(crate) type Packet<'p> = (&'p IngressPacket, Option<&'p IdlePass>);

/// Makes proofs.
pub(crate) struct Prover<'a> {
    pub switch: &'a Switch,
    pub probe: &'a mut IdleProbe,
}

/// The computation, with its memory.
#[derive(Default)]
pub(crate) struct IdleLoop {
    /// Packets in the order in which they come back.
    pub ring: VecDeque<Circling>,
    /// State of the packets at the last safe moment.
    undo: Vec<Circling>,
    /// Proofs, by the order in which the packets stood at first; those that are not known are found.
    pub proofs: Vec<Option<Arc<IdlePass>>>,
    /// Times of the packets one round ago: event and time stamp.
    before: Vec<(u64, u64)>,
    /// Executed passes that cost as much as the proofs of the last computation.
    pub effort: u64,
}

impl IdleLoop {
    /// Skips idle passes of the packets in the ring, of which `packets` gives the originals and `proofs` what is known
    /// about them in the same order, through `line`. Leaves ring and line as the passes would have.
    pub fn skip<'p>(
        &mut self,
        prover: &mut Prover,
        packets: &dyn Fn(usize) -> Packet<'p>,
        line: &mut Line,
        times: LoopTimes,
        bounds: Bounds,
    ) -> Skipped {
        let count = self.ring.len();
        let mut now = Moment { line: line.free(), ..Moment::default() };
        let mut safe = now;
        // The moment one round ago.
        let mut mark: Option<Moment> = None;
        self.undo.clear();
        self.effort = 0;
        for (index, packet) in self.ring.iter_mut().enumerate() {
            packet.proof = index;
        }
        for _ in 0..TIMED_PASSES {
            let Some(arrival_ps) = self.ring.front().map(|next| next.at_ps) else {
                break;
            };
            if arrival_ps > now.last_ps {
                // No packet is between ingress and egress.
                safe = now;
                self.undo.clear();
                match mark {
                    Some(round) if now.passes - round.passes < count as u64 => {}
                    _ => {
                        if let Some(period_ps) = mark.and_then(|round| self.period_ps(round, now)) {
                            now = self.repeat(mark.unwrap_or(now), now, period_ps, bounds);
                            line.set_free(now.line);
                            safe = now;
                        }
                        mark = Some(now);
                        self.before.clear();
                        self.before.extend(self.ring.iter().map(|it| (it.at_ps, it.stamp_ps)));
                    }
                }
            }
            if !self.pass(prover, packets, line, times, bounds, &mut now) {
                break;
            }
        }
        // Passes after the last safe moment are left to be executed.
        if self.ring.front().is_some_and(|next| next.at_ps > now.last_ps) {
            safe = now;
            self.undo.clear();
        }
        while let Some(old) = self.undo.pop() {
            self.ring.pop_back();
            self.ring.push_front(old);
        }
        line.set_free(safe.line);
        Skipped { passes: safe.passes, events: safe.events, last_ps: safe.last_ps }
    }

    /// Times one pass of the first packet. False if it is beyond a bound or not proved idle.
    fn pass<'p>(
        &mut self,
        prover: &mut Prover,
        packets: &dyn Fn(usize) -> Packet<'p>,
        line: &mut Line,
        times: LoopTimes,
        bounds: Bounds,
        now: &mut Moment,
    ) -> bool {
        let Some(&first) = self.ring.front() else {
            return false;
        };
        // As `Tester::enqueue`, `Tester::egress` and `Tester::recirculate` do.
        let ingress_ps = first.at_ps;
        let at_once = now.last_ps < ingress_ps && line.free_ps() <= ingress_ps + times.egress_latency_ps;
        let egress_ps = if at_once {
            ingress_ps
        } else if bounds.at_once {
            return false;
        } else {
            line.free_ps().saturating_sub(times.egress_latency_ps).max(ingress_ps)
        };
        if egress_ps > bounds.until_ps || egress_ps >= bounds.before_ps {
            return false;
        }
        let from_ps = egress_ps + times.egress_latency_ps;
        let stamp_ps = line.next_first_bit_ps(from_ps) - times.egress_latency_ps;
        if self.proofs[first.proof].is_none() {
            let Prover { switch, probe } = prover;
            let (packet, former) = packets(first.proof);
            let pass = LoopPass { packet, last_stamp_ps: first.stamp_ps, stamp_ps, former };
            // Seeds of a stream share a proof, and are neighbours in the loop as a rule.
            let near = &self.proofs[first.proof.saturating_sub(NEIGHBOURS)..first.proof];
            let like = near.iter().flatten().find(|proof| switch.is_idle_by(proof, &pass));
            self.proofs[first.proof] = like.cloned().or_else(|| {
                let proof = switch.probe_idle(probe, &pass);
                self.effort += u64::from(probe.effort());
                proof.ok().map(Arc::new)
            });
        }
        let Some(proof) = &self.proofs[first.proof] else {
            return false;
        };
        // Packets of different queues could overtake each other.
        let last = self.ring.back().and_then(|last| self.proofs[last.proof].as_ref());
        let same_queue = last.is_none_or(|last| last.priority == proof.priority);
        if !proof.is_in_time(first.stamp_ps, stamp_ps) || !same_queue {
            return false;
        }
        let mut next = first;
        let slot = line.send(from_ps, next.length);
        next.at_ps = slot.last_bit_ps + times.latency_ps;
        next.first_bit_ps = slot.first_bit_ps + times.latency_ps;
        next.stamp_ps = stamp_ps;
        next.ingress_ps = ingress_ps;
        next.egress_ps = egress_ps;
        next.passes += 1;
        if let Some(old) = self.ring.pop_front() {
            self.undo.push(old);
        }
        self.ring.push_back(next);
        now.passes += 1;
        now.events += if at_once { 1 } else { 2 };
        now.last_ps = egress_ps;
        now.line = line.free();
        true
    }

    /// The time by which everything has shifted since `round`, a round ago, if it is the same for
    /// all packets and for the line.
    fn period_ps(&self, round: Moment, now: Moment) -> Option<u64> {
        if now.passes - round.passes != self.ring.len() as u64 {
            return None;
        }
        let period_ps = self.ring.front()?.at_ps - self.before.first()?.0;
        let shifted = |(new, old): (&Circling, &(u64, u64))| {
            new.at_ps - old.0 == period_ps && new.stamp_ps.checked_sub(old.1) == Some(period_ps)
        };
        let same = self.ring.iter().zip(&self.before).all(shifted);
        (period_ps > 0 && same && now.line == round.line.later(period_ps)).then_some(period_ps)
    }

    /// As many more rounds as all proofs and bounds allow.
    fn repeat(&mut self, round: Moment, now: Moment, period_ps: u64, bounds: Bounds) -> Moment {
        let end_ps = bounds.until_ps.min(bounds.before_ps.saturating_sub(1));
        let mut times = end_ps.saturating_sub(now.last_ps) / period_ps;
        for packet in &self.ring {
            let Some(proof) = &self.proofs[packet.proof] else {
                return now;
            };
            // In the last round the frame carries the time stamp of the round before.
            let [frame_ps, egress_ps] = proof.before_ps;
            let frame = frame_ps.checked_sub(packet.stamp_ps + 1).map_or(0, |room| room / period_ps + 1);
            let egress = egress_ps.saturating_sub(packet.stamp_ps + 1) / period_ps;
            times = times.min(frame).min(egress);
        }
        let shift_ps = times * period_ps;
        for packet in &mut self.ring {
            packet.at_ps += shift_ps;
            packet.first_bit_ps += shift_ps;
            packet.stamp_ps += shift_ps;
            packet.ingress_ps += shift_ps;
            packet.egress_ps += shift_ps;
            packet.passes += times;
        }
        Moment {
            passes: now.passes + times * (now.passes - round.passes),
            events: now.events + times * (now.events - round.events),
            last_ps: now.last_ps + shift_ps,
            line: now.line.later(shift_ps),
        }
    }
}

impl Circling {
    pub fn new(packet: &IngressPacket, at_ps: u64, first_bit_ps: u64, stamp_ps: u64) -> Circling {
        let length = wire_bytes(&packet.frame);
        Circling { at_ps, first_bit_ps, stamp_ps, length, ..Circling::default() }
    }
}
