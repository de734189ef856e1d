//! Idle passes: proof that a packet in the recirculation loop will do nothing but go round, and
//! for how long.
//!
//! A pass is pure, so a packet whose pass changes nothing but a time stamp in its own frame does the same again until a
//! decision of the program that depends on time turns out differently. [`Switch::probe_idle`] executes the pass over
//! the compiled instructions with the time stamps as unknowns (`moving`, `shadow`) and gives the first time at which a
//! decision may differ. An instruction that the probe cannot follow refuses the pass: a target then executes it, which
//! costs time and changes no result.
//!
//! Most proofs are made after a frame has departed, which changes a register. What of a pass depends on registers and time
//! is recorded (`recording`), so that a further proof repeats these few instructions alone (`repetition`).
//!
//! See docs/designs/0004-idle-loops.md.

mod abstract_values;
mod arithmetic;
mod ends;
mod headers;
pub(crate) mod moving;
mod pattern;
pub(crate) mod probe;
mod recording;
mod repetition;
mod shadow;
mod stamp;
mod traces;
pub(crate) mod watch;
