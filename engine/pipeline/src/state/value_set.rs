//! Parser value sets.

use crate::numbers::words::{bit_length, from_bytes, limbs_for, to_bytes};
use crate::vocabulary::entries::{KeyMatch, ValueSetMember};
use crate::vocabulary::error::ControlError;
use crate::vocabulary::info::ValueSetInfo;

/// Value and mask in the format of a select key: each field padded to whole bytes.
struct Packed {
    value: Vec<u8>,
    mask: Vec<u8>,
}

#[derive(Default)]
pub(crate) struct ValueSetState {
    members: Vec<ValueSetMember>,
    packed: Vec<Packed>,
}

impl ValueSetState {
    /// True if a member matches the key in the bits of `mask`.
    pub fn contains(&self, key: &[u8], mask: Option<&[u8]>) -> bool {
        self.packed.iter().any(|member| {
            key.len() == member.value.len()
                && key.iter().enumerate().all(|(at, byte)| {
                    let mask = member.mask[at] & mask.map_or(0xff, |mask| mask.get(at).copied().unwrap_or(0));
                    (byte ^ member.value[at]) & mask == 0
                })
        })
    }

    pub fn members(&self) -> &[ValueSetMember] {
        &self.members
    }

    pub fn replace(&mut self, info: &ValueSetInfo, members: &[ValueSetMember]) -> Result<(), ControlError> {
        let owner = || format!("value set '{}'", info.name);
        if members.len() > info.max_size {
            return Err(ControlError::Full { owner: owner(), size: info.max_size });
        }
        self.packed = members.iter().map(|member| pack(info, member)).collect::<Result<_, _>>()?;
        self.members = members.to_vec();
        Ok(())
    }
}

fn pack(info: &ValueSetInfo, member: &ValueSetMember) -> Result<Packed, ControlError> {
    let owner = || format!("value set '{}'", info.name);
    let invalid = |problem: String| ControlError::Invalid { owner: owner(), problem };
    if member.len() != info.width_bits.len() {
        return Err(invalid(format!(
            "a member has {} field(s), got {}",
            info.width_bits.len(),
            member.len()
        )));
    }
    let mut packed = Packed { value: Vec::new(), mask: Vec::new() };
    for (index, (field, &bits)) in member.iter().zip(&info.width_bits).enumerate() {
        let number = |bytes: &[u8]| {
            if bit_length(bytes) > bits {
                return Err(ControlError::ValueTooWide {
                    owner: owner(),
                    what: format!("field {index}"),
                    width_bits: bits,
                });
            }
            Ok(to_bytes(&from_bytes(bytes, limbs_for(bits)), bits))
        };
        let ones = to_bytes(&vec![u64::MAX; limbs_for(bits)], bits);
        let (value, mask) = match field {
            KeyMatch::Exact(value) | KeyMatch::Optional(Some(value)) => (number(value)?, ones),
            KeyMatch::Optional(None) => (number(&[])?, vec![0; ones.len()]),
            KeyMatch::Ternary { value, mask } => (number(value)?, number(mask)?),
            KeyMatch::Lpm { value, prefix_bits } if *prefix_bits <= bits => {
                let mut limbs = vec![u64::MAX; limbs_for(bits)];
                crate::numbers::words::shift_left(&mut limbs, u64::from(bits - prefix_bits));
                (number(value)?, to_bytes(&limbs, bits))
            }
            _ => {
                return Err(invalid(format!(
                    "field {index} cannot be matched this way; valid: exact, ternary, lpm"
                )))
            }
        };
        packed.value.extend(value);
        packed.mask.extend(mask);
    }
    Ok(packed)
}
