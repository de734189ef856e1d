//! Actions with their parameters: ids to names and back (section 9.1.2).

use p4mesh_pipeline::ActionCall;

use crate::proto::entity::{Action, Param};
use crate::refusal::{Outcome, Refusal};
use crate::schema::{ActionUse, Schema, TableSchema};
use crate::value;

/// Use of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Entry,
    Default,
}

/// The call for an action of a table.
///
/// # Errors
/// INVALID_ARGUMENT for an action that the table does not have and for missing, unknown or
/// repeated parameters; PERMISSION_DENIED for one whose scope excludes the place.
pub fn to_call(schema: &Schema, table: &TableSchema, action: &Action, place: Place) -> Outcome<ActionCall> {
    let found = table.actions.iter().find(|item| schema.actions[item.action].id == action.action_id);
    let Some(ActionUse { action: index, in_entries, as_default }) = found.copied() else {
        return Err(Refusal::invalid(format!(
            "table '{}': no action with id {:#010x}; valid: {}",
            table.name,
            action.action_id,
            schema.action_list(table)
        )));
    };
    let name = &schema.actions[index].name;
    if place == Place::Entry && !in_entries {
        return Err(Refusal::denied(format!(
            "table '{}': action '{name}' is for the default entry only",
            table.name
        )));
    }
    if place == Place::Default && !as_default {
        return Err(Refusal::denied(format!(
            "table '{}': action '{name}' is not for the default entry",
            table.name
        )));
    }
    params_to_call(schema, index, action)
}

/// The call for an action by its position in the schema.
pub fn params_to_call(schema: &Schema, index: usize, action: &Action) -> Outcome<ActionCall> {
    let described = &schema.actions[index];
    let unknown = |given: &Param| {
        let id = given.param_id;
        !described.params.iter().any(|param| param.id == id)
    };
    if let Some(given) = action.params.iter().find(|given| unknown(given)) {
        let valid: Vec<String> =
            described.params.iter().map(|param| format!("{} ({})", param.id, param.name)).collect();
        return Err(Refusal::invalid(format!(
            "action '{}': no parameter with id {}; valid: {}",
            described.name,
            given.param_id,
            if valid.is_empty() { "none".to_string() } else { valid.join(", ") }
        )));
    }
    let mut params = vec![Vec::new(); described.params.len()];
    for (position, param) in described.params.iter().enumerate() {
        let given = match action.params.get(position) {
            Some(given) if given.param_id == param.id => Some(given),
            _ => action.params.iter().find(|given| given.param_id == param.id),
        };
        let what = || format!("action '{}': parameter '{}'", described.name, param.name);
        let given = given.ok_or_else(|| Refusal::invalid(format!("{} is missing", what())))?;
        params[param.position] = match &param.names {
            None => value::checked(&given.value, param.width_bits, what)?.to_vec(),
            Some(names) => names.number(&given.value, param.width_bits, what)?,
        };
    }
    if action.params.len() != described.params.len() {
        return Err(Refusal::invalid(format!("action '{}': a parameter is given twice", described.name)));
    }
    Ok(ActionCall { action: described.name.clone(), params })
}

/// The message for a call; `None` for an action that P4Info does not have.
pub fn from_call(schema: &Schema, call: &ActionCall) -> Option<Action> {
    let described = schema.action_named(&call.action)?;
    Some(Action {
        action_id: described.id,
        params: described
            .params
            .iter()
            .map(|param| {
                let bytes = &call.params[param.position];
                let value = match &param.names {
                    None => value::canonical_bytes(bytes),
                    Some(names) => names.text(bytes),
                };
                Param { param_id: param.id, value }
            })
            .collect(),
    })
}
