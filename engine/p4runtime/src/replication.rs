//! The packet replication engine: multicast groups and clone sessions (section 9.5).

use std::collections::BTreeSet;

use p4mesh_pipeline::{CloneSession, Replica as PipelineReplica, Switch};

use crate::cursor::{Cursor, Sink, Step, DONE};
use crate::proto::entity::{
    CloneSessionEntry, EntityKind, MulticastGroupEntry, PacketReplicationEngineEntry, PortKind, PreType,
    Replica,
};
use crate::proto::service::UpdateType;
use crate::refusal::{Outcome, Refusal};
use crate::state::{MulticastExtra, State, Writer};
use crate::value;

/// Group ids of simple_switch are below 32768.
const LAST_GROUP: u32 = 32_767;
/// Session ids of simple_switch are below 32768.
const LAST_SESSION: u32 = 32_767;
/// Queues per port of simple_switch: classes of service 0 to 7.
const LAST_CLASS: u32 = 7;

fn check_id(kind: &str, id: u32, last: u32) -> Outcome<()> {
    let message = || format!("{kind} {id} is not in 1 to {last}");
    match id {
        0 => Err(Refusal::invalid(message())),
        id if id > last => Err(Refusal::out_of_range(message())),
        _ => Ok(()),
    }
}

/// Replicas of the pipeline, and whether the deprecated numeric port field was used.
fn to_replicas(owner: &str, replicas: &[Replica]) -> Outcome<(Vec<PipelineReplica>, bool)> {
    let mut numeric = false;
    let mut seen = BTreeSet::new();
    let mut list = Vec::with_capacity(replicas.len());
    for replica in replicas {
        if !replica.backup_replicas.is_empty() {
            return Err(Refusal::unimplemented(format!("{owner}: backup replicas are not supported")));
        }
        let port = match &replica.port_kind {
            None => return Err(Refusal::invalid(format!("{owner}: a replica has no port"))),
            Some(PortKind::EgressPort(port)) => {
                numeric = true;
                Some(u64::from(*port))
            }
            Some(PortKind::Port(bytes)) if bytes.is_empty() => {
                return Err(Refusal::invalid(format!("{owner}: a replica has an empty port")))
            }
            Some(PortKind::Port(bytes)) => value::to_u64(bytes),
        };
        let Some(port) = port.and_then(|port| u16::try_from(port).ok()) else {
            return Err(Refusal::invalid(format!("{owner}: a replica's port is above 65535")));
        };
        let Ok(instance) = u16::try_from(replica.instance) else {
            return Err(Refusal::invalid(format!("{owner}: instance {} is above 65535", replica.instance)));
        };
        let item = PipelineReplica { port, instance };
        if !seen.insert(item) {
            return Err(Refusal::invalid(format!(
                "{owner}: port {port} with instance {instance} is given twice"
            )));
        }
        list.push(item);
    }
    Ok((list, numeric))
}

fn from_replicas(replicas: &[PipelineReplica], numeric: bool) -> Vec<Replica> {
    replicas
        .iter()
        .map(|replica| Replica {
            port_kind: Some(match numeric {
                true => PortKind::EgressPort(u32::from(replica.port)),
                false => PortKind::Port(value::from_u64(u64::from(replica.port))),
            }),
            instance: u32::from(replica.instance),
            backup_replicas: Vec::new(),
        })
        .collect()
}

impl Writer<'_> {
    /// Handles a PacketReplicationEngineEntry.
    pub fn write_replication(
        &mut self,
        kind: UpdateType,
        entry: &PacketReplicationEngineEntry,
    ) -> Outcome<()> {
        match &entry.r#type {
            Some(PreType::MulticastGroupEntry(group)) => self.write_multicast(kind, group),
            Some(PreType::CloneSessionEntry(session)) => self.write_session(kind, session),
            None => {
                Err(Refusal::invalid("packet_replication_engine_entry: neither group nor session is set"))
            }
        }
    }

    fn write_multicast(&mut self, kind: UpdateType, entry: &MulticastGroupEntry) -> Outcome<()> {
        let id = entry.multicast_group_id;
        check_id("multicast group", id, LAST_GROUP)?;
        let owner = format!("multicast group {id}");
        let before = match self.keeps_undo() && kind != UpdateType::Insert {
            true => self.switch.multicast_read(id).ok(),
            false => None,
        };
        let old_extra = self.state.multicast.get(&id).cloned();
        match kind {
            UpdateType::Delete => {
                self.switch.multicast_delete(id)?;
                self.state.multicast.remove(&id);
            }
            _ => {
                let (replicas, numeric_ports) = to_replicas(&owner, &entry.replicas)?;
                match kind {
                    UpdateType::Insert => self.switch.multicast_insert(id, &replicas)?,
                    _ => self.switch.multicast_modify(id, &replicas)?,
                }
                let extra = MulticastExtra {
                    metadata: bytes::Bytes::copy_from_slice(&entry.metadata),
                    numeric_ports,
                };
                self.state.multicast.insert(id, extra);
            }
        }
        self.on_undo(|| {
            Box::new(move |writer| {
                match (before, kind) {
                    (Some(replicas), UpdateType::Delete) => writer.switch.multicast_insert(id, &replicas)?,
                    (Some(replicas), _) => writer.switch.multicast_modify(id, &replicas)?,
                    (None, _) => writer.switch.multicast_delete(id)?,
                }
                match old_extra {
                    Some(extra) => writer.state.multicast.insert(id, extra),
                    None => writer.state.multicast.remove(&id),
                };
                Ok(())
            })
        });
        Ok(())
    }

    fn write_session(&mut self, kind: UpdateType, entry: &CloneSessionEntry) -> Outcome<()> {
        let id = entry.session_id;
        check_id("clone session", id, LAST_SESSION)?;
        let owner = format!("clone session {id}");
        let before = match self.keeps_undo() && kind != UpdateType::Insert {
            true => self.switch.clone_session_read(id).ok(),
            false => None,
        };
        let old_numeric = self.state.numeric_sessions.get(&id).copied();
        match kind {
            UpdateType::Delete => {
                self.switch.clone_session_delete(id)?;
                self.state.numeric_sessions.remove(&id);
            }
            _ => {
                let (replicas, numeric) = to_replicas(&owner, &entry.replicas)?;
                if entry.packet_length_bytes < 0 {
                    return Err(Refusal::invalid(format!("{owner}: packet_length_bytes is negative")));
                }
                if entry.class_of_service > LAST_CLASS {
                    return Err(Refusal::invalid(format!(
                        "{owner}: class of service {} is not in 0 to {LAST_CLASS}",
                        entry.class_of_service
                    )));
                }
                let config = CloneSession {
                    replicas,
                    class_of_service: entry.class_of_service as u8,
                    packet_length_bytes: entry.packet_length_bytes as u32,
                };
                match kind {
                    UpdateType::Insert => self.switch.clone_session_insert(id, &config)?,
                    _ => self.switch.clone_session_modify(id, &config)?,
                }
                self.state.numeric_sessions.insert(id, numeric);
            }
        }
        self.on_undo(|| {
            Box::new(move |writer| {
                match (before, kind) {
                    (Some(config), UpdateType::Delete) => writer.switch.clone_session_insert(id, &config)?,
                    (Some(config), _) => writer.switch.clone_session_modify(id, &config)?,
                    (None, _) => writer.switch.clone_session_delete(id)?,
                }
                match old_numeric {
                    Some(numeric) => writer.state.numeric_sessions.insert(id, numeric),
                    None => writer.state.numeric_sessions.remove(&id),
                };
                Ok(())
            })
        });
        Ok(())
    }
}

/// The groups or sessions that a read names; id 0 is all.
pub fn read(
    state: &State,
    switch: &Switch,
    wanted: &PacketReplicationEngineEntry,
    cursor: &mut Cursor,
    answers: &mut dyn Sink,
) -> Step {
    let mut push = |id: u32, kind: PreType, cursor: &mut Cursor| {
        let entry = PacketReplicationEngineEntry { r#type: Some(kind) };
        answers.push(EntityKind::PacketReplicationEngineEntry(entry));
        cursor.after(u64::from(id), answers)
    };
    let first = cursor.element;
    match &wanted.r#type {
        None => Err(Refusal::invalid("packet_replication_engine_entry: neither group nor session is set")),
        Some(PreType::MulticastGroupEntry(group)) => {
            let ids = match group.multicast_group_id {
                0 => switch.multicast_groups(),
                id => vec![id],
            };
            for id in ids.into_iter().filter(|id| u64::from(*id) >= first) {
                let extra = state.multicast.get(&id).cloned().unwrap_or_default();
                let kind = PreType::MulticastGroupEntry(MulticastGroupEntry {
                    multicast_group_id: id,
                    replicas: from_replicas(&switch.multicast_read(id)?, extra.numeric_ports),
                    metadata: extra.metadata,
                });
                if push(id, kind, cursor).is_none() {
                    return Ok(None);
                }
            }
            DONE
        }
        Some(PreType::CloneSessionEntry(session)) => {
            let ids = match session.session_id {
                0 => switch.clone_sessions(),
                id => vec![id],
            };
            for id in ids.into_iter().filter(|id| u64::from(*id) >= first) {
                let config = switch.clone_session_read(id)?;
                let numeric = state.numeric_sessions.get(&id).copied().unwrap_or_default();
                let kind = PreType::CloneSessionEntry(CloneSessionEntry {
                    session_id: id,
                    replicas: from_replicas(&config.replicas, numeric),
                    class_of_service: u32::from(config.class_of_service),
                    packet_length_bytes: config.packet_length_bytes as i32,
                });
                if push(id, kind, cursor).is_none() {
                    return Ok(None);
                }
            }
            DONE
        }
    }
}
