//! One device behind the server: its configs, controllers and the calls on them. Everything here
//! is synchronous; [`crate::service`] brings it to gRPC.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, MutexGuard, TryLockError};

use bytes::Bytes;
use p4mesh_pipeline::{Executable, Switch};
use prost::Message;
use tonic::{Code, Status};

use crate::arbitration::{unknown_role, Arbiter, Notices, RoleKey, StreamId, ROLE_BYTES};
use crate::batch::{self, decode, Place};
use crate::claim::{Claim, WriteMode};
use crate::digests::Digests;
use crate::idle::IdleTracker;
use crate::intake::Received;
use crate::memory::{Elements, Share};
use crate::proto::service::*;
use crate::proto::stream::*;
use crate::reader::{Answers, Read, Reader};
use crate::realization::{realize, Realized};
use crate::reconcile;
use crate::refusal::{Outcome, Outcomes, Refusal, ERROR_SPACE};
use crate::state::State;
use crate::target::{lock, Event, SharedTarget, Target};

/// A verified config.
struct Config {
    raw: ForwardingPipelineConfig,
    executable: Arc<Executable>,
    state: State,
}

/// A config that is saved and not committed: writes go to a switch of its own and into a log that
/// the commit replays.
struct Saved {
    config: Config,
    switch: Switch,
    /// Updates that were applied, as they came.
    log: Vec<Bytes>,
    /// The memory of the log.
    room: Option<Share>,
}

/// Memory of an update in the log, beside its bytes.
const LOGGED_BYTES: usize = 64;

impl Saved {
    fn write(
        &mut self,
        atomicity: Atomicity,
        updates: Elements,
        request: &Share,
        outcomes: &mut Outcomes,
    ) -> Result<(), Refusal> {
        let bytes = updates.clone().map(|update| update.len() + LOGGED_BYTES).sum();
        let mut room = request.beside(bytes)?;
        let state = &mut self.config.state;
        let place = Place::Saved(&mut self.switch);
        let decoded = updates.clone().map(|update| batch::decoded(update, request));
        let mut good = Vec::new();
        match atomicity {
            Atomicity::ContinueOnError => {
                batch::continue_on_error(state, place, decoded, &mut |outcome| {
                    good.push(outcome.is_ok());
                    outcomes.add(outcome);
                });
            }
            _ => {
                let count = updates.clone().count();
                let outcome = batch::all_or_none(state, place, decoded, request);
                good.resize(count, outcome.is_ok());
                batch::note_all_or_none(count, outcome, outcomes);
            }
        }
        let applied = updates.zip(good).filter(|(_, good)| *good);
        self.log.extend(applied.map(|(update, _)| Bytes::copy_from_slice(update)));
        match &mut self.room {
            Some(all) => all.join(room.split(usize::MAX)),
            none => *none = Some(room),
        }
        Ok(())
    }
}

/// The field `updates` of a WriteRequest.
const UPDATES: u32 = 4;

/// The P4Runtime side of one device.
pub struct Device {
    device_id: u64,
    target: SharedTarget,
    pub(crate) arbiter: Arbiter,
    committed: Option<Config>,
    saved: Option<Saved>,
    digests: Digests,
    idle: IdleTracker,
    ports_down: BTreeSet<u16>,
    /// Number of configs that were saved or committed.
    configs: u64,
}

/// Entries that a commit writes into the new switch.
enum Replay<'a> {
    Nothing,
    /// Updates that were written to the saved config.
    Log(&'a [Bytes]),
    /// The state of the switch before.
    State(&'a [Update]),
}

/// Message to the controllers about an event.
#[derive(Default)]
pub struct Dispatch {
    /// To the primaries, in order.
    pub messages: Vec<ResponseUpdate>,
    pub packet_ins: u64,
    pub dropped: u64,
}

/// The lock of a target, with a device of it chosen.
fn chosen(target: &SharedTarget, device_id: u64) -> MutexGuard<'_, dyn Target + 'static> {
    let mut target = lock(target);
    target.choose(device_id);
    target
}

fn role_key(name: &str, id: u64) -> RoleKey {
    (name.to_string(), id)
}

impl Device {
    pub fn new(device_id: u64, target: SharedTarget) -> Device {
        Device {
            device_id,
            target,
            arbiter: Arbiter::default(),
            committed: None,
            saved: None,
            digests: Digests::default(),
            idle: IdleTracker::default(),
            ports_down: BTreeSet::new(),
            configs: 0,
        }
    }

    /// True when the target's lock is free at this moment.
    pub(crate) fn target_is_free(&self) -> bool {
        !matches!(self.target.try_lock(), Err(TryLockError::WouldBlock))
    }

    fn check_device(&self, device_id: u64) -> Result<(), Status> {
        match device_id == self.device_id {
            true => Ok(()),
            false => Err(Status::not_found(format!("no device {device_id}; valid: {}", self.device_id))),
        }
    }

    /// Arbitration of a stream; see [`Arbiter::update`].
    pub fn arbitrate(
        &mut self,
        stream: StreamId,
        message: &MasterArbitrationUpdate,
    ) -> Result<Notices, Status> {
        self.arbiter.update(self.device_id, stream, message)
    }

    /// A stream has ended.
    pub fn close(&mut self, stream: StreamId) -> Notices {
        self.arbiter.close(self.device_id, stream)
    }

    /// Whether the sender of a Write or SetForwardingPipelineConfig may do so. The rest of the request is not looked at.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for bytes that are no such request; else as [`Arbiter::check`].
    pub fn check_claim(&self, request: &Bytes) -> Result<(), Status> {
        let claim = Claim::decode(request.clone());
        let Claim { device_id, role_id, role, election_id } = claim
            .map_err(|error| Status::invalid_argument(format!("the request cannot be decoded: {error}")))?;
        self.check_device(device_id)?;
        let role =
            std::str::from_utf8(&role).map_err(|_| Status::invalid_argument("the role is not UTF-8"))?;
        if role.len() > ROLE_BYTES {
            return Err(unknown_role(role));
        }
        self.arbiter.check(&role_key(role, role_id), election_id.map(|id| id.value()))
    }

    /// Write (section 12). Updates are taken apart one by one; of their outcomes, `details_limit` bytes are listed.
    pub fn write(&mut self, request: &Received, details_limit: usize) -> Result<(), Status> {
        let Received { bytes, share } = request;
        self.check_claim(bytes)?;
        let WriteMode { atomicity } = decode(bytes, "request")?;
        let atomicity = batch::atomicity(atomicity)?;
        let mut outcomes = Outcomes::new("updates", details_limit);
        let mut updates = Elements::new(bytes, UPDATES);
        if let Some(saved) = &mut self.saved {
            saved.write(atomicity, updates, share, &mut outcomes)?;
        } else {
            let state = match &mut self.committed {
                Some(config) => &mut config.state,
                None => return Err(no_config()),
            };
            match atomicity {
                Atomicity::ContinueOnError => {
                    while updates.left() > 0 {
                        // The data plane may go on between slices.
                        let mut target = chosen(&self.target, self.device_id);
                        let place = Place::Target(&mut *target);
                        let slice = updates.by_ref().take(batch::SLICE);
                        let slice = slice.map(|update| batch::decoded(update, share));
                        batch::continue_on_error(state, place, slice, &mut |outcome| outcomes.add(outcome));
                    }
                }
                _ => {
                    let count = Elements::new(bytes, UPDATES).count();
                    let mut target = chosen(&self.target, self.device_id);
                    let place = Place::Target(&mut *target);
                    let updates = updates.map(|update| batch::decoded(update, share));
                    let outcome = batch::all_or_none(state, place, updates, share);
                    batch::note_all_or_none(count, outcome, &mut outcomes);
                }
            }
        }
        outcomes.status().map_or(Ok(()), Err)
    }

    /// The next part of the answer to a Read (section 13), made under one hold of the target's lock: an encoded
    /// ReadResponse, and whether there is more.
    ///
    /// # Errors
    /// FAILED_PRECONDITION when there is no config (any more).
    pub fn read(&mut self, read: &mut Read) -> Result<(Bytes, bool), Status> {
        self.check_device(read.device_id)?;
        if *read.config.get_or_insert(self.configs) != self.configs {
            return Err(Status::aborted("the pipeline config was replaced during the read"));
        }
        let mut answers = Answers::default();
        match (&self.saved, &self.committed) {
            (Some(saved), _) => {
                let reader = Reader { state: &saved.config.state, switch: &saved.switch, now_ps: 0 };
                read.go_on(&reader, &mut answers);
            }
            (None, None) => return Err(no_config()),
            (None, Some(config)) => {
                let mut target = chosen(&self.target, self.device_id);
                let now_ps = target.now_ps();
                let switch = target.switch().ok_or_else(no_config)?;
                read.go_on(&Reader { state: &config.state, switch, now_ps }, &mut answers);
            }
        }
        Ok((answers.finish(), read.has_more()))
    }

    /// SetForwardingPipelineConfig (section 14) for a config that [`verify`] has accepted.
    pub fn set(&mut self, action: PipelineAction, verified: Option<Verified>) -> Result<(), Status> {
        match (action, verified) {
            (PipelineAction::Verify, Some(_)) => Ok(()),
            (PipelineAction::VerifyAndSave, Some(verified)) => {
                let config = verified.config();
                let switch = reconcile::scratch(&config.executable);
                self.configs += 1;
                self.saved = Some(Saved { switch, config, log: Vec::new(), room: None });
                Ok(())
            }
            (PipelineAction::VerifyAndCommit, Some(verified)) => {
                self.commit(verified.config(), Replay::Nothing)
            }
            (PipelineAction::ReconcileAndCommit, Some(verified)) => self.reconcile(verified),
            (PipelineAction::Commit, None) => {
                let Some(saved) = self.saved.take() else {
                    return Err(Status::not_found("there is no saved config; use VERIFY_AND_SAVE first"));
                };
                let state = State::new(saved.config.state.schema.clone());
                let config = Config { state, ..saved.config };
                self.commit(config, Replay::Log(&saved.log))
            }
            _ => Err(Status::internal("a config without its action")),
        }
    }

    fn reconcile(&mut self, verified: Verified) -> Result<(), Status> {
        let config = verified.config();
        let Some(old) = &self.committed else {
            return self.commit(config, Replay::Nothing);
        };
        let updates = {
            let mut target = chosen(&self.target, self.device_id);
            let now_ps = target.now_ps();
            let switch = target.switch().ok_or_else(no_config)?;
            reconcile::dump(&old.state, switch, now_ps)?
        };
        // A trial first: when it fails, nothing has changed.
        let mut trial_state = State::new(config.state.schema.clone());
        let mut trial = reconcile::scratch(&config.executable);
        reconcile::replay(&mut trial_state, &mut trial, &updates, 0)?;
        self.commit(config, Replay::State(&updates))
    }

    fn commit(&mut self, mut config: Config, replay: Replay) -> Result<(), Status> {
        config.state.ports_down = self.ports_down.clone();
        let mut target = chosen(&self.target, self.device_id);
        target
            .install(config.executable.clone())
            .map_err(|reason| Status::internal(format!("the target refused the program: {reason}")))?;
        let now_ps = target.now_ps();
        let state = &mut config.state;
        let result = match (target.switch(), replay) {
            (None, _) => Err(Refusal::precondition("the target has no program after install")),
            (Some(_), Replay::Nothing) => Ok(()),
            (Some(switch), Replay::State(updates)) => reconcile::replay(state, switch, updates, now_ps),
            (Some(_), Replay::Log(log)) => {
                let mut first = Ok(());
                let place = Place::Target(&mut *target);
                batch::continue_on_error(state, place, log.iter().map(batch::logged), &mut |outcome| {
                    if first.is_ok() {
                        first = outcome.clone();
                    }
                });
                first
            }
        };
        self.committed = Some(config);
        self.saved = None;
        self.configs += 1;
        self.digests.clear();
        self.idle = IdleTracker::default();
        result.map_err(Status::from)
    }

    /// GetForwardingPipelineConfig (section 15).
    pub fn get(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Status> {
        self.check_device(request.device_id)?;
        let kind = ResponseType::try_from(request.response_type).map_err(|_| {
            Status::invalid_argument(format!("response type {} is not valid", request.response_type))
        })?;
        let stored = match (&self.saved, &self.committed) {
            (Some(saved), _) => Some(&saved.config.raw),
            (None, committed) => committed.as_ref().map(|config| &config.raw),
        };
        let config = stored.map(|raw| ForwardingPipelineConfig {
            p4info: match kind {
                ResponseType::All | ResponseType::P4infoAndCookie => raw.p4info.clone(),
                _ => None,
            },
            p4_device_config: match kind {
                ResponseType::All | ResponseType::DeviceConfigAndCookie => raw.p4_device_config.clone(),
                _ => Bytes::new(),
            },
            cookie: raw.cookie,
        });
        Ok(GetForwardingPipelineConfigResponse { config })
    }

    /// A PacketOut of a stream (section 16.1).
    ///
    /// # Errors
    /// The StreamError to answer with.
    pub fn packet_out(&mut self, stream: StreamId, packet: &PacketOut) -> Result<(), StreamError> {
        self.try_packet_out(stream, packet).map_err(|refusal| {
            stream_error(
                refusal,
                StreamErrorDetails::PacketOut(PacketOutError { packet_out: Some(packet.clone()) }),
            )
        })
    }

    fn try_packet_out(&mut self, stream: StreamId, packet: &PacketOut) -> Outcome<()> {
        if !self.arbiter.is_primary(stream) {
            return Err(Refusal::denied("packet_out: this controller is not primary"));
        }
        let Some(config) = &self.committed else {
            return Err(Refusal::precondition("packet_out: no pipeline config is set"));
        };
        let frame = match &config.state.schema.packet_out {
            Some(header) => header.frame(packet)?,
            None if packet.metadata.is_empty() => packet.payload.to_vec(),
            None => {
                return Err(Refusal::invalid(
                    "packet_out: P4Info has no packet_out header, so there is no metadata",
                ))
            }
        };
        chosen(&self.target, self.device_id).packet_out(frame);
        Ok(())
    }

    /// A DigestListAck of a stream.
    ///
    /// # Errors
    /// The StreamError to answer with.
    pub fn digest_ack(&mut self, stream: StreamId, ack: &DigestListAck) -> Result<(), StreamError> {
        let outcome = match (&self.committed, self.arbiter.is_primary(stream)) {
            (_, false) => Err(Refusal::denied("digest_ack: this controller is not primary")),
            (None, _) => Err(Refusal::precondition("digest_ack: no pipeline config is set")),
            (Some(config), true) => {
                self.digests.acknowledge(&config.state.schema, ack.digest_id, ack.list_id)
            }
        };
        outcome.map_err(|refusal| {
            stream_error(
                refusal,
                StreamErrorDetails::DigestListAck(DigestListAckError { digest_list_ack: Some(*ack) }),
            )
        })
    }

    /// Turns events of the target into messages for the primaries.
    pub fn dispatch(&mut self, events: &mut VecDeque<Event>, limit: usize) -> Dispatch {
        let mut result = Dispatch::default();
        let heard = !self.arbiter.primaries().is_empty();
        for event in events.drain(..limit.min(events.len())) {
            if let Event::PortStatus { port, up } = event {
                match up {
                    true => self.ports_down.remove(&port),
                    false => self.ports_down.insert(port),
                };
            }
            let Some(config) = &mut self.committed else {
                result.dropped += u64::from(matches!(event, Event::PacketIn { .. }));
                continue;
            };
            match event {
                Event::PacketIn { frame } => {
                    let frame = Bytes::from(frame);
                    let packet = match &config.state.schema.packet_in {
                        Some(header) => header.packet_in(frame),
                        None => Some(PacketIn { payload: frame, metadata: Vec::new() }),
                    };
                    match packet.filter(|_| heard) {
                        Some(packet) => {
                            result.packet_ins += 1;
                            result.messages.push(ResponseUpdate::Packet(packet));
                        }
                        None => result.dropped += 1,
                    }
                }
                Event::Digest { digest, fields, now_ps } => {
                    let list = self.digests.add(&config.state, digest, fields, now_ps);
                    result.messages.extend(list.map(ResponseUpdate::Digest));
                }
                Event::PortStatus { port, up } => {
                    let mut target = chosen(&self.target, self.device_id);
                    if let Some(switch) = target.switch() {
                        // Groups are set to some of their own members, which cannot fail.
                        let _ = config.state.set_port_status(switch, port, up);
                    }
                }
                Event::Clock { now_ps } => {
                    let lists = self.digests.clock(&config.state, now_ps);
                    result.messages.extend(lists.into_iter().map(ResponseUpdate::Digest));
                    if self.idle.due(&config.state, now_ps) {
                        let mut target = chosen(&self.target, self.device_id);
                        if let Some(switch) = target.switch() {
                            let found = self.idle.scan(&config.state, switch, now_ps);
                            result
                                .messages
                                .extend(found.into_iter().map(ResponseUpdate::IdleTimeoutNotification));
                        }
                    }
                }
            }
        }
        result
    }
}

fn no_config() -> Status {
    Status::failed_precondition("no pipeline config is set")
}

/// A stream error for a refusal (section 16.7).
pub fn stream_error(refusal: Refusal, details: StreamErrorDetails) -> StreamError {
    StreamError {
        canonical_code: refusal.code as i32,
        message: refusal.message,
        space: ERROR_SPACE.to_string(),
        code: 0,
        details: Some(details),
    }
}

/// A config whose P4Info and program are known to fit.
pub struct Verified {
    raw: ForwardingPipelineConfig,
    executable: Arc<Executable>,
    state: State,
}

impl Verified {
    fn config(self) -> Config {
        Config { raw: self.raw, executable: self.executable, state: self.state }
    }
}

/// Reads and checks a config; takes no lock. COMMIT has no config.
///
/// # Errors
/// INVALID_ARGUMENT for a missing or superfluous config and for one that cannot be realized.
pub fn verify(
    action: i32,
    config: Option<ForwardingPipelineConfig>,
) -> Result<(PipelineAction, Option<Verified>), Status> {
    let action = match PipelineAction::try_from(action) {
        Ok(PipelineAction::Unspecified) | Err(_) => {
            return Err(Status::invalid_argument(format!(
                "action {action} is not valid; valid: VERIFY, VERIFY_AND_SAVE, VERIFY_AND_COMMIT, COMMIT, RECONCILE_AND_COMMIT"
            )))
        }
        Ok(action) => action,
    };
    let raw = match (action, config) {
        (PipelineAction::Commit, None) => return Ok((action, None)),
        (PipelineAction::Commit, Some(_)) => return Err(Status::invalid_argument("COMMIT takes no config")),
        (_, None) => return Err(Status::invalid_argument("the config is not set")),
        (_, Some(raw)) => raw,
    };
    let Realized { raw, executable, schema } = realize(raw)?;
    let verified = Verified { raw, executable, state: State::new(schema) };
    Ok((action, Some(verified)))
}

/// The status that ends a stream after a message that is not of P4Runtime.
pub fn unknown_message() -> StreamError {
    stream_error(
        Refusal {
            code: Code::InvalidArgument,
            message: "the stream message has no known content".to_string(),
        },
        StreamErrorDetails::Other(StreamOtherError { other: None }),
    )
}
