"""Labels (RFC 3032) and the control word of a pseudowire (RFC 4385)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.ethernet import Ethernet
from p4mesh.layers.layer import Layer, Numbers, Surroundings, bits, computed
from p4mesh.layers.versions import ip_of

_CONTROL_WORD = 0
"""First four bits of a control word, which no version of IP has (RFC 4385 3)."""


@dataclass(frozen=True)
class Mpls(Layer):
    """One label; the last one of a stack says so, and what follows shows by its first four bits."""

    kind: ClassVar[str] = "mpls"
    numbers: ClassVar[Mapping[Numbers, int]] = {
        Numbers.ETHERTYPE: 0x8847,
        Numbers.IP_PROTOCOL: 137,
        Numbers.UDP_PORT: 6635,
        Numbers.PPP: 0x0281,
        Numbers.VXLAN_GPE: 5,
    }
    in_udp_without_checksum: ClassVar[bool] = True
    label: int = bits(20, 16)
    traffic_class: int = bits(3)
    bottom: int | None = computed(1)
    ttl: int = bits(8, 64)

    def completed(self, around: Surroundings) -> Mpls:
        """Fill in whether the stack ends here."""
        return super().completed(around).filled(bottom=int(not isinstance(around.following, Mpls)))

    def next_kind(self, inside: bytes) -> type[Layer] | None:
        """Another label, or what the first four bits behind the stack say."""
        if not self.bottom:
            return Mpls
        return ControlWord if inside and inside[0] >> 4 == _CONTROL_WORD else ip_of(inside)


@dataclass(frozen=True)
class ControlWord(Layer):
    """The word between the labels of a pseudowire and its Ethernet frame (RFC 4448 4.6)."""

    kind: ClassVar[str] = "control_word"
    flags: int = bits(16)
    sequence: int = bits(16)

    def next_kind(self, inside: bytes) -> type[Layer] | None:
        """Ethernet."""
        return Ethernet
