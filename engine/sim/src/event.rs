//! The event queue: 16-byte keys, ordered by (time, loop or not, insertion).
//!
//! At one time the events of the recirculation loop come before all others, so that their order does not depend on when
//! the passes of the loop were computed ([`crate::recirculation`]).
//!
//! Ports of one rate cause events at one distance from now, so most events come in the order in which they fall due. A
//! few lanes take those: a key goes behind the last one of the first lane where it fits. The others, and timers, which
//! would keep a lane closed until they fall due, are in a heap.
//!
//! A frame on its way waits in a lane of its own kind: with many frames in flight, those of all ports lie side by side
//! in the order in which they are needed. Where it fits into none, and while it can be taken back, it waits in a queue of
//! its port, which has only the first frame here.

mod lane;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lane::{Keyed, Lane, NONE};
use p4mesh_pipeline::prefetch;

use crate::arrival::Arrival;

/// An event. Every value stands for at most one pending event, apart from timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The first frame in the flights of port `0` reaches the point at which its receiver acts.
    Flight(u32),
    /// The same of a frame that came with the event: one of [`EventQueue::fly`].
    Landed(u32),
    /// The wire of port `0` becomes free and its queue is not empty.
    PortFree(u32),
    /// The first packet in the recirculation loop of switch `0` of the tester comes back.
    Loop(u32),
    /// The wire of the loop port of switch `0` becomes free and its queue is not empty.
    LoopFree(u32),
    /// A timer that the node of port `0` has set, or the network itself ([`Source::UPSET`]).
    Timer(u32),
}

const INDEX_BITS: u32 = 18;
const SOURCE_BITS: u32 = INDEX_BITS + 2;
/// The bit of a key, among the lower 64, that is 0 for the loop.
const RANK: u64 = 1 << 63;
/// Between two tickets, which are numbers in the bits of a key above its source.
const NEXT_TICKET: u64 = 1 << SOURCE_BITS;
/// Greatest number of ports of a network.
pub const MAX_PORTS: usize = 1 << INDEX_BITS;

impl Source {
    /// A link or a device changes its state. No port has this number: there are fewer.
    pub const UPSET: Source = Source::Timer(MAX_PORTS as u32 - 1);

    fn encode(self) -> u64 {
        let (kind, index) = match self {
            Source::Flight(port) | Source::Landed(port) => (0, port),
            Source::PortFree(port) => (1, port),
            Source::Loop(switch) => (2, 2 * switch),
            Source::LoopFree(switch) => (2, 2 * switch + 1),
            Source::Timer(port) => (3, port),
        };
        debug_assert!((index as usize) < MAX_PORTS);
        u64::from(kind << INDEX_BITS | index)
    }

    /// Whether it comes before all others at its time.
    #[inline]
    fn is_of_loop(self) -> bool {
        matches!(self, Source::Loop(_) | Source::LoopFree(_))
    }

    fn decode(key: u128) -> Source {
        let index = index_of(key);
        match key as u32 >> INDEX_BITS & ((1 << (SOURCE_BITS - INDEX_BITS)) - 1) {
            0 => Source::Flight(index),
            1 => Source::PortFree(index),
            2 if index % 2 == 0 => Source::Loop(index / 2),
            2 => Source::LoopFree(index / 2),
            _ => Source::Timer(index),
        }
    }
}

/// A position in the total order of events, of something that waits outside the heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// Distances from now that the arrivals of frames have between ports of one kind: two directions of a link.
const FLIGHT_LANES: usize = 2;
/// Those of other events: free lines, and the loop.
const OTHER_LANES: usize = 2;
/// The number of the heap, which follows those of the lanes.
const HEAP: usize = FLIGHT_LANES + OTHER_LANES;
/// A power of two: the number of a lane is always below it.
const NUMBERS: usize = 8;

/// A frame on its way: a line of the cache.
#[derive(Default)]
#[repr(C, align(64))]
struct Landing {
    key: u128,
    arrival: Arrival,
}

const _: () = assert!(size_of::<Landing>() == 64);

impl Keyed for Landing {
    #[inline]
    fn key(&self) -> u128 {
        self.key
    }
}

/// Pending events in the order (time, ticket).
///
/// Their keys have the time in the upper 64 bits, 0 for the loop in the next one, the ticket in the next 43, the source in
/// the lowest 20.
pub struct EventQueue {
    flights: [Lane<Landing>; FLIGHT_LANES],
    others: [Lane<u128>; OTHER_LANES],
    heap: BinaryHeap<Reverse<u128>>,
    /// The first key of each lane, those of frames first, and that of the heap; [`NONE`] where there is none.
    firsts: [u128; NUMBERS],
    /// The lane that the last event came from, or [`HEAP`]. Ports of one rate do the same at the same time, so most events
    /// come from the lane of the one before, and frames that a device forwards from two lanes in turn.
    lane: usize,
    /// Another one that is likely to have the next event.
    second: usize,
    /// The least first key of all but `lane`, and of all but both.
    other: u128,
    others_from: u128,
    next_ticket: u64,
}

impl Default for EventQueue {
    fn default() -> EventQueue {
        EventQueue {
            flights: Default::default(),
            others: Default::default(),
            heap: BinaryHeap::new(),
            firsts: [NONE; NUMBERS],
            lane: HEAP,
            second: 0,
            other: NONE,
            others_from: NONE,
            next_ticket: 0,
        }
    }
}

impl EventQueue {
    /// The next ticket: of events at the same time, the one that took its ticket first comes first.
    #[inline]
    pub fn ticket(&mut self) -> Ticket {
        let ticket = self.next_ticket;
        assert!(ticket & RANK == 0, "more events than one network can order");
        self.next_ticket = ticket + NEXT_TICKET;
        Ticket(ticket)
    }

    /// Adds an event with a ticket that was taken before.
    // Nearly all of it is known where the kind of the source is.
    #[inline(always)]
    pub fn push(&mut self, time_ps: u64, ticket: Ticket, source: Source) {
        let key = key_of(time_ps, ticket, source);
        match source {
            Source::Timer(_) => self.push_to_heap(key),
            _ => self.push_in_order(key),
        }
    }

    fn push_to_heap(&mut self, key: u128) {
        self.heap.push(Reverse(key));
        self.comes(key, HEAP);
    }

    /// Adds a key to a lane where it fits, or else to the heap.
    fn push_in_order(&mut self, key: u128) {
        match self.others.iter().position(|lane| lane.fits(key)) {
            Some(lane) => {
                self.others[lane].push(key);
                self.comes(key, FLIGHT_LANES + lane);
            }
            None => self.push_to_heap(key),
        }
    }

    /// Adds a frame that lands at a time, with a ticket that was taken before. Gives it back where it fits into no lane.
    #[inline(always)]
    pub fn fly(&mut self, time_ps: u64, ticket: Ticket, sender: u32, arrival: Arrival) -> Option<Arrival> {
        let key = key_of(time_ps, ticket, Source::Landed(sender));
        let Some(lane) = self.flights.iter().position(|lane| lane.fits(key)) else {
            return Some(arrival);
        };
        self.flights[lane].push(Landing { key, arrival });
        self.comes(key, lane);
        None
    }

    /// Keeps the first keys right for a key that has come to a lane.
    #[inline(always)]
    fn comes(&mut self, key: u128, lane: usize) {
        if key < self.firsts[lane] {
            self.firsts[lane] = key;
            if lane != self.lane {
                self.other = self.other.min(key);
                if lane != self.second {
                    self.others_from = self.others_from.min(key);
                }
            }
        }
    }

    /// Adds an event that comes after all events of its kind and time that exist already.
    #[inline]
    pub fn schedule(&mut self, time_ps: u64, source: Source) {
        let ticket = self.ticket();
        self.push(time_ps, ticket, source);
    }

    /// Time of the first event.
    #[inline]
    pub fn next_time_ps(&mut self) -> Option<u64> {
        let first = self.first();
        (first != NONE).then(|| time_of(first))
    }

    /// Time of the second event.
    pub fn second_time_ps(&mut self) -> Option<u64> {
        self.first();
        let of_heap = match self.lane {
            // The second key of a heap is one of the two below its first.
            HEAP => self.heap.as_slice().iter().skip(1).take(2).map(|key| key.0).min(),
            _ => self.heap.peek().map(|key| key.0),
        };
        let behind = |lane| usize::from(lane == self.lane);
        let flights = self.flights.iter().enumerate();
        let flights = flights.filter_map(|(number, lane)| lane.get(behind(number)).map(Keyed::key));
        let others = self.others.iter().enumerate();
        let others = others.filter_map(|(number, lane)| lane.get(behind(FLIGHT_LANES + number)).copied());
        flights.chain(others).chain(of_heap).min().map(time_of)
    }

    /// Takes the first event, unless it comes after a time, which is less than the greatest number. The frame of
    /// [`Source::Landed`] comes to `landed`, where none is.
    #[inline]
    pub fn pop_by(&mut self, limit_ps: u64, landed: &mut Arrival) -> Option<(u64, Ticket, Source)> {
        let key = self.first();
        let time_ps = time_of(key);
        debug_assert!(limit_ps < time_of(NONE));
        if time_ps > limit_ps {
            return None;
        }
        let (ticket, index) = (ticket_of(key), index_of(key));
        let first = &mut self.firsts[self.lane % NUMBERS];
        if let Some(lane) = self.flights.get_mut(self.lane) {
            // It is copied as a whole: the processor waits for what was just written in other pieces than it is read.
            let next = lane.take_first(|first| std::mem::swap(landed, &mut first.arrival));
            *first = next.map_or(NONE, |next| {
                prefetch(next.arrival.frame.as_ptr());
                next.key
            });
            return Some((time_ps, ticket, Source::Landed(index)));
        }
        *first = match self.others.get_mut(self.lane - FLIGHT_LANES) {
            Some(lane) => lane.take_first(|_| ()).copied().unwrap_or(NONE),
            None => {
                self.heap.pop();
                self.heap.peek().map_or(NONE, |key| key.0)
            }
        };
        Some((time_ps, ticket, Source::decode(key)))
    }

    /// A frame that is likely to land soon, with its sender: the one `behind` the first in the lane of the last event.
    #[inline]
    pub fn soon_to_land(&self, behind: usize) -> Option<(u32, &Arrival)> {
        let Landing { key, arrival } = self.flights.get(self.lane)?.get(behind)?;
        Some((index_of(*key), arrival))
    }

    /// A source that is likely to come soon: the one `behind` the first in the lane of the last event, which was no frame.
    #[inline]
    pub fn soon(&self, behind: usize) -> Option<Source> {
        let lane = self.lane.checked_sub(FLIGHT_LANES)?;
        self.others.get(lane)?.get(behind).map(|&key| Source::decode(key))
    }

    /// The senders of all frames that are here.
    pub fn flying(&self) -> impl Iterator<Item = u32> + '_ {
        self.flights.iter().flat_map(Lane::iter).map(|it| index_of(it.key))
    }

    /// Takes the event of a source out, wherever it is, but no frame; looks at all pending events.
    pub(crate) fn take(&mut self, source: Source) -> Option<(u64, Ticket)> {
        let code = u128::from(source.encode());
        let is_wanted = |key| key & ((1 << SOURCE_BITS) - 1) == code;
        let of_lanes = self.others.iter_mut().find_map(|lane| lane.take(is_wanted));
        let key = of_lanes.or_else(|| {
            let key = self.heap.iter().map(|key| key.0).find(|&key| is_wanted(key))?;
            self.heap.retain(|other| other.0 != key);
            Some(key)
        })?;
        for (first, lane) in self.firsts[FLIGHT_LANES..].iter_mut().zip(&self.others) {
            *first = lane.get(0).copied().unwrap_or(NONE);
        }
        self.firsts[HEAP] = self.heap.peek().map_or(NONE, |key| key.0);
        self.change_lanes();
        Some((time_of(key), ticket_of(key)))
    }

    /// Pending events.
    pub fn len(&self) -> usize {
        let flights = self.flights.iter().map(Lane::len).sum::<usize>();
        flights + self.others.iter().map(Lane::len).sum::<usize>() + self.heap.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first key, which is that of `lane` afterwards; [`NONE`] where there is no event.
    #[inline]
    fn first(&mut self) -> u128 {
        let first = self.firsts[self.lane % NUMBERS];
        if first < self.other {
            return first;
        }
        let second = self.firsts[self.second % NUMBERS];
        if second < self.others_from {
            std::mem::swap(&mut self.lane, &mut self.second);
            self.other = first.min(self.others_from);
            return second;
        }
        self.change_lanes();
        self.firsts[self.lane]
    }

    /// Looks for the lanes of the first two keys.
    #[inline(never)]
    fn change_lanes(&mut self) {
        let [mut first, mut second, mut third] = [NONE; 3];
        for (lane, &key) in self.firsts.iter().enumerate() {
            if key < first {
                (first, second, third) = (key, first, second);
                (self.lane, self.second) = (lane, self.lane);
            } else if key < second {
                (second, third) = (key, second);
                self.second = lane;
            } else {
                third = third.min(key);
            }
        }
        (self.other, self.others_from) = (second, third);
    }
}

#[inline]
fn key_of(time_ps: u64, ticket: Ticket, source: Source) -> u128 {
    let rank = if source.is_of_loop() { 0 } else { RANK };
    u128::from(time_ps) << 64 | u128::from(rank | ticket.0 | source.encode())
}

#[inline]
fn index_of(key: u128) -> u32 {
    key as u32 & ((1 << INDEX_BITS) - 1)
}

#[inline]
fn time_of(key: u128) -> u64 {
    (key >> 64) as u64
}

#[inline]
fn ticket_of(key: u128) -> Ticket {
    Ticket(key as u64 & !RANK & !(NEXT_TICKET - 1))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::rng::Rng;

    fn pop(queue: &mut EventQueue) -> Option<(u64, Ticket, Source)> {
        queue.pop_by(u64::MAX - 1, &mut Arrival::default())
    }

    #[test]
    fn events_leave_in_order_of_time_then_insertion() {
        let mut rng = Rng::new(7);
        let mut queue = EventQueue::default();
        let mut expected = Vec::new();
        for index in 0..5_000u32 {
            let time = rng.below(300);
            queue.schedule(time, Source::PortFree(index));
            expected.push((time, index));
        }
        expected.sort();
        for (place, &(time, index)) in expected.iter().enumerate() {
            let (at, _, source) = pop(&mut queue).unwrap();
            assert_eq!((at, source), (time, Source::PortFree(index)));
            assert_eq!(queue.second_time_ps(), expected.get(place + 2).map(|it| it.0));
        }
        assert!(queue.is_empty());
    }

    #[test]
    fn an_event_is_taken_out_of_the_middle() {
        let mut rng = Rng::new(9);
        let mut queue = EventQueue::default();
        let mut expected = Vec::new();
        for index in 0..200u32 {
            let time = rng.below(1_000);
            queue.schedule(time, Source::PortFree(index));
            expected.push((time, index));
        }
        for index in [7, 0, 199, 100] {
            let time = expected[index as usize].0;
            assert_eq!(queue.take(Source::PortFree(index)).map(|it| it.0), Some(time));
            assert_eq!(queue.take(Source::PortFree(index)), None);
        }
        expected.retain(|&(_, index)| ![7, 0, 199, 100].contains(&index));
        expected.sort();
        for (time, index) in expected {
            let (at, _, source) = pop(&mut queue).unwrap();
            assert_eq!((at, source), (time, Source::PortFree(index)));
        }
        assert!(queue.is_empty());
    }

    #[test]
    fn events_at_several_distances_leave_in_order_while_others_come() {
        let mut rng = Rng::new(11);
        let mut queue = EventQueue::default();
        let mut expected = BTreeSet::new();
        let distances_ps = [5, 700, 90, 700, 5_000, 40, 0];
        for index in 0..60u32 {
            queue.schedule(u64::from(index), Source::PortFree(index));
            expected.insert((u64::from(index), u64::from(index), index));
        }
        for ticket in 60..20_000u64 {
            let second = expected.iter().nth(1).map(|it| it.0);
            assert_eq!(queue.second_time_ps(), second);
            let (time_ps, _, source) = pop(&mut queue).unwrap();
            let (at_ps, _, index) = expected.pop_first().unwrap();
            assert_eq!((time_ps, source), (at_ps, Source::PortFree(index)));
            let distance_ps = match rng.below(10) {
                0 => rng.below(9_000),
                _ => distances_ps[index as usize % distances_ps.len()],
            };
            if rng.below(1_000) == 0 {
                let (at_ps, ticket, index) = *expected.iter().nth(30).unwrap();
                expected.remove(&(at_ps, ticket, index));
                assert_eq!(queue.take(Source::PortFree(index)), Some((at_ps, Ticket(NEXT_TICKET * ticket))));
                queue.push(at_ps + 1, Ticket(NEXT_TICKET * ticket), Source::PortFree(index));
                expected.insert((at_ps + 1, ticket, index));
            }
            queue.schedule(time_ps + distance_ps, Source::PortFree(index));
            expected.insert((time_ps + distance_ps, ticket, index));
            assert_eq!(queue.len(), 60);
        }
    }

    #[test]
    fn a_ticket_taken_early_is_served_early() {
        let mut queue = EventQueue::default();
        let early = queue.ticket();
        queue.schedule(5, Source::PortFree(1));
        queue.push(5, early, Source::Timer(3));
        assert_eq!(pop(&mut queue).unwrap().2, Source::Timer(3));
        assert_eq!(pop(&mut queue).unwrap().2, Source::PortFree(1));
    }

    #[test]
    fn the_loop_comes_first_at_its_time_alone() {
        let mut queue = EventQueue::default();
        let first = queue.ticket();
        queue.push(5, first, Source::Flight(1));
        queue.schedule(5, Source::LoopFree(0));
        let last = queue.ticket();
        queue.push(5, last, Source::Loop(0));
        queue.schedule(4, Source::Timer(3));
        let sources: Vec<Source> = std::iter::from_fn(|| pop(&mut queue).map(|it| it.2)).collect();
        assert_eq!(sources, [Source::Timer(3), Source::LoopFree(0), Source::Loop(0), Source::Flight(1)]);
        queue.push(6, last, Source::Loop(0));
        assert_eq!(pop(&mut queue), Some((6, last, Source::Loop(0))));
    }

    #[test]
    fn frames_that_fit_into_a_lane_land_among_the_other_events_and_others_are_given_back() {
        let mut rng = Rng::new(13);
        let mut queue = EventQueue::default();
        let mut expected = BTreeMap::new();
        let mut refused = 0;
        for sender in 0..3_000u32 {
            let time_ps = u64::from(sender) + rng.below(40);
            let ticket = queue.ticket();
            let arrival = Arrival { first_bit_ps: u64::from(sender), ..Arrival::default() };
            let is_frame = rng.below(3) > 0;
            if is_frame {
                if let Some(arrival) = queue.fly(time_ps, ticket, sender, arrival) {
                    assert_eq!(arrival.first_bit_ps, u64::from(sender));
                    refused += 1;
                    continue;
                }
            } else {
                queue.push(time_ps, ticket, Source::PortFree(sender));
            }
            expected.insert((time_ps, ticket), (sender, is_frame));
            let frames: BTreeSet<u32> = expected.values().filter(|it| it.1).map(|it| it.0).collect();
            assert_eq!(queue.flying().collect::<BTreeSet<u32>>(), frames);
            assert_eq!(queue.len(), expected.len());
            assert_eq!(queue.second_time_ps(), expected.keys().nth(1).map(|it| it.0));
            if expected.len() == 30 {
                let ((time_ps, ticket), (sender, is_frame)) = expected.pop_first().unwrap();
                let mut landed = Arrival::default();
                let source = if is_frame { Source::Landed(sender) } else { Source::PortFree(sender) };
                assert_eq!(queue.pop_by(u64::MAX - 1, &mut landed), Some((time_ps, ticket, source)));
                assert_eq!(landed.first_bit_ps, if is_frame { u64::from(sender) } else { 0 });
            }
        }
        assert!((1..1_500).contains(&refused), "{refused}");
    }
}
