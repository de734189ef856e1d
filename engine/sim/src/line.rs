//! One direction of an Ethernet line: the times of a frame's start, of its bits, and of the next start.

use crate::time::{BitClock, Span};

/// Preamble and start frame delimiter.
pub const PREAMBLE_BITS: u64 = 64;
/// The frame check sequence, which frames inside the engine do not carry.
pub const FCS_BYTES: u32 = 4;
/// Smallest frame that Ethernet allows, with FCS.
pub const MIN_WIRE_BYTES: u32 = 64;
/// The gap between frames unless a port says otherwise.
pub const STANDARD_GAP_BITS: u32 = 96;

/// Length on the wire, with FCS, of a frame of the engine.
#[inline]
pub fn wire_bytes(frame: &[u8]) -> u32 {
    frame.len() as u32 + FCS_BYTES
}

/// Times at which the parts of one frame pass the sending end of a line. "First bit" is the first bit after the start
/// frame delimiter, "last bit" the end of the FCS. Fractions are cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// First bit of the preamble.
    pub start_ps: u64,
    pub first_bit_ps: u64,
    pub last_bit_ps: u64,
    /// The point that the receiver waits for: its look-ahead, or the last bit.
    pub decision_ps: u64,
}

/// The sending side of a line. First comes all that each frame needs.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Line {
    free: Span,
    /// No frame starts before this (a PAUSE).
    held: Span,
    clock: BitClock,
    preamble: Span,
    timing: Timing,
    rate_bps: u64,
    /// No frame takes less of the line than this, gap included.
    min_slot_bits: u64,
    /// How many bytes the receiver waits for; `None` is all of them.
    lookahead_bytes: Option<u32>,
    gap_bits: u32,
}

/// Durations that depend on the frame length, kept for the length that was sent last.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Timing {
    wire_bytes: u32,
    /// From the start of the preamble to the end of the gap.
    occupied: Span,
    /// From the first bit.
    body: Span,
    decision: Span,
}

impl Line {
    pub fn new(rate_bps: u64, clock_ppb: i64, gap_bits: u32) -> Line {
        let clock = BitClock::new(rate_bps, clock_ppb);
        let preamble = clock.periods(PREAMBLE_BITS);
        let timing = Timing::default();
        Line {
            clock,
            rate_bps,
            gap_bits,
            lookahead_bytes: None,
            min_slot_bits: 0,
            free: Span::default(),
            held: Span::default(),
            preamble,
            timing,
        }
    }

    pub fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// Changes the gap that follows the frames sent from now on.
    pub fn set_gap_bits(&mut self, gap_bits: u32) {
        self.gap_bits = gap_bits;
        self.timing = Timing::default();
    }

    pub fn gap_bits(&self) -> u32 {
        self.gap_bits
    }

    /// Sets the least that a frame takes of the line, from its preamble to the end of its gap: the
    /// slot of a fabric that carries short frames no faster than longer ones.
    pub fn set_min_slot_bits(&mut self, min_slot_bits: u64) {
        self.min_slot_bits = min_slot_bits;
        self.timing = Timing::default();
    }

    /// Lets no frame start before `until_ps`; replaces an earlier hold.
    pub fn hold(&mut self, until_ps: u64) {
        self.held = Span::whole(until_ps);
    }

    /// Says how many bytes of a frame the receiver waits for before it acts.
    pub fn set_lookahead(&mut self, lookahead_bytes: Option<u32>) {
        self.lookahead_bytes = lookahead_bytes;
        self.timing = Timing::default();
    }

    /// When the line is free for the next preamble, cut to whole picoseconds.
    #[inline]
    pub fn free_ps(&self) -> u64 {
        self.free.max(self.held).ps
    }

    /// When the line is free for the next preamble, exactly.
    pub(crate) fn free(&self) -> Span {
        self.free
    }

    pub(crate) fn set_free(&mut self, free: Span) {
        self.free = free;
    }

    /// The first bit of a frame that is sent as early as possible from `from_ps` on.
    #[inline]
    pub fn next_first_bit_ps(&self, from_ps: u64) -> u64 {
        if !self.clock.is_whole() {
            return self.clock.sum(self.earliest(from_ps), self.preamble).ps;
        }
        from_ps.max(self.free.ps).max(self.held.ps) + self.preamble.ps
    }

    #[inline]
    fn earliest(&self, from_ps: u64) -> Span {
        Span::whole(from_ps).max(self.free).max(self.held)
    }

    /// Duration of preamble and start frame delimiter, cut to whole picoseconds.
    #[inline]
    pub fn preamble_ps(&self) -> u64 {
        self.preamble.ps
    }

    /// Sends a frame as early as possible from `from_ps` on.
    #[inline(always)]
    pub fn send(&mut self, from_ps: u64, wire_bytes: u32) -> Slot {
        if self.timing.wire_bytes != wire_bytes {
            self.timing = self.timing_of(wire_bytes);
        }
        if !self.clock.is_whole() {
            return self.send_with_remainders(from_ps);
        }
        let start_ps = from_ps.max(self.free.ps).max(self.held.ps);
        let first_bit_ps = start_ps + self.preamble.ps;
        self.free = Span::whole(start_ps + self.timing.occupied.ps);
        Slot {
            start_ps,
            first_bit_ps,
            last_bit_ps: first_bit_ps + self.timing.body.ps,
            decision_ps: first_bit_ps + self.timing.decision.ps,
        }
    }

    // Out of line: the bits of most lines take whole picoseconds.
    #[inline(never)]
    fn send_with_remainders(&mut self, from_ps: u64) -> Slot {
        let start = self.earliest(from_ps);
        let first_bit = self.clock.sum(start, self.preamble);
        self.free = self.clock.sum(start, self.timing.occupied);
        Slot {
            start_ps: start.ps,
            first_bit_ps: first_bit.ps,
            last_bit_ps: self.clock.sum(first_bit, self.timing.body).ps,
            decision_ps: self.clock.sum(first_bit, self.timing.decision).ps,
        }
    }

    /// Forgets the frames sent since the line was free at `free`.
    pub(crate) fn rewind(&mut self, free: Span) {
        self.free = self.free.min(free);
    }

    /// The bytes of a frame, and those that the receiver waits for.
    pub(crate) fn awaited_bytes(&self, wire_bytes: u32) -> (u32, u32) {
        let awaited = wire_bytes.min(self.lookahead_bytes.unwrap_or(wire_bytes));
        (wire_bytes, awaited)
    }

    // Out of line, as most frames have the length of the one before.
    #[inline(never)]
    fn timing_of(&self, wire_bytes: u32) -> Timing {
        let bits = 8 * u64::from(wire_bytes);
        let (_, awaited) = self.awaited_bytes(wire_bytes);
        Timing {
            wire_bytes,
            body: self.clock.periods(bits),
            decision: self.clock.periods(8 * u64::from(awaited)),
            occupied: self
                .clock
                .periods((PREAMBLE_BITS + bits + u64::from(self.gap_bits)).max(self.min_slot_bits)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_to_back_frames_take_a_wire_slot_each() {
        let mut line = Line::new(1_000_000_000, 0, STANDARD_GAP_BITS);
        let first = line.send(1_000, 64);
        let expected =
            Slot { start_ps: 1_000, first_bit_ps: 65_000, last_bit_ps: 577_000, decision_ps: 577_000 };
        assert_eq!(first, expected);
        assert_eq!(line.free_ps(), 673_000);
        assert_eq!(line.send(1_000, 64).start_ps, 673_000);
    }

    #[test]
    fn a_fabric_slot_slows_short_frames_only() {
        let mut line = Line::new(1_000_000_000, 0, STANDARD_GAP_BITS);
        line.set_min_slot_bits(8 * 120);
        line.send(0, 64);
        assert_eq!(line.free_ps(), 960_000);
        line.send(0, 128);
        assert_eq!(line.free_ps(), 960_000 + 1_184_000);
    }

    #[test]
    fn a_held_line_starts_nothing_before_the_hold_ends() {
        let mut line = Line::new(1_000_000_000, 0, STANDARD_GAP_BITS);
        line.hold(5_000);
        assert_eq!(line.send(1_000, 64).start_ps, 5_000);
        line.hold(0);
        assert_eq!(line.send(1_000, 64).start_ps, 677_000);
    }

    #[test]
    fn a_line_without_remainders_sends_as_one_that_may_have_them() {
        let mut line = Line::new(10_000_000_000, 0, STANDARD_GAP_BITS);
        line.set_lookahead(Some(64));
        line.hold(3_000);
        // Held back, behind the frame before, after a pause, of another length, and at once again.
        for (from_ps, wire_bytes) in [(1_000, 64), (1_000, 64), (500_000, 64), (500_001, 1_518), (0, 64)] {
            let mut other = line.clone();
            other.timing = other.timing_of(wire_bytes);
            let first_bit_ps = line.next_first_bit_ps(from_ps);
            let slot = line.send(from_ps, wire_bytes);
            assert_eq!((slot, slot.first_bit_ps), (other.send_with_remainders(from_ps), first_bit_ps));
            assert_eq!(line.free(), other.free());
        }
    }

    #[test]
    fn lookahead_ends_at_the_last_bit_of_a_short_frame() {
        let mut line = Line::new(1_000_000_000, 0, STANDARD_GAP_BITS);
        line.set_lookahead(Some(122));
        let short = line.send(0, 64);
        assert_eq!(short.decision_ps, short.last_bit_ps);
        let long = line.send(0, 1518);
        assert_eq!(long.decision_ps - long.first_bit_ps, 122 * 8_000);
    }
}
