//! The two error trees of the crate: faults of a program ([`LoadError`]) and of a request of the control plane
//! ([`ControlError`]).

use thiserror::Error;

/// Reason why a BMv2 JSON program was refused. `at` is a path into the JSON such as `pipelines[0].tables[3].key[1]`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error("not valid JSON: {0}")]
    Syntax(String),
    #[error("BMv2 JSON version {found} is not supported; valid: 2.x")]
    Version { found: String },
    #[error(
        "the program is written for {found} (its parser is '{parser}'); valid: programs for v1model, compiled by \
         p4c-bm2-ss or p4c --target bmv2 --arch v1model"
    )]
    Architecture { found: &'static str, parser: String },
    #[error("{at}: missing {what}")]
    Missing { at: String, what: String },
    #[error("{at}: {problem}")]
    Malformed { at: String, problem: String },
    #[error("{at}: no {kind} named '{name}' in this program")]
    UnknownName { at: String, kind: &'static str, name: String },
    #[error("{at}: {construct} is not supported")]
    Unsupported { at: String, construct: String },
    #[error("{at}: {what} is {value}, the limit is {limit}")]
    TooLarge { at: String, what: &'static str, value: u64, limit: u64 },
}

/// The class of a [`ControlError`], in the terms of the canonical gRPC codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControlErrorKind {
    InvalidArgument,
    NotFound,
    AlreadyExists,
    ResourceExhausted,
    OutOfRange,
    PermissionDenied,
    FailedPrecondition,
}

/// Reason why a request of the control plane was refused. Every message names the fault, its place and the valid
/// values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ControlError {
    #[error("no {kind} named '{name}' in this program")]
    Unknown { kind: &'static str, name: String },
    #[error("{owner}: no action '{action}'; valid: {valid}")]
    UnknownAction { owner: String, action: String, valid: String },
    #[error("{owner}: action '{action}' takes {expected} parameter(s), got {found}")]
    ParamCount { owner: String, action: String, expected: usize, found: usize },
    #[error("{owner}: the value of {what} needs more than its {width_bits} bits")]
    ValueTooWide { owner: String, what: String, width_bits: u32 },
    #[error("table '{table}': the key has {expected} field(s), got {found}")]
    KeyCount { table: String, expected: usize, found: usize },
    #[error("table '{table}': key field '{field}' is matched as {expected}, got {found}")]
    MatchKind { table: String, field: String, expected: &'static str, found: &'static str },
    #[error("table '{table}': key field '{field}': {problem}")]
    BadMatch { table: String, field: String, problem: String },
    #[error(
        "table '{table}': an entry with ternary, range or optional fields needs a priority greater than 0"
    )]
    PriorityMissing { table: String },
    #[error(
        "table '{table}': an entry without ternary, range or optional fields has priority 0, got {priority}"
    )]
    PrioritySuperfluous { table: String, priority: i32 },
    #[error("{owner}: the entry exists already")]
    Exists { owner: String },
    #[error("{owner}: no such entry")]
    NotFound { owner: String },
    #[error("{owner}: full, its size is {size}")]
    Full { owner: String, size: usize },
    #[error("table '{table}': its default action is const in the program")]
    ConstDefault { table: String },
    #[error("{owner}: index {index} is out of range; valid: 0 to {last}")]
    IndexOutOfRange { owner: String, index: u64, last: u64 },
    #[error("{owner}: {problem}")]
    Invalid { owner: String, problem: String },
    #[error("{owner}: {problem}")]
    InUse { owner: String, problem: String },
}

impl ControlError {
    /// The gRPC class of this error.
    pub fn kind(&self) -> ControlErrorKind {
        match self {
            ControlError::Unknown { .. } | ControlError::NotFound { .. } => ControlErrorKind::NotFound,
            ControlError::UnknownAction { .. }
            | ControlError::ParamCount { .. }
            | ControlError::KeyCount { .. }
            | ControlError::MatchKind { .. }
            | ControlError::BadMatch { .. }
            | ControlError::PriorityMissing { .. }
            | ControlError::PrioritySuperfluous { .. }
            | ControlError::Invalid { .. } => ControlErrorKind::InvalidArgument,
            ControlError::ValueTooWide { .. } | ControlError::IndexOutOfRange { .. } => {
                ControlErrorKind::OutOfRange
            }
            ControlError::Exists { .. } => ControlErrorKind::AlreadyExists,
            ControlError::Full { .. } => ControlErrorKind::ResourceExhausted,
            ControlError::ConstDefault { .. } => ControlErrorKind::PermissionDenied,
            ControlError::InUse { .. } => ControlErrorKind::FailedPrecondition,
        }
    }
}
