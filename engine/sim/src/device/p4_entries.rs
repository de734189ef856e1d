//! The control plane of a device `p4`: groups and entries of the configuration, with the names of the
//! program.

use std::collections::{BTreeMap, BTreeSet};

use p4mesh_pipeline::{
    ActionCall, ActionProfileInfo, ControlError, EntryAction, KeyInfo, KeyMatch, MatchKind, ProfileGroup,
    ProfileMember, Program, Replica, Switch, TableEntry, TableInfo,
};

use super::check_port;
use super::p4_config::{
    P4Config, P4Entry, P4Event, P4Key, P4Match, P4Member, P4MemberGroup, P4Value, VALID_VALUE,
};
use super::p4_names::{find, NoSingleName};
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
    for (index, member) in config.members.iter().enumerate() {
        insert_member(switch, member, &place.key("members").index(index))?;
    }
    for (index, group) in config.member_groups.iter().enumerate() {
        insert_group(switch, group, &place.key("member_groups").index(index))?;
    }
    let mut own = OwnMembers::after(0, switch.program(), &config.members);
    for (index, entry) in config.entries.iter().enumerate() {
        let place = place.key("entries").index(index);
        let write = Write::Insert(resolve(switch.program(), entry, &place, &mut own)?);
        write.apply(switch).map_err(|error| place.invalid(error.to_string(), AN_ENTRY))?;
    }
    Ok(())
}

const AN_ENTRY: &str = "an entry of the table";

fn insert_member(switch: &mut Switch, member: &P4Member, place: &Place) -> Result<(), ConfigError> {
    check_values(&BTreeMap::new(), &member.params, place)?;
    let program = switch.program();
    let profile = profile(program, &member.profile, place)?;
    let tables = program.tables().iter().filter(|it| profile.tables.contains(&it.name));
    let actions: BTreeSet<usize> = tables.flat_map(|it| it.actions.iter().copied()).collect();
    let owner = format!("action profile {}", member.profile);
    let call = action_call(program, actions, &member.action, &member.params, &owner, place)?;
    let (profile, member) =
        (profile.name.clone(), ProfileMember { member: member.member.get() as u32, action: call });
    switch
        .member_insert(&profile, &member)
        .map_err(|error| place.invalid(error.to_string(), "a member once, as many as the profile takes"))
}

fn insert_group(switch: &mut Switch, group: &P4MemberGroup, place: &Place) -> Result<(), ConfigError> {
    let profile = profile(switch.program(), &group.profile, place)?.name.clone();
    let group = ProfileGroup {
        group: group.group.get() as u32,
        max_size: 0,
        members: group.members.iter().map(|it| (it.get() as u32, 1)).collect(),
        absent: Vec::new(),
    };
    switch
        .group_insert(&profile, &group)
        .map_err(|error| place.invalid(error.to_string(), "a group of a selector once, with members of it"))
}

fn profile<'a>(
    program: &'a Program,
    name: &str,
    place: &Place,
) -> Result<&'a ActionProfileInfo, ConfigError> {
    let profiles = program.action_profiles();
    let names: Vec<&str> = profiles.iter().map(|it| it.name.as_str()).collect();
    let found = find(&names, name)
        .map_err(|it| unresolved(it, "action profile", name, "the program", &place.key("profile")));
    Ok(&profiles[found?])
}

/// An entry with the full names of table and action.
#[derive(Clone)]
pub struct Resolved {
    table: String,
    entry: TableEntry,
    /// Action profile of the table and a member of its own, that the entry brings along.
    brought: Option<(String, ProfileMember)>,
}

impl Resolved {
    /// Makes the member that the entry brings along, where it is not there yet.
    fn bring(&self, switch: &mut Switch) -> Result<(), ControlError> {
        let Some((profile, member)) = &self.brought else {
            return Ok(());
        };
        match switch.member_insert(profile, member) {
            Err(ControlError::Exists { .. }) => switch.member_modify(profile, member),
            inserted => inserted,
        }
    }
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
            Write::Delete { table, key, priority } => {
                let member = own_member(switch, table, key, *priority);
                switch.table_delete(table, key, *priority)?;
                take_back(switch, member)
            }
            Write::Insert(it) => {
                it.bring(switch)?;
                switch.table_insert(&it.table, &it.entry, 0)
            }
            Write::Modify(it) => {
                let member = own_member(switch, &it.table, &it.entry.key, it.entry.priority);
                it.bring(switch)?;
                switch.table_modify(&it.table, &it.entry, 0)?;
                take_back(
                    switch,
                    member.filter(|(_, number)| it.entry.action != EntryAction::Member(*number)),
                )
            }
        }
    }
}

/// Profile and number of the member that an entry has brought along.
fn own_member(switch: &Switch, table: &str, key: &[KeyMatch], priority: i32) -> Option<(String, u32)> {
    let info = switch.program().tables().iter().find(|it| it.name == table)?;
    match switch.table_read(table, key, priority).ok()?.entry.action {
        EntryAction::Member(number) if number >= FIRST_OWN_MEMBER => {
            Some((info.action_profile.clone()?, number))
        }
        _ => None,
    }
}

fn take_back(switch: &mut Switch, member: Option<(String, u32)>) -> Result<(), ControlError> {
    member.map_or(Ok(()), |(profile, number)| switch.member_delete(&profile, number))
}

/// The writes of an event, in the order in which they are applied, each with its place.
pub fn writes(
    program: &Program,
    event: &P4Event,
    place: &Place,
    own: &mut OwnMembers,
) -> Result<Vec<(Write, Place)>, ConfigError> {
    let mut writes = Vec::new();
    for (index, named) in event.delete.iter().enumerate() {
        let place = place.key("delete").index(index);
        check_values(&named.key, &[], &place)?;
        let (table, key) = resolve_key(program, named, &place)?;
        let priority = priority(table, named.priority.get());
        writes.push((Write::Delete { table: table.name.clone(), key, priority }, place));
    }
    for (index, entry) in event.insert.iter().enumerate() {
        let place = place.key("insert").index(index);
        writes.push((Write::Insert(resolve(program, entry, &place, own)?), place));
    }
    for (index, entry) in event.modify.iter().enumerate() {
        let place = place.key("modify").index(index);
        writes.push((Write::Modify(resolve(program, entry, &place, own)?), place));
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

/// The table and the key that a document names: the last parts of a name are enough where no other ends with them.
fn resolve_key<'a>(
    program: &'a Program,
    named: &P4Key,
    place: &Place,
) -> Result<(&'a TableInfo, Vec<KeyMatch>), ConfigError> {
    // Tables without a key are the compiler's own.
    let tables: Vec<&TableInfo> = program.tables().iter().filter(|it| !it.key.is_empty()).collect();
    let names: Vec<&str> = tables.iter().map(|it| it.name.as_str()).collect();
    let table = find(&names, &named.table)
        .map_err(|it| unresolved(it, "table", &named.table, "the program", &place.key("table")))?;
    let table = tables[table];
    let names: Vec<&str> = table.key.iter().map(|it| it.name.as_str()).collect();
    let mut given: Vec<Option<(&str, &P4Match)>> = vec![None; names.len()];
    let (owner, place) = (format!("table {}", named.table), place.key("key"));
    for (name, matched) in &named.key {
        let field = find(&names, name).map_err(|it| unresolved(it, "key", name, &owner, &place))?;
        if let Some((other, _)) = given[field].replace((name.as_str(), matched)) {
            let problem = format!("'{other}' and '{name}' are the same key");
            return Err(place.invalid(problem, "each key once"));
        }
    }
    let mut key = Vec::new();
    for (info, given) in table.key.iter().zip(given) {
        let Some((name, matched)) = given else {
            let Some(anything) = anything(info) else {
                let problem =
                    format!("key '{}' of {owner} is matched as {} and missing", info.name, info.kind.name());
                return Err(place.invalid(problem, valid_match(info.kind)));
            };
            key.push(anything);
            continue;
        };
        let Some(matched) = key_match(info, matched) else {
            let problem = format!("is not a match of kind {}", info.kind.name());
            return Err(place.key(name).invalid(problem, valid_match(info.kind)));
        };
        key.push(matched);
    }
    Ok((table, key))
}

/// The priority of an entry: P4Runtime counts from 1 where there is one.
fn priority(table: &TableInfo, given: u64) -> i32 {
    given as i32 + i32::from(table.needs_priority())
}

/// The error about a name that is none, or several.
fn unresolved(found: NoSingleName, kind: &str, name: &str, owner: &str, place: &Place) -> ConfigError {
    match found {
        NoSingleName::Unknown(valid) => place.invalid(format!("no {kind} '{name}' in {owner}"), valid),
        NoSingleName::Several(valid) => {
            place.invalid(format!("'{name}' is the end of more than one {kind} of {owner}"), valid)
        }
    }
}

fn resolve(
    program: &Program,
    entry: &P4Entry,
    place: &Place,
    own: &mut OwnMembers,
) -> Result<Resolved, ConfigError> {
    check_values(&entry.key, &entry.params, place)?;
    let (table, key) = resolve_key(program, &entry.named(), place)?;
    let mut brought = None;
    let action = match (&entry.action, entry.member, entry.group) {
        (Some(name), None, None) => {
            let owner = format!("table {}", entry.table);
            let actions = table.actions.iter().copied().collect();
            let call = action_call(program, actions, name, &entry.params, &owner, place)?;
            match &table.action_profile {
                None => EntryAction::Direct(call),
                Some(profile) => {
                    own.check(program, profile, place)?;
                    let member = own.next();
                    brought = Some((profile.clone(), ProfileMember { member, action: call }));
                    EntryAction::Member(member)
                }
            }
        }
        (None, Some(member), None) if entry.params.is_empty() => EntryAction::Member(member.get() as u32),
        (None, None, Some(group)) if entry.params.is_empty() => EntryAction::Group(group.get() as u32),
        _ => {
            return Err(
                place.invalid("needs an action, a member or a group", "action with params, member, or group")
            )
        }
    };
    let priority = priority(table, entry.priority.get());
    let entry = TableEntry { key, priority, action, idle_timeout_ns: 0 };
    Ok(Resolved { table: table.name.clone(), entry, brought })
}

/// An action with values for its parameters; `actions` are those that `owner` takes.
fn action_call(
    program: &Program,
    actions: BTreeSet<usize>,
    name: &str,
    params: &[P4Value],
    owner: &str,
    place: &Place,
) -> Result<ActionCall, ConfigError> {
    let actions: Vec<_> = actions.into_iter().map(|it| &program.actions()[it]).collect();
    let mut names: Vec<&str> = actions.iter().map(|it| it.name.as_str()).collect();
    // p4c copies an action for each table of a profile.
    names.dedup();
    let found =
        find(&names, name).map_err(|it| unresolved(it, "action", name, owner, &place.key("action")))?;
    let action = actions.iter().find(|it| it.name == names[found]).expect("the name is that of an action");
    let values: Option<Vec<Vec<u8>>> = params.iter().map(|it| it.bytes()).collect();
    let Some(params) = values.filter(|it| it.len() == action.params.len()) else {
        let names: Vec<&str> = action.params.iter().map(|it| it.name.as_str()).collect();
        let problem = format!("do not fit action {name}");
        return Err(place.key("params").invalid(problem, names.join(", ")));
    };
    Ok(ActionCall { action: action.name.clone(), params })
}

/// Members that entries bring along: their numbers, which are above those of files.
pub struct OwnMembers {
    next: u32,
    /// Profiles whose members the file has: P4Runtime does not let them have others.
    taken: BTreeSet<String>,
}

const FIRST_OWN_MEMBER: u32 = 0x8000_0000;

impl OwnMembers {
    /// Numbers behind those of so many entries.
    pub fn after(entries: usize, program: &Program, members: &[P4Member]) -> OwnMembers {
        let names: Vec<&str> = program.action_profiles().iter().map(|it| it.name.as_str()).collect();
        let taken = members.iter().filter_map(|it| find(&names, &it.profile).ok());
        OwnMembers {
            next: FIRST_OWN_MEMBER + entries as u32,
            taken: taken.map(|it| names[it].to_string()).collect(),
        }
    }

    /// Refuses an action of its own in a table of a profile that takes members of the file alone.
    fn check(&self, program: &Program, profile: &str, place: &Place) -> Result<(), ConfigError> {
        let selects = program.action_profiles().iter().any(|it| it.name == profile && it.has_selector);
        let problem = match (selects, self.taken.contains(profile)) {
            (true, false) => return Ok(()),
            (true, true) => format!("action profile {profile} has members of the file"),
            (false, _) => format!("action profile {profile} has no selector"),
        };
        Err(place.key("action").invalid(problem, "member, with members, in place of action"))
    }

    fn next(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }
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
        (MatchKind::Lpm, P4Match::Exact(value)) => {
            Some(KeyMatch::Lpm { value: value.bytes()?, prefix_bits: info.width_bits })
        }
        (MatchKind::Lpm, P4Match::Lpm { value, prefix_bits }) => {
            Some(KeyMatch::Lpm { value: value.bytes()?, prefix_bits: prefix_bits.get() as u32 })
        }
        (MatchKind::Ternary, P4Match::Exact(value)) => {
            Some(KeyMatch::Ternary { value: value.bytes()?, mask: ones(info.width_bits) })
        }
        (MatchKind::Ternary, P4Match::Ternary { value, mask }) => {
            Some(KeyMatch::Ternary { value: value.bytes()?, mask: mask.bytes()? })
        }
        (MatchKind::Range, P4Match::Exact(value)) => {
            Some(KeyMatch::Range { low: value.bytes()?, high: value.bytes()? })
        }
        (MatchKind::Range, P4Match::Range { low, high }) => {
            Some(KeyMatch::Range { low: low.bytes()?, high: high.bytes()? })
        }
        _ => None,
    }
}

/// The match of a field that is left out; `None` where it must be given.
fn anything(info: &KeyInfo) -> Option<KeyMatch> {
    match info.kind {
        MatchKind::Optional => Some(KeyMatch::Optional(None)),
        MatchKind::Lpm => Some(KeyMatch::Lpm { value: vec![0], prefix_bits: 0 }),
        MatchKind::Ternary => Some(KeyMatch::Ternary { value: vec![0], mask: vec![0] }),
        MatchKind::Range => Some(KeyMatch::Range { low: vec![0], high: ones(info.width_bits) }),
        _ => None,
    }
}

/// The largest number of a width.
fn ones(width_bits: u32) -> Vec<u8> {
    let mut bytes = vec![0xff; width_bits.div_ceil(8) as usize];
    if let (Some(first), used @ 1..) = (bytes.first_mut(), width_bits % 8) {
        *first = 0xff >> (8 - used);
    }
    bytes
}

fn valid_match(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Lpm => "a value alone, or a mapping with value and prefix_bits",
        MatchKind::Ternary => "a value alone, or a mapping with value and mask",
        MatchKind::Range => "a value alone, or a mapping with low and high",
        _ => VALID_VALUE,
    }
}
