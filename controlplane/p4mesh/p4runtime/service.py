"""The calls of the service p4.v1.P4Runtime on a channel.

Like the generated stub, but Write takes a request that is encoded already.
"""

from __future__ import annotations

from typing import Any

import grpc

from p4mesh.p4runtime.stubs import p4r

_PREFIX = "/p4.v1.P4Runtime/"


def _as_it_is(request: bytes) -> bytes:
    return request


class Service:
    """Callables, one per method."""

    def __init__(self, channel: grpc.Channel) -> None:
        def unary(name: str, request: Any, response: Any) -> Any:
            encode = _as_it_is if request is bytes else request.SerializeToString
            return channel.unary_unary(
                _PREFIX + name, request_serializer=encode, response_deserializer=response.FromString
            )

        self.Write = unary("Write", bytes, p4r.WriteResponse)
        self.SetForwardingPipelineConfig = unary(
            "SetForwardingPipelineConfig",
            p4r.SetForwardingPipelineConfigRequest,
            p4r.SetForwardingPipelineConfigResponse,
        )
        self.GetForwardingPipelineConfig = unary(
            "GetForwardingPipelineConfig",
            p4r.GetForwardingPipelineConfigRequest,
            p4r.GetForwardingPipelineConfigResponse,
        )
        self.Capabilities = unary("Capabilities", p4r.CapabilitiesRequest, p4r.CapabilitiesResponse)
        self.Read = channel.unary_stream(
            _PREFIX + "Read",
            request_serializer=p4r.ReadRequest.SerializeToString,
            response_deserializer=p4r.ReadResponse.FromString,
        )
        self.StreamChannel = channel.stream_stream(
            _PREFIX + "StreamChannel",
            request_serializer=p4r.StreamMessageRequest.SerializeToString,
            response_deserializer=p4r.StreamMessageResponse.FromString,
        )
