"""Independent captures of the kernel on interfaces of devices, with its stamps."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from p4mesh.network.namespaces import entered

_BUFFER_BYTES = 64 << 20
_FORCED_BUFFER, _NANOSECOND_STAMPS = 33, 35
"""SO_RCVBUFFORCE and SO_TIMESTAMPNS of Linux, which Python does not name."""
_LONGEST_FRAME_BYTES, _CONTROL_BYTES = 2048, 64


@contextmanager
def capture(namespace: str, interface: str) -> Iterator[socket.socket]:
    """Open a socket that keeps what an interface sends and receives, with stamps, until somebody reads."""
    with entered(namespace):
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    with opened as raw:
        raw.setsockopt(socket.SOL_SOCKET, _FORCED_BUFFER, _BUFFER_BYTES)
        raw.setsockopt(socket.SOL_SOCKET, _NANOSECOND_STAMPS, 1)
        with entered(namespace):
            raw.bind((interface, 3))
        raw.setblocking(False)
        yield raw


def captured(raw: socket.socket) -> Iterator[tuple[bytes, int, bool]]:
    """Yield the frames of a capture: bytes, ns of the system clock, whether the interface sent it."""
    while True:
        try:
            frame, beside, _, address = raw.recvmsg(_LONGEST_FRAME_BYTES, _CONTROL_BYTES)
        except BlockingIOError:
            return
        ((_, _, data),) = beside
        seconds, nanoseconds = struct.unpack("qq", data)
        yield frame, seconds * 10**9 + nanoseconds, address[2] == socket.PACKET_OUTGOING
