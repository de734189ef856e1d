//! Reads (section 13): each entity of a request is a filter. Answers are encoded as they are
//! found, into messages well below gRPC's default limit of 4 MiB, and no faster than the client takes them: a read rests
//! at a cursor, which stays right when the state changes meanwhile.

use bytes::{Bytes, BytesMut};
use p4mesh_pipeline::{CounterCell, EntryAction, EntryRead, MeterConfig as PipelineMeter, Switch};
use prost::encoding::{encode_key, encode_varint, WireType};
use prost::Message;
use tonic::Status;

use crate::actions;
use crate::batch::{decode, room};
use crate::cell_data::{counter_data, from_marked, from_meter};
use crate::cells::{cell_range, check_direct_counter, check_direct_meter};
use crate::claim::ReadPlace;
use crate::cursor::{Cursor, Sink, Step, DONE};
use crate::data;
use crate::intake::Received;
use crate::keys;
use crate::memory::Elements;
use crate::profiles;
use crate::proto::entity::*;
use crate::refusal::{Outcome, Outcomes, Refusal};
use crate::replication;
use crate::schema::{CounterSchema, TableSchema};
use crate::state::{EnabledDigest, State};
use crate::tables::{check_default, entry_key, DefaultResources};

/// A message is sent when it has reached this size.
const MESSAGE_BYTES: usize = 1 << 20;
/// Entries and cells that are looked at under one hold of the target's lock.
const SLICE: usize = 1 << 16;
/// The field `entities` of a ReadRequest.
const ENTITIES: u32 = 2;

/// One encoded ReadResponse message.
#[derive(Default)]
pub struct Answers {
    buffer: BytesMut,
    seen: usize,
}

impl Sink for Answers {
    fn push(&mut self, entity: EntityKind) {
        let entity = Entity { entity: Some(entity) };
        // Field 1 of ReadResponse.
        encode_key(1, WireType::LengthDelimited, &mut self.buffer);
        encode_varint(entity.encoded_len() as u64, &mut self.buffer);
        entity.encode_raw(&mut self.buffer);
    }

    fn goes_on(&mut self) -> bool {
        self.seen += 1;
        self.seen < SLICE && self.buffer.len() < MESSAGE_BYTES
    }
}

impl Answers {
    /// The message; empty when nothing was found.
    pub fn finish(self) -> Bytes {
        self.buffer.freeze()
    }
}

/// A Read on its way: answers are made when there is room for them.
pub struct Read {
    pub device_id: u64,
    /// The device's config when the read began.
    pub config: Option<u64>,
    request: Received,
    /// Bytes of the request whose entities are done.
    done: usize,
    cursor: Cursor,
    outcomes: Outcomes,
}

impl Read {
    /// A Read that has not begun; of its failures, `details_limit` bytes are listed.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for bytes that are no ReadRequest.
    pub fn new(request: Received, details_limit: usize) -> Outcome<Read> {
        let ReadPlace { device_id } = decode(&request.bytes, "request")?;
        let outcomes = Outcomes::new("reads", details_limit);
        Ok(Read { device_id, config: None, request, done: 0, cursor: Cursor::default(), outcomes })
    }

    /// Reads until the answers are full or nothing is left.
    pub fn go_on(&mut self, reader: &Reader, answers: &mut Answers) {
        let Read { request, done, cursor, outcomes, .. } = self;
        loop {
            let mut entities = Elements::new(&request.bytes[*done..], ENTITIES);
            let Some(wanted) = entities.next() else {
                *done = request.bytes.len();
                return;
            };
            let step = room(wanted, &request.share).and_then(|_room| {
                let wanted: Entity = decode(wanted, "entity")?;
                reader.read(&wanted, cursor, answers)
            });
            match step.transpose() {
                None => return,
                Some(outcome) => outcomes.add(&outcome),
            }
            *done = request.bytes.len() - entities.left();
            *cursor = Cursor::default();
            if !answers.goes_on() {
                return;
            }
        }
    }

    pub fn has_more(&self) -> bool {
        self.done < self.request.bytes.len()
    }

    /// The status at the end; `None` when nothing failed.
    pub fn status(self) -> Option<Status> {
        self.outcomes.status()
    }
}

/// One read at work.
pub struct Reader<'a> {
    pub state: &'a State,
    pub switch: &'a Switch,
    pub now_ps: u64,
}

impl Reader<'_> {
    /// Answers one entity of a request from where the cursor is.
    pub fn read(&self, wanted: &Entity, cursor: &mut Cursor, answers: &mut dyn Sink) -> Step {
        if wanted_id(wanted).is_some_and(|id| self.state.schema.is_removed(id)) {
            return DONE;
        }
        match wanted.entity.as_ref() {
            None => Err(Refusal::invalid("the entity is not set")),
            Some(EntityKind::TableEntry(wanted)) => self.tables(wanted, cursor, answers),
            Some(EntityKind::ActionProfileMember(wanted)) => {
                profiles::read_members(self.state, self.switch, wanted, cursor, answers)
            }
            Some(EntityKind::ActionProfileGroup(wanted)) => {
                profiles::read_groups(self.state, wanted, cursor, answers)
            }
            Some(EntityKind::CounterEntry(wanted)) => self.counters(wanted, cursor, answers),
            Some(EntityKind::MeterEntry(wanted)) => self.meters(wanted, cursor, answers),
            Some(EntityKind::DirectCounterEntry(wanted)) => self.direct_counters(wanted, cursor, answers),
            Some(EntityKind::DirectMeterEntry(wanted)) => self.direct_meters(wanted, cursor, answers),
            Some(EntityKind::RegisterEntry(wanted)) => self.registers(wanted, cursor, answers),
            Some(EntityKind::ValueSetEntry(wanted)) => self.value_sets(wanted, answers),
            Some(EntityKind::PacketReplicationEngineEntry(wanted)) => {
                replication::read(self.state, self.switch, wanted, cursor, answers)
            }
            Some(EntityKind::DigestEntry(wanted)) => self.digests(wanted, answers),
            Some(EntityKind::ExternEntry(wanted)) => match wanted.extern_type_id {
                // A read of all extern instances finds nothing.
                0 => DONE,
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

    fn tables(&self, wanted: &TableEntry, cursor: &mut Cursor, answers: &mut dyn Sink) -> Step {
        for index in self.selected(wanted.table_id)?.skip(cursor.object) {
            let table = &self.state.schema.tables[index];
            if wanted.table_id != 0 {
                self.check_wanted(table, wanted)?;
            }
            if wanted.is_default_action {
                self.default_entry(index, table, wanted, answers)?;
                cursor.leave_object();
                continue;
            }
            let step = self.entries(table, wanted, cursor, answers, &mut |read, answers| {
                if let Some(entry) = self.table_entry(index, table, &read, wanted) {
                    answers.push(EntityKind::TableEntry(entry));
                }
            })?;
            if step.is_none() {
                return Ok(None);
            }
            cursor.leave_object();
        }
        DONE
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

    /// Visits the entries of a table that have the wanted key (if any) and priority (if any), from the cursor on.
    fn entries(
        &self,
        table: &TableSchema,
        wanted: &TableEntry,
        cursor: &mut Cursor,
        answers: &mut dyn Sink,
        visit: &mut dyn FnMut(EntryRead, &mut dyn Sink),
    ) -> Step {
        let by_key = wanted.table_id != 0 && !wanted.r#match.is_empty();
        let priority = match wanted.table_id {
            0 => 0,
            _ => wanted.priority,
        };
        let key = by_key.then(|| entry_key(table, wanted)).transpose()?;
        if let Some(key) = key.as_ref().filter(|_| !table.needs_priority || priority != 0) {
            // An empty result of a filter is not an error.
            if let Ok(read) = self.switch.table_read(&table.name, key, priority) {
                visit(read, answers);
            }
            return DONE;
        }
        for found in self.switch.table_entries(&table.name, cursor.element)? {
            let (id, read) = found;
            let passes = priority == 0 || read.entry.priority == priority;
            if passes && key.as_ref().is_none_or(|key| keys::canonical_key(&read.entry.key) == *key) {
                visit(read, answers);
            }
            if cursor.after(id, answers).is_none() {
                return Ok(None);
            }
        }
        DONE
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
        let action = match self.switch.table_default(name)? {
            Some(action) => self.table_action(table, &action),
            // The compiler leaves the default action of a table with an action profile to P4Info.
            None => table.default_action.map(|action_id| TableAction {
                r#type: Some(TableActionType::Action(Action { action_id, params: Vec::new() })),
            }),
        };
        let Some(action) = action else {
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
            is_const: table.const_default || table.profile.is_some(),
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

    fn counters(&self, wanted: &CounterEntry, cursor: &mut Cursor, answers: &mut dyn Sink) -> Step {
        let schema = &self.state.schema;
        let range = match wanted.counter_id {
            0 => 0..schema.counters.len(),
            id => {
                let (index, _) = schema.counter(id)?;
                index..index + 1
            }
        };
        for CounterSchema { array, .. } in schema.counters[range].iter().skip(cursor.object) {
            let index = match wanted.counter_id {
                0 => None,
                _ => wanted.index,
            };
            let cells = self.switch.counter_cells(&array.name)?;
            for index in cells_from(cell_range("counter", array, index)?, cursor) {
                answers.push(EntityKind::CounterEntry(CounterEntry {
                    counter_id: array.id,
                    index: Some(Index { index: index as i64 }),
                    data: Some(counter_data(cells[index])),
                }));
                if cursor.after(index as u64, answers).is_none() {
                    return Ok(None);
                }
            }
            cursor.leave_object();
        }
        DONE
    }

    fn meters(&self, wanted: &MeterEntry, cursor: &mut Cursor, answers: &mut dyn Sink) -> Step {
        let schema = &self.state.schema;
        let range = match wanted.meter_id {
            0 => 0..schema.meters.len(),
            id => {
                let (index, _) = schema.meter(id)?;
                index..index + 1
            }
        };
        for meter in schema.meters[range].iter().skip(cursor.object) {
            let index = match wanted.meter_id {
                0 => None,
                _ => wanted.index,
            };
            for index in cells_from(cell_range("meter", &meter.array, index)?, cursor) {
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
                if cursor.after(index as u64, answers).is_none() {
                    return Ok(None);
                }
            }
            cursor.leave_object();
        }
        DONE
    }

    fn registers(&self, wanted: &RegisterEntry, cursor: &mut Cursor, answers: &mut dyn Sink) -> Step {
        let schema = &self.state.schema;
        let range = match wanted.register_id {
            0 => 0..schema.registers.len(),
            id => {
                let (index, _) = schema.register(id)?;
                index..index + 1
            }
        };
        for register in schema.registers[range].iter().skip(cursor.object) {
            let index = match wanted.register_id {
                0 => None,
                _ => wanted.index,
            };
            for index in cells_from(cell_range("register", &register.array, index)?, cursor) {
                let bytes = self.switch.register_read(&register.array.name, index)?;
                answers.push(EntityKind::RegisterEntry(RegisterEntry {
                    register_id: register.array.id,
                    index: Some(Index { index: index as i64 }),
                    data: Some(data::scalar(&register.kind, register.width_bits, &bytes)),
                }));
                if cursor.after(index as u64, answers).is_none() {
                    return Ok(None);
                }
            }
            cursor.leave_object();
        }
        DONE
    }

    /// The entries that a direct resource read names, with the key fields of each.
    fn direct(
        &self,
        wanted: &Option<TableEntry>,
        cursor: &mut Cursor,
        answers: &mut dyn Sink,
        has: &dyn Fn(&TableSchema) -> Outcome<()>,
        entity: &dyn Fn(TableEntry, Resources) -> EntityKind,
    ) -> Step {
        let Some(wanted) = wanted else {
            return Err(Refusal::invalid("a direct resource needs its table_entry"));
        };
        for index in self.selected(wanted.table_id)?.skip(cursor.object) {
            let table = &self.state.schema.tables[index];
            if let Err(refusal) = has(table) {
                match wanted.table_id {
                    0 => {
                        cursor.leave_object();
                        continue;
                    }
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
                answers.push(entity(entry, resources));
                cursor.leave_object();
                continue;
            }
            let mut found = false;
            let step = self.entries(table, wanted, cursor, answers, &mut |read, answers| {
                found = true;
                let key = keys::from_key(&table.fields, &read.entry.key);
                let resources = Resources {
                    counter: read.counter.unwrap_or_default(),
                    meter: read.meter,
                    marked: read.marked,
                };
                answers.push(entity(named(key, read.entry.priority), resources));
            })?;
            if step.is_none() {
                return Ok(None);
            }
            // Of a key without a priority, all entries are looked at; one may have been found before a rest.
            let by_key = wanted.table_id != 0 && !wanted.r#match.is_empty();
            if !found && by_key && cursor.element == 0 {
                return Err(Refusal::not_found(format!("table '{}': no such entry", table.name)));
            }
            cursor.leave_object();
        }
        DONE
    }

    fn direct_counters(
        &self,
        wanted: &DirectCounterEntry,
        cursor: &mut Cursor,
        answers: &mut dyn Sink,
    ) -> Step {
        self.direct(&wanted.table_entry, cursor, answers, &check_direct_counter, &|entry, found| {
            EntityKind::DirectCounterEntry(DirectCounterEntry {
                table_entry: Some(entry),
                data: Some(counter_data(found.counter)),
            })
        })
    }

    fn direct_meters(&self, wanted: &DirectMeterEntry, cursor: &mut Cursor, answers: &mut dyn Sink) -> Step {
        let has = |table: &TableSchema| check_direct_meter(table).map(|_| ());
        self.direct(&wanted.table_entry, cursor, answers, &has, &|entry, found| {
            EntityKind::DirectMeterEntry(DirectMeterEntry {
                table_entry: Some(entry),
                config: found.meter.map(from_meter),
                counter_data: match wanted.counter_data {
                    Some(_) => found.marked.map(from_marked),
                    None => None,
                },
            })
        })
    }

    fn value_sets(&self, wanted: &ValueSetEntry, answers: &mut dyn Sink) -> Step {
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
        DONE
    }

    fn digests(&self, wanted: &DigestEntry, answers: &mut dyn Sink) -> Step {
        let schema = &self.state.schema;
        let only = match wanted.digest_id {
            0 => None,
            id => Some(schema.digest(id)?.0),
        };
        for (index, EnabledDigest { config, .. }) in &self.state.digests {
            if only.is_none_or(|only| only == *index) {
                answers.push(EntityKind::DigestEntry(DigestEntry {
                    digest_id: schema.digests[*index].id,
                    config: Some(*config),
                }));
            }
        }
        DONE
    }
}

/// The cells of an array that are left from the cursor on.
fn cells_from(cells: std::ops::Range<usize>, cursor: &Cursor) -> std::ops::Range<usize> {
    cells.start.max(cursor.element as usize)..cells.end
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
