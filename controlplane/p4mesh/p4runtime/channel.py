"""Settings of the gRPC channels to switches, and whether a server answers on one."""

from __future__ import annotations

import grpc

_UNLIMITED = -1
_ANY_METHOD = "/grpc.health.v1.Health/Check"
"""A server without this method answers that it has none."""
_SILENT = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE)


def channel_options(metadata_bytes: int) -> list[tuple[str, object]]:
    """Options of a channel of its own, straight to the server, whose calls may be of any size.

    ``metadata_bytes`` limits the metadata of an answer.
    """
    return [
        ("grpc.max_receive_message_length", _UNLIMITED),
        ("grpc.max_send_message_length", _UNLIMITED),
        ("grpc.max_metadata_size", metadata_bytes),
        ("grpc.absolute_max_metadata_size", metadata_bytes),
        ("grpc.enable_http_proxy", 0),
        ("grpc.use_local_subchannel_pool", 1),
    ]


def answers(channel: grpc.Channel, timeout_s: float) -> bool:
    """Wait until a gRPC server answers; False when none does within ``timeout_s``.

    ``grpc.channel_ready_future`` would do, too, but it makes each closing of the channel wait for up to 0.2 s.
    """
    check = channel.unary_unary(_ANY_METHOD)
    try:
        check(b"", timeout=timeout_s, wait_for_ready=True)
    except grpc.RpcError as error:
        return error.code() not in _SILENT
    return True
