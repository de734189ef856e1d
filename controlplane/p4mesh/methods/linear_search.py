"""Step searches (methodology 1.2): downwards, upwards, and steps followed by a binary search with back-off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from p4mesh.methods.search import SearchGoal, SearchOutcome, SearchStep, Verdict

Trial = Callable[[Fraction], Verdict]
HALF = Fraction(1, 2)


def linear_down(goal: SearchGoal, step: Fraction, trial: Trial) -> SearchOutcome:
    """Step down from the maximum, at last to the minimum, until the first PASS, which is the result."""
    return _walk(goal, _downwards(goal, step), trial, stop=Verdict.PASS)


def linear_up(goal: SearchGoal, step: Fraction, trial: Trial) -> SearchOutcome:
    """Step up from the minimum, at last to the maximum, until the first FAIL; the load before it is the result."""
    return _walk(goal, _upwards(goal, step, goal.minimum), trial, stop=Verdict.FAIL)


def combo(goal: SearchGoal, step: Fraction, trial: Trial, backoff: Fraction = HALF) -> SearchOutcome:
    """Step up from the initial load until the first FAIL, then search the bracket down to the resolution.

    After a FAIL the load falls by ``backoff`` of the bracket, after a PASS it rises to its middle. Where nothing
    has passed, the minimum is tried last. Raises ValueError unless ``backoff`` is between 0 and 1.
    """
    if not 0 < backoff < 1:
        raise ValueError(f"a back-off is between 0 and 1, not {backoff}")
    found = _walk(goal, _upwards(goal, step, goal.initial), trial, stop=Verdict.FAIL)
    if found.failed is None or not found.state.decides:
        return found
    steps = list(found.steps)
    passed, failed = found.passed, found.failed

    def outcome(state: Verdict) -> SearchOutcome:
        return SearchOutcome(state, passed, failed, steps[-1].load, tuple(steps), goal)

    verdict = Verdict.FAIL
    while failed > goal.minimum:
        low = goal.minimum if passed is None else passed
        share = backoff if verdict is Verdict.FAIL else HALF
        load = goal.grid.floored(failed - share * (failed - low))
        if not low < load < failed:
            load = goal.grid.midpoint(low, failed)
        if failed - low <= max(goal.resolution, goal.grid.granularity) or load in (low, failed):
            if passed is not None:
                break
            load = goal.minimum
        verdict = trial(load)
        steps.append(SearchStep(load, verdict))
        if not verdict.decides:
            return outcome(verdict)
        if verdict is Verdict.PASS:
            passed = load
        else:
            failed = load
    return outcome(Verdict.FAIL if passed is None else Verdict.PASS)


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


def _upwards(goal: SearchGoal, step: Fraction, start: Fraction) -> Iterator[Fraction]:
    load = start
    while load < goal.maximum:
        yield load
        load += step
    yield goal.maximum
