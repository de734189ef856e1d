"""Groups that have a counter on each port instead of a cell: frames sent to them, and frames received by each port."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from p4mesh.tester.plan import CountedGroups, Plan
from p4mesh.tester.reading import Reading


@dataclass(frozen=True)
class GroupFrames:
    """Matrices over the ports on which groups are counted and the groups of a transmitter."""

    groups: CountedGroups
    ports: tuple[int, ...]
    sent: np.ndarray[Any, Any]
    expected: np.ndarray[Any, Any]
    """Whether a port is to receive a group."""
    received: np.ndarray[Any, Any]


def group_frames(plan: Plan, reading: Reading) -> Iterator[GroupFrames]:
    """Yield the counts of each transmitter."""
    if reading.groups is None:
        return
    places = {port: place for place, port in enumerate(plan.counted_ports)}
    for counted in plan.counted:
        numbers = slice(counted.first, counted.first + len(counted.destinations))
        expected = np.zeros((len(places), len(counted.destinations)), dtype=bool)
        members: dict[tuple[int, ...], list[int]] = {}
        for group, destination in enumerate(counted.destinations):
            members.setdefault(destination.ports, []).append(group)
        for ports, groups in members.items():
            rows = [places[port] for port in ports if port != counted.tx_port]
            expected[np.ix_(rows, groups)] = True
        sent = np.broadcast_to(reading.records["flow_sequence"][numbers].astype(np.int64), expected.shape)
        yield GroupFrames(counted, plan.counted_ports, sent, expected, reading.groups[: len(places), numbers])
