//! From the JSON document to a compiled program.
//!
//! `json` reads values with their place. `layout`, `arrays` and `calculations` read declarations,
//! `expr` expressions; `range`, `lower` and `conditions` turn those into instructions, which `asm`
//! collects. `parser`, `actions`, `control` with its `tables`, and `checksums` do so for the parts of a
//! program, and `compile` puts everything together. `liveness` then finds what of a packet the program reads, from the
//! `effects` of its instructions, `filled` which stacks grow by extraction alone, `touches` which cells of
//! arrays, and `unread` what it never reads.

pub(crate) mod actions;
pub(crate) mod arrays;
pub(crate) mod asm;
pub(crate) mod calculations;
pub(crate) mod checksums;
pub(crate) mod compile;
pub(crate) mod conditions;
pub(crate) mod control;
pub(crate) mod declarations;
pub(crate) mod effects;
pub(crate) mod expr;
pub(crate) mod filled;
pub(crate) mod json;
pub(crate) mod layout;
pub(crate) mod liveness;
pub(crate) mod lower;
pub(crate) mod parser;
pub(crate) mod range;
pub(crate) mod tables;
pub(crate) mod touches;
pub(crate) mod unread;
