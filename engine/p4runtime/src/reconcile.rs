//! RECONCILE_AND_COMMIT (section 14): forwarding state as updates that write it again.

use p4mesh_pipeline::{CounterCell, EntryAction, Executable, Switch, SwitchConfig};

use crate::cells::direct_place;
use crate::cursor::Cursor;
use crate::proto::entity::*;
use crate::proto::service::{Update, UpdateType};
use crate::reader::Reader;
use crate::refusal::{Outcome, Refusal};
use crate::state::{State, Writer};

fn update(kind: UpdateType, entity: EntityKind) -> Update {
    Update { r#type: kind as i32, entity: Some(Entity { entity: Some(entity) }) }
}

/// The state of a switch that differs from that of a fresh one, as updates in an order that works.
pub fn dump(state: &State, switch: &Switch, now_ps: u64) -> Outcome<Vec<Update>> {
    let reader = Reader { state, switch, now_ps };
    let all = |wanted: EntityKind| -> Outcome<Vec<EntityKind>> {
        let mut found = Vec::new();
        let wanted = Entity { entity: Some(wanted) };
        reader.read(&wanted, &mut Cursor::default(), &mut found)?;
        Ok(found)
    };
    let mut updates = Vec::new();
    let mut insert = |found: Vec<EntityKind>, kind: UpdateType| {
        updates.extend(found.into_iter().map(|entity| update(kind, entity)));
    };
    insert(all(EntityKind::ActionProfileMember(ActionProfileMember::default()))?, UpdateType::Insert);
    insert(all(EntityKind::ActionProfileGroup(ActionProfileGroup::default()))?, UpdateType::Insert);
    let fresh = Switch::new(switch.executable().clone(), SwitchConfig::default());
    for table in &state.schema.tables {
        let wanted = TableEntry {
            table_id: table.id,
            counter_data: table.direct_counter.map(|_| CounterData::default()),
            meter_config: table.direct_meter.map(|_| MeterConfig::default()),
            meter_counter_data: table.direct_meter.map(|_| MeterCounterData::default()),
            ..TableEntry::default()
        };
        if !table.const_entries {
            insert(all(EntityKind::TableEntry(wanted.clone()))?, UpdateType::Insert);
        }
        let changed = switch.table_default(&table.name)? != fresh.table_default(&table.name)?;
        let wanted = TableEntry { is_default_action: true, ..wanted };
        let mut found = all(EntityKind::TableEntry(wanted))?;
        for entity in &mut found {
            if let EntityKind::TableEntry(entry) = entity {
                // Without an action only the direct resources are written.
                entry.action = entry.action.take().filter(|_| changed);
            }
        }
        found.retain(|entity| changed || is_set(entity));
        insert(found, UpdateType::Modify);
    }
    let cells = [
        EntityKind::CounterEntry(CounterEntry::default()),
        EntityKind::MeterEntry(MeterEntry {
            counter_data: Some(MeterCounterData::default()),
            ..MeterEntry::default()
        }),
        EntityKind::RegisterEntry(RegisterEntry::default()),
        EntityKind::ValueSetEntry(ValueSetEntry::default()),
    ];
    for wanted in cells {
        let mut found = all(wanted)?;
        found.retain(is_set);
        insert(found, UpdateType::Modify);
    }
    let groups = PreType::MulticastGroupEntry(MulticastGroupEntry::default());
    let sessions = PreType::CloneSessionEntry(CloneSessionEntry::default());
    for kind in [groups, sessions] {
        let wanted = PacketReplicationEngineEntry { r#type: Some(kind) };
        insert(all(EntityKind::PacketReplicationEngineEntry(wanted))?, UpdateType::Insert);
    }
    insert(all(EntityKind::DigestEntry(DigestEntry::default()))?, UpdateType::Insert);
    Ok(updates)
}

/// False for a cell that has the value of a fresh switch.
fn is_set(entity: &EntityKind) -> bool {
    let counted = |data: &Option<CounterData>| data.is_some_and(|data| data != Default::default());
    let marked = |data: &Option<MeterCounterData>| {
        let data = data.unwrap_or_default();
        [data.green, data.yellow, data.red].iter().any(counted)
    };
    match entity {
        EntityKind::TableEntry(entry) => {
            entry.meter_config.is_some() || counted(&entry.counter_data) || marked(&entry.meter_counter_data)
        }
        EntityKind::CounterEntry(entry) => counted(&entry.data),
        EntityKind::MeterEntry(entry) => entry.config.is_some() || marked(&entry.counter_data),
        EntityKind::RegisterEntry(entry) => match entry.data.as_ref().and_then(|data| data.data.as_ref()) {
            Some(P4DataKind::Bitstring(bytes)) | Some(P4DataKind::EnumValue(bytes)) => {
                !crate::value::is_zero(bytes)
            }
            Some(P4DataKind::Bool(on)) => *on,
            _ => false,
        },
        EntityKind::ValueSetEntry(entry) => !entry.members.is_empty(),
        _ => true,
    }
}

/// Writes a dump into a fresh switch.
///
/// # Errors
/// INVALID_ARGUMENT that names the first entity that the new config cannot hold. Counters, meters
/// and registers that the new P4Info no longer has are left out.
pub fn replay(state: &mut State, switch: &mut Switch, updates: &[Update], now_ps: u64) -> Outcome<()> {
    for table in state.schema.tables.iter().filter(|table| !table.const_entries) {
        // Entries that the program brings along give way to the preserved ones.
        let mut initial = Vec::new();
        switch.table_for_each(&table.name, &mut |read| initial.push(read.entry))?;
        for entry in initial {
            if !matches!(entry.action, EntryAction::Direct(_)) {
                continue;
            }
            switch.table_delete(&table.name, &entry.key, entry.priority)?;
        }
    }
    let mut writer = Writer { state, switch, now_ps, undo: None };
    for update in updates {
        let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
        let schema = &writer.state.schema;
        let gone = match entity {
            Some(EntityKind::CounterEntry(entry)) => schema.counter(entry.counter_id).is_err(),
            Some(EntityKind::MeterEntry(entry)) => schema.meter(entry.meter_id).is_err(),
            Some(EntityKind::RegisterEntry(entry)) => schema.register(entry.register_id).is_err(),
            _ => false,
        };
        if gone {
            continue;
        }
        preserve(&mut writer, update).map_err(|refusal| {
            Refusal::invalid(format!("the forwarding state cannot be preserved: {}", refusal.message))
        })?;
    }
    Ok(())
}

/// Writes an entity of a dump. Counts are put back as they were: a controller cannot write those of
/// a meter, nor the half of a counter that its unit does not name.
fn preserve(writer: &mut Writer, update: &Update) -> Outcome<()> {
    let mut update = update.clone();
    let mut marked = None;
    if let Some(Entity { entity: Some(entity) }) = &mut update.entity {
        marked = match entity {
            EntityKind::TableEntry(entry) => entry.meter_counter_data.take(),
            EntityKind::MeterEntry(entry) => entry.counter_data.take(),
            _ => None,
        };
    }
    writer.apply(&update)?;
    let marked = marked.map(|data| [data.green, data.yellow, data.red]);
    let marked = marked.map(|colours| colours.map(|data| cell(&data.unwrap_or_default())));
    let Some(Entity { entity: Some(entity) }) = &update.entity else {
        return Ok(());
    };
    let schema = writer.state.schema.clone();
    match entity {
        EntityKind::TableEntry(entry) => {
            let (table, place) = direct_place(&schema, &Some(entry.clone()))?;
            if let Some(data) = &entry.counter_data {
                let switch = &mut writer.switch;
                switch.direct_counter_write(&table.name, place.as_ref(), cell(data))?;
            }
            if let Some(marked) = marked {
                let switch = &mut writer.switch;
                switch.direct_meter_set_marked(&table.name, place.as_ref(), marked)?;
            }
        }
        EntityKind::CounterEntry(CounterEntry { counter_id, index: Some(index), data: Some(data) }) => {
            let name = &schema.counter(*counter_id)?.1.array.name;
            let index = index.index as usize;
            writer.switch.counter_write(name, index, cell(data))?;
        }
        EntityKind::MeterEntry(MeterEntry { meter_id, index: Some(index), .. }) => {
            let name = &schema.meter(*meter_id)?.1.array.name;
            let marked = marked.unwrap_or_default();
            writer.switch.meter_set_marked(name, index.index as usize, marked)?;
        }
        _ => {}
    }
    Ok(())
}

fn cell(data: &CounterData) -> CounterCell {
    CounterCell { packets: data.packet_count as u64, bytes: data.byte_count as u64 }
}

/// A switch of its own for a program that the target does not run.
pub fn scratch(executable: &std::sync::Arc<Executable>) -> Switch {
    Switch::new(executable.clone(), SwitchConfig::default())
}
