"""Linear and combined searches, loss verification and MLRsearch on devices with a known limit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from p4mesh.methods.linear_search import combo, linear_down, linear_up
from p4mesh.methods.loss_verification import LossVerification, verified
from p4mesh.methods.mlr_search import MlrGoal, MlrTrial, mlr_search
from p4mesh.methods.search import SearchGoal, SearchOutcome, Verdict, bisect

GOAL = SearchGoal(Fraction(50), Fraction(1), Fraction(100), Fraction(1, 10))
TEN = Fraction(10)


def limit(value: str) -> Callable[[Fraction], Verdict]:
    return lambda load: Verdict.PASS if load <= Fraction(value) else Verdict.FAIL


@pytest.mark.parametrize(("search", "result", "failed", "trials"), [(linear_down, 60, 70, 5), (linear_up, 61, 71, 8)])
def test_linear_searches_answer_with_the_last_passing_step(
    search: Callable[..., SearchOutcome], result: int, failed: int, trials: int
) -> None:
    found = search(GOAL, TEN, limit("66"))
    assert (found.result, found.failed, len(found.steps)) == (result, failed, trials)


@pytest.mark.parametrize("search", [linear_down, linear_up, combo])
def test_nothing_passes_is_a_fail_without_a_result(search: Callable[..., SearchOutcome]) -> None:
    found = search(GOAL, TEN, limit("0"))
    assert (found.state, found.result) == (Verdict.FAIL, None)


@pytest.mark.parametrize("search", [linear_down, linear_up, combo])
def test_everything_passes_is_the_maximum(search: Callable[..., SearchOutcome]) -> None:
    found = search(GOAL, TEN, limit("100"))
    assert (found.result, found.failed, found.at_least) == (100, None, False)


@pytest.mark.parametrize("true_limit", ["5", "66", "66.5", "99"])
def test_combo_narrows_the_bracket_to_the_resolution(true_limit: str) -> None:
    found = combo(GOAL, TEN, limit(true_limit))
    assert found.result is not None and found.failed is not None
    assert found.result <= Fraction(true_limit) < found.failed
    assert found.failed - found.result <= GOAL.resolution


def test_combo_ends_at_an_untrusted_trial() -> None:
    answers = iter([Verdict.PASS, Verdict.FAIL, Verdict.ABORT])
    assert combo(GOAL, TEN, lambda _: next(answers)).state is Verdict.ABORT


def test_one_clean_repetition_turns_a_lossy_trial_into_a_pass() -> None:
    """A device that loses a few frames in every second trial below its limit."""
    asked: list[Fraction] = []

    def trial(load: Fraction) -> tuple[Verdict, int]:
        asked.append(load)
        if load > 60:
            return Verdict.FAIL, 100_000
        return (Verdict.FAIL, 3) if len(asked) % 2 else (Verdict.PASS, 0)

    found = bisect(GOAL, verified(trial, LossVerification(trials=2, overload_frames=1000)))
    assert found.result is not None and 60 - GOAL.resolution <= found.result <= 60
    overloads = [load for load in asked if load > 60]
    assert len(overloads) == len(set(overloads)), "a clear overload is not repeated"


def test_loss_in_every_repetition_stays_a_fail() -> None:
    count = 0

    def trial(_: Fraction) -> tuple[Verdict, int]:
        nonlocal count
        count += 1
        return Verdict.FAIL, 1

    assert verified(trial, LossVerification(trials=3))(TEN) is Verdict.FAIL
    assert count == 3


def test_an_untrusted_trial_is_not_repeated() -> None:
    assert verified(lambda _: (Verdict.INVALID, 0), LossVerification())(TEN) is Verdict.INVALID


def mlr_device(limit_pct: float) -> Callable[[Fraction, Fraction], MlrTrial]:
    def trial(load: Fraction, duration_s: Fraction) -> MlrTrial:
        offered = int(load * duration_s * 1000)
        lost = max(0, int((load - Fraction(limit_pct)) * duration_s * 1000))
        return MlrTrial(offered, lost, Verdict.FAIL if lost else Verdict.PASS)

    return trial


@pytest.mark.parametrize("limit_pct", [17.5, 66.0, 99.0])
def test_mlrsearch_brackets_a_known_limit_within_its_width(limit_pct: float) -> None:
    mlr = MlrGoal(Fraction(1), Fraction(2), relative_width=Fraction(1, 100))
    found = mlr_search(GOAL, mlr, mlr_device(limit_pct))
    lower, upper = found.outcome.passed, found.outcome.failed
    assert lower is not None and upper is not None
    assert lower <= limit_pct + 0.001 and upper > limit_pct
    assert (upper - lower) / upper <= mlr.relative_width
    assert found.conditional_pct == pytest.approx(float(lower))


def test_mlrsearch_at_the_maximum_has_no_upper_bound() -> None:
    found = mlr_search(GOAL, MlrGoal(Fraction(1), Fraction(2)), mlr_device(100))
    assert (found.outcome.result, found.outcome.failed) == (100, None)


def test_mlrsearch_without_a_lower_bound_is_irregular() -> None:
    found = mlr_search(GOAL, MlrGoal(Fraction(1), Fraction(2)), mlr_device(0))
    assert (found.outcome.state, found.outcome.result, found.conditional_pct) == (Verdict.FAIL, None, None)


def test_mlrsearch_ends_at_an_untrusted_trial() -> None:
    found = mlr_search(GOAL, MlrGoal(Fraction(1), Fraction(2)), lambda *_: MlrTrial(1, 0, Verdict.INVALID))
    assert found.outcome.state is Verdict.INVALID
