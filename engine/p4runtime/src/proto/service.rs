//! Requests and responses of the unary and server-streaming calls (P4Runtime sections 7, 11 to 15).

use super::entity::Entity;
use super::{Any, Uint128};
use bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
pub struct WriteRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(uint64, tag = "2")]
    pub role_id: u64,
    #[prost(string, tag = "6")]
    pub role: String,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(message, repeated, tag = "4")]
    pub updates: Vec<Update>,
    #[prost(enumeration = "Atomicity", tag = "5")]
    pub atomicity: i32,
}

/// `p4.v1.WriteRequest.Atomicity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Atomicity {
    ContinueOnError = 0,
    RollbackOnError = 1,
    DataplaneAtomic = 2,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct WriteResponse {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Update {
    #[prost(enumeration = "UpdateType", tag = "1")]
    pub r#type: i32,
    #[prost(message, optional, tag = "2")]
    pub entity: Option<Entity>,
}

/// `p4.v1.Update.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum UpdateType {
    Unspecified = 0,
    Insert = 1,
    Modify = 2,
    Delete = 3,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ReadRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(string, tag = "3")]
    pub role: String,
    #[prost(message, repeated, tag = "2")]
    pub entities: Vec<Entity>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ReadResponse {
    #[prost(message, repeated, tag = "1")]
    pub entities: Vec<Entity>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct SetForwardingPipelineConfigRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(uint64, tag = "2")]
    pub role_id: u64,
    #[prost(string, tag = "6")]
    pub role: String,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(enumeration = "PipelineAction", tag = "4")]
    pub action: i32,
    #[prost(message, optional, tag = "5")]
    pub config: Option<ForwardingPipelineConfig>,
}

/// `p4.v1.SetForwardingPipelineConfigRequest.Action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum PipelineAction {
    Unspecified = 0,
    Verify = 1,
    VerifyAndSave = 2,
    VerifyAndCommit = 3,
    Commit = 4,
    ReconcileAndCommit = 5,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SetForwardingPipelineConfigResponse {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ForwardingPipelineConfig {
    /// A serialized `p4.config.v1.P4Info`, kept as it came, so that it is returned with all that
    /// the controller put in.
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub p4info: Option<Bytes>,
    #[prost(bytes = "bytes", tag = "2")]
    pub p4_device_config: Bytes,
    #[prost(message, optional, tag = "3")]
    pub cookie: Option<Cookie>,
}

/// `p4.v1.ForwardingPipelineConfig.Cookie`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Cookie {
    #[prost(uint64, tag = "1")]
    pub cookie: u64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct GetForwardingPipelineConfigRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(enumeration = "ResponseType", tag = "2")]
    pub response_type: i32,
}

/// `p4.v1.GetForwardingPipelineConfigRequest.ResponseType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ResponseType {
    All = 0,
    CookieOnly = 1,
    P4infoAndCookie = 2,
    DeviceConfigAndCookie = 3,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetForwardingPipelineConfigResponse {
    #[prost(message, optional, tag = "1")]
    pub config: Option<ForwardingPipelineConfig>,
}

/// `p4.v1.Error`: the outcome of one update of a batch (section 12.3).
#[derive(Clone, PartialEq, prost::Message)]
pub struct Error {
    #[prost(int32, tag = "1")]
    pub canonical_code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(string, tag = "3")]
    pub space: String,
    #[prost(int32, tag = "4")]
    pub code: i32,
    #[prost(message, optional, tag = "5")]
    pub details: Option<Any>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CapabilitiesRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CapabilitiesResponse {
    #[prost(string, tag = "1")]
    pub p4runtime_api_version: String,
}
