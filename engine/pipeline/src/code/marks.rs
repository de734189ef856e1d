//! Names of places in a program, for people who follow a packet through it.

use crate::code::ir::Pc;

/// The part of a program that begins at an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A parser state.
    State(String),
    /// An action that is translated in place, and its table or where the program has it.
    Action(String),
    /// A condition, with the places where it leads.
    Condition { text: String, then: Pc, otherwise: Pc },
}
