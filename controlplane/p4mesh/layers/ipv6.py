"""IPv6 (RFC 8200)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import ClassVar

from p4mesh.layers.layer import Modifiable, Numbers, Surroundings, bits, computed, ipv6_address, names_next
from p4mesh.layers.network import NetworkLayer

NO_NEXT_HEADER = 59
"""Next header of a packet that ends here (RFC 8200 4.7)."""


@dataclass(frozen=True)
class IPv6(NetworkLayer):
    """The fixed header; extension headers are layers of their own."""

    kind: ClassVar[str] = "ipv6"
    numbers: ClassVar[Mapping[Numbers, int]] = {
        Numbers.ETHERTYPE: 0x86DD,
        Numbers.IP_PROTOCOL: 41,
        Numbers.PPP: 0x0057,
        Numbers.VXLAN_GPE: 2,
    }
    version: int = bits(4, 6, leads_on=True)
    dscp: int = bits(6)
    ecn: int = bits(2)
    flow_label: int = bits(20)
    payload_bytes: int | None = computed(16)
    next_header: int | None = names_next(8, Numbers.IP_PROTOCOL, NO_NEXT_HEADER)
    ttl: int = bits(8, 64)
    """Hop limit."""
    source: IPv6Address | None = ipv6_address()
    destination: IPv6Address | None = ipv6_address()

    def completed(self, around: Surroundings) -> IPv6:
        """Fill in the length of everything behind the header, extension headers included."""
        return super().completed(around).filled(payload_bytes=len(around.inside))

    def pseudo_header(self, protocol: int, length_bytes: int) -> bytes:
        """Addresses, length and protocol (RFC 8200 8.1)."""
        addresses = (int(address or 0).to_bytes(16, "big") for address in (self.source, self.destination))
        return b"".join(addresses) + struct.pack("!II", length_bytes, protocol)


DESTINATION = Modifiable("ipv6_dst", IPv6, "destination", low_bits=32)
SOURCE = Modifiable("ipv6_src", IPv6, "source", low_bits=32)
