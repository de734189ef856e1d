//! Arithmetic against plain Rust integers, over random and extreme operands.

mod common;

use common::*;

struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn take(&mut self, bytes: usize) -> u128 {
        let (head, tail) = self.0.split_at(bytes);
        self.0 = tail;
        head.iter().fold(0, |value, &byte| value << 8 | u128::from(byte))
    }
}

fn check(target: &mut Target, a: u8, b: u8, c: u64, d: u64, e: u128, f: u128) {
    let mut frame = vec![a, b];
    frame.extend(c.to_be_bytes());
    frame.extend(d.to_be_bytes());
    frame.extend(e.to_be_bytes());
    frame.extend(f.to_be_bytes());
    let (_, sent) = target.send_one(0, &frame);
    let mut out = Reader(&sent);
    let (x, y) = (a as i8, b as i8);
    assert_eq!(out.take(1), u128::from(a.wrapping_add(b)), "sum");
    assert_eq!(out.take(1), u128::from(a.wrapping_sub(b)), "difference");
    assert_eq!(out.take(1), u128::from(a.saturating_add(b)), "saturated sum");
    assert_eq!(out.take(1), u128::from(a.saturating_sub(b)), "saturated difference");
    assert_eq!(out.take(1), u128::from(x.saturating_add(y) as u8), "signed saturated sum");
    assert_eq!(out.take(1), u128::from((x >> 2) as u8), "signed shift");
    assert_eq!(out.take(1), u128::from(a < b), "less");
    assert_eq!(out.take(1), u128::from(x < y), "signed less");
    assert_eq!(out.take(2), u128::from(a) << 8 | u128::from(b), "concatenation");
    assert_eq!(out.take(1), u128::from(a & 0xf0 | b & 0x0f), "slices");
    assert_eq!(out.take(1), u128::from(a.wrapping_mul(b)), "product of bytes");
    assert_eq!(out.take(8), u128::from(c.wrapping_add(d)), "sum of words");
    assert_eq!(out.take(8), u128::from(c.saturating_add(d)), "saturated sum of words");
    assert_eq!(out.take(8), u128::from(c.wrapping_mul(d)), "product of words");
    let left = c.checked_shl(u32::from(a)).unwrap_or(0);
    let right = d.checked_shr(u32::from(b)).unwrap_or(0);
    assert_eq!(out.take(8), u128::from(left ^ right), "shifts");
    assert_eq!(out.take(16), e.wrapping_add(f), "double sum");
    assert_eq!(out.take(16), e & !f, "double and");
    assert_eq!(out.take(16), e.checked_shl(u32::from(a)).unwrap_or(0), "double shift");
    assert_eq!(out.take(16), e.wrapping_mul(f), "double product");
    assert_eq!(out.take(1), u128::from(e < f), "double less");
    assert_eq!(out.take(2), e >> 56 & 0xffff, "double slice");
    assert_eq!(out.take(1), u128::from(if c == d || a == b { a } else { b }), "chosen");
    assert_eq!(out.take(2), u128::from(i16::from(x) as u16), "sign extension");
    assert!(out.0.is_empty());
}

#[test]
fn matches_integers_of_the_host() {
    let mut target = load("arithmetic");
    let mut seed = 0x1234_5678_9abc_def0u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let extremes8 = [0u8, 1, 2, 0x7f, 0x80, 0x81, 0xff, 63, 64, 127, 128];
    for a in extremes8 {
        for b in extremes8 {
            check(&mut target, a, b, u64::MAX, u64::from(a), u128::MAX, u128::from(b));
            check(&mut target, a, b, 0, 0, 1 << 127, 1 << 64);
        }
    }
    for _ in 0..2_000 {
        let (a, b) = (next() as u8, next() as u8);
        let (e, f) =
            (u128::from(next()) << 64 | u128::from(next()), u128::from(next()) << 64 | u128::from(next()));
        let (c, d) = (next() >> (next() % 64), next() >> (next() % 64));
        check(&mut target, a, b, c, d, e, f >> (next() % 128));
    }
}
