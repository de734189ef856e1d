"""VXLAN (RFC 7348)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.ethernet import Ethernet
from p4mesh.layers.layer import Layer, Numbers, bits

_HAS_VNI = 0x08


@dataclass(frozen=True)
class Vxlan(Layer):
    """A network identifier, in front of an Ethernet frame."""

    kind: ClassVar[str] = "vxlan"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.UDP_PORT: 4789}
    in_udp_without_checksum: ClassVar[bool] = True
    flags: int = bits(8, _HAS_VNI)
    reserved: int = bits(24)
    vni: int = bits(24)
    reserved_byte: int = bits(8)

    def next_kind(self, inside: bytes) -> type[Layer] | None:
        """Ethernet."""
        return Ethernet
