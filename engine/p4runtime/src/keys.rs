//! Table keys and value set members: FieldMatch to KeyMatch and back (section 9.1.1).

use p4mesh_pipeline::{KeyMatch, MatchKind};

use crate::names::Names;
use crate::proto::entity::{Exact, FieldMatch, FieldMatchType, Lpm, Optional, Range, Ternary};
use crate::refusal::{Outcome, Refusal};
use crate::schema::FieldSchema;
use crate::value;

/// The key for a list of matches; fields that are left out match anything. `owner` names the
/// table or value set in errors.
///
/// # Errors
/// INVALID_ARGUMENT for anything malformed, OUT_OF_RANGE for a value wider than its field.
pub fn to_key(
    owner: &dyn Fn() -> String,
    fields: &[FieldSchema],
    matches: &[FieldMatch],
) -> Outcome<Vec<KeyMatch>> {
    let mut used = 0;
    let mut key = Vec::with_capacity(fields.len());
    for (index, field) in fields.iter().enumerate() {
        // Mostly given in order.
        let given = match matches.get(index) {
            Some(given) if given.field_id == field.id => Some(given),
            _ => matches.iter().find(|given| given.field_id == field.id),
        };
        used += usize::from(given.is_some());
        let part = match given {
            Some(given) => to_match(owner, field, given)?,
            None => any(owner, field)?,
        };
        key.push(match field.as_ternary {
            true => to_ternary(part, field.width_bits),
            false => part,
        });
    }
    if used != matches.len() {
        return Err(superfluous(owner, fields, matches));
    }
    Ok(key)
}

fn superfluous(owner: &dyn Fn() -> String, fields: &[FieldSchema], matches: &[FieldMatch]) -> Refusal {
    for (index, given) in matches.iter().enumerate() {
        let id = given.field_id;
        if !fields.iter().any(|field| field.id == id) {
            let valid: Vec<String> =
                fields.iter().map(|field| format!("{} ({})", field.id, field.name)).collect();
            return Refusal::invalid(format!(
                "{}: no key field with id {id}; valid: {}",
                owner(),
                valid.join(", ")
            ));
        }
        if matches[..index].iter().any(|other| other.field_id == id) {
            return Refusal::invalid(format!("{}: key field {id} is given twice", owner()));
        }
    }
    Refusal::invalid(format!("{}: superfluous key fields", owner()))
}

fn any(owner: &dyn Fn() -> String, field: &FieldSchema) -> Outcome<KeyMatch> {
    Ok(match field.kind {
        MatchKind::Lpm => KeyMatch::Lpm { value: vec![0], prefix_bits: 0 },
        MatchKind::Ternary => KeyMatch::Ternary { value: vec![0], mask: vec![0] },
        MatchKind::Range => KeyMatch::Range { low: vec![0], high: value::all_ones(field.width_bits) },
        MatchKind::Optional => KeyMatch::Optional(None),
        MatchKind::Exact | MatchKind::Valid => {
            return Err(Refusal::invalid(format!(
                "{}: key field '{}' is matched as exact and must be given",
                owner(),
                field.name
            )))
        }
    })
}

fn to_match(owner: &dyn Fn() -> String, field: &FieldSchema, given: &FieldMatch) -> Outcome<KeyMatch> {
    let what = || format!("{}: key field '{}'", owner(), field.name);
    let bad = |problem: &str| Err(Refusal::invalid(format!("{}: {problem}", what())));
    let width = field.width_bits;
    if let Some(names) = &field.names {
        return match (field.kind, given.field_match_type.as_ref()) {
            (MatchKind::Exact, Some(FieldMatchType::Exact(exact))) => {
                Ok(KeyMatch::Exact(names.number(&exact.value, width, what)?))
            }
            (MatchKind::Optional, Some(FieldMatchType::Optional(optional))) => {
                Ok(KeyMatch::Optional(Some(names.number(&optional.value, width, what)?)))
            }
            _ => Err(Refusal::unimplemented(format!("{}: strings match as exact or optional only", what()))),
        };
    }
    let number = |bytes| value::checked(bytes, width, what);
    let omit = "matches anything; leave the field out instead";
    match (field.kind, given.field_match_type.as_ref()) {
        (MatchKind::Exact, Some(FieldMatchType::Exact(exact))) => {
            Ok(KeyMatch::Exact(number(&exact.value)?.to_vec()))
        }
        (MatchKind::Valid, Some(FieldMatchType::Exact(exact))) => {
            Ok(KeyMatch::Valid(!value::is_zero(number(&exact.value)?)))
        }
        (MatchKind::Lpm, Some(FieldMatchType::Lpm(lpm))) => {
            let bytes = number(&lpm.value)?;
            if lpm.prefix_len == 0 {
                return bad(&format!("prefix length 0 {omit}"));
            }
            if lpm.prefix_len < 0 || lpm.prefix_len as u32 > width {
                return bad(&format!("prefix length {} is not in 1 to {width}", lpm.prefix_len));
            }
            let prefix_bits = lpm.prefix_len as u32;
            if !value::within_prefix(bytes, width, prefix_bits) {
                return bad(&format!(
                    "0x{} has bits set below its prefix of {prefix_bits} bits",
                    value::hex(bytes)
                ));
            }
            Ok(KeyMatch::Lpm { value: bytes.to_vec(), prefix_bits })
        }
        (MatchKind::Ternary, Some(FieldMatchType::Ternary(ternary))) => {
            let (bytes, mask) = (number(&ternary.value)?, number(&ternary.mask)?);
            if value::is_zero(mask) {
                return bad(&format!("mask 0 {omit}"));
            }
            if !value::within_mask(bytes, mask) {
                return bad(&format!(
                    "0x{} has bits set outside its mask 0x{}",
                    value::hex(bytes),
                    value::hex(mask)
                ));
            }
            Ok(KeyMatch::Ternary { value: bytes.to_vec(), mask: mask.to_vec() })
        }
        (MatchKind::Range, Some(FieldMatchType::Range(range))) => {
            let (low, high) = (number(&range.low)?, number(&range.high)?);
            if value::compare(low, high).is_gt() {
                return bad(&format!(
                    "low bound 0x{} is above high bound 0x{}",
                    value::hex(low),
                    value::hex(high)
                ));
            }
            if value::is_zero(low) && value::compare(high, &value::all_ones(width)).is_eq() {
                return bad(&format!("the range {omit}"));
            }
            Ok(KeyMatch::Range { low: low.to_vec(), high: high.to_vec() })
        }
        (MatchKind::Optional, Some(FieldMatchType::Optional(optional))) => {
            Ok(KeyMatch::Optional(Some(number(&optional.value)?.to_vec())))
        }
        (_, None) => bad("the match is not set"),
        (kind, Some(other)) => Err(Refusal::invalid(format!(
            "{} is matched as {}, got {}",
            what(),
            match kind {
                MatchKind::Valid => "exact",
                kind => kind.name(),
            },
            match other {
                FieldMatchType::Exact(_) => "exact",
                FieldMatchType::Ternary(_) => "ternary",
                FieldMatchType::Lpm(_) => "lpm",
                FieldMatchType::Range(_) => "range",
                FieldMatchType::Optional(_) => "optional",
                FieldMatchType::Other(_) => "other",
            }
        ))),
    }
}

/// The ternary match with the same meaning; ranges stay as they are.
fn to_ternary(part: KeyMatch, width_bits: u32) -> KeyMatch {
    let all = || value::all_ones(width_bits);
    match part {
        KeyMatch::Exact(value) | KeyMatch::Optional(Some(value)) => KeyMatch::Ternary { value, mask: all() },
        KeyMatch::Optional(None) => KeyMatch::Ternary { value: vec![0], mask: vec![0] },
        KeyMatch::Lpm { value, prefix_bits } => KeyMatch::Ternary {
            value,
            mask: value::canonical(&value::prefix_mask(width_bits, prefix_bits)).to_vec(),
        },
        other => other,
    }
}

/// Undoes [`to_ternary`].
fn from_ternary(kind: MatchKind, value: &[u8], mask: &[u8], width_bits: u32) -> FieldMatchType {
    let (value, mask) = (value::canonical_bytes(value), value::canonical_bytes(mask));
    match kind {
        MatchKind::Exact => FieldMatchType::Exact(Exact { value }),
        MatchKind::Optional => FieldMatchType::Optional(Optional { value }),
        MatchKind::Lpm => FieldMatchType::Lpm(Lpm {
            value,
            prefix_len: (0..width_bits).filter(|bit| value::to_bit(&mask, *bit)).count() as i32,
        }),
        _ => FieldMatchType::Ternary(Ternary { value, mask }),
    }
}

/// A match whose value is given as the string that stands for it.
fn to_text(names: &Names, kind: FieldMatchType) -> FieldMatchType {
    match kind {
        FieldMatchType::Exact(Exact { value }) => FieldMatchType::Exact(Exact { value: names.text(&value) }),
        FieldMatchType::Optional(Optional { value }) => {
            FieldMatchType::Optional(Optional { value: names.text(&value) })
        }
        other => other,
    }
}

/// The same key with every value in canonical form and masked, so that equal keys compare equal.
pub fn canonical_key(key: &[KeyMatch]) -> Vec<KeyMatch> {
    let short = |bytes: &[u8]| value::canonical_bytes(bytes).to_vec();
    key.iter()
        .map(|part| match part {
            KeyMatch::Exact(bytes) => KeyMatch::Exact(short(bytes)),
            KeyMatch::Lpm { value, prefix_bits } => {
                KeyMatch::Lpm { value: short(value), prefix_bits: *prefix_bits }
            }
            KeyMatch::Ternary { value, mask } => KeyMatch::Ternary { value: short(value), mask: short(mask) },
            KeyMatch::Range { low, high } => KeyMatch::Range { low: short(low), high: short(high) },
            KeyMatch::Optional(bytes) => KeyMatch::Optional(bytes.as_deref().map(short)),
            KeyMatch::Valid(valid) => KeyMatch::Valid(*valid),
        })
        .collect()
}

/// The matches for a key, canonical, without the fields that match anything.
pub fn from_key(fields: &[FieldSchema], key: &[KeyMatch]) -> Vec<FieldMatch> {
    let bytes = value::canonical_bytes;
    let mut matches = Vec::with_capacity(fields.len());
    for (field, part) in fields.iter().zip(key) {
        let kind = match part {
            KeyMatch::Exact(exact) => FieldMatchType::Exact(Exact { value: bytes(exact) }),
            KeyMatch::Valid(valid) => FieldMatchType::Exact(Exact { value: bytes(&[u8::from(*valid)]) }),
            KeyMatch::Lpm { prefix_bits: 0, .. } | KeyMatch::Optional(None) => continue,
            KeyMatch::Lpm { value, prefix_bits } => {
                FieldMatchType::Lpm(Lpm { value: bytes(value), prefix_len: *prefix_bits as i32 })
            }
            KeyMatch::Ternary { mask, .. } if value::is_zero(mask) => continue,
            KeyMatch::Ternary { value, mask } => from_ternary(field.kind, value, mask, field.width_bits),
            KeyMatch::Range { low, high } => {
                let all = value::all_ones(field.width_bits);
                if value::is_zero(low) && value::compare(high, &all).is_eq() {
                    continue;
                }
                FieldMatchType::Range(Range { low: bytes(low), high: bytes(high) })
            }
            KeyMatch::Optional(Some(value)) => FieldMatchType::Optional(Optional { value: bytes(value) }),
        };
        matches.push(FieldMatch {
            field_id: field.id,
            field_match_type: Some(match &field.names {
                None => kind,
                Some(names) => to_text(names, kind),
            }),
        });
    }
    matches
}
