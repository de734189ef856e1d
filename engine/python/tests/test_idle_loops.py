"""Slow streams cost little: passes of a seed between two departures are not executed one by one."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path

import pytest

from p4mesh.topology.loader import load_topology
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

_TOPOLOGY = Path(__file__).parents[3] / "topologies" / "wrs-18x1g.yaml"
_NS = 1_000_000_000


@pytest.mark.parametrize("rate_fps", [1, 20])
def test_a_trial_of_a_hundred_seconds_takes_less_than_two(rate_fps: int) -> None:
    ports = tuple(range(1, 19))
    frames = 100 * rate_fps
    stream = Stream("slow", 64, Fraction(rate_fps), frames, FullMesh(), ports, ports)
    spec = TrialSpec("slow", (stream,), 100 * _NS, Learning(rate_fps=20, verify=True))
    with open_measurer(load_topology(_TOPOLOGY)) as measurer:
        start = time.process_time()
        result = measurer.measure(spec)
        seconds = time.process_time() - start
    # Processor time, for other work on the machine counts in wall time.
    assert seconds < 2, f"{seconds:.1f} s"
    assert result.tx_frames == result.rx_frames == 18 * frames
