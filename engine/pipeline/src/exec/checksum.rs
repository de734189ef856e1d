//! Sums up Internet checksums over the slots of a packet.

use crate::code::calculation::SumPlan;
use crate::code::layout::Regs;
use crate::exec::hash::csum16;

impl SumPlan {
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
            sum = fold(sum) + (!csum16(payload) & 0xffff);
        }
        !fold(sum) & 0xffff
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
    use crate::code::calculation::{HashAlgorithm, HashInput};
    use crate::code::layout::Layout;
    use crate::exec::hash::hash_input;
    use crate::numbers::rng::Rng;
    use crate::numbers::words::mask64;

    fn field(layout: &Layout, header: &str, name: &str) -> HashInput {
        let field = layout.intrinsic(header, name).unwrap();
        let (slot, bits, header) = (field.slot, field.bits, field.header);
        HashInput::Field { slot, bits, variable: false, header }
    }

    /// Sums of fields against the checksum of the bytes that the fields make.
    #[test]
    fn sum_of_fields_is_the_sum_of_their_bytes() {
        let text = include_str!("../../tests/programs/router.json");
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
