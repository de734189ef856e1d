//! Why one entity of a request was refused, and how a batch of outcomes travels in a gRPC status.

use bytes::Bytes;
use p4mesh_pipeline::{ControlError, ControlErrorKind};
use prost::Message;
use tonic::{Code, Status};

use crate::proto::{self, service};

/// The refusal of one entity: a canonical code and a text that says what, where and what is valid.
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
        Refusal {
            code,
            message: error.to_string(),
        }
    }
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
                    message: refusal.message.clone(),
                    space: ERROR_SPACE.to_string(),
                    code: 0,
                    details: None,
                }
                .encode_to_vec()
                .into(),
            },
        })
        .collect();
    let status = proto::Status {
        code: Code::Unknown as i32,
        message: message.clone(),
        details,
    };
    Some(Status::with_details(
        Code::Unknown,
        message,
        status.encode_to_vec().into(),
    ))
}
