//! Messages of the StreamChannel (P4Runtime section 16).

use super::entity::{P4Data, TableEntry};
use super::{Any, Status, Uint128};
use bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamMessageRequest {
    #[prost(oneof = "RequestUpdate", tags = "1, 2, 3, 4")]
    pub update: Option<RequestUpdate>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum RequestUpdate {
    #[prost(message, tag = "1")]
    Arbitration(MasterArbitrationUpdate),
    #[prost(message, tag = "2")]
    Packet(PacketOut),
    #[prost(message, tag = "3")]
    DigestAck(DigestListAck),
    #[prost(message, tag = "4")]
    Other(Any),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketOut {
    #[prost(bytes = "bytes", tag = "1")]
    pub payload: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<PacketMetadata>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct DigestListAck {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(uint64, tag = "2")]
    pub list_id: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamMessageResponse {
    #[prost(oneof = "ResponseUpdate", tags = "1, 2, 3, 4, 5, 6")]
    pub update: Option<ResponseUpdate>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ResponseUpdate {
    #[prost(message, tag = "1")]
    Arbitration(MasterArbitrationUpdate),
    #[prost(message, tag = "2")]
    Packet(PacketIn),
    #[prost(message, tag = "3")]
    Digest(DigestList),
    #[prost(message, tag = "4")]
    IdleTimeoutNotification(IdleTimeoutNotification),
    #[prost(message, tag = "5")]
    Other(Any),
    #[prost(message, tag = "6")]
    Error(StreamError),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketIn {
    #[prost(bytes = "bytes", tag = "1")]
    pub payload: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<PacketMetadata>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DigestList {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(uint64, tag = "2")]
    pub list_id: u64,
    #[prost(message, repeated, tag = "3")]
    pub data: Vec<P4Data>,
    #[prost(int64, tag = "4")]
    pub timestamp: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketMetadata {
    #[prost(uint32, tag = "1")]
    pub metadata_id: u32,
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MasterArbitrationUpdate {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(message, optional, tag = "2")]
    pub role: Option<Role>,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(message, optional, tag = "4")]
    pub status: Option<Status>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Role {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub config: Option<Any>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct IdleTimeoutNotification {
    #[prost(message, repeated, tag = "1")]
    pub table_entry: Vec<TableEntry>,
    #[prost(int64, tag = "2")]
    pub timestamp: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamError {
    #[prost(int32, tag = "1")]
    pub canonical_code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(string, tag = "3")]
    pub space: String,
    #[prost(int32, tag = "4")]
    pub code: i32,
    #[prost(oneof = "StreamErrorDetails", tags = "5, 6, 7")]
    pub details: Option<StreamErrorDetails>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum StreamErrorDetails {
    #[prost(message, tag = "5")]
    PacketOut(PacketOutError),
    #[prost(message, tag = "6")]
    DigestListAck(DigestListAckError),
    #[prost(message, tag = "7")]
    Other(StreamOtherError),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketOutError {
    #[prost(message, optional, tag = "1")]
    pub packet_out: Option<PacketOut>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct DigestListAckError {
    #[prost(message, optional, tag = "1")]
    pub digest_list_ack: Option<DigestListAck>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamOtherError {
    #[prost(message, optional, tag = "1")]
    pub other: Option<Any>,
}
