"""UDP (RFC 768, RFC 8200 8.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.checksum import checksum
from p4mesh.layers.ipv6 import IPv6
from p4mesh.layers.layer import (
    BAD_CHECKSUM,
    Layer,
    Modifiable,
    Numbers,
    Surroundings,
    bits,
    checksum_field,
    computed,
    names_next,
)
from p4mesh.layers.network import NetworkLayer, network_around

PROTOCOL = 17
USUAL_PORT = 20_001
_NO_CHECKSUM, _OF_ZERO = 0, 0xFFFF


@dataclass(frozen=True)
class Udp(Layer):
    """Ports, length and checksum."""

    kind: ClassVar[str] = "udp"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: PROTOCOL}
    source: int = bits(16, USUAL_PORT)
    destination: int | None = names_next(16, Numbers.UDP_PORT, USUAL_PORT)
    length_bytes: int | None = computed(16)
    checksum: int | None = checksum_field()

    def completed(self, around: Surroundings) -> Udp:
        """Fill in the length, and the checksum where it must be one: over IPv6 (RFC 8200 8.1), not over IPv4.

        A tunnel over IPv6 has none (RFC 6935). A bad one is the right one, spoiled, wherever there may be one.
        """
        whole = super().completed(around).filled(length_bytes=self.header_bytes + len(around.inside))
        network = network_around(around)
        in_tunnel = around.following is not None and around.following.in_udp_without_checksum
        if network and (self.checksum == BAD_CHECKSUM or (isinstance(network, IPv6) and not in_tunnel)):
            return whole.summed(network, around.inside)
        return whole.filled(checksum=_NO_CHECKSUM)

    def summed(self, network: NetworkLayer, inside: bytes) -> Udp:
        """Fill in length and checksum of a datagram, over IPv4 too; an open destination port counts as 0."""
        whole = self.filled(length_bytes=self.header_bytes + len(inside))
        covered = whole.pack() + inside
        # A sum of 0 is sent as all ones, since 0 says that there is no checksum (RFC 768).
        return whole.filled(checksum=checksum(network.pseudo_header(PROTOCOL, len(covered)) + covered) or _OF_ZERO)


DESTINATION = Modifiable("udp_dst", Udp, "destination")
SOURCE = Modifiable("udp_src", Udp, "source")
