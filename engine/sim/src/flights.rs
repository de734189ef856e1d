//! The frames that one port has in flight beside those of the event queue, in the order in which they arrive: those that
//! have not started, which can be taken back, and those for which the event queue has no place.
//!
//! With many frames in flight each of them has left the cache since it was sent, so what an arrival needs can be loaded
//! ahead.

use std::collections::VecDeque;

use p4mesh_pipeline::prefetch;

use crate::arrival::Arrival;
use crate::event::Ticket;
use crate::time::Span;

/// A line of the cache.
const LINE_BYTES: usize = 64;

/// A frame between the decision to send it and the decision of its receiver: a line of the cache, as many of them are loaded
/// from memory.
#[derive(Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Flight {
    /// When the receiver must act. These two come first: they are looked at while the flight is the next one.
    pub act_ps: u64,
    pub ticket: Ticket,
    pub arrival: Arrival,
}

const _: () = assert!(size_of::<Flight>() == LINE_BYTES);

/// The slot of a frame on its line, as it was planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub start_ps: u64,
    /// The earliest start that the sender allows.
    pub from_ps: u64,
    /// When the line was free before this frame took its slot.
    pub free_before: Span,
}

/// A queue of flights.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    queue: VecDeque<Flight>,
    /// The plans of the last flights; the others have started.
    plans: VecDeque<Plan>,
}

impl Flights {
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Adds a frame, at `now_ps`, that starts after all others and arrives after them.
    #[inline]
    pub fn push(&mut self, flight: Flight, plan: Plan, now_ps: u64) {
        if plan.start_ps > now_ps {
            self.plans.push_back(plan);
        } else if !self.plans.is_empty() {
            self.plans.clear();
        }
        self.queue.push_back(flight);
    }

    /// The frame that arrives first.
    #[inline]
    pub fn first(&self) -> Option<&Flight> {
        self.queue.front()
    }

    /// Takes the first frame to `landed`, where none is; false if the ticket of the first is another one.
    #[inline]
    pub fn land(&mut self, ticket: Ticket, landed: &mut Arrival) -> bool {
        let Some(first) = self.queue.front_mut().filter(|it| it.ticket == ticket) else {
            return false;
        };
        std::mem::swap(landed, &mut first.arrival);
        self.queue.pop_front();
        if self.plans.len() > self.queue.len() {
            self.plans.pop_front();
        }
        true
    }

    /// Begins to load the first flight, and the next one as far as [`Flights::land`] lets it be looked at.
    #[inline]
    pub fn load_first(&self) {
        if let Some(first) = self.queue.front() {
            load_lines(std::ptr::from_ref(first), 2 * size_of::<Flight>());
        }
    }

    /// Takes the frames that have not started at `now_ps`.
    pub fn take_back(&mut self, now_ps: u64) -> Vec<(Flight, Plan)> {
        let started = self.plans.partition_point(|plan| plan.start_ps <= now_ps);
        self.plans.drain(..started);
        let first = self.queue.len() - self.plans.len();
        self.queue.drain(first..).zip(self.plans.drain(..)).collect()
    }
}

/// Begins to load so many bytes, or a few more.
#[inline]
fn load_lines<T>(first: *const T, bytes: usize) {
    (0..bytes).step_by(LINE_BYTES).for_each(|at| prefetch(first.cast::<u8>().wrapping_add(at)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flights(starts_ps: &[u64]) -> Flights {
        let mut events = crate::event::EventQueue::default();
        let mut flights = Flights::default();
        for &start_ps in starts_ps {
            let arrival = Arrival { last_bit_ps: start_ps + 50, ..Arrival::default() };
            let (act_ps, ticket) = (arrival.last_bit_ps, events.ticket());
            let plan = Plan { start_ps, ..Plan::default() };
            flights.push(Flight { act_ps, ticket, arrival }, plan, 5);
        }
        flights
    }

    #[test]
    fn frames_land_in_their_order_and_by_their_own_ticket_alone() {
        let mut flights = flights(&[10, 20]);
        let ticket = flights.first().expect("two are in flight").ticket;
        let mut landed = Arrival::default();
        assert!(flights.land(ticket, &mut landed));
        assert_eq!(landed.last_bit_ps, 60);
        assert!(!flights.land(ticket, &mut landed), "the ticket of a frame that has landed");
        assert_eq!(landed.last_bit_ps, 60);
        assert_eq!((flights.len(), flights.first().map(|it| it.act_ps)), (1, Some(70)));
    }

    #[test]
    fn frames_that_have_not_started_are_taken_back() {
        let mut flights = flights(&[10, 20, 30]);
        let taken = flights.take_back(10);
        let starts_ps =
            |taken: &[(Flight, Plan)]| taken.iter().map(|(_, plan)| plan.start_ps).collect::<Vec<_>>();
        assert_eq!(starts_ps(&taken), [20, 30]);
        assert!(taken.iter().all(|(flight, plan)| flight.act_ps == plan.start_ps + 50));
        assert_eq!(flights.len(), 1);
        assert!(flights.take_back(10).is_empty());
    }

    #[test]
    fn a_frame_that_starts_at_once_or_has_landed_is_not_taken_back() {
        let mut flights = flights(&[5, 10, 20]);
        let mut landed = Arrival::default();
        for act_ps in [55, 60] {
            let ticket =
                flights.first().filter(|it| it.act_ps == act_ps).expect("frames in their order").ticket;
            assert!(flights.land(ticket, &mut landed));
        }
        assert_eq!(flights.take_back(0).len(), 1);
    }
}
