//! Hashes and checksums of the document, and which of them are sums of fields.

use std::collections::HashMap;

use crate::code::calculation::{Calculation, Group, HashAlgorithm, HashInput, SumPlan, Term};
use crate::code::layout::{FieldRef, Layout, Slot};
use crate::load::json::{Load, Node};
use crate::numbers::words::{from_bytes, limbs_for, mask64, negate, truncate};

/// Bits of a field that are added at once; a sum of 65,536 of them stays within 64 bits.
const MAX_TERM_BITS: u32 = 32;

pub(crate) fn hash_algorithm(node: &Node) -> Load<HashAlgorithm> {
    Ok(match node.str()? {
        "crc8_custom" => HashAlgorithm::Crc8Custom,
        "crc16" => HashAlgorithm::Crc16,
        "crc16_custom" => HashAlgorithm::Crc16Custom,
        "crc32" => HashAlgorithm::Crc32,
        "crc32_custom" => HashAlgorithm::Crc32Custom,
        "crc64_custom" => HashAlgorithm::Crc64Custom,
        "crcCCITT" => HashAlgorithm::CrcCcitt,
        "csum16" | "cksum16" => HashAlgorithm::Csum16,
        "xor16" => HashAlgorithm::Xor16,
        "xor32" => HashAlgorithm::Xor32,
        "identity" => HashAlgorithm::Identity,
        "random" => HashAlgorithm::Random,
        other => return node.unsupported(format!("hash algorithm '{other}'")),
    })
}

pub(crate) fn hash_input(node: &Node, layout: &Layout) -> Load<HashInput> {
    let value = || node.get("value");
    Ok(match node.text("type")? {
        "field" => {
            let field = layout.field_at(&value()?)?;
            let FieldRef { slot, bits, variable, header, .. } = field;
            HashInput::Field { slot, bits, variable, header }
        }
        "hexstr" => {
            let bits = node.get("bitwidth")?.bounded("constant width in bits", 16_384)? as u32;
            let (negative, bytes) = value()?.hex()?;
            let mut limbs = from_bytes(&bytes, limbs_for(bits).max(1));
            if negative {
                negate(&mut limbs);
                truncate(&mut limbs, bits);
            }
            HashInput::Constant { limbs, bits }
        }
        "header" => HashInput::Header { header: layout.header_at(node, value()?.str()?)? },
        "payload" => HashInput::Payload,
        other => return node.unsupported(format!("calculation input '{other}'")),
    })
}

pub(crate) fn load_calculations(
    root: &Node,
    layout: &Layout,
) -> Load<(HashMap<String, u16>, Vec<Calculation>)> {
    let mut names = HashMap::new();
    let mut plans = Vec::new();
    for node in root.list("calculations")? {
        let algorithm = hash_algorithm(&node.get("algo")?)?;
        let mut input = Vec::new();
        for item in node.list("input")? {
            input.push(hash_input(&item, layout)?);
        }
        node.unique(&mut names, node.text("name")?, plans.len() as u16)?;
        let sum = SumPlan::of(algorithm, &input, layout);
        plans.push(Calculation { algorithm, input, sum });
    }
    Ok((names, plans))
}

impl SumPlan {
    /// `None` if the algorithm is another one, or if the place of a field depends on which headers
    /// are valid.
    pub fn of(algorithm: HashAlgorithm, input: &[HashInput], layout: &Layout) -> Option<SumPlan> {
        if algorithm != HashAlgorithm::Csum16 {
            return None;
        }
        let mut plan = SumPlan { groups: Vec::new(), constant: 0, payload: false };
        // Bits before the next item, and the header of the group that is open.
        let (mut position, mut open) = (0u32, None);
        for item in input {
            let header = match item {
                HashInput::Field { header, .. } => Some(*header),
                _ => None,
            };
            if open != header && position % 16 != 0 && (open.is_some() || header.is_some()) {
                return None;
            }
            open = header;
            match item {
                HashInput::Field { variable: true, .. } | HashInput::Header { .. } => return None,
                HashInput::Field { slot, bits, header, .. } => {
                    let valid = layout.flag(*header);
                    if plan.groups.last().map(|group| group.valid) != Some(valid) {
                        plan.groups.push(Group { valid, terms: Vec::new() });
                    }
                    let terms = &mut plan.groups.last_mut()?.terms;
                    add_terms(terms, *slot, *bits, position);
                    position += bits;
                }
                HashInput::Constant { limbs, bits } => {
                    let mut terms = Vec::new();
                    add_terms(&mut terms, 0, *bits, position);
                    for term in terms {
                        let limb = limbs.get(term.slot as usize).copied().unwrap_or(0);
                        plan.constant += (limb >> term.right & term.mask) << term.left;
                    }
                    position += bits;
                }
                HashInput::Payload => plan.payload = true,
            }
        }
        (!plan.payload || position % 16 == 0).then_some(plan)
    }
}

/// Splits a field at bit `position` of the input into terms.
fn add_terms(terms: &mut Vec<Term>, slot: Slot, bits: u32, position: u32) {
    let mut left_bits = bits;
    let mut at = position;
    while left_bits > 0 {
        let limb = (left_bits - 1) / 64;
        let in_limb = left_bits - limb * 64;
        let take = in_limb.min(MAX_TERM_BITS);
        at += take;
        terms.push(Term {
            slot: slot + limb as u16,
            right: (in_limb - take) as u8,
            mask: mask64(take),
            left: ((16 - at % 16) % 16) as u8,
            is_uppermost: in_limb == (bits - limb * 64).min(64),
        });
        left_bits -= take;
    }
}
