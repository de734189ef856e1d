"""Session of PPP over Ethernet (RFC 2516), with the protocol of PPP (RFC 1661)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.layer import Layer, Numbers, Surroundings, bits, computed, names_next

_PROTOCOL_BYTES = 2


@dataclass(frozen=True)
class Pppoe(Layer):
    """A header of 8 bytes, the protocol of PPP included."""

    kind: ClassVar[str] = "pppoe"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.ETHERTYPE: 0x8864}
    version: int = bits(4, 1)
    type: int = bits(4, 1)
    code: int = bits(8)
    session: int = bits(16, 1)
    length_bytes: int | None = computed(16)
    """Everything behind it, the protocol of PPP included."""
    protocol: int | None = names_next(16, Numbers.PPP, 0)

    def completed(self, around: Surroundings) -> Pppoe:
        """Fill in the length."""
        return super().completed(around).filled(length_bytes=_PROTOCOL_BYTES + len(around.inside))
