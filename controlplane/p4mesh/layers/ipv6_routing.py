"""Routing header of IPv6 (RFC 8200 4.4), and that of segment routing (RFC 8754), which shares its number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.layers.extension import CountedHeader
from p4mesh.layers.layer import Numbers, Surroundings, bits, computed, tail

_ADDRESS_BYTES = 16
_SEGMENTS = 4
"""Routing type of segment routing."""
_TYPE_PLACE = 2
"""Offset of the routing type in the header, bytes."""


@dataclass(frozen=True)
class Routing(CountedHeader):
    """A routing header; its usual values are type 0 with one address that is behind the packet: no segment is left."""

    kind: ClassVar[str] = "routing"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: 43}
    routing_type: int = bits(8)
    segments_left: int = bits(8)
    reserved: int = bits(32)
    addresses: bytes = tail(IPv6Address("::1").packed)

    @property
    def path(self) -> bytes:
        """The addresses of the path."""
        return self.addresses

    @property
    def final_destination(self) -> IPv6Address | None:
        """The last address, where some are left."""
        return IPv6Address(self.path[-_ADDRESS_BYTES:]) if self.segments_left else None

    @property
    def active_destination(self) -> IPv6Address | None:
        """The one in front of those that are left; the first router of a path is in no list."""
        here = len(self.path) - _ADDRESS_BYTES * (self.segments_left + 1)
        return _address(self.path, here) if self.segments_left else None

    @classmethod
    def read(cls, data: bytes) -> CountedHeader | None:  # type: ignore[override]
        """Read a routing header of any type; segment routing is told apart by its type."""
        if len(data) > _TYPE_PLACE and data[_TYPE_PLACE] == _SEGMENTS:
            return SegmentRouting.read(data)
        return super().read(data)


def _address(path: bytes, begin: int) -> IPv6Address | None:
    return IPv6Address(path[begin : begin + _ADDRESS_BYTES]) if 0 <= begin < len(path) else None


def _segments_of_text(text: str) -> bytes:
    return b"".join(IPv6Address(word).packed for word in text.split())


def _text_of_segments(segments: bytes) -> str:
    places = range(0, len(segments), _ADDRESS_BYTES)
    return " ".join(str(IPv6Address(segments[place : place + _ADDRESS_BYTES])) for place in places)


@dataclass(frozen=True)
class SegmentRouting(CountedHeader):
    """Segments in reverse: the last one of the path stands first, and ``segments_left`` is the place of the active one.

    The active segment is the destination of the IPv6 header in front, which is written by whoever builds the frame.
    """

    kind: ClassVar[str] = "segment_routing"
    numbers: ClassVar[Mapping[Numbers, int]] = Routing.numbers
    routing_type: int = bits(8, _SEGMENTS)
    segments_left: int = bits(8)
    last_entry: int | None = computed(8)
    flags: int = bits(8)
    tag: int = bits(16)
    segments: bytes = tail(IPv6Address("::1").packed, _segments_of_text, _text_of_segments)

    @property
    def path(self) -> bytes:
        """The addresses of the path."""
        return self.segments

    @property
    def final_destination(self) -> IPv6Address | None:
        """The first one of the list, where some are left."""
        return IPv6Address(self.path[:_ADDRESS_BYTES]) if self.segments_left else None

    @property
    def active_destination(self) -> IPv6Address | None:
        """The one at the place ``segments_left``; a reduced list leaves the first one out (RFC 8754 4.1.1)."""
        return _address(self.path, _ADDRESS_BYTES * self.segments_left) if self.segments_left else None

    def __post_init__(self) -> None:
        """Refuse what is no list of addresses."""
        super().__post_init__()
        if not self.segments or len(self.segments) % _ADDRESS_BYTES:
            raise ParameterError(
                f"segment_routing.segments: {len(self.segments)} bytes", hint="give one or more IPv6 addresses"
            )

    def tail_bytes(self) -> int:
        """Whole addresses, at least one."""
        length = super().tail_bytes()
        return length if length and not length % _ADDRESS_BYTES else -1

    def completed(self, around: Surroundings) -> SegmentRouting:
        """Fill in the length and the place of the last address."""
        return super().completed(around).filled(last_entry=len(self.segments) // _ADDRESS_BYTES - 1)
