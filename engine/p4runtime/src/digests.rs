//! Digest lists (section 9.8): buffering, duplicates, acknowledgement. Time is pipeline time.

use std::collections::{BTreeMap, HashSet};

use crate::data;
use crate::proto::entity::{DigestConfig, DigestEntry, P4Data};
use crate::proto::service::UpdateType;
use crate::proto::stream::DigestList;
use crate::refusal::{Outcome, Refusal};
use crate::schema::Schema;
use crate::state::{EnabledDigest, State, Writer};

type Fields = Vec<Vec<u8>>;

/// Messages of one digest that wait or that were sent and not acknowledged.
#[derive(Default)]
struct Buffer {
    /// Of the enabling that it belongs to.
    number: u64,
    waiting: Vec<Fields>,
    /// Time of the first waiting message.
    since_ps: u64,
    /// By list id: when it was sent and what it held.
    unacknowledged: BTreeMap<u64, (u64, Vec<Fields>)>,
    /// All messages that wait or are unacknowledged.
    known: HashSet<Fields>,
}

/// Lists of a config without a size limit are sent at this length.
const DEFAULT_LIST: usize = 4096;
/// Longer lists are not made, whatever the limit: a client with gRPC's default limits takes 4 MiB.
const MAX_LIST: usize = 16_384;

/// Messages of one digest that are remembered while the controller does not acknowledge them.
const MAX_KNOWN: usize = 1 << 18;

/// Buffers of all digests of a config.
#[derive(Default)]
pub struct Digests {
    buffers: BTreeMap<usize, Buffer>,
    last_list_id: u64,
}

impl Digests {
    /// Forgets all messages, for another program; list ids go on, so that an acknowledgement that comes late means none of
    /// the new lists.
    pub fn clear(&mut self) {
        self.buffers.clear();
    }

    /// Takes one message of the program; returns the list that it completes. Messages of a digest
    /// that is not enabled, and duplicates, are ignored.
    pub fn add(&mut self, state: &State, program_id: u32, fields: Fields, now_ps: u64) -> Option<DigestList> {
        let index = state.schema.digests.iter().position(|digest| digest.program_id == program_id)?;
        let EnabledDigest { config, number } = *state.digests.get(&index)?;
        let buffer = self.buffers.entry(index).or_default();
        if buffer.number != number {
            *buffer = Buffer { number, ..Buffer::default() };
        }
        if buffer.known.len() >= MAX_KNOWN {
            // A controller that never acknowledges: old messages may come again.
            buffer.unacknowledged.clear();
            buffer.known = buffer.waiting.iter().cloned().collect();
        }
        if !buffer.known.insert(fields.clone()) {
            return None;
        }
        if buffer.waiting.is_empty() {
            buffer.since_ps = now_ps;
        }
        buffer.waiting.push(fields);
        let limit = match config.max_list_size {
            size if size > 0 => MAX_LIST.min(size as usize),
            _ => DEFAULT_LIST,
        };
        if config.max_timeout_ns == 0 || buffer.waiting.len() >= limit {
            return self.flush(&state.schema, index, config, now_ps);
        }
        None
    }

    /// Lists whose time is up at `now_ps`; forgets unacknowledged lists that are too old.
    pub fn clock(&mut self, state: &State, now_ps: u64) -> Vec<DigestList> {
        let mut due = Vec::new();
        self.buffers.retain(|index, buffer| {
            state.digests.get(index).is_some_and(|enabled| enabled.number == buffer.number)
        });
        for (index, buffer) in &mut self.buffers {
            let Some(EnabledDigest { config, .. }) = state.digests.get(index) else {
                continue;
            };
            let limit_ps = ps(config.ack_timeout_ns);
            let old: Vec<u64> = buffer
                .unacknowledged
                .iter()
                .filter(|(_, (sent, _))| now_ps.saturating_sub(*sent) >= limit_ps)
                .map(|(id, _)| *id)
                .collect();
            for id in old {
                forget(buffer, id);
            }
            let age_ps = now_ps.saturating_sub(buffer.since_ps);
            if !buffer.waiting.is_empty() && age_ps >= ps(config.max_timeout_ns) {
                due.push((*index, *config));
            }
        }
        due.into_iter()
            .filter_map(|(index, config)| self.flush(&state.schema, index, config, now_ps))
            .collect()
    }

    fn flush(
        &mut self,
        schema: &Schema,
        index: usize,
        config: DigestConfig,
        now_ps: u64,
    ) -> Option<DigestList> {
        let digest = &schema.digests[index];
        let buffer = self.buffers.get_mut(&index)?;
        let messages = std::mem::take(&mut buffer.waiting);
        let data: Vec<P4Data> = messages
            .iter()
            .filter_map(|fields| {
                let mut fields = fields.clone().into_iter();
                data::from_fields(&digest.type_spec, schema, &mut fields).ok()
            })
            .collect();
        self.last_list_id += 1;
        let list_id = self.last_list_id;
        buffer.unacknowledged.insert(list_id, (now_ps, messages));
        if config.ack_timeout_ns == 0 {
            forget(buffer, list_id);
        }
        Some(DigestList { digest_id: digest.id, list_id, data, timestamp: (now_ps / 1000) as i64 })
    }

    /// The controller has seen a list.
    ///
    /// # Errors
    /// NOT_FOUND for a digest that P4Info does not have. Unknown lists are ignored: they may have
    /// timed out.
    pub fn acknowledge(&mut self, schema: &Schema, digest_id: u32, list_id: u64) -> Outcome<()> {
        let (index, _) = schema.digest(digest_id)?;
        if let Some(buffer) = self.buffers.get_mut(&index) {
            forget(buffer, list_id);
        }
        Ok(())
    }
}

fn forget(buffer: &mut Buffer, list_id: u64) {
    if let Some((_, messages)) = buffer.unacknowledged.remove(&list_id) {
        for message in &messages {
            buffer.known.remove(message);
        }
    }
}

fn ps(ns: i64) -> u64 {
    (ns.max(0) as u64).saturating_mul(1000)
}

impl Writer<'_> {
    /// Handles a DigestEntry: enables, changes or disables a digest.
    pub fn write_digest(&mut self, kind: UpdateType, entry: &DigestEntry) -> Outcome<()> {
        let schema = self.state.schema.clone();
        let (index, digest) = schema.digest(entry.digest_id)?;
        let old = self.state.digests.get(&index).copied();
        let owner = format!("digest '{}'", digest.name);
        match kind {
            UpdateType::Delete => {
                if old.is_none() {
                    return Err(Refusal::not_found(format!("{owner} is not enabled")));
                }
                self.state.digests.remove(&index);
            }
            _ => {
                if kind == UpdateType::Insert && old.is_some() {
                    return Err(Refusal::exists(format!("{owner} is enabled already")));
                }
                if kind == UpdateType::Modify && old.is_none() {
                    return Err(Refusal::not_found(format!("{owner} is not enabled")));
                }
                let config =
                    entry.config.ok_or_else(|| Refusal::invalid(format!("{owner}: config is not set")))?;
                if config.max_timeout_ns < 0 || config.max_list_size < 0 || config.ack_timeout_ns < 0 {
                    return Err(Refusal::invalid(format!("{owner}: a negative limit")));
                }
                let number = match old {
                    Some(EnabledDigest { number, .. }) => number,
                    None => {
                        self.state.digests_enabled += 1;
                        self.state.digests_enabled
                    }
                };
                self.state.digests.insert(index, EnabledDigest { config, number });
            }
        }
        self.on_undo(|| {
            Box::new(move |writer| {
                match old {
                    Some(enabled) => writer.state.digests.insert(index, enabled),
                    None => writer.state.digests.remove(&index),
                };
                Ok(())
            })
        });
        Ok(())
    }
}
