//! P4Data (P4Runtime section 8.5): values of registers and digests by their P4Info type.

use bytes::Bytes;

use crate::proto::entity::{P4Data, P4DataKind, P4Header, P4StructLike};
use crate::proto::info::*;

use crate::refusal::{Outcome, Refusal};
use crate::schema::{ScalarKind, Schema};
use crate::value;

fn data(kind: P4DataKind) -> P4Data {
    P4Data { data: Some(kind) }
}

/// Builds the value of a type from flattened fields, in declaration order.
///
/// # Errors
/// A text that says why the type and the fields do not fit.
pub fn from_fields(
    spec: &P4DataTypeSpec,
    schema: &Schema,
    fields: &mut std::vec::IntoIter<Vec<u8>>,
) -> Result<P4Data, String> {
    let built = build(spec, schema, fields, 0)?;
    match fields.len() {
        0 => Ok(built),
        extra => Err(format!("the program has {extra} field(s) more than the type")),
    }
}

/// Types nest at most this deep.
const MAX_DEPTH: u32 = 32;

fn build(
    spec: &P4DataTypeSpec,
    schema: &Schema,
    fields: &mut std::vec::IntoIter<Vec<u8>>,
    depth: u32,
) -> Result<P4Data, String> {
    if depth > MAX_DEPTH {
        return Err("the type is nested too deeply".to_string());
    }
    let mut next = || fields.next().ok_or_else(|| "the type has more fields than the program".to_string());
    let kind = match spec.type_spec.as_ref() {
        Some(TypeSpec::Bitstring(P4BitstringLikeTypeSpec {
            type_spec: Some(BitstringTypeSpec::Int(int)),
        })) => P4DataKind::Bitstring(signed_canonical(int.bitwidth.max(1) as u32, &next()?)),
        Some(TypeSpec::Bitstring(_)) => P4DataKind::Bitstring(value::canonical_bytes(&next()?)),
        Some(TypeSpec::Bool(_)) => P4DataKind::Bool(!value::is_zero(&next()?)),
        Some(TypeSpec::SerializableEnum(_)) => P4DataKind::EnumValue(value::canonical_bytes(&next()?)),
        Some(TypeSpec::Enum(named)) => {
            let symbols = schema
                .enums
                .get(&named.name)
                .ok_or_else(|| format!("the program has no enum '{}'", named.name))?;
            P4DataKind::Enum(symbols.text(&next()?))
        }
        Some(TypeSpec::Error(_)) => P4DataKind::Error(schema.errors.text(&next()?)),
        Some(TypeSpec::Struct(named)) => {
            let spec = schema
                .types
                .structs
                .get(&named.name)
                .ok_or_else(|| format!("type_info has no struct '{}'", named.name))?;
            P4DataKind::Struct(struct_like(
                spec.members.iter().map(|member| member.type_spec.as_ref()),
                schema,
                fields,
                depth,
            )?)
        }
        Some(TypeSpec::Tuple(tuple)) => {
            P4DataKind::Tuple(struct_like(tuple.members.iter().map(Some), schema, fields, depth)?)
        }
        Some(TypeSpec::Header(named)) => {
            let spec = schema
                .types
                .headers
                .get(&named.name)
                .ok_or_else(|| format!("type_info has no header '{}'", named.name))?;
            let mut bitstrings = Vec::with_capacity(spec.members.len());
            for _ in &spec.members {
                bitstrings.push(value::canonical_bytes(&next()?));
            }
            P4DataKind::Header(P4Header { is_valid: true, bitstrings })
        }
        Some(TypeSpec::NewType(named)) => {
            let spec = schema
                .types
                .new_types
                .get(&named.name)
                .ok_or_else(|| format!("type_info has no new type '{}'", named.name))?;
            match &spec.representation {
                Some(Representation::OriginalType(original)) => {
                    return build(original, schema, fields, depth + 1)
                }
                _ => P4DataKind::Bitstring(match schema.names.get(&named.name) {
                    Some(names) => names.text(&next()?),
                    None => value::canonical_bytes(&next()?),
                }),
            }
        }
        _ => return Err("the type is not supported".to_string()),
    };
    Ok(data(kind))
}

fn struct_like<'a>(
    members: impl Iterator<Item = Option<&'a P4DataTypeSpec>>,
    schema: &Schema,
    fields: &mut std::vec::IntoIter<Vec<u8>>,
    depth: u32,
) -> Result<P4StructLike, String> {
    let members = members
        .map(|spec| {
            let spec = spec.ok_or_else(|| "a member has no type".to_string())?;
            build(spec, schema, fields, depth + 1)
        })
        .collect::<Result<_, _>>()?;
    Ok(P4StructLike { members })
}

/// The wire form of a scalar of the program.
pub fn scalar(kind: &ScalarKind, width_bits: u32, bytes: &[u8]) -> P4Data {
    data(match kind {
        ScalarKind::Bits => P4DataKind::Bitstring(value::canonical_bytes(bytes)),
        ScalarKind::Text(names) => P4DataKind::Bitstring(names.text(bytes)),
        ScalarKind::Int => P4DataKind::Bitstring(signed_canonical(width_bits, bytes)),
        ScalarKind::Bool => P4DataKind::Bool(!value::is_zero(bytes)),
        ScalarKind::EnumValue => P4DataKind::EnumValue(value::canonical_bytes(bytes)),
        ScalarKind::Enum(symbols) => P4DataKind::Enum(symbols.text(bytes)),
        ScalarKind::Error(symbols) => P4DataKind::Error(symbols.text(bytes)),
    })
}

/// Two's complement without superfluous sign bytes.
fn signed_canonical(width_bits: u32, bytes: &[u8]) -> Bytes {
    let negative = value::to_bit(bytes, width_bits.saturating_sub(1));
    let fill = if negative { 0xff } else { 0 };
    let length = width_bits.div_ceil(8).max(1) as usize;
    let mut full = vec![0; length];
    let given = &bytes[bytes.len().saturating_sub(length)..];
    full[length - given.len()..].copy_from_slice(given);
    if negative && width_bits % 8 != 0 {
        full[0] |= 0xffu8 << (width_bits % 8);
    }
    let superfluous =
        full.windows(2).take_while(|pair| pair[0] == fill && (pair[1] ^ fill) & 0x80 == 0).count();
    Bytes::from(full).slice(superfluous..)
}

/// The program's value for a scalar from the wire.
pub fn to_scalar(
    kind: &ScalarKind,
    width_bits: u32,
    given: &P4Data,
    what: impl Fn() -> String,
) -> Outcome<Vec<u8>> {
    match (kind, given.data.as_ref()) {
        (ScalarKind::Bits, Some(P4DataKind::Bitstring(bytes)))
        | (ScalarKind::EnumValue, Some(P4DataKind::EnumValue(bytes))) => {
            Ok(value::checked(bytes, width_bits, what)?.to_vec())
        }
        (ScalarKind::Text(names), Some(P4DataKind::Bitstring(bytes))) => {
            names.number(bytes, width_bits, what)
        }
        (ScalarKind::Int, Some(P4DataKind::Bitstring(bytes))) => signed_value(width_bits, bytes, what),
        (ScalarKind::Bool, Some(P4DataKind::Bool(on))) => Ok(vec![u8::from(*on)]),
        (ScalarKind::Enum(symbols), Some(P4DataKind::Enum(name)))
        | (ScalarKind::Error(symbols), Some(P4DataKind::Error(name))) => {
            symbols.number(name).ok_or_else(|| {
                Refusal::invalid(format!("{}: no member '{name}'; valid: {}", what(), symbols.names()))
            })
        }
        _ => Err(Refusal::invalid(format!(
            "{}: data must be {}",
            what(),
            match kind {
                ScalarKind::Bits | ScalarKind::Text(_) | ScalarKind::Int => "a bitstring",
                ScalarKind::Bool => "a bool",
                ScalarKind::EnumValue => "an enum_value",
                ScalarKind::Enum(_) => "an enum",
                ScalarKind::Error(_) => "an error",
            }
        ))),
    }
}

fn signed_value(width_bits: u32, bytes: &[u8], what: impl Fn() -> String) -> Outcome<Vec<u8>> {
    if bytes.is_empty() {
        return Err(Refusal::out_of_range(format!("{}: the value is empty", what())));
    }
    let negative = bytes[0] & 0x80 != 0;
    // Shorter than the field: extend the sign.
    let length = width_bits.div_ceil(8).max(1) as usize;
    let mut full = vec![if negative { 0xff } else { 0 }; length.max(bytes.len())];
    let start = full.len() - bytes.len();
    full[start..].copy_from_slice(bytes);
    let sign_ok = (width_bits.saturating_sub(1)..full.len() as u32 * 8)
        .all(|bit| value::to_bit(&full, bit) == negative);
    if !sign_ok {
        return Err(Refusal::out_of_range(format!(
            "{}: 0x{} does not fit in {width_bits} bits (signed)",
            what(),
            value::hex(bytes)
        )));
    }
    let mut low = full.split_off(full.len() - length);
    if width_bits % 8 != 0 {
        low[0] &= 0xff >> (8 - width_bits % 8);
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_values_keep_their_sign() {
        let wire = |width, bytes: &[u8]| match scalar(&ScalarKind::Int, width, bytes).data {
            Some(P4DataKind::Bitstring(bytes)) => bytes.to_vec(),
            _ => unreachable!(),
        };
        assert_eq!(wire(16, &[0xff, 0xff]), [0xff]);
        assert_eq!(wire(16, &[0x00, 0x80]), [0x00, 0x80]);
        assert_eq!(wire(16, &[0x7f]), [0x7f]);
        assert_eq!(wire(12, &[0x08, 0x00]), [0xf8, 0x00]);
        let back = |width, bytes: &'static [u8]| {
            let given = data(P4DataKind::Bitstring(Bytes::from_static(bytes)));
            to_scalar(&ScalarKind::Int, width, &given, || "r".into())
        };
        assert_eq!(back(16, &[0xff]).unwrap(), [0xff, 0xff]);
        assert_eq!(back(12, &[0xf8, 0x00]).unwrap(), [0x08, 0x00]);
        assert!(back(8, &[0x00, 0x80]).is_err());
    }
}
