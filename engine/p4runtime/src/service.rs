//! The gRPC service p4.v1.P4Runtime, without generated code: paths to handlers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::server::{Grpc, NamedService};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::arbitration::{Notices, StreamId};
use crate::codec::ReadCodec;
use crate::device::{stream_error, unknown_message, verify, Device};
use crate::outbox::{outbox, packet_outs, Outbox, BATCH_KEY, PACKET_OUT_BATCH};
use crate::proto::service::*;
use crate::proto::stream::*;
use crate::proto::Any;
use crate::refusal::{fitting, Refusal};
use crate::target::{lock, Notifier, PacketIoCounters, SharedTarget};

/// The API version that Capabilities returns.
pub const API_VERSION: &str = "1.4.1";

/// Largest request: a pipeline config with its JSON.
const MAX_REQUEST_BYTES: usize = 256 << 20;
/// Longest details of a status beside its text, for clients with gRPC's default limit of metadata (8 KiB).
const DETAILS_BYTES: usize = 3 << 10;
/// The metadata key by which a controller asks for more details.
const DETAILS_KEY: &str = "p4mesh-details-bytes";
/// Events that are handled under one hold of the device's lock.
const DISPATCH_SLICE: usize = 1024;

/// State that all calls share.
pub struct Shared {
    device: Mutex<Device>,
    streams: Mutex<HashMap<StreamId, Outbox>>,
    next_stream: AtomicU64,
    notifier: Notifier,
    counters: Arc<PacketIoCounters>,
}

impl Shared {
    pub fn new(device_id: u64, target: SharedTarget, notifier: Notifier) -> Shared {
        Shared {
            device: Mutex::new(Device::new(device_id, target)),
            streams: Mutex::new(HashMap::new()),
            next_stream: AtomicU64::new(1),
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

    fn write(&self, request: WriteRequest) -> Result<WriteResponse, Status> {
        self.with_device(|device| device.write(&request))?;
        Ok(WriteResponse {})
    }

    fn set(
        &self,
        request: SetForwardingPipelineConfigRequest,
    ) -> Result<SetForwardingPipelineConfigResponse, Status> {
        self.with_device(|device| device.check_set(&request))?;
        let (action, config) = (request.action, request.config.clone());
        let (action, verified) = tokio::task::block_in_place(|| verify(action, config))?;
        self.with_device(|device| {
            // Another controller may have become primary meanwhile.
            device.check_set(&request)?;
            device.set(action, verified)
        })?;
        Ok(SetForwardingPipelineConfigResponse {})
    }

    fn read(&self, request: ReadRequest, details_limit: usize) -> Result<ReadStream, Status> {
        let (messages, status) = self.with_device(|device| device.read(&request))?;
        let status = status.map(|status| fitting(status, details_limit));
        Ok(tokio_stream::iter(
            messages
                .into_iter()
                .map(Ok as fn(Bytes) -> Result<Bytes, Status>)
                .chain(status.map(Err))
                .collect::<Vec<_>>(),
        ))
    }

    /// Reads one StreamChannel until it ends.
    async fn listen(
        self: Arc<Self>,
        stream: StreamId,
        mut requests: Streaming<StreamMessageRequest>,
        responses: Outbox,
    ) {
        while let Ok(Some(message)) = requests.message().await {
            if let Err(status) = self.handle(stream, message, &responses).await {
                responses.fail(status).await;
                break;
            }
        }
        lock(&self.streams).remove(&stream);
        let notices = self.with_device(|device| device.close(stream));
        self.send_notices(notices);
    }

    async fn handle(
        &self,
        stream: StreamId,
        message: StreamMessageRequest,
        responses: &Outbox,
    ) -> Result<(), Status> {
        let error = match message.update {
            Some(RequestUpdate::Packet(packet)) => {
                self.packet_outs(stream, &[packet], responses);
                None
            }
            Some(RequestUpdate::Other(other)) if other.type_url == PACKET_OUT_BATCH => {
                let (packets, problem) = packet_outs(other.value.clone());
                self.packet_outs(stream, &packets, responses);
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
                let text = format!("message type '{}' is not supported", other.type_url);
                Some(other_error(Refusal::unimplemented(text), other))
            }
            None => Some(unknown_message()),
        };
        if let Some(error) = error {
            responses.offer(ResponseUpdate::Error(error));
        }
        Ok(())
    }

    fn packet_outs(&self, stream: StreamId, packets: &[PacketOut], responses: &Outbox) {
        let errors: Vec<StreamError> = self.with_free_device(|device| {
            let sent = packets.iter().map(|packet| device.packet_out(stream, packet));
            sent.filter_map(Result::err).collect()
        });
        self.counters.update(|counts| {
            counts.packet_outs_handled += packets.len() as u64;
            counts.packet_outs_refused += errors.len() as u64;
        });
        for error in errors {
            responses.offer(ResponseUpdate::Error(error));
        }
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
                let controllers: Vec<Outbox> = {
                    let streams = lock(&self.streams);
                    primaries.iter().filter_map(|stream| streams.get(stream).cloned()).collect()
                };
                let mut sent = 0;
                for controller in &controllers {
                    sent = controller.deliver(&result.messages).await.max(sent);
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

type ReadStream = tokio_stream::Iter<std::vec::IntoIter<Result<Bytes, Status>>>;

/// The service for tonic's router.
#[derive(Clone)]
pub struct P4RuntimeService {
    pub shared: Arc<Shared>,
}

impl NamedService for P4RuntimeService {
    const NAME: &'static str = "p4.v1.P4Runtime";
}

/// The future answer of a call.
type Answer<T> = Pin<Box<dyn Future<Output = Result<Response<T>, Status>> + Send>>;

/// A handler as a tower service, the form in which tonic takes them.
struct Handler<R, T>(Arc<Shared>, fn(Arc<Shared>, Request<R>) -> Answer<T>);

impl<R, T> tower_service::Service<Request<R>> for Handler<R, T> {
    type Response = Response<T>;
    type Error = Status;
    type Future = Answer<T>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<R>) -> Self::Future {
        (self.1)(self.0.clone(), request)
    }
}

/// A server for messages that prost encodes.
fn grpc<Req, Res>() -> Grpc<ProstCodec<Res, Req>>
where
    Req: prost::Message + Default + Send + 'static,
    Res: prost::Message + Send + 'static,
{
    Grpc::new(ProstCodec::default()).max_decoding_message_size(MAX_REQUEST_BYTES)
}

fn write(shared: Arc<Shared>, request: Request<WriteRequest>) -> Answer<WriteResponse> {
    Box::pin(async move {
        let limit = details_limit(request.metadata());
        let answer = shared.write(request.into_inner());
        answer.map(Response::new).map_err(|status| fitting(status, limit))
    })
}

fn read(shared: Arc<Shared>, request: Request<ReadRequest>) -> Answer<ReadStream> {
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

fn set(
    shared: Arc<Shared>,
    request: Request<SetForwardingPipelineConfigRequest>,
) -> Answer<SetForwardingPipelineConfigResponse> {
    Box::pin(async move { shared.set(request.into_inner()).map(Response::new) })
}

fn get(
    shared: Arc<Shared>,
    request: Request<GetForwardingPipelineConfigRequest>,
) -> Answer<GetForwardingPipelineConfigResponse> {
    Box::pin(async move { shared.with_device(|device| device.get(request.get_ref())).map(Response::new) })
}

fn capabilities(_: Arc<Shared>, _: Request<CapabilitiesRequest>) -> Answer<CapabilitiesResponse> {
    Box::pin(async move {
        Ok(Response::new(CapabilitiesResponse { p4runtime_api_version: API_VERSION.to_string() }))
    })
}

fn stream_channel(
    shared: Arc<Shared>,
    requests: Request<Streaming<StreamMessageRequest>>,
) -> Answer<ReceiverStream<Result<StreamMessageResponse, Status>>> {
    Box::pin(async move {
        let (sender, receiver) = outbox(requests.metadata());
        let stream = shared.next_stream.fetch_add(1, Ordering::Relaxed);
        lock(&shared.streams).insert(stream, sender.clone());
        let batches = sender.batches();
        tokio::spawn(shared.listen(stream, requests.into_inner(), sender));
        let mut response = Response::new(ReceiverStream::new(receiver));
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
            let method = request.uri().path().strip_prefix("/p4.v1.P4Runtime/");
            Ok(match method.unwrap_or_default() {
                "Write" => grpc().unary(Handler(shared, write), request).await,
                "Read" => {
                    Grpc::new(ReadCodec)
                        .max_decoding_message_size(MAX_REQUEST_BYTES)
                        .server_streaming(Handler(shared, read), request)
                        .await
                }
                "SetForwardingPipelineConfig" => grpc().unary(Handler(shared, set), request).await,
                "GetForwardingPipelineConfig" => grpc().unary(Handler(shared, get), request).await,
                "StreamChannel" => grpc().streaming(Handler(shared, stream_channel), request).await,
                "Capabilities" => grpc().unary(Handler(shared, capabilities), request).await,
                _ => Status::unimplemented("no such method in p4.v1.P4Runtime").into_http(),
            })
        })
    }
}
