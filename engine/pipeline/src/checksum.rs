//! Internet checksums as sums of fields. A one's complement sum does not change when a field is
//! added as a whole, shifted to its place within a 16-bit word, so no bytes have to be put together.

use crate::ir::{HashAlgorithm, HashInput};
use crate::layout::{Layout, Slot};
use crate::wire::Regs;
use crate::words::mask64;

/// Bits of a field that are added at once; a sum of 65,536 of them stays within 64 bits.
const MAX_TERM_BITS: u32 = 32;

/// `((slot >> right) & mask) << left`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub slot: Slot,
    pub right: u8,
    pub mask: u64,
    pub left: u8,
}

/// Terms that count while a header is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Slot of the valid flag.
    pub valid: Slot,
    pub terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SumPlan {
    pub groups: Vec<Group>,
    /// Sum of the constants.
    pub constant: u64,
    pub payload: bool,
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
                    let valid = layout.headers[*header as usize].base;
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

    /// The checksum over the present values.
    pub fn compute(&self, regs: &Regs, payload: &[u8]) -> u64 {
        let mut sum = self.constant;
        for group in &self.groups {
            if regs[group.valid as usize] != 0 {
                for term in &group.terms {
                    sum += (regs[term.slot as usize] >> term.right & term.mask) << term.left;
                }
            }
        }
        if self.payload {
            sum = fold(sum) + (!crate::hash::csum16(payload) & 0xffff);
        }
        !fold(sum) & 0xffff
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
        });
        left_bits -= take;
    }
}

/// Folds a sum of words to 16 bits with end-around carry.
fn fold(mut sum: u64) -> u64 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{csum16, hash_input};
    use crate::rng::Rng;

    fn field(layout: &Layout, header: &str, name: &str) -> HashInput {
        let field = layout.intrinsic(header, name).unwrap();
        let (slot, bits, header) = (field.slot, field.bits, field.header);
        HashInput::Field { slot, bits, variable: false, header }
    }

    /// Sums of fields against the checksum of the bytes that the fields make.
    #[test]
    fn sum_of_fields_is_the_sum_of_their_bytes() {
        let text = include_str!("../tests/programs/router.json");
        let program = crate::Program::from_json(text).unwrap();
        let layout = &program.layout;
        let ipv4 = |name| field(layout, "ipv4", name);
        let constant = HashInput::Constant { limbs: vec![0xabcd_ef01], bits: 32 };
        let header: Vec<HashInput> =
            ["version", "ihl", "tos", "len", "id", "flags", "offset", "src"].map(ipv4).into();
        let mut inputs =
            vec![header.clone(), [header.clone(), vec![field(layout, "ethernet", "dst")]].concat()];
        inputs.push([vec![constant], header.clone(), vec![HashInput::Payload]].concat());
        inputs.push([header.clone(), vec![ipv4("ttl")]].concat());
        let mut regs: Box<Regs> = vec![0; 65_536].into_boxed_slice().try_into().unwrap();
        let (mut rng, mut bytes) = (Rng::new(1), Vec::new());
        for input in inputs {
            let plan = SumPlan::of(HashAlgorithm::Csum16, &input, layout).unwrap();
            for round in 0..500 {
                for place in &layout.headers {
                    let shape = &layout.shapes[place.shape];
                    regs[place.base as usize] = rng.next() & 1;
                    for field in &shape.fields {
                        let value = if round % 5 == 0 { 0 } else { rng.next() };
                        regs[(place.base + field.offset) as usize] = value & mask64(field.bits.min(64));
                    }
                }
                let payload: Vec<u8> = (0..round % 7).map(|_| rng.next() as u8).collect();
                hash_input(layout, &input, &regs, &payload, &mut bytes);
                assert_eq!(plan.compute(&regs, &payload), csum16(&bytes), "{input:?}");
            }
        }
        // The place of the second field depends on the first header: no plan.
        let odd = [ipv4("ttl"), field(layout, "ethernet", "dst")];
        assert_eq!(SumPlan::of(HashAlgorithm::Csum16, &odd, layout), None);
        assert_eq!(SumPlan::of(HashAlgorithm::Crc32, &header, layout), None);
    }
}
