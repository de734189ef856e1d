//! Messages that go out on one StreamChannel: a bounded queue, and packets in batches for controllers
//! that ask for them.
//!
//! P4Runtime puts one packet into one message, which costs a Python controller 35 (packet-in) to 100
//! (packet-out) microseconds each. A controller that opens its stream with the metadata
//! `p4mesh-packet-batches: 1` gets the same back, and then both sides send runs of packets as one
//! `other` message (section 16.6, architecture-specific messages) of type [`PACKET_IN_BATCH`] or
//! [`PACKET_OUT_BATCH`]: PacketIn or PacketOut messages, each after its length as a varint. Other
//! controllers get and send packets as the specification has them.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use prost::Message;
use tokio::sync::mpsc;
use tonic::metadata::MetadataMap;
use tonic::Status;

use crate::proto::stream::{PacketIn, PacketOut, ResponseUpdate, StreamMessageResponse};
use crate::proto::Any;

/// Type of a batch of packet-ins.
pub const PACKET_IN_BATCH: &str = "type.googleapis.com/p4mesh.v1.PacketInBatch";
/// Type of a batch of packet-outs.
pub const PACKET_OUT_BATCH: &str = "type.googleapis.com/p4mesh.v1.PacketOutBatch";
/// The metadata key by which both sides agree on batches.
pub const BATCH_KEY: &str = "p4mesh-packet-batches";
/// A batch is sent when it has reached this size.
const BATCH_BYTES: usize = 128 << 10;
/// Messages that may wait for a controller that reads slowly.
const QUEUE: usize = 16_384;
/// A controller that has not read for this long loses messages.
const SLOW_CONTROLLER: Duration = Duration::from_secs(10);

/// The receiving end, which tonic sends from.
pub type Responses = mpsc::Receiver<Result<StreamMessageResponse, Status>>;

/// The sending end of one stream.
#[derive(Clone)]
pub struct Outbox {
    sender: mpsc::Sender<Result<StreamMessageResponse, Status>>,
    batches: bool,
}

/// A queue for a stream that was opened with this metadata.
pub fn outbox(metadata: &MetadataMap) -> (Outbox, Responses) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let batches = metadata.get(BATCH_KEY).is_some_and(|value| value == "1");
    (Outbox { sender, batches }, receiver)
}

/// The packet-outs of a batch.
///
/// # Errors A text that says where the batch cannot be read; the packets before that place are returned too.
pub fn packet_outs(mut batch: Bytes) -> (Vec<PacketOut>, Option<String>) {
    let mut packets = Vec::new();
    while !batch.is_empty() {
        match PacketOut::decode_length_delimited(&mut batch) {
            Ok(packet) => packets.push(packet),
            Err(error) => {
                let text = format!("packet-out {} of the batch: {error}", packets.len());
                return (packets, Some(text));
            }
        }
    }
    (packets, None)
}

impl Outbox {
    /// True when the controller asked for batches.
    pub fn batches(&self) -> bool {
        self.batches
    }

    /// Queues a message unless the controller does not read; it misses the message then.
    pub fn offer(&self, update: ResponseUpdate) {
        let _ = self.sender.try_send(Ok(StreamMessageResponse { update: Some(update) }));
    }

    /// Ends the stream with a status.
    pub async fn fail(&self, status: Status) {
        let _ = self.sender.send(Err(status)).await;
    }

    /// Sends messages in order and returns how many of the packet-ins among them were queued.
    pub async fn deliver(&self, updates: &[ResponseUpdate]) -> u64 {
        let mut delivered = 0;
        let mut batch = Batch::default();
        for update in updates {
            match update {
                ResponseUpdate::Packet(packet) if self.batches => {
                    batch.push(packet);
                    if batch.buffer.len() < BATCH_BYTES {
                        continue;
                    }
                }
                _ => {}
            }
            if !self.flush(&mut batch, &mut delivered).await {
                return delivered;
            }
            if matches!(update, ResponseUpdate::Packet(_)) && self.batches {
                continue;
            }
            if !self.send(update.clone()).await {
                return delivered;
            }
            delivered += u64::from(matches!(update, ResponseUpdate::Packet(_)));
        }
        self.flush(&mut batch, &mut delivered).await;
        delivered
    }

    async fn flush(&self, batch: &mut Batch, delivered: &mut u64) -> bool {
        if batch.packets == 0 {
            return true;
        }
        let packets = batch.packets;
        let sent = self.send(ResponseUpdate::Other(batch.take())).await;
        *delivered += if sent { packets } else { 0 };
        sent
    }

    async fn send(&self, update: ResponseUpdate) -> bool {
        let message = StreamMessageResponse { update: Some(update) };
        self.sender.send_timeout(Ok(message), SLOW_CONTROLLER).await.is_ok()
    }
}

#[derive(Default)]
struct Batch {
    buffer: BytesMut,
    packets: u64,
}

impl Batch {
    fn push(&mut self, packet: &PacketIn) {
        self.packets += 1;
        // BytesMut grows, so there is always room.
        let _ = packet.encode_length_delimited(&mut self.buffer);
    }

    fn take(&mut self) -> Any {
        self.packets = 0;
        let value: Bytes = self.buffer.split().freeze();
        Any { type_url: PACKET_IN_BATCH.to_string(), value }
    }
}
