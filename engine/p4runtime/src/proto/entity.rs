//! P4 entities (P4Runtime section 9), which Write updates and Read returns.

use super::Any;
use bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
pub struct Entity {
    #[prost(oneof = "EntityKind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
    pub entity: Option<EntityKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum EntityKind {
    #[prost(message, tag = "1")]
    ExternEntry(ExternEntry),
    #[prost(message, tag = "2")]
    TableEntry(TableEntry),
    #[prost(message, tag = "3")]
    ActionProfileMember(ActionProfileMember),
    #[prost(message, tag = "4")]
    ActionProfileGroup(ActionProfileGroup),
    #[prost(message, tag = "5")]
    MeterEntry(MeterEntry),
    #[prost(message, tag = "6")]
    DirectMeterEntry(DirectMeterEntry),
    #[prost(message, tag = "7")]
    CounterEntry(CounterEntry),
    #[prost(message, tag = "8")]
    DirectCounterEntry(DirectCounterEntry),
    #[prost(message, tag = "9")]
    PacketReplicationEngineEntry(PacketReplicationEngineEntry),
    #[prost(message, tag = "10")]
    ValueSetEntry(ValueSetEntry),
    #[prost(message, tag = "11")]
    RegisterEntry(RegisterEntry),
    #[prost(message, tag = "12")]
    DigestEntry(DigestEntry),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExternEntry {
    #[prost(uint32, tag = "1")]
    pub extern_type_id: u32,
    #[prost(uint32, tag = "2")]
    pub extern_id: u32,
    #[prost(message, optional, tag = "3")]
    pub entry: Option<Any>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TableEntry {
    #[prost(uint32, tag = "1")]
    pub table_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub r#match: Vec<FieldMatch>,
    #[prost(message, optional, tag = "3")]
    pub action: Option<TableAction>,
    #[prost(int32, tag = "4")]
    pub priority: i32,
    #[prost(uint64, tag = "5")]
    pub controller_metadata: u64,
    #[prost(message, optional, tag = "6")]
    pub meter_config: Option<MeterConfig>,
    #[prost(message, optional, tag = "7")]
    pub counter_data: Option<CounterData>,
    #[prost(message, optional, tag = "12")]
    pub meter_counter_data: Option<MeterCounterData>,
    #[prost(bool, tag = "8")]
    pub is_default_action: bool,
    #[prost(int64, tag = "9")]
    pub idle_timeout_ns: i64,
    #[prost(message, optional, tag = "10")]
    pub time_since_last_hit: Option<IdleTimeout>,
    #[prost(bytes = "bytes", tag = "11")]
    pub metadata: Bytes,
    #[prost(bool, tag = "13")]
    pub is_const: bool,
}

/// `p4.v1.TableEntry.IdleTimeout`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct IdleTimeout {
    #[prost(int64, tag = "1")]
    pub elapsed_ns: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FieldMatch {
    #[prost(uint32, tag = "1")]
    pub field_id: u32,
    #[prost(oneof = "FieldMatchType", tags = "2, 3, 4, 6, 7, 100")]
    pub field_match_type: Option<FieldMatchType>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum FieldMatchType {
    #[prost(message, tag = "2")]
    Exact(Exact),
    #[prost(message, tag = "3")]
    Ternary(Ternary),
    #[prost(message, tag = "4")]
    Lpm(Lpm),
    #[prost(message, tag = "6")]
    Range(Range),
    #[prost(message, tag = "7")]
    Optional(Optional),
    #[prost(message, tag = "100")]
    Other(Any),
}

/// `p4.v1.FieldMatch.Exact`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Exact {
    #[prost(bytes = "bytes", tag = "1")]
    pub value: Bytes,
}

/// `p4.v1.FieldMatch.Ternary`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Ternary {
    #[prost(bytes = "bytes", tag = "1")]
    pub value: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub mask: Bytes,
}

/// `p4.v1.FieldMatch.LPM`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Lpm {
    #[prost(bytes = "bytes", tag = "1")]
    pub value: Bytes,
    #[prost(int32, tag = "2")]
    pub prefix_len: i32,
}

/// `p4.v1.FieldMatch.Range`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Range {
    #[prost(bytes = "bytes", tag = "1")]
    pub low: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub high: Bytes,
}

/// `p4.v1.FieldMatch.Optional`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Optional {
    #[prost(bytes = "bytes", tag = "1")]
    pub value: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TableAction {
    #[prost(oneof = "TableActionType", tags = "1, 2, 3, 4")]
    pub r#type: Option<TableActionType>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum TableActionType {
    #[prost(message, tag = "1")]
    Action(Action),
    #[prost(uint32, tag = "2")]
    ActionProfileMemberId(u32),
    #[prost(uint32, tag = "3")]
    ActionProfileGroupId(u32),
    #[prost(message, tag = "4")]
    ActionProfileActionSet(ActionProfileActionSet),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Action {
    #[prost(uint32, tag = "1")]
    pub action_id: u32,
    #[prost(message, repeated, tag = "4")]
    pub params: Vec<Param>,
}

/// `p4.v1.Action.Param`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Param {
    #[prost(uint32, tag = "2")]
    pub param_id: u32,
    #[prost(bytes = "bytes", tag = "3")]
    pub value: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfileActionSet {
    #[prost(message, repeated, tag = "1")]
    pub action_profile_actions: Vec<ActionProfileAction>,
    #[prost(enumeration = "ActionSelectionMode", tag = "2")]
    pub action_selection_mode: i32,
    #[prost(enumeration = "SizeSemantics", tag = "3")]
    pub size_semantics: i32,
}

/// `p4.v1.ActionProfileActionSet.ActionSelectionMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ActionSelectionMode {
    DeterminedByActionSelector = 0,
    Hash = 1,
    Random = 2,
}

/// `p4.v1.ActionProfileActionSet.SizeSemantics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum SizeSemantics {
    DeterminedByActionSelector = 0,
    SumOfWeights = 1,
    SumOfMembers = 2,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfileAction {
    #[prost(message, optional, tag = "1")]
    pub action: Option<Action>,
    #[prost(int32, tag = "2")]
    pub weight: i32,
    #[prost(oneof = "WatchKind", tags = "3, 4")]
    pub watch_kind: Option<WatchKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum WatchKind {
    #[prost(int32, tag = "3")]
    Watch(i32),
    #[prost(bytes = "bytes", tag = "4")]
    WatchPort(Bytes),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfileMember {
    #[prost(uint32, tag = "1")]
    pub action_profile_id: u32,
    #[prost(uint32, tag = "2")]
    pub member_id: u32,
    #[prost(message, optional, tag = "3")]
    pub action: Option<Action>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfileGroup {
    #[prost(uint32, tag = "1")]
    pub action_profile_id: u32,
    #[prost(uint32, tag = "2")]
    pub group_id: u32,
    #[prost(message, repeated, tag = "3")]
    pub members: Vec<GroupMember>,
    #[prost(int32, tag = "4")]
    pub max_size: i32,
}

/// `p4.v1.ActionProfileGroup.Member`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GroupMember {
    #[prost(uint32, tag = "1")]
    pub member_id: u32,
    #[prost(int32, tag = "2")]
    pub weight: i32,
    #[prost(oneof = "WatchKind", tags = "3, 4")]
    pub watch_kind: Option<WatchKind>,
}

/// An index that can be absent, which zero cannot.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Index {
    #[prost(int64, tag = "1")]
    pub index: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MeterEntry {
    #[prost(uint32, tag = "1")]
    pub meter_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub config: Option<MeterConfig>,
    #[prost(message, optional, tag = "4")]
    pub counter_data: Option<MeterCounterData>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectMeterEntry {
    #[prost(message, optional, tag = "1")]
    pub table_entry: Option<TableEntry>,
    #[prost(message, optional, tag = "2")]
    pub config: Option<MeterConfig>,
    #[prost(message, optional, tag = "3")]
    pub counter_data: Option<MeterCounterData>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct MeterConfig {
    #[prost(int64, tag = "1")]
    pub cir: i64,
    #[prost(int64, tag = "2")]
    pub cburst: i64,
    #[prost(int64, tag = "3")]
    pub pir: i64,
    #[prost(int64, tag = "4")]
    pub pburst: i64,
    #[prost(int64, tag = "5")]
    pub eburst: i64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CounterEntry {
    #[prost(uint32, tag = "1")]
    pub counter_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub data: Option<CounterData>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectCounterEntry {
    #[prost(message, optional, tag = "1")]
    pub table_entry: Option<TableEntry>,
    #[prost(message, optional, tag = "2")]
    pub data: Option<CounterData>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CounterData {
    #[prost(int64, tag = "1")]
    pub byte_count: i64,
    #[prost(int64, tag = "2")]
    pub packet_count: i64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct MeterCounterData {
    #[prost(message, optional, tag = "1")]
    pub green: Option<CounterData>,
    #[prost(message, optional, tag = "2")]
    pub yellow: Option<CounterData>,
    #[prost(message, optional, tag = "3")]
    pub red: Option<CounterData>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketReplicationEngineEntry {
    #[prost(oneof = "PreType", tags = "1, 2")]
    pub r#type: Option<PreType>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum PreType {
    #[prost(message, tag = "1")]
    MulticastGroupEntry(MulticastGroupEntry),
    #[prost(message, tag = "2")]
    CloneSessionEntry(CloneSessionEntry),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Replica {
    #[prost(oneof = "PortKind", tags = "1, 3")]
    pub port_kind: Option<PortKind>,
    #[prost(uint32, tag = "2")]
    pub instance: u32,
    #[prost(message, repeated, tag = "4")]
    pub backup_replicas: Vec<BackupReplica>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum PortKind {
    #[prost(uint32, tag = "1")]
    EgressPort(u32),
    #[prost(bytes = "bytes", tag = "3")]
    Port(Bytes),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct BackupReplica {
    #[prost(bytes = "bytes", tag = "1")]
    pub port: Bytes,
    #[prost(uint32, tag = "2")]
    pub instance: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MulticastGroupEntry {
    #[prost(uint32, tag = "1")]
    pub multicast_group_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub replicas: Vec<Replica>,
    #[prost(bytes = "bytes", tag = "3")]
    pub metadata: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CloneSessionEntry {
    #[prost(uint32, tag = "1")]
    pub session_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub replicas: Vec<Replica>,
    #[prost(uint32, tag = "3")]
    pub class_of_service: u32,
    #[prost(int32, tag = "4")]
    pub packet_length_bytes: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueSetMember {
    #[prost(message, repeated, tag = "1")]
    pub r#match: Vec<FieldMatch>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueSetEntry {
    #[prost(uint32, tag = "1")]
    pub value_set_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub members: Vec<ValueSetMember>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RegisterEntry {
    #[prost(uint32, tag = "1")]
    pub register_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub data: Option<P4Data>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DigestEntry {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(message, optional, tag = "2")]
    pub config: Option<DigestConfig>,
}

/// `p4.v1.DigestEntry.Config`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct DigestConfig {
    #[prost(int64, tag = "1")]
    pub max_timeout_ns: i64,
    #[prost(int32, tag = "2")]
    pub max_list_size: i32,
    #[prost(int64, tag = "3")]
    pub ack_timeout_ns: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Data {
    #[prost(oneof = "P4DataKind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
    pub data: Option<P4DataKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum P4DataKind {
    #[prost(bytes = "bytes", tag = "1")]
    Bitstring(Bytes),
    #[prost(message, tag = "2")]
    Varbit(P4Varbit),
    #[prost(bool, tag = "3")]
    Bool(bool),
    #[prost(message, tag = "4")]
    Tuple(P4StructLike),
    #[prost(message, tag = "5")]
    Struct(P4StructLike),
    #[prost(message, tag = "6")]
    Header(P4Header),
    #[prost(message, tag = "7")]
    HeaderUnion(P4HeaderUnion),
    #[prost(message, tag = "8")]
    HeaderStack(P4HeaderStack),
    #[prost(message, tag = "9")]
    HeaderUnionStack(P4HeaderUnionStack),
    #[prost(string, tag = "10")]
    Enum(String),
    #[prost(string, tag = "11")]
    Error(String),
    #[prost(bytes = "bytes", tag = "12")]
    EnumValue(Bytes),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Varbit {
    #[prost(bytes = "bytes", tag = "1")]
    pub bitstring: Bytes,
    #[prost(int32, tag = "2")]
    pub bitwidth: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4StructLike {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<P4Data>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Header {
    #[prost(bool, tag = "1")]
    pub is_valid: bool,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub bitstrings: Vec<Bytes>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderUnion {
    #[prost(string, tag = "1")]
    pub valid_header_name: String,
    #[prost(message, optional, tag = "2")]
    pub valid_header: Option<P4Header>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderStack {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<P4Header>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderUnionStack {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<P4HeaderUnion>,
}
