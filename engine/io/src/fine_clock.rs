//! A clock for many readings: CLOCK_MONOTONIC where it is set, and the counter of the processor from there.
//!
//! Reading CLOCK_MONOTONIC lets the processor finish all that it has begun, which takes longer than the reading. The
//! counter is read as it comes. It is compared with CLOCK_MONOTONIC all the time, so that nothing is assumed about it but
//! that it goes evenly for some milliseconds.

use crate::clock::monotonic_ns;

/// Readings of both clocks that are further apart are not used.
const CLOSE_TICKS: u64 = 10_000;
/// The pace is that of an interval of at least so long.
const PACE_NS: u64 = 10_000_000;
/// Two intervals agree where their paces differ by no more than one part of so many.
const AGREEMENT: u64 = 1_000;

/// Both clocks at about the same time.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ns: u64,
    ticks: u64,
}

/// For one thread at a time.
#[derive(Clone, Debug, Default)]
pub struct FineClock {
    /// At the last setting; none where the counter cannot be used from there.
    anchor: Option<Pair>,
    /// Where the present measurement of the pace began.
    pace_from: Option<Pair>,
    /// Nanoseconds per tick, in 2^-32, in the last interval.
    pace_q32: u64,
    /// The interval before had that pace, too.
    is_even: bool,
    /// The latest time that was given.
    latest_ns: u64,
}

impl FineClock {
    /// Reads CLOCK_MONOTONIC, in nanoseconds, and goes on from there.
    pub fn set(&mut self) -> u64 {
        let before = counter();
        let ns = monotonic_ns();
        let after = counter();
        // The thread may have lost its processor in between.
        let pair = before.zip(after).filter(|(before, after)| after.wrapping_sub(*before) < CLOSE_TICKS);
        let pair = pair.map(|(_, ticks)| Pair { ns, ticks });
        if let Some(now) = pair {
            self.measure(now);
        }
        self.anchor = pair.filter(|_| self.is_even);
        self.latest_ns = self.latest_ns.max(ns);
        ns
    }

    /// Nanoseconds of CLOCK_MONOTONIC, never less than before.
    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        let ns = match (self.anchor, counter()) {
            (Some(anchor), Some(ticks)) => {
                let passed = u128::from(ticks.wrapping_sub(anchor.ticks)) * u128::from(self.pace_q32);
                anchor.ns + (passed >> 32) as u64
            }
            _ => monotonic_ns(),
        };
        self.latest_ns = self.latest_ns.max(ns);
        self.latest_ns
    }

    fn measure(&mut self, now: Pair) {
        match self.pace_from {
            None => self.pace_from = Some(now),
            Some(from) if now.ns - from.ns >= PACE_NS => {
                let ticks = now.ticks.wrapping_sub(from.ticks).max(1);
                let pace_q32 = ((u128::from(now.ns - from.ns) << 32) / u128::from(ticks)) as u64;
                self.is_even = pace_q32.abs_diff(self.pace_q32) <= pace_q32 / AGREEMENT;
                self.pace_q32 = pace_q32;
                self.pace_from = Some(now);
            }
            Some(_) => {}
        }
    }
}

/// The counter of this processor, where it has one.
#[inline]
fn counter() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every such processor has the instruction.
        Some(unsafe { std::arch::x86_64::_rdtsc() })
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A setting that nothing has interrupted.
    fn set(clock: &mut FineClock) {
        loop {
            clock.set();
            if clock.anchor.is_some() || counter().is_none() {
                return;
            }
        }
    }

    #[test]
    fn it_agrees_with_the_clock_of_the_system() {
        let mut clock = FineClock::default();
        let began = monotonic_ns();
        set(&mut clock);
        // Two intervals have agreed.
        assert!(monotonic_ns() - began >= 2 * PACE_NS || counter().is_none());
        // A thread may lose its processor between two readings: the closest of many count.
        let mut closest = u64::MAX;
        for _ in 0..1_000 {
            set(&mut clock);
            let begin = monotonic_ns();
            while monotonic_ns() - begin < 20_000 {}
            let before = monotonic_ns();
            let found = clock.now_ns();
            let after = monotonic_ns();
            closest = closest.min(before.saturating_sub(found).max(found.saturating_sub(after)));
        }
        assert!(closest < 200, "{closest} ns");
    }

    #[test]
    fn it_never_goes_back() {
        let mut clock = FineClock::default();
        let mut last = 0;
        for round in 0..100_000 {
            if round % 64 == 0 {
                clock.set();
            }
            let now = clock.now_ns();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn it_begins_with_the_clock_of_the_system() {
        let mut clock = FineClock::default();
        clock.set();
        let before = monotonic_ns();
        let found = clock.now_ns();
        assert!((before..=monotonic_ns()).contains(&found));
    }
}
