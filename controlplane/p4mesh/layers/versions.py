"""The IP layer behind a header that names none: the first four bits of IP are its version."""

from __future__ import annotations

from p4mesh.layers.ipv4 import IPv4
from p4mesh.layers.ipv6 import IPv6
from p4mesh.layers.layer import Layer

_VERSIONS: dict[int, type[Layer]] = {4: IPv4, 6: IPv6}


def ip_of(inside: bytes) -> type[Layer] | None:
    """Find the IP layer that ``inside`` begins with."""
    return _VERSIONS.get(inside[0] >> 4) if inside else None
