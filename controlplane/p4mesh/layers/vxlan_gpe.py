"""VXLAN with a generic protocol extension (draft-ietf-nvo3-vxlan-gpe)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.layer import Layer, Numbers, bits, names_next

_HAS_VNI_AND_PROTOCOL = 0x0C


@dataclass(frozen=True)
class VxlanGpe(Layer):
    """A network identifier, in front of IPv4, IPv6, Ethernet or labels."""

    kind: ClassVar[str] = "vxlan_gpe"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.UDP_PORT: 4790}
    in_udp_without_checksum: ClassVar[bool] = True
    flags: int = bits(8, _HAS_VNI_AND_PROTOCOL)
    reserved: int = bits(16)
    next_protocol: int | None = names_next(8, Numbers.VXLAN_GPE, 0)
    vni: int = bits(24)
    reserved_byte: int = bits(8)
