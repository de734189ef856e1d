//! Guesses which cells of large arrays the next packets will touch, and loads them into the cache.
//!
//! A pass that touches the cells of one flow among tens of thousands waits for memory longer than it computes. Which
//! cells those are follows from the program, but is mostly as simple as this: the number of a row is 16 bits of the
//! frame plus a constant. Which bits is learned from the passes. A wrong guess costs time and changes nothing.

use crate::code::layout::{Regs, Slot};
use crate::code::program::Code;
use crate::code::touches::{Array, Touch};
use crate::packets::prefetch::prefetch;
use crate::state::cells::State;

/// A line of the cache.
const LINE_BYTES: usize = 64;
/// Arrays of which less is in use stay in the caches near a core.
const FAR_BYTES: usize = 256 << 10;
/// Bytes of a frame among which the number of a row is looked for.
const LOOKED_AT_BYTES: usize = 128;
/// Wrong guesses in a row after which a rule is given up.
const MOST_MISSES: u32 = 16;
/// Passes between two attempts to find a rule, at most.
const LONGEST_PAUSE: u32 = 4_096;
/// One of so many passes shows how much of the arrays is in use; a prime number, so that no port is left out.
const SURVEY: u32 = 61;

/// The rows of an array that one part of the program touches.
struct Rows {
    index: Slot,
    /// Address of what is touched of the first row.
    first: usize,
    bytes: usize,
    row_bytes: usize,
    rows: u64,
    /// Rows that share a line of the cache, as a power of two.
    group_bits: u32,
    /// Rows up to the last one that is known to be touched.
    reach: u64,
}

impl Rows {
    fn new(touch: &Touch, state: &mut State) -> Rows {
        let array = match touch.array {
            Array::Registers(block) => state.registers.block_mut(block).as_mut_ptr().expose_provenance(),
            Array::Counter(counter) => state.counters[counter as usize].as_mut_ptr().expose_provenance(),
        };
        Rows {
            index: touch.index,
            first: array + touch.bytes.start,
            bytes: touch.bytes.len(),
            row_bytes: touch.row_bytes,
            rows: touch.rows as u64,
            group_bits: (LINE_BYTES / touch.row_bytes).max(1).ilog2(),
            reach: 0,
        }
    }

    /// The row that the pass of a packet has touched.
    #[inline]
    fn touched(&self, regs: &Regs) -> u64 {
        regs[self.index as usize]
    }

    /// Looks how many rows are in use; false while they are few.
    fn survey(&mut self, regs: &Regs) -> bool {
        let row = self.touched(regs);
        if row < self.rows {
            self.reach = self.reach.max(row + 1);
        }
        self.reach as usize * self.row_bytes >= FAR_BYTES
    }

    #[inline]
    fn load(&self, row: u64) {
        if row < self.rows {
            let first = self.first + row as usize * self.row_bytes;
            let end = first + self.bytes;
            let mut line = first & !(LINE_BYTES - 1);
            while line < end {
                prefetch(std::ptr::with_exposed_provenance(line));
                line += LINE_BYTES;
            }
        }
    }
}

/// Where frames hold the number of their row, or of a group of rows that share a line of the cache.
#[derive(Clone, Copy)]
struct Rule {
    /// Of 16 bits in network order.
    offset: usize,
    /// Added to them.
    constant: u64,
}

impl Rule {
    #[inline]
    fn guess(&self, frame: &[u8]) -> Option<u64> {
        Some(number_at(frame, self.offset)?.wrapping_add(self.constant))
    }
}

#[inline]
fn number_at(frame: &[u8], offset: usize) -> Option<u64> {
    let bytes = frame.get(offset..offset + 2)?;
    Some(u64::from(u16::from_be_bytes([bytes[0], bytes[1]])))
}

/// Rows by what received frames hold.
struct ByFrame {
    rows: Rows,
    rule: Option<Rule>,
    misses: u32,
    /// A frame of earlier with the number of its group of rows.
    sample: Vec<u8>,
    sample_group: u64,
    /// Passes until the next attempt to find a rule, and how many come before the one after that.
    wait: u32,
    pause: u32,
}

impl ByFrame {
    fn new(rows: Rows) -> ByFrame {
        ByFrame { rows, rule: None, misses: 0, sample: Vec::new(), sample_group: 0, wait: 0, pause: 1 }
    }

    #[inline]
    fn learn(&mut self, frame: &[u8], regs: &Regs) {
        let group = self.rows.touched(regs) >> self.rows.group_bits;
        match self.rule {
            Some(rule) if rule.guess(frame) == Some(group) => self.misses = 0,
            Some(_) => {
                self.misses += 1;
                if self.misses > MOST_MISSES {
                    self.rule = None;
                }
            }
            None if self.wait > 0 => self.wait -= 1,
            None => self.look_for_rule(frame, group),
        }
    }

    #[cold]
    fn look_for_rule(&mut self, frame: &[u8], group: u64) {
        let frame = &frame[..frame.len().min(LOOKED_AT_BYTES)];
        // From one frame to the other the bytes grow by as much as the number.
        let difference = group.wrapping_sub(self.sample_group);
        let grows = |&offset: &usize| {
            let (now, then) = (number_at(frame, offset), number_at(&self.sample, offset));
            now.zip(then).is_some_and(|(now, then)| now.wrapping_sub(then) == difference)
        };
        if difference != 0 {
            let offset = (0..frame.len()).find(grows);
            let rule =
                |offset| Some(Rule { offset, constant: group.wrapping_sub(number_at(frame, offset)?) });
            self.rule = offset.and_then(rule);
            self.misses = 0;
        }
        self.sample.clear();
        self.sample.extend_from_slice(frame);
        self.sample_group = group;
        self.pause = if self.rule.is_some() { 1 } else { (2 * self.pause).min(LONGEST_PAUSE) };
        self.wait = self.pause;
    }

    #[inline]
    fn load(&self, frame: &[u8]) {
        if let Some(group) = self.rule.and_then(|rule| rule.guess(frame)) {
            self.rows.load(group << self.rows.group_bits);
        }
    }
}

/// The rules for the rows that ingress touches.
pub(crate) struct RowPrefetcher {
    /// Rows of arrays of which much is in use, and of the other large arrays.
    far: Vec<ByFrame>,
    near: Vec<ByFrame>,
    passes: u32,
}

impl RowPrefetcher {
    /// The arrays must stay where they are.
    pub fn new(code: &Code, state: &mut State) -> RowPrefetcher {
        let large = code.touches.iter().filter(|touch| touch.rows * touch.row_bytes >= FAR_BYTES);
        let near = large.map(|touch| ByFrame::new(Rows::new(touch, state))).collect();
        RowPrefetcher { far: Vec::new(), near, passes: 0 }
    }

    /// Learns from the ingress pass of a frame.
    #[inline]
    pub fn learn(&mut self, frame: &[u8], regs: &Regs) {
        self.far.iter_mut().for_each(|rows| rows.learn(frame, regs));
        self.passes = self.passes.wrapping_add(1);
        if self.passes % SURVEY == 0 {
            self.survey(regs);
        }
    }

    /// Finds the arrays of which much is in use.
    #[cold]
    fn survey(&mut self, regs: &Regs) {
        let mut at = 0;
        while at < self.near.len() {
            if self.near[at].rows.survey(regs) {
                self.far.push(self.near.swap_remove(at));
            } else {
                at += 1;
            }
        }
    }

    /// Begins to load what the ingress pass of a frame is likely to touch.
    #[inline]
    pub fn load(&self, frame: &[u8]) {
        self.far.iter().for_each(|rows| rows.load(frame));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: Slot = 3;

    /// An array whose rows are so small that four share a line of the cache.
    fn rows() -> Rows {
        let (rows, row_bytes) = (65_536, 16);
        Rows { index: INDEX, first: 0, bytes: row_bytes, row_bytes, rows, group_bits: 2, reach: 0 }
    }

    fn touching(row: u64) -> Box<Regs> {
        let mut regs: Box<Regs> = vec![0; 65_536].try_into().expect("as long as registers are");
        regs[INDEX as usize] = row;
        regs
    }

    /// A frame of noise with a number of 16 bits at byte 40.
    fn frame(number: u16) -> Vec<u8> {
        let mut frame: Vec<u8> =
            (0..60).map(|byte| (u32::from(number).wrapping_mul(byte * byte) >> 3) as u8).collect();
        frame[40..42].copy_from_slice(&number.to_be_bytes());
        frame
    }

    #[test]
    fn rows_are_found_from_the_number_in_the_frame() {
        let mut learned = ByFrame::new(rows());
        for number in [5, 900, 77, 12_000, 31, 8_000] {
            // Groups of four rows, the tenth row of the array first.
            learned.learn(&frame(number), &touching(4 * (u64::from(number) + 10) + 3));
        }
        let rule = learned.rule.expect("a rule was found");
        assert_eq!((rule.offset, rule.constant), (40, 10));
        assert_eq!(rule.guess(&frame(3)), Some(13));
        assert_eq!(rule.guess(&[0; 41]), None, "a frame that ends before the number");
    }

    #[test]
    fn a_rule_that_is_wrong_again_and_again_is_given_up() {
        let mut learned = ByFrame::new(rows());
        learned.rule = Some(Rule { offset: 40, constant: 0 });
        let mut passes = 0;
        while learned.rule.is_some() {
            learned.learn(&frame(7), &touching(0));
            passes += 1;
        }
        assert_eq!(passes, MOST_MISSES + 1);
    }

    #[test]
    fn numbers_that_do_not_follow_from_the_frame_are_looked_for_ever_less_often() {
        let mut learned = ByFrame::new(rows());
        for pass in 0..10_000_u64 {
            learned.learn(&[0; 60], &touching(pass % 64 * 1_000));
        }
        assert!(learned.rule.is_none());
        assert_eq!(learned.pause, LONGEST_PAUSE);
    }

    #[test]
    fn an_array_counts_as_large_by_the_rows_in_use() {
        let mut rows = rows();
        assert!(!rows.survey(&touching(100)));
        assert!(!rows.survey(&touching(rows.rows)), "a row that there is not");
        assert!(rows.survey(&touching(FAR_BYTES as u64 / 16)));
        assert!(rows.survey(&touching(0)), "it stays large");
    }
}
