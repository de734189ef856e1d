"""The errors of averages, percentiles and jitter contain the resolution of the time stamps.

Method: a wire whose latency is no whole number of ticks. At a load whose frames have one phase to the clock, all stamps
are wrong by the same; at others they are wrong by more or less.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.networks import parsed, wire
from support.runs import run_on_sim

from p4mesh.methods.rfc2544.latency import Latency

QUICK = ("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1", "scaled_frames=400")
PS_PER_US = 1_000_000


@pytest.mark.parametrize("load_pct", [100, 99])
@pytest.mark.parametrize("latency_ns", [5.4, 5.9, 10.0])
@pytest.mark.parametrize("tick_ps", [1000, 10_000, 100_000])
def test_the_errors_of_a_wire_contain_its_latency(tick_ps: int, latency_ns: float, load_pct: int) -> None:
    topology = parsed(wire(latency_ns=latency_ns, tester=f"clock_tick_ps: {tick_ps}"))
    load = (f"search_max_pct={load_pct}", f"search_initial_pct={load_pct}")
    _, outcome, _ = run_on_sim(Latency(), topology, (64,), *QUICK, *load)
    first: dict[str, dict[str, Any]] = {table.name: table.rows[0] for table in outcome.tables if table.rows}
    row, varied = first["latency"], first["latency_variation"]
    true_us, tick_us = latency_ns / 1000, tick_ps / PS_PER_US
    for key in ("avg", "p50"):
        assert row[f"{key}_us"] == pytest.approx(true_us, abs=row[f"{key}_error_us"])
        assert row[f"{key}_error_us"] >= tick_us
    for value, error in ((row, "jitter_avg"), (varied, "ipdv_avg"), (varied, "rfc3550_avg")):
        assert value[f"{error}_us"] == pytest.approx(0, abs=value[f"{error}_error_us"]), error


def test_frames_of_one_phase_read_one_tick_too_much_and_the_table_says_so() -> None:
    """Goal: not 0.006 with an error of 0.0000 for 5.4 ns."""
    _, outcome, _ = run_on_sim(Latency(), parsed(wire(latency_ns=5.4, tester="clock_tick_ps: 1000")), (64,), *QUICK)
    (row,) = outcome.tables[0].rows
    assert (row["min_us"], row["avg_us"], row["max_us"], row["avg_error_us"]) == (0.006, 0.006, 0.006, 0.001)
