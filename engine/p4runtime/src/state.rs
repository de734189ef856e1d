//! State of P4Runtime beside the switch: controller metadata, one-shot groups, group sizes. All forwarding state is in
//! the [`Switch`]; this is the state that reads must return.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use p4mesh_pipeline::{KeyMatch, Switch};

use crate::proto::entity::{ActionProfileActionSet, DigestConfig, GroupMember};
use crate::refusal::Refusal;
use crate::schema::Schema;

/// Opaque values of a table entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryExtra {
    pub controller_metadata: u64,
    pub metadata: Bytes,
}

impl EntryExtra {
    /// True when there is nothing to remember.
    pub fn is_default(&self) -> bool {
        self.controller_metadata == 0 && self.metadata.is_empty()
    }
}

/// A table entry within its table.
pub type EntryKey = (Vec<KeyMatch>, i32);

/// Members and groups from this id on belong to one-shot entries and are not shown.
pub const FIRST_HIDDEN_ID: u32 = 0x8000_0000;

/// A group that the server made for a one-shot entry.
#[derive(Clone, Debug, PartialEq)]
pub struct OneShot {
    pub actions: ActionProfileActionSet,
    pub members: Vec<u32>,
}

/// Data of a group that the pipeline does not keep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupExtra {
    pub max_size: i32,
    /// As they were written, with watch ports.
    pub members: Vec<GroupMember>,
}

/// A digest that is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnabledDigest {
    pub config: DigestConfig,
    /// Differs each time that the digest is enabled: what was sent before does not count then.
    pub number: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MulticastExtra {
    pub metadata: Bytes,
    /// Written with the deprecated numeric port field.
    pub numeric_ports: bool,
}

/// State of one committed or saved config.
#[derive(Clone, Default)]
pub struct State {
    pub schema: Arc<Schema>,
    /// By table; only entries with something to remember.
    pub entries: Vec<HashMap<EntryKey, EntryExtra>>,
    /// By table.
    pub defaults: Vec<EntryExtra>,
    /// True once an entry with an idle timeout was written, by table.
    pub idle_used: Vec<bool>,
    /// By (profile, group).
    pub one_shots: BTreeMap<(usize, u32), OneShot>,
    /// By (profile, group).
    pub groups: BTreeMap<(usize, u32), GroupExtra>,
    /// Members that controllers made, by profile.
    pub member_counts: Vec<usize>,
    pub next_hidden_id: u32,
    /// Ports whose link is down, for members that watch one.
    pub ports_down: BTreeSet<u16>,
    pub multicast: BTreeMap<u32, MulticastExtra>,
    /// Sessions written with the deprecated numeric port field.
    pub numeric_sessions: BTreeMap<u32, bool>,
    /// By digest.
    pub digests: BTreeMap<usize, EnabledDigest>,
    /// Number of times that a digest was enabled.
    pub digests_enabled: u64,
}

impl State {
    pub fn new(schema: Arc<Schema>) -> State {
        State {
            entries: vec![HashMap::new(); schema.tables.len()],
            defaults: vec![EntryExtra::default(); schema.tables.len()],
            idle_used: vec![false; schema.tables.len()],
            member_counts: vec![0; schema.profiles.len()],
            next_hidden_id: FIRST_HIDDEN_ID,
            schema,
            ..State::default()
        }
    }

    /// True when entries of the profile's tables are programmed in one shot.
    pub fn uses_one_shots(&self, profile: usize) -> bool {
        self.one_shots.range((profile, 0)..(profile + 1, 0)).next().is_some()
    }
}

/// Takes back one update. Runs in reverse order of the updates, so it cannot fail.
pub type Undo = Box<dyn FnOnce(&mut Writer) -> Result<(), Refusal> + Send>;

/// One batch at work on a state and a switch.
pub struct Writer<'a> {
    pub state: &'a mut State,
    pub switch: &'a mut Switch,
    pub now_ps: u64,
    /// Collects how to take the updates back, in all-or-none batches.
    pub undo: Option<Vec<Undo>>,
}

impl Writer<'_> {
    /// Remembers how to take an update back, in all-or-none batches.
    pub fn on_undo(
        &mut self,
        make: impl FnOnce() -> Box<dyn FnOnce(&mut Writer) -> Result<(), Refusal> + Send>,
    ) {
        if let Some(list) = &mut self.undo {
            list.push(make());
        }
    }

    pub fn keeps_undo(&self) -> bool {
        self.undo.is_some()
    }
}
