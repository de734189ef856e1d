//! Counters, meters, registers and value sets (sections 9.3 to 9.4, 9.6, 9.7): writing.

use std::collections::HashSet;

use p4mesh_pipeline::{CounterCell, EntryRef, KeyMatch};

use crate::cell_data::{check_marked, to_cell, to_meter};
use crate::data;
use crate::keys;
use crate::proto::entity::*;
use crate::proto::info::{CounterUnit, MeterType};
use crate::proto::service::UpdateType;
use crate::refusal::{Outcome, Refusal};
use crate::schema::{ArraySchema, CounterSchema, TableSchema};
use crate::state::Writer;
use crate::tables::{check_default, entry_key};

/// Value of a cell after a write. A cell always counts both packets and bytes; a write sets those that the unit of the
/// counter names, as simple_switch_grpc does.
fn written(unit: CounterUnit, new: CounterCell, old: CounterCell) -> CounterCell {
    match unit {
        CounterUnit::Packets => CounterCell { packets: new.packets, ..old },
        CounterUnit::Bytes => CounterCell { bytes: new.bytes, ..old },
        CounterUnit::Both | CounterUnit::Unspecified => new,
    }
}

/// The cells that an index names: one, or all when it is left out.
pub fn cell_range(kind: &str, array: &ArraySchema, index: Option<Index>) -> Outcome<std::ops::Range<usize>> {
    match index {
        None => Ok(0..array.size),
        Some(Index { index }) if index < 0 => {
            Err(Refusal::invalid(format!("{kind} '{}': index {index} is negative", array.name)))
        }
        Some(Index { index }) if index as u64 >= array.size as u64 => Err(Refusal::out_of_range(format!(
            "{kind} '{}': index {index} is out of range; valid: 0 to {}",
            array.name,
            array.size.saturating_sub(1)
        ))),
        Some(Index { index }) => Ok(index as usize..index as usize + 1),
    }
}

/// Cells can only be modified.
fn modify_only(kind: UpdateType, what: &str) -> Outcome<()> {
    match kind {
        UpdateType::Modify => Ok(()),
        _ => Err(Refusal::invalid(format!("a {what} is always there; only MODIFY is valid"))),
    }
}

impl Writer<'_> {
    /// Handles a CounterEntry.
    pub fn write_counter(&mut self, kind: UpdateType, entry: &CounterEntry) -> Outcome<()> {
        modify_only(kind, "counter cell")?;
        let schema = self.state.schema.clone();
        let (_, CounterSchema { array, unit }) = schema.counter(entry.counter_id)?;
        let range = cell_range("counter", array, entry.index)?;
        let Some(data) = &entry.data else {
            return Ok(());
        };
        let cell = to_cell(data)?;
        let before = match self.keeps_undo() {
            true => self.switch.counter_cells(&array.name)?[range.clone()].to_vec(),
            false => Vec::new(),
        };
        for index in range.clone() {
            let old = self.switch.counter_read(&array.name, index)?;
            self.switch.counter_write(&array.name, index, written(*unit, cell, old))?;
        }
        let name = array.name.clone();
        self.on_undo(|| {
            Box::new(move |writer| {
                for (index, cell) in range.zip(before) {
                    writer.switch.counter_write(&name, index, cell)?;
                }
                Ok(())
            })
        });
        Ok(())
    }

    /// Handles a MeterEntry.
    pub fn write_meter(&mut self, kind: UpdateType, entry: &MeterEntry) -> Outcome<()> {
        modify_only(kind, "meter cell")?;
        let schema = self.state.schema.clone();
        let (_, meter) = schema.meter(entry.meter_id)?;
        let name = meter.array.name.clone();
        let owner = format!("meter '{name}'");
        check_marked(&owner, &entry.counter_data)?;
        let range = cell_range("meter", &meter.array, entry.index)?;
        let config =
            entry.config.as_ref().map(|config| to_meter(&owner, meter.meter_type, config)).transpose()?;
        let mut before = Vec::new();
        if self.keeps_undo() {
            for index in range.clone() {
                before.push((self.switch.meter_read(&name, index)?, self.switch.meter_marked(&name, index)?));
            }
        }
        for index in range.clone() {
            self.switch.meter_write(&name, index, config, self.now_ps)?;
            if entry.counter_data.is_some() {
                self.switch.meter_set_marked(&name, index, Default::default())?;
            }
        }
        self.on_undo(|| {
            Box::new(move |writer| {
                let now = writer.now_ps;
                for (index, (config, marked)) in range.zip(before) {
                    writer.switch.meter_write(&name, index, config, now)?;
                    writer.switch.meter_set_marked(&name, index, marked)?;
                }
                Ok(())
            })
        });
        Ok(())
    }

    /// Handles a RegisterEntry; without an index all cells get the value.
    pub fn write_register(&mut self, kind: UpdateType, entry: &RegisterEntry) -> Outcome<()> {
        modify_only(kind, "register cell")?;
        let schema = self.state.schema.clone();
        let (_, register) = schema.register(entry.register_id)?;
        let name = register.array.name.clone();
        let range = cell_range("register", &register.array, entry.index)?;
        let Some(given) = &entry.data else {
            return Err(Refusal::invalid(format!("register '{name}': data is not set")));
        };
        let bytes =
            data::to_scalar(&register.kind, register.width_bits, given, || format!("register '{name}'"))?;
        let mut before = Vec::new();
        if self.keeps_undo() {
            for index in range.clone() {
                before.push(self.switch.register_read(&name, index)?);
            }
        }
        match entry.index {
            None => self.switch.register_fill(&name, &bytes)?,
            Some(_) => self.switch.register_write(&name, range.start, &bytes)?,
        }
        self.on_undo(|| {
            Box::new(move |writer| {
                for (index, bytes) in range.zip(before) {
                    writer.switch.register_write(&name, index, &bytes)?;
                }
                Ok(())
            })
        });
        Ok(())
    }

    /// Sets the parts of the direct counter of an entry that its unit names.
    pub fn set_direct_counter(
        &mut self,
        table: &TableSchema,
        place: EntryRef,
        cell: CounterCell,
    ) -> Outcome<()> {
        let unit = table.direct_counter.unwrap_or(CounterUnit::Both);
        let old = self.switch.direct_counter_read(&table.name, place)?;
        let cell = written(unit, cell, old);
        Ok(self.switch.direct_counter_write(&table.name, place, cell)?)
    }

    /// Handles a DirectCounterEntry.
    pub fn write_direct_counter(&mut self, kind: UpdateType, entry: &DirectCounterEntry) -> Outcome<()> {
        modify_only(kind, "direct counter cell")?;
        let schema = self.state.schema.clone();
        let (table, place) = direct_place(&schema, &entry.table_entry)?;
        check_direct_counter(table)?;
        let Some(data) = &entry.data else {
            return Ok(());
        };
        let cell = to_cell(data)?;
        let before = match self.keeps_undo() {
            true => self.switch.direct_counter_read(&table.name, place.as_ref())?,
            false => CounterCell::default(),
        };
        self.set_direct_counter(table, place.as_ref(), cell)?;
        let name = table.name.clone();
        self.on_undo(|| {
            Box::new(move |writer| Ok(writer.switch.direct_counter_write(&name, place.as_ref(), before)?))
        });
        Ok(())
    }

    /// Handles a DirectMeterEntry.
    pub fn write_direct_meter(&mut self, kind: UpdateType, entry: &DirectMeterEntry) -> Outcome<()> {
        modify_only(kind, "direct meter cell")?;
        let schema = self.state.schema.clone();
        let (table, place) = direct_place(&schema, &entry.table_entry)?;
        let meter_kind = check_direct_meter(table)?;
        let owner = format!("table '{}'", table.name);
        check_marked(&owner, &entry.counter_data)?;
        let config = entry.config.as_ref().map(|config| to_meter(&owner, meter_kind, config)).transpose()?;
        let name = table.name.clone();
        let before = self.switch.direct_meter_read(&name, place.as_ref())?;
        let marked = self.switch.direct_meter_marked(&name, place.as_ref())?;
        self.switch.direct_meter_write(&name, place.as_ref(), config, self.now_ps)?;
        if entry.counter_data.is_some() {
            self.switch.direct_meter_set_marked(&name, place.as_ref(), Default::default())?;
        }
        self.on_undo(|| {
            Box::new(move |writer| {
                let (now, place) = (writer.now_ps, place.as_ref());
                let switch = &mut writer.switch;
                switch.direct_meter_write(&name, place, before, now)?;
                Ok(switch.direct_meter_set_marked(&name, place, marked)?)
            })
        });
        Ok(())
    }

    /// Handles a ValueSetEntry.
    pub fn write_value_set(&mut self, kind: UpdateType, entry: &ValueSetEntry) -> Outcome<()> {
        modify_only(kind, "value set")?;
        let schema = self.state.schema.clone();
        let (_, value_set) = schema.value_set(entry.value_set_id)?;
        let name = value_set.name.clone();
        let owner = || format!("value set '{}'", value_set.name);
        if entry.members.len() > value_set.size {
            return Err(Refusal::exhausted(format!(
                "{}: {} members are above its size of {}",
                owner(),
                entry.members.len(),
                value_set.size
            )));
        }
        let mut members = Vec::with_capacity(entry.members.len());
        let mut seen = HashSet::new();
        for member in &entry.members {
            let key = keys::to_key(&owner, &value_set.fields, &member.r#match)?;
            if !seen.insert(key.clone()) {
                return Err(Refusal::exists(format!("{}: a member is given twice", owner())));
            }
            members.push(key);
        }
        let before = match self.keeps_undo() {
            true => self.switch.value_set_read(&name)?,
            false => Vec::new(),
        };
        self.switch.value_set_write(&name, &members)?;
        self.on_undo(|| Box::new(move |writer| Ok(writer.switch.value_set_write(&name, &before)?)));
        Ok(())
    }
}

/// The entry that a direct resource belongs to.
pub enum DirectPlace {
    /// Key and priority.
    Entry(Vec<KeyMatch>, i32),
    Default,
}

impl DirectPlace {
    pub fn as_ref(&self) -> EntryRef<'_> {
        match self {
            DirectPlace::Entry(key, priority) => EntryRef::Key { key, priority: *priority },
            DirectPlace::Default => EntryRef::Default,
        }
    }
}

/// The table and entry of a direct resource.
pub fn direct_place<'a>(
    schema: &'a crate::schema::Schema,
    entry: &Option<TableEntry>,
) -> Outcome<(&'a TableSchema, DirectPlace)> {
    let Some(entry) = entry else {
        return Err(Refusal::invalid("a direct resource needs its table_entry"));
    };
    let (_, table) = schema.table(entry.table_id)?;
    if entry.is_default_action {
        check_default(table, entry)?;
        return Ok((table, DirectPlace::Default));
    }
    let key = entry_key(table, entry)?;
    Ok((table, DirectPlace::Entry(key, entry.priority)))
}

/// Refuses a table without a direct counter.
pub fn check_direct_counter(table: &TableSchema) -> Outcome<()> {
    match table.direct_counter {
        Some(_) => Ok(()),
        None => Err(Refusal::invalid(format!("table '{}' has no direct counter", table.name))),
    }
}

/// Refuses a table without a direct meter.
pub fn check_direct_meter(table: &TableSchema) -> Outcome<MeterType> {
    table.direct_meter.ok_or_else(|| Refusal::invalid(format!("table '{}' has no direct meter", table.name)))
}
