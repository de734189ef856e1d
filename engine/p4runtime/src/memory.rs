//! Memory of requests and answers: one bound for those of all controllers together, and how much a message takes when it
//! is taken apart.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use prost::encoding::{decode_key, decode_varint, WireType};

use crate::refusal::Refusal;

/// The bound, and what is taken of it.
#[derive(Debug)]
pub struct Memory {
    limit: usize,
    taken: AtomicUsize,
}

/// A part of the memory; given back when dropped.
#[derive(Debug)]
pub struct Share {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Memory {
    /// A bound of so many bytes.
    pub fn new(limit: usize) -> Arc<Memory> {
        Arc::new(Memory { limit, taken: AtomicUsize::new(0) })
    }

    /// The largest request: one alone must not shut all others out.
    pub fn largest_request(&self) -> usize {
        self.limit / 2
    }

    /// The most that may wait for one controller on its stream.
    pub fn largest_queue(&self) -> usize {
        self.limit / 8
    }

    /// A part of so many bytes.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED when there is not so much left.
    pub fn share(self: &Arc<Self>, bytes: usize) -> Result<Share, Refusal> {
        let mut share = Share { memory: self.clone(), bytes: 0 };
        share.grow(bytes)?;
        Ok(share)
    }
}

impl Share {
    /// Takes so many bytes more.
    ///
    /// # Errors
    /// As [`Memory::share`].
    pub fn grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        let limit = self.memory.limit;
        let fits = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= limit);
        match self.memory.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => {
                self.bytes += bytes;
                Ok(())
            }
            Err(taken) => Err(Refusal::exhausted(format!(
                "{bytes} bytes are needed; requests and answers of all controllers take {taken} of {limit} bytes"
            ))),
        }
    }

    /// Gives the memory of the whole share back but for so many bytes.
    pub fn shrink_to(&mut self, bytes: usize) {
        let back = self.bytes.saturating_sub(bytes);
        self.bytes -= back;
        self.memory.taken.fetch_sub(back, Ordering::Relaxed);
    }

    /// Takes at most so many bytes of this share out, as a share of its own.
    pub fn split(&mut self, bytes: usize) -> Share {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Share { memory: self.memory.clone(), bytes }
    }

    /// Takes another share in.
    pub fn join(&mut self, mut other: Share) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Another share of the same memory; see [`Memory::share`].
    pub fn beside(&self, bytes: usize) -> Result<Share, Refusal> {
        self.memory.share(bytes)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// Bytes that an element of a list takes at most when it is decoded, beside its content: the largest of `proto`, twice,
/// because lists grow by doubling.
const ELEMENT_BYTES: usize = 512;
/// Messages up to this length are not looked at: what they take is little in any case.
const SHORT_BYTES: usize = 1 << 10;
/// Messages are nested no deeper than prost decodes.
const MAX_DEPTH: usize = 100;

/// Upper bound of what a message takes when it is decoded, 0 for a short one. Every length-delimited field is taken for
/// a message, for that is how lists with millions of empty elements come about.
pub fn decoded_bytes(message: &[u8]) -> usize {
    match message.len() <= SHORT_BYTES {
        true => 0,
        false => message.len() + elements(message, MAX_DEPTH) * ELEMENT_BYTES,
    }
}

/// Number of length-delimited fields in a message and in the messages within.
fn elements(mut message: &[u8], depth: usize) -> usize {
    let mut count = 0;
    while let Some((_, field)) = next_field(&mut message) {
        if let Field::Content(content) = field {
            count += 1;
            if !content.is_empty() && depth > 0 {
                count += elements(content, depth - 1);
            }
        }
    }
    count
}

enum Field<'a> {
    Content(&'a [u8]),
    Number,
    GroupStart,
    GroupEnd,
}

/// Takes the next field off a message, with its tag. `None` at the end, and at bytes that are no field.
fn next_field<'a>(message: &mut &'a [u8]) -> Option<(u32, Field<'a>)> {
    if message.is_empty() {
        return None;
    }
    let (tag, kind) = decode_key(message).ok()?;
    let length = match kind {
        WireType::Varint => {
            decode_varint(message).ok()?;
            0
        }
        WireType::ThirtyTwoBit => 4,
        WireType::SixtyFourBit => 8,
        WireType::LengthDelimited => usize::try_from(decode_varint(message).ok()?).ok()?,
        WireType::StartGroup => return Some((tag, Field::GroupStart)),
        WireType::EndGroup => return Some((tag, Field::GroupEnd)),
    };
    let (content, rest) = message.split_at_checked(length)?;
    *message = rest;
    match kind {
        WireType::LengthDelimited => Some((tag, Field::Content(content))),
        _ => Some((tag, Field::Number)),
    }
}

/// The elements of a repeated field of a message, one after the other, not decoded.
#[derive(Clone)]
pub struct Elements<'a> {
    rest: &'a [u8],
    tag: u32,
    /// Groups, which no message of P4Runtime has, around the next field.
    groups: usize,
}

impl<'a> Elements<'a> {
    pub fn new(message: &'a [u8], tag: u32) -> Elements<'a> {
        Elements { rest: message, tag, groups: 0 }
    }

    /// Bytes of the message that are not looked at yet.
    pub fn left(&self) -> usize {
        self.rest.len()
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while let Some((tag, field)) = next_field(&mut self.rest) {
            match field {
                Field::Content(content) if tag == self.tag && self.groups == 0 => return Some(content),
                Field::GroupStart => self.groups += 1,
                Field::GroupEnd => self.groups = self.groups.saturating_sub(1),
                Field::Content(_) | Field::Number => {}
            }
        }
        self.rest = &[];
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::entity::{Entity, EntityKind, FieldMatch, TableEntry};
    use crate::proto::{entity, info, stream};
    use prost::Message;
    use std::mem::size_of;

    #[test]
    fn shares_are_given_back() {
        let memory = Memory::new(100);
        let mut first = memory.share(60).unwrap();
        let refusal = memory.share(50).unwrap_err();
        assert_eq!(refusal.code, tonic::Code::ResourceExhausted);
        assert!(refusal.message.starts_with("50 bytes are needed"), "{}", refusal.message);
        first.shrink_to(10);
        let second = memory.share(90).unwrap();
        assert!(first.grow(1).is_err());
        drop(second);
        let moved = first.split(10);
        drop(first);
        assert!(memory.share(91).is_err());
        drop(moved);
        assert!(memory.share(100).is_ok());
    }

    #[test]
    fn empty_elements_weigh_as_much_as_they_take() {
        let entry = TableEntry { r#match: vec![FieldMatch::default(); 100_000], ..TableEntry::default() };
        let bytes = Entity { entity: Some(EntityKind::TableEntry(entry)) }.encode_to_vec();
        assert!(bytes.len() < 210_000);
        assert!(decoded_bytes(&bytes) > 100_000 * 2 * size_of::<FieldMatch>());
        // A group is skipped, not taken for the end.
        assert!(decoded_bytes(&[&[0x7b, 0x7c], &bytes[..]].concat()) > decoded_bytes(&bytes));
        let sizes = [
            size_of::<entity::ActionProfileAction>(),
            size_of::<entity::P4Data>(),
            size_of::<entity::P4HeaderUnion>(),
            size_of::<entity::Replica>(),
            size_of::<info::Table>(),
            size_of::<info::Preamble>(),
            size_of::<info::Digest>(),
            size_of::<info::Register>(),
            size_of::<info::DirectMeter>(),
            size_of::<stream::PacketOut>(),
        ];
        assert!(sizes.iter().all(|size| 2 * size <= ELEMENT_BYTES), "{sizes:?}");
    }

    #[test]
    fn elements_are_found_among_other_fields_and_end_at_bytes_that_are_none() {
        let bytes = [0x08, 5, 0x22, 1, 7, 0x2a, 1, 9, 0x7b, 0x22, 1, 8, 0x7c, 0x22, 0, 0x22, 9, 1];
        let found: Vec<&[u8]> = Elements::new(&bytes, 4).collect();
        assert_eq!(found, [&[7][..], &[]]);
    }
}
