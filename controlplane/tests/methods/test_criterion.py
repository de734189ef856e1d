"""The verdict on a load, and how long a trial must be to have one, by hand from counts and trends of queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import pytest

from p4mesh.measurement.counts import QueueTrend, Transient, Trend
from p4mesh.methods.base import Session, TrialNote
from p4mesh.methods.criterion import Criterion, fills_by_copies
from p4mesh.methods.longer_trials import Asked, Taken, measure_each
from p4mesh.methods.results.loss_interval import loss_error_pct
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

PASSED = replace(TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13), expected_rx_frames=1001, rx_frames=1001)
FILLING = replace(PASSED, queues=QueueTrend(Trend.FILLING, 250_000.0, 10_000.0))
"""Five frames come in for four that leave: a queue keeps a fifth of all."""
COPIES = replace(FILLING, rx_frames=1240, duplicate_frames=240)
"""As many frames came twice as a queue keeps for certain: 24 of 124."""
UNCLEAR = replace(PASSED, queues=QueueTrend(Trend.UNCLEAR, 250_000.0, 10_000.0, longer=3))


@pytest.mark.parametrize(
    ("result", "acceptable_pct", "verdict"),
    [
        (FILLING, 20, Verdict.PASS),
        (FILLING, Fraction(19_999, 1000), Verdict.FAIL),
        (UNCLEAR, 20, Verdict.UNCLEAR),
        (replace(UNCLEAR, queues=QueueTrend(Trend.STEADY)), 0, Verdict.PASS),
        (replace(UNCLEAR, lost_frames=1), 0, Verdict.FAIL),
        (replace(UNCLEAR, status=Verdict.INVALID), 0, Verdict.INVALID),
        (PASSED, 0, Verdict.PASS),
        (COPIES, 0, Verdict.UNCLEAR),
        (replace(COPIES, duplicate_frames=239), 0, Verdict.FAIL),
        (replace(COPIES, lost_frames=1), 1, Verdict.FAIL),
        # Of 0.5 % with an error of 1 % nothing is certain.
        (replace(FILLING, queues=QueueTrend(Trend.FILLING, 5_000.0, 10_000.0)), 0, Verdict.UNCLEAR),
    ],
)
def test_a_load_that_is_sustained_fills_no_queue_by_more_than_the_loss_that_is_acceptable(
    result: TrialResult, acceptable_pct: Fraction, verdict: Verdict
) -> None:
    assert Criterion(Fraction(acceptable_pct), sustained=True)(result) is verdict


def test_copies_fill_a_queue_that_fills() -> None:
    steady = replace(COPIES, queues=QueueTrend(Trend.STEADY))
    assert [fills_by_copies(result) for result in (COPIES, FILLING, steady, PASSED)] == [True, False, False, False]


def test_without_a_demand_to_sustain_a_load_queues_are_no_criterion() -> None:
    criterion = Criterion()
    assert (criterion(FILLING), criterion.kept_frames(FILLING), criterion.excess_ppm(FILLING)) == (
        Verdict.PASS,
        0,
        None,
    )


def test_what_a_queue_keeps_is_lost_when_it_is_full() -> None:
    criterion = Criterion(sustained=True)
    assert criterion.kept_frames(FILLING) == 201, "a fifth of 1001 frames, a part of a frame is one"
    assert [criterion.kept_frames(result) for result in (UNCLEAR, PASSED)] == [0, 0]
    judged = criterion.judged(FILLING, cast("Any", SimpleNamespace(verdict=Verdict.FAIL)))
    assert (judged.verdict, judged.result, judged.kept_frames, judged.excess_ppm) == (
        Verdict.FAIL,
        FILLING,
        201,
        (250_000, 10_000),
    )


@pytest.mark.parametrize(
    ("acceptable_pct", "excess_ppm", "error_ppm", "beyond"),
    [
        # 20 % lost leave 80 %, to which the lost ones are a quarter.
        ("20", 300_000, 10_000, (50_000, 10_000)),
        ("20", 240_000, 20_000, (0, 10_000)),
        ("20", 100_000, 1000, (0, 0)),
        # Nobody accepts more than 99 %: beyond that the rest counts as one percent.
        ("99.5", 100_000_000, 10_000, (500_000, 10_000)),
    ],
)
def test_an_excess_is_that_beyond_the_loss_that_is_acceptable(
    acceptable_pct: str, excess_ppm: float, error_ppm: float, beyond: tuple[float, float]
) -> None:
    result = replace(PASSED, queues=QueueTrend(Trend.UNCLEAR, excess_ppm, error_ppm))
    found = Criterion(Fraction(acceptable_pct), sustained=True).excess_ppm(result)
    assert found == pytest.approx(beyond)
    assert Criterion(sustained=True).excess_ppm(PASSED) is None


def test_an_excess_beside_copies_has_their_error_of_chance() -> None:
    """Three of 1,000 frames came twice; of as many others 1 to 9 may, with 95 % confidence."""
    copies = replace(FILLING, tx_frames=1000, duplicate_frames=3)
    excess_ppm, error_ppm = Criterion(sustained=True).excess_ppm(copies) or (0, 0)
    assert (excess_ppm, error_ppm) == (250_000, pytest.approx(10_000 + 10_000 * (loss_error_pct(3, 1000) or 0)))
    assert Criterion(Fraction(20), sustained=True).excess_ppm(copies) == pytest.approx((0, 10_000))


@dataclass
class Measured:
    """A session in which the trials at each load have these results, one after the other."""

    results: dict[int, list[TrialResult]]
    trials: list[tuple[int, int, int]] = field(default_factory=list)
    """Load, duration and trials expected after it, of each trial."""
    announced: list[int] = field(default_factory=list)
    """Number of trials that were announced at a time."""

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        self.announced.append(len(specs))

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        self.trials.append((int(note.load_pct), spec.duration_ns, note.remaining))
        return self.results[int(note.load_pct)].pop(0)


def measured(results: dict[int, list[TrialResult]], burst_ns: int = 1, **settings: Any) -> tuple[list[Taken], Measured]:
    """Trials of 100 ns at these loads, of whole bursts."""

    def spec_of(length_ns: int) -> TrialSpec:
        return cast("TrialSpec", SimpleNamespace(duration_ns=max(1, length_ns // burst_ns) * burst_ns))

    session = Measured(results)
    asked = [Asked(Fraction(load), spec_of, 100) for load in results]
    return measure_each(cast("Session", session), asked, **{"lengthen": True, **settings}), session


BEGUN = replace(PASSED, lost_frames=5, transient=Transient(50, over=False, frames=0))
"""A trial that ended soon after the device began to lose frames."""


@pytest.mark.parametrize(
    ("results", "lengths"),
    [
        pytest.param([PASSED], [100], id="tells"),
        pytest.param([UNCLEAR, FILLING], [100, 300], id="as long as it takes"),
        pytest.param([UNCLEAR, UNCLEAR, UNCLEAR, UNCLEAR, UNCLEAR], [100, 300, 900, 2700, 3200], id="32 times at most"),
        pytest.param([BEGUN, BEGUN, BEGUN, BEGUN], [100, 400, 1600, 3200], id="with a steady part"),
        pytest.param([replace(BEGUN, transient=Transient(50, over=True, frames=3))], [100], id="has a steady part"),
        pytest.param([replace(UNCLEAR, lost_frames=1)], [100], id="a queue that loses frames is full"),
        pytest.param([replace(UNCLEAR, status=Verdict.INVALID)], [100], id="not trusted"),
    ],
)
def test_a_trial_is_repeated_longer_until_it_tells(results: list[TrialResult], lengths: list[int]) -> None:
    taken, session = measured({10: list(results)})
    assert [length for _, length, _ in session.trials] == lengths
    assert (taken[-1].result, taken[-1].spec.duration_ns) == (results[-1], lengths[-1])


def test_a_trial_of_whole_bursts_is_not_repeated_at_its_own_length() -> None:
    """Bursts of 2,000 ns: between 2,000 ns and 32 times 100 there is no other trial."""
    _, session = measured({10: [BEGUN]}, burst_ns=2000)
    assert [length for _, length, _ in session.trials] == [2000]


def test_trials_are_repeated_side_by_side_and_each_says_how_many_follow() -> None:
    taken, session = measured({10: [UNCLEAR, PASSED], 20: [PASSED], 30: [UNCLEAR, FILLING]})
    assert session.trials == [(10, 100, 2), (20, 100, 1), (30, 100, 0), (10, 300, 1), (30, 300, 0)]
    assert session.announced == [3, 2]
    assert [one.result for one in taken] == [PASSED, PASSED, FILLING]
    _, session = measured({10: [UNCLEAR], 20: [PASSED]}, lengthen=False, remaining=lambda place: 7 + place)
    assert session.trials == [(10, 100, 7), (20, 100, 8)]


def test_what_comes_after_enough_trials_is_not_measured() -> None:
    def enough(taken: Sequence[Taken]) -> bool:
        return taken[-1].result is PASSED

    taken, session = measured({10: [UNCLEAR, FILLING], 20: [PASSED], 30: [PASSED]}, enough=enough)
    assert session.trials == [(10, 100, 2), (20, 100, 1), (10, 300, 0)]
    assert [one.load_pct for one in taken] == [10, 20]
    # The longer trial says that it was not enough.
    _, session = measured({10: [UNCLEAR, PASSED], 20: [FILLING]}, enough=lambda taken: taken[-1].result is UNCLEAR)
    assert session.trials == [(10, 100, 1), (10, 300, 0), (20, 100, 0)]
