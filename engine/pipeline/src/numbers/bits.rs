//! Strings of bits in byte buffers.

use crate::numbers::words::mask64;

/// Appends bit strings to a byte buffer; the last byte is padded with zeros when the writer goes.
pub(crate) struct BitWriter<'b> {
    bytes: &'b mut Vec<u8>,
    /// Bits that do not fill a byte yet, and their number.
    pending: u64,
    count: u32,
}

impl<'b> BitWriter<'b> {
    pub fn new(bytes: &'b mut Vec<u8>) -> BitWriter<'b> {
        BitWriter { bytes, pending: 0, count: 0 }
    }

    /// The low `bits` (at most 64) of `value`.
    #[inline]
    pub fn word(&mut self, value: u64, bits: u32) {
        if bits == 0 {
            return;
        }
        if self.count + bits > 64 {
            let rest = bits - (64 - self.count);
            self.word(value >> rest, bits - rest);
            return self.word(value, rest);
        }
        let kept = if bits == 64 { 0 } else { self.pending << bits };
        self.pending = kept | value & mask64(bits);
        self.count += bits;
        if self.count % 8 == 0 {
            let bytes = (self.count / 8) as usize;
            self.bytes.extend_from_slice(&self.pending.to_be_bytes()[8 - bytes..]);
            self.pending = 0;
            self.count = 0;
        }
    }

    fn pad(&mut self) {
        let missing = (8 - self.count % 8) % 8;
        self.word(0, missing);
    }

    /// The buffer, for whole bytes; what was written before is padded to them.
    pub fn whole_bytes(&mut self) -> &mut Vec<u8> {
        self.pad();
        self.bytes
    }

    /// The low `bits` of limbs.
    pub fn wide(&mut self, limbs: &[u64], bits: u32) {
        let mut left = bits;
        while left > 0 {
            let limb = (left - 1) / 64;
            let take = left - limb * 64;
            self.word(limbs.get(limb as usize).copied().unwrap_or(0), take);
            left -= take;
        }
    }
}

impl Drop for BitWriter<'_> {
    fn drop(&mut self) {
        self.pad();
    }
}

/// `bits` (at most 64) from bit `first` of `bytes`; bits beyond the end are 0.
pub(crate) fn read_bits(bytes: &[u8], first: usize, bits: u32) -> u64 {
    let mut value = 0u64;
    let mut at = first;
    let mut left = bits as usize;
    while left > 0 {
        let byte = bytes.get(at / 8).copied().unwrap_or(0);
        let available = 8 - at % 8;
        let take = left.min(available);
        let part = byte >> (available - take) & ((1u16 << take) - 1) as u8;
        value = value << take | u64::from(part);
        at += take;
        left -= take;
    }
    value
}

/// Writes `bits` of `value` from bit `first` of `bytes` on.
pub(crate) fn write_bits(bytes: &mut [u8], first: usize, bits: u32, value: u64) {
    let mut at = first;
    let mut left = bits as usize;
    while left > 0 {
        let available = 8 - at % 8;
        let take = left.min(available);
        if let Some(byte) = bytes.get_mut(at / 8) {
            let mask = ((1u16 << take) - 1) as u8;
            let part = (value >> (left - take)) as u8 & mask;
            *byte = *byte & !(mask << (available - take)) | part << (available - take);
        }
        at += take;
        left -= take;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_round_trip() {
        let mut bytes = Vec::new();
        let mut writer = BitWriter::new(&mut bytes);
        writer.word(0b101, 3);
        writer.word(0x1234_5678_9abc_def0, 61);
        writer.wide(&[0x1122, 0x3], 66);
        drop(writer);
        assert_eq!(read_bits(&bytes, 0, 3), 0b101);
        assert_eq!(read_bits(&bytes, 3, 61), 0x1234_5678_9abc_def0);
        assert_eq!(read_bits(&bytes, 64, 2), 0x3);
        assert_eq!(read_bits(&bytes, 66, 64), 0x1122);
        assert_eq!(read_bits(&bytes, 1_000, 64), 0);
    }

    #[test]
    fn bits_are_written_between_others() {
        for (first, bits) in [(0, 8), (3, 61), (5, 48), (13, 1), (16, 64), (9, 3)] {
            for value in [0, u64::MAX, 0x1234_5678_9abc_def1] {
                let mut bytes = [0xa5u8; 12];
                write_bits(&mut bytes, first, bits, value);
                let mask = u64::MAX >> (64 - bits);
                assert_eq!(read_bits(&bytes, first, bits), value & mask, "{first} {bits} {value:x}");
                write_bits(&mut bytes, first, bits, read_bits(&[0xa5; 12], first, bits));
                assert_eq!(bytes, [0xa5; 12], "{first} {bits} {value:x}");
            }
        }
        let mut bytes = [0u8; 2];
        write_bits(&mut bytes, 12, 8, 0xff);
        assert_eq!(bytes, [0, 0x0f]);
    }
}
