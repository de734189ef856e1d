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

/// The status of a batch (section 12.3): `None` when every outcome is good, else UNKNOWN with one
/// `p4.v1.Error` per element in the order of the batch.
pub fn batch_status(what: &str, outcomes: &[Outcome<()>]) -> Option<Status> {
    let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
    if failed == 0 {
        return None;
    }
    let first = outcomes.iter().position(|outcome| outcome.is_err());
    let mut message = format!("{failed} of {} {what} failed", outcomes.len());
    if let Some((index, Err(refusal))) = first.map(|index| (index, &outcomes[index])) {
        message.push_str(&format!("; first: number {index}: {}", refusal.message));
    }
    let details = outcomes
        .iter()
        .map(|outcome| proto::Any {
            type_url: ERROR_TYPE_URL.to_string(),
            value: match outcome {
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
            },
        })
        .collect();
    Some(batch_failure(status_text(&message), details))
}

fn batch_failure(message: String, details: Vec<proto::Any>) -> Status {
    let status = proto::Status { code: Code::Unknown as i32, message: message.clone(), details };
    Status::with_details(Code::Unknown, message, status.encode_to_vec().into())
}

/// A status whose details take at most `limit` bytes: of a batch, the outcomes of its first elements; the text says
/// how many are left out.
pub fn fitting(status: Status, limit: usize) -> Status {
    if status.details().len() <= limit {
        return status;
    }
    let Ok(mut batch) = proto::Status::decode(status.details()) else {
        return status;
    };
    let all = batch.details.len();
    let mut bytes = batch.message.len();
    let kept = batch
        .details
        .iter()
        .take_while(|detail| {
            // Tag and length of an element take at most 6 bytes.
            bytes += detail.encoded_len() + 6;
            bytes <= limit
        })
        .count();
    batch.details.truncate(kept);
    batch_failure(
        format!(
            "{}; the outcomes of the first {kept} are listed, {} more do not fit",
            batch.message,
            all - kept
        ),
        batch.details,
    )
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
        let outcomes: Vec<Outcome<()>> =
            (0..200).map(|number| Err(Refusal::exists(format!("entry {number} is there")))).collect();
        let whole = batch_status("updates", &outcomes).unwrap();
        assert_eq!(fitting(whole.clone(), whole.details().len()).details(), whole.details());
        let cut = fitting(whole, 4000);
        let listed = proto::Status::decode(cut.details()).unwrap().details;
        assert!(cut.details().len() <= 4200 && listed.len() > 30);
        let left_out = format!("first {} are listed, {} more", listed.len(), 200 - listed.len());
        assert!(cut.message().contains(&left_out), "{}", cut.message());
        let last = service::Error::decode(listed.last().unwrap().value.clone()).unwrap();
        assert_eq!(last.message, format!("entry {} is there", listed.len() - 1));
    }
}
