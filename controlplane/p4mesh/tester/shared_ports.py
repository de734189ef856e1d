"""Ports that receive frames addressed to many: their flows with cells, and those that are counted alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from p4mesh.tester.stations import changes_of_destination, destinations_of
from p4mesh.traffic.stream import Stream


@dataclass(frozen=True)
class CounterRoom:
    """Counts of a program beside its flows: groups on each of some ports; empty on programs without these counters."""

    flows: int
    """Cells of flows; counters of groups follow them."""
    groups: int
    ports: int


@dataclass(frozen=True)
class SharedPorts:
    """The ports, in one order for all streams, and where their flows lie.

    On each port a flow number n of a frame to many leads to cell ``n + place * flows``. Where that is more than there
    are cells, numbers from ``flows`` on lead to counter ``n + place * groups`` instead.
    """

    ports: tuple[int, ...]
    flows: int
    counts: bool = False
    """Whether flow numbers from ``flows`` on are counted."""
    numbers: int = 0
    """Flow numbers of all groups where some are counted; they are the first ones."""

    @property
    def cells(self) -> int:
        """First cell behind those of frames to many, where some of these are counted."""
        return max(self.numbers, len(self.ports) * self.flows) if self.counts else 0


def shared_ports(streams: Sequence[Stream], room: CounterRoom) -> SharedPorts:
    """Lays out the ports of streams to many, with counters where the cells do not suffice and the counters do."""
    many = [stream for stream in streams if stream.pattern.to_many]
    ports = tuple(sorted({port for stream in many for port in (*stream.rx_ports, *stream.tx_ports)}))
    positions = [count for stream in many for count in _positions(stream)]
    whole = SharedPorts(ports, max(positions, default=1))
    others = sum(count for stream in streams if not stream.pattern.to_many for count in _positions(stream))
    cells = others + sum(count + (len(ports) - 1) * whole.flows for count in positions)
    numbers = sum(positions)
    if cells <= room.flows or not many or numbers > room.groups or len(ports) > room.ports:
        return whole
    if any(stream.received_in_tunnel for stream in many):
        # Groups in a tunnel come to one address: which of them are counted cannot be told by it.
        return whole
    # Cells of flows are told from counters by the address of the group.
    if len(positions) > 1 or changes_of_destination(many[0]):
        return SharedPorts(ports, 0, counts=True, numbers=numbers)
    measured = _measured(many[0], (room.flows - others) // len(ports))
    return SharedPorts(ports, measured, counts=True, numbers=numbers)


def shared_macs(streams: Sequence[Stream], shared: SharedPorts) -> Iterator[tuple[set[int], bool]]:
    """Yield the addresses of groups with cells, and of those that are counted."""
    number = 0
    cells: set[int] = set()
    counted: set[int] = set()
    for stream in streams:
        if not stream.pattern.to_many:
            continue
        stations = destinations_of(stream)
        for source in range(len(stream.tx_ports)):
            places = stream.pattern.places(stream, source)
            for position in range(places.positions):
                kept = cells if number < shared.flows else counted
                kept.add(int.from_bytes(stations[places.at(position)].mac, "big"))
                number += 1
    yield cells, False
    yield counted, True


def _positions(stream: Stream) -> list[int]:
    return [stream.pattern.places(stream, source).positions for source in range(len(stream.tx_ports))]


def _measured(stream: Stream, most: int) -> int:
    """Number of the first groups that have cells: up to ``most``, so that few blocks of addresses cover both parts.

    Groups that share an address with one that is counted have no cells either.
    """
    macs = [int.from_bytes(station.mac, "big") for station in destinations_of(stream)]
    # Groups follow each other: few blocks begin where the address of the first counted one ends with many zeros.
    several = len(macs) != len(set(macs))
    apart = (count for count in range(most, most // 2, -1) if not (several and _shares_address(macs, count)))
    return max(apart, key=lambda count: macs[count] & -macs[count], default=0)


def _shares_address(macs: Sequence[int], count: int) -> bool:
    """Whether a group from ``count`` on has the address of one before it; only groups 2^23 apart do (RFC 1112 6.4)."""
    return not set(macs[:count]).isdisjoint(macs[count:])
