"""Arrivals that are not evenly spaced leave interfaces of the kernel as their schedule says, and are measured there."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.linux_devices import TARGETS, needs_root, shipped_on, valid

from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.arrivals import OnOff, Poisson, Recorded
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
FRAMES, RATE_FPS = 200, Fraction(400)
LATE_NS, PAUSE_NS = 10**8, 5 * 10**6
"""Start of a stream after the others, and how long a busy machine may hold a departure up."""
ARRIVALS: tuple[Poisson | OnOff | Recorded, ...] = (Poisson(1), OnOff(Fraction(1, 4), 5), Recorded((1, 1, 8)))


@pytest.mark.parametrize("target", TARGETS)
def test_every_time_between_frames_is_counted_at_both_sides(target: str) -> None:
    """Goal: the offered load is the intended one, as the trial is valid; nothing is missing, so all times are known.

    Means are those of the rate within their errors, and a stream with a start offset begins so much later.
    """
    late = Stream("late", 128, RATE_FPS, FRAMES, Pairs(), (1,), (2,), start_offset_ns=(LATE_NS,))
    streams = tuple(
        Stream(f"s{place}", 128, RATE_FPS, FRAMES, Pairs(), (1,), (2,), arrivals=arrivals)
        for place, arrivals in enumerate(ARRIVALS)
    )
    per_flow = HistogramPer.FLOW
    with open_measurer(shipped_on("back-to-back"), target) as measurer:
        spec = TrialSpec(
            "all",
            (*streams, late),
            5 * 10**8,
            Learning(enabled=False),
            3 * 10**8,
            0,
            per_flow=True,
            interarrival=per_flow,
        )
        result = valid(lambda: measurer.measure(spec))
    assert [flow.rx_frames for flow in result.flows] == [FRAMES] * len(spec.streams)
    assert len(result.interarrival) == len(spec.streams)
    for found in result.interarrival:
        assert found.departures is not None
        for times in (found.arrivals, found.departures):
            assert times.count == FRAMES - 1
            assert times.mean_ns == pytest.approx(float(10**9 / RATE_FPS), abs=times.mean_error_ns)
    *_, replayed, last = result.flows
    assert last.first_rx_ns - replayed.first_rx_ns == pytest.approx(LATE_NS, abs=PAUSE_NS)
