"""A wire at 1 to 400 Gbit/s carries line rate to one frame in the trial, at every size of the line-rate table."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from support.networks import parsed, wire

from p4mesh.traffic.line_rate import max_rate_fps, tx_frames
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

VECTORS = json.loads((Path(__file__).parents[1] / "fixtures" / "line_rate_vectors.json").read_text())
RATES = (10**9, 10**10, 25 * 10**9, 40 * 10**9, 10**11, 4 * 10**11)
SIZES = sorted({vector["frame_size_B"] for vector in VECTORS})
FRAMES = 2000


# Twice the rate for the loop, so that a seed is always there when a frame is due.
@pytest.mark.parametrize("rate_bps", RATES, ids=lambda rate: f"{rate // 10**9}G")
def test_line_rate_to_one_frame_at_every_size(rate_bps: int) -> None:
    published = {v["frame_size_B"]: v["frames_per_s"] for v in VECTORS if v["line_rate_bps"] == rate_bps}
    topology = parsed(wire(rate_bps, 5, tester="clock_tick_ps: 10, loop: {rate_bps: 400000000000, latency_ns: 400}"))
    with open_measurer(topology) as measurer:
        for size in SIZES:
            fps = max_rate_fps(size, rate_bps)
            duration_ns = int(FRAMES * 10**9 / fps)
            stream = Stream("wire", size, fps, tx_frames(duration_ns, fps), Pairs(), (1,), (2,))
            spec = TrialSpec(f"{size} B", (stream,), duration_ns, Learning(enabled=False), 0, 0, per_flow=True)
            result = measurer.measure(spec)
            assert (result.status, result.lost_frames) == (Verdict.MEASURED, 0), f"{size} B: {result.reason}"
            span_ns = result.last_tx_ns - result.first_tx_ns
            measured = (result.tx_frames - 1) * Fraction(duration_ns, span_ns)
            assert abs(float(measured) - published[size] * duration_ns / 10**9) <= 1, size
            # A frame in 2000 is coarse: the receiver sees every distance, to the tick of 10 ps, and their sum.
            slot_ns = 8 * (size + 20) * 10**9 / rate_bps
            assert float(fps) == pytest.approx(published[size], abs=0.006)
            assert result.ports[1].min_spacing_ns == pytest.approx(slot_ns, abs=0.015), size
            (flow,) = result.flows
            late_ns = 1 + result.pacing[0].departure_error_ns
            assert flow.last_rx_ns - flow.first_rx_ns == pytest.approx((flow.rx_frames - 1) * slot_ns, abs=late_ns), (
                size
            )
