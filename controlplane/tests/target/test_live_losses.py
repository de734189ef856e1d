"""Frames that the kernel drops between program and cables are the tester's losses, but for those without a link."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from support.networks import shipped

from p4mesh.target.live import LiveTarget


@pytest.mark.parametrize(("cable_ns", "refused"), [(0.0, 3), (800.0, 0)])
def test_drops_count_while_all_links_are_up(cable_ns: float, refused: int) -> None:
    """Closed form: of 5, 7, 11 and 13 drops, the second and third are at a link that is down or has been.

    For each, three frames are refused as well, by a driver or by the far end of a virtual cable.
    """
    state = SimpleNamespace(dropped=100, up=True, changes=0)
    switch: Any = SimpleNamespace(counters=lambda: {"drop_no_room": state.dropped, "drop_refused": 3 * state.dropped})
    network: Any = SimpleNamespace(carriers=lambda: {1: (state.up, state.changes), 2: (True, 0)})
    target = LiveTarget(shipped("bridge-4x10m"), "", network, [switch, switch], cable_ns)
    before = target.drop_counts()["the kernel"]
    counted = []
    for dropped, up, changes in ((5, True, 0), (7, False, 1), (11, True, 1), (13, True, 1)):
        state.dropped, state.up, state.changes = state.dropped + dropped, up, changes
        counted.append(target.drop_counts()["the kernel"] - before)
    # Two switches have dropped as many each.
    each = 2 * (1 + refused)
    assert counted == [5 * each, 5 * each, 5 * each, (5 + 13) * each]
