//! The compiled form of a program: a flat array of small instructions over slots. It is data, so
//! that it can be executed, printed, and interpreted abstractly; every read and write of state
//! (tables, registers, counters, meters, random numbers) is an instruction of its own.
//!
//! Operands are slots. Constants live in slots too, behind the packet's own, so that an
//! instruction never has to ask what kind of operand it has. Narrow instructions work on 64-bit
//! words modulo 2^64; wide ones (`W...`) on runs of limbs.

use crate::code::layout::Slot;

/// Index of an instruction; before linking, a label.
pub(crate) type Pc = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// End of the current program part.
    Halt,
    /// Back to where the table was applied, or the end after `exit`.
    Return,
    /// End of the pipeline if `exit` was executed.
    HaltIfExit,
    Jump {
        to: Pc,
    },
    /// Start of a parser state or of a loop: counts towards the loop limit.
    Guard,
    BranchZero {
        a: Slot,
        to: Pc,
    },
    BranchNotZero {
        a: Slot,
        to: Pc,
    },
    BranchEq {
        a: Slot,
        b: Slot,
        to: Pc,
    },
    BranchNe {
        a: Slot,
        b: Slot,
        to: Pc,
    },
    BranchLessU {
        a: Slot,
        b: Slot,
        to: Pc,
    },
    BranchNotLessU {
        a: Slot,
        b: Slot,
        to: Pc,
    },
    BranchLessS {
        a: Slot,
        b: Slot,
        to: Pc,
    },
    BranchNotLessS {
        a: Slot,
        b: Slot,
        to: Pc,
    },

    Move {
        dst: Slot,
        a: Slot,
    },
    MoveMany {
        dst: Slot,
        a: Slot,
        count: u16,
    },
    Add {
        dst: Slot,
        a: Slot,
        b: Slot,
        mask: u64,
    },
    Sub {
        dst: Slot,
        a: Slot,
        b: Slot,
        mask: u64,
    },
    Mul {
        dst: Slot,
        a: Slot,
        b: Slot,
        mask: u64,
    },
    And {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    AndMask {
        dst: Slot,
        a: Slot,
        mask: u64,
    },
    Or {
        dst: Slot,
        a: Slot,
        b: Slot,
        mask: u64,
    },
    Xor {
        dst: Slot,
        a: Slot,
        b: Slot,
        mask: u64,
    },
    Not {
        dst: Slot,
        a: Slot,
        mask: u64,
    },
    ShiftLeft {
        dst: Slot,
        a: Slot,
        b: Slot,
        mask: u64,
    },
    ShiftRightU {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    ShiftRightS {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    /// `(a >> right) & mask`: a slice.
    Slice {
        dst: Slot,
        a: Slot,
        right: u8,
        mask: u64,
    },
    /// Unsigned quotient and remainder; a zero divisor gives 0.
    DivU {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    ModU {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    SignExtend {
        dst: Slot,
        a: Slot,
        bits: u8,
    },
    Eq {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    Ne {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    LessU {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    LessS {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    /// 1 - a for a truth value.
    IsZero {
        dst: Slot,
        a: Slot,
    },
    /// min and max of two signed values, for saturation.
    MinS {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    MaxS {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    MinU {
        dst: Slot,
        a: Slot,
        b: Slot,
    },

    /// Extends `from` limbs to `to` limbs.
    WExtend {
        dst: Slot,
        a: Slot,
        from: u16,
        to: u16,
        signed: bool,
    },
    WAdd {
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
    },
    WSub {
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
    },
    WMul {
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
    },
    WAnd {
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
    },
    WOr {
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
    },
    WXor {
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
    },
    WNot {
        dst: Slot,
        a: Slot,
        limbs: u16,
    },
    WDiv {
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
    },
    WMod {
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
    },
    /// The amount `b` is one unsigned word.
    WShiftLeft {
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
    },
    WShiftRight {
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
        signed: bool,
    },
    /// Cuts to `bits` in place, repeating the sign if `signed`.
    WTruncate {
        dst: Slot,
        limbs: u16,
        bits: u32,
        signed: bool,
    },
    WEq {
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
    },
    WLess {
        dst: Slot,
        a: Slot,
        b: Slot,
        limbs: u16,
        signed: bool,
    },

    /// Header operands are slots that hold a header id; an id beyond the last header makes the
    /// instruction a no-op and a read 0.
    AddHeader {
        header: Slot,
    },
    RemoveHeader {
        header: Slot,
    },
    AssignHeader {
        dst: Slot,
        src: Slot,
    },
    HeaderValid {
        dst: Slot,
        header: Slot,
    },
    HeaderEq {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    UnionValid {
        dst: Slot,
        union: Slot,
    },
    UnionEq {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    AssignUnion {
        dst: Slot,
        src: Slot,
    },
    AssignStack {
        dst: u16,
        src: u16,
    },
    AssignUnionStack {
        dst: u16,
        src: u16,
    },
    Push {
        stack: u16,
        count: Slot,
    },
    Pop {
        stack: u16,
        count: Slot,
    },
    PushUnion {
        stack: u16,
        count: Slot,
    },
    PopUnion {
        stack: u16,
        count: Slot,
    },
    /// Header id of element `index` of a stack.
    StackElement {
        dst: Slot,
        stack: u16,
        index: Slot,
    },
    /// Header id of the last element in use.
    StackLast {
        dst: Slot,
        stack: u16,
    },
    UnionStackElement {
        dst: Slot,
        stack: u16,
        index: Slot,
    },
    /// Header id of member `member` of the union in slot `union`.
    UnionMember {
        dst: Slot,
        union: Slot,
        member: u16,
    },
    /// `limbs` words at `offset` of the block of the header in slot `header`.
    LoadField {
        dst: Slot,
        header: Slot,
        offset: u16,
        limbs: u16,
    },
    StoreField {
        src: Slot,
        header: Slot,
        offset: u16,
        limbs: u16,
    },
    /// Copies a variable-length field (length slot and limbs), capped to the destination.
    AssignVariable {
        dst: Slot,
        src: Slot,
        dst_limbs: u16,
        src_limbs: u16,
    },

    Extract {
        header: u16,
    },
    ExtractNext {
        stack: u16,
    },
    ExtractUnionNext {
        stack: u16,
        member: u16,
    },
    /// Sets the width of the variable field of the next extract, bits.
    VariableBits {
        a: Slot,
    },
    /// Looks `bits` ahead from bit `offset`; `check` fails like simple_switch's set operation.
    Lookahead {
        dst: Slot,
        offset: u32,
        bits: u16,
        check: bool,
        signed: bool,
    },
    Advance {
        bits: Slot,
    },
    /// Ends the parser with the error code in `a`.
    ParserError {
        a: Slot,
    },
    Select {
        select: u16,
    },

    Table {
        table: u16,
    },
    RegisterRead {
        dst: Slot,
        register: u16,
        index: Slot,
    },
    RegisterWrite {
        register: u16,
        index: Slot,
        src: Slot,
    },
    Count {
        counter: u16,
        index: Slot,
    },
    Meter {
        dst: Slot,
        meter: u16,
        index: Slot,
    },
    /// Uniform in a..=b; leaves `dst` alone when a > b.
    Random {
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    /// Result of a calculation over its input, one word.
    Hash {
        dst: Slot,
        calculation: u16,
    },
    /// Keeps the smaller of the old and the new limit.
    Truncate {
        a: Slot,
    },
}

impl Op {
    /// Applies `f` to the target of a branch.
    pub fn map_target(&mut self, f: impl FnOnce(Pc) -> Pc) {
        match self {
            Op::Jump { to }
            | Op::BranchZero { to, .. }
            | Op::BranchNotZero { to, .. }
            | Op::BranchEq { to, .. }
            | Op::BranchNe { to, .. }
            | Op::BranchLessU { to, .. }
            | Op::BranchNotLessU { to, .. }
            | Op::BranchLessS { to, .. }
            | Op::BranchNotLessS { to, .. } => *to = f(*to),
            _ => {}
        }
    }
}

/// One component of a select key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SelectPart {
    pub slot: Slot,
    pub bits: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum SelectCase {
    /// key & mask == value, as packed bytes.
    Value {
        value: Vec<u8>,
        mask: Option<Vec<u8>>,
        to: Pc,
    },
    ValueSet {
        set: u16,
        mask: Option<Vec<u8>>,
        to: Pc,
    },
}

/// Transition of a parser state: the parts, each padded to whole bytes, make the key.
#[derive(Clone, Debug)]
pub(crate) struct Select {
    pub parts: Vec<SelectPart>,
    /// Cases in order; used when the key is wider than 64 bits or a value set takes part.
    pub cases: Vec<SelectCase>,
    /// (mask, value, target) for keys of at most 64 bits without value sets.
    pub narrow: Option<Vec<(u64, u64, Pc)>>,
    pub default: Pc,
}

impl Select {
    /// Where the parser may go.
    pub fn targets(&self) -> impl Iterator<Item = Pc> + '_ {
        let cases = self.cases.iter().map(|case| match case {
            SelectCase::Value { to, .. } | SelectCase::ValueSet { to, .. } => *to,
        });
        let narrow = self.narrow.iter().flatten().map(|case| case.2);
        cases.chain(narrow).chain([self.default])
    }
}

/// A compiled action.
#[derive(Clone, Debug)]
pub(crate) struct ActionCode {
    pub entry: Pc,
    /// Offset and limbs of each parameter in the parameter area, with width in bits.
    pub params: Vec<(u16, u16, u32)>,
    /// Words of all parameters.
    pub words: u16,
}

/// Where a pipeline goes after a table.
#[derive(Clone, Debug)]
pub(crate) enum NextNodes {
    HitMiss {
        hit: Pc,
        miss: Pc,
    },
    /// Per action of the table, in the order of the table's action list.
    ByAction(Vec<Pc>),
}
