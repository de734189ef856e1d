"""The family of IPv4 and IPv6: addresses, and the pseudo-header that layers inside sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

from p4mesh.layers.layer import Layer, Surroundings


@dataclass(frozen=True)
class NetworkLayer(Layer, ABC):
    """A layer with the addresses of stations."""

    @property
    @abstractmethod
    def version(self) -> int:
        """4 or 6."""

    @property
    @abstractmethod
    def ttl(self) -> int:
        """Time to live, or hop limit."""

    @property
    @abstractmethod
    def dscp(self) -> int:
        """Differentiated services code point."""

    @abstractmethod
    def pseudo_header(self, protocol: int, length_bytes: int) -> bytes:
        """Bytes that a checksum of a layer inside covers beside its own (RFC 768, RFC 8200 8.1)."""


def network_around(around: Surroundings) -> NetworkLayer | None:
    """Find the innermost IP layer in front of a layer, to the last of the segments that are left."""
    final: dict[str, Any] = {}
    for layer in reversed(around.outside):
        if isinstance(layer, NetworkLayer):
            return replace(layer, **final)
        if layer.final_destination and not final:
            final = {"destination": layer.final_destination}
    return None
