//! Declarations of a program by name: the metadata that a control plane needs to check and to
//! translate its requests.

/// Match kind of a field of a key, or of a whole table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchKind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
    Valid,
}

impl MatchKind {
    /// The name that BMv2 JSON and P4Info use.
    pub fn name(self) -> &'static str {
        match self {
            MatchKind::Exact => "exact",
            MatchKind::Lpm => "lpm",
            MatchKind::Ternary => "ternary",
            MatchKind::Range => "range",
            MatchKind::Optional => "optional",
            MatchKind::Valid => "valid",
        }
    }
}

/// A field of a header type, a digest or a value set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldInfo {
    pub name: String,
    /// For a variable-length field its greatest width.
    pub width_bits: u32,
    pub signed: bool,
    pub variable: bool,
}

/// A header or metadata type, among them the controller's `packet_in` and `packet_out`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderTypeInfo {
    pub name: String,
    pub fields: Vec<FieldInfo>,
}

/// An enum without values of its own, or the errors: names and the numbers that the program has for
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnumInfo {
    pub name: String,
    pub members: Vec<(String, u64)>,
}

/// A header or metadata instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderInfo {
    pub name: String,
    /// Name of its [`HeaderTypeInfo`].
    pub header_type: String,
    pub metadata: bool,
}

/// One component of a table key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyInfo {
    pub name: String,
    pub kind: MatchKind,
    pub width_bits: u32,
}

/// A parameter of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    pub name: String,
    pub width_bits: u32,
}

/// An action. Several may share one name (p4c copies an action per table), ids are unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionInfo {
    pub name: String,
    pub id: u32,
    pub params: Vec<ParamInfo>,
    /// Number of parameters at the end that are not in the JSON, as nothing uses them.
    pub unused_params: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableInfo {
    pub name: String,
    pub id: u32,
    pub kind: MatchKind,
    pub key: Vec<KeyInfo>,
    /// Indices into [`crate::Program::actions`].
    pub actions: Vec<usize>,
    pub max_size: usize,
    /// The program brings entries along. Whether they are const only P4Info says.
    pub initial_entries: bool,
    /// The control plane may not change the default action.
    pub const_default_action: bool,
    pub direct_counter: bool,
    /// Name of the direct meter array.
    pub direct_meter: Option<String>,
    /// Name of the action profile that implements the table.
    pub action_profile: Option<String>,
    pub idle_timeout: bool,
}

impl TableInfo {
    /// True when entries carry a priority.
    pub fn needs_priority(&self) -> bool {
        self.key
            .iter()
            .any(|key| matches!(key.kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterInfo {
    pub name: String,
    pub id: u32,
    /// 0 for a direct counter, which has as many cells as its table has entries.
    pub size: usize,
    /// Name of the table of a direct counter.
    pub direct_table: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MeterUnit {
    Packets,
    Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeterInfo {
    pub name: String,
    pub id: u32,
    pub unit: MeterUnit,
    /// 0 for a direct meter, which has as many cells as its table has entries.
    pub size: usize,
    pub direct_table: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterInfo {
    pub name: String,
    pub id: u32,
    pub size: usize,
    pub width_bits: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionProfileInfo {
    pub name: String,
    pub id: u32,
    pub max_size: usize,
    pub has_selector: bool,
    /// Tables that it implements.
    pub tables: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSetInfo {
    pub name: String,
    pub id: u32,
    pub max_size: usize,
    /// Widths of the fields of one member.
    pub width_bits: Vec<u32>,
}

/// A digest (BMv2 learn list).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestInfo {
    pub name: String,
    pub id: u32,
    pub fields: Vec<FieldInfo>,
}
