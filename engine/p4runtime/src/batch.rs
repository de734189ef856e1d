//! Write batches (sections 12.1 and 12.2): the updates of a request, in order, with atomicity.

use bytes::Bytes;
use p4mesh_pipeline::Switch;
use prost::Message;
use tonic::Code;

use crate::memory::{decoded_bytes, Share};
use crate::ports;
use crate::proto::entity::EntityKind;
use crate::proto::service::{Atomicity, Update, UpdateType};
use crate::refusal::{Outcome, Outcomes, Refusal};
use crate::state::{State, Undo, Writer};
use crate::target::Target;

/// Updates that run under one hold of the target's lock, where atomicity allows a break.
pub const SLICE: usize = 256;

impl Writer<'_> {
    /// Applies one update.
    pub fn apply(&mut self, update: &Update) -> Outcome<()> {
        let kind = match UpdateType::try_from(update.r#type) {
            Ok(UpdateType::Unspecified) | Err(_) => {
                return Err(Refusal::invalid(format!(
                    "update type {} is not valid; valid: INSERT, MODIFY, DELETE",
                    update.r#type
                )))
            }
            Ok(kind) => kind,
        };
        let Some(entity) = update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) else {
            return Err(Refusal::invalid("the update has no entity"));
        };
        match entity {
            EntityKind::TableEntry(entry) => self.write_table_entry(kind, entry),
            EntityKind::ActionProfileMember(entry) => self.write_member(kind, entry),
            EntityKind::ActionProfileGroup(entry) => self.write_group(kind, entry),
            EntityKind::MeterEntry(entry) => self.write_meter(kind, entry),
            EntityKind::DirectMeterEntry(entry) => self.write_direct_meter(kind, entry),
            EntityKind::CounterEntry(entry) => self.write_counter(kind, entry),
            EntityKind::DirectCounterEntry(entry) => self.write_direct_counter(kind, entry),
            EntityKind::PacketReplicationEngineEntry(entry) => self.write_replication(kind, entry),
            EntityKind::ValueSetEntry(entry) => self.write_value_set(kind, entry),
            EntityKind::RegisterEntry(entry) => self.write_register(kind, entry),
            EntityKind::DigestEntry(entry) => self.write_digest(kind, entry),
            EntityKind::ExternEntry(entry) => Err(Refusal::unimplemented(format!(
                "extern type {:#x} is not supported",
                entry.extern_type_id
            ))),
        }
    }
}

/// Program and switch of a batch: the committed program on the target, or a saved one on a switch of its
/// own.
pub enum Place<'a> {
    Target(&'a mut dyn Target),
    Saved(&'a mut Switch),
}

impl Place<'_> {
    fn now_ps(&self) -> u64 {
        match self {
            Place::Target(target) => target.now_ps(),
            Place::Saved(_) => 0,
        }
    }

    fn check(&self, update: &Update) -> Outcome<()> {
        let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
        match (self, entity) {
            (Place::Target(target), Some(entity)) => ports::check(entity, *target),
            _ => Ok(()),
        }
    }

    pub fn switch(&mut self) -> Outcome<&mut Switch> {
        match self {
            Place::Saved(switch) => Ok(switch),
            Place::Target(target) => {
                target.switch().ok_or_else(|| Refusal::precondition("the target has no program"))
            }
        }
    }
}

/// An update, with the memory that it takes.
pub struct Decoded {
    pub update: Update,
    _room: Option<Share>,
}

/// Takes an update apart.
///
/// # Errors
/// INVALID_ARGUMENT for bytes that are no update, RESOURCE_EXHAUSTED where there is no memory for it.
pub fn decoded(update: &[u8], request: &Share) -> Outcome<Decoded> {
    Ok(Decoded { _room: room(update, request)?, update: decode(update, "update")? })
}

/// An update of a log, which was applied before.
pub fn logged(update: &Bytes) -> Outcome<Decoded> {
    Ok(Decoded { update: decode(update, "update")?, _room: None })
}

/// Decodes an element of a request into buffers of its own, so that what is kept of it does not keep the request.
pub fn decode<T: Message + Default>(element: &[u8], what: &str) -> Outcome<T> {
    T::decode(element).map_err(|error| Refusal::invalid(format!("the {what} cannot be decoded: {error}")))
}

/// The memory for an element that is taken apart.
pub fn room(element: &[u8], request: &Share) -> Outcome<Option<Share>> {
    match decoded_bytes(element) {
        0 => Ok(None),
        bytes => request.beside(bytes).map(Some),
    }
}

/// Applies updates one by one and notes each outcome.
pub fn continue_on_error(
    state: &mut State,
    mut place: Place,
    updates: impl Iterator<Item = Outcome<Decoded>>,
    note: &mut dyn FnMut(&Outcome<()>),
) {
    let now_ps = place.now_ps();
    for update in updates {
        note(&update.and_then(|Decoded { update, .. }| {
            place.check(&update)?;
            let switch = place.switch()?;
            let mut writer = Writer { state, switch, now_ps, undo: None };
            writer.apply(&update)
        }));
    }
}

/// About the memory that taking back one update takes.
const UNDO_BYTES: usize = 1 << 10;

/// Applies all updates or none. The target is locked throughout, so that the batch is atomic for
/// the data plane too.
///
/// # Errors
/// The number of the update that failed, and why.
pub fn all_or_none(
    state: &mut State,
    mut place: Place,
    updates: impl Iterator<Item = Outcome<Decoded>>,
    request: &Share,
) -> Result<(), (usize, Refusal)> {
    let now_ps = place.now_ps();
    let mut undo: Vec<Undo> = Vec::new();
    let mut room = request.beside(0).map_err(|refusal| (0, refusal))?;
    let mut failure = None;
    for (index, update) in updates.enumerate() {
        let outcome = update.and_then(|Decoded { update, .. }| {
            room.grow(UNDO_BYTES)?;
            place.check(&update)?;
            let switch = place.switch()?;
            let mut writer = Writer { state, switch, now_ps, undo: Some(std::mem::take(&mut undo)) };
            let outcome = writer.apply(&update);
            undo = writer.undo.take().unwrap_or_default();
            outcome
        });
        if let Err(refusal) = outcome {
            failure = Some((index, refusal));
            break;
        }
    }
    let Some((failed, mut refusal)) = failure else { return Ok(()) };
    if let Ok(switch) = place.switch() {
        let mut writer = Writer { state, switch, now_ps, undo: None };
        for step in undo.into_iter().rev() {
            if let Err(problem) = step(&mut writer) {
                refusal.code = Code::Internal;
                refusal.message.push_str(&format!(
                    "; taking back the updates before it failed too: {}",
                    problem.message
                ));
                break;
            }
        }
    }
    Err((failed, refusal))
}

/// Notes the outcomes of an all-or-none batch of `count` updates: when one failed, the others are ABORTED.
pub fn note_all_or_none(count: usize, outcome: Result<(), (usize, Refusal)>, outcomes: &mut Outcomes) {
    let Err((failed, refusal)) = outcome else { return };
    let aborted = Err(Refusal::aborted(format!("not applied: update number {failed} failed")));
    for index in 0..count {
        match index == failed {
            true => outcomes.add(&Err(refusal.clone())),
            false => outcomes.add(&aborted),
        }
    }
}

/// The atomicity of a request.
pub fn atomicity(value: i32) -> Outcome<Atomicity> {
    Atomicity::try_from(value).map_err(|_| Refusal::invalid(format!("atomicity {value} is not valid")))
}
