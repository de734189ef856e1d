"""The lowest loads of a search, on simulated devices of a known capacity."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest
from support.networks import parsed, switch
from support.runs import run_on_sim

from p4mesh.methods.results.outcome import Cell
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.traffic.line_rate import max_rate_fps


def searched(carried_pct: str, *settings: str) -> dict[str, Cell]:
    """The row of a throughput search on a device that carries so much of two lines."""
    capacity_fps = 2 * max_rate_fps(64, 10**9) * Fraction(carried_pct) / 100
    device = switch(f"lookup: {{capacity_fps: {ceil(capacity_fps)}}}", ports=2)
    quick = ("scaled_frames=5000", "confirm_factor=1")
    _, outcome, _ = run_on_sim(Throughput(), parsed(device), (64,), *quick, *settings)
    (row,) = outcome.tables[0].rows
    return row


@pytest.mark.parametrize("method", ["bisect", "guided", "bisect_verified", "combo"])
def test_a_device_that_carries_only_the_minimum_passes_there(method: str) -> None:
    """Goal: the minimum of 0.1 % is tried, though 0.1975 %, within the resolution of it, is more than 0.15 %."""
    row = searched("0.15", f"search_method={method}")
    assert (row["state"], row["upper_pct"]) == ("MEASURED", pytest.approx(0.1975, abs=0.06))
    assert 0.1 <= row["throughput_pct"] <= 0.15 < row["upper_pct"]


def test_a_resolution_as_wide_as_the_range_ends_at_the_minimum() -> None:
    row = searched("45", "search_method=bisect", "search_resolution_pct=50", "search_min_pct=30")
    assert (row["state"], row["throughput_pct"], row["upper_pct"]) == ("MEASURED", 30, 50)


def test_a_device_that_carries_less_than_the_minimum_fails_there() -> None:
    row = searched("0.09", "search_method=bisect")
    assert (row["state"], row["throughput_pct"], row["tried_pct"]) == ("FAIL", None, 0.1)


@pytest.mark.parametrize("carried_pct", ["0.15", "0.09"])
def test_low_loads_of_mlrsearch_have_as_many_frames_as_high_ones(carried_pct: str) -> None:
    """Goal: five frames of a load that is twice the capacity say nothing, because all of them fit in a queue."""
    row = searched(carried_pct, "search_method=mlr", "mlr_trials=1", "mlr_width_pct=10")
    if carried_pct == "0.09":
        assert row["state"] == "FAIL"
    else:
        assert 0.135 <= row["throughput_pct"] <= 0.1502 < row["upper_pct"] <= 0.165
