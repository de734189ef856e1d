"""Partially meshed N:N of the White Rabbit report, table 1.3: silent receivers, so everything is flooded."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.networks import shipped
from support.published import SIZES
from support.runs import run_on_sim

from p4mesh.methods.rfc2889.unidirectional import Unidirectional

LOAD_PCT = 20
"""Above 1/9 of the line, below the look-up capacity of the switch at every size."""


@pytest.mark.parametrize("size", SIZES)
def test_flooded_traffic_shares_the_outputs_and_the_report_says_so(size: int) -> None:
    # Without a learning phase the switch never hears the receivers, as in the report.
    settings = ("parts=forwarding", f"sweep_start_pct={LOAD_PCT}", f"sweep_end_pct={LOAD_PCT}", "learning_frames=0")
    _, outcome, trials = run_on_sim(Unidirectional(), shipped("wrs-18x1g"), (size,), *settings)
    ((spec, result),) = trials
    # All outputs carry the same 24-byte overhead line; nine sources share each of them evenly. The frames that the
    # queue of 64 holds at the end are scaled out, as in 30 s of the report.
    received = result.rx_frames - 9 * Fraction(64, 9)
    rate_fps = received * 10**9 / spec.duration_ns
    forwarding_pct = 100 * rate_fps * 8 * (size + 20) / (9 * 10**9)
    expected_pct = Fraction(100, 9) * Fraction(size + 20, size + 24)
    assert float(forwarding_pct) == pytest.approx(float(expected_pct), abs=0.01)
    assert result.flooded_frames > result.rx_frames
    assert any("flooding detected" in finding for finding in outcome.findings)
