"""Loads that the tester cannot send: every search goes on below them and names the load that the tester delivers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from p4mesh.methods.search.bisection import bisect
from p4mesh.methods.search.combined import combo
from p4mesh.methods.search.goal import SearchGoal, SearchOutcome
from p4mesh.methods.search.linear import linear_down, linear_up
from p4mesh.methods.search.mlr import mlr_search
from p4mesh.methods.search.mlr_goal import MlrGoal, MlrTrial
from p4mesh.verdict import Verdict

GOAL = SearchGoal(Fraction(50), Fraction(1), Fraction(100), Fraction(1, 10))
FIRST = SearchGoal(Fraction(50), Fraction(1), Fraction(100), Fraction(1, 10), try_max_first=True)
STEP = Fraction(10)
Trial = Callable[[Fraction], Verdict]
Search = Callable[[Trial], SearchOutcome]


def by_mlr(trial: Trial) -> SearchOutcome:
    """Search with the unconditional goal, within 0.5 % of the load."""

    def counted(load: Fraction, _: Fraction) -> MlrTrial:
        verdict = trial(load)
        return MlrTrial(1000, 0 if verdict is Verdict.PASS else 500, verdict)

    return mlr_search(GOAL, [MlrGoal(Fraction(1), Fraction(1))], counted).outcome


SEARCHES: dict[str, tuple[Search, Fraction]] = {
    "bisection": (lambda trial: bisect(GOAL, trial), Fraction(1, 10)),
    "maximum first": (lambda trial: bisect(FIRST, trial), Fraction(1, 10)),
    "down": (lambda trial: linear_down(GOAL, STEP, trial), STEP),
    "up": (lambda trial: linear_up(GOAL, STEP, trial), STEP),
    "combined": (lambda trial: combo(GOAL, STEP, trial), Fraction(1, 10)),
    "mlr": (by_mlr, Fraction(1)),
}
"""Each search, and how near to the limit it comes."""


def limited(device: str, tester: str) -> Trial:
    """A device that forwards up to a load, behind a tester that sends up to another one."""

    def trial(load: Fraction) -> Verdict:
        if load > Fraction(tester):
            return Verdict.UNDELIVERED
        return Verdict.PASS if load <= Fraction(device) else Verdict.FAIL

    return trial


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("tester", ["3", "37.3", "66.6", "99.2"])
def test_a_device_better_than_the_tester_has_at_least_what_the_tester_delivers(name: str, tester: str) -> None:
    search, width = SEARCHES[name]
    found = search(limited("100", tester))
    assert found.state is Verdict.MEASURED and found.at_least and found.failed is None
    assert found.result is not None and found.undelivered is not None
    assert found.result <= Fraction(tester) < found.undelivered
    assert found.undelivered - found.result <= width
    if name == "mlr":  # no nearer than half of its width of 0.5 %
        assert found.undelivered - found.result >= Fraction("0.0025") * found.undelivered


@pytest.mark.parametrize("name", SEARCHES)
def test_a_device_below_the_tester_has_a_limit_of_its_own(name: str) -> None:
    search, width = SEARCHES[name]
    found = search(limited("42.4", "77"))
    assert found.state is Verdict.MEASURED and not found.at_least
    assert found.result is not None and found.failed is not None
    assert found.result <= Fraction("42.4") < found.failed
    assert found.failed - found.result <= width


@pytest.mark.parametrize("name", SEARCHES)
def test_a_device_that_forwards_nothing_fails_below_what_the_tester_delivers(name: str) -> None:
    found = SEARCHES[name][0](limited("0", "77"))
    assert (found.state, found.result) == (Verdict.FAIL, None)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_tester_that_delivers_nothing_says_nothing_about_the_device(name: str) -> None:
    found = SEARCHES[name][0](limited("100", "0"))
    assert (found.state, found.result, found.failed) == (Verdict.INVALID, None, None)


@pytest.mark.parametrize("name", SEARCHES)
def test_an_untrusted_trial_still_ends_the_search(name: str) -> None:
    asked: list[Fraction] = []

    def trial(load: Fraction) -> Verdict:
        asked.append(load)
        return Verdict.ABORT if len(asked) == 2 else Verdict.UNDELIVERED

    found = SEARCHES[name][0](trial)
    expected = Verdict.INVALID if name == "up" else Verdict.ABORT  # upwards nothing follows what cannot be sent
    assert found.state is expected and found.result is None


def asked_by_mlr(bounds: SearchGoal, goals: list[MlrGoal], tester: int, *, first_sent: bool = False) -> list[Any]:
    """Result, lowest load not sent, and (load, duration) of all trials of a device that loses nothing."""
    asked: list[tuple[Fraction, Fraction]] = []

    def trial(load: Fraction, duration_s: Fraction) -> MlrTrial:
        asked.append((load, duration_s))
        sent = load <= tester or (first_sent and len(asked) == 1)
        return MlrTrial(1000, 0, Verdict.PASS if sent else Verdict.UNDELIVERED)

    found = mlr_search(bounds, goals, trial).outcome
    return [found.result, found.undelivered, *asked]


def test_mlrsearch_finds_what_the_tester_sends_as_exactly_as_its_first_goal_asks() -> None:
    """Within a tenth of the load, in trials of 1 s; the library wants one more of the second goal, of 2 s."""
    goals = [
        MlrGoal(Fraction(length), Fraction(length), relative_width=width)
        for length, width in ((1, Fraction(1, 10)), (2, Fraction(1, 100)))
    ]
    loads = ["50.5", "25.75", "38.125", "44.3125", "41.21875"]
    halves = [(Fraction(load), 1) for load in loads]
    found = asked_by_mlr(GOAL, goals, 40)
    assert found == [Fraction("38.125"), Fraction("41.21875"), (100, 2), (1, 1), *halves, (Fraction("38.125"), 2)]


def test_mlrsearch_does_not_take_a_load_for_sent_that_is_not_sent_again() -> None:
    """The first of two trials at 100 % is sent, and nothing above 40 % after it."""
    found = asked_by_mlr(GOAL, [MlrGoal(Fraction(1), Fraction(4), relative_width=Fraction(1, 10))], 40, first_sent=True)
    assert [load for load, _ in found[2:6]] == [100, 100, 1, Fraction("50.5")]


@pytest.mark.parametrize(
    ("minimum", "maximum", "tester", "found"),
    [
        # Half of the load is as near as asked: no trial at 75 %.
        (50, 100, 60, [50, 100, (100, 1), (50, 1), (50, 1)]),
        (50, 50, 50, [50, None, (50, 1)]),
        (50, 50, 40, [None, 50, (50, 1)]),
    ],
)
def test_mlrsearch_may_have_one_load_to_try(minimum: int, maximum: int, tester: int, found: list[Any]) -> None:
    bounds = SearchGoal(Fraction(minimum), Fraction(minimum), Fraction(maximum), Fraction(1, 10))
    assert asked_by_mlr(bounds, [MlrGoal(Fraction(1), Fraction(1), relative_width=Fraction(1, 2))], tester) == found


def test_random_testers_and_devices_are_told_apart() -> None:
    random = Random(5)
    for _ in range(500):
        device, tester = (Fraction(random.randrange(200, 10_000), 100) for _ in range(2))
        found = bisect(FIRST, limited(str(device), str(tester)))
        assert found.result is not None and found.result <= min(device, tester)
        nearest = min(load for load in (found.failed, found.undelivered) if load is not None)
        assert nearest - found.result <= GOAL.resolution
        assert nearest > min(device, tester)
        if found.at_least:
            assert found.undelivered is not None and tester < found.undelivered
