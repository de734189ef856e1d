"""Routing header of IPv6 (RFC 8200 4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import ClassVar

from p4mesh.layers.extension import CountedHeader
from p4mesh.layers.layer import Numbers, bits, tail


@dataclass(frozen=True)
class Routing(CountedHeader):
    """A routing header; its usual values are type 0 with one address that is behind the packet: no segment is left."""

    kind: ClassVar[str] = "routing"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: 43}
    routing_type: int = bits(8)
    segments_left: int = bits(8)
    reserved: int = bits(32)
    addresses: bytes = tail(IPv6Address("::1").packed)
