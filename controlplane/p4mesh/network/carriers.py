"""State of the links of a namespace, as often as a trial looks at it.

The answer of rtnetlink(7) is read here and not by pyroute2, which decodes some sixty attributes of each interface: with
hundreds of interfaces that takes longer than the time from one look to the next.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from p4mesh.network.namespaces import entered, refused

_RTM_NEWLINK, _RTM_GETLINK, _DONE, _ERROR = 16, 18, 3, 2
_REQUEST_DUMP = 0x301
_WITHOUT_STATISTICS = 8
_IFLA_IFNAME, _IFLA_EXT_MASK, _IFLA_CARRIER_CHANGES = 3, 29, 35
_UP, _LOWER_UP = 1, 1 << 16
_HEADER, _LINK, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BxHiII"), struct.Struct("=HH")
_ATTRIBUTE_TYPE_BITS = 0x3FFF
_MOST_BYTES = 1 << 17
"""More than the kernel puts into one part of its answer."""


@dataclass(frozen=True)
class Carrier:
    """An interface: whether it is on and has a carrier, and how often the carrier has come or gone."""

    up: bool
    changes: int


def carriers(namespace: str) -> dict[str, Carrier]:
    """All interfaces of a namespace by their names; raises TargetError with the answer of the kernel."""
    try:
        return _asked(namespace)
    except OSError as error:
        raise refused(namespace, error.errno, error.strerror) from None


def _asked(namespace: str) -> dict[str, Carrier]:
    with entered(namespace), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        mask = _ATTRIBUTE.pack(_ATTRIBUTE.size + 4, _IFLA_EXT_MASK) + struct.pack("=I", _WITHOUT_STATISTICS)
        body = _LINK.pack(socket.AF_UNSPEC, 0, 0, 0, 0) + mask
        kernel.send(_HEADER.pack(_HEADER.size + len(body), _RTM_GETLINK, _REQUEST_DUMP, 1, 0) + body)
        found: dict[str, Carrier] = {}
        while True:
            for kind, message in _parts(kernel.recv(_MOST_BYTES), _HEADER, 0):
                if kind == _DONE:
                    return found
                if kind == _ERROR:
                    number = -struct.unpack_from("=i", message)[0]
                    raise OSError(number, os.strerror(number))
                if kind == _RTM_NEWLINK:
                    name, carrier = _link(message)
                    found[name] = carrier


def _link(message: bytes) -> tuple[str, Carrier]:
    flags = _LINK.unpack_from(message)[3]
    name, changes = "", 0
    for kind, value in _parts(message, _ATTRIBUTE, _LINK.size):
        if kind & _ATTRIBUTE_TYPE_BITS == _IFLA_IFNAME:
            name = value.rstrip(b"\0").decode()
        elif kind & _ATTRIBUTE_TYPE_BITS == _IFLA_CARRIER_CHANGES:
            (changes,) = struct.unpack("=I", value)
    return name, Carrier(bool(flags & _UP and flags & _LOWER_UP), changes)


def _parts(message: bytes, header: struct.Struct, at: int) -> Iterator[tuple[int, bytes]]:
    """Yield kind and content of messages, or of attributes: a length and a kind lead each, which begins at 4 bytes."""
    while at + header.size <= len(message):
        length, kind = header.unpack_from(message, at)[:2]
        yield kind, message[at + header.size : at + length]
        at += (length + 3) & ~3
