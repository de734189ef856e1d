"""A frame is a tuple of layers, the outermost first; behind the last one comes what the tester measures with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address
from itertools import takewhile
from typing import TypeVar

from p4mesh.errors import ParameterError
from p4mesh.layers.ethernet import Ethernet
from p4mesh.layers.extension import ExtensionHeader
from p4mesh.layers.gre import Gre
from p4mesh.layers.ipv4 import DONT_FRAGMENT, IPv4
from p4mesh.layers.ipv6 import IPv6
from p4mesh.layers.layer import BAD_CHECKSUM, Layer, Modifiable, Role, Surroundings
from p4mesh.layers.network import NetworkLayer
from p4mesh.layers.udp import Udp
from p4mesh.layers.vlan import Vlan

AnyLayer = TypeVar("AnyLayer", bound=Layer)


@dataclass(frozen=True)
class Frame:
    """Headers of a test frame."""

    layers: tuple[Layer, ...]

    @property
    def header_bytes(self) -> int:
        """Length of all headers."""
        return sum(layer.header_bytes for layer in self.layers)

    @property
    def trailer_bytes(self) -> int:
        """Length of what layers write behind the payload."""
        return sum(layer.trailer_bytes for layer in self.layers)

    @property
    def network(self) -> NetworkLayer | None:
        """The innermost IP layer; None in frames without IP."""
        return next((layer for layer in reversed(self.layers) if isinstance(layer, NetworkLayer)), None)

    @property
    def tunnel(self) -> NetworkLayer | None:
        """The IP layer in front of GRE, whose addresses are the ends of the tunnel."""
        places = [place for place, layer in enumerate(self.layers) if isinstance(layer, Gre)]
        return Frame(self.layers[: places[-1]]).network if places else None

    @property
    def extensions(self) -> tuple[ExtensionHeader, ...]:
        """The extension headers of IPv6 in order."""
        return self.all_of(ExtensionHeader)

    @property
    def vids(self) -> tuple[int, ...]:
        """VLANs of the tags behind the addresses, the outermost first; a frame in a tunnel has its own."""
        tags = takewhile(lambda layer: isinstance(layer, Vlan), self.layers[1:])
        return tuple(tag.vid for tag in tags if isinstance(tag, Vlan))

    @property
    def path(self) -> tuple[Layer, ...]:
        """Headers behind the innermost IPv6 header of which segments are left."""
        behind = self.layers[self.layers.index(self.network) :] if isinstance(self.network, IPv6) else ()
        return tuple(layer for layer in behind if layer.final_destination)

    @property
    def destination_of_path(self) -> IPv6Address | None:
        """Destination of the innermost IPv6 header while segments are left: the given one, else the active one.

        None where none are left, or where their list does not hold the active one.
        """
        given = self.network.destination if isinstance(self.network, IPv6) else None
        return given or self.path[0].active_destination if self.path else None

    def all_of(self, kind: type[AnyLayer]) -> tuple[AnyLayer, ...]:
        """List the layers of a protocol."""
        return tuple(layer for layer in self.layers if isinstance(layer, kind))

    def place_of(self, field: Modifiable) -> int | None:
        """Place of the layer in which a field changes; None where there is no such layer."""
        places = [place for place, layer in enumerate(self.layers) if field.is_of(layer)]
        return places[field.place] if len(places) > max(0, field.place) else None

    def has(self, field: Modifiable) -> bool:
        """Whether there is such a field to change."""
        return self.place_of(field) is not None

    def changed(self, kind: type[Layer], **values: object) -> Frame:
        """Give fields of every layer of a protocol other values."""
        return Frame(tuple(replace(layer, **values) if isinstance(layer, kind) else layer for layer in self.layers))

    def tagged(self, *vids: int, priority: int = 0) -> Frame:
        """Put VLAN tags in front of everything behind the addresses."""
        return Frame((self.layers[0], *(Vlan(priority, vid=vid) for vid in vids), *self.layers[1:]))

    def extended(self, headers: Sequence[ExtensionHeader]) -> Frame:
        """Put extension headers behind IPv6; raises ParameterError for frames without it."""
        if not isinstance(self.network, IPv6):
            raise ParameterError("extension headers without IPv6", hint="use them in IPv6 frames")
        behind = 1 + max(place for place, layer in enumerate(self.layers) if isinstance(layer, IPv6))
        return Frame((*self.layers[:behind], *headers, *self.layers[behind:]))

    def in_tunnel(self, source: IPv4Address, destination: IPv4Address) -> Frame:
        """Put everything behind the Ethernet header into GRE over IPv4, with the same time to live."""
        ttl = self.network.ttl if self.network else IPv4().ttl
        outer = IPv4(flags=DONT_FRAGMENT, ttl=ttl, source=source, destination=destination)
        return Frame((self.layers[0], outer, Gre(), *self.layers[1:]))

    def completed(self, payload: bytes) -> Frame:
        """Fill in every length, checksum and next number."""
        whole: list[Layer] = []
        inside = payload + bytes(self.trailer_bytes)
        # From the inside out: lengths and checksums cover what is inside.
        for place in reversed(range(len(self.layers))):
            following = whole[0] if whole else None
            layer = self.layers[place].completed(Surroundings(self.layers[:place], following, inside))
            whole.insert(0, layer)
            inside = layer.pack() + inside
        return Frame(tuple(whole))

    def write(self, payload: bytes) -> bytes:
        """Write the frame from the destination address on, without FCS; trailers of layers stand behind the payload."""
        layers = self.completed(payload).layers
        headers = [layer.pack() for layer in layers]
        written = b"".join(headers) + payload
        for place, layer in enumerate(layers):
            if layer.trailer_bytes:
                behind = sum(map(len, headers[: place + 1]))
                written += layer.trailer(layers[:place], written[behind:])
        return written

    @classmethod
    def read(cls, data: bytes) -> tuple[Frame, bytes]:
        """Read a frame and what follows its last known layer.

        Fields that hold what follows from the rest are None, as in a frame that is to be written. What is left in one
        of ``wrong_fields`` does not fit, or is a checksum where the tester writes none: of UDP over IPv4.
        """
        layers: list[Layer] = []
        behind: list[bytes] = []
        kind: type[Layer] | None = Ethernet
        while kind and (layer := kind.read(data)):
            layers.append(layer)
            data = data[layer.header_bytes :]
            behind.append(data)
            kind = layer.next_kind(data)
        following = (*layers[1:], None)
        outside = (tuple(layers[:place]) for place in range(len(layers)))
        around = map(Surroundings, outside, following, behind)
        return cls(tuple(map(_without_what_follows, layers, around))), data

    @property
    def wrong_fields(self) -> tuple[str, ...]:
        """Lengths and checksums with a value of their own, such as ``ipv4.checksum``."""
        return tuple(
            f"{layer.kind}.{name}"
            for layer in self.layers
            for name, wire in layer.wires
            if wire.role is Role.COMPUTED and getattr(layer, name) not in (None, BAD_CHECKSUM)
        )

    @property
    def bad_checksums(self) -> tuple[int, ...]:
        """Places of the layers whose checksum is to be wrong."""
        return tuple(
            place
            for place, layer in enumerate(self.layers)
            if any(wire.is_checksum and getattr(layer, name) == BAD_CHECKSUM for name, wire in layer.wires)
        )


TUNNEL_BYTES = IPv4().header_bytes + Gre().header_bytes
"""Bytes that :meth:`Frame.in_tunnel` adds."""
PLAIN = Frame((Ethernet(),))
"""No header but Ethernet's."""
UDP_OVER_IPV4 = Frame((Ethernet(), IPv4(), Udp()))
UDP_OVER_IPV6 = Frame((Ethernet(), IPv6(), Udp()))


def _without_what_follows(layer: Layer, around: Surroundings) -> Layer:
    """Copy a layer that was read with None for lengths, checksums and next numbers that are right.

    A checksum is right where it fits the values that the header has, right or wrong.
    """
    names = [name for name, wire in layer.wires if wire.role in (Role.COMPUTED, Role.NEXT)]
    if not names:
        return layer
    opened = replace(layer, **dict.fromkeys(names))
    whole = opened.completed(around)
    for name in names:
        value = getattr(layer, name)
        if getattr(whole, name) != value:
            opened = replace(opened, **{name: value})
            whole = opened.completed(around)
    return opened
