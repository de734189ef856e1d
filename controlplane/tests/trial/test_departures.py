"""Departures on ``sim``: as exact as a trial asks for, and what that does to spacing, latency and jitter.

A stream with one seed departs up to a round of the loop late. On a wire, the distance of two frames received is that of
their departures. At the rate of a slower output, what was late once waits in the queue of those behind it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.networks import parsed, switch, wire
from support.runs import measure

from p4mesh.traffic.line_rate import frame_time_ns, rate_at_pct, serialization_ns
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

GIGABIT = 10**9
LATENCY_NS = 500
TICK_NS = 1


def measured(topology: str, size: int, rate_bps: int, load_pct: Fraction, error_ns: int | None) -> TrialResult:
    rate = rate_at_pct(load_pct, size, rate_bps)
    stream = Stream("load", size, rate, 1500, Pairs(), (1,), (2,))
    learning = Learning(enabled="nodes" in topology, wait_ns=10**6)
    spec = TrialSpec("departures", (stream,), int(1500 * 10**9 / rate), learning, 10**6, 0, per_flow=True)
    (result,) = measure(parsed(topology), replace(spec, departure_error_ns=error_ns))
    assert (result.status, result.reason, result.lost_frames) == (Verdict.MEASURED, "", 0)
    return result


@pytest.mark.parametrize(
    ("rate_bps", "size", "wanted_ns", "reached_ns"),
    [(GIGABIT, 64, 20, 20), (GIGABIT, 1518, 20, 37.2), (100 * GIGABIT, 9216, 20, 196.9), (10**7, 512, 40, 40)],
)
@pytest.mark.parametrize("load_pct", [Fraction("13.7"), Fraction("61.3")])
def test_no_departure_is_later_than_said(
    rate_bps: int, size: int, wanted_ns: int, reached_ns: float, load_pct: Fraction
) -> None:
    interval_ns = float(frame_time_ns(size, rate_bps) * 100 / load_pct)
    lateness = {}
    for error_ns in (None, wanted_ns):
        result = measured(wire(rate_bps), size, rate_bps, load_pct, error_ns)
        (paced,) = result.pacing
        spacing_ns = next(port.min_spacing_ns for port in result.ports if port.port == 2)
        assert spacing_ns is not None
        lateness[error_ns] = interval_ns - spacing_ns
        assert -TICK_NS <= lateness[error_ns] <= paced.departure_error_ns + TICK_NS
    assert paced.departure_error_ns <= reached_ns + 0.1, "of the finer one"
    if rate_bps <= GIGABIT:
        assert lateness[None] > 2 * lateness[wanted_ns]


@pytest.mark.parametrize("size", [64, 512, 1518])
def test_latency_from_a_fast_port_to_a_slow_one_at_its_rate_is_that_of_the_device(size: int) -> None:
    """Nothing waits but what departs late: latency and jitter are above the closed form by that at most."""
    topology = switch(f"latency_ns: {LATENCY_NS}", rates_bps=(10 * GIGABIT, GIGABIT))
    fine, coarse = (
        measured(topology, size, GIGABIT, Fraction(100), error_ns).flows[0].latency for error_ns in (20, None)
    )
    assert fine is not None and coarse is not None
    # First bit in to first bit out of a device that stores the frame.
    expected_ns = LATENCY_NS + float(serialization_ns(size, 10 * GIGABIT))
    error_ns = {64: 20, 512: 20, 1518: 37.2}[size]
    assert expected_ns - TICK_NS <= fine.min_ns and fine.max_ns <= expected_ns + error_ns + 2 * TICK_NS
    assert fine.jitter_max_ns <= error_ns
    assert coarse.max_ns > expected_ns + 300 and coarse.jitter_max_ns > 200
