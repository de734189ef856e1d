"""Tags of a VLAN: of a customer (IEEE 802.1Q 9.6) and of a service provider (802.1ad, in 802.1Q since 2011)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.ethernet import TEST_ETHERTYPE
from p4mesh.layers.layer import Layer, Modifiable, Numbers, bits, names_next


@dataclass(frozen=True)
class Vlan(Layer):
    """A tag; the outermost stands first."""

    kind: ClassVar[str] = "vlan"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.ETHERTYPE: 0x8100}
    priority: int = bits(3)
    """Priority code point."""
    drop_eligible: int = bits(1)
    vid: int = bits(12)
    ether_type: int | None = names_next(16, Numbers.ETHERTYPE, TEST_ETHERTYPE)


@dataclass(frozen=True)
class ServiceTag(Vlan):
    """A tag of a provider, in front of those of its customers."""

    kind: ClassVar[str] = "service_tag"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.ETHERTYPE: 0x88A8}


OUTER = Modifiable("outer_vlan", Vlan, "vid", 0)
INNER = Modifiable("inner_vlan", Vlan, "vid", 1)
