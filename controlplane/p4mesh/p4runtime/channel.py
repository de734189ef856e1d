"""Settings of the gRPC channels to switches."""

from __future__ import annotations

_UNLIMITED = -1


def channel_options(metadata_bytes: int) -> list[tuple[str, object]]:
    """Return the options of a channel of its own, straight to the server, whose calls may be of any size.

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
