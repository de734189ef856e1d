"""Mobility header of IPv6 (RFC 6275 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.extension import CountedHeader
from p4mesh.layers.layer import Numbers, bits, tail


@dataclass(frozen=True)
class Mobility(CountedHeader):
    """A mobility header; its usual values are those of a binding refresh request (RFC 6275 6.1.2)."""

    kind: ClassVar[str] = "mobility"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: 135}
    message_type: int = bits(8)
    reserved: int = bits(8)
    checksum: int = bits(16)
    message: bytes = tail(bytes(2))
