"""Step searches (methodology 1.2): downwards, upwards, and steps followed by a bisection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from p4mesh.methods.search import SearchGoal, SearchOutcome, SearchStep, Verdict, bisect

Trial = Callable[[Fraction], Verdict]


def linear_down(goal: SearchGoal, step: Fraction, trial: Trial) -> SearchOutcome:
    """Step down from the maximum, at last to the minimum, until the first PASS, which is the result."""
    return _walk(goal, _downwards(goal, step), trial, stop=Verdict.PASS)


def linear_up(goal: SearchGoal, step: Fraction, trial: Trial) -> SearchOutcome:
    """Step up from the minimum, at last to the maximum, until the first FAIL; the load before it is the result."""
    return _walk(goal, _upwards(goal, step), trial, stop=Verdict.FAIL)


def combo(goal: SearchGoal, step: Fraction, trial: Trial) -> SearchOutcome:
    """Step up until the first FAIL, then bisect between the last two loads down to the resolution."""
    coarse = linear_up(goal, step, trial)
    low, high = coarse.passed, coarse.failed
    if coarse.state is not Verdict.PASS or low is None or high is None or high - low <= goal.resolution:
        return coarse
    steps = list(coarse.steps)

    def fine_trial(load: Fraction) -> Verdict:
        verdict = trial(load)
        steps.append(SearchStep(load, verdict))
        return verdict

    middle = goal.grid.midpoint(low, high)
    fine = bisect(replace(goal, initial=middle, minimum=low, maximum=high, try_max_first=False), fine_trial)
    if not fine.state.decides:
        return replace(fine, steps=tuple(steps), goal=goal)
    passed = low if fine.passed is None else fine.passed
    failed = high if fine.failed is None else fine.failed
    return SearchOutcome(Verdict.PASS, passed, failed, steps[-1].load, tuple(steps), goal)


def _walk(goal: SearchGoal, loads: Iterator[Fraction], trial: Trial, stop: Verdict) -> SearchOutcome:
    steps: list[SearchStep] = []
    passed = failed = None
    for load in loads:
        verdict = trial(load)
        steps.append(SearchStep(load, verdict))
        if not verdict.decides:
            return SearchOutcome(verdict, passed, failed, load, tuple(steps), goal)
        if verdict is Verdict.PASS:
            passed = load
        else:
            failed = load
        if verdict is stop:
            break
    state = Verdict.FAIL if passed is None else Verdict.PASS
    return SearchOutcome(state, passed, failed, steps[-1].load, tuple(steps), goal)


def _downwards(goal: SearchGoal, step: Fraction) -> Iterator[Fraction]:
    load = goal.maximum
    while load > goal.minimum:
        yield load
        load -= step
    yield goal.minimum


def _upwards(goal: SearchGoal, step: Fraction) -> Iterator[Fraction]:
    load = goal.minimum
    while load < goal.maximum:
        yield load
        load += step
    yield goal.maximum
