//! Checks of the members, groups and action sets of an action profile (section 9.2).

use std::collections::BTreeSet;

use crate::proto::entity::{ActionProfileActionSet, ActionSelectionMode, SizeSemantics};
use crate::proto::info::SelectorSizeSemantics;
use crate::refusal::{Outcome, Refusal};
use crate::schema::{ProfileSchema, TableSchema};
use crate::state::FIRST_HIDDEN_ID;

pub fn owner(profile: &ProfileSchema) -> String {
    format!("action profile '{}'", profile.name)
}

pub fn check_id(profile: &ProfileSchema, kind: &str, id: u32) -> Outcome<()> {
    if id == 0 {
        return Err(Refusal::invalid(format!("{}: {kind} id 0 is not valid", owner(profile))));
    }
    if id >= FIRST_HIDDEN_ID {
        return Err(Refusal::invalid(format!(
            "{}: {kind} id {id} is above {}",
            owner(profile),
            FIRST_HIDDEN_ID - 1
        )));
    }
    Ok(())
}

/// An action set may say what its selector does anyway, and nothing else (section 9.2.3).
pub fn check_overrides(
    table: &TableSchema,
    profile: &ProfileSchema,
    set: &ActionProfileActionSet,
) -> Outcome<()> {
    let own = match profile.semantics {
        Some(SelectorSizeSemantics::SumOfMembers(_)) => SizeSemantics::SumOfMembers,
        _ => SizeSemantics::SumOfWeights,
    };
    let mode = [ActionSelectionMode::DeterminedByActionSelector, ActionSelectionMode::Hash];
    let size = [SizeSemantics::DeterminedByActionSelector, own];
    if mode.iter().all(|mode| *mode as i32 != set.action_selection_mode)
        || size.iter().all(|size| *size as i32 != set.size_semantics)
    {
        return Err(Refusal::unimplemented(format!(
            "table '{}': an action_selection_mode or size_semantics of an action set other than that of its \
             selector is not supported",
            table.name
        )));
    }
    Ok(())
}

/// Sum of weights that one group may have where P4Info sets no limit: the engine repeats a member as
/// often as its weight says.
const MAX_WEIGHTS: i64 = 65_536;

/// `max_size` of a new group (section 9.2.2).
pub fn checked_max_size(profile: &ProfileSchema, max_size: i32) -> Outcome<i32> {
    let limit = profile.max_group_size;
    if max_size < 0 || (limit > 0 && max_size > limit) {
        return Err(Refusal::invalid(format!(
            "{}: max_size {max_size} is not in 0 to {limit}",
            owner(profile)
        )));
    }
    Ok(max_size)
}

/// Weights, duplicates and sizes of a group or an action set.
pub fn check_weights(
    profile: &ProfileSchema,
    members: &[(u32, i32)],
    max_size: i32,
    group: bool,
) -> Outcome<()> {
    let owner = owner(profile);
    let mut seen = BTreeSet::new();
    for (member, weight) in members {
        if profile.weights_disallowed {
            if *weight != 0 {
                return Err(Refusal::invalid(format!(
                    "{owner}: weight {weight} is given, but P4Info disallows weights"
                )));
            }
        } else if *weight <= 0 {
            return Err(Refusal::invalid(format!("{owner}: weight {weight} is not valid; the least is 1")));
        }
        if group && !seen.insert(*member) {
            return Err(Refusal::invalid(format!(
                "{owner}: member {member} is in the group twice; use its weight"
            )));
        }
    }
    let limit = match (max_size, profile.max_group_size) {
        (0, limit) => limit,
        (max_size, _) => max_size,
    };
    let weights: i64 = members.iter().map(|(_, weight)| i64::from(places(*weight))).sum();
    if weights > MAX_WEIGHTS {
        return Err(Refusal::exhausted(format!(
            "{owner}: a group with weights of {weights} in sum is above the limit of {MAX_WEIGHTS}"
        )));
    }
    let size = match &profile.semantics {
        Some(SelectorSizeSemantics::SumOfMembers(sum)) => {
            let greatest = sum.max_member_weight;
            if greatest > 0 && members.iter().any(|(_, weight)| *weight > greatest) {
                return Err(Refusal::invalid(format!("{owner}: a weight is above the limit of {greatest}")));
            }
            members.len() as i64
        }
        _ => weights,
    };
    if limit > 0 && size > i64::from(limit) {
        let message = format!("{owner}: a group of size {size} is above the limit of {limit}");
        return Err(match group {
            true => Refusal::exhausted(message),
            false => Refusal::invalid(message),
        });
    }
    Ok(())
}

/// Places that a member has in its group: one where weights are disallowed.
pub fn places(weight: i32) -> u32 {
    weight.max(1) as u32
}

/// Members with their places; the weights were checked.
pub fn unsigned(members: &[(u32, i32)]) -> Vec<(u32, u32)> {
    let weights = members.iter();
    weights.map(|(id, weight)| (*id, places(*weight))).collect()
}
