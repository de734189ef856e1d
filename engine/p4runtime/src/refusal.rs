//! The refusal of one entity of a request, and the outcomes of a batch as a gRPC status.

use bytes::Bytes;
use p4mesh_pipeline::{ControlError, ControlErrorKind};
use prost::Message;
use tonic::{Code, Status};

use crate::proto::{self, service};

/// The refusal of one entity: a canonical code and a text with the fault, its place and the valid values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    pub message: String,
}

/// Result of handling one entity.
pub type Outcome<T> = Result<T, Refusal>;

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident => $code:ident;)*) => {
        impl Refusal {
            $($(#[$doc])* pub fn $name(message: impl Into<String>) -> Refusal {
                Refusal { code: Code::$code, message: message.into() }
            })*
        }
    };
}

refusals! {
    /// Malformed entity (section 10).
    invalid => InvalidArgument;
    /// The entity or what it refers to is not there.
    not_found => NotFound;
    /// A value does not fit the width that P4Info gives.
    out_of_range => OutOfRange;
    /// The program or the role does not allow the change.
    denied => PermissionDenied;
    /// Valid P4Runtime that this server does not support.
    unimplemented => Unimplemented;
    /// The entity is there already.
    exists => AlreadyExists;
    /// A size limit is reached.
    exhausted => ResourceExhausted;
    /// The state of the device does not allow the change now.
    precondition => FailedPrecondition;
    /// Another update of an all-or-none batch failed.
    aborted => Aborted;
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Status {
        Status::new(refusal.code, refusal.message)
    }
}

impl From<ControlError> for Refusal {
    fn from(error: ControlError) -> Refusal {
        let code = match error.kind() {
            ControlErrorKind::InvalidArgument => Code::InvalidArgument,
            ControlErrorKind::NotFound => Code::NotFound,
            ControlErrorKind::AlreadyExists => Code::AlreadyExists,
            ControlErrorKind::ResourceExhausted => Code::ResourceExhausted,
            ControlErrorKind::OutOfRange => Code::OutOfRange,
            ControlErrorKind::PermissionDenied => Code::PermissionDenied,
            ControlErrorKind::FailedPrecondition => Code::FailedPrecondition,
        };
        Refusal { code, message: error.to_string() }
    }
}

/// Longest text of a status, in bytes: names that a controller sends may be of any length.
const TEXT_BYTES: usize = 1024;

/// A text for a status, cut where it would be too long for the metadata that carries it.
pub fn status_text(text: &str) -> String {
    if text.len() <= TEXT_BYTES {
        return text.to_string();
    }
    let end = (0..=TEXT_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}... ({} bytes in all)", &text[..end], text.len())
}

/// `p4.v1.Error.space` of all our errors.
pub const ERROR_SPACE: &str = "p4mesh";

const ERROR_TYPE_URL: &str = "type.googleapis.com/p4.v1.Error";

/// Longest details of a status that a call can ask for.
const MAX_DETAILS_BYTES: usize = 64 << 20;
/// Tag and length of an element of the details.
const ELEMENT_BYTES: usize = 6;

/// The outcomes of a batch (section 12.3). No more of them are kept than the status can carry.
pub struct Outcomes {
    what: &'static str,
    limit: usize,
    count: usize,
    failed: usize,
    /// Number and text of the first failure.
    first: Option<(usize, String)>,
    listed: Vec<proto::Any>,
    listed_bytes: usize,
    is_full: bool,
}

impl Outcomes {
    /// Outcomes of `what` ("updates"), of which at most `limit` bytes are listed in the status.
    pub fn new(what: &'static str, limit: usize) -> Outcomes {
        let limit = limit.min(MAX_DETAILS_BYTES);
        let (first, listed) = (None, Vec::new());
        Outcomes { what, limit, count: 0, failed: 0, first, listed, listed_bytes: 0, is_full: false }
    }

    /// Notes the outcome of the next element.
    pub fn add(&mut self, outcome: &Outcome<()>) {
        self.count += 1;
        if let Err(refusal) = outcome {
            self.failed += 1;
            if self.first.is_none() {
                let good = self.count - 1;
                let text = status_text(&refusal.message);
                self.listed_bytes = text.len();
                self.first = Some((good, text));
                // A batch without failure has no details.
                (0..good).take_while(|_| self.list(&Ok(()))).count();
            }
        }
        if self.first.is_some() {
            self.list(outcome);
        }
    }

    /// Lists an outcome if it fits, and says whether more may do so.
    fn list(&mut self, outcome: &Outcome<()>) -> bool {
        if self.is_full {
            return false;
        }
        let value = match outcome {
            Ok(()) => Bytes::new(),
            Err(refusal) => service::Error {
                canonical_code: refusal.code as i32,
                message: status_text(&refusal.message),
                space: ERROR_SPACE.to_string(),
                code: 0,
                details: None,
            }
            .encode_to_vec()
            .into(),
        };
        let detail = proto::Any { type_url: ERROR_TYPE_URL.to_string(), value };
        self.listed_bytes += detail.encoded_len() + ELEMENT_BYTES;
        self.is_full = self.listed_bytes > self.limit;
        if !self.is_full {
            self.listed.push(detail);
        }
        !self.is_full
    }

    /// `None` when every outcome is good, else UNKNOWN with one `p4.v1.Error` per element in the order of the batch. Where
    /// they do not fit, those of the first elements are listed, and the text says how many are left out.
    pub fn status(self) -> Option<Status> {
        let (index, text) = self.first?;
        let Outcomes { what, count, failed, listed, .. } = self;
        let mut message =
            status_text(&format!("{failed} of {count} {what} failed; first: number {index}: {text}"));
        if listed.len() < count {
            let (kept, left_out) = (listed.len(), count - listed.len());
            message.push_str(&format!(
                "; the outcomes of the first {kept} are listed, {left_out} more do not fit"
            ));
        }
        let status = proto::Status { code: Code::Unknown as i32, message: message.clone(), details: listed };
        Some(Status::with_details(Code::Unknown, message, status.encode_to_vec().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = "é".repeat(TEXT_BYTES);
        assert!(status_text(&text).starts_with(&"é".repeat(TEXT_BYTES / 2)));
        assert!(status_text(&text).ends_with("... (2048 bytes in all)"));
        assert_eq!(status_text("short"), "short");
    }

    #[test]
    fn details_are_cut_to_the_limit_in_the_order_of_the_batch() {
        let status = |limit: usize| {
            let mut outcomes = Outcomes::new("updates", limit);
            outcomes.add(&Ok(()));
            (1..200).for_each(|n| outcomes.add(&Err(Refusal::exists(format!("entry {n} is there")))));
            outcomes.status().unwrap()
        };
        let listed = |status: &Status| proto::Status::decode(status.details()).unwrap().details;
        assert_eq!(listed(&status(1 << 20)).len(), 200);
        let cut = status(4000);
        let listed = listed(&cut);
        assert!(cut.details().len() <= 4200 && listed.len() > 30);
        let left_out = format!("first {} are listed, {} more", listed.len(), 200 - listed.len());
        assert!(cut.message().contains(&left_out), "{}", cut.message());
        assert!(cut.message().starts_with("199 of 200 updates failed; first: number 1: entry 1 is there"));
        let last = service::Error::decode(listed.last().unwrap().value.clone()).unwrap();
        assert_eq!(last.message, format!("entry {} is there", listed.len() - 1));
        assert!(listed[0].value.is_empty());
    }

    #[test]
    fn a_batch_without_failure_has_no_status() {
        let mut outcomes = Outcomes::new("updates", 4000);
        (0..1_000_000).for_each(|_| outcomes.add(&Ok(())));
        assert!(outcomes.listed.is_empty() && outcomes.status().is_none());
    }
}
