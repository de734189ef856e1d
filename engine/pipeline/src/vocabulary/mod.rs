//! What a caller says and hears: entries, what a program declares, errors.

pub(crate) mod entries;
pub(crate) mod error;
pub(crate) mod info;
