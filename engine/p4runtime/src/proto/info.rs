//! P4Info (`p4.config.v1`): the fields that the server uses. The message itself is kept and
//! returned as raw bytes, so fields left out here (documentation, annotations, source locations)
//! are not lost.

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Info {
    #[prost(message, optional, tag = "1")]
    pub pkg_info: Option<PkgInfo>,
    #[prost(message, repeated, tag = "2")]
    pub tables: Vec<Table>,
    #[prost(message, repeated, tag = "3")]
    pub actions: Vec<ActionInfo>,
    #[prost(message, repeated, tag = "4")]
    pub action_profiles: Vec<ActionProfile>,
    #[prost(message, repeated, tag = "5")]
    pub counters: Vec<Counter>,
    #[prost(message, repeated, tag = "6")]
    pub direct_counters: Vec<DirectCounter>,
    #[prost(message, repeated, tag = "7")]
    pub meters: Vec<Meter>,
    #[prost(message, repeated, tag = "8")]
    pub direct_meters: Vec<DirectMeter>,
    #[prost(message, repeated, tag = "9")]
    pub controller_packet_metadata: Vec<ControllerPacketMetadata>,
    #[prost(message, repeated, tag = "10")]
    pub value_sets: Vec<ValueSet>,
    #[prost(message, repeated, tag = "11")]
    pub registers: Vec<Register>,
    #[prost(message, repeated, tag = "12")]
    pub digests: Vec<Digest>,
    #[prost(message, repeated, tag = "100")]
    pub externs: Vec<Extern>,
    #[prost(message, optional, tag = "200")]
    pub type_info: Option<P4TypeInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PkgInfo {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "5")]
    pub arch: String,
    #[prost(message, optional, tag = "11")]
    pub platform_properties: Option<PlatformProperties>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct PlatformProperties {
    #[prost(int32, tag = "1")]
    pub multicast_group_table_size: i32,
    #[prost(int32, tag = "2")]
    pub multicast_group_table_total_replicas: i32,
    #[prost(int32, tag = "3")]
    pub multicast_group_table_max_replicas_per_entry: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Preamble {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub alias: String,
    #[prost(string, repeated, tag = "4")]
    pub annotations: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Extern {
    #[prost(uint32, tag = "1")]
    pub extern_type_id: u32,
    #[prost(string, tag = "2")]
    pub extern_type_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MatchField {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int32, tag = "4")]
    pub bitwidth: i32,
    #[prost(oneof = "Match", tags = "5, 7")]
    pub r#match: Option<Match>,
    #[prost(message, optional, tag = "8")]
    pub type_name: Option<P4NamedType>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Match {
    #[prost(enumeration = "MatchType", tag = "5")]
    MatchType(i32),
    #[prost(string, tag = "7")]
    OtherMatchType(String),
}

/// `p4.config.v1.MatchField.MatchType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum MatchType {
    Unspecified = 0,
    Exact = 2,
    Lpm = 3,
    Ternary = 4,
    Range = 5,
    Optional = 6,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Table {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub match_fields: Vec<MatchField>,
    #[prost(message, repeated, tag = "3")]
    pub action_refs: Vec<ActionRef>,
    #[prost(uint32, tag = "4")]
    pub const_default_action_id: u32,
    #[prost(message, optional, tag = "5")]
    pub initial_default_action: Option<TableActionCall>,
    #[prost(uint32, tag = "6")]
    pub implementation_id: u32,
    #[prost(uint32, repeated, tag = "7")]
    pub direct_resource_ids: Vec<u32>,
    #[prost(int64, tag = "8")]
    pub size: i64,
    #[prost(enumeration = "IdleTimeoutBehavior", tag = "9")]
    pub idle_timeout_behavior: i32,
    #[prost(bool, tag = "10")]
    pub is_const_table: bool,
    #[prost(bool, tag = "11")]
    pub has_initial_entries: bool,
}

/// An action without its arguments, which the program has.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct TableActionCall {
    #[prost(uint32, tag = "1")]
    pub action_id: u32,
}

/// `p4.config.v1.Table.IdleTimeoutBehavior`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum IdleTimeoutBehavior {
    NoTimeout = 0,
    NotifyControl = 1,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionRef {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(enumeration = "Scope", tag = "3")]
    pub scope: i32,
    #[prost(string, repeated, tag = "2")]
    pub annotations: Vec<String>,
}

/// `p4.config.v1.ActionRef.Scope`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Scope {
    TableAndDefault = 0,
    TableOnly = 1,
    DefaultOnly = 2,
}

/// `p4.config.v1.Action`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionInfo {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub params: Vec<ParamInfo>,
}

/// `p4.config.v1.Action.Param`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ParamInfo {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int32, tag = "4")]
    pub bitwidth: i32,
    #[prost(message, optional, tag = "6")]
    pub type_name: Option<P4NamedType>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfile {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(uint32, repeated, tag = "2")]
    pub table_ids: Vec<u32>,
    #[prost(bool, tag = "3")]
    pub with_selector: bool,
    #[prost(int64, tag = "4")]
    pub size: i64,
    #[prost(int32, tag = "5")]
    pub max_group_size: i32,
    #[prost(oneof = "SelectorSizeSemantics", tags = "6, 7")]
    pub selector_size_semantics: Option<SelectorSizeSemantics>,
    #[prost(bool, tag = "8")]
    pub weights_disallowed: bool,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum SelectorSizeSemantics {
    #[prost(message, tag = "6")]
    SumOfWeights(SumOfWeights),
    #[prost(message, tag = "7")]
    SumOfMembers(SumOfMembers),
}

/// `p4.config.v1.ActionProfile.SumOfWeights`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SumOfWeights {}

/// `p4.config.v1.ActionProfile.SumOfMembers`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SumOfMembers {
    #[prost(int32, tag = "1")]
    pub max_member_weight: i32,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CounterSpec {
    #[prost(enumeration = "CounterUnit", tag = "1")]
    pub unit: i32,
}

/// `p4.config.v1.CounterSpec.Unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum CounterUnit {
    Unspecified = 0,
    Bytes = 1,
    Packets = 2,
    Both = 3,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Counter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<CounterSpec>,
    #[prost(int64, tag = "3")]
    pub size: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectCounter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<CounterSpec>,
    #[prost(uint32, tag = "3")]
    pub direct_table_id: u32,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct MeterSpec {
    #[prost(enumeration = "MeterUnit", tag = "1")]
    pub unit: i32,
    #[prost(enumeration = "MeterType", tag = "2")]
    pub r#type: i32,
}

/// `p4.config.v1.MeterSpec.Unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum MeterUnit {
    Unspecified = 0,
    Bytes = 1,
    Packets = 2,
}

/// `p4.config.v1.MeterSpec.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum MeterType {
    TwoRateThreeColor = 0,
    SingleRateThreeColor = 1,
    SingleRateTwoColor = 2,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Meter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<MeterSpec>,
    #[prost(int64, tag = "3")]
    pub size: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectMeter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<MeterSpec>,
    #[prost(uint32, tag = "3")]
    pub direct_table_id: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ControllerPacketMetadata {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<MetadataInfo>,
}

/// `p4.config.v1.ControllerPacketMetadata.Metadata`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MetadataInfo {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, repeated, tag = "3")]
    pub annotations: Vec<String>,
    #[prost(int32, tag = "4")]
    pub bitwidth: i32,
    #[prost(message, optional, tag = "5")]
    pub type_name: Option<P4NamedType>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueSet {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub r#match: Vec<MatchField>,
    #[prost(int32, tag = "3")]
    pub size: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Register {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub type_spec: Option<P4DataTypeSpec>,
    #[prost(int32, tag = "3")]
    pub size: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Digest {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub type_spec: Option<P4DataTypeSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4NamedType {
    #[prost(string, tag = "1")]
    pub name: String,
}

/// Names of the types that registers and digests refer to.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4TypeInfo {
    #[prost(btree_map = "string, message", tag = "1")]
    pub structs: std::collections::BTreeMap<String, P4StructTypeSpec>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub headers: std::collections::BTreeMap<String, P4HeaderTypeSpec>,
    #[prost(btree_map = "string, message", tag = "6")]
    pub serializable_enums: std::collections::BTreeMap<String, P4SerializableEnumTypeSpec>,
    #[prost(btree_map = "string, message", tag = "7")]
    pub new_types: std::collections::BTreeMap<String, P4NewTypeSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4DataTypeSpec {
    #[prost(oneof = "TypeSpec", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
    pub type_spec: Option<TypeSpec>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum TypeSpec {
    #[prost(message, tag = "1")]
    Bitstring(P4BitstringLikeTypeSpec),
    #[prost(message, tag = "2")]
    Bool(P4BoolType),
    #[prost(message, tag = "3")]
    Tuple(P4TupleTypeSpec),
    #[prost(message, tag = "4")]
    Struct(P4NamedType),
    #[prost(message, tag = "5")]
    Header(P4NamedType),
    #[prost(message, tag = "6")]
    HeaderUnion(P4NamedType),
    #[prost(message, tag = "7")]
    HeaderStack(P4HeaderStackTypeSpec),
    #[prost(message, tag = "8")]
    HeaderUnionStack(P4HeaderUnionStackTypeSpec),
    #[prost(message, tag = "9")]
    Enum(P4NamedType),
    #[prost(message, tag = "10")]
    Error(P4ErrorType),
    #[prost(message, tag = "11")]
    SerializableEnum(P4NamedType),
    #[prost(message, tag = "12")]
    NewType(P4NamedType),
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct P4BoolType {}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct P4ErrorType {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4BitstringLikeTypeSpec {
    #[prost(oneof = "BitstringTypeSpec", tags = "1, 2, 3")]
    pub type_spec: Option<BitstringTypeSpec>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum BitstringTypeSpec {
    #[prost(message, tag = "1")]
    Bit(P4BitTypeSpec),
    #[prost(message, tag = "2")]
    Int(P4IntTypeSpec),
    #[prost(message, tag = "3")]
    Varbit(P4VarbitTypeSpec),
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct P4BitTypeSpec {
    #[prost(int32, tag = "1")]
    pub bitwidth: i32,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct P4IntTypeSpec {
    #[prost(int32, tag = "1")]
    pub bitwidth: i32,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct P4VarbitTypeSpec {
    #[prost(int32, tag = "1")]
    pub max_bitwidth: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4TupleTypeSpec {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<P4DataTypeSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4StructTypeSpec {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<StructMember>,
}

/// `p4.config.v1.P4StructTypeSpec.Member`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StructMember {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub type_spec: Option<P4DataTypeSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderTypeSpec {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<HeaderMember>,
}

/// `p4.config.v1.P4HeaderTypeSpec.Member`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HeaderMember {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub type_spec: Option<P4BitstringLikeTypeSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderStackTypeSpec {
    #[prost(message, optional, tag = "1")]
    pub header: Option<P4NamedType>,
    #[prost(int32, tag = "2")]
    pub size: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderUnionStackTypeSpec {
    #[prost(message, optional, tag = "1")]
    pub header_union: Option<P4NamedType>,
    #[prost(int32, tag = "2")]
    pub size: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4SerializableEnumTypeSpec {
    #[prost(message, optional, tag = "1")]
    pub underlying_type: Option<P4BitTypeSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4NewTypeSpec {
    #[prost(oneof = "Representation", tags = "1, 2")]
    pub representation: Option<Representation>,
    #[prost(string, repeated, tag = "3")]
    pub annotations: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Representation {
    #[prost(message, tag = "1")]
    OriginalType(P4DataTypeSpec),
    #[prost(message, tag = "2")]
    TranslatedType(P4NewTypeTranslation),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4NewTypeTranslation {
    #[prost(string, tag = "1")]
    pub uri: String,
    #[prost(oneof = "SdnType", tags = "2, 3")]
    pub sdn_type: Option<SdnType>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum SdnType {
    #[prost(int32, tag = "2")]
    SdnBitwidth(i32),
    #[prost(message, tag = "3")]
    SdnString(SdnString),
}

/// `p4.config.v1.P4NewTypeTranslation.SdnString`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SdnString {}
