//! A tonic codec for answers that are encoded already.

use bytes::{BufMut, Bytes};
use prost::Message;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::Status;

use crate::proto::service::ReadRequest;

/// Reads a [`ReadRequest`], writes ReadResponse messages that are bytes already.
#[derive(Default)]
pub struct ReadCodec;

impl Codec for ReadCodec {
    type Encode = Bytes;
    type Decode = ReadRequest;
    type Encoder = ReadCodec;
    type Decoder = ReadCodec;

    fn encoder(&mut self) -> ReadCodec {
        ReadCodec
    }

    fn decoder(&mut self) -> ReadCodec {
        ReadCodec
    }
}

impl Encoder for ReadCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(item);
        Ok(())
    }
}

impl Decoder for ReadCodec {
    type Item = ReadRequest;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<ReadRequest>, Status> {
        ReadRequest::decode(buffer)
            .map(Some)
            .map_err(|error| Status::invalid_argument(format!("ReadRequest: {error}")))
    }
}
