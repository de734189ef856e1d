//! Primary and backup controllers (section 5): their rights to write, and their notices.

use std::collections::{BTreeMap, HashMap};

use tonic::{Code, Status};

use crate::proto;
use crate::proto::stream::{MasterArbitrationUpdate, Role};
use crate::refusal::status_text;

/// One open StreamChannel.
pub type StreamId = u64;

/// A role by name and (deprecated) number; the default role has neither.
pub type RoleKey = (String, u64);

/// Longest name of a role: every notice to its controllers carries it.
pub const ROLE_BYTES: usize = 1024;
/// Streams that one role may have.
const MAX_STREAMS_PER_ROLE: usize = 64;
/// Roles of a device, which are never forgotten: their highest election id counts until the end.
const MAX_ROLES: usize = 256;

#[derive(Debug, Default)]
struct RoleState {
    /// The highest election id ever seen from a primary.
    highest: Option<u128>,
    primary: Option<StreamId>,
}

#[derive(Debug)]
struct Controller {
    role: RoleKey,
    election_id: Option<u128>,
}

/// The controllers of one device.
#[derive(Debug, Default)]
pub struct Arbiter {
    roles: BTreeMap<RoleKey, RoleState>,
    controllers: HashMap<StreamId, Controller>,
}

/// The refusal of a request for a role that no controller has claimed.
pub fn unknown_role(name: &str) -> Status {
    Status::not_found(format!("no controller has the role '{}'", status_text(name)))
}

/// Notifications to send, in order.
pub type Notices = Vec<(StreamId, MasterArbitrationUpdate)>;

impl Arbiter {
    /// Handles an arbitration message of a stream.
    ///
    /// # Errors
    /// The status that the stream is to be closed with (section 5.3).
    pub fn update(
        &mut self,
        device_id: u64,
        stream: StreamId,
        message: &MasterArbitrationUpdate,
    ) -> Result<Notices, Status> {
        let role: RoleKey = match &message.role {
            None => RoleKey::default(),
            Some(role) => (role.name.clone(), role.id),
        };
        if role.0.len() > ROLE_BYTES {
            return Err(Status::invalid_argument(format!(
                "role.name has {} bytes; valid: at most {ROLE_BYTES}",
                role.0.len()
            )));
        }
        let known = self.controllers.get(&stream).map(|controller| controller.role.clone());
        if message.device_id != device_id {
            let text = format!("device_id {} is not this device; valid: {device_id}", message.device_id);
            return Err(match known {
                None => Status::not_found(text),
                Some(_) => Status::failed_precondition(text),
            });
        }
        if known.as_ref().is_some_and(|known| *known != role) {
            return Err(Status::failed_precondition("a stream cannot change its role; open a new one"));
        }
        if message.role.as_ref().is_some_and(|role| role.config.is_some()) {
            return Err(Status::invalid_argument(
                "role.config is not supported: leave it unset for full access",
            ));
        }
        let election_id = message.election_id.map(|id| id.value());
        let mut others = self.controllers.iter().filter(|(id, _)| **id != stream);
        if election_id.is_some()
            && others.any(|(_, other)| other.role == role && other.election_id == election_id)
        {
            return Err(Status::invalid_argument(format!(
                "election_id {} is used by another controller",
                election_id.unwrap_or_default()
            )));
        }
        let count = self.controllers.values().filter(|other| other.role == role).count();
        if known.is_none() && count >= MAX_STREAMS_PER_ROLE {
            return Err(Status::resource_exhausted(format!("the role has {count} streams already")));
        }
        if !self.roles.contains_key(&role) && self.roles.len() >= MAX_ROLES {
            return Err(Status::resource_exhausted(format!("the device has {MAX_ROLES} roles already")));
        }
        let was_primary = self.primary(&role) == Some(stream);
        self.controllers.insert(stream, Controller { role: role.clone(), election_id });
        let state = self.roles.entry(role.clone()).or_default();
        if election_id.is_some() && election_id >= state.highest {
            state.highest = election_id;
            state.primary = Some(stream);
            return Ok(self.notices(device_id, &role, None));
        }
        if was_primary {
            state.primary = None;
        }
        match was_primary {
            true => Ok(self.notices(device_id, &role, None)),
            false => Ok(self.notices(device_id, &role, Some(stream))),
        }
    }

    /// Forgets a stream; tells the others when it was the primary.
    pub fn close(&mut self, device_id: u64, stream: StreamId) -> Notices {
        let Some(role) = self.controllers.get(&stream).map(|one| one.role.clone()) else {
            return Notices::new();
        };
        let was_primary = self.primary(&role) == Some(stream);
        self.controllers.remove(&stream);
        if let Some(state) = self.roles.get_mut(&role).filter(|_| was_primary) {
            state.primary = None;
        }
        match was_primary {
            true => self.notices(device_id, &role, None),
            false => Notices::new(),
        }
    }

    /// The primary stream of a role.
    pub fn primary(&self, role: &RoleKey) -> Option<StreamId> {
        self.roles.get(role)?.primary
    }

    /// The primary streams of all roles, each with whether its role is the default one.
    pub fn primaries(&self) -> Vec<(StreamId, bool)> {
        let roles = self.roles.iter();
        roles.filter_map(|(role, state)| Some((state.primary?, *role == RoleKey::default()))).collect()
    }

    /// True when this stream is the primary of its role.
    pub fn is_primary(&self, stream: StreamId) -> bool {
        self.controllers.get(&stream).is_some_and(|one| self.primary(&one.role) == Some(stream))
    }

    /// Checks that a request comes from the primary of its role (section 12).
    ///
    /// # Errors
    /// NOT_FOUND for a role that no controller has claimed, PERMISSION_DENIED otherwise.
    pub fn check(&self, role: &RoleKey, election_id: Option<u128>) -> Result<(), Status> {
        if *role != RoleKey::default() && !self.roles.contains_key(role) {
            return Err(unknown_role(&role.0));
        }
        let primary = self.primary(role);
        let primary_id = primary.and_then(|id| self.controllers[&id].election_id);
        if primary.is_none() {
            return Err(Status::permission_denied(
                "there is no primary controller; send an arbitration update first",
            ));
        }
        // An election id that is not set is lower than any, 0 included (section 16.2.1).
        if primary_id != election_id {
            let text = |id: Option<u128>| id.map_or("none".to_string(), |id| id.to_string());
            return Err(Status::permission_denied(format!(
                "not primary: the request has election_id {}, the primary has {}",
                text(election_id),
                text(primary_id)
            )));
        }
        Ok(())
    }

    fn notices(&self, device_id: u64, role: &RoleKey, only: Option<StreamId>) -> Notices {
        let primary = self.primary(role);
        let highest = self.roles.get(role).and_then(|state| state.highest);
        let mut streams: Vec<StreamId> = self
            .controllers
            .iter()
            .filter(|(id, one)| one.role == *role && only.is_none_or(|only| only == **id))
            .map(|(id, _)| *id)
            .collect();
        // Backups first, then the primary (section 5.3).
        streams.sort_by_key(|id| (Some(*id) == primary, *id));
        streams
            .into_iter()
            .map(|stream| {
                let (code, text) = match primary {
                    Some(id) if id == stream => (Code::Ok, "this controller is primary"),
                    Some(_) => (Code::AlreadyExists, "another controller is primary"),
                    None => (Code::NotFound, "there is no primary controller"),
                };
                let update = MasterArbitrationUpdate {
                    device_id,
                    role: (*role != RoleKey::default()).then(|| Role {
                        id: role.1,
                        name: role.0.clone(),
                        config: None,
                    }),
                    election_id: highest.map(proto::Uint128::from),
                    status: Some(proto::Status {
                        code: code as i32,
                        message: text.to_string(),
                        details: Vec::new(),
                    }),
                };
                (stream, update)
            })
            .collect()
    }
}
