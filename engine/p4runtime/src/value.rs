//! Bytestrings (P4Runtime section 8.4): big-endian unsigned values of a given width in bits.

use bytes::Bytes;

use crate::refusal::{Outcome, Refusal};

/// The value without leading zero bytes; zero is one zero byte.
pub fn canonical(value: &[u8]) -> &[u8] {
    let zeros = value.iter().take_while(|byte| **byte == 0).count();
    &value[zeros.min(value.len().saturating_sub(1))..]
}

/// [`canonical`] as an owned message field.
pub fn canonical_bytes(value: &[u8]) -> Bytes {
    if value.is_empty() {
        return Bytes::from_static(&[0]);
    }
    Bytes::copy_from_slice(canonical(value))
}

/// True when the value needs at most `width_bits` bits.
pub fn fits(value: &[u8], width_bits: u32) -> bool {
    let value = canonical(value);
    let significant = match value.first() {
        None | Some(0) => 0,
        Some(first) => value.len() * 8 - first.leading_zeros() as usize,
    };
    significant <= width_bits as usize
}

/// Checks a value from the wire and returns it in canonical form. `what` names it in the error.
/// Empty and too wide values are OUT_OF_RANGE.
pub fn checked(value: &[u8], width_bits: u32, what: impl FnOnce() -> String) -> Outcome<&[u8]> {
    if value.is_empty() {
        return Err(Refusal::out_of_range(format!("{}: the value is empty; zero is the byte 0", what())));
    }
    if !fits(value, width_bits) {
        return Err(Refusal::out_of_range(format!(
            "{}: 0x{} does not fit in {width_bits} bits",
            what(),
            hex(canonical(value))
        )));
    }
    Ok(canonical(value))
}

/// Values beyond this length are cut where they are shown.
const SHOWN_BYTES: usize = 256;

/// Lower-case hexadecimal, two digits per byte, of the first bytes.
pub fn hex(bytes: &[u8]) -> String {
    let mut text: String = bytes.iter().take(SHOWN_BYTES).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > SHOWN_BYTES {
        text.push_str(&format!("... ({} bytes)", bytes.len()));
    }
    text
}

/// The greatest value of a width, in canonical form.
pub fn all_ones(width_bits: u32) -> Vec<u8> {
    let mut bytes = vec![0xff; width_bits.div_ceil(8).max(1) as usize];
    if width_bits % 8 != 0 {
        bytes[0] = 0xff >> (8 - width_bits % 8);
    }
    bytes
}

/// A mask of the `prefix_bits` most significant bits of a value of `width_bits`.
pub fn prefix_mask(width_bits: u32, prefix_bits: u32) -> Vec<u8> {
    let mut mask = all_ones(width_bits);
    let free = width_bits.saturating_sub(prefix_bits);
    let length = mask.len();
    for bit in 0..free {
        mask[length - 1 - bit as usize / 8] &= !(1 << (bit % 8));
    }
    mask
}

/// True when every byte is zero.
pub fn is_zero(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte == 0)
}

/// Compares two values as numbers.
pub fn compare(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    let (a, b) = (canonical(a), canonical(b));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// True when `value` has no bit outside `mask`.
pub fn within_mask(value: &[u8], mask: &[u8]) -> bool {
    let (value, mask) = (canonical(value), canonical(mask));
    let pad = value.len().max(mask.len());
    let at = |bytes: &[u8], index: usize| {
        let skip = pad - bytes.len();
        if index < skip {
            0
        } else {
            bytes[index - skip]
        }
    };
    (0..pad).all(|index| at(value, index) & !at(mask, index) == 0)
}

/// True when the bits below the prefix are zero.
pub fn within_prefix(value: &[u8], width_bits: u32, prefix_bits: u32) -> bool {
    let free = width_bits - prefix_bits;
    let value = canonical(value);
    let zeros = match value.iter().rposition(|byte| *byte != 0) {
        None => return true,
        Some(last) => (value.len() - 1 - last) as u32 * 8 + value[last].trailing_zeros(),
    };
    zeros >= free
}

/// The bit with this significance; false beyond the value's length.
pub fn to_bit(value: &[u8], bit: u32) -> bool {
    let from_end = bit as usize / 8;
    from_end < value.len() && value[value.len() - 1 - from_end] >> (bit % 8) & 1 == 1
}

/// The value as a number; `None` above 64 bits.
pub fn to_u64(value: &[u8]) -> Option<u64> {
    let value = canonical(value);
    (value.len() <= 8).then(|| value.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// The canonical form of a number.
pub fn from_u64(value: u64) -> Bytes {
    canonical_bytes(&value.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_form_is_shortest() {
        assert_eq!(canonical(&[0, 0, 1, 0]), &[1, 0]);
        assert_eq!(canonical(&[0, 0]), &[0]);
        assert_eq!(canonical(&[]), &[] as &[u8]);
        assert_eq!(canonical_bytes(&[]), Bytes::from_static(&[0]));
    }

    #[test]
    fn width_is_checked_by_value_not_by_length() {
        assert!(fits(&[0, 0, 0, 1, 0xff], 9));
        assert!(!fits(&[2, 0], 9));
        assert!(fits(&[0], 0));
        assert!(checked(&[], 8, || "x".into()).is_err());
    }

    #[test]
    fn masks_and_prefixes() {
        assert!(within_mask(&[0x0f], &[0, 0xff, 0xff]));
        assert!(!within_mask(&[1, 0x0f], &[0xff]));
        assert!(within_prefix(&[10, 0, 0, 0], 32, 8));
        assert!(!within_prefix(&[10, 0, 0, 1], 32, 31));
        assert!(within_prefix(&[0], 32, 1));
        assert!(!within_prefix(&[1], 32, 31));
        assert_eq!(all_ones(9), vec![1, 0xff]);
        assert_eq!(prefix_mask(9, 3), vec![1, 0xc0]);
        assert_eq!(compare(&[0, 9], &[1, 0]), std::cmp::Ordering::Less);
    }
}
