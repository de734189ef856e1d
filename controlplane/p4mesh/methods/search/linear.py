"""Step searches (methodology 1.2): downwards and upwards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from fractions import Fraction

from p4mesh.methods.search.goal import SearchGoal, SearchOutcome, SearchStep
from p4mesh.verdict import Verdict

Trial = Callable[[Fraction], Verdict]


def linear_down(goal: SearchGoal, step: Fraction, trial: Trial) -> SearchOutcome:
    """Step down from the maximum, at last to the minimum, until the first PASS, which is the result."""
    return walk(goal, _downwards(goal, step), trial, {Verdict.PASS})


def linear_up(goal: SearchGoal, step: Fraction, trial: Trial) -> SearchOutcome:
    """Step up from the minimum, at last to the maximum, until the first FAIL; the load before it is the result.

    A load that the tester cannot send ends the search too: nothing above it can be sent either.
    """
    return walk(goal, upwards(goal, step, goal.minimum), trial, {Verdict.FAIL, Verdict.UNDELIVERED})


def walk(goal: SearchGoal, loads: Iterator[Fraction], trial: Trial, stops: Collection[Verdict]) -> SearchOutcome:
    """Try the loads in turn until one has a verdict of ``stops`` or cannot be trusted."""
    steps: list[SearchStep] = []
    for load in loads:
        verdict = trial(load)
        steps.append(SearchStep(load, verdict))
        if verdict in stops or verdict.ends_search:
            break
    return SearchOutcome.of_steps(steps, goal)


def _downwards(goal: SearchGoal, step: Fraction) -> Iterator[Fraction]:
    load = goal.maximum
    while load > goal.minimum:
        yield load
        load -= step
    yield goal.minimum


def upwards(goal: SearchGoal, step: Fraction, start: Fraction) -> Iterator[Fraction]:
    """The loads from ``start`` in steps, and at last the maximum."""
    load = start
    while load < goal.maximum:
        yield load
        load += step
    yield goal.maximum
