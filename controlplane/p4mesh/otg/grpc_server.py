"""The API over gRPC: the service of the package snappi."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Timer
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from snappi import otg_pb2 as pb2
from snappi import otg_pb2_grpc as pb2_grpc

from p4mesh.access_token import is_token
from p4mesh.errors import EnvironmentFault, OtgBusyError
from p4mesh.otg.operations import (
    MOST_REQUEST_BYTES,
    OPERATIONS,
    PATIENCE_S,
    TOO_LONG,
    WITHOUT_TOKEN,
    Failure,
    Operation,
)
from p4mesh.otg.ownership import Patience
from p4mesh.otg.worker import Worker

_MOST_CALLS = 64
"""At a time, each with a thread; one more is told so."""
_MOST_CONNECTIONS = 256
"""Far below the files that a process may have open."""
_IDLE_S = 30
"""Time for which a connection without a call stays: it cannot be closed for a new one, as over HTTP. Clients connect
again by themselves, and a session is no longer theirs by then."""
_CHUNK_BYTES = 1 << 20
_NOT_A_MESSAGE = Failure(400, "validation", ("the request is no message of the API",))
_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    409: grpc.StatusCode.FAILED_PRECONDITION,
    500: grpc.StatusCode.INTERNAL,
}


def grpc_server(
    worker: Worker, address: str, token: str | None, credentials: grpc.ServerCredentials | None
) -> tuple[grpc.Server, int]:
    """The server, which listens but does not serve yet, and its port; with a ``token`` every call must show it."""
    server = grpc.server(
        ThreadPoolExecutor(_MOST_CALLS, thread_name_prefix="otg-grpc"),
        options=[
            ("grpc.max_receive_message_length", MOST_REQUEST_BYTES),
            ("grpc.so_reuseport", 0),
            ("grpc.max_allowed_incoming_connections", _MOST_CONNECTIONS),
            ("grpc.server_handshake_timeout_ms", int(PATIENCE_S * 1000)),
            ("grpc.max_connection_idle_ms", int(_IDLE_S * 1000)),
        ],
        maximum_concurrent_rpcs=_MOST_CALLS,
        interceptors=[_Requests()],
    )
    servicer = pb2_grpc.OpenapiServicer()
    for operation in OPERATIONS:
        call = _call(operation, worker, token)
        setattr(servicer, operation.name, call)
        setattr(servicer, f"stream{operation.name}", _streamed(operation, call))
    pb2_grpc.add_OpenapiServicer_to_server(servicer, server)
    try:
        if credentials is not None:
            return server, server.add_secure_port(address, credentials)
        return server, server.add_insecure_port(address)
    except RuntimeError:
        raise EnvironmentFault(
            f"--grpc {address}: the address cannot be used", hint="name another one; port 0 takes a free one"
        ) from None


class _Requests(grpc.ServerInterceptor):  # type: ignore[misc]
    """Takes the requests of calls: gRPC waits for the only one without end, in a thread, and keeps 20 KB for each that
    it cannot read (1.80).
    """

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler:
        """The handler of a call, as one for any number of requests in bytes."""
        found = continuation(handler_call_details)
        if found is None:
            return None

        def read(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Any]:
            for request in requests:
                try:
                    yield found.request_deserializer(request)
                except DecodeError:
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, _NOT_A_MESSAGE.text)

        def take_parts(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
            return found.stream_unary(read(requests, context), context)

        def take_one(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
            with _in_time(context):
                request = next(read(requests, context), None)
            if request is None:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, _NOT_A_MESSAGE.text)
            return (found.unary_stream if found.response_streaming else found.unary_unary)(request, context)

        take = take_parts if found.request_streaming else take_one
        if found.response_streaming:
            return grpc.stream_stream_rpc_method_handler(take, None, found.response_serializer)
        return grpc.stream_unary_rpc_method_handler(take, None, found.response_serializer)


@contextmanager
def _in_time(context: grpc.ServicerContext) -> Iterator[None]:
    """Cancel a call unless what is done meanwhile ends in time."""
    timer = Timer(PATIENCE_S, context.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _call(operation: Operation, worker: Worker, token: str | None) -> Callable[[Any, grpc.ServicerContext], Any]:
    response = getattr(pb2, f"{operation.name}Response")

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        shown = dict(context.invocation_metadata()).get("authorization", "")
        if token is not None and not is_token(shown, f"Bearer {token}"):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, Failure(401, "validation", (WITHOUT_TOKEN,)).text)
        message = getattr(request, operation.request_field) if operation.request_field else None
        try:
            patience = Patience()
            while True:
                try:
                    answer = operation.ask(worker, context.peer(), message).result()
                    break
                except OtgBusyError as error:
                    time.sleep(patience.pause_s(error))
        except Exception as error:
            failure = Failure.of(error)
            context.abort(_CODES[failure.code], failure.text)
        return response(**{operation.response_field: answer})

    return call


def _streamed(operation: Operation, call: Callable[[Any, grpc.ServicerContext], Any]) -> Callable[..., Any]:
    """The call whose request, where it changes something, or whose answer comes in parts."""

    def send(parts: Iterator[Any], context: grpc.ServicerContext) -> Any:
        received = bytearray()
        with _in_time(context):
            for part in parts:
                received += part.datum
                if len(received) > MOST_REQUEST_BYTES:
                    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, TOO_LONG.text)
        assert operation.request is not None
        try:
            message = operation.request.FromString(bytes(received))
        except DecodeError:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, _NOT_A_MESSAGE.text)
        return call(_request(operation, message), context)

    def receive(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        answer = getattr(call(request, context), operation.response_field)
        data = answer if isinstance(answer, bytes) else answer.SerializeToString()
        for place in range(0, len(data), _CHUNK_BYTES):
            with _in_time(context):
                yield pb2.Data(datum=data[place : place + _CHUNK_BYTES], chunk_size=_CHUNK_BYTES)

    return send if operation.changes else receive


def _request(operation: Operation, message: Any) -> Any:
    return getattr(pb2, f"{operation.name}Request")(**{operation.request_field: message})
