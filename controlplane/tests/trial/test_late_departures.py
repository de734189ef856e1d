"""Losses that departures of the tester may have caused are not the device's."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.networks import parsed, switch

from p4mesh.methods.results.metrics import judge_loss, search_verdict
from p4mesh.target.base import Pauses
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

FRAMES, RATE_FPS = 20_000, 100_000
SPEC = TrialSpec(
    "late",
    (Stream("one-way", 128, Fraction(RATE_FPS), FRAMES, Pairs(), (1,), (2,)),),
    FRAMES * 10**9 // RATE_FPS,
    Learning(enabled=False),
)


def measured(loss_ppb: int, pauses: Pauses) -> TrialResult:
    with open_measurer(parsed(switch(f"loss_ppb: {loss_ppb}")), "sim") as measurer:
        measurer.tester.target.take_pauses = lambda: pauses  # type: ignore[method-assign]
        return measurer.measure(SPEC)


def test_a_loss_that_late_departures_explain_is_invalid() -> None:
    """A pause of 4 ms makes 400 frames late; about 200 are lost."""
    result = measured(10_000_000, Pauses(4_000_000, 4_000_000))
    assert 0 < result.lost_frames < 400
    assert result.status is Verdict.INVALID
    assert result.reason == (
        "late departures: the tester stood still for up to 4.0 ms; about 401 frames left late and too close together, "
        f"which may be why {result.lost_frames} were lost"
    )
    assert search_verdict(result, judge_loss(result)) is Verdict.UNDELIVERED


@pytest.mark.parametrize(
    ("loss_ppb", "pauses", "verdict"),
    [
        pytest.param(10_000_000, Pauses(900_000, 0), Verdict.FAIL, id="no pause is longer than usual"),
        pytest.param(100_000_000, Pauses(4_000_000, 4_000_000), Verdict.FAIL, id="more were lost than left late"),
        pytest.param(0, Pauses(90_000_000, 90_000_000), Verdict.PASS, id="nothing was lost"),
    ],
)
def test_other_losses_are_those_of_the_device(loss_ppb: int, pauses: Pauses, verdict: Verdict) -> None:
    result = measured(loss_ppb, pauses)
    assert result.status is Verdict.MEASURED
    assert judge_loss(result) is verdict
