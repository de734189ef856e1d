"""Ethernet II (IEEE 802.3 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.layer import Layer, Modifiable, Numbers, mac_address, names_next

TEST_ETHERTYPE = 0xFFFF
"""EtherType of frames that hold nothing but a signature; reserved by IEEE."""


@dataclass(frozen=True)
class Ethernet(Layer):
    """Addresses and EtherType."""

    kind: ClassVar[str] = "ethernet"
    numbers: ClassVar[Mapping[Numbers, int]] = {
        Numbers.ETHERTYPE: 0x6558,
        Numbers.IP_PROTOCOL: 143,
        Numbers.VXLAN_GPE: 3,
    }
    """Bridging in GRE and Geneve (RFC 1701), and in segment routing (RFC 8986 10.1)."""
    destination: bytes | None = mac_address()
    source: bytes | None = mac_address()
    ether_type: int | None = names_next(16, Numbers.ETHERTYPE, TEST_ETHERTYPE)


DESTINATION = Modifiable("ethernet_dst", Ethernet, "destination", 0)
SOURCE = Modifiable("ethernet_src", Ethernet, "source", 0)
