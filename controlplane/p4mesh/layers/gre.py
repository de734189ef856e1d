"""Generic routing encapsulation without optional fields (RFC 2784)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.ethernet import TEST_ETHERTYPE
from p4mesh.layers.layer import Layer, Numbers, bits, names_next


@dataclass(frozen=True)
class Gre(Layer):
    """A header of 4 bytes."""

    kind: ClassVar[str] = "gre"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: 47}
    flags: int = bits(13)
    version: int = bits(3)
    protocol: int | None = names_next(16, Numbers.ETHERTYPE, TEST_ETHERTYPE)
