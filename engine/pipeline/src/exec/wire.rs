//! Between bytes and slots: extracting and writing headers.

use crate::code::layout::{HeaderShape, Regs, Slot};
use crate::numbers::bits::{read_bits, BitWriter};
use crate::numbers::words::{mask64, sign_extend};

fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at + 8)?;
    Some(u64::from_be_bytes([word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7]]))
}

/// Reads a header of fixed size from `frame` at byte `at`; the caller has checked the length.
#[inline]
pub(crate) fn extract(shape: &HeaderShape, base: Slot, regs: &mut Regs, frame: &[u8], at: usize) {
    for piece in &shape.pieces {
        let (bits, lead) = (u32::from(piece.bits), u32::from(piece.lead));
        let start = at + piece.start as usize;
        let span = lead + bits;
        // Eight bytes that hold the piece: from its first byte, or up to its last one where the
        // frame ends too early.
        let value = match word_at(frame, start) {
            Some(word) if span <= 64 => word << lead >> (64 - bits),
            _ => {
                let end = start + span.div_ceil(8) as usize;
                match end.checked_sub(8).and_then(|from| word_at(frame, from)) {
                    Some(word) if span <= 64 => word >> (span.div_ceil(8) * 8 - span) & mask64(bits),
                    _ => read_bits(frame, start * 8 + lead as usize, bits),
                }
            }
        };
        regs[(base + piece.offset) as usize] = if piece.signed { sign_extend(value, bits) } else { value };
    }
}

/// Reads a header whose variable field has `variable_bits`.
pub(crate) fn extract_variable(
    shape: &HeaderShape,
    base: Slot,
    regs: &mut Regs,
    frame: &[u8],
    at: usize,
    variable_bits: u32,
) {
    let mut first = at * 8;
    for field in &shape.fields {
        let slot = (base + field.offset) as usize;
        let bits = if field.variable { variable_bits } else { field.bits };
        if field.variable {
            regs[slot - 1] = u64::from(bits);
        }
        read_wide(
            &mut regs[slot..slot + crate::numbers::words::limbs_for(field.bits).max(1)],
            frame,
            first,
            bits,
            field.signed,
        );
        first += bits as usize;
    }
}

/// `bits` of `bytes` from bit `first` into limbs.
pub(crate) fn read_wide(limbs: &mut [u64], bytes: &[u8], first: usize, bits: u32, signed: bool) {
    limbs.fill(0);
    let mut left = bits;
    let mut at = first;
    while left > 0 {
        let limb = (left - 1) / 64;
        let take = left - limb * 64;
        let mut value = read_bits(bytes, at, take);
        if signed && left == bits {
            value = sign_extend(value, take);
        }
        if let Some(word) = limbs.get_mut(limb as usize) {
            *word = value;
        }
        at += take as usize;
        left -= take;
    }
}

/// Bytes that a header takes now.
#[inline]
pub(crate) fn header_bytes(shape: &HeaderShape, base: Slot, regs: &Regs) -> usize {
    match shape.variable {
        None => shape.fixed_bytes(),
        Some(index) => {
            let field = &shape.fields[index];
            shape.fixed_bytes() + (regs[(base + field.offset) as usize - 1] / 8) as usize
        }
    }
}

/// Appends the header to `out`.
#[inline]
pub(crate) fn write(shape: &HeaderShape, base: Slot, regs: &Regs, out: &mut Vec<u8>) {
    if shape.variable.is_some() {
        let mut writer = BitWriter::new(out);
        for field in &shape.fields {
            let slot = (base + field.offset) as usize;
            let bits = if field.variable { regs[slot - 1] as u32 } else { field.bits };
            let limbs = crate::numbers::words::limbs_for(field.bits).max(1);
            writer.wide(&regs[slot..slot + limbs], bits.min(limbs as u32 * 64));
        }
        return;
    }
    // Whole words are stored, each over the end of the one before it.
    let mut at = out.len();
    let end = at + shape.fixed_bytes();
    out.resize(end + 8, 0);
    for chunk in &shape.chunks {
        let mut word = 0;
        for part in &shape.parts[chunk.from as usize..chunk.to as usize] {
            word |= (regs[(base + part.offset) as usize] >> part.right & part.mask) << part.left;
        }
        let bytes = usize::from(chunk.bytes);
        if let Some(place) = out.get_mut(at..at + 8) {
            place.copy_from_slice(&(word << (64 - 8 * bytes as u32)).to_be_bytes());
        }
        at += bytes;
    }
    out.truncate(end);
}
