//! The messages of P4Runtime v1 and P4Info as prost structs, written by hand from the
//! specification, so that neither protoc nor generated code is needed.
//!
//! Owns: tags and types, nothing else. `controlplane/tests/p4runtime/test_p4runtime_messages.py` compares
//! every field with the published descriptors. Messages that the server only passes on (P4Info in
//! a pipeline config) stay raw bytes, which have the same encoding as an embedded message.

pub mod entity;
pub mod info;
pub mod service;
pub mod stream;

use bytes::Bytes;

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Status {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}

/// A 128-bit number; election ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, prost::Message)]
pub struct Uint128 {
    #[prost(uint64, tag = "1")]
    pub high: u64,
    #[prost(uint64, tag = "2")]
    pub low: u64,
}

impl Uint128 {
    /// The number that the two halves make.
    pub fn value(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }
}

impl From<u128> for Uint128 {
    fn from(value: u128) -> Self {
        Uint128 { high: (value >> 64) as u64, low: value as u64 }
    }
}
