"""RDMA over converged Ethernet, version 2 (InfiniBand Architecture 1.5, annex A17)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from p4mesh.layers.ipv4 import IPv4
from p4mesh.layers.ipv6 import IPv6
from p4mesh.layers.layer import BAD_CHECKSUM, Layer, Numbers, bits, trailing_checksum
from p4mesh.layers.udp import Udp

_SEND_ONLY = 0x64
"""Opcode of an unreliable datagram that is whole."""
_DEFAULT_PARTITION = 0xFFFF


@dataclass(frozen=True)
class Bth(Layer):
    """Base transport header; the invariant CRC stands behind the payload."""

    kind: ClassVar[str] = "bth"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.UDP_PORT: 4791}
    in_udp_without_checksum: ClassVar[bool] = True
    trailer_bytes: ClassVar[int] = 4
    opcode: int = bits(8, _SEND_ONLY)
    solicited: int = bits(1)
    migration: int = bits(1)
    pad_bytes: int = bits(2)
    version: int = bits(4)
    partition: int = bits(16, _DEFAULT_PARTITION)
    forward_congestion: int = bits(1)
    backward_congestion: int = bits(1)
    reserved: int = bits(6)
    queue_pair: int = bits(24)
    acknowledge: int = bits(1)
    reserved_bits: int = bits(7)
    sequence: int = bits(24)
    icrc: int | None = trailing_checksum()

    def trailer(self, outside: tuple[Layer, ...], inside: bytes) -> bytes:
        """Write the invariant CRC: over IP, UDP and what follows, with ones for what routers change (A17.3.3)."""
        masked = [_masked(layer) for layer in outside if isinstance(layer, IPv4 | IPv6 | Udp)][-2:]
        mine = replace(self, forward_congestion=1, backward_congestion=1, reserved=0x3F)
        covered = b"".join([_LOCAL_ROUTE, *(layer.pack() for layer in masked), mine.pack(), inside])
        wrong = int(self.icrc == BAD_CHECKSUM)
        return (zlib.crc32(covered) ^ wrong).to_bytes(self.trailer_bytes, "little")


_LOCAL_ROUTE = b"\xff" * 8
"""Stands for the local route header, which RoCE does not have."""


def _masked(layer: IPv4 | IPv6 | Udp) -> Layer:
    match layer:
        case IPv4():
            return replace(layer, dscp=0x3F, ecn=3, ttl=0xFF, checksum=0xFFFF)
        case IPv6():
            return replace(layer, dscp=0x3F, ecn=3, flow_label=0xFFFFF, ttl=0xFF)
        case Udp():
            return replace(layer, checksum=0xFFFF)
