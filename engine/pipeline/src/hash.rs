//! Hash algorithms over byte strings, with the parameters of simple_switch.

use crate::ir::{HashAlgorithm, HashInput};
use crate::layout::{HeaderShape, Layout, Slot};
use crate::rng::Rng;
use crate::wire::{self, Regs};

const fn reflected_table(polynomial: u64, width: u32) -> [u64; 256] {
    let reflected = polynomial.reverse_bits() >> (64 - width);
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ reflected } else { rest >> 1 };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
}

const fn direct_table(polynomial: u64, width: u32) -> [u64; 256] {
    let top = 1u64 << (width - 1);
    let mask = u64::MAX >> (64 - width);
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = (byte as u64) << (width - 8);
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & top != 0 { rest << 1 ^ polynomial } else { rest << 1 };
            bit += 1;
        }
        table[byte] = rest & mask;
        byte += 1;
    }
    table
}

static CRC16: [u64; 256] = reflected_table(0x8005, 16);
static CRC32: [u64; 256] = reflected_table(0x04c1_1db7, 32);
static CRC64: [u64; 256] = reflected_table(0x1b, 64);
static CCITT: [u64; 256] = direct_table(0x1021, 16);
static CRC8: [u64; 256] = direct_table(0x07, 8);

fn reflected(table: &[u64; 256], initial: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(initial, |rest, &byte| rest >> 8 ^ table[(rest as u8 ^ byte) as usize])
}

fn direct(table: &[u64; 256], width: u32, initial: u64, bytes: &[u8]) -> u64 {
    let mask = u64::MAX >> (64 - width);
    bytes.iter().fold(initial, |rest, &byte| {
        (table[((rest >> (width - 8)) as u8 ^ byte) as usize] ^ rest << 8) & mask
    })
}

/// Internet checksum (RFC 1071).
pub(crate) fn csum16(bytes: &[u8]) -> u64 {
    let mut sum = 0u64;
    let mut words = bytes.chunks_exact(4);
    for word in &mut words {
        sum += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
    }
    let mut tail = [0u8; 4];
    let rest = words.remainder();
    tail[..rest.len()].copy_from_slice(rest);
    sum += u64::from(u32::from_be_bytes(tail));
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !sum & 0xffff
}

fn xor(bytes: &[u8], size: usize) -> u64 {
    bytes.chunks(size).fold(0, |sum, chunk| {
        let word = chunk.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        sum ^ word << (8 * (size - chunk.len()))
    })
}

pub(crate) fn hash(algorithm: HashAlgorithm, bytes: &[u8], rng: &mut Rng) -> u64 {
    match algorithm {
        HashAlgorithm::Crc8Custom => direct(&CRC8, 8, 0, bytes),
        HashAlgorithm::Crc16 | HashAlgorithm::Crc16Custom => reflected(&CRC16, 0, bytes),
        HashAlgorithm::Crc32 | HashAlgorithm::Crc32Custom => {
            !reflected(&CRC32, 0xffff_ffff, bytes) & 0xffff_ffff
        }
        HashAlgorithm::Crc64Custom => reflected(&CRC64, 0, bytes),
        HashAlgorithm::CrcCcitt => direct(&CCITT, 16, 0xffff, bytes),
        HashAlgorithm::Csum16 => csum16(bytes),
        HashAlgorithm::Xor16 => xor(bytes, 2),
        HashAlgorithm::Xor32 => xor(bytes, 4),
        HashAlgorithm::Identity => bytes.iter().take(8).fold(0u64, |word, &byte| word << 8 | u64::from(byte)),
        HashAlgorithm::Random => rng.next(),
    }
}

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
        self.pending = kept | value & crate::words::mask64(bits);
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

    /// A whole header; what comes before it is whole bytes, or is padded to them.
    pub fn header(&mut self, shape: &HeaderShape, base: Slot, regs: &Regs) {
        self.pad();
        wire::write(shape, base, regs, self.bytes);
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

/// Collects the input of a calculation as bytes.
pub(crate) fn hash_input(
    layout: &Layout,
    input: &[HashInput],
    regs: &Regs,
    payload: &[u8],
    bytes: &mut Vec<u8>,
) {
    bytes.clear();
    let mut with_payload = false;
    let mut writer = BitWriter::new(bytes);
    for item in input {
        match item {
            HashInput::Field { slot, bits, variable, header, .. } => {
                let place = &layout.headers[*header as usize];
                if regs[place.base as usize] == 0 {
                    continue;
                }
                let slot = *slot as usize;
                if *bits <= 64 && !variable {
                    writer.word(regs[slot], *bits);
                } else {
                    let limbs = crate::words::limbs_for(*bits).max(1);
                    let bits = if *variable { regs[slot - 1] as u32 } else { *bits };
                    writer.wide(&regs[slot..slot + limbs], bits);
                }
            }
            HashInput::Constant { limbs, bits } => writer.wide(limbs, *bits),
            HashInput::Header { header } => {
                let place = &layout.headers[*header as usize];
                if regs[place.base as usize] != 0 {
                    writer.header(layout.shape_of(*header), place.base, regs);
                }
            }
            HashInput::Payload => with_payload = true,
        }
    }
    drop(writer);
    if with_payload {
        bytes.extend_from_slice(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_of_the_catalogues() {
        let digits = b"123456789";
        let value = |algorithm| hash(algorithm, digits, &mut Rng::new(0));
        assert_eq!(value(HashAlgorithm::Crc16), 0xbb3d);
        assert_eq!(value(HashAlgorithm::Crc32), 0xcbf4_3926);
        assert_eq!(value(HashAlgorithm::CrcCcitt), 0x29b1);
        assert_eq!(value(HashAlgorithm::Crc8Custom), 0xf4);
        assert_eq!(value(HashAlgorithm::Identity), 0x3132_3334_3536_3738);
        assert_eq!(
            csum16(&[0x45, 0, 0, 0x1c, 0, 0, 0, 0, 0x40, 0x11, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]),
            0x66cf
        );
        assert_eq!(csum16(&[0xff]), 0x00ff);
        assert_eq!(xor(&[1, 2, 3], 2), 0x0202);
    }

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
}
