"""Streams that are faster than the recirculation loop: refused on sim and chips, not delivered by software."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.networks import TOPOLOGIES

from p4mesh.errors import LoopOverloadError
from p4mesh.topology.loader import load_topology
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

FPS = 14_880


def spec(rate_fps: int) -> TrialSpec:
    streams = tuple(
        Stream(f"pair {tx}", 64, Fraction(rate_fps), 20, Pairs(), (tx,), (rx,)) for tx, rx in ((1, 2), (3, 4))
    )
    return TrialSpec("slow loop", streams, 10**9 * 20 // rate_fps, Learning(enabled=False), 10**6, 0)


def test_a_load_above_the_loop_is_not_delivered_where_time_is_real(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = load_topology(TOPOLOGIES / "bridge-4x10m.yaml")
    slow = replace(topology, loop=replace(topology.loop, rate_bps=10_000_000))
    with open_measurer(slow) as measurer:
        with pytest.raises(LoopOverloadError, match="not supported on sim: the streams need"):
            measurer.measure(spec(FPS))
        target = measurer.tester.target
        monkeypatch.setattr(target, "capabilities", replace(target.capabilities, real_time=True))
        result = measurer.measure(spec(FPS))
        assert result.status is Verdict.INVALID and result.undelivered
        assert result.reason.startswith("oload_mismatch: the streams need ") and result.tx_frames == 0
        monkeypatch.undo()
        assert measurer.measure(spec(FPS // 10)).rx_frames == 40
