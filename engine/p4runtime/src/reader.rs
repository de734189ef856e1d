//! Reads (section 13): each entity of a request is a filter. Answers are encoded as they are
//! found, into messages well below gRPC's default limit of 4 MiB.

use bytes::{Bytes, BytesMut};
use p4mesh_pipeline::{CounterCell, EntryAction, EntryRead, MeterConfig as PipelineMeter, Switch};
use prost::encoding::{encode_key, encode_varint, WireType};
use prost::Message;

use crate::actions;
use crate::cell_data::{counter_data, from_marked, from_meter};
use crate::cells::{cell_range, check_direct_counter, check_direct_meter};
use crate::data;
use crate::keys;
use crate::profiles;
use crate::proto::entity::*;
use crate::refusal::{Outcome, Refusal};
use crate::replication;
use crate::schema::{CounterSchema, TableSchema};
use crate::state::State;
use crate::tables::{check_default, entry_key, DefaultResources};

/// A message is sent when it has reached this size.
const MESSAGE_BYTES: usize = 1 << 20;

/// Encoded ReadResponse messages.
#[derive(Default)]
pub struct Answers {
    buffer: BytesMut,
    messages: Vec<Bytes>,
}

/// Takes the entities that are found.
pub trait Sink {
    fn push(&mut self, entity: EntityKind);
}

impl Sink for Vec<EntityKind> {
    fn push(&mut self, entity: EntityKind) {
        Vec::push(self, entity);
    }
}

impl Sink for Answers {
    fn push(&mut self, entity: EntityKind) {
        let entity = Entity { entity: Some(entity) };
        // Field 1 of ReadResponse.
        encode_key(1, WireType::LengthDelimited, &mut self.buffer);
        encode_varint(entity.encoded_len() as u64, &mut self.buffer);
        entity.encode_raw(&mut self.buffer);
        if self.buffer.len() >= MESSAGE_BYTES {
            self.messages.push(self.buffer.split().freeze());
        }
    }
}

impl Answers {
    /// The messages; none when nothing was found.
    pub fn finish(mut self) -> Vec<Bytes> {
        if !self.buffer.is_empty() {
            self.messages.push(self.buffer.freeze());
        }
        self.messages
    }
}

/// One read at work.
pub struct Reader<'a> {
    pub state: &'a State,
    pub switch: &'a Switch,
    pub now_ps: u64,
}

impl Reader<'_> {
    /// Answers one entity of a request.
    pub fn read(&self, wanted: &Entity, answers: &mut dyn Sink) -> Outcome<()> {
        if wanted_id(wanted).is_some_and(|id| self.state.schema.is_removed(id)) {
            return Ok(());
        }
        match wanted.entity.as_ref() {
            None => Err(Refusal::invalid("the entity is not set")),
            Some(EntityKind::TableEntry(wanted)) => self.tables(wanted, answers),
            Some(EntityKind::ActionProfileMember(wanted)) => {
                profiles::read_members(self.state, self.switch, wanted, &mut |member| {
                    answers.push(EntityKind::ActionProfileMember(member))
                })
            }
            Some(EntityKind::ActionProfileGroup(wanted)) => {
                profiles::read_groups(self.state, wanted, &mut |group| {
                    answers.push(EntityKind::ActionProfileGroup(group))
                })
            }
            Some(EntityKind::CounterEntry(wanted)) => self.counters(wanted, answers),
            Some(EntityKind::MeterEntry(wanted)) => self.meters(wanted, answers),
            Some(EntityKind::DirectCounterEntry(wanted)) => self.direct_counters(wanted, answers),
            Some(EntityKind::DirectMeterEntry(wanted)) => self.direct_meters(wanted, answers),
            Some(EntityKind::RegisterEntry(wanted)) => self.registers(wanted, answers),
            Some(EntityKind::ValueSetEntry(wanted)) => self.value_sets(wanted, answers),
            Some(EntityKind::PacketReplicationEngineEntry(wanted)) => {
                replication::read(self.state, self.switch, wanted, &mut |entry| {
                    answers.push(EntityKind::PacketReplicationEngineEntry(entry))
                })
            }
            Some(EntityKind::DigestEntry(wanted)) => self.digests(wanted, answers),
            Some(EntityKind::ExternEntry(wanted)) => match wanted.extern_type_id {
                // A read of all extern instances finds nothing.
                0 => Ok(()),
                id => Err(Refusal::unimplemented(format!("extern type {id:#x} is not supported"))),
            },
        }
    }

    /// Positions of the table with an id, or of all tables for id 0.
    fn selected(&self, table_id: u32) -> Outcome<std::ops::Range<usize>> {
        match table_id {
            0 => Ok(0..self.state.schema.tables.len()),
            id => {
                let (index, _) = self.state.schema.table(id)?;
                Ok(index..index + 1)
            }
        }
    }

    fn tables(&self, wanted: &TableEntry, answers: &mut dyn Sink) -> Outcome<()> {
        for index in self.selected(wanted.table_id)? {
            let table = &self.state.schema.tables[index];
            if wanted.table_id != 0 {
                self.check_wanted(table, wanted)?;
            }
            if wanted.is_default_action {
                self.default_entry(index, table, wanted, answers)?;
                continue;
            }
            self.entries(index, table, wanted, &mut |read| {
                if let Some(entry) = self.table_entry(index, table, &read, wanted) {
                    answers.push(EntityKind::TableEntry(entry));
                }
            })?;
        }
        Ok(())
    }

    fn check_wanted(&self, table: &TableSchema, wanted: &TableEntry) -> Outcome<()> {
        let bad = |problem: &str| Err(Refusal::invalid(format!("table '{}': {problem}", table.name)));
        if wanted.time_since_last_hit.is_some() && !table.idle_timeout {
            return bad("time_since_last_hit is given, but the table has no idle timeout");
        }
        if wanted.is_default_action && !wanted.r#match.is_empty() {
            return bad("the default entry has no match");
        }
        Ok(())
    }

    /// Visits the entries of a table that have the wanted key (if any) and priority (if any).
    fn entries(
        &self,
        _index: usize,
        table: &TableSchema,
        wanted: &TableEntry,
        visit: &mut dyn FnMut(EntryRead),
    ) -> Outcome<()> {
        if wanted.table_id == 0 || wanted.r#match.is_empty() {
            let priority = match wanted.table_id {
                0 => 0,
                _ => wanted.priority,
            };
            self.switch.table_for_each(&table.name, &mut |read| {
                if priority == 0 || read.entry.priority == priority {
                    visit(read);
                }
            })?;
            return Ok(());
        }
        let key = entry_key(table, wanted)?;
        if table.needs_priority && wanted.priority == 0 {
            self.switch.table_for_each(&table.name, &mut |read| {
                if keys::canonical_key(&read.entry.key) == key {
                    visit(read);
                }
            })?;
            return Ok(());
        }
        // An empty result of a filter is not an error.
        if let Ok(read) = self.switch.table_read(&table.name, &key, wanted.priority) {
            visit(read);
        }
        Ok(())
    }

    /// The message for an entry; `None` when the filters exclude it.
    fn table_entry(
        &self,
        index: usize,
        table: &TableSchema,
        read: &EntryRead,
        wanted: &TableEntry,
    ) -> Option<TableEntry> {
        let filters = wanted.table_id != 0;
        let action = self.table_action(table, &read.entry.action)?;
        if filters && !action_wanted(wanted, &action) {
            return None;
        }
        let extra = match self.state.entries[index].is_empty() {
            true => None,
            false => {
                let place = (keys::canonical_key(&read.entry.key), read.entry.priority);
                self.state.entries[index].get(&place)
            }
        };
        let controller_metadata = extra.map_or(0, |extra| extra.controller_metadata);
        let metadata = extra.map_or_else(Bytes::new, |extra| extra.metadata.clone());
        if filters
            && ((wanted.controller_metadata != 0 && wanted.controller_metadata != controller_metadata)
                || (!wanted.metadata.is_empty() && wanted.metadata != metadata))
        {
            return None;
        }
        Some(TableEntry {
            table_id: table.id,
            r#match: keys::from_key(&table.fields, &read.entry.key),
            action: Some(action),
            priority: read.entry.priority,
            controller_metadata,
            metadata,
            meter_config: match wanted.meter_config {
                Some(_) => read.meter.map(from_meter),
                None => None,
            },
            counter_data: match wanted.counter_data {
                Some(_) => read.counter.map(counter_data),
                None => None,
            },
            idle_timeout_ns: read.entry.idle_timeout_ns as i64,
            time_since_last_hit: match wanted.time_since_last_hit {
                Some(_) if table.idle_timeout => Some(IdleTimeout {
                    elapsed_ns: (self.now_ps.saturating_sub(read.last_hit_ps) / 1000) as i64,
                }),
                _ => None,
            },
            meter_counter_data: match wanted.meter_counter_data {
                Some(_) => read.marked.map(from_marked),
                None => None,
            },
            is_const: table.const_entries,
            is_default_action: false,
        })
    }

    fn default_entry(
        &self,
        index: usize,
        table: &TableSchema,
        wanted: &TableEntry,
        answers: &mut dyn Sink,
    ) -> Outcome<()> {
        let name = &table.name;
        let Some(action) = self.switch.table_default(name)? else {
            return Ok(());
        };
        let Some(action) = self.table_action(table, &action) else {
            return Ok(());
        };
        if wanted.table_id != 0 && !action_wanted(wanted, &action) {
            return Ok(());
        }
        let extra = &self.state.defaults[index];
        let resources = DefaultResources::read(self.switch, table)?;
        let (meter, marked) = resources.meter.unzip();
        answers.push(EntityKind::TableEntry(TableEntry {
            table_id: table.id,
            action: Some(action),
            is_default_action: true,
            controller_metadata: extra.controller_metadata,
            metadata: extra.metadata.clone(),
            is_const: table.const_default,
            counter_data: wanted.counter_data.and(resources.counter).map(counter_data),
            meter_config: match wanted.meter_config {
                Some(_) => meter.flatten().map(from_meter),
                None => None,
            },
            meter_counter_data: match wanted.meter_counter_data {
                Some(_) => marked.map(from_marked),
                None => None,
            },
            ..TableEntry::default()
        }));
        Ok(())
    }

    fn table_action(&self, table: &TableSchema, action: &EntryAction) -> Option<TableAction> {
        let kind = match action {
            EntryAction::Direct(call) => {
                TableActionType::Action(actions::from_call(&self.state.schema, call)?)
            }
            EntryAction::Member(id) => TableActionType::ActionProfileMemberId(*id),
            EntryAction::Group(id) => {
                let one_shot = table.profile.and_then(|profile| self.state.one_shots.get(&(profile, *id)));
                match one_shot {
                    Some(one_shot) => TableActionType::ActionProfileActionSet(one_shot.actions.clone()),
                    None => TableActionType::ActionProfileGroupId(*id),
                }
            }
        };
        Some(TableAction { r#type: Some(kind) })
    }

    fn counters(&self, wanted: &CounterEntry, answers: &mut dyn Sink) -> Outcome<()> {
        let schema = &self.state.schema;
        let range = match wanted.counter_id {
            0 => 0..schema.counters.len(),
            id => {
                let (index, _) = schema.counter(id)?;
                index..index + 1
            }
        };
        for CounterSchema { array, .. } in &schema.counters[range] {
            let index = match wanted.counter_id {
                0 => None,
                _ => wanted.index,
            };
            let range = cell_range("counter", array, index)?;
            let cells = &self.switch.counter_cells(&array.name)?[range.clone()];
            for (index, cell) in range.zip(cells) {
                answers.push(EntityKind::CounterEntry(CounterEntry {
                    counter_id: array.id,
                    index: Some(Index { index: index as i64 }),
                    data: Some(counter_data(*cell)),
                }));
            }
        }
        Ok(())
    }

    fn meters(&self, wanted: &MeterEntry, answers: &mut dyn Sink) -> Outcome<()> {
        let schema = &self.state.schema;
        let range = match wanted.meter_id {
            0 => 0..schema.meters.len(),
            id => {
                let (index, _) = schema.meter(id)?;
                index..index + 1
            }
        };
        for meter in &schema.meters[range] {
            let index = match wanted.meter_id {
                0 => None,
                _ => wanted.index,
            };
            for index in cell_range("meter", &meter.array, index)? {
                let config = self.switch.meter_read(&meter.array.name, index)?;
                answers.push(EntityKind::MeterEntry(MeterEntry {
                    meter_id: meter.array.id,
                    index: Some(Index { index: index as i64 }),
                    config: config.map(from_meter),
                    counter_data: match wanted.counter_data {
                        Some(_) => Some(from_marked(self.switch.meter_marked(&meter.array.name, index)?)),
                        None => None,
                    },
                }));
            }
        }
        Ok(())
    }

    fn registers(&self, wanted: &RegisterEntry, answers: &mut dyn Sink) -> Outcome<()> {
        let schema = &self.state.schema;
        let range = match wanted.register_id {
            0 => 0..schema.registers.len(),
            id => {
                let (index, _) = schema.register(id)?;
                index..index + 1
            }
        };
        for register in &schema.registers[range] {
            let index = match wanted.register_id {
                0 => None,
                _ => wanted.index,
            };
            for index in cell_range("register", &register.array, index)? {
                let bytes = self.switch.register_read(&register.array.name, index)?;
                answers.push(EntityKind::RegisterEntry(RegisterEntry {
                    register_id: register.array.id,
                    index: Some(Index { index: index as i64 }),
                    data: Some(data::scalar(&register.kind, register.width_bits, &bytes)),
                }));
            }
        }
        Ok(())
    }

    /// The entries that a direct resource read names, with the key fields of each.
    fn direct(
        &self,
        wanted: &Option<TableEntry>,
        has: &dyn Fn(&TableSchema) -> Outcome<()>,
        visit: &mut dyn FnMut(TableEntry, Resources),
    ) -> Outcome<()> {
        let Some(wanted) = wanted else {
            return Err(Refusal::invalid("a direct resource needs its table_entry"));
        };
        for index in self.selected(wanted.table_id)? {
            let table = &self.state.schema.tables[index];
            if let Err(refusal) = has(table) {
                match wanted.table_id {
                    0 => continue,
                    _ => return Err(refusal),
                }
            }
            let named = |key: Vec<FieldMatch>, priority| TableEntry {
                table_id: table.id,
                r#match: key,
                priority,
                ..TableEntry::default()
            };
            if wanted.is_default_action {
                check_default(table, wanted)?;
                let found = DefaultResources::read(self.switch, table)?;
                let (meter, marked) = found.meter.unzip();
                let resources =
                    Resources { counter: found.counter.unwrap_or_default(), meter: meter.flatten(), marked };
                let mut entry = named(Vec::new(), 0);
                entry.is_default_action = true;
                visit(entry, resources);
                continue;
            }
            let mut found = Vec::new();
            self.entries(index, table, wanted, &mut |read| found.push(read))?;
            if found.is_empty() && wanted.table_id != 0 && !wanted.r#match.is_empty() {
                return Err(Refusal::not_found(format!("table '{}': no such entry", table.name)));
            }
            for read in found {
                let key = keys::from_key(&table.fields, &read.entry.key);
                let resources = Resources {
                    counter: read.counter.unwrap_or_default(),
                    meter: read.meter,
                    marked: read.marked,
                };
                visit(named(key, read.entry.priority), resources);
            }
        }
        Ok(())
    }

    fn direct_counters(&self, wanted: &DirectCounterEntry, answers: &mut dyn Sink) -> Outcome<()> {
        let place = &wanted.table_entry;
        self.direct(place, &check_direct_counter, &mut |entry, found| {
            answers.push(EntityKind::DirectCounterEntry(DirectCounterEntry {
                table_entry: Some(entry),
                data: Some(counter_data(found.counter)),
            }));
        })
    }

    fn direct_meters(&self, wanted: &DirectMeterEntry, answers: &mut dyn Sink) -> Outcome<()> {
        let has = |table: &TableSchema| check_direct_meter(table).map(|_| ());
        self.direct(&wanted.table_entry, &has, &mut |entry, found| {
            answers.push(EntityKind::DirectMeterEntry(DirectMeterEntry {
                table_entry: Some(entry),
                config: found.meter.map(from_meter),
                counter_data: match wanted.counter_data {
                    Some(_) => found.marked.map(from_marked),
                    None => None,
                },
            }));
        })
    }

    fn value_sets(&self, wanted: &ValueSetEntry, answers: &mut dyn Sink) -> Outcome<()> {
        let schema = &self.state.schema;
        let range = match wanted.value_set_id {
            0 => 0..schema.value_sets.len(),
            id => {
                let (index, _) = schema.value_set(id)?;
                index..index + 1
            }
        };
        for value_set in &schema.value_sets[range] {
            let members = self.switch.value_set_read(&value_set.name)?;
            answers.push(EntityKind::ValueSetEntry(ValueSetEntry {
                value_set_id: value_set.id,
                members: members
                    .iter()
                    .map(|member| ValueSetMember { r#match: keys::from_key(&value_set.fields, member) })
                    .collect(),
            }));
        }
        Ok(())
    }

    fn digests(&self, wanted: &DigestEntry, answers: &mut dyn Sink) -> Outcome<()> {
        let schema = &self.state.schema;
        let only = match wanted.digest_id {
            0 => None,
            id => Some(schema.digest(id)?.0),
        };
        for (index, config) in &self.state.digests {
            if only.is_none_or(|only| only == *index) {
                answers.push(EntityKind::DigestEntry(DigestEntry {
                    digest_id: schema.digests[*index].id,
                    config: Some(*config),
                }));
            }
        }
        Ok(())
    }
}

/// Direct counter and meter of an entry.
struct Resources {
    counter: CounterCell,
    meter: Option<PipelineMeter>,
    marked: Option<[CounterCell; 3]>,
}

/// The P4Info id that a filter names.
fn wanted_id(wanted: &Entity) -> Option<u32> {
    let of_table = |entry: &Option<TableEntry>| entry.as_ref().map(|entry| entry.table_id);
    match wanted.entity.as_ref()? {
        EntityKind::TableEntry(entry) => Some(entry.table_id),
        EntityKind::ActionProfileMember(entry) => Some(entry.action_profile_id),
        EntityKind::ActionProfileGroup(entry) => Some(entry.action_profile_id),
        EntityKind::CounterEntry(entry) => Some(entry.counter_id),
        EntityKind::MeterEntry(entry) => Some(entry.meter_id),
        EntityKind::DirectCounterEntry(entry) => of_table(&entry.table_entry),
        EntityKind::DirectMeterEntry(entry) => of_table(&entry.table_entry),
        EntityKind::RegisterEntry(entry) => Some(entry.register_id),
        EntityKind::ValueSetEntry(entry) => Some(entry.value_set_id),
        EntityKind::DigestEntry(entry) => Some(entry.digest_id),
        EntityKind::PacketReplicationEngineEntry(_) | EntityKind::ExternEntry(_) => None,
    }
}

/// Filter by action id (the only filter on actions that the specification has).
fn action_wanted(wanted: &TableEntry, found: &TableAction) -> bool {
    let Some(TableActionType::Action(action)) =
        wanted.action.as_ref().and_then(|action| action.r#type.as_ref())
    else {
        return true;
    };
    match &found.r#type {
        Some(TableActionType::Action(found)) => action.action_id == 0 || action.action_id == found.action_id,
        _ => false,
    }
}
