"""IPv4 (RFC 791)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.layers.checksum import checksum
from p4mesh.layers.layer import (
    Modifiable,
    Numbers,
    Surroundings,
    bits,
    checksum_field,
    computed,
    ipv4_address,
    names_next,
    tail,
)
from p4mesh.layers.network import NetworkLayer

DONT_FRAGMENT, MORE_FRAGMENTS = 0b010, 0b001
"""Bits of ``flags``."""
_EXPERIMENT = 253
"""Protocol number for experiments (RFC 3692), of a payload that has none."""
_FIXED_BYTES, _WORD_BYTES = 20, 4


@dataclass(frozen=True)
class IPv4(NetworkLayer):
    """A header with its options, which are whole words."""

    kind: ClassVar[str] = "ipv4"
    numbers: ClassVar[Mapping[Numbers, int]] = {
        Numbers.ETHERTYPE: 0x0800,
        Numbers.IP_PROTOCOL: 4,
        Numbers.PPP: 0x0021,
        Numbers.VXLAN_GPE: 1,
    }
    version: int = bits(4, 4, leads_on=True)
    header_words: int | None = computed(4)
    dscp: int = bits(6)
    ecn: int = bits(2)
    total_bytes: int | None = computed(16)
    identification: int = bits(16)
    flags: int = bits(3)
    fragment_offset: int = bits(13, leads_on=True)
    ttl: int = bits(8, 64)
    protocol: int | None = names_next(8, Numbers.IP_PROTOCOL, _EXPERIMENT)
    checksum: int | None = checksum_field()
    source: IPv4Address | None = ipv4_address()
    destination: IPv4Address | None = ipv4_address()
    options: bytes = tail(b"")

    def __post_init__(self) -> None:
        """Refuse options that are no number of words."""
        super().__post_init__()
        if len(self.options) % _WORD_BYTES:
            raise ParameterError(
                f"ipv4.options: {len(self.options)} bytes", hint=f"use a multiple of {_WORD_BYTES} bytes"
            )

    @property
    def is_fragment(self) -> bool:
        """Whether it carries a part of a packet."""
        return bool(self.fragment_offset or self.flags & MORE_FRAGMENTS)

    def tail_bytes(self) -> int:
        """Words behind the fifth."""
        return (self.header_words or 0) * _WORD_BYTES - _FIXED_BYTES

    def completed(self, around: Surroundings) -> IPv4:
        """Fill in lengths and the checksum of the header."""
        whole = super().completed(around)
        whole = whole.filled(
            header_words=self.header_bytes // _WORD_BYTES, total_bytes=self.header_bytes + len(around.inside)
        )
        return whole.filled(checksum=checksum(whole.pack()))

    def pseudo_header(self, protocol: int, length_bytes: int) -> bytes:
        """Addresses, protocol and length (RFC 768)."""
        addresses = (int(address or 0).to_bytes(4, "big") for address in (self.source, self.destination))
        return b"".join(addresses) + struct.pack("!HH", protocol, length_bytes)


DESTINATION = Modifiable("ipv4_dst", IPv4, "destination")
SOURCE = Modifiable("ipv4_src", IPv4, "source")
