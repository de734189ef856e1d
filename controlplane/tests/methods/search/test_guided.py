"""Guided bisection: the bracket of the bisection, with the trials that tell something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from p4mesh.methods.search.bisection import bisect
from p4mesh.methods.search.collapse import Collapse
from p4mesh.methods.search.goal import Grid, SearchGoal
from p4mesh.methods.search.guided import Trial, guided
from p4mesh.methods.search.limit import LimitSearch, SearchMethod, TrialAnswer
from p4mesh.verdict import Verdict

GOAL = SearchGoal(Fraction(1), Fraction(1, 100), Fraction(100), Fraction(1, 100))
Forwarded = Callable[[Fraction, Fraction], Fraction | None]
"""(load, limit) -> what the device seems to forward of a load above its limit."""
DEVICES: dict[str, Forwarded] = {
    "forwards its limit": lambda _, limit: limit,
    "collapses": lambda load, _: load / 1000,
    "stops when its queue is full": lambda load, limit: load / (1 + 50 * (load - limit)),
    "hides half of the overload in its buffers": lambda load, limit: (load + limit) / 2,
    "says a little too little": lambda _, limit: limit * Fraction(999, 1000),
    "says nothing": lambda _, __: None,
}


def device(limit: Fraction, forwarded: Forwarded) -> Trial:
    return lambda load: (Verdict.PASS, None) if load <= limit else (Verdict.FAIL, forwarded(load, limit))


def test_a_device_that_forwards_its_limit_needs_four_trials() -> None:
    limit = Fraction("99.2546")
    found = guided(GOAL, device(limit, DEVICES["forwards its limit"]))
    plain = bisect(GOAL, lambda load: device(limit, DEVICES["says nothing"])(load)[0])
    assert (found.result, found.failed) == (plain.result, plain.failed)
    assert found.result is not None and found.failed is not None
    assert [step.load for step in found.steps] == [1, 100, found.result, found.failed]
    assert len(plain.steps) == 16


@pytest.mark.parametrize(
    ("first", "limit", "forwarded", "trials"),
    [
        # Two guesses are wrong in a row, then the bisection makes a step: 32, 16, 24, 20.
        (0, 20, lambda load: load - 1, [0, 64, 63, 62, 32, 31, 16, 30, 29, 24, 23, 20, 22, 21]),
        # 20 is below what passed, so no guess, but not below half of what passes, so no collapse; 40 is a guess.
        (32, 40, lambda load: 20 if load == 64 else 40, [32, 64, 48, 40, 41]),
        # It forwards above its limit what has passed: only the load above that needs a trial.
        (32, 32, lambda _: 32, [32, 64, 33]),
        # A load that passes above the guess is the next one.
        (0, 21, lambda _: 20, [0, 64, 20, 21, 22]),
        # A load that failed is no guess.
        (32, 40, lambda load: load, [32, 64, 48, 40, 44, 42, 41]),
    ],
)
def test_loads_that_follow_from_guesses(
    first: int, limit: int, forwarded: Callable[[Fraction], int], trials: list[int]
) -> None:
    """A search of integers from 0 to 64."""
    goal = SearchGoal(Fraction(first), Fraction(0), Fraction(64), Fraction(1), grid=Grid.INTEGER)
    found = guided(goal, device(Fraction(limit), lambda load, _: Fraction(forwarded(load))))
    assert [step.load for step in found.steps] == trials
    assert (found.result, found.failed) == (limit, limit + 1)


def test_a_search_guesses_from_the_share_of_the_load_that_was_forwarded() -> None:
    limit = Fraction("99.2546")

    def trial(load: Fraction, _: Fraction) -> TrialAnswer:
        passes = load <= limit
        return TrialAnswer(Verdict.PASS if passes else Verdict.FAIL, 1000, 0, None if passes else limit / load)

    found = LimitSearch(SearchMethod.GUIDED, GOAL).run(trial, Fraction(1)).outcome
    assert found.result is not None and found.failed is not None
    assert [step.load for step in found.steps] == [1, 100, found.result, found.failed]


@pytest.mark.parametrize(("queue", "trials"), [("0.01", 11), ("0.1", 11), ("1", 16)])
def test_a_device_that_collapses_needs_fewer_trials_than_a_bisection(queue: str, trials: int) -> None:
    # A trial of this length ends before the queue of such a share of the line is full, up to that load above the rate.
    held, random = Fraction(queue), Random(queue)
    needed, bisected = 0, 0
    for _ in range(100):
        rate = Fraction(random.randrange(2_000_000, 98_000_000), 1_000_000)

        def trial(load: Fraction, rate: Fraction = rate) -> tuple[Verdict, Fraction | None]:
            if load <= rate + held:
                return Verdict.PASS, None
            return Verdict.FAIL, load * held / (load - rate)

        found, plain = guided(GOAL, trial), bisect(GOAL, lambda load, ask=trial: ask(load)[0])  # type: ignore[misc]
        assert (found.result, found.failed) == (plain.result, plain.failed)
        needed, bisected = needed + len(found.steps), bisected + len(plain.steps)
    assert needed <= trials * 100 <= bisected + 100


def test_a_collapse_is_extrapolated_along_its_bend() -> None:
    """Of s frames one is forwarded at a load of (10 + (s - 1) + (s - 1)^2) / 10, of 1 all. One guess is not enough."""
    collapse = Collapse()
    for load, sent in ((66, 8), (52, 7), (22, 4)):
        collapse.note(Fraction(load, 10), Fraction(load, 10 * sent))
        assert collapse.limit is None
    collapse.note(Fraction(12, 10), Fraction(6, 10))
    assert (collapse.limit, collapse.least) == (1, Fraction(22, 40))


@pytest.mark.parametrize("sent", [(5, 4, 3, 3), (5, 4, 4, 3), (5, 4, 3, 4)])
def test_a_share_that_does_not_fall_with_the_load_gives_no_guess(sent: tuple[int, ...]) -> None:
    collapse = Collapse()
    for load, each in zip((50, 40, 30, 20), sent, strict=True):
        collapse.note(Fraction(load), Fraction(load, each))
    assert collapse.limit is None


@pytest.mark.parametrize(("sent", "limit"), [("1.5", 10), ("1.4", 12.0833), ("1.3", None)])
def test_a_guess_far_from_the_one_before_is_none(sent: str, limit: float | None) -> None:
    """Loads of 40, 30 and 20 are on a line to 10. With s = 2 - u sent for each forwarded of 15, the next guess is

    15 - 5 * (1 - u) * (2 - u) / (u * (1 + u)): 2.08 from 10 is less than half of what it is from 20, 3.36 is not.
    """
    collapse = Collapse()
    for load, each in ((40, 4), (30, 3), (20, 2)):
        collapse.note(Fraction(load), Fraction(load, each))
    collapse.note(Fraction(15), 15 / Fraction(sent))
    assert collapse.limit == (limit if limit is None else pytest.approx(limit, abs=1e-4))


@pytest.mark.parametrize("name", DEVICES)
def test_the_bracket_is_that_of_the_bisection_for_any_device(name: str) -> None:
    random = Random(name)
    for _ in range(400):
        low, first, high = (Fraction(load, 10) for load in sorted(random.sample(range(1, 1001), 3)))
        resolution = Fraction(random.randrange(1, 50), 100)
        grid = random.choice([Grid.EXACT, Grid.THREE_DECIMALS])
        goal = SearchGoal(first, low, high, resolution, random.random() < 0.5, grid)
        limit = Fraction(random.randrange(0, 1_000_000), 9973)
        trial = device(limit, DEVICES[name])
        found, plain = guided(goal, trial), bisect(goal, lambda load, ask=trial: ask(load)[0])  # type: ignore[misc]
        loads = [step.load for step in found.steps]
        assert len(loads) == len(set(loads)) <= 2 * len(plain.steps) + 2
        assert all(step.verdict is trial(step.load)[0] for step in found.steps)
        if limit >= high:
            assert (found.result, found.failed) == (high, None)
        else:
            assert (found.state, found.result) == (plain.state, plain.result)
            # The highest load has been tried; a bisection may end below it without having seen a load that fails.
            assert found.failed == (plain.failed or high)


def test_a_search_below_a_load_that_failed_does_not_try_it_again() -> None:
    found = guided(GOAL.below(Fraction(60)), device(Fraction(45), DEVICES["forwards its limit"]))
    assert found.result is not None and 45 - GOAL.resolution <= found.result <= 45
    assert Fraction(60) not in [step.load for step in found.steps]


@pytest.mark.parametrize("verdict", [Verdict.INVALID, Verdict.ABORT])
def test_an_untrusted_trial_ends_the_search(verdict: Verdict) -> None:
    answers = iter([(Verdict.PASS, None), (verdict, None)])
    found = guided(GOAL, lambda _: next(answers))
    assert (found.state, found.result, len(found.steps)) == (verdict, None, 2)


def test_the_search_goes_on_below_loads_that_the_tester_cannot_send() -> None:
    def trial(load: Fraction) -> tuple[Verdict, Fraction | None]:
        if load > 40:
            return Verdict.UNDELIVERED, None
        return device(Fraction(30), DEVICES["forwards its limit"])(load)

    found = guided(replace(GOAL, resolution=Fraction(1)), trial)
    assert found.result is not None and 29 <= found.result <= 30
    assert found.undelivered is not None and found.undelivered > 40


def test_nothing_passes_is_a_fail_without_a_result() -> None:
    found = guided(GOAL, device(Fraction(0), DEVICES["forwards its limit"]))
    assert (found.state, found.result) == (Verdict.FAIL, None)
