//! Ports that an entity refers to, checked against the target's.

use crate::proto::entity::{EntityKind, PortKind, PreType, Replica, TableAction, TableActionType};
use crate::refusal::{Outcome, Refusal};
use crate::target::Target;
use crate::value;
use crate::watch_ports::watch_port;

/// Refuses replicas to ports and watch ports that the target does not have.
pub fn check(entity: &EntityKind, target: &dyn Target) -> Outcome<()> {
    match entity {
        EntityKind::PacketReplicationEngineEntry(entry) => match &entry.r#type {
            Some(PreType::MulticastGroupEntry(group)) => replicas(&group.replicas, target),
            Some(PreType::CloneSessionEntry(session)) => replicas(&session.replicas, target),
            None => Ok(()),
        },
        EntityKind::ActionProfileGroup(group) => {
            let mut watches = group.members.iter().map(|member| &member.watch_kind);
            watches.try_for_each(|watch| known("a member's watch port", watch_port(watch), target))
        }
        EntityKind::TableEntry(entry) => match &entry.action {
            Some(TableAction { r#type: Some(TableActionType::ActionProfileActionSet(set)) }) => {
                let actions = &set.action_profile_actions;
                let mut watches = actions.iter().map(|action| &action.watch_kind);
                watches.try_for_each(|watch| known("a member's watch port", watch_port(watch), target))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn replicas(replicas: &[Replica], target: &dyn Target) -> Outcome<()> {
    replicas.iter().try_for_each(|replica| {
        let port = match &replica.port_kind {
            Some(PortKind::EgressPort(port)) => Some(u64::from(*port)),
            // The entity is refused if this is not a port.
            Some(PortKind::Port(bytes)) => value::to_u64(bytes),
            None => None,
        };
        match port {
            Some(port) if port <= u64::from(u16::MAX) => known("a replica's port", Some(port), target),
            _ => Ok(()),
        }
    })
}

fn known(kind: &str, port: Option<u64>, target: &dyn Target) -> Outcome<()> {
    match port.map(|port| (port, u16::try_from(port))) {
        None => Ok(()),
        Some((_, Ok(port))) if target.has_port(port) => Ok(()),
        Some((port, _)) => Err(Refusal::invalid(format!("{kind} {port} does not exist on this device"))),
    }
}
