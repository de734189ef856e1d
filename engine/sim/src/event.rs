//! The event queue: a four-way heap of 16-byte keys, ordered by (time, insertion).
//!
//! A port keeps the frames that are in flight in a queue of its own and has only the first of them
//! here, so the heap is as small as the network has ports, however many frames it carries.

/// An event. Every value stands for at most one pending event, apart from timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The first frame that port `0` has in flight reaches the point at which its receiver acts.
    Flight(u32),
    /// The wire of port `0` becomes free and its queue is not empty.
    PortFree(u32),
    /// The first packet in the recirculation loop comes back.
    Loop,
    /// A timer that the node of port `0` has set, or the network itself ([`Source::UPSET`]).
    Timer(u32),
}

const INDEX_BITS: u32 = 18;
const SOURCE_BITS: u32 = INDEX_BITS + 2;
/// Greatest number of ports of a network.
pub const MAX_PORTS: usize = 1 << INDEX_BITS;

impl Source {
    /// A link or a device changes its state. No port has this number: there are fewer.
    pub const UPSET: Source = Source::Timer(MAX_PORTS as u32 - 1);

    fn encode(self) -> u128 {
        let (kind, index) = match self {
            Source::Flight(port) => (0, port),
            Source::PortFree(port) => (1, port),
            Source::Loop => (2, 0),
            Source::Timer(port) => (3, port),
        };
        debug_assert!((index as usize) < MAX_PORTS);
        u128::from(kind << INDEX_BITS | index)
    }

    fn decode(key: u128) -> Source {
        let low = key as u32 & ((1 << SOURCE_BITS) - 1);
        let index = low & ((1 << INDEX_BITS) - 1);
        match low >> INDEX_BITS {
            0 => Source::Flight(index),
            1 => Source::PortFree(index),
            2 => Source::Loop,
            _ => Source::Timer(index),
        }
    }
}

/// A position in the total order of events, of something that waits outside the heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// Pending events in the order (time, ticket).
#[derive(Default)]
pub struct EventQueue {
    /// Time in the upper 64 bits, ticket in the next 44, source in the lowest 20.
    heap: Vec<u128>,
    /// The first key has been taken and its place is free. Most events cause another one, which
    /// then goes down from there: one pass over the heap instead of two.
    root_free: bool,
    next_ticket: u64,
}

impl EventQueue {
    /// The next ticket: of events at the same time, the one that took its ticket first comes first.
    #[inline]
    pub fn ticket(&mut self) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        assert!(ticket < 1 << (64 - SOURCE_BITS), "more events than one network can order");
        Ticket(ticket)
    }

    /// Adds an event with a ticket that was taken before.
    #[inline]
    pub fn push(&mut self, time_ps: u64, ticket: Ticket, source: Source) {
        let key = u128::from(time_ps) << 64 | u128::from(ticket.0) << SOURCE_BITS | source.encode();
        if self.root_free {
            self.root_free = false;
            self.sift_down(key);
        } else {
            self.heap.push(key);
            self.sift_up(self.heap.len() - 1, key);
        }
    }

    /// Adds an event that comes after all events of the same time that exist already.
    #[inline]
    pub fn schedule(&mut self, time_ps: u64, source: Source) {
        let ticket = self.ticket();
        self.push(time_ps, ticket, source);
    }

    /// Time of the first event.
    #[inline]
    pub fn next_time_ps(&mut self) -> Option<u64> {
        self.fill_root();
        self.heap.first().map(|key| (key >> 64) as u64)
    }

    /// Time of the second event.
    #[inline]
    pub fn second_time_ps(&mut self) -> Option<u64> {
        self.fill_root();
        self.heap.iter().take(5).skip(1).min().map(|key| (key >> 64) as u64)
    }

    /// Takes the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, Ticket, Source)> {
        self.fill_root();
        let key = *self.heap.first()?;
        self.root_free = true;
        let ticket = Ticket(key as u64 >> SOURCE_BITS);
        Some(((key >> 64) as u64, ticket, Source::decode(key)))
    }

    /// Takes the event of a source out, wherever it is; looks at all pending events.
    pub(crate) fn take(&mut self, source: Source) -> Option<(u64, Ticket)> {
        self.fill_root();
        let code = source.encode();
        let mask = (1 << SOURCE_BITS) - 1;
        let at = self.heap.iter().position(|key| key & mask == code)?;
        let key = self.heap[at];
        let last = self.heap.pop().expect("the event is there");
        if at < self.heap.len() {
            // Upwards as if it were the least, then down from the root.
            self.sift_up(at, 0);
            self.sift_down(last);
        }
        Some(((key >> 64) as u64, Ticket(key as u64 >> SOURCE_BITS)))
    }

    /// Pending events.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.root_free)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn fill_root(&mut self) {
        if self.root_free {
            self.root_free = false;
            let last = self.heap.pop().expect("a free root is a place");
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
    }

    fn sift_up(&mut self, mut hole: usize, key: u128) {
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = key;
    }

    /// Puts `key` where it belongs, from the root downwards.
    fn sift_down(&mut self, key: u128) {
        let heap = self.heap.as_mut_slice();
        let mut hole = 0;
        loop {
            let first = 4 * hole + 1;
            let child = match heap.get(first..) {
                // Sums instead of branches: which child is least is not predictable.
                Some([a, b, c, d, ..]) => {
                    let left = first + usize::from(b < a);
                    let right = first + 2 + usize::from(d < c);
                    left + (right - left) * usize::from(heap[right] < heap[left])
                }
                Some(rest) if !rest.is_empty() => {
                    (first..heap.len()).min_by_key(|&child| heap[child]).unwrap_or(first)
                }
                _ => break,
            };
            if heap[child] >= key {
                break;
            }
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

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
            let (at, _, source) = queue.pop().unwrap();
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
            let (at, _, source) = queue.pop().unwrap();
            assert_eq!((at, source), (time, Source::PortFree(index)));
        }
        assert!(queue.is_empty());
    }

    #[test]
    fn a_ticket_taken_early_is_served_early() {
        let mut queue = EventQueue::default();
        let early = queue.ticket();
        queue.schedule(5, Source::Loop);
        queue.push(5, early, Source::Timer(3));
        assert_eq!(queue.pop().unwrap().2, Source::Timer(3));
        assert_eq!(queue.pop().unwrap().2, Source::Loop);
    }
}
