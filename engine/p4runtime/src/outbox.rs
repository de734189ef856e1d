//! Messages that go out on one StreamChannel: a bounded queue, and packets in batches for controllers
//! that ask for them.
//!
//! P4Runtime puts one packet into one message, which costs a Python controller 35 (packet-in) to 100
//! (packet-out) microseconds each. A controller that opens its stream with the metadata
//! `p4mesh-packet-batches: 1` gets the same back, and then both sides send runs of packets as one
//! `other` message (section 16.6, architecture-specific messages) of type [`PACKET_IN_BATCH`] or
//! [`PACKET_OUT_BATCH`]: PacketIn or PacketOut messages, each after its length as a varint. Other
//! controllers get and send packets as the specification has them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use prost::Message;
use tokio::sync::mpsc;
use tokio::time::{sleep, Instant};
use tokio_stream::Stream;
use tonic::metadata::MetadataMap;
use tonic::Status;

use crate::memory::{Memory, Share};
use crate::proto::stream::{PacketIn, PacketOut, ResponseUpdate, StreamMessageResponse};
use crate::proto::Any;
use crate::refusal::Refusal;

/// Type of a batch of packet-ins.
pub const PACKET_IN_BATCH: &str = "type.googleapis.com/p4mesh.v1.PacketInBatch";
/// Type of a batch of packet-outs.
pub const PACKET_OUT_BATCH: &str = "type.googleapis.com/p4mesh.v1.PacketOutBatch";
/// The metadata key by which both sides agree on batches.
pub const BATCH_KEY: &str = "p4mesh-packet-batches";
/// A batch is sent when it has reached this size.
const BATCH_BYTES: usize = 128 << 10;
/// Messages that may wait for a controller that reads slowly, as long as their bytes may.
const QUEUE: usize = 16_384;
/// A controller that has not read for this long loses messages.
const SLOW_CONTROLLER: Duration = Duration::from_secs(10);
/// How often it is looked whether a slow controller has read.
const SLOW_POLL: Duration = Duration::from_millis(2);

/// An encoded message that waits for its client, with its parts of the memory.
pub struct Answer {
    pub bytes: Bytes,
    pub shares: Vec<Share>,
}

impl Answer {
    /// A message of a call, with its part of the memory.
    pub fn new(bytes: Bytes, memory: &Arc<Memory>) -> Result<Answer, Refusal> {
        let shares = vec![memory.share(bytes.len())?];
        Ok(Answer { bytes, shares })
    }
}

/// Answers on their way out, which tonic takes when the client has taken those before.
pub struct Answers {
    /// Answers that were there at once.
    first: VecDeque<Result<Answer, Status>>,
    later: Option<mpsc::Receiver<Result<Answer, Status>>>,
    /// Memory of the last one, which leaves now.
    leaving: Vec<Share>,
}

impl Answers {
    /// These answers, and then those of a queue.
    pub fn new(
        first: impl IntoIterator<Item = Result<Answer, Status>>,
        later: Option<mpsc::Receiver<Result<Answer, Status>>>,
    ) -> Answers {
        Answers { first: first.into_iter().collect(), later, leaving: Vec::new() }
    }
}

impl Stream for Answers {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.leaving.clear();
        let next = match (self.first.pop_front(), &mut self.later) {
            (Some(first), _) => Some(first),
            (None, None) => None,
            (None, Some(later)) => match later.poll_recv(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(next) => next,
            },
        };
        Poll::Ready(next.map(|answer| {
            answer.map(|Answer { bytes, shares }| {
                self.leaving = shares;
                bytes
            })
        }))
    }
}

/// The sending end of one stream.
#[derive(Clone)]
pub struct Outbox {
    sender: mpsc::Sender<Result<Answer, Status>>,
    batches: bool,
    /// Of all requests and answers, and of what waits in this stream.
    memory: [Arc<Memory>; 2],
    /// The controller did not read when it was waited for.
    is_stuck: Arc<AtomicBool>,
}

/// A queue for a stream that was opened with this metadata.
pub fn outbox(metadata: &MetadataMap, memory: &Arc<Memory>) -> (Outbox, Answers) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let batches = metadata.get(BATCH_KEY).is_some_and(|value| value == "1");
    let memory = [memory.clone(), Memory::new(memory.largest_queue())];
    let is_stuck = Arc::new(AtomicBool::new(false));
    (Outbox { sender, batches, memory, is_stuck }, Answers::new([], Some(receiver)))
}

/// The packet-outs of a batch, one after the other.
pub struct PacketOuts {
    rest: Bytes,
    count: usize,
}

impl PacketOuts {
    pub fn new(batch: Bytes) -> PacketOuts {
        PacketOuts { rest: batch, count: 0 }
    }
}

impl Iterator for PacketOuts {
    /// A text that says where the batch cannot be read ends it.
    type Item = Result<PacketOut, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let packet = PacketOut::decode_length_delimited(&mut self.rest);
        if packet.is_err() {
            self.rest.clear();
        }
        self.count += 1;
        Some(packet.map_err(|error| format!("packet-out {} of the batch: {error}", self.count - 1)))
    }
}

impl Outbox {
    /// True when the controller asked for batches.
    pub fn batches(&self) -> bool {
        self.batches
    }

    /// Queues a message unless the controller does not read; it misses the message then.
    pub fn offer(&self, update: ResponseUpdate) {
        self.try_send(&encoded(update));
    }

    /// Ends the stream with a status.
    pub async fn fail(&self, status: Status) {
        let _ = self.sender.send(Err(status)).await;
    }

    /// Sends messages in order and returns how many of the packet-ins among them were queued. An important controller is
    /// waited for a while when its queue is full.
    pub async fn deliver(&self, updates: &[ResponseUpdate], important: bool) -> u64 {
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
            self.flush(&mut batch, &mut delivered, important).await;
            if matches!(update, ResponseUpdate::Packet(_)) && self.batches {
                continue;
            }
            let sent = self.send(update.clone(), important).await;
            delivered += u64::from(sent && matches!(update, ResponseUpdate::Packet(_)));
        }
        self.flush(&mut batch, &mut delivered, important).await;
        delivered
    }

    async fn flush(&self, batch: &mut Batch, delivered: &mut u64, important: bool) {
        if batch.packets > 0 {
            let packets = batch.packets;
            let sent = self.send(ResponseUpdate::Other(batch.take()), important).await;
            *delivered += if sent { packets } else { 0 };
        }
    }

    async fn send(&self, update: ResponseUpdate, important: bool) -> bool {
        let message = encoded(update);
        let end = Instant::now() + SLOW_CONTROLLER;
        loop {
            if self.try_send(&message) {
                self.is_stuck.store(false, Ordering::Relaxed);
                return true;
            }
            if !important || self.is_stuck.load(Ordering::Relaxed) || self.sender.is_closed() {
                return false;
            }
            if Instant::now() >= end {
                // The others are not kept waiting again.
                self.is_stuck.store(true, Ordering::Relaxed);
                return false;
            }
            sleep(SLOW_POLL).await;
        }
    }

    fn try_send(&self, message: &Bytes) -> bool {
        let shares = self.memory.iter().map(|memory| memory.share(message.len()));
        match shares.collect() {
            Ok(shares) => self.sender.try_send(Ok(Answer { bytes: message.clone(), shares })).is_ok(),
            Err(_) => false,
        }
    }
}

fn encoded(update: ResponseUpdate) -> Bytes {
    StreamMessageResponse { update: Some(update) }.encode_to_vec().into()
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
