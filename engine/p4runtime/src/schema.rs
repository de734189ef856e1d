//! P4Info as an index: ids to names, with all that is needed to check and translate entities.
//! Built by [`crate::schema_build`], which also checks that P4Info fits the program.

use std::collections::HashMap;
use std::sync::Arc;

use p4mesh_pipeline::MatchKind;

use crate::names::Names;
use crate::packet::PacketHeader;
use crate::proto::info::{CounterUnit, MeterType, P4DataTypeSpec, P4TypeInfo, SelectorSizeSemantics};
use crate::refusal::{Outcome, Refusal};
use crate::symbols::Symbols;

/// A component of a table key or of a value set member.
#[derive(Clone, Debug)]
pub struct FieldSchema {
    pub id: u32,
    pub name: String,
    /// As P4Info has it.
    pub kind: MatchKind,
    /// True where the program matches as ternary what P4Info calls exact, LPM or optional (p4c
    /// writes optional fields as ternary ones).
    pub as_ternary: bool,
    /// Of a type that is translated to strings.
    pub names: Option<Arc<Names>>,
    pub width_bits: u32,
}

#[derive(Clone, Debug)]
pub struct ParamSchema {
    pub id: u32,
    pub name: String,
    /// Of a type that is translated to strings.
    pub names: Option<Arc<Names>>,
    pub width_bits: u32,
    /// In the list of the program.
    pub position: usize,
}

#[derive(Clone, Debug)]
pub struct ActionSchema {
    pub id: u32,
    pub name: String,
    pub params: Vec<ParamSchema>,
}

/// An action in the list of a table.
#[derive(Clone, Copy, Debug)]
pub struct ActionUse {
    /// Position in [`Schema::actions`].
    pub action: usize,
    pub in_entries: bool,
    pub as_default: bool,
}

#[derive(Clone, Debug)]
pub struct TableSchema {
    pub id: u32,
    pub name: String,
    /// In the order of the program's key.
    pub fields: Vec<FieldSchema>,
    pub actions: Vec<ActionUse>,
    pub needs_priority: bool,
    pub const_entries: bool,
    /// The size in P4Info of a table with initial entries; the program has no size for it.
    pub initial_size: Option<usize>,
    pub const_default: bool,
    /// Id of the default action that P4Info has.
    pub default_action: Option<u32>,
    /// Position in [`Schema::profiles`].
    pub profile: Option<usize>,
    pub direct_counter: Option<CounterUnit>,
    pub direct_meter: Option<MeterType>,
    pub idle_timeout: bool,
}

#[derive(Clone, Debug)]
pub struct ProfileSchema {
    pub id: u32,
    pub name: String,
    pub with_selector: bool,
    /// 0 = no limit of its own.
    pub max_group_size: i32,
    pub semantics: Option<SelectorSizeSemantics>,
    /// Members have no weights: 0 is the only valid one, and all are alike.
    pub weights_disallowed: bool,
    /// Positions in [`Schema::tables`].
    pub tables: Vec<usize>,
}

/// A counter, meter or register array.
#[derive(Clone, Debug)]
pub struct ArraySchema {
    pub id: u32,
    pub name: String,
    pub size: usize,
}

#[derive(Clone, Debug)]
pub struct CounterSchema {
    pub array: ArraySchema,
    pub unit: CounterUnit,
}

#[derive(Clone, Debug)]
pub struct MeterSchema {
    pub array: ArraySchema,
    pub meter_type: MeterType,
}

#[derive(Clone, Debug)]
pub struct RegisterSchema {
    pub array: ArraySchema,
    pub width_bits: u32,
    pub kind: ScalarKind,
}

/// How a scalar of the program appears in a P4Data.
#[derive(Clone, Debug)]
pub enum ScalarKind {
    Bits,
    /// Translated to strings.
    Text(Arc<Names>),
    /// Two's complement of this width.
    Int,
    Bool,
    /// An enum with an underlying type.
    EnumValue,
    /// An enum without one.
    Enum(Arc<Symbols>),
    Error(Arc<Symbols>),
}

#[derive(Clone, Debug)]
pub struct ValueSetSchema {
    pub id: u32,
    pub name: String,
    pub size: usize,
    pub fields: Vec<FieldSchema>,
}

#[derive(Clone, Debug)]
pub struct DigestSchema {
    pub id: u32,
    pub name: String,
    /// The id in the program, which [`crate::Event::Digest`] carries.
    pub program_id: u32,
    pub type_spec: P4DataTypeSpec,
}

/// The index of one P4Info.
#[derive(Debug, Default)]
pub struct Schema {
    pub tables: Vec<TableSchema>,
    pub actions: Vec<ActionSchema>,
    pub profiles: Vec<ProfileSchema>,
    pub counters: Vec<CounterSchema>,
    pub meters: Vec<MeterSchema>,
    pub registers: Vec<RegisterSchema>,
    pub value_sets: Vec<ValueSetSchema>,
    pub digests: Vec<DigestSchema>,
    pub types: P4TypeInfo,
    /// Of each type that is translated to strings.
    pub names: HashMap<String, Arc<Names>>,
    /// Of each enum without an underlying type.
    pub enums: HashMap<String, Arc<Symbols>>,
    pub errors: Arc<Symbols>,
    pub packet_in: Option<PacketHeader>,
    pub packet_out: Option<PacketHeader>,
    pub(crate) ids: HashMap<u32, ObjectRef>,
    pub(crate) action_names: HashMap<String, usize>,
}

/// Object with an id: a kind and the position in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectRef {
    Table(usize),
    Action(usize),
    Profile(usize),
    Counter(usize),
    DirectCounter,
    Meter(usize),
    DirectMeter,
    Register(usize),
    ValueSet(usize),
    Digest(usize),
    ControllerHeader,
    /// In P4Info and not in the program, because nothing in the program uses it; with its kind.
    Removed(&'static str),
}

impl ObjectRef {
    fn kind(self) -> &'static str {
        match self {
            ObjectRef::Table(_) => "table",
            ObjectRef::Action(_) => "action",
            ObjectRef::Profile(_) => "action profile",
            ObjectRef::Counter(_) => "counter",
            ObjectRef::DirectCounter => "direct counter",
            ObjectRef::Meter(_) => "meter",
            ObjectRef::DirectMeter => "direct meter",
            ObjectRef::Register(_) => "register",
            ObjectRef::ValueSet(_) => "value set",
            ObjectRef::Digest(_) => "digest",
            ObjectRef::ControllerHeader => "controller header",
            ObjectRef::Removed(kind) => kind,
        }
    }
}

macro_rules! lookups {
    ($($name:ident, $list:ident, $variant:ident, $item:ty, $kind:literal;)*) => {
        impl Schema {
            $(
                /// The object with this id; INVALID_ARGUMENT for an id that P4Info does not have or
                /// that is of another kind.
                pub fn $name(&self, id: u32) -> Outcome<(usize, &$item)> {
                    match self.ids.get(&id) {
                        Some(ObjectRef::$variant(index)) => Ok((*index, &self.$list[*index])),
                        other => Err(self.wrong_id($kind, id, other.copied())),
                    }
                }
            )*
        }
    };
}

lookups! {
    table, tables, Table, TableSchema, "table";
    action, actions, Action, ActionSchema, "action";
    profile, profiles, Profile, ProfileSchema, "action profile";
    counter, counters, Counter, CounterSchema, "counter";
    meter, meters, Meter, MeterSchema, "meter";
    register, registers, Register, RegisterSchema, "register";
    value_set, value_sets, ValueSet, ValueSetSchema, "value set";
    digest, digests, Digest, DigestSchema, "digest";
}

impl Schema {
    fn wrong_id(&self, kind: &str, id: u32, found: Option<ObjectRef>) -> Refusal {
        match found {
            None => Refusal::invalid(format!("no {kind} with id {id:#010x} in P4Info")),
            Some(ObjectRef::Removed(found)) if found == kind => Refusal::precondition(format!(
                "the {kind} with id {id:#010x} is not in the program: nothing uses it, so the compiler removed it"
            )),
            Some(other) => Refusal::invalid(format!(
                "id {id:#010x} is of another kind: wanted {kind}, P4Info has {}",
                other.kind()
            )),
        }
    }

    /// True for an object that P4Info has and the program has not.
    pub fn is_removed(&self, id: u32) -> bool {
        matches!(self.ids.get(&id), Some(ObjectRef::Removed(_)))
    }

    /// The action with this name in the program.
    pub fn action_named(&self, name: &str) -> Option<&ActionSchema> {
        self.action_names.get(name).map(|index| &self.actions[*index])
    }

    /// Names of the actions of a table, for messages.
    pub fn action_list(&self, table: &TableSchema) -> String {
        let names: Vec<&str> =
            table.actions.iter().map(|item| self.actions[item.action].name.as_str()).collect();
        names.join(", ")
    }
}
