//! Values that go forward with a clock: the domain of the idle probe.
//!
//! The probe executes a pass with the numbers of one moment and remembers of each slot how its
//! number would change if the pass took place `d` ticks later. A decision that depends on such a
//! number is taken as it is now, and cuts `d` to the ticks for which it stays the same. So one
//! execution gives the whole interval of time over which the pass does the same.

use crate::numbers::words::mask64;

/// Operation that moves a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// The time stamp that the frame carries, of its last egress.
    Frame = 0,
    /// The time stamp of the egress of this pass.
    Egress = 1,
}

/// A number that is `(now ± d) mod 2^width` at `d` ticks later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moving {
    pub clock: Clock,
    /// 1..=64.
    pub width: u8,
    /// It falls as time goes by.
    pub down: bool,
}

/// Dependence of the content of a slot on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AbstractValue {
    /// Not at all.
    Fixed,
    Moving(Moving),
    /// In a way that nothing may depend on.
    Unknown,
    /// It is what these bits of the frame are, whatever that is: nothing may depend on it.
    Carried(Bits),
}

/// Bits of a frame, within one field of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    pub first_bit: u32,
    pub bits: u16,
}

/// A slot: its content now, and its abstract value.
pub(super) type Value = (u64, AbstractValue);

/// Reason why a pass is not idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub &'static str);

pub(super) type Probe<T> = Result<T, Refusal>;

/// Ticks that each clock may go forward.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits(pub [u64; 2]);

impl Default for Limits {
    fn default() -> Limits {
        Limits([u64::MAX; 2])
    }
}

impl Moving {
    /// Ticks until the value wraps round.
    fn room(self, value: u64) -> u64 {
        if self.down {
            value
        } else {
            mask64(u32::from(self.width)) - value
        }
    }

    fn turned(self, turn: bool) -> Moving {
        Moving { down: self.down != turn, ..self }
    }
}

impl Limits {
    fn cut(&mut self, clock: Clock, ticks: u64) {
        let limit = &mut self.0[clock as usize];
        *limit = ticks.min(*limit);
    }

    /// The same number in `width` bits: modulo 2^width when that is narrower, else without
    /// wrapping round.
    pub fn resized(&mut self, value: u64, moving: Moving, width: u32) -> Moving {
        if width > u32::from(moving.width) {
            self.cut(moving.clock, moving.room(value));
        }
        Moving { width: width as u8, ..moving }
    }

    /// `value >> right`, for as long as it does not change.
    fn upper(&mut self, value: u64, moving: Moving, right: u32) -> u64 {
        if right >= u32::from(moving.width) {
            return 0;
        }
        let low = Moving { width: right.max(1) as u8, ..moving };
        self.cut(moving.clock, if right == 0 { 0 } else { low.room(value & mask64(right)) });
        value >> right
    }

    /// `(a >> right) & mask`.
    pub fn slice(&mut self, (value, abstract_value): Value, right: u32, mask: u64) -> Value {
        let result = value.checked_shr(right).unwrap_or(0) & mask;
        let moving = match abstract_value {
            AbstractValue::Moving(moving) => moving,
            AbstractValue::Fixed => return (result, AbstractValue::Fixed),
            _ => return (result, AbstractValue::Unknown),
        };
        let zeros = mask.trailing_zeros();
        if mask == 0 || right + zeros >= u32::from(moving.width) {
            return (0, AbstractValue::Fixed);
        }
        match low_bits(mask) {
            Some(bits) if right == 0 => {
                let width = bits.min(u32::from(moving.width));
                (result, AbstractValue::Moving(Moving { width: width as u8, ..moving }))
            }
            _ if right + zeros > 0 => {
                self.upper(value, moving, right + zeros);
                (result, AbstractValue::Fixed)
            }
            _ => (result, AbstractValue::Unknown),
        }
    }

    /// `(a + b) & mask`, or `(a - b) & mask`.
    pub fn sum(&mut self, a: Value, b: Value, minus: bool, mask: u64) -> Value {
        let value = if minus { a.0.wrapping_sub(b.0) } else { a.0.wrapping_add(b.0) } & mask;
        let Some(bits) = low_bits(mask) else {
            let fixed = a.1 == AbstractValue::Fixed && b.1 == AbstractValue::Fixed;
            return (value, if fixed { AbstractValue::Fixed } else { AbstractValue::Unknown });
        };
        let abstract_value = match (a.1, b.1) {
            (AbstractValue::Fixed, AbstractValue::Fixed) => AbstractValue::Fixed,
            (AbstractValue::Moving(moving), AbstractValue::Fixed) => {
                AbstractValue::Moving(self.resized(a.0, moving, bits))
            }
            (AbstractValue::Fixed, AbstractValue::Moving(moving)) => {
                AbstractValue::Moving(self.resized(b.0, moving, bits).turned(minus))
            }
            (AbstractValue::Moving(x), AbstractValue::Moving(y))
                if x.clock == y.clock && x.down != (y.down != minus) =>
            {
                self.resized(a.0, x, bits);
                self.resized(b.0, y, bits);
                AbstractValue::Fixed
            }
            _ => AbstractValue::Unknown,
        };
        (value, abstract_value)
    }

    /// `(a | b) & mask`; followed where the two have no bit in common, as in the assignment of a slice.
    pub fn joined(&mut self, a: Value, b: Value, mask: u64) -> Value {
        let value = (a.0 | b.0) & mask;
        let (number, moving, fixed) = match (a.1, b.1) {
            (AbstractValue::Fixed, AbstractValue::Fixed) => return (value, AbstractValue::Fixed),
            (AbstractValue::Moving(moving), AbstractValue::Fixed) => (a.0, moving, b.0),
            (AbstractValue::Fixed, AbstractValue::Moving(moving)) => (b.0, moving, a.0),
            _ => return (value, AbstractValue::Unknown),
        };
        if fixed & mask64(u32::from(moving.width)) != 0 {
            return (value, AbstractValue::Unknown);
        }
        // Without a carry out of the moving bits, the whole is a sum.
        self.cut(moving.clock, moving.room(number));
        self.sum((number, AbstractValue::Moving(moving)), (fixed, AbstractValue::Fixed), false, mask)
    }

    /// `!a & mask`.
    pub fn complement(&mut self, a: Value, mask: u64) -> Value {
        // !a = -1 - a.
        self.sum((u64::MAX, AbstractValue::Fixed), a, true, mask)
    }

    /// The low `bits` with their sign repeated.
    pub fn sign_extended(&mut self, a: Value, bits: u32) -> Value {
        let value = crate::numbers::words::sign_extend(a.0, bits);
        match a.1 {
            AbstractValue::Moving(moving) if bits > 1 && u32::from(moving.width) >= bits => {
                let moving = Moving { width: bits as u8, ..moving };
                self.upper(a.0 & mask64(bits), moving, bits - 1);
                (value, AbstractValue::Moving(Moving { width: 64, ..moving }))
            }
            AbstractValue::Fixed => (value, AbstractValue::Fixed),
            _ => (value, AbstractValue::Unknown),
        }
    }

    pub fn equal(&mut self, a: Value, b: Value) -> Probe<bool> {
        match (a.1, b.1) {
            (AbstractValue::Fixed, AbstractValue::Fixed) => {}
            (AbstractValue::Moving(moving), AbstractValue::Fixed) => self.distance(a.0, moving, b.0),
            (AbstractValue::Fixed, AbstractValue::Moving(moving)) => self.distance(b.0, moving, a.0),
            (AbstractValue::Moving(x), AbstractValue::Moving(y)) if x == y => {}
            _ => return Err(Refusal("a comparison depends on unrelated times")),
        }
        Ok(a.0 == b.0)
    }

    /// Cuts to the time until a moving value reaches or leaves `target`.
    fn distance(&mut self, value: u64, moving: Moving, target: u64) {
        let mask = mask64(u32::from(moving.width));
        if target <= mask {
            let ahead = if moving.down { value.wrapping_sub(target) } else { target.wrapping_sub(value) };
            self.cut(moving.clock, (ahead & mask).saturating_sub(1));
        }
    }

    /// a < b, unsigned.
    pub fn less(&mut self, a: Value, b: Value) -> Probe<bool> {
        match (a.1, b.1) {
            (AbstractValue::Fixed, AbstractValue::Fixed) => {}
            (AbstractValue::Moving(moving), AbstractValue::Fixed) => self.below(a.0, moving, b.0),
            // a < b is not (b < a + 1).
            (AbstractValue::Fixed, AbstractValue::Moving(moving)) => {
                if let Some(bound) = a.0.checked_add(1) {
                    self.below(b.0, moving, bound);
                }
            }
            (AbstractValue::Moving(x), AbstractValue::Moving(y)) if x == y => {
                self.cut(x.clock, x.room(a.0).min(x.room(b.0)));
            }
            _ => return Err(Refusal("a comparison depends on unrelated times")),
        }
        Ok(a.0 < b.0)
    }

    /// Cuts to the time for which `value < bound` stays as it is.
    fn below(&mut self, value: u64, moving: Moving, bound: u64) {
        if bound == 0 || bound > mask64(u32::from(moving.width)) {
            return;
        }
        let ticks = match (value < bound, moving.down) {
            (true, false) => bound - 1 - value,
            (false, true) => value - bound,
            _ => moving.room(value),
        };
        self.cut(moving.clock, ticks);
    }

    /// a < b, signed.
    pub fn less_signed(&mut self, a: Value, b: Value) -> Probe<bool> {
        /// Adds 2^63, which turns the signed order into the unsigned one. A narrower moving value
        /// does not wrap round at 2^64, so it is compared where signs do not matter.
        fn biased((value, abstract_value): Value) -> Option<Value> {
            match abstract_value {
                AbstractValue::Moving(Moving { width: 0..=63, .. }) => None,
                _ => Some((value ^ 1 << 63, abstract_value)),
            }
        }
        match (biased(a), biased(b)) {
            (Some(a), Some(b)) => self.less(a, b),
            (None, _) if b.1 == AbstractValue::Fixed && (b.0 as i64) < 0 => Ok(false),
            (_, None) if a.1 == AbstractValue::Fixed && (a.0 as i64) < 0 => Ok(true),
            (None, None) => self.less(a, b),
            _ if a.1 == AbstractValue::Fixed || b.1 == AbstractValue::Fixed => self.less(a, b),
            _ => Err(Refusal("a signed comparison depends on different times")),
        }
    }
}

/// Number of bits of a mask of low bits.
fn low_bits(mask: u64) -> Option<u32> {
    let bits = mask.trailing_ones();
    (bits > 0 && mask == mask64(bits)).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::rng::Rng;

    fn at(value: Value, later: u64) -> Option<u64> {
        match value.1 {
            AbstractValue::Fixed => Some(value.0),
            AbstractValue::Unknown | AbstractValue::Carried(_) => None,
            AbstractValue::Moving(moving) => {
                let mask = mask64(u32::from(moving.width));
                let sum = if moving.down { value.0.wrapping_sub(later) } else { value.0.wrapping_add(later) };
                Some(sum & mask)
            }
        }
    }

    /// A random value, with numbers near the ends of its width.
    fn value(rng: &mut Rng) -> Value {
        let width = [4, 5, 8, 63, 64][rng.uniform(0, 4) as usize];
        let near = rng.uniform(0, 12);
        let value = if rng.uniform(0, 1) == 0 { near } else { u64::MAX - near } & mask64(width);
        match rng.uniform(0, 2) {
            0 => (value, AbstractValue::Fixed),
            down => (
                value,
                AbstractValue::Moving(Moving { clock: Clock::Frame, width: width as u8, down: down == 2 }),
            ),
        }
    }

    /// Each operation done on abstract values agrees with the operation done on numbers, at every time up to
    /// the limit that it sets.
    #[test]
    fn abstract_values_agree_with_numbers_within_the_limits() {
        let mut rng = Rng::new(3);
        let masks = [0xf, 0x1f, 0xff, u64::MAX, 0x8, 0xf0, mask64(63), 1 << 63];
        let mut decided = 0;
        for _ in 0..200_000 {
            let (a, b) = (value(&mut rng), value(&mut rng));
            let mask = masks[rng.uniform(0, 7) as usize];
            let right = [0, 1, 3, 7, 62][rng.uniform(0, 4) as usize];
            let mut limits = Limits::default();
            let kind = rng.uniform(0, 8);
            let (known, truth): (Value, Box<dyn Fn(u64, u64) -> u64>) = match kind {
                0 => (limits.sum(a, b, false, mask), Box::new(move |a, b| a.wrapping_add(b) & mask)),
                1 => (limits.sum(a, b, true, mask), Box::new(move |a, b| a.wrapping_sub(b) & mask)),
                2 => (limits.slice(a, right, mask), Box::new(move |a, _| a >> right & mask)),
                3 => (limits.complement(a, mask), Box::new(move |a, _| !a & mask)),
                8 => (limits.joined(a, b, mask), Box::new(move |a, b| (a | b) & mask)),
                4 => {
                    let bits = [4, 5, 8, 64][rng.uniform(0, 3) as usize];
                    (
                        limits.sign_extended(a, bits),
                        Box::new(move |a, _| crate::numbers::words::sign_extend(a, bits)),
                    )
                }
                _ => {
                    let result = match kind {
                        5 => limits.equal(a, b),
                        6 => limits.less(a, b),
                        _ => limits.less_signed(a, b),
                    };
                    let Ok(result) = result else {
                        continue;
                    };
                    let truth = move |a: u64, b: u64| {
                        u64::from(match kind {
                            5 => a == b,
                            6 => a < b,
                            _ => (a as i64) < b as i64,
                        })
                    };
                    ((u64::from(result), AbstractValue::Fixed), Box::new(truth))
                }
            };
            for later in 0..=limits.0[0].min(40) {
                let (Some(x), Some(y)) = (at(a, later), at(b, later)) else {
                    continue;
                };
                if let Some(known) = at(known, later) {
                    decided += 1;
                    assert_eq!(known, truth(x, y), "{kind}: {a:?} {b:?} {mask:x} {right} +{later}");
                }
            }
        }
        assert!(decided > 500_000, "only {decided} comparisons");
    }
}
