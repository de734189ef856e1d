"""The family of extension headers of IPv6 (RFC 8200 4)."""

from __future__ import annotations

from dataclasses import dataclass

from p4mesh.errors import ParameterError
from p4mesh.layers.ipv6 import NO_NEXT_HEADER
from p4mesh.layers.layer import AnyLayer, Layer, Numbers, Surroundings, all_layers, computed, names_next

UNIT_BYTES = 8


@dataclass(frozen=True)
class ExtensionHeader(Layer):
    """A header between IPv6 and what it carries."""


def extension_kinds() -> tuple[str, ...]:
    """List the names of the extension headers."""
    return tuple(layer.kind for layer in all_layers() if issubclass(layer, ExtensionHeader))


def extension_of(kind: str) -> ExtensionHeader:
    """Build the extension header of a name with its usual values; raises ValueError for a name that is none."""
    header = Layer.of_kind(kind)()
    if not isinstance(header, ExtensionHeader):
        raise ValueError(f"{kind} is no extension header")
    return header


@dataclass(frozen=True)
class CountedHeader(ExtensionHeader):
    """An extension header that says how long it is, in units of 8 bytes without the first."""

    next_header: int | None = names_next(8, Numbers.IP_PROTOCOL, NO_NEXT_HEADER)
    length_units: int | None = computed(8)

    def __post_init__(self) -> None:
        """Refuse a length that is no number of units."""
        super().__post_init__()
        if self._tail and self.header_bytes % UNIT_BYTES:
            raise ParameterError(
                f"{self.kind}: a header of {self.header_bytes} bytes", hint=f"use a multiple of {UNIT_BYTES} bytes"
            )

    def tail_bytes(self) -> int:
        """Everything behind the fixed fields."""
        return UNIT_BYTES * (1 + (self.length_units or 0)) - self.fixed_bytes

    def completed(self: AnyLayer, around: Surroundings) -> AnyLayer:
        """Fill in the length of the header."""
        return super().completed(around).filled(length_units=self.header_bytes // UNIT_BYTES - 1)
