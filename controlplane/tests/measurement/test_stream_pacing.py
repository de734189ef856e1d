"""Pacing errors of streams, by hand from their clocks and their part of the loop."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import pytest

from p4mesh.measurement.stream_pacing import stream_pacing
from p4mesh.tester.pacing import DepartureClock, LoopUse
from p4mesh.tester.plan import Plan

TICK_PS = 2000


def of_stream(origin: int, rate_fps: int, seeds: int, start_error_ticks: Fraction = Fraction(0)) -> Any:
    """A stream of the program that departs every 500.5 ticks, which are 1001 ns."""
    clock = DepartureClock(500, 1 << 31, departures=100, last_slot=0, burst_slots=1)
    stream = SimpleNamespace(rate_fps=Fraction(rate_fps))
    return SimpleNamespace(
        origin=origin, stream=stream, clock=clock, seeds=seeds, start_offset_error_ticks=start_error_ticks
    )


def test_a_stream_of_several_clocks_has_all_of_their_seeds_and_the_worst_of_their_errors() -> None:
    plan = SimpleNamespace(
        names={0: "a", 1: "b"},
        streams=(of_stream(0, 10**6, 3), of_stream(0, 10**6, 2, Fraction(7, 2)), of_stream(1, 999_000, 4)),
        loop_uses=(
            LoopUse(Fraction(800_000), Fraction(1, 4), Fraction(9000)),
            LoopUse(Fraction(700_000), Fraction(1, 8), Fraction(11_000)),
            LoopUse(Fraction(600_000), Fraction(1, 2), Fraction(5000)),
        ),
    )
    first, second = stream_pacing(cast("Plan", plan), TICK_PS)
    assert (first.stream, first.seeds, second.stream, second.seeds) == ("a", 5, "b", 4)
    assert (first.round_ns, first.loop_share_pct, first.departure_error_ns) == (800.0, 37.5, 11.0)
    assert (second.round_ns, second.loop_share_pct, second.departure_error_ns) == (600.0, 50.0, 5.0)
    assert (first.start_offset_error_ns, second.start_offset_error_ns) == (7.0, 0.0)
    assert first.interval_ns == second.interval_ns == 1001.0
    # A frame in 1001 ns is slower than one in 1000 ns, and faster than one in 1001.001 ns.
    assert first.rate_error_ppm == pytest.approx(-1e6 / 1001, rel=1e-12)
    assert second.rate_error_ppm == pytest.approx(1e6 * (1e9 / 1001 / 999_000 - 1), rel=1e-9)
    assert first.rate_step_ppm == pytest.approx(1e6 / 500.5 / 2**32, rel=1e-12)
