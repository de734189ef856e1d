"""Frames of fast trials leave as frames of XDP: the program counts the same of them as of those that leave by rings."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest
from support.linux_devices import needs_root, valid

from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
WIRE = """
name: wire
tester: {{ports: [{{numbers: 1-2, rate_bps: 10000000000}}], live: {{access: {access}}}}}
links: [{{from: "tester:1", to: "tester:2"}}]
"""
FRAMES, FAST_FPS = 20_000, 120_000


@pytest.mark.parametrize("size", [64, 65, 1518])
def test_the_program_counts_the_same_as_with_rings(size: int) -> None:
    """Method: both ports send; every payload is checked as it arrives, every number in its order."""
    counted = {}
    for access in ("best", "af_xdp"):
        with open_measurer(parse_topology("wire", WIRE.format(access=access)), "live") as measurer:
            sends_xdp = any("frames of XDP" in fact for fact in measurer.facts())
            if access == "best" and not sends_xdp:
                pytest.skip("this kernel sends no frames of XDP from a process")
            assert sends_xdp == (access == "best")
            stream = Stream("both", size, Fraction(FAST_FPS), FRAMES, FullMesh(), (1, 2), (1, 2))
            spec = TrialSpec("both", (stream,), 10**9, Learning(wait_ns=10**8), 3 * 10**8, 0, per_flow=True)
            result = valid(partial(measurer.measure, spec))
        assert (result.lost_frames, result.corrupted_frames) == (0, 0)
        counted[access] = [
            (it.tx_port, it.rx_port, it.tx_frames, it.rx_frames, it.duplicate_frames, it.reordered_frames)
            for it in result.flows
        ]
    assert counted["best"] == counted["af_xdp"]
    assert counted["best"] == [(1, 2, FRAMES, FRAMES, 0, 0), (2, 1, FRAMES, FRAMES, 0, 0)]
