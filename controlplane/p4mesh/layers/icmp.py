"""ICMP for IPv4 (RFC 792) and for IPv6 (RFC 4443): an echo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.checksum import checksum
from p4mesh.layers.layer import Layer, Numbers, Surroundings, bits, checksum_field
from p4mesh.layers.network import network_around

PROTOCOL_V6 = 58
_ECHO, _ECHO_V6 = 8, 128


@dataclass(frozen=True)
class Icmp(Layer):
    """A message with identifier and sequence number; its usual type asks for an echo."""

    kind: ClassVar[str] = "icmp"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: 1}
    type: int = bits(8, _ECHO)
    code: int = bits(8)
    checksum: int | None = checksum_field()
    identifier: int = bits(16)
    sequence: int = bits(16)

    def completed(self, around: Surroundings) -> Icmp:
        """Fill in the checksum of the message."""
        whole = super().completed(around)
        return whole.filled(checksum=checksum(whole.pack() + around.inside))


@dataclass(frozen=True)
class Icmpv6(Layer):
    """The same for IPv6, whose checksum covers the addresses, too (RFC 4443 2.3)."""

    kind: ClassVar[str] = "icmpv6"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: PROTOCOL_V6}
    type: int = bits(8, _ECHO_V6)
    code: int = bits(8)
    checksum: int | None = checksum_field()
    identifier: int = bits(16)
    sequence: int = bits(16)

    def completed(self, around: Surroundings) -> Icmpv6:
        """Fill in the checksum of message and addresses."""
        whole = super().completed(around)
        covered = whole.pack() + around.inside
        network = network_around(around)
        pseudo = network.pseudo_header(PROTOCOL_V6, len(covered)) if network else b""
        return whole.filled(checksum=checksum(pseudo + covered))
