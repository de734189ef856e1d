//! Data that one part of a program works on, and the flow from one instruction to the next.

use crate::code::ir::Pc;
use crate::code::layout::{packet_slot, Regs};
use crate::code::program::Program;
use crate::state::cells::State;

/// Repetitions of parser states and action loops that one pass may make.
pub(crate) const LOOP_LIMIT: u32 = 70_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The loop limit was reached.
    Runaway,
}

/// The end of ingress.
pub(crate) enum Ended {
    /// The requests and the fields of the packet tell what becomes of it.
    Undecided,
    Dropped,
    Queued {
        port: u16,
        priority: u8,
    },
    /// To the multicast group that a field names.
    Replicates,
    /// The loop limit was reached.
    Runaway,
}

/// How far egress and deparser have come in one go.
pub(crate) enum Egressed {
    /// The egress control is done, and has asked for something or dropped the packet.
    Stopped,
    /// All is done; so many bytes of headers are written.
    Headers(usize),
    Runaway,
}

/// Bytes that the code works on.
#[derive(Clone, Copy)]
pub(crate) struct Wire<'f> {
    pub frame: &'f [u8],
    /// Next byte that the parser reads; afterwards the start of the payload.
    pub cursor: usize,
}

/// All that machine code works on, but for the bytes; it sees the arrays by `Views`.
pub(crate) struct Run<'r, Views> {
    pub program: &'r Program,
    pub regs: &'r mut Regs,
    pub state: &'r mut State,
    pub views: &'r mut Views,
    pub now_ps: u64,
}

/// Data that the code works on.
pub(crate) struct Context<'m> {
    pub program: &'m Program,
    pub regs: &'m mut Regs,
    pub state: &'m mut State,
    pub wire: Wire<'m>,
    pub now_ps: u64,
    /// Width of the variable field of the next extract, bits.
    pub variable_bits: u64,
}

/// Bytes to which the packet is cut. The limit cuts nothing by itself: simple_switch asks for it
/// when a frame leaves and when a checksum covers the payload.
pub(crate) fn length_limit(regs: &Regs) -> usize {
    match regs[packet_slot::TRUNCATE as usize] {
        0 => usize::MAX,
        limit => usize::try_from(limit - 1).unwrap_or(usize::MAX),
    }
}

/// Width of a variable field as simple_switch takes it: the conversion to a signed 32-bit number
/// saturates, and the greatest such number is not a multiple of 8, which is an error of its own.
pub(crate) fn variable_bits(value: u64) -> u64 {
    value.min(i32::MAX as u64)
}

/// Next place of the code after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Next,
    To(Pc),
    /// Into an action that returns to `next`.
    Call {
        entry: Pc,
        next: Pc,
    },
}
