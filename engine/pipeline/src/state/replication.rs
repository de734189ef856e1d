//! The packet replication engine: multicast groups and clone sessions.

use std::collections::BTreeMap;

use crate::vocabulary::entries::{CloneSession, Replica};
use crate::vocabulary::error::ControlError;

/// Largest multicast group and clone session id that simple_switch accepts.
pub(crate) const MAX_ID: u32 = 32_767;

#[derive(Clone, Debug, Default)]
struct Group {
    /// As written.
    replicas: Vec<Replica>,
    /// Replication ids in the order in which they are served.
    nodes: Vec<u16>,
    /// In the order of replication.
    ordered: Vec<Replica>,
}

impl Group {
    /// Nodes that survive a change keep their place, new ones follow, as in simple_switch.
    fn update(&mut self, replicas: &[Replica]) {
        let mut distinct = Vec::new();
        for replica in replicas {
            if !distinct.contains(&replica.instance) {
                distinct.push(replica.instance);
            }
        }
        self.nodes.retain(|node| distinct.contains(node));
        let new: Vec<u16> =
            served_order(&distinct).into_iter().filter(|node| !self.nodes.contains(node)).collect();
        self.nodes.extend(new);
        self.ordered.clear();
        for &node in &self.nodes {
            let mut ports: Vec<Replica> = replicas.iter().filter(|r| r.instance == node).copied().collect();
            ports.sort_unstable();
            self.ordered.extend(ports);
        }
        self.replicas = replicas.to_vec();
    }
}

/// simple_switch_grpc creates the nodes of a group in the iteration order of a hash map, which
/// shows in the order of the copies. This follows the same rules: identity hash, buckets by prime
/// sizes, a new key at the front of its bucket, the bucket of a new key at the front of the list.
fn served_order(instances: &[u16]) -> Vec<u16> {
    const BUCKETS: [usize; 14] =
        [13, 29, 59, 127, 257, 541, 1_109, 2_357, 5_087, 10_273, 20_753, 42_043, 85_229, 172_933];
    let mut size = BUCKETS[0];
    let mut list: Vec<u16> = Vec::new();
    for &instance in instances {
        if list.len() + 1 > size {
            size = BUCKETS.iter().copied().find(|&buckets| buckets > list.len()).unwrap_or(size * 2);
            let old = std::mem::take(&mut list);
            for key in old {
                link(&mut list, key, size);
            }
        }
        link(&mut list, instance, size);
    }
    list
}

fn link(list: &mut Vec<u16>, key: u16, size: usize) {
    let bucket = usize::from(key) % size;
    let at = list.iter().position(|&other| usize::from(other) % size == bucket).unwrap_or(0);
    list.insert(at, key);
}

#[derive(Default)]
struct Session {
    config: CloneSession,
    group: Group,
}

/// The part of its session that a clone needs.
pub(crate) struct SessionView<'s> {
    pub replicas: &'s [Replica],
    pub class_of_service: u8,
    pub packet_length_bytes: u32,
}

#[derive(Default)]
pub(crate) struct Replication {
    groups: BTreeMap<u32, Group>,
    /// Copies by group id, for packets.
    by_id: Vec<Option<Box<[Replica]>>>,
    sessions: BTreeMap<u32, Session>,
}

type Result<T> = std::result::Result<T, ControlError>;

fn check(owner: &str, first: u32, id: u32, replicas: &[Replica], max_port: u16) -> Result<()> {
    if id < first || id > MAX_ID {
        return Err(ControlError::Invalid {
            owner: format!("{owner} {id}"),
            problem: format!("the id is out of range; valid: {first} to {MAX_ID}"),
        });
    }
    let mut seen = Vec::new();
    for replica in replicas {
        if replica.port > max_port {
            return Err(ControlError::Invalid {
                owner: format!("{owner} {id}"),
                problem: format!("no port {}; valid: 0 to {max_port}", replica.port),
            });
        }
        seen.push(*replica);
    }
    seen.sort_unstable();
    if let Some(pair) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ControlError::Invalid {
            owner: format!("{owner} {id}"),
            problem: format!("port {} instance {} is listed twice", pair[0].port, pair[0].instance),
        });
    }
    Ok(())
}

impl Replication {
    /// Copies of a group, `None` if it does not exist.
    #[inline]
    pub fn copies(&self, group: u64) -> Option<&[Replica]> {
        self.by_id.get(usize::try_from(group).ok()?)?.as_deref()
    }

    pub fn session(&self, session: u64) -> Option<SessionView<'_>> {
        let session = self.sessions.get(&u32::try_from(session).ok()?)?;
        Some(SessionView {
            replicas: &session.group.ordered,
            class_of_service: session.config.class_of_service,
            packet_length_bytes: session.config.packet_length_bytes,
        })
    }

    fn publish(&mut self, id: u32) {
        let at = id as usize;
        if self.by_id.len() <= at {
            self.by_id.resize_with(at + 1, || None);
        }
        self.by_id[at] = self.groups.get(&id).map(|group| group.ordered.clone().into_boxed_slice());
    }

    pub fn insert_group(&mut self, id: u32, replicas: &[Replica], max_port: u16) -> Result<()> {
        check("multicast group", 1, id, replicas, max_port)?;
        if self.groups.contains_key(&id) {
            return Err(ControlError::Exists { owner: format!("multicast group {id}") });
        }
        self.groups.entry(id).or_default().update(replicas);
        self.publish(id);
        Ok(())
    }

    pub fn modify_group(&mut self, id: u32, replicas: &[Replica], max_port: u16) -> Result<()> {
        check("multicast group", 1, id, replicas, max_port)?;
        self.group_mut(id)?.update(replicas);
        self.publish(id);
        Ok(())
    }

    fn group_mut(&mut self, id: u32) -> Result<&mut Group> {
        self.groups
            .get_mut(&id)
            .ok_or_else(|| ControlError::NotFound { owner: format!("multicast group {id}") })
    }

    pub fn delete_group(&mut self, id: u32) -> Result<()> {
        self.group_mut(id)?;
        self.groups.remove(&id);
        self.publish(id);
        Ok(())
    }

    pub fn read_group(&self, id: u32) -> Result<Vec<Replica>> {
        match self.groups.get(&id) {
            Some(group) => Ok(group.replicas.clone()),
            None => Err(ControlError::NotFound { owner: format!("multicast group {id}") }),
        }
    }

    pub fn group_ids(&self) -> Vec<u32> {
        self.groups.keys().copied().collect()
    }

    pub fn insert_session(&mut self, id: u32, config: &CloneSession, max_port: u16) -> Result<()> {
        check("clone session", 0, id, &config.replicas, max_port)?;
        if self.sessions.contains_key(&id) {
            return Err(ControlError::Exists { owner: format!("clone session {id}") });
        }
        let session = self.sessions.entry(id).or_default();
        session.group.update(&config.replicas);
        session.config = config.clone();
        Ok(())
    }

    pub fn modify_session(&mut self, id: u32, config: &CloneSession, max_port: u16) -> Result<()> {
        check("clone session", 0, id, &config.replicas, max_port)?;
        let session = self
            .sessions
            .get_mut(&id)
            .ok_or_else(|| ControlError::NotFound { owner: format!("clone session {id}") })?;
        session.group.update(&config.replicas);
        session.config = config.clone();
        Ok(())
    }

    pub fn delete_session(&mut self, id: u32) -> Result<()> {
        match self.sessions.remove(&id) {
            Some(_) => Ok(()),
            None => Err(ControlError::NotFound { owner: format!("clone session {id}") }),
        }
    }

    pub fn read_session(&self, id: u32) -> Result<CloneSession> {
        match self.sessions.get(&id) {
            Some(session) => Ok(session.config.clone()),
            None => Err(ControlError::NotFound { owner: format!("clone session {id}") }),
        }
    }

    pub fn session_ids(&self) -> Vec<u32> {
        self.sessions.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replica(port: u16, instance: u16) -> Replica {
        Replica { port, instance }
    }

    #[test]
    fn copies_come_by_node_then_port() {
        let mut engine = Replication::default();
        engine.insert_group(1, &[replica(3, 1), replica(1, 1), replica(2, 2)], 511).unwrap();
        // The node that was added last is served first.
        assert_eq!(engine.copies(1).unwrap(), &[replica(2, 2), replica(1, 1), replica(3, 1)]);
        engine.modify_group(1, &[replica(9, 3), replica(1, 1)], 511).unwrap();
        assert_eq!(engine.copies(1).unwrap(), &[replica(1, 1), replica(9, 3)]);
        assert!(engine.copies(2).is_none());
        engine.delete_group(1).unwrap();
        assert!(engine.copies(1).is_none());
    }

    #[test]
    fn refuses_bad_ids_and_duplicates() {
        let mut engine = Replication::default();
        assert!(engine.insert_group(0, &[], 511).is_err());
        assert!(engine.insert_group(32_768, &[], 511).is_err());
        assert!(engine.insert_group(1, &[replica(1, 1), replica(1, 1)], 511).is_err());
        assert!(engine.insert_group(1, &[replica(512, 1)], 511).is_err());
    }
}
