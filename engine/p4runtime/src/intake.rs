//! Requests as they come in: bounded by [`Memory`] before they are there, and handed on as bytes.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use http_body::Frame;
use tokio::time::{sleep, Instant, Sleep};
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::Status;

use crate::memory::{Memory, Share};
use crate::refusal::Refusal;
use crate::target::lock;

/// A request that has begun ends when nothing more of it comes for so long.
const STALLED: Duration = Duration::from_secs(10);
/// Compressed flag and length, before each message of gRPC.
const PREFIX_BYTES: usize = 5;

/// The memory of the message that comes in; the decoder hands it on with the message.
pub type Account = Arc<Mutex<Share>>;

/// A message, not decoded, with its share of the memory.
pub struct Received {
    pub bytes: Bytes,
    pub share: Share,
}

/// The next part of a body.
enum Place {
    Prefix { bytes: [u8; PREFIX_BYTES], have: usize },
    Message { left: usize },
}

const BETWEEN_MESSAGES: Place = Place::Prefix { bytes: [0; PREFIX_BYTES], have: 0 };

/// A request's body that takes memory for each message as soon as its length is known, and refuses what does not fit.
pub struct Intake {
    body: Body,
    account: Account,
    memory: Arc<Memory>,
    place: Place,
    /// A stream may rest between messages; any other call has one message and ends.
    is_stream: bool,
    stalled: Pin<Box<Sleep>>,
}

impl Intake {
    /// The body with its bound, and the account that a [`Wire`] codec for it needs.
    pub fn around(body: Body, memory: &Arc<Memory>, is_stream: bool) -> Result<(Body, Account), Refusal> {
        let account = Arc::new(Mutex::new(memory.share(0)?));
        let intake = Intake {
            body,
            account: account.clone(),
            memory: memory.clone(),
            place: BETWEEN_MESSAGES,
            is_stream,
            stalled: Box::pin(sleep(STALLED)),
        };
        Ok((Body::new(intake), account))
    }

    /// Notes that these bytes have come.
    fn account_for(&mut self, mut data: &[u8]) -> Result<(), Refusal> {
        while !data.is_empty() {
            match &mut self.place {
                Place::Message { left } => {
                    let taken = data.len().min(*left);
                    *left -= taken;
                    data = &data[taken..];
                    if *left == 0 {
                        self.place = BETWEEN_MESSAGES;
                    }
                }
                Place::Prefix { bytes, have } => {
                    bytes[*have] = data[0];
                    *have += 1;
                    data = &data[1..];
                    if *have == PREFIX_BYTES {
                        let left = (&bytes[1..]).get_u32() as usize;
                        let limit = self.memory.largest_request();
                        if left > limit {
                            let text = format!("a message of {left} bytes; at most {limit} bytes are taken");
                            return Err(Refusal::exhausted(text));
                        }
                        lock(&self.account).grow(left)?;
                        self.place = match left {
                            0 => BETWEEN_MESSAGES,
                            left => Place::Message { left },
                        };
                    }
                }
            }
        }
        Ok(())
    }

    fn is_resting(&self) -> bool {
        self.is_stream && matches!(self.place, Place::Prefix { have: 0, .. })
    }
}

impl http_body::Body for Intake {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    let data = data.clone();
                    if let Err(refusal) = self.account_for(&data) {
                        return Poll::Ready(Some(Err(refusal.into())));
                    }
                }
                self.stalled.as_mut().reset(Instant::now() + STALLED);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(ready) => Poll::Ready(ready),
            Poll::Pending if self.is_resting() => Poll::Pending,
            Poll::Pending => self.stalled.as_mut().poll(context).map(|()| {
                let text = format!("nothing more of the request came for {} s", STALLED.as_secs());
                Some(Err(Status::deadline_exceeded(text)))
            }),
        }
    }
}

/// Hands messages on as they come in, and sends answers that are encoded already.
pub struct Wire(pub Account);

impl Codec for Wire {
    type Encode = Bytes;
    type Decode = Received;
    type Encoder = WireEncoder;
    type Decoder = Wire;

    fn encoder(&mut self) -> WireEncoder {
        WireEncoder
    }

    fn decoder(&mut self) -> Wire {
        Wire(self.0.clone())
    }
}

impl Decoder for Wire {
    type Item = Received;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Received>, Status> {
        // The next message may have begun, so that only this one's part is taken out.
        let bytes = buffer.copy_to_bytes(buffer.remaining());
        let share = lock(&self.0).split(bytes.len());
        Ok(Some(Received { bytes, share }))
    }
}

/// Puts answers that are bytes already on the wire.
pub struct WireEncoder;

impl Encoder for WireEncoder {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(item);
        Ok(())
    }
}
