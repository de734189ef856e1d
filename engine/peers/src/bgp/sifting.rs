//! Sorts out the attributes of an UPDATE that are malformed, before its routes are read (RFC 7606).
//!
//! An attribute by itself says how long it is, so that one that is malformed does not hide those behind it. Each is
//! parsed alone, and its type decides what an error means: the routes of the message are withdrawn, the attribute is
//! discarded, or the session ends.

use netgauze_bgp_pkt::notification::UpdateMessageError;
use netgauze_bgp_pkt::path_attribute::{PathAttribute, PathAttributeValue};
use netgauze_bgp_pkt::wire::deserializer::path_attribute::PathAttributeParsingError;
use netgauze_bgp_pkt::wire::deserializer::BgpParsingContext;
use netgauze_parse_utils::{LocatedParsingError, ReadablePduWithOneInput, Span};

use super::messages::HEADER_BYTES;

const OPTIONAL: u8 = 0x80;
const TRANSITIVE: u8 = 0x40;
/// RFC 7606 section 3 c leaves this flag out.
const PARTIAL: u8 = 0x20;
const EXTENDED_LENGTH: u8 = 0x10;

const NEXT_HOP: u8 = 3;
const LOCAL_PREF: u8 = 5;
const ATOMIC_AGGREGATE: u8 = 6;
const AGGREGATOR: u8 = 7;
const COMMUNITIES: u8 = 8;
const ORIGINATOR_ID: u8 = 9;
const CLUSTER_LIST: u8 = 10;
const MP_REACH: u8 = 14;
const MP_UNREACH: u8 = 15;
const EXTENDED_COMMUNITIES: u8 = 16;
const AS4_PATH: u8 = 17;
const AS4_AGGREGATOR: u8 = 18;
const IPV6_EXTENDED_COMMUNITIES: u8 = 25;
const AIGP: u8 = 26;
const BGP_LS: u8 = 29;
const LARGE_COMMUNITIES: u8 = 32;
const ONLY_TO_CUSTOMER: u8 = 35;
const PREFIX_SID: u8 = 40;

/// Families of unicast routes, as address family and subsequent one.
const UNICAST: [[u8; 3]; 2] = [[0, 1, 1], [0, 2, 1]];

/// An UPDATE without malformed attributes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sifted {
    pub message: Vec<u8>,
    /// An attribute was malformed in such a way that its routes are withdrawn ("treat-as-withdraw").
    pub withdraws: bool,
}

/// Decision about one attribute.
enum Verdict {
    Keep(Vec<u8>),
    Discard,
    /// The routes of the message are withdrawn; what it says of routes is kept.
    Withdraw(Option<Vec<u8>>),
    End(UpdateMessageError),
}

/// Returns an UPDATE as it is to be read, or why the session ends. `internal`: the neighbour is of the same AS.
pub(crate) fn sift(
    message: &[u8],
    context: &mut BgpParsingContext,
    internal: bool,
) -> Result<Sifted, UpdateMessageError> {
    let malformed_list = || UpdateMessageError::MalformedAttributeList { value: [].into() };
    let (header, body) = message.split_at(HEADER_BYTES);
    let (withdrawn, rest) = field(body).ok_or_else(malformed_list)?;
    let (attributes, networks) = field(rest).ok_or_else(malformed_list)?;
    let (mut kept, mut withdraws, mut reaches) = (Vec::new(), false, !networks.is_empty());
    let mut seen = [false; 256];
    let mut left = attributes;
    while !left.is_empty() {
        let Some(bytes) = attribute_bytes(left) else {
            // It ends behind the list, or there is no room for its length (section 4).
            if matches!(left.get(1), Some(&(MP_REACH | MP_UNREACH))) {
                return Err(malformed_list());
            }
            withdraws = true;
            break;
        };
        let (attribute, behind) = left.split_at(bytes);
        left = behind;
        let code = attribute[1];
        if std::mem::replace(&mut seen[usize::from(code)], true) {
            // The first one counts (section 3 g).
            if matches!(code, MP_REACH | MP_UNREACH) {
                return Err(malformed_list());
            }
            continue;
        }
        let keep = match judge(attribute, context, internal) {
            Verdict::Keep(bytes) => Some(bytes),
            Verdict::Discard => None,
            Verdict::Withdraw(bytes) => {
                withdraws = true;
                bytes
            }
            Verdict::End(error) => return Err(error),
        };
        if let Some(bytes) = keep {
            reaches |= code == MP_REACH;
            kept.extend(bytes);
        }
    }
    if withdraws && !reaches {
        // Nothing to withdraw: the routes that were meant are not known (section 5.2).
        return Err(malformed_list());
    }
    let mut sifted = header.to_vec();
    for part in [withdrawn, &kept] {
        sifted.extend((part.len() as u16).to_be_bytes());
        sifted.extend(part);
    }
    sifted.extend(networks);
    let length = sifted.len() as u16;
    sifted[16..18].copy_from_slice(&length.to_be_bytes());
    Ok(Sifted { message: sifted, withdraws })
}

/// The bytes of a field behind its length in two bytes, and what is behind it.
fn field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// Length of the first attribute, with flags, type and length; `None` when it is not whole.
fn attribute_bytes(bytes: &[u8]) -> Option<usize> {
    let head = head_bytes(*bytes.first()?);
    let length = match bytes.get(2..head)? {
        [high, low] => usize::from(u16::from_be_bytes([*high, *low])),
        one => usize::from(one[0]),
    };
    (head + length <= bytes.len()).then_some(head + length)
}

fn head_bytes(flags: u8) -> usize {
    if flags & EXTENDED_LENGTH == 0 {
        3
    } else {
        4
    }
}

/// Decides about one attribute, which is as long as it says.
fn judge(attribute: &[u8], context: &mut BgpParsingContext, internal: bool) -> Verdict {
    let (flags, code) = (attribute[0], attribute[1]);
    let value = &attribute[head_bytes(flags)..];
    if matches!(code, MP_REACH | MP_UNREACH)
        && value.len() >= 3
        && !UNICAST.iter().any(|it| value.starts_with(it))
    {
        // Routes of a family that nobody asked for.
        return Verdict::Discard;
    }
    let of_neighbour_only = matches!(code, LOCAL_PREF | ORIGINATOR_ID | CLUSTER_LIST);
    if of_neighbour_only && !internal {
        return Verdict::Discard;
    }
    let whole = [&[flags & !PARTIAL], &attribute[1..]].concat();
    // Its position in a message has no meaning for one attribute.
    let parsed = PathAttribute::from_wire(Span::new(&whole), context);
    match parsed.map_err(|error| match error {
        nom::Err::Error(located) | nom::Err::Failure(located) => Some(located.error().clone()),
        nom::Err::Incomplete(_) => None,
    }) {
        Ok((_, parsed)) if matches!(parsed.value(), PathAttributeValue::UnknownAttribute(_)) => {
            if flags & OPTIONAL == 0 {
                let value = attribute.to_vec();
                return Verdict::End(UpdateMessageError::UnrecognizedWellKnownAttribute { value });
            }
            Verdict::Keep(whole)
        }
        Ok((rest, _)) if rest.is_empty() && fits(code, value) => Verdict::Keep(whole),
        Err(Some(PathAttributeParsingError::InvalidPathAttribute(..))) => {
            // Flags of another kind of attribute (section 3 c): the networks in it can be read.
            let is_networks = matches!(code, MP_REACH | MP_UNREACH);
            let mut readable = whole;
            readable[0] = readable[0] & !TRANSITIVE | OPTIONAL;
            Verdict::Withdraw(is_networks.then_some(readable))
        }
        _ => malformed(code, attribute),
    }
}

/// Checks that the parser leaves to the reader of a value.
fn fits(code: u8, value: &[u8]) -> bool {
    match code {
        ORIGINATOR_ID | ONLY_TO_CUSTOMER => value.len() == 4,
        COMMUNITIES | EXTENDED_COMMUNITIES | IPV6_EXTENDED_COMMUNITIES | LARGE_COMMUNITIES | CLUSTER_LIST => {
            !value.is_empty()
        }
        // That of a host (RFC 4271 section 6.3): not this network, loopback, a group or beyond.
        NEXT_HOP => !matches!(value[0], 0 | 127 | 224..),
        _ => true,
    }
}

/// The meaning of a malformed attribute by its type (RFC 7606 section 7, and the documents of later attributes).
fn malformed(code: u8, attribute: &[u8]) -> Verdict {
    match code {
        ATOMIC_AGGREGATE | AGGREGATOR | AS4_PATH | AS4_AGGREGATOR | AIGP | BGP_LS | PREFIX_SID => {
            Verdict::Discard
        }
        // Networks that cannot be read cannot be withdrawn either.
        MP_REACH | MP_UNREACH => {
            Verdict::End(UpdateMessageError::OptionalAttributeError { value: attribute.to_vec() })
        }
        _ => Verdict::Withdraw(None),
    }
}
