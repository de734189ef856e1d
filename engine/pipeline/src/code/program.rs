//! The immutable, compiled program.

use std::collections::{BTreeMap, HashMap};

use crate::code::calculation::{Calculation, HashAlgorithm, HashInput};
use crate::code::ir::{ActionCode, NextNodes, Op, Pc, Select};
use crate::code::layout::{packet_slot, FieldRef, Layout, Regs, Slot};
use crate::code::marks::Mark;
use crate::code::registers::RegisterPlace;
use crate::code::touches::Touch;
use crate::numbers::words::mask64;
use crate::vocabulary::entries::{ActionCall, KeyMatch};
use crate::vocabulary::info::{
    ActionInfo, ActionProfileInfo, CounterInfo, DigestInfo, EnumInfo, HeaderInfo, HeaderTypeInfo, MatchKind,
    MeterInfo, RegisterInfo, TableInfo, ValueSetInfo,
};

/// Codes of the core parser errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Errors {
    pub no_error: u64,
    pub packet_too_short: u64,
    pub stack_out_of_bounds: u64,
    pub header_too_short: u64,
    pub parser_invalid_argument: u64,
}

/// Fields that simple_switch and a program exchange; a program does not use absent ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Intrinsics {
    pub ingress_port: Option<FieldRef>,
    pub packet_length: Option<FieldRef>,
    pub egress_spec: Option<FieldRef>,
    pub egress_port: Option<FieldRef>,
    pub instance_type: Option<FieldRef>,
    pub parser_error: Option<FieldRef>,
    pub checksum_error: Option<FieldRef>,
    pub ingress_timestamp: Option<FieldRef>,
    pub egress_timestamp: Option<FieldRef>,
    pub multicast_group: Option<FieldRef>,
    pub egress_rid: Option<FieldRef>,
    pub priority: Option<FieldRef>,
    pub enq_timestamp: Option<FieldRef>,
    pub enq_qdepth: Option<FieldRef>,
    pub deq_timedelta: Option<FieldRef>,
    pub deq_qdepth: Option<FieldRef>,
    pub qid: Option<FieldRef>,
}

impl Intrinsics {
    pub fn of(layout: &Layout) -> Intrinsics {
        let standard = |name| layout.intrinsic("standard_metadata", name);
        let intrinsic = |name| layout.intrinsic("intrinsic_metadata", name);
        let queueing = |name| layout.intrinsic("queueing_metadata", name);
        let mut fields = Intrinsics {
            ingress_port: standard("ingress_port"),
            packet_length: standard("packet_length"),
            egress_spec: standard("egress_spec"),
            egress_port: standard("egress_port"),
            instance_type: standard("instance_type"),
            parser_error: standard("parser_error"),
            checksum_error: standard("checksum_error"),
            ingress_timestamp: intrinsic("ingress_global_timestamp"),
            egress_timestamp: intrinsic("egress_global_timestamp"),
            multicast_group: intrinsic("mcast_grp"),
            egress_rid: intrinsic("egress_rid"),
            priority: intrinsic("priority"),
            enq_timestamp: queueing("enq_timestamp"),
            enq_qdepth: queueing("enq_qdepth"),
            deq_timedelta: queueing("deq_timedelta"),
            deq_qdepth: queueing("deq_qdepth"),
            qid: queueing("qid"),
        };
        // simple_switch fills the queueing metadata only where all four fields exist.
        let all = [fields.enq_timestamp, fields.enq_qdepth, fields.deq_timedelta, fields.deq_qdepth];
        if all.iter().any(Option::is_none) {
            fields.enq_timestamp = None;
            fields.enq_qdepth = None;
            fields.deq_timedelta = None;
            fields.deq_qdepth = None;
            fields.qid = None;
        }
        fields
    }
}

impl Intrinsics {
    /// Those that the traffic manager knows of a packet's time in a queue.
    pub fn queueing(&mut self) -> [&mut Option<FieldRef>; 5] {
        let Intrinsics { enq_timestamp, enq_qdepth, deq_timedelta, deq_qdepth, qid, .. } = self;
        [enq_timestamp, enq_qdepth, deq_timedelta, deq_qdepth, qid]
    }

    /// Those that the program has.
    pub fn fields(&self) -> impl Iterator<Item = FieldRef> {
        let all = [
            self.ingress_port,
            self.packet_length,
            self.egress_spec,
            self.egress_port,
            self.instance_type,
            self.parser_error,
            self.checksum_error,
            self.ingress_timestamp,
            self.egress_timestamp,
            self.multicast_group,
            self.egress_rid,
            self.priority,
            self.enq_timestamp,
            self.enq_qdepth,
            self.deq_timedelta,
            self.deq_qdepth,
            self.qid,
        ];
        all.into_iter().flatten()
    }
}

/// One component of a table key.
#[derive(Clone, Debug)]
pub(crate) struct KeyPlan {
    pub slot: Slot,
    /// Valid flag of the field's header; metadata is always valid.
    pub valid: Slot,
    pub bits: u32,
    pub kind: MatchKind,
    /// Static mask of the program.
    pub mask: Option<Vec<u64>>,
    /// First word of the field in the packed key.
    pub word: u16,
    /// Bit position in that word; several narrow fields share a word.
    pub shift: u8,
}

impl KeyPlan {
    /// Bits of a limb of the field that take part.
    pub fn word_mask(&self, limb: usize) -> u64 {
        let whole = mask64((self.bits - limb as u32 * 64).min(64));
        match &self.mask {
            Some(fixed) => whole & fixed.get(limb).copied().unwrap_or(0),
            None => whole,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct TablePlan {
    pub key: Vec<KeyPlan>,
    /// Words of the packed key.
    pub words: usize,
    pub kind: MatchKind,
    /// Indices into the program's actions.
    pub actions: Vec<usize>,
    pub next: NextNodes,
    /// Next node after a miss without default action.
    pub miss: Pc,
    pub counted: bool,
    /// (meter, field that gets the colour).
    pub meter: Option<(u16, FieldRef)>,
    pub profile: Option<u16>,
    pub timeout: bool,
}

impl TablePlan {
    /// Every entry matches one value of the whole key.
    pub fn is_exact(&self) -> bool {
        let exact = |key: &KeyPlan| matches!(key.kind, MatchKind::Exact | MatchKind::Valid);
        self.kind == MatchKind::Exact && self.key.iter().all(exact)
    }

    /// A look-up leaves nothing behind and leads straight to an action.
    pub fn is_pure(&self) -> bool {
        !self.counted && self.meter.is_none() && !self.timeout && self.profile.is_none()
    }

    pub fn link(&mut self, pc: &dyn Fn(Pc) -> Pc) {
        self.miss = pc(self.miss);
        match &mut self.next {
            NextNodes::HitMiss { hit, miss } => {
                *hit = pc(*hit);
                *miss = pc(*miss);
            }
            NextNodes::ByAction(next) => next.iter_mut().for_each(|label| *label = pc(*label)),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ProfilePlan {
    /// Hash and its input, for selectors.
    pub selector: Option<(HashAlgorithm, Vec<HashInput>)>,
    /// Indices of the actions that members may have.
    pub actions: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct DigestPlan {
    /// The learn list.
    pub id: u32,
    /// The digest that it belongs to, by the id of its first learn list.
    pub digest: u32,
    pub fields: Vec<FieldRef>,
}

/// An entry that the program itself brings.
#[derive(Clone, Debug)]
pub(crate) struct InitialEntry {
    pub table: usize,
    pub key: Vec<KeyMatch>,
    pub priority: i32,
    /// Index of the action and its data.
    pub action: usize,
    pub data: Vec<Vec<u8>>,
}

/// Default action of a table: index and data.
pub(crate) type DefaultAction = Option<(usize, Vec<Vec<u8>>)>;

/// Everything that may be read from a place of the program on before it is written.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    /// Ascending.
    pub slots: Vec<Slot>,
    /// Headers whose fields are read while they are valid.
    pub contents: Vec<u16>,
}

#[derive(Clone, Debug)]
pub(crate) struct Liveness {
    /// At the start of a pass, when no header is valid.
    pub start: Live,
    pub egress: Live,
    /// Slots that egress and deparser may write, ascending: those that differ after a copy of a packet.
    pub written: Vec<Slot>,
    pub ends: LiveAfter,
}

/// The slots that are read after a part of the program, of all that it may have left.
#[derive(Clone, Debug)]
pub(crate) struct LiveAfter {
    pub ingress: Live,
    pub egress: Live,
    pub deparser: Live,
    /// By the target itself, after all parts.
    pub target: Live,
}

/// The place of a header in a stack that only extraction fills: those from `next` on are invalid, whatever their flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    /// Slot of the next free index.
    pub next: Slot,
    pub index: u16,
}

/// The executable part.
pub(crate) struct Code {
    pub ops: Vec<Op>,
    /// Names of instructions, ascending.
    pub marks: Vec<(Pc, Mark)>,
    pub selects: Vec<Select>,
    pub calculations: Vec<Calculation>,
    pub actions: Vec<ActionCode>,
    pub registers: Vec<RegisterPlace>,
    pub tables: Vec<TablePlan>,
    pub profiles: Vec<ProfilePlan>,
    pub parser_entry: Pc,
    /// Next instruction of the parser after an error.
    pub parser_end: Pc,
    pub ingress_entry: Pc,
    pub egress_entry: Pc,
    pub deparser_entry: Pc,
    pub deparse_order: Vec<u16>,
    /// Packet slots at the start of a pass.
    pub image: Vec<u64>,
    /// Field slots of every metadata instance: first slot and count.
    pub metadata: Vec<(Slot, u16)>,
    pub param_base: Slot,
    /// First slot of intermediate values, which end with their statement.
    pub temp_base: Slot,
    pub constant_base: Slot,
    pub constants: Vec<u64>,
    /// Few: a tree finds one of them faster than a hash.
    pub field_lists: BTreeMap<u32, Vec<FieldRef>>,
    pub digests: Vec<DigestPlan>,
    pub errors: Errors,
    pub intrinsics: Intrinsics,
    /// By header, of those in stacks that only extraction fills.
    pub filled: Vec<Option<Filled>>,
    /// `None` where anything may be read anywhere.
    pub liveness: Option<Liveness>,
    /// Cells of arrays that ingress touches; empty where that is not known.
    pub touches: Vec<Touch>,
}

impl Code {
    /// Value of a slot that holds a constant.
    pub fn constant(&self, slot: Slot) -> Option<u64> {
        if slot == packet_slot::VALID {
            return Some(1);
        }
        let index = slot.checked_sub(self.constant_base)?;
        self.constants.get(index as usize).copied()
    }

    /// True where the deparser writes a header.
    pub fn is_valid(&self, layout: &Layout, regs: &Regs, header: u16) -> bool {
        let is_filled = |filled: Filled| regs[filled.next as usize] > u64::from(filled.index);
        self.filled[header as usize].is_none_or(is_filled)
            && regs[layout.headers[header as usize].base as usize] != 0
    }
}

/// Name to index of the objects that the control plane addresses.
#[derive(Default)]
pub(crate) struct NameIndex {
    pub tables: HashMap<String, usize>,
    pub counters: HashMap<String, usize>,
    pub meters: HashMap<String, usize>,
    pub registers: HashMap<String, usize>,
    pub profiles: HashMap<String, usize>,
    pub value_sets: HashMap<String, usize>,
}

/// A BMv2 JSON program, checked and compiled.
pub struct Program {
    pub(crate) tables: Vec<TableInfo>,
    pub(crate) actions: Vec<ActionInfo>,
    pub(crate) counters: Vec<CounterInfo>,
    pub(crate) meters: Vec<MeterInfo>,
    pub(crate) registers: Vec<RegisterInfo>,
    pub(crate) action_profiles: Vec<ActionProfileInfo>,
    pub(crate) value_sets: Vec<ValueSetInfo>,
    pub(crate) digests: Vec<DigestInfo>,
    pub(crate) enums: Vec<EnumInfo>,
    pub(crate) error_members: EnumInfo,
    pub(crate) header_types: Vec<HeaderTypeInfo>,
    pub(crate) headers: Vec<HeaderInfo>,
    pub(crate) names: NameIndex,
    pub(crate) layout: Layout,
    pub(crate) code: Code,
    pub(crate) initial_entries: Vec<InitialEntry>,
    pub(crate) defaults: Vec<DefaultAction>,
}

impl Program {
    pub(crate) fn index_names(&mut self) {
        fn index<'a>(names: impl Iterator<Item = &'a String>) -> HashMap<String, usize> {
            names.enumerate().map(|(index, name)| (name.clone(), index)).collect()
        }
        self.names = NameIndex {
            tables: index(self.tables.iter().map(|info| &info.name)),
            counters: index(self.counters.iter().map(|info| &info.name)),
            meters: index(self.meters.iter().map(|info| &info.name)),
            registers: index(self.registers.iter().map(|info| &info.name)),
            profiles: index(self.action_profiles.iter().map(|info| &info.name)),
            value_sets: index(self.value_sets.iter().map(|info| &info.name)),
        };
    }

    /// The compiled instructions, one per line with the entry points marked, for people.
    pub fn listing(&self) -> String {
        use std::fmt::Write as _;
        let code = &self.code;
        let mut text = format!(
            "; packet slots 0..{}, parameters from {}, constants from {}\n",
            self.layout.slots, code.param_base, code.constant_base
        );
        let entries = [
            (code.parser_entry, "parser"),
            (code.parser_end, "parser end"),
            (code.ingress_entry, "ingress"),
            (code.egress_entry, "egress"),
            (code.deparser_entry, "deparser"),
        ];
        for (pc, op) in code.ops.iter().enumerate() {
            for (entry, name) in entries {
                if entry as usize == pc {
                    let _ = writeln!(text, "{name}:");
                }
            }
            let _ = writeln!(text, "{pc:6} {op:?}");
        }
        text
    }

    /// The call of an action by index, with its data.
    pub(crate) fn action_call(&self, action: usize, data: &[Vec<u8>]) -> ActionCall {
        ActionCall { action: self.actions[action].name.clone(), params: data.to_vec() }
    }

    pub fn tables(&self) -> &[TableInfo] {
        &self.tables
    }

    pub fn table(&self, name: &str) -> Option<&TableInfo> {
        self.names.tables.get(name).map(|&index| &self.tables[index])
    }

    pub fn actions(&self) -> &[ActionInfo] {
        &self.actions
    }

    /// All counter arrays, direct ones included.
    pub fn counters(&self) -> &[CounterInfo] {
        &self.counters
    }

    /// All meter arrays, direct ones included.
    pub fn meters(&self) -> &[MeterInfo] {
        &self.meters
    }

    pub fn registers(&self) -> &[RegisterInfo] {
        &self.registers
    }

    pub fn action_profiles(&self) -> &[ActionProfileInfo] {
        &self.action_profiles
    }

    pub fn value_sets(&self) -> &[ValueSetInfo] {
        &self.value_sets
    }

    pub fn digests(&self) -> &[DigestInfo] {
        &self.digests
    }

    /// Enums to which the compiler gave numbers.
    pub fn enums(&self) -> &[EnumInfo] {
        &self.enums
    }

    /// The errors with their numbers.
    pub fn errors(&self) -> &EnumInfo {
        &self.error_members
    }

    pub fn header_types(&self) -> &[HeaderTypeInfo] {
        &self.header_types
    }

    pub fn headers(&self) -> &[HeaderInfo] {
        &self.headers
    }
}
