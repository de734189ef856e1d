"""Bisection for the highest load that passes, of one search or of several in the same trials (methodology 1.1, 1.6).

A search calls ``trial(load)`` and learns one verdict; it never sees counts.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping
from fractions import Fraction
from typing import TypeVar

from p4mesh.methods.search.goal import SearchGoal, SearchOutcome, SearchStep
from p4mesh.verdict import Verdict

K = TypeVar("K", bound=Hashable)


def bisect(goal: SearchGoal, trial: Callable[[Fraction], Verdict]) -> SearchOutcome:
    """Run the search of :func:`bisection`, one trial after the other."""
    return bisect_each({None: goal}, lambda loads: {None: trial(loads[None])})[None]


def bisect_each(
    goals: Mapping[K, SearchGoal], trial: Callable[[Mapping[K, Fraction]], Mapping[K, Verdict]]
) -> dict[K, SearchOutcome]:
    """Run several searches in the same trials; each goes on with its own verdicts (methodology 1.6).

    A search that has ended stays at its result, or at its minimum where nothing passed.
    """
    searches = {key: bisection(goal) for key, goal in goals.items()}
    loads = {key: next(search) for key, search in searches.items()}
    outcomes: dict[K, SearchOutcome] = {}
    while len(outcomes) < len(goals):
        verdicts = trial(loads)
        for key, search in searches.items():
            if key in outcomes:
                continue
            try:
                loads = {**loads, key: search.send(verdicts[key])}
            except StopIteration as end:
                found: SearchOutcome = end.value
                outcomes[key] = found
                loads = {**loads, key: goals[key].minimum if found.result is None else found.result}
    return outcomes


def bisection(goal: SearchGoal) -> Generator[Fraction, Verdict, SearchOutcome]:
    """Search as methodology 1.1: yields loads, is sent their verdicts, returns the outcome.

    The stop test on resolution happens only after a PASS. A failing load within ``resolution`` of the minimum ends the
    search (the published rule), but where nothing has passed the minimum itself is tried at last. The highest load that
    passed is the result, also where that is the minimum, and without one, or where it failed as well, the search is a
    FAIL. Three rules cover the remaining cases: a bracket narrower than the grid's granularity ends the search (else
    the search of a device whose limit is exactly a tried load would never end); an INVALID or ABORT trial ends it at
    once, because it is neither PASS nor FAIL; after a load that the tester could not send the search goes on below, as
    after a FAIL, but no nearer to the highest load that passed than the resolution, because that would find the limit
    of the tester.
    """
    run = _Bracket(goal)
    load = goal.initial
    if goal.try_max_first:
        verdict = run.note(goal.maximum, (yield goal.maximum))
        if verdict is Verdict.PASS or verdict.ends_search or goal.minimum == goal.maximum:
            return run.outcome
        if load == goal.maximum:
            load = goal.grid.midpoint(goal.minimum, goal.maximum)
    while True:
        verdict = run.note(load, (yield load))
        if verdict.ends_search:
            return run.outcome
        if verdict is Verdict.PASS:
            following = goal.grid.midpoint(load, run.right)
            if following >= goal.maximum or run.right - load <= goal.resolution:
                return run.outcome
        else:
            following = run.lower(load)
            exact = goal.resolution if run.passed and verdict is Verdict.UNDELIVERED else goal.grid.granularity
            if load <= goal.minimum + goal.resolution or run.right - run.left < exact:
                if run.passed or load == goal.minimum:
                    return run.outcome
                following = goal.minimum
        load = following


class _Bracket:
    """State of one bisection: the bracket and the trials so far."""

    def __init__(self, goal: SearchGoal) -> None:
        self.goal = goal
        self.left = goal.minimum
        self.right = goal.maximum
        self.passed = False
        self.descent = goal.descent
        self.steps: list[SearchStep] = []

    def note(self, load: Fraction, verdict: Verdict) -> Verdict:
        self.steps.append(SearchStep(load, verdict))
        if verdict is Verdict.PASS:
            self.left = load
            self.passed = True
        elif not verdict.ends_search:
            self.right = load
        return verdict

    def lower(self, load: Fraction) -> Fraction:
        """The load that follows one that failed."""
        middle = self.goal.grid.midpoint(self.left, load)
        if self.passed or self.descent is None:
            return middle
        step, self.descent = self.descent, 2 * self.descent
        return max(middle, self.goal.grid.floored(load - step))

    @property
    def outcome(self) -> SearchOutcome:
        return SearchOutcome.of_steps(self.steps, self.goal)
