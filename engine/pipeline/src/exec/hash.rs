//! Hash algorithms over byte strings, with the parameters of simple_switch.

use crate::code::calculation::{HashAlgorithm, HashInput};
use crate::code::layout::{Layout, Regs};
use crate::exec::wire;
use crate::numbers::bits::BitWriter;
use crate::numbers::rng::Rng;

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
                if regs[layout.flag(*header) as usize] == 0 {
                    continue;
                }
                let slot = *slot as usize;
                if *bits <= 64 && !variable {
                    writer.word(regs[slot], *bits);
                } else {
                    let limbs = crate::numbers::words::limbs_for(*bits).max(1);
                    let bits = if *variable { regs[slot - 1] as u32 } else { *bits };
                    writer.wide(&regs[slot..slot + limbs], bits);
                }
            }
            HashInput::Constant { limbs, bits } => writer.wide(limbs, *bits),
            HashInput::Header { header } => {
                let place = &layout.headers[*header as usize];
                if regs[place.base as usize] != 0 {
                    wire::write(layout.shape_of(*header), place.base, regs, writer.whole_bytes());
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
}
