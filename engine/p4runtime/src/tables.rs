//! Table entries and default entries: writing (section 9.1).

use p4mesh_pipeline::{
    CounterCell, EntryAction, EntryRead, EntryRef, KeyMatch, MeterConfig as PipelineMeter, Switch,
    TableEntry as PipelineEntry,
};

use crate::actions::{self, Place};
use crate::cell_data::{check_marked, to_cell, to_meter};
use crate::keys;
use crate::proto::entity::{TableAction, TableActionType, TableEntry};
use crate::proto::service::UpdateType;
use crate::refusal::{Outcome, Refusal};
use crate::schema::{Schema, TableSchema};
use crate::state::{EntryExtra, EntryKey, OneShot, Writer};

fn owner(table: &TableSchema) -> String {
    format!("table '{}'", table.name)
}

/// The key that an entry message names.
pub fn entry_key(table: &TableSchema, entry: &TableEntry) -> Outcome<Vec<KeyMatch>> {
    keys::to_key(&|| owner(table), &table.fields, &entry.r#match)
}

/// Fields that no write may carry, and direct resources that the table does not have.
fn check_common(table: &TableSchema, entry: &TableEntry) -> Outcome<()> {
    let bad = |problem: &str| Err(Refusal::invalid(format!("{}: {problem}", owner(table))));
    if entry.time_since_last_hit.is_some() {
        return bad("time_since_last_hit cannot be written");
    }
    if entry.counter_data.is_some() && table.direct_counter.is_none() {
        return bad("counter_data is given, but the table has no direct counter");
    }
    if entry.meter_config.is_some() && table.direct_meter.is_none() {
        return bad("meter_config is given, but the table has no direct meter");
    }
    if entry.meter_counter_data.is_some() && table.direct_meter.is_none() {
        return bad("meter_counter_data is given, but the table has no direct meter");
    }
    check_marked(&owner(table), &entry.meter_counter_data)?;
    if entry.idle_timeout_ns < 0 {
        return bad("idle_timeout_ns is negative");
    }
    if entry.idle_timeout_ns != 0 && !table.idle_timeout {
        return bad("idle_timeout_ns is given, but the table has no idle timeout");
    }
    if entry.priority < 0 {
        return bad("priority is negative");
    }
    Ok(())
}

/// State of an entry before an update, for undoing it.
struct Before {
    entry: EntryRead,
    extra: Option<EntryExtra>,
    one_shot: Option<OneShot>,
}

impl Writer<'_> {
    /// Handles a TableEntry.
    pub fn write_table_entry(&mut self, kind: UpdateType, entry: &TableEntry) -> Outcome<()> {
        let schema = self.state.schema.clone();
        let (index, table) = schema.table(entry.table_id)?;
        if entry.is_const {
            return Err(Refusal::invalid(format!("{}: is_const cannot be written", owner(table))));
        }
        if kind == UpdateType::Delete {
            return match entry.is_default_action {
                true => Err(default_kind(table)),
                false => self.delete_entry(index, table, entry),
            };
        }
        check_common(table, entry)?;
        match (entry.is_default_action, kind) {
            (true, UpdateType::Modify) => self.modify_default(&schema, index, table, entry),
            (true, _) => Err(default_kind(table)),
            (false, UpdateType::Insert) => self.insert_entry(&schema, index, table, entry),
            (false, _) => self.modify_entry(&schema, index, table, entry),
        }
    }

    fn insert_entry(
        &mut self,
        schema: &Schema,
        index: usize,
        table: &TableSchema,
        entry: &TableEntry,
    ) -> Outcome<()> {
        if table.const_entries {
            return Err(const_table(table));
        }
        if table.fields.is_empty() {
            return Err(Refusal::invalid(format!(
                "{}: the table has no key, so it has only a default entry",
                owner(table)
            )));
        }
        let key = entry_key(table, entry)?;
        if let Some(size) = table.initial_size {
            let known = self.switch.table_read(&table.name, &key, entry.priority);
            if known.is_err() && self.switch.table_len(&table.name)? >= size {
                return Err(Refusal::exhausted(format!("{}: full, its size is {size}", owner(table))));
            }
        }
        let Some(action) = &entry.action else {
            return Err(Refusal::invalid(format!("{}: the entry has no action", owner(table))));
        };
        let (counter, meter) = direct_resources(table, entry)?;
        let new_action = self.entry_action(schema, table, action)?;
        let row = PipelineEntry {
            key,
            priority: entry.priority,
            action: new_action,
            idle_timeout_ns: entry.idle_timeout_ns as u64,
        };
        if let Err(error) = self.switch.table_insert(&table.name, &row, self.now_ps) {
            self.forget_action(table, &row.action);
            return Err(error.into());
        }
        if let Err(refusal) = self.set_resources(table, &row.key, row.priority, counter, meter) {
            let _ = self.switch.table_delete(&table.name, &row.key, row.priority);
            self.forget_action(table, &row.action);
            return Err(refusal);
        }
        self.note_idle(index, entry);
        self.set_extra(index, &row.key, row.priority, entry);
        self.on_undo(|| {
            Box::new(move |writer| {
                let schema = writer.state.schema.clone();
                let table = &schema.tables[index];
                writer.switch.table_delete(&table.name, &row.key, row.priority)?;
                writer.forget_action(table, &row.action);
                writer.state.entries[index].remove(&(row.key, row.priority));
                Ok(())
            })
        });
        Ok(())
    }

    fn modify_entry(
        &mut self,
        schema: &Schema,
        index: usize,
        table: &TableSchema,
        entry: &TableEntry,
    ) -> Outcome<()> {
        if table.const_entries && entry.action.is_some() {
            return Err(const_table(table));
        }
        let key = entry_key(table, entry)?;
        let (counter, meter) = direct_resources(table, entry)?;
        let old = self.switch.table_read(&table.name, &key, entry.priority)?;
        let old_action = old.entry.action.clone();
        let old_one_shot = self.one_shot_of(table, &old_action);
        let before = self.keeps_undo().then(|| Before {
            entry: old,
            extra: self.state.entries[index].get(&(key.clone(), entry.priority)).cloned(),
            one_shot: old_one_shot.map(|group| {
                let profile = table.profile.unwrap_or_default();
                self.state.one_shots[&(profile, group)].clone()
            }),
        });
        let action = match &entry.action {
            Some(action) => self.entry_action(schema, table, action)?,
            None => old_action.clone(),
        };
        let row = PipelineEntry {
            key,
            priority: entry.priority,
            action,
            idle_timeout_ns: entry.idle_timeout_ns as u64,
        };
        if !table.const_entries {
            if let Err(error) = self.switch.table_modify(&table.name, &row, self.now_ps) {
                if entry.action.is_some() {
                    self.forget_action(table, &row.action);
                }
                return Err(error.into());
            }
        }
        if row.action != old_action {
            self.forget_action(table, &old_action);
        }
        // A const entry keeps its action, so an unset meter_config is taken as "unchanged" there.
        if table.direct_meter.is_some() && (entry.meter_config.is_some() || !table.const_entries) {
            let place = EntryRef::Key { key: &row.key, priority: row.priority };
            self.switch.direct_meter_write(&table.name, place, meter, self.now_ps)?;
        }
        let place = EntryRef::Key { key: &row.key, priority: row.priority };
        if let Some(cell) = counter {
            self.set_direct_counter(table, place, cell)?;
        }
        if entry.meter_counter_data.is_some() {
            self.switch.direct_meter_set_marked(&table.name, place, Default::default())?;
        }
        self.note_idle(index, entry);
        self.set_extra(index, &row.key, row.priority, entry);
        if let Some(before) = before {
            self.on_undo(|| Box::new(move |writer| writer.restore(index, before)));
        }
        Ok(())
    }

    fn delete_entry(&mut self, index: usize, table: &TableSchema, entry: &TableEntry) -> Outcome<()> {
        if table.const_entries {
            return Err(const_table(table));
        }
        let key = entry_key(table, entry)?;
        let priority = entry.priority;
        let indirect = table.profile.is_some();
        let before = match self.keeps_undo() || indirect {
            true => Some(self.switch.table_read(&table.name, &key, priority)?),
            false => None,
        };
        self.switch.table_delete(&table.name, &key, priority)?;
        let extra = match self.state.entries[index].is_empty() {
            true => None,
            false => self.state.entries[index].remove(&(key, priority)),
        };
        let Some(before) = before else { return Ok(()) };
        let one_shot = self.forget_action(table, &before.entry.action);
        self.on_undo(|| {
            let before = Before { entry: before, extra, one_shot };
            Box::new(move |writer| writer.restore(index, before))
        });
        Ok(())
    }

    /// Puts an entry back as it was: insert when it is gone, else modify.
    fn restore(&mut self, index: usize, before: Before) -> Result<(), Refusal> {
        let schema = self.state.schema.clone();
        let table = &schema.tables[index];
        let Before { entry: old, extra, one_shot } = before;
        let mut row = old.entry;
        if let Some(one_shot) = one_shot {
            let group = self.make_one_shot(table, &one_shot.actions)?;
            row.action = EntryAction::Group(group);
        }
        match self.switch.table_read(&table.name, &row.key, row.priority) {
            Ok(current) => {
                if !table.const_entries {
                    self.switch.table_modify(&table.name, &row, self.now_ps)?;
                }
                if current.entry.action != row.action {
                    self.forget_action(table, &current.entry.action);
                }
            }
            Err(_) => self.switch.table_insert(&table.name, &row, self.now_ps)?,
        }
        let place = EntryRef::Key { key: &row.key, priority: row.priority };
        if table.direct_counter.is_some() {
            let cell = old.counter.unwrap_or_default();
            self.switch.direct_counter_write(&table.name, place, cell)?;
        }
        if table.direct_meter.is_some() {
            self.switch.direct_meter_write(&table.name, place, old.meter, self.now_ps)?;
            self.switch.direct_meter_set_marked(&table.name, place, old.marked.unwrap_or_default())?;
        }
        let place: EntryKey = (keys::canonical_key(&row.key), row.priority);
        match extra {
            Some(extra) => self.state.entries[index].insert(place, extra),
            None => self.state.entries[index].remove(&place),
        };
        Ok(())
    }

    fn modify_default(
        &mut self,
        schema: &Schema,
        index: usize,
        table: &TableSchema,
        entry: &TableEntry,
    ) -> Outcome<()> {
        check_default(table, entry)?;
        if entry.idle_timeout_ns != 0 {
            return Err(Refusal::invalid(format!("{}: the default entry has no idle timeout", owner(table))));
        }
        if table.const_default && entry.action.is_some() {
            return Err(Refusal::denied(format!(
                "{}: its default action is const in the program",
                owner(table)
            )));
        }
        let (counter, meter) = direct_resources(table, entry)?;
        let new_action = match &entry.action {
            None => None,
            Some(TableAction { r#type: Some(TableActionType::Action(action)) }) => {
                if table.profile.is_some() {
                    return Err(Refusal::denied(format!(
                        "{}: the default action of a table with an action profile is const",
                        owner(table)
                    )));
                }
                Some(EntryAction::Direct(actions::to_call(schema, table, action, Place::Default)?))
            }
            Some(_) => {
                return Err(Refusal::invalid(format!(
                    "{}: the default entry needs a direct action",
                    owner(table)
                )))
            }
        };
        let before = match self.keeps_undo() {
            true => Some((self.switch.table_default(&table.name)?, self.state.defaults[index].clone())),
            false => None,
        };
        let reset = new_action.is_none();
        match &new_action {
            Some(action) => self.switch.table_set_default(&table.name, action)?,
            None if table.const_default => {}
            None => self.switch.table_reset_default(&table.name)?,
        }
        self.state.defaults[index] = match reset {
            true => EntryExtra::default(),
            false => extra_of(entry),
        };
        let resources = DefaultResources::read(self.switch, table)?;
        if let Some(cell) = counter {
            self.set_direct_counter(table, EntryRef::Default, cell)?;
        }
        if table.direct_meter.is_some() {
            self.switch.direct_meter_write(&table.name, EntryRef::Default, meter, self.now_ps)?;
            if entry.meter_counter_data.is_some() {
                let zero = Default::default();
                self.switch.direct_meter_set_marked(&table.name, EntryRef::Default, zero)?;
            }
        }
        if let Some((action, extra)) = before {
            let name = table.name.clone();
            self.on_undo(|| {
                Box::new(move |writer| {
                    let now_ps = writer.now_ps;
                    if let Some(cell) = resources.counter {
                        writer.switch.direct_counter_write(&name, EntryRef::Default, cell)?;
                    }
                    if let Some((meter, marked)) = resources.meter {
                        let (switch, place) = (&mut writer.switch, EntryRef::Default);
                        switch.direct_meter_write(&name, place, meter, now_ps)?;
                        switch.direct_meter_set_marked(&name, place, marked)?;
                    }
                    match action {
                        Some(action) => writer.switch.table_set_default(&name, &action)?,
                        None => writer.switch.table_reset_default(&name)?,
                    }
                    writer.state.defaults[index] = extra;
                    Ok(())
                })
            });
        }
        Ok(())
    }

    /// Action or group of an entry; makes the hidden group of a one-shot action set.
    fn entry_action(
        &mut self,
        schema: &Schema,
        table: &TableSchema,
        action: &TableAction,
    ) -> Outcome<EntryAction> {
        let indirect = table.profile.is_some();
        let selector = table.profile.map(|profile| schema.profiles[profile].with_selector);
        let bad = |got: &str| {
            Err(Refusal::invalid(format!(
                "{}: an entry leads to {}, got {got}",
                owner(table),
                match selector {
                    None => "an action",
                    Some(false) => "a member of its action profile",
                    Some(true) => "a member, a group or an action set of its action selector",
                }
            )))
        };
        match action.r#type.as_ref() {
            None => bad("nothing"),
            Some(TableActionType::Action(_)) if indirect => bad("an action"),
            Some(TableActionType::Action(action)) => {
                Ok(EntryAction::Direct(actions::to_call(schema, table, action, Place::Entry)?))
            }
            Some(TableActionType::ActionProfileMemberId(_)) if !indirect => bad("a member"),
            Some(TableActionType::ActionProfileMemberId(id)) => Ok(EntryAction::Member(*id)),
            Some(TableActionType::ActionProfileGroupId(_)) if selector != Some(true) => bad("a group"),
            Some(TableActionType::ActionProfileGroupId(id)) => Ok(EntryAction::Group(*id)),
            Some(TableActionType::ActionProfileActionSet(_)) if selector != Some(true) => {
                bad("an action set")
            }
            Some(TableActionType::ActionProfileActionSet(set)) => {
                Ok(EntryAction::Group(self.make_one_shot(table, set)?))
            }
        }
    }

    /// The hidden group that an action refers to.
    fn one_shot_of(&self, table: &TableSchema, action: &EntryAction) -> Option<u32> {
        match (table.profile, action) {
            (Some(profile), EntryAction::Group(group)) => {
                self.state.one_shots.contains_key(&(profile, *group)).then_some(*group)
            }
            _ => None,
        }
    }

    /// Removes the hidden group of an action that is no longer used.
    fn forget_action(&mut self, table: &TableSchema, action: &EntryAction) -> Option<OneShot> {
        let group = self.one_shot_of(table, action)?;
        self.drop_one_shot(table.profile?, group)
    }

    fn set_resources(
        &mut self,
        table: &TableSchema,
        key: &[KeyMatch],
        priority: i32,
        counter: Option<CounterCell>,
        meter: Option<PipelineMeter>,
    ) -> Outcome<()> {
        let place = EntryRef::Key { key, priority };
        if let Some(cell) = counter {
            self.set_direct_counter(table, place, cell)?;
        }
        if meter.is_some() {
            self.switch.direct_meter_write(&table.name, place, meter, self.now_ps)?;
        }
        Ok(())
    }

    fn note_idle(&mut self, index: usize, entry: &TableEntry) {
        if entry.idle_timeout_ns > 0 {
            self.state.idle_used[index] = true;
        }
    }

    fn set_extra(&mut self, index: usize, key: &[KeyMatch], priority: i32, entry: &TableEntry) {
        let extra = extra_of(entry);
        let entries = &mut self.state.entries[index];
        if !extra.is_default() {
            entries.insert((key.to_vec(), priority), extra);
        } else if !entries.is_empty() {
            entries.remove(&(key.to_vec(), priority));
        }
    }
}

/// The direct counter and meter that an entry message sets.
fn direct_resources(
    table: &TableSchema,
    entry: &TableEntry,
) -> Outcome<(Option<CounterCell>, Option<PipelineMeter>)> {
    let counter = entry.counter_data.as_ref().map(to_cell);
    let meter = match (&entry.meter_config, table.direct_meter) {
        (Some(config), Some(kind)) => Some(to_meter(&owner(table), kind, config)?),
        _ => None,
    };
    Ok((counter.transpose()?, meter))
}

fn extra_of(entry: &TableEntry) -> EntryExtra {
    EntryExtra {
        controller_metadata: entry.controller_metadata,
        // A copy, so that the whole request is not kept alive by one field of it.
        metadata: bytes::Bytes::copy_from_slice(&entry.metadata),
    }
}

fn const_table(table: &TableSchema) -> Refusal {
    Refusal::denied(format!("{}: its entries are const in the program", owner(table)))
}

/// Refuses a default entry with a key.
pub fn check_default(table: &TableSchema, entry: &TableEntry) -> Outcome<()> {
    match entry.r#match.is_empty() && entry.priority == 0 {
        true => Ok(()),
        false => Err(Refusal::invalid(format!(
            "{}: the default entry has neither match nor priority",
            owner(table)
        ))),
    }
}

/// Direct resources of a default entry, as far as its table has them.
pub struct DefaultResources {
    pub counter: Option<CounterCell>,
    /// Configuration, and the counts per colour.
    pub meter: Option<(Option<PipelineMeter>, [CounterCell; 3])>,
}

impl DefaultResources {
    pub fn read(switch: &Switch, table: &TableSchema) -> Outcome<DefaultResources> {
        let (name, place) = (&table.name, EntryRef::Default);
        Ok(DefaultResources {
            counter: match table.direct_counter {
                Some(_) => Some(switch.direct_counter_read(name, place)?),
                None => None,
            },
            meter: match table.direct_meter {
                Some(_) => {
                    Some((switch.direct_meter_read(name, place)?, switch.direct_meter_marked(name, place)?))
                }
                None => None,
            },
        })
    }
}

fn default_kind(table: &TableSchema) -> Refusal {
    Refusal::invalid(format!("{}: the default entry is always there; only MODIFY is valid", owner(table)))
}
