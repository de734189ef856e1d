//! The parts of requests that are read before anything else: who asks, and of which device. Decoding skips all other
//! fields, so it takes no memory, whatever the request holds.

use bytes::Bytes;

use crate::proto::service::Atomicity;
use crate::proto::Uint128;

/// A WriteRequest or SetForwardingPipelineConfigRequest without its content: all that permission depends on.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Claim {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(uint64, tag = "2")]
    pub role_id: u64,
    #[prost(bytes = "bytes", tag = "6")]
    pub role: Bytes,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
}

/// The atomicity of a WriteRequest alone.
#[derive(Clone, PartialEq, prost::Message)]
pub struct WriteMode {
    #[prost(enumeration = "Atomicity", tag = "5")]
    pub atomicity: i32,
}

/// The device of a ReadRequest alone.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ReadPlace {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
}
