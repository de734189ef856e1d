"""Generic routing encapsulation (RFC 2784) with key and sequence number (RFC 2890), without checksum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.ethernet import TEST_ETHERTYPE
from p4mesh.layers.layer import Layer, Numbers, Surroundings, bits, computed, names_next, optional


@dataclass(frozen=True)
class Gre(Layer):
    """A header of 4 bytes, and of 4 more for a key and for a sequence number."""

    kind: ClassVar[str] = "gre"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: 47}
    checksum_present: int | None = computed(1)
    routing_present: int = bits(1)
    key_present: int | None = computed(1)
    sequence_present: int | None = computed(1)
    flags: int = bits(9)
    version: int = bits(3)
    protocol: int | None = names_next(16, Numbers.ETHERTYPE, TEST_ETHERTYPE)
    key: int | None = optional(32, "key_present")
    sequence: int | None = optional(32, "sequence_present")
    """Number of every frame: the data plane does not count in it."""

    def completed(self, around: Surroundings) -> Gre:
        """Say that there is no checksum: receivers would take the next header for one."""
        return super().completed(around).filled(checksum_present=0)
