//! The control plane of a device `p4`: groups and entries of the configuration, with the names of the
//! program.

use std::collections::BTreeMap;

use p4mesh_pipeline::{
    ActionCall, ControlError, EntryAction, KeyInfo, KeyMatch, MatchKind, Program, Replica, Switch,
    TableEntry, TableInfo,
};

use super::check_port;
use super::p4_config::{P4Config, P4Entry, P4Event, P4Key, P4Match, P4Value, VALID_VALUE};
use crate::config::{ConfigError, Place};

/// Installs groups and entries on a fresh switch.
pub fn install(
    switch: &mut Switch,
    config: &P4Config,
    place: &Place,
    ports: &[u16],
) -> Result<(), ConfigError> {
    for (index, group) in config.groups.iter().enumerate() {
        let place = place.key("groups").index(index);
        for &port in &group.ports {
            check_port(&place.key("ports"), port, ports)?;
        }
        let replica = |(number, &port): (usize, &u16)| Replica { port, instance: number as u16 + 1 };
        let replicas: Vec<Replica> = group.ports.iter().enumerate().map(replica).collect();
        switch
            .multicast_insert(group.group.get() as u32, &replicas)
            .map_err(|error| place.invalid(error.to_string(), "a group once, with ports"))?;
    }
    for (index, entry) in config.entries.iter().enumerate() {
        let place = place.key("entries").index(index);
        let write = Write::Insert(resolve(switch.program(), entry, &place)?);
        write.apply(switch).map_err(|error| place.invalid(error.to_string(), AN_ENTRY))?;
    }
    Ok(())
}

const AN_ENTRY: &str = "an entry of the table";

/// An entry with the full names of table and action.
#[derive(Clone)]
pub struct Resolved {
    table: String,
    entry: TableEntry,
}

/// A change of a table.
#[derive(Clone)]
pub enum Write {
    Delete { table: String, key: Vec<KeyMatch>, priority: i32 },
    Insert(Resolved),
    Modify(Resolved),
}

impl Write {
    pub fn apply(&self, switch: &mut Switch) -> Result<(), ControlError> {
        match self {
            Write::Delete { table, key, priority } => switch.table_delete(table, key, *priority),
            Write::Insert(it) => switch.table_insert(&it.table, &it.entry, 0),
            Write::Modify(it) => switch.table_modify(&it.table, &it.entry, 0),
        }
    }
}

/// The writes of an event, in the order in which they are applied, each with its place.
pub fn writes(program: &Program, event: &P4Event, place: &Place) -> Result<Vec<(Write, Place)>, ConfigError> {
    let mut writes = Vec::new();
    for (index, named) in event.delete.iter().enumerate() {
        let place = place.key("delete").index(index);
        check_values(&named.key, &[], &place)?;
        let (table, key) = resolve_key(program, named, &place)?;
        let priority = named.priority.get() as i32;
        writes.push((Write::Delete { table: table.name.clone(), key, priority }, place));
    }
    for (index, entry) in event.insert.iter().enumerate() {
        let place = place.key("insert").index(index);
        writes.push((Write::Insert(resolve(program, entry, &place)?), place));
    }
    for (index, entry) in event.modify.iter().enumerate() {
        let place = place.key("modify").index(index);
        writes.push((Write::Modify(resolve(program, entry, &place)?), place));
    }
    Ok(writes)
}

/// Applies the writes of events to a copy of the tables as they are at the start.
pub fn rehearse<'a>(
    switch: &mut Switch,
    writes: impl Iterator<Item = &'a (Write, Place)>,
) -> Result<(), ConfigError> {
    for (write, place) in writes {
        write.apply(switch).map_err(|error| place.invalid(error.to_string(), AN_ENTRY))?;
    }
    Ok(())
}

/// The table and the key that a document names: the last part of a name is enough.
fn resolve_key<'a>(
    program: &'a Program,
    named: &P4Key,
    place: &Place,
) -> Result<(&'a TableInfo, Vec<KeyMatch>), ConfigError> {
    // Tables without a key are the compiler's own.
    let tables = || program.tables().iter().filter(|it| !it.key.is_empty());
    let Some(table) = tables().find(|it| is_named(&it.name, &named.table)) else {
        let names: Vec<&str> = tables().map(|it| short(&it.name)).collect();
        let problem = format!("no table '{}' in the program", named.table);
        return Err(place.key("table").invalid(problem, names.join(", ")));
    };
    let names: Vec<&str> = table.key.iter().map(|it| short(&it.name)).collect();
    if let Some(name) = named.key.keys().find(|it| !names.contains(&it.as_str())) {
        let problem = format!("no key '{name}' in table {}", named.table);
        return Err(place.key("key").invalid(problem, names.join(", ")));
    }
    let mut key = Vec::new();
    for info in &table.key {
        let matched = named.key.get(short(&info.name));
        let Some(matched) = matched.and_then(|it| key_match(info, it)) else {
            let problem = format!("is not a match of kind {}", info.kind.name());
            let place = place.key("key").key(short(&info.name));
            return Err(place.invalid(problem, valid_match(info.kind)));
        };
        key.push(matched);
    }
    Ok((table, key))
}

fn resolve(program: &Program, entry: &P4Entry, place: &Place) -> Result<Resolved, ConfigError> {
    check_values(&entry.key, &entry.params, place)?;
    let (table, key) = resolve_key(program, &entry.named(), place)?;
    let actions: Vec<_> = table.actions.iter().map(|&it| &program.actions()[it]).collect();
    let Some(action) = actions.iter().find(|it| is_named(&it.name, &entry.action)) else {
        let names: Vec<&str> = actions.iter().map(|it| short(&it.name)).collect();
        let problem = format!("no action '{}' in table {}", entry.action, entry.table);
        return Err(place.key("action").invalid(problem, names.join(", ")));
    };
    let params: Option<Vec<Vec<u8>>> = entry.params.iter().map(|it| it.bytes()).collect();
    let params = params.filter(|it| it.len() == action.params.len());
    let Some(params) = params else {
        let names: Vec<&str> = action.params.iter().map(|it| it.name.as_str()).collect();
        let problem = format!("do not fit action {}", entry.action);
        return Err(place.key("params").invalid(problem, names.join(", ")));
    };
    let action = ActionCall { action: action.name.clone(), params };
    let entry = TableEntry {
        key,
        priority: entry.priority.get() as i32,
        action: EntryAction::Direct(action),
        idle_timeout_ns: 0,
    };
    Ok(Resolved { table: table.name.clone(), entry })
}

/// Refuses texts that are not values, before they are used.
fn check_values(
    key: &BTreeMap<String, P4Match>,
    params: &[P4Value],
    place: &Place,
) -> Result<(), ConfigError> {
    let in_key = key.iter().flat_map(|(name, matched)| {
        let place = place.key("key").key(name);
        let parts = matched.parts().into_iter();
        parts.map(move |(part, value)| (part.map_or(place.clone(), |it| place.key(it)), value))
    });
    let list = place.key("params");
    let in_params = params.iter().enumerate().map(|(index, value)| (list.index(index), value));
    for (place, value) in in_key.chain(in_params) {
        if value.bytes().is_none() {
            return Err(place.invalid(format!("'{value}' is not valid"), VALID_VALUE));
        }
    }
    Ok(())
}

fn key_match(info: &KeyInfo, matched: &P4Match) -> Option<KeyMatch> {
    match (info.kind, matched) {
        (MatchKind::Exact, P4Match::Exact(value)) => Some(KeyMatch::Exact(value.bytes()?)),
        (MatchKind::Optional, P4Match::Exact(value)) => Some(KeyMatch::Optional(Some(value.bytes()?))),
        (MatchKind::Lpm, P4Match::Lpm { value, prefix_bits }) => {
            Some(KeyMatch::Lpm { value: value.bytes()?, prefix_bits: prefix_bits.get() as u32 })
        }
        (MatchKind::Ternary, P4Match::Ternary { value, mask }) => {
            Some(KeyMatch::Ternary { value: value.bytes()?, mask: mask.bytes()? })
        }
        (MatchKind::Range, P4Match::Range { low, high }) => {
            Some(KeyMatch::Range { low: low.bytes()?, high: high.bytes()? })
        }
        _ => None,
    }
}

fn valid_match(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Lpm => "value and prefix_bits",
        MatchKind::Ternary => "value and mask",
        MatchKind::Range => "low and high",
        _ => VALID_VALUE,
    }
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn is_named(full: &str, name: &str) -> bool {
    full == name || short(full) == name
}
