//! Hashes and checksums of a program: their inputs, and the plan of an Internet checksum.

use crate::code::layout::Slot;

/// Input of a calculation.
#[derive(Clone, Debug)]
pub(crate) enum HashInput {
    /// Skipped when the header is not valid.
    Field {
        slot: Slot,
        bits: u32,
        variable: bool,
        header: u16,
    },
    Constant {
        limbs: Vec<u64>,
        bits: u32,
    },
    Header {
        header: u16,
    },
    Payload,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashAlgorithm {
    Crc8Custom,
    Crc16,
    Crc16Custom,
    Crc32,
    Crc32Custom,
    Crc64Custom,
    CrcCcitt,
    Csum16,
    Xor16,
    Xor32,
    Identity,
    /// From the switch's seeded generator.
    Random,
}

#[derive(Clone, Debug)]
pub(crate) struct Calculation {
    pub algorithm: HashAlgorithm,
    pub input: Vec<HashInput>,
    /// An Internet checksum as a sum of words, where the input allows it.
    pub sum: Option<SumPlan>,
}

/// `((slot >> right) & mask) << left`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub slot: Slot,
    pub right: u8,
    pub mask: u64,
    pub left: u8,
    /// The slot has nothing above the term, so that the mask changes nothing.
    pub is_uppermost: bool,
}

/// Terms that count while a header is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Slot of the valid flag.
    pub valid: Slot,
    pub terms: Vec<Term>,
}

/// An Internet checksum as a sum of fields. A one's complement sum does not change when a field is
/// added as a whole, shifted to its place within a 16-bit word, so no bytes have to be put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SumPlan {
    pub groups: Vec<Group>,
    /// Sum of the constants.
    pub constant: u64,
    pub payload: bool,
}
