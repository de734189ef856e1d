"""Defines a traffic pattern: its destination list, and how each source goes through it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import ClassVar, Protocol

from p4mesh.layers import Frame

USUAL_GROUP = "225.1.1.1"


class Ports(Protocol):
    """The ports that a pattern is laid over, in configuration order: a stream, or a leg of a mesh."""

    @property
    def tx_ports(self) -> tuple[int, ...]:
        """Ports that send; a source is a place in this list, from 0."""

    @property
    def rx_ports(self) -> tuple[int, ...]:
        """Ports that receive."""


class Carrier(Ports, Protocol):
    """The part of a stream that its pattern reads; :class:`p4mesh.traffic.stream.Stream` has all of it."""

    @property
    def name(self) -> str:
        """Name of the stream, for messages."""

    @property
    def rate_fps(self) -> Fraction:
        """Frames per second of each transmit port."""

    @property
    def frame_count(self) -> int:
        """Frames of each transmit port."""

    @property
    def burst_frames(self) -> int:
        """Frames of a burst; 1 without bursts."""

    @property
    def frame(self) -> Frame:
        """Headers of its frames."""

    @property
    def start_offset_ns(self) -> tuple[int, ...]:
        """Start offset of each transmit port; empty = all 0."""


@dataclass(frozen=True)
class SharedAddress:
    """An address that several ports receive: of a broadcast, or of a multicast group."""

    mac: bytes
    ipv4: IPv4Address
    ipv6: IPv6Address


@dataclass(frozen=True)
class Destination:
    """One entry of a destination list."""

    ports: tuple[int, ...]
    """Ports that are to receive a frame that is sent there, the source left out."""
    shared: SharedAddress | None = None
    """None: the address of the one port."""
    part: str = ""
    """Name that distinguishes these frames from others between the same two ports, such as a group or positions in a
    message; empty where there is only one kind."""


@dataclass(frozen=True)
class Places:
    """Path of one source through the destination list: frame k goes to the place of position ``k mod positions``."""

    first: int
    positions: int
    """Number of different positions; each is a flow of its own."""
    length: int
    """Number of entries of the list; place = first + position, less the length where that is reached."""

    def at(self, position: int) -> int:
        """Place in the list of a position."""
        place = self.first + position
        return place - self.length if place >= self.length else place


class Pattern(ABC):
    """A traffic pattern. Subclasses are frozen dataclasses, so that equal patterns are equal values."""

    kind: ClassVar[str]
    """Name in topologies, in parameters and in stored trials."""
    to_many: ClassVar[bool] = False
    """Whether a frame is expected on several ports."""
    in_step: ClassVar[bool] = True
    """Whether all ports are to start together where no offsets are asked for."""
    _kinds: ClassVar[dict[str, type[Pattern]]] = {}

    def __init_subclass__(cls) -> None:
        """Make the pattern known by its name."""
        if "kind" in cls.__dict__:
            Pattern._kinds[cls.kind] = cls

    @staticmethod
    def of_kind(kind: str) -> type[Pattern]:
        """Pattern of a name; raises ValueError for an unknown one."""
        if kind not in Pattern._kinds:
            raise ValueError(f"no pattern '{kind}'; valid: {', '.join(sorted(Pattern._kinds))}")
        return Pattern._kinds[kind]

    @abstractmethod
    def destinations(self, ports: Ports) -> tuple[Destination, ...]:
        """Destination list, one for all sources."""

    @abstractmethod
    def places(self, ports: Ports, source: int) -> Places:
        """Path of a source through the destination list."""

    def flows(self, ports: Ports, source: int) -> tuple[Destination, ...]:
        """Destinations of the flows of a source, in the order of their positions."""
        listed = _listed(self, ports.tx_ports, ports.rx_ports)
        places = self.places(ports, source)
        first = places.at(0)
        behind = first + places.positions
        # At the end of the list it begins anew.
        return listed[first : min(behind, places.length)] + listed[: max(0, behind - places.length)]

    def expected_ports(self, ports: Ports, source: int, k: int) -> tuple[int, ...]:
        """Ports that are to receive frame ``k`` = 0, 1, 2, ... of a source."""
        places = self.places(ports, source)
        found = _listed(self, ports.tx_ports, ports.rx_ports)[places.at(k % places.positions)].ports
        return _others(found, ports.tx_ports[source]) if self.to_many else found

    def receivers(self, ports: Ports, source: int) -> tuple[int, ...]:
        """Ports that are to receive any frame of a source, in the order of the receive ports."""
        found = {port for flow in self.flows(ports, source) for port in flow.ports}
        return tuple(port for port in ports.rx_ports if port in found and port != ports.tx_ports[source])

    def check(self, stream: Carrier) -> None:  # noqa: B027 - most patterns take any stream
        """Raise ParameterError when the stream does not fit the pattern."""

    @property
    def sent_as(self) -> Pattern:
        """Pattern that the tester sends for this one."""
        return self

    def start_offsets_ns(self, stream: Carrier) -> tuple[int, ...]:
        """Start offset of each transmit port with this pattern; empty = all 0."""
        return stream.start_offset_ns

    def for_each_address(self) -> Pattern | None:
        """Pattern whose first frames reach every receiver, one each; None where frames are for many."""
        return None if self.to_many else self

    @property
    def frames_together(self) -> int:
        """Frames that leave as a unit: a source may begin at a multiple of this number alone."""
        return 1

    @property
    def first_group(self) -> str:
        """First multicast group; the usual one for patterns without groups."""
        return USUAL_GROUP


@dataclass(frozen=True)
class _Laid:
    tx_ports: tuple[int, ...]
    rx_ports: tuple[int, ...]


@lru_cache(maxsize=64)
def _listed(pattern: Pattern, tx_ports: tuple[int, ...], rx_ports: tuple[int, ...]) -> tuple[Destination, ...]:
    return pattern.destinations(_Laid(tx_ports, rx_ports))


def _others(ports: tuple[int, ...], source: int) -> tuple[int, ...]:
    return tuple(port for port in ports if port != source)
