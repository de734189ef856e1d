"""Fragment header of IPv6 (RFC 8200 4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.extension import ExtensionHeader
from p4mesh.layers.ipv6 import NO_NEXT_HEADER
from p4mesh.layers.layer import Numbers, bits, names_next


@dataclass(frozen=True)
class Fragment(ExtensionHeader):
    """A fragment header; its usual values are those of a packet that is whole (RFC 6946)."""

    kind: ClassVar[str] = "fragment"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: 44}
    next_header: int | None = names_next(8, Numbers.IP_PROTOCOL, NO_NEXT_HEADER)
    reserved: int = bits(8)
    offset: int = bits(13, leads_on=True)
    reserved_bits: int = bits(2)
    more_fragments: int = bits(1, leads_on=True)
    identification: int = bits(32, 1)

    @property
    def is_fragment(self) -> bool:
        """Whether it carries a part of a packet."""
        return bool(self.offset or self.more_fragments)
