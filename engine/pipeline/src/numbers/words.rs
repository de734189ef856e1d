//! Multi-word integers: little-endian arrays of 64-bit limbs in two's complement. Values of up to
//! 64 bits never come here; this is the path of IPv6 addresses, wide sums and varbits.

/// Limbs that `bits` need.
pub(crate) const fn limbs_for(bits: u32) -> usize {
    bits.div_ceil(64) as usize
}

/// The low `bits` as a mask: 0 bits give 0, 64 and more give all ones.
pub(crate) const fn mask64(bits: u32) -> u64 {
    if bits < 64 {
        (1 << bits) - 1
    } else {
        u64::MAX
    }
}

/// Sign-extends the low `bits` (1..=64) of `value`.
pub(crate) const fn sign_extend(value: u64, bits: u32) -> u64 {
    let shift = 64 - if bits > 64 { 64 } else { bits };
    (((value << shift) as i64) >> shift) as u64
}

/// Big-endian bytes to limbs; excess high bytes are dropped.
pub(crate) fn from_bytes(bytes: &[u8], limbs: usize) -> Vec<u64> {
    let mut words = vec![0u64; limbs];
    for (position, &byte) in bytes.iter().rev().enumerate() {
        if let Some(word) = words.get_mut(position / 8) {
            *word |= u64::from(byte) << (8 * (position % 8));
        }
    }
    words
}

/// The low `bits` of limbs as big-endian bytes.
pub(crate) fn to_bytes(words: &[u64], bits: u32) -> Vec<u8> {
    let count = bits.div_ceil(8) as usize;
    let mut bytes = vec![0u8; count];
    for (position, byte) in bytes.iter_mut().rev().enumerate() {
        *byte = (words.get(position / 8).copied().unwrap_or(0) >> (8 * (position % 8))) as u8;
    }
    let excess = bits % 8;
    if excess != 0 {
        if let Some(first) = bytes.first_mut() {
            *first &= (1u16 << excess).wrapping_sub(1) as u8;
        }
    }
    bytes
}

/// Position of the highest set bit of big-endian bytes plus one.
pub(crate) fn bit_length(bytes: &[u8]) -> u32 {
    match bytes.iter().position(|&byte| byte != 0) {
        None => 0,
        Some(first) => (bytes.len() - first) as u32 * 8 - bytes[first].leading_zeros(),
    }
}

pub(crate) fn negate(words: &mut [u64]) {
    let mut carry = true;
    for word in words {
        let (value, overflow) = (!*word).overflowing_add(u64::from(carry));
        *word = value;
        carry = overflow;
    }
}

/// Keeps the low `bits`; the rest becomes zero.
pub(crate) fn truncate(words: &mut [u64], bits: u32) {
    for (index, word) in words.iter_mut().enumerate() {
        let low = index as u32 * 64;
        *word &= mask64(bits.saturating_sub(low).min(64));
    }
}

/// Keeps the low `bits` and repeats the sign bit above them.
pub(crate) fn truncate_signed(words: &mut [u64], bits: u32) {
    if bits == 0 {
        words.fill(0);
        return;
    }
    let negative = words.get(((bits - 1) / 64) as usize).copied().unwrap_or(0) >> ((bits - 1) % 64) & 1 == 1;
    truncate(words, bits);
    if negative {
        for (index, word) in words.iter_mut().enumerate() {
            let low = index as u32 * 64;
            *word |= !mask64(bits.saturating_sub(low).min(64));
        }
    }
}

pub(crate) fn is_negative(words: &[u64]) -> bool {
    words.last().is_some_and(|&word| word >> 63 == 1)
}

pub(crate) fn add(dst: &mut [u64], other: &[u64]) {
    let mut carry = false;
    for (word, &addend) in dst.iter_mut().zip(other) {
        let (sum, first) = word.overflowing_add(addend);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        *word = sum;
        carry = first || second;
    }
}

pub(crate) fn sub(dst: &mut [u64], other: &[u64]) {
    let mut borrow = false;
    for (word, &subtrahend) in dst.iter_mut().zip(other) {
        let (difference, first) = word.overflowing_sub(subtrahend);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        *word = difference;
        borrow = first || second;
    }
}

/// Product modulo 2^(64 n) into `dst`, which must not alias the factors.
pub(crate) fn mul(dst: &mut [u64], a: &[u64], b: &[u64]) {
    dst.fill(0);
    let n = dst.len();
    for (i, &x) in a.iter().enumerate().take(n) {
        let mut carry = 0u128;
        for (j, &y) in b.iter().enumerate().take(n - i) {
            let sum = u128::from(x) * u128::from(y) + u128::from(dst[i + j]) + carry;
            dst[i + j] = sum as u64;
            carry = sum >> 64;
        }
    }
}

pub(crate) fn shift_left(words: &mut [u64], amount: u64) {
    let n = words.len();
    if amount >= n as u64 * 64 {
        words.fill(0);
        return;
    }
    let (skip, bits) = ((amount / 64) as usize, (amount % 64) as u32);
    for index in (0..n).rev() {
        let high = if index >= skip { words[index - skip] } else { 0 };
        let low = if index > skip { words[index - skip - 1] } else { 0 };
        words[index] = if bits == 0 { high } else { high << bits | low >> (64 - bits) };
    }
}

pub(crate) fn shift_right(words: &mut [u64], amount: u64, signed: bool) {
    let n = words.len();
    let fill = if signed && is_negative(words) { u64::MAX } else { 0 };
    if amount >= n as u64 * 64 {
        words.fill(fill);
        return;
    }
    let (skip, bits) = ((amount / 64) as usize, (amount % 64) as u32);
    for index in 0..n {
        let low = words.get(index + skip).copied().unwrap_or(fill);
        let high = words.get(index + skip + 1).copied().unwrap_or(fill);
        words[index] = if bits == 0 { low } else { low >> bits | high << (64 - bits) };
    }
}

/// a < b for equally long operands.
pub(crate) fn less(a: &[u64], b: &[u64], signed: bool) -> bool {
    if signed && is_negative(a) != is_negative(b) {
        return is_negative(a);
    }
    for (x, y) in a.iter().zip(b).rev() {
        if x != y {
            return x < y;
        }
    }
    false
}

/// Quotient and remainder of unsigned operands by long division; a zero divisor gives (0, 0).
pub(crate) fn div_rem(a: &[u64], b: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let n = a.len();
    let mut quotient = vec![0u64; n];
    let mut rest = vec![0u64; n];
    if b.iter().all(|&word| word == 0) {
        return (quotient, rest);
    }
    for bit in (0..n * 64).rev() {
        shift_left(&mut rest, 1);
        rest[0] |= a[bit / 64] >> (bit % 64) & 1;
        if !less(&rest, b, false) {
            sub(&mut rest, b);
            quotient[bit / 64] |= 1 << (bit % 64);
        }
    }
    (quotient, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip() {
        let words = from_bytes(&[0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x11], 2);
        assert_eq!(words, vec![0x3456_789a_bcde_f011, 0x12]);
        assert_eq!(to_bytes(&words, 72), vec![0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x11]);
        assert_eq!(to_bytes(&words, 68)[0], 0x02);
        assert_eq!(bit_length(&[0, 0x10]), 5);
    }

    #[test]
    fn division_is_inverse_of_multiplication() {
        let a = [0xdead_beef_0123_4567, 0x1111];
        let b = [0x1_0000_0001, 0];
        let (quotient, rest) = div_rem(&a, &b);
        let mut product = [0u64; 2];
        mul(&mut product, &quotient, &b);
        add(&mut product, &rest);
        assert_eq!(product, a);
        assert_eq!(div_rem(&a, &[0, 0]), (vec![0, 0], vec![0, 0]));
    }

    #[test]
    fn shifts_keep_the_sign() {
        let mut words = [0, 0x8000_0000_0000_0000];
        shift_right(&mut words, 65, true);
        assert_eq!(words, [0xc000_0000_0000_0000, u64::MAX]);
        shift_left(&mut words, 65);
        assert_eq!(words, [0, 0x8000_0000_0000_0000]);
        truncate_signed(&mut words, 1);
        assert_eq!(words, [0, 0]);
    }
}
