//! Shared part of IGMPv3 (RFC 3376) and MLDv2 (RFC 3810): records of groups with their sources. `A` is an
//! address of the family.

use std::net::{Ipv4Addr, Ipv6Addr};

/// An address of a group or of a source.
pub trait Address: Copy {
    const BYTES: usize;

    /// The address in `bytes`, which are [`Address::BYTES`].
    fn read(bytes: &[u8]) -> Self;

    fn write(self, bytes: &mut Vec<u8>);
}

impl Address for Ipv4Addr {
    const BYTES: usize = 4;

    fn read(bytes: &[u8]) -> Ipv4Addr {
        Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])
    }

    fn write(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.octets());
    }
}

impl Address for Ipv6Addr {
    const BYTES: usize = 16;

    fn read(bytes: &[u8]) -> Ipv6Addr {
        let mut octets = [0; 16];
        octets.copy_from_slice(bytes);
        Ipv6Addr::from(octets)
    }

    fn write(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.octets());
    }
}

/// Meaning of the sources that a record lists (RFC 3376 4.2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    IsInclude,
    IsExclude,
    ToInclude,
    ToExclude,
    Allow,
    Block,
}

const MODES: [Mode; 6] =
    [Mode::IsInclude, Mode::IsExclude, Mode::ToInclude, Mode::ToExclude, Mode::Allow, Mode::Block];

/// A record of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<A> {
    pub mode: Mode,
    pub group: A,
    pub sources: Vec<A>,
}

/// A query; the sources and all fields behind `group` are those of the newer versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<A> {
    /// The group that is asked for; unspecified for all.
    pub group: A,
    /// The code of the time in which hosts are to answer (RFC 3376 4.1.1, RFC 3810 5.1.3).
    pub max_response_code: u16,
    pub detail: Option<Detail<A>>,
}

/// Fields that IGMPv3 and MLDv2 add to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail<A> {
    /// Routers do not set their timers anew.
    pub suppress: bool,
    /// The querier's robustness, up to 7.
    pub robustness: u8,
    /// The code of the querier's interval.
    pub interval_code: u8,
    pub sources: Vec<A>,
}

/// Bytes in front of the sources of a [`Detail`].
const DETAIL_BYTES: usize = 4;
const SUPPRESS: u8 = 0x08;
const ROBUSTNESS: u8 = 0x07;
/// Bytes in front of the address of a [`Record`].
const RECORD_BYTES: usize = 4;

impl<A: Address> Detail<A> {
    /// Reads the bytes behind the group of a query.
    pub fn parse(bytes: &[u8]) -> Option<Detail<A>> {
        let (&[flags, interval_code, high, low], rest) = bytes.split_first_chunk::<DETAIL_BYTES>()?;
        Some(Detail {
            suppress: flags & SUPPRESS != 0,
            robustness: flags & ROBUSTNESS,
            interval_code,
            sources: addresses(rest, u16::from_be_bytes([high, low]))?,
        })
    }

    pub fn emit(&self, bytes: &mut Vec<u8>) {
        let suppress = if self.suppress { SUPPRESS } else { 0 };
        let [high, low] = (self.sources.len() as u16).to_be_bytes();
        let flags = suppress | self.robustness & ROBUSTNESS;
        bytes.extend_from_slice(&[flags, self.interval_code, high, low]);
        self.sources.iter().for_each(|source| source.write(bytes));
    }
}

/// Reads `count` records. Records of an unknown mode are left out (RFC 3376 4.2.12).
pub fn parse_records<A: Address>(bytes: &[u8], count: u16) -> Option<Vec<Record<A>>> {
    let mut rest = bytes;
    let mut records = Vec::new();
    for _ in 0..count {
        let (&[mode, auxiliary_words, high, low], behind) = rest.split_first_chunk::<RECORD_BYTES>()?;
        let sources = u16::from_be_bytes([high, low]);
        let (group, behind) = behind.split_at_checked(A::BYTES)?;
        let record_sources = addresses(behind, sources)?;
        let skipped = A::BYTES * usize::from(sources) + 4 * usize::from(auxiliary_words);
        rest = behind.get(skipped..)?;
        let mode = usize::from(mode).checked_sub(1).and_then(|it| MODES.get(it));
        if let Some(&mode) = mode {
            records.push(Record { mode, group: A::read(group), sources: record_sources });
        }
    }
    Some(records)
}

impl<A: Address> Record<A> {
    pub fn emit(&self, bytes: &mut Vec<u8>) {
        let [high, low] = (self.sources.len() as u16).to_be_bytes();
        bytes.extend_from_slice(&[self.mode as u8 + 1, 0, high, low]);
        self.group.write(bytes);
        self.sources.iter().for_each(|source| source.write(bytes));
    }
}

/// The code of a number of `bits` bits (8 or 16): itself in the lower half, else a small floating-point number that is
/// not above it (RFC 3376 4.1.1, RFC 3810 5.1.3).
pub fn code(number: u64, bits: u32) -> u16 {
    let mantissa_bits = bits - 4;
    if number < 1 << (bits - 1) {
        return number as u16;
    }
    let exponent = (63 - number.leading_zeros()).saturating_sub(mantissa_bits + 3).min(7);
    let mantissa = (number >> (exponent + 3)).min((2 << mantissa_bits) - 1) & ((1 << mantissa_bits) - 1);
    (1 << (bits - 1) | u64::from(exponent) << mantissa_bits | mantissa) as u16
}

/// The number that a code of `bits` bits (8 or 16) tells: the way back of [`code`].
pub fn number(code: u16, bits: u32) -> u64 {
    let code = u64::from(code);
    if code >> (bits - 1) == 0 {
        return code;
    }
    let mantissa_bits = bits - 4;
    let mantissa = code & ((1 << mantissa_bits) - 1) | 1 << mantissa_bits;
    mantissa << ((code >> mantissa_bits & 7) + 3)
}

fn addresses<A: Address>(bytes: &[u8], count: u16) -> Option<Vec<A>> {
    let bytes = bytes.get(..A::BYTES * usize::from(count))?;
    Some(bytes.chunks_exact(A::BYTES).map(A::read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<A: Address + PartialEq + std::fmt::Debug>(group: A, source: A) {
        let record = |mode: Mode, sources: usize| Record { mode, group, sources: vec![source; sources] };
        let records: Vec<Record<A>> = (0..6).map(|it| record(MODES[it], it % 3)).collect();
        let mut bytes = Vec::new();
        records.iter().for_each(|it| it.emit(&mut bytes));
        assert_eq!(bytes[0], 1, "the modes begin with 1");
        assert_eq!(parse_records(&bytes, 6), Some(records));
        for length in 0..bytes.len() {
            assert_eq!(parse_records::<A>(&bytes[..length], 6), None);
        }
        let detail = Detail { suppress: true, robustness: 2, interval_code: 125, sources: vec![source] };
        let mut bytes = Vec::new();
        detail.emit(&mut bytes);
        assert_eq!(bytes[..4], [0x0a, 125, 0, 1]);
        assert_eq!(Detail::parse(&bytes), Some(detail));
        assert_eq!(Detail::<A>::parse(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn records_and_queries_of_both_families_are_read_as_they_were_written() {
        round_trip(Ipv4Addr::new(232, 1, 1, 1), Ipv4Addr::new(10, 0, 0, 9));
        let group = "ff3e::99".parse().unwrap();
        round_trip::<Ipv6Addr>(group, "2001:db8::9".parse().unwrap());
    }

    #[test]
    fn codes_are_numbers_or_floating_point() {
        for (number, bits, expected) in [
            (0, 8, 0),
            (100, 8, 100),
            (127, 8, 127),
            (128, 8, 0x80),
            (135, 8, 0x80),
            (136, 8, 0x81),
            (256, 8, 0x90),
            (31_744, 8, 0xff),
            (1 << 40, 8, 0xff),
            (10_000, 16, 10_000),
            (32_768, 16, 0x8000),
            (32_776, 16, 0x8001),
            (8_387_584, 16, 0xffff),
        ] {
            assert_eq!(code(number, bits), expected, "{number} in {bits} bits");
        }
    }

    #[test]
    fn numbers_come_back_from_their_codes() {
        for bits in [8, 16] {
            for it in 0..=u16::MAX >> (16 - bits) {
                assert_eq!(code(number(it, bits), bits), it, "{it} in {bits} bits");
            }
        }
        assert_eq!((number(0xff, 8), number(0xffff, 16)), (31_744, 8_387_584));
    }

    #[test]
    fn auxiliary_data_and_unknown_modes_are_passed_over() {
        let unknown = [9, 1, 0, 0, 224, 1, 1, 1, 0, 0, 0, 0];
        let known = [2, 0, 0, 0, 224, 1, 1, 2];
        let records = parse_records::<Ipv4Addr>(&[&unknown[..], &known].concat(), 2).unwrap();
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].group, Ipv4Addr::new(224, 1, 1, 2));
    }
}
