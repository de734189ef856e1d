//! The gRPC service p4.v1.P4Runtime, without generated code: paths to handlers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::task::{Context, Poll};

use prost::Message;
use tokio::sync::mpsc;
use tonic::body::Body;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::server::{Grpc, NamedService};
use tonic::{Request, Response, Status, Streaming};

use crate::arbitration::{Notices, StreamId};
use crate::batch::{decode, room};
use crate::device::{stream_error, unknown_message, verify, Device};
use crate::intake::{Intake, Received, Wire};
use crate::memory::Memory;
use crate::outbox::{outbox, Answer, Answers, Outbox, PacketOuts, BATCH_KEY, PACKET_OUT_BATCH};
use crate::proto::service::*;
use crate::proto::stream::*;
use crate::proto::Any;
use crate::reader::Read;
use crate::realization::program_bytes;
use crate::refusal::{status_text, Refusal};
use crate::target::{lock, Notifier, PacketIoCounters, SharedTarget};

/// The API version that Capabilities returns.
pub const API_VERSION: &str = "1.4.1";

/// Longest details of a status beside its text, for clients with gRPC's default limit of metadata (8 KiB).
const DETAILS_BYTES: usize = 3 << 10;
/// The metadata key by which a controller asks for more details.
const DETAILS_KEY: &str = "p4mesh-details-bytes";
/// Streams that may be open.
const MAX_STREAMS: usize = 1024;
/// Events that are handled under one hold of the device's lock.
const DISPATCH_SLICE: usize = 1024;

/// State that all calls share.
pub struct Shared {
    device: Mutex<Device>,
    streams: Mutex<HashMap<StreamId, Outbox>>,
    next_stream: AtomicU64,
    memory: Arc<Memory>,
    notifier: Notifier,
    counters: Arc<PacketIoCounters>,
}

impl Shared {
    pub fn new(device_id: u64, target: SharedTarget, notifier: Notifier, memory: Arc<Memory>) -> Shared {
        Shared {
            device: Mutex::new(Device::new(device_id, target)),
            streams: Mutex::new(HashMap::new()),
            next_stream: AtomicU64::new(1),
            memory,
            counters: notifier.counters(),
            notifier,
        }
    }

    /// Runs a call on the device that may take long: the runtime's other tasks move to another
    /// thread meanwhile.
    fn with_device<T>(&self, call: impl FnOnce(&mut Device) -> T) -> T {
        tokio::task::block_in_place(|| call(&mut lock(&self.device)))
    }

    /// Runs a short call on the device: at once where no lock is taken, which saves the move of the other tasks (some
    /// 20 microseconds), else like [`Self::with_device`].
    fn with_free_device<T>(&self, call: impl FnOnce(&mut Device) -> T) -> T {
        let free = match self.device.try_lock() {
            Ok(device) => Some(device),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        match free.filter(|device| device.target_is_free()) {
            Some(mut device) => call(&mut device),
            None => self.with_device(call),
        }
    }

    fn send_notices(&self, notices: Notices) {
        let streams = lock(&self.streams);
        for (stream, update) in notices {
            if let Some(controller) = streams.get(&stream) {
                controller.offer(ResponseUpdate::Arbitration(update));
            }
        }
    }

    fn set(&self, request: Received) -> Result<(), Status> {
        let claimed = |device: &mut Device| device.check_claim(&request.bytes);
        self.with_device(claimed)?;
        let decoded = SetForwardingPipelineConfigRequest::decode(request.bytes.clone());
        let SetForwardingPipelineConfigRequest { action, config, .. } = decoded
            .map_err(|error| Status::invalid_argument(format!("the request cannot be decoded: {error}")))?;
        let _room = request.share.beside(config.as_ref().map_or(0, program_bytes))?;
        let (action, verified) = tokio::task::block_in_place(|| verify(action, config))?;
        self.with_device(|device| {
            // Another controller may have become primary meanwhile.
            claimed(device)?;
            device.set(action, verified)
        })
    }

    /// The next part of an answer, and whether there is more.
    fn read_on(&self, read: &mut Read) -> Result<(Option<Answer>, bool), Status> {
        let (bytes, has_more) = self.with_device(|device| device.read(read))?;
        match bytes.is_empty() {
            true => Ok((None, has_more)),
            false => Ok((Some(Answer::new(bytes, &self.memory)?), has_more)),
        }
    }

    /// The answer to a Read. Its first part is made at once, others when the client has taken those before.
    fn read(self: Arc<Self>, request: Received, details_limit: usize) -> Result<Answers, Status> {
        let mut read = Read::new(request, details_limit)?;
        let (first, has_more) = self.read_on(&mut read)?;
        if !has_more {
            let status = read.status();
            return Ok(Answers::new(first.map(Ok).into_iter().chain(status.map(Err)), None));
        }
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            let status = loop {
                // No part is made before there is a place for it.
                let Ok(place) = sender.reserve().await else { return };
                match self.read_on(&mut read) {
                    Ok((answer, has_more)) => {
                        if let Some(answer) = answer {
                            place.send(Ok(answer));
                        }
                        if !has_more {
                            break read.status();
                        }
                    }
                    Err(status) => break Some(status),
                }
            };
            if let Some(status) = status {
                let _ = sender.send(Err(status)).await;
            }
        });
        Ok(Answers::new(first.map(Ok), Some(receiver)))
    }

    /// Reads one StreamChannel until it ends.
    async fn listen(self: Arc<Self>, stream: StreamId, mut requests: Streaming<Received>, responses: Outbox) {
        let status = loop {
            match requests.message().await {
                Ok(Some(message)) => {
                    if let Err(status) = self.handle(stream, message, &responses) {
                        break Some(status);
                    }
                }
                Ok(None) => break None,
                Err(status) => break Some(status),
            }
        };
        lock(&self.streams).remove(&stream);
        let notices = self.with_device(|device| device.close(stream));
        self.send_notices(notices);
        if let Some(status) = status {
            responses.fail(status).await;
        }
    }

    fn handle(&self, stream: StreamId, message: Received, responses: &Outbox) -> Result<(), Status> {
        let Received { bytes, share } = message;
        let _room = room(&bytes, &share)?;
        let message = StreamMessageRequest::decode(bytes)
            .map_err(|error| Status::invalid_argument(format!("the message cannot be decoded: {error}")))?;
        let error = match message.update {
            Some(RequestUpdate::Packet(packet)) => {
                self.packet_outs(stream, [Ok(packet)], responses);
                None
            }
            Some(RequestUpdate::Other(other)) if other.type_url == PACKET_OUT_BATCH => {
                let problem = self.packet_outs(stream, PacketOuts::new(other.value.clone()), responses);
                problem.map(|problem| other_error(Refusal::invalid(problem), other))
            }
            Some(RequestUpdate::Arbitration(update)) => {
                let notices = self.with_device(|device| device.arbitrate(stream, &update))?;
                self.send_notices(notices);
                None
            }
            Some(RequestUpdate::DigestAck(ack)) => {
                self.with_device(|device| device.digest_ack(stream, &ack)).err()
            }
            Some(RequestUpdate::Other(other)) => {
                let text = format!("message type '{}' is not supported", status_text(&other.type_url));
                Some(other_error(Refusal::unimplemented(text), other))
            }
            None => Some(unknown_message()),
        };
        if let Some(error) = error {
            responses.offer(ResponseUpdate::Error(error));
        }
        Ok(())
    }

    /// Sends packet-outs; returns what is wrong with the batch that they come from.
    fn packet_outs(
        &self,
        stream: StreamId,
        packets: impl IntoIterator<Item = Result<PacketOut, String>>,
        responses: &Outbox,
    ) -> Option<String> {
        let (mut handled, mut refused, mut problem) = (0, 0, None);
        self.with_free_device(|device| {
            for packet in packets {
                let sent = match packet {
                    Ok(packet) => device.packet_out(stream, &packet),
                    Err(text) => {
                        problem = Some(text);
                        return;
                    }
                };
                handled += 1;
                if let Err(error) = sent {
                    refused += 1;
                    responses.offer(ResponseUpdate::Error(error));
                }
            }
        });
        self.counters.update(|counts| {
            counts.packet_outs_handled += handled;
            counts.packet_outs_refused += refused;
        });
        problem
    }

    /// Brings the reports of the target to the primaries, for ever.
    pub async fn dispatch(self: Arc<Self>) {
        loop {
            let mut events = self.notifier.next().await;
            while !events.is_empty() {
                let (result, primaries) = self.with_free_device(|device| {
                    let result = device.dispatch(&mut events, DISPATCH_SLICE);
                    (result, device.arbiter.primaries())
                });
                let controllers: Vec<(Outbox, bool)> = {
                    let streams = lock(&self.streams);
                    let open = |(stream, is_default): &(StreamId, bool)| {
                        Some((streams.get(stream)?.clone(), *is_default))
                    };
                    primaries.iter().filter_map(open).collect()
                };
                let mut sent = 0;
                for (controller, is_default) in &controllers {
                    // Anyone may claim a role; only for the device's own controller is waited.
                    sent = controller.deliver(&result.messages, *is_default).await.max(sent);
                }
                let dropped = result.dropped + result.packet_ins - sent;
                if sent + dropped > 0 {
                    self.counters.update(|counts| {
                        counts.packet_ins_sent += sent;
                        counts.packet_ins_dropped += dropped;
                    });
                }
            }
        }
    }
}

fn other_error(refusal: Refusal, other: Any) -> StreamError {
    let details = StreamErrorDetails::Other(StreamOtherError { other: Some(other) });
    stream_error(refusal, details)
}

/// The service for tonic's router.
#[derive(Clone)]
pub struct P4RuntimeService {
    pub shared: Arc<Shared>,
}

impl NamedService for P4RuntimeService {
    const NAME: &'static str = "p4.v1.P4Runtime";
}

/// The future answer of a call.
type FutureAnswers = Pin<Box<dyn Future<Output = Result<Response<Answers>, Status>> + Send>>;

/// A handler as a tower service, the form in which tonic takes them.
struct Handler<R>(Arc<Shared>, fn(Arc<Shared>, Request<R>) -> FutureAnswers);

impl<R> tower_service::Service<Request<R>> for Handler<R> {
    type Response = Response<Answers>;
    type Error = Status;
    type Future = FutureAnswers;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<R>) -> Self::Future {
        (self.1)(self.0.clone(), request)
    }
}

/// The one answer of a call.
fn answered<T: Message>(shared: &Arc<Shared>, answer: &T) -> Result<Response<Answers>, Status> {
    let answer = Answer::new(answer.encode_to_vec().into(), &shared.memory)?;
    Ok(Response::new(Answers::new([Ok(answer)], None)))
}

fn write(shared: Arc<Shared>, request: Request<Received>) -> FutureAnswers {
    Box::pin(async move {
        let limit = details_limit(request.metadata());
        shared.with_device(|device| device.write(request.get_ref(), limit))?;
        answered(&shared, &WriteResponse {})
    })
}

fn read(shared: Arc<Shared>, request: Request<Received>) -> FutureAnswers {
    Box::pin(async move {
        let limit = details_limit(request.metadata());
        shared.read(request.into_inner(), limit).map(Response::new)
    })
}

/// How many bytes of details a controller takes in a status.
fn details_limit(metadata: &MetadataMap) -> usize {
    let asked = metadata.get(DETAILS_KEY).and_then(|value| value.to_str().ok()?.parse().ok());
    asked.unwrap_or(DETAILS_BYTES)
}

fn set(shared: Arc<Shared>, request: Request<Received>) -> FutureAnswers {
    Box::pin(async move {
        shared.set(request.into_inner())?;
        answered(&shared, &SetForwardingPipelineConfigResponse {})
    })
}

fn get(shared: Arc<Shared>, request: Request<Received>) -> FutureAnswers {
    Box::pin(async move {
        let request: GetForwardingPipelineConfigRequest = decode(&request.get_ref().bytes, "request")?;
        let answer = shared.with_device(|device| device.get(&request))?;
        answered(&shared, &answer)
    })
}

fn capabilities(shared: Arc<Shared>, _: Request<Received>) -> FutureAnswers {
    Box::pin(async move {
        let p4runtime_api_version = API_VERSION.to_string();
        answered(&shared, &CapabilitiesResponse { p4runtime_api_version })
    })
}

fn stream_channel(shared: Arc<Shared>, requests: Request<Streaming<Received>>) -> FutureAnswers {
    Box::pin(async move {
        let (sender, answers) = outbox(requests.metadata(), &shared.memory);
        let stream = shared.next_stream.fetch_add(1, Ordering::Relaxed);
        {
            let mut streams = lock(&shared.streams);
            if streams.len() >= MAX_STREAMS {
                return Err(Status::resource_exhausted(format!("{MAX_STREAMS} streams are open already")));
            }
            streams.insert(stream, sender.clone());
        }
        let batches = sender.batches();
        tokio::spawn(shared.listen(stream, requests.into_inner(), sender));
        let mut response = Response::new(answers);
        if batches {
            let metadata = response.metadata_mut();
            metadata.insert(BATCH_KEY, MetadataValue::from_static("1"));
        }
        Ok(response)
    })
}

impl tower_service::Service<http::Request<Body>> for P4RuntimeService {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let shared = self.shared.clone();
        Box::pin(async move {
            let method =
                request.uri().path().strip_prefix("/p4.v1.P4Runtime/").unwrap_or_default().to_string();
            let is_stream = method == "StreamChannel";
            let (parts, body) = request.into_parts();
            let (body, account) = match Intake::around(body, &shared.memory, is_stream) {
                Ok(intake) => intake,
                Err(refusal) => return Ok(Status::from(refusal).into_http()),
            };
            let request = http::Request::from_parts(parts, body);
            // The intake has the limits.
            let mut grpc = Grpc::new(Wire(account)).max_decoding_message_size(usize::MAX);
            let handler = match &method[..] {
                "StreamChannel" => return Ok(grpc.streaming(Handler(shared, stream_channel), request).await),
                "Write" => write,
                "Read" => read,
                "SetForwardingPipelineConfig" => set,
                "GetForwardingPipelineConfig" => get,
                "Capabilities" => capabilities,
                _ => return Ok(Status::unimplemented("no such method in p4.v1.P4Runtime").into_http()),
            };
            Ok(grpc.server_streaming(Handler(shared, handler), request).await)
        })
    }
}
