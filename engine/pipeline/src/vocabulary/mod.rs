//! Types of the interface: entries, declarations of a program, errors.

pub(crate) mod entries;
pub(crate) mod error;
pub(crate) mod info;
