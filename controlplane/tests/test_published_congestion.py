"""Congestion control of the White Rabbit report, table 1.4: no blocking, loss by formula.

Loss at the congested port is 100 (1 - 2/3 (L + 20) / (L + 24)) %; shorter trials are scaled by the
frames that the queue of 64 holds when the senders stop.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from published import SIZES, WHITE_RABBIT, changed, run, shipped

from p4mesh.methods.outcome import State
from p4mesh.methods.rfc2889.congestion_control import CongestionControl
from p4mesh.traffic.line_rate import max_rate_fps, tx_frames

GIGABIT = 10**9
REPORT_NS = 30 * 10**9


def egress_frames(size: int, duration_ns: int) -> int:
    return tx_frames(duration_ns, max_rate_fps(size, GIGABIT, 24))


@pytest.mark.parametrize(
    ("size", "loss_pct", "row"),
    list(zip(SIZES, WHITE_RABBIT["congestion_loss_formula_pct"], WHITE_RABBIT["congestion"], strict=True)),
)
def test_one_switch_does_not_block_and_loses_what_was_published(
    size: int, loss_pct: float, row: dict[str, int]
) -> None:
    results, outcome, trials = run(CongestionControl(), shipped("wrs-18x1g"), (size,))
    (result,) = results.values()
    spec, _ = trials[-1]
    assert (result["head_of_line_blocking"], result["back_pressure"]) == ("no", "no")
    assert outcome.state is State.PASS
    assert result["uncongested_loss_pct"] == 0
    offered = 3 * tx_frames(REPORT_NS, max_rate_fps(size, GIGABIT)) // 2
    assert abs(offered - row["c_tx"]) <= 2
    received = result["congested_rx_frames"] - egress_frames(size, spec.duration_ns) + egress_frames(size, REPORT_NS)
    assert float(Fraction(100 * (offered - received), offered)) == pytest.approx(loss_pct, abs=0.02)
    assert float(Fraction(100 * (offered - received), offered)) == pytest.approx(row["c_loss_pct"], abs=0.02)


def test_a_switch_with_input_queues_is_found_to_block() -> None:
    blocking = changed(
        "wrs-18x1g", ("    min_frame_bytes: 60", "    input_queue: {frames: 64}\n    min_frame_bytes: 60")
    )
    results, outcome, _ = run(CongestionControl(), blocking, (64,))
    (result,) = results.values()
    assert result["head_of_line_blocking"] == "yes"
    assert result["uncongested_loss_pct"] > 1
    assert outcome.state is State.FAIL
