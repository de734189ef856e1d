"""Hop-by-hop options and destination options of IPv6 (RFC 8200 4.3 and 4.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.extension import CountedHeader
from p4mesh.layers.layer import Numbers, tail

PADDING = bytes([1, 4, 0, 0, 0, 0])
"""PadN of 6 bytes: no option that a router must act on."""


@dataclass(frozen=True)
class HopByHop(CountedHeader):
    """Options that every router on the way looks at."""

    kind: ClassVar[str] = "hop_by_hop"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: 0}
    options: bytes = tail(PADDING)


@dataclass(frozen=True)
class DestinationOptions(CountedHeader):
    """Options for the receiver."""

    kind: ClassVar[str] = "destination"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: 60}
    options: bytes = tail(PADDING)
