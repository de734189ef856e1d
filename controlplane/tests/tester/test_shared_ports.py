"""Cells and counters of frames to many: closed forms of how many flows have cells, and of who owns which address."""

from __future__ import annotations

from fractions import Fraction

import pytest

from p4mesh.layers import ethernet
from p4mesh.tester.shared_ports import CounterRoom, SharedPorts, shared_macs, shared_ports
from p4mesh.traffic.patterns import GroupRange, Multicast, Pairs
from p4mesh.traffic.stream import FieldModifier, Progression, Stream


def to_groups(count: int, tx: tuple[int, ...] = (1,), first: str = "225.0.0.1", **more: object) -> Stream:
    pattern = Multicast((GroupRange(first, count, (2, 3)),))
    return Stream("many", 128, Fraction(1000), 10, pattern, tx, (2, 3), **more)  # type: ignore[arg-type]


UNICAST = Stream("one", 128, Fraction(1000), 10, Pairs(), (4, 5), (5, 4))
PORTS = (1, 2, 3)
CHANGING = FieldModifier(ethernet.DESTINATION, Progression(2))
WHOLE, COUNTED = False, True


@pytest.mark.parametrize(
    ("streams", "room", "expected"),
    [
        # Four groups on three ports, and two flows of pairs: 4 + 2 * 4 + 2 cells.
        ((UNICAST, to_groups(4)), (14, 99, 99), SharedPorts(PORTS, 4)),
        ((UNICAST, to_groups(4)), (13, 99, 99), SharedPorts(PORTS, 3, COUNTED, 4)),
        ((to_groups(4),), (13, 99, 99), SharedPorts(PORTS, 4)),
        # Three cells on each port; without cells for the first, the address of the next one ends with more zeros.
        ((to_groups(4),), (11, 4, 3), SharedPorts(PORTS, 3, COUNTED, 4)),
        ((to_groups(4),), (11, 3, 3), SharedPorts(PORTS, 4)),
        ((to_groups(4),), (11, 4, 2), SharedPorts(PORTS, 4)),
        # Up to six have cells, at least four: 225.0.0.6, .7 and .5 follow; the first ends with the most zeros.
        ((to_groups(8),), (20, 99, 99), SharedPorts(PORTS, 5, COUNTED, 8)),
        ((to_groups(9),), (26, 99, 99), SharedPorts(PORTS, 7, COUNTED, 9)),
        ((to_groups(9, first="225.0.0.2"),), (26, 99, 99), SharedPorts(PORTS, 6, COUNTED, 9)),
        ((to_groups(4),), (2, 99, 99), SharedPorts(PORTS, 0, COUNTED, 4)),
        # Two sources, or addresses that change: a group's address does not tell its cell.
        ((to_groups(4, (1, 4)),), (31, 99, 99), SharedPorts((1, 2, 3, 4), 0, COUNTED, 8)),
        ((to_groups(4, (1, 4)),), (32, 99, 99), SharedPorts((1, 2, 3, 4), 4)),
        ((to_groups(4, modifiers=(CHANGING,)),), (11, 99, 99), SharedPorts(PORTS, 0, COUNTED, 4)),
        ((to_groups(4, received_in_tunnel=True),), (11, 99, 99), SharedPorts(PORTS, 4)),
        ((UNICAST,), (1, 99, 99), SharedPorts((), 1)),
    ],
)
def test_groups_have_cells_as_far_as_there_are_and_counters_behind(
    streams: tuple[Stream, ...], room: tuple[int, int, int], expected: SharedPorts
) -> None:
    assert shared_ports(streams, CounterRoom(*room)) == expected


APART, PAIRED = ("225.0.0.1", 2), (("225.1.1.1", 1), ("225.129.1.1", 1))


@pytest.mark.parametrize(
    ("ranges", "most", "measured"),
    [
        ((APART, *PAIRED, ("225.0.0.9", 4)), 3, 2),
        ((APART, *PAIRED, ("225.0.0.9", 4)), 7, 7),
        ((APART, *PAIRED, ("225.0.0.9", 4)), 1, 1),
        ((PAIRED[0], ("225.0.0.1", 3), PAIRED[1]), 3, 0),
    ],
)
def test_groups_with_one_address_have_cells_together_or_none(
    ranges: tuple[tuple[str, int], ...], most: int, measured: int
) -> None:
    """225.1.1.1 and 225.129.1.1 have one: of the first groups, up to ``most`` and more than half of it, no end may be
    between the two."""
    groups = tuple(GroupRange(first, count, (2, 3)) for first, count in ranges)
    stream = Stream("many", 128, Fraction(1000), 10, Multicast(groups), (1,), (2, 3))
    assert shared_ports((stream,), CounterRoom(3 * most, 99, 99)).flows == measured


def test_addresses_of_groups_with_cells_and_of_counted_ones() -> None:
    """Three of six numbers have cells: those of the source of two groups, and one of the first of two more sources."""
    streams = (UNICAST, to_groups(2), UNICAST, to_groups(2, (4, 5), "225.0.1.1"))
    macs, own = ([first, first + 1] for first in (0x01005E000001, 0x01005E000101))
    cells, counted = shared_macs(streams, SharedPorts(PORTS, 3, COUNTED, 6))
    assert cells == ({*macs, own[0]}, False)
    assert counted == (set(own), True)
