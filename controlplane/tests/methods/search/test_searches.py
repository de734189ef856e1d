"""Linear and combined searches, loss verification, longer trials and MLRsearch on devices with a known limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from p4mesh.measurement.counts import QueueTrend, Trend
from p4mesh.methods.search.bisection import bisect
from p4mesh.methods.search.combined import combo
from p4mesh.methods.search.goal import Grid, SearchGoal, SearchOutcome
from p4mesh.methods.search.lengthening import settled, until_clear
from p4mesh.methods.search.limit import MlrAttributes, MlrPreset
from p4mesh.methods.search.linear import linear_down, linear_up
from p4mesh.methods.search.loss_verification import LossVerification, verified
from p4mesh.methods.search.mlr import mlr_search
from p4mesh.methods.search.mlr_goal import MlrGoal, MlrTrial
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict

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
    found = search(GOAL, Fraction(33), limit("0"))
    assert (found.state, found.result) == (Verdict.FAIL, None)
    if search is linear_down:
        assert [step.load for step in found.steps] == [100, 67, 34, 1], "the minimum once"


@pytest.mark.parametrize("search", [linear_down, linear_up, combo])
def test_everything_passes_is_the_maximum(search: Callable[..., SearchOutcome]) -> None:
    found = search(GOAL, Fraction(33), limit("100"))
    assert (found.result, found.failed, found.at_least) == (100, None, False)
    assert [step.load for step in found.steps].count(Fraction(100)) == 1


@pytest.mark.parametrize("true_limit", ["5", "66", "66.5", "99"])
def test_combo_narrows_the_bracket_to_the_resolution(true_limit: str) -> None:
    found = combo(GOAL, TEN, limit(true_limit))
    assert found.result is not None and found.failed is not None
    assert found.result <= Fraction(true_limit) < found.failed
    assert found.failed - found.result <= GOAL.resolution


@pytest.mark.parametrize(
    ("backoff", "trials"),
    [
        # 50, 60, 70 fails. Half: 65 passes, 67.5 passes, then the bracket 67.5..70 is below 3.
        ("0.5", [50, 60, 70, 65, "67.5"]),
        # A fifth of 60..70: 68 fails, a fifth of 60..68: 66.4 passes, and 66.4..68 is below 3.
        ("0.2", [50, 60, 70, 68, "66.4"]),
        # Four fifths of 60..70: 62 passes, then the middles: 66 passes, 68 fails, and 66..68 is below 3.
        ("0.8", [50, 60, 70, 62, 66, 68]),
    ],
)
def test_combo_backs_off_after_a_fail_by_a_share_of_the_bracket(backoff: str, trials: list[int | str]) -> None:
    goal = replace(GOAL, resolution=Fraction(3))
    found = combo(goal, TEN, limit("67.6" if backoff != "0.8" else "66.1"), Fraction(backoff))
    assert [step.load for step in found.steps] == [Fraction(load) for load in trials]
    assert found.result == max(step.load for step in found.steps if step.verdict is Verdict.PASS)
    assert found.failed == min(step.load for step in found.steps if step.verdict is Verdict.FAIL)


def test_combo_starts_at_the_initial_load_and_searches_below_it_where_that_fails() -> None:
    found = combo(replace(GOAL, resolution=Fraction(10)), TEN, limit("20"))
    # 50 fails; 25.5 = the middle of 1..50 fails; 13.25 = the middle of 1..25.5 passes; 19.375 passes; width 6.125.
    assert [step.load for step in found.steps] == [50, Fraction("25.5"), Fraction("13.25"), Fraction("19.375")]
    assert (found.result, found.failed) == (Fraction("19.375"), Fraction("25.5"))


def test_combo_tries_the_minimum_last() -> None:
    for true_limit, state, result in (("1", Verdict.MEASURED, 1), ("0.9", Verdict.FAIL, None)):
        found = combo(replace(GOAL, resolution=Fraction(10)), TEN, limit(true_limit))
        assert (found.state, found.result, found.last_tried) == (state, result, 1)


@pytest.mark.parametrize("grid", list(Grid))
def test_combo_of_random_devices_brackets_their_limit(grid: Grid) -> None:
    random = Random(grid.value)
    for _ in range(500):
        low, first, high = sorted(random.sample(range(1, 1000), 3))
        resolution, step = Fraction(random.randrange(1, 50)), Fraction(random.randrange(1, 200))
        goal = SearchGoal(Fraction(first), Fraction(low), Fraction(high), resolution, grid=grid)
        true_limit = Fraction(random.randrange(0, 1_000_000), 997)
        device = limit(str(true_limit))
        found = combo(goal, step, device, Fraction(random.randrange(1, 100), 100))
        loads = [step.load for step in found.steps]
        assert len(loads) == len(set(loads)) < 1100 and all(low <= load <= high for load in loads)
        assert all(step.verdict is device(step.load) for step in found.steps)
        if true_limit < low:
            assert (found.state, found.result, found.last_tried) == (Verdict.FAIL, None, low)
        elif true_limit >= high:
            assert (found.result, found.failed) == (high, None)
        else:
            assert found.result is not None and found.failed is not None
            assert found.result <= true_limit < found.failed
            assert found.failed - found.result <= max(resolution, 1)


@pytest.mark.parametrize("backoff", ["0", "1", "1.5"])
def test_a_backoff_that_does_not_move_is_refused(backoff: str) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        combo(GOAL, TEN, limit("10"), Fraction(backoff))


@pytest.mark.parametrize("before", [(Verdict.PASS,), (Verdict.PASS, Verdict.FAIL)])
def test_combo_ends_at_an_untrusted_trial(before: tuple[Verdict, ...]) -> None:
    answers = iter([*before, Verdict.ABORT])
    assert combo(GOAL, TEN, lambda _: next(answers)).state is Verdict.ABORT


def test_combo_ends_with_a_bracket_as_wide_as_the_resolution() -> None:
    found = combo(replace(GOAL, resolution=Fraction(5)), TEN, limit("62"))
    assert [step.load for step in found.steps] == [50, 60, 70, 65]


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


def test_a_load_that_has_passed_is_not_tried_again() -> None:
    """A device that loses frames by chance: the search of integers ends where 19 has passed and 20 has not."""
    asked: list[Fraction] = []

    def trial(load: Fraction) -> tuple[Verdict, int]:
        asked.append(load)
        return (Verdict.PASS, 0) if load < 20 and load not in asked[:-1] else (Verdict.FAIL, 1)

    found = bisect(
        SearchGoal(TEN, Fraction(1), Fraction(100), Fraction(1), grid=Grid.INTEGER), verified(trial, LossVerification())
    )
    assert (found.state, found.result, found.failed) == (Verdict.MEASURED, 19, 20)
    assert asked.count(Fraction(19)) == 1


def test_loss_in_every_repetition_stays_a_fail() -> None:
    count = 0

    def trial(_: Fraction) -> tuple[Verdict, int]:
        nonlocal count
        count += 1
        return Verdict.FAIL, 1

    assert verified(trial, LossVerification(trials=3))(TEN) is Verdict.FAIL
    assert count == 3


@pytest.mark.parametrize(
    ("first", "result"),
    [((Verdict.INVALID, 0), Verdict.INVALID), ((Verdict.FAIL, 8), Verdict.PASS), ((Verdict.FAIL, 9), Verdict.FAIL)],
)
def test_only_a_loss_of_up_to_z_frames_is_tried_again(first: tuple[Verdict, int], result: Verdict) -> None:
    answers = iter([first, (Verdict.PASS, 0)])
    assert verified(lambda _: next(answers), LossVerification(2, overload_frames=8))(TEN) is result


def test_one_trial_is_the_least_and_any_loss_may_be_clear() -> None:
    assert verified(lambda _: (Verdict.FAIL, 1), LossVerification(trials=1, overload_frames=0))(TEN) is Verdict.FAIL
    for trials, frames in ((0, 0), (1, -1)):
        with pytest.raises(ValueError, match="r >= 1 and z >= 0"):
            LossVerification(trials, frames)


@pytest.mark.parametrize(
    ("clear_at", "longer", "lengths"),
    [
        (10, 5, [10]),
        (50, 5, [10, 50]),
        (320, 5, [10, 50, 250, 320]),
        (10**6, 5, [10, 50, 250, 320]),
        # A queue that fills by copies is told already: whether it loses others shows when it is full.
        (10**6, 0, [10, 100, 320]),
    ],
)
def test_a_trial_that_cannot_tell_is_repeated_up_to_32_times_as_long(
    clear_at: int, longer: int, lengths: list[int]
) -> None:
    """The trend asks for trials that are so many times longer."""
    asked: list[int] = []

    def trial(length_ns: int) -> Any:
        asked.append(length_ns)
        verdict = Verdict.PASS if length_ns >= clear_at else Verdict.UNCLEAR
        return SimpleNamespace(verdict=verdict, result=SimpleNamespace(queues=SimpleNamespace(longer=longer)))

    assert until_clear(trial, 10).verdict is (Verdict.UNCLEAR if clear_at > 320 else Verdict.PASS)
    assert asked == lengths


def test_the_longest_trial_fails_by_an_excess_that_is_certainly_above_50_ppm() -> None:
    def of(excess_ppm: float, verdict: Verdict = Verdict.UNCLEAR) -> Verdict:
        trend = QueueTrend(Trend.UNCLEAR, excess_ppm=excess_ppm, error_ppm=100.0)
        return settled(verdict, replace(TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13), queues=trend))

    assert [of(excess_ppm) for excess_ppm in (150, 151)] == [Verdict.PASS, Verdict.FAIL]
    assert of(151, Verdict.PASS) is Verdict.PASS, "told already"


def mlr_device(limit_pct: float) -> Callable[[Fraction, Fraction], MlrTrial]:
    def trial(load: Fraction, duration_s: Fraction) -> MlrTrial:
        offered = int(load * duration_s * 1000)
        lost = max(0, int((load - Fraction(limit_pct)) * duration_s * 1000))
        return MlrTrial(offered, lost, Verdict.FAIL if lost else Verdict.PASS)

    return trial


@pytest.mark.parametrize("limit_pct", [17.5, 66.0, 99.0])
def test_mlrsearch_brackets_a_known_limit_within_its_width(limit_pct: float) -> None:
    mlr = MlrGoal(Fraction(1), Fraction(2), relative_width=Fraction(1, 100))
    found = mlr_search(GOAL, [mlr], mlr_device(limit_pct))
    lower, upper = found.outcome.passed, found.outcome.failed
    assert lower is not None and upper is not None
    assert lower <= limit_pct + 0.001 and upper > limit_pct
    assert (upper - lower) / upper <= mlr.relative_width
    assert found.results[0].conditional == pytest.approx(float(lower))


def test_mlrsearch_answers_several_goals_from_one_set_of_trials() -> None:
    """A device that loses what exceeds 60 %: a loss ratio of 10 % is met up to 60 / 0.9 %."""
    strict = MlrGoal(Fraction(1), Fraction(2), relative_width=Fraction(1, 100))
    lenient = replace(strict, loss_ratio=Fraction(1, 10))
    found = mlr_search(GOAL, [strict, lenient], mlr_device(60.0))
    first, second = found.results
    assert first.lower is not None and second.lower is not None and second.upper is not None
    assert (first.goal, second.goal) == (strict, lenient)
    assert first.lower <= 60 and found.outcome.result == first.lower
    assert second.lower <= Fraction(60) / Fraction("0.9") < second.upper
    # The forwarding rate at the lower bound, not the load.
    assert second.conditional is not None
    assert second.conditional == pytest.approx(60, rel=0.02)
    assert second.conditional < second.lower


def test_mlrsearch_uses_shorter_trials_on_its_way_and_final_ones_for_its_bounds() -> None:
    durations: dict[Fraction, set[Fraction]] = {}
    device = mlr_device(66.0)

    def trial(load: Fraction, duration_s: Fraction) -> MlrTrial:
        durations.setdefault(load, set()).add(duration_s)
        return device(load, duration_s)

    goal = MlrGoal(Fraction(10), Fraction(20), relative_width=Fraction(1, 100), initial_trial_duration_s=Fraction(1))
    found = mlr_search(GOAL, [goal], trial)
    assert min(min(some) for some in durations.values()) == 1
    assert found.outcome.passed is not None and found.outcome.failed is not None
    assert Fraction(10) in durations[found.outcome.passed]


def classified(
    goal: MlrGoal, good_long: Fraction, bad_long: Fraction, good_short: Fraction, bad_short: Fraction
) -> tuple[bool, bool]:
    """RFC 9971 appendix A as in methodology 1.5, in units of seconds."""
    exceed = goal.exceed_ratio
    balancing = good_short * exceed / (1 - exceed)
    bad = bad_long + max(Fraction(0), bad_short - balancing)
    whole = max(good_long + bad, goal.duration_sum_s)
    quantile = whole * exceed
    return bad <= quantile, whole - good_long <= quantile


@pytest.mark.parametrize("exceed", [Fraction(0), Fraction(1, 4), Fraction(1, 2)])
def test_bounds_of_mlrsearch_are_bounds_by_the_rules_of_the_rfc(exceed: Fraction) -> None:
    """A device that flaps between 50 and 70 %; all trials are counted again, independently of the library."""
    random = Random(7)
    seen: dict[Fraction, list[tuple[Fraction, bool]]] = {}

    def trial(load: Fraction, duration_s: Fraction) -> MlrTrial:
        bad = load > 50 and random.random() < float((load - 50) / 20)
        seen.setdefault(load, []).append((duration_s, bad))
        return MlrTrial(1000, int(bad), Verdict.FAIL if bad else Verdict.PASS)

    goal = MlrGoal(Fraction(4), Fraction(20), Fraction(0), exceed, Fraction(1, 50), Fraction(1))
    (result,) = mlr_search(GOAL, [goal], trial).results

    def judge(load: Fraction) -> tuple[bool, bool]:
        sums = {(long, bad): Fraction(0) for long in (False, True) for bad in (False, True)}
        for duration_s, bad in seen[load]:
            sums[duration_s >= goal.final_trial_duration_s, bad] += duration_s
        return classified(goal, sums[True, False], sums[True, True], sums[False, False], sums[False, True])

    assert result.lower is not None and result.upper is not None
    assert judge(result.lower) == (True, True)
    assert judge(result.upper) == (False, False)
    assert (result.upper - result.lower) / result.upper <= goal.relative_width
    assert all(judge(load) != (False, False) for load in seen if load < result.upper), "upper bounds win"


@pytest.mark.parametrize(
    ("preset", "goals"),
    [
        (MlrPreset.RFC_2544, [(60, 60, 0, 0)]),
        (MlrPreset.TST_009, [(60, 120, 0, Fraction(1, 2))]),
        (MlrPreset.SOFTWARE, [(60, 1260, 0, Fraction(1, 2)), (60, 1260, Fraction(1, 200), Fraction(1, 2))]),
    ],
)
def test_goals_by_name(preset: MlrPreset, goals: list[tuple[Fraction, ...]]) -> None:
    made = MlrAttributes(preset, initial_share=Fraction(1, 30)).goals(Fraction(60), Fraction(1, 3))
    assert {goal.initial_trial_duration_s for goal in made} == {2}
    assert [(g.final_trial_duration_s, g.duration_sum_s, g.loss_ratio, g.exceed_ratio) for g in made] == goals


def test_mlrsearch_at_the_maximum_has_no_upper_bound() -> None:
    found = mlr_search(GOAL, [MlrGoal(Fraction(1), Fraction(2))], mlr_device(100))
    assert (found.outcome.result, found.outcome.failed) == (100, None)


def test_mlrsearch_without_a_lower_bound_is_irregular() -> None:
    found = mlr_search(GOAL, [MlrGoal(Fraction(1), Fraction(2))], mlr_device(0))
    assert (found.outcome.state, found.outcome.result) == (Verdict.FAIL, None)
    assert (found.results[0].lower, found.results[0].conditional) == (None, None)


def test_mlrsearch_ends_at_an_untrusted_trial() -> None:
    found = mlr_search(GOAL, [MlrGoal(Fraction(1), Fraction(2))], lambda *_: MlrTrial(1, 0, Verdict.INVALID))
    assert (found.outcome.state, found.results) == (Verdict.INVALID, ())
