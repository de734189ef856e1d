"""The service p4.bm.DataplaneInterface of simple_switch_grpc: frames in and out over gRPC.

With it there are no interfaces, no privileges and no losses, a frame may have any length from one byte, and the end of
a stream says that the switch has done all its work on the frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue
from time import monotonic
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from harness.scenario import Outputs
from harness.switch import WAIT_S, HarnessError

_DEVICE_ID = 1


def _message(name: str) -> Any:
    """Declare a message of dataplane_interface.proto; request and response have the same fields."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", package="p4.bm", syntax="proto3")
    message = file.message_type.add(name=name)
    fields = (("id", kinds.TYPE_UINT64), ("device_id", kinds.TYPE_UINT64), ("port", kinds.TYPE_UINT32))
    for number, (field, kind) in enumerate((*fields, ("packet", kinds.TYPE_BYTES)), 1):
        message.field.add(name=field, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"p4.bm.{name}"))


_Request = _message("PacketStreamRequest")
_Response = _message("PacketStreamResponse")


class PacketStreams:
    """The client of the service: one stream at a time."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address)
        self._call = self._channel.stream_stream(
            "/p4.bm.DataplaneInterface/PacketStream",
            request_serializer=_Request.SerializeToString,
            response_deserializer=_Response.FromString,
        )

    def wait_ready(self) -> None:
        """Wait until the switch takes frames: its servers answer a little earlier."""
        end = monotonic() + WAIT_S
        while True:
            probe = self._call(iter(()), timeout=WAIT_S, wait_for_ready=True)
            try:
                _collect(probe)
                return
            except HarnessError:
                if probe.code() is not grpc.StatusCode.UNAVAILABLE or monotonic() > end:
                    raise

    def close(self) -> None:
        """End the connection."""
        self._channel.close()

    def exchange(self, port: int, data: bytes) -> Outputs:
        """Let one frame arrive; return the frames that left by the time that all of its copies are gone."""
        request = _Request(device_id=_DEVICE_ID, port=port, packet=data)
        return _collect(self._call(iter([request]), timeout=WAIT_S))

    def open(self) -> OpenStream:
        """A stream that receives from now on."""
        while True:
            stream = OpenStream(self._call)
            # There may be only one: a second one that is refused proves that the first is in place.
            probe = self._call(iter(()), timeout=WAIT_S)
            try:
                _collect(probe)
            except HarnessError:
                if probe.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                    raise
                return stream
            stream.cancel()


class OpenStream:
    """A stream that stays open while another client makes the switch send."""

    def __init__(self, call: Any) -> None:
        self._requests: SimpleQueue[None] = SimpleQueue()
        self._responses = call(self._no_requests(), timeout=WAIT_S)

    def _no_requests(self) -> Iterator[Any]:
        self._requests.get()
        yield from ()

    def finish(self) -> Outputs:
        """Wait until the switch is idle; return the frames that left."""
        self._requests.put(None)
        return _collect(self._responses)

    def cancel(self) -> None:
        """Give up."""
        self._requests.put(None)
        self._responses.cancel()


def _collect(responses: Any) -> Outputs:
    outputs: Outputs = {}
    try:
        for response in responses:
            outputs.setdefault(response.port, []).append(response.packet)
    except grpc.RpcError as error:
        raise HarnessError(f"the packet stream of simple_switch_grpc ended: {error.details()}") from None
    return outputs
