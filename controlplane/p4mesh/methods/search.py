"""Searches for the highest load that passes (methodology section 1).

A search calls ``trial(load)`` and learns one verdict. It never sees counts, and it never reports a
marker value: a search that found no passing load has no value, only the last load that it tried.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import ceil, floor, log2
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


class Verdict(str, Enum):
    """Verdict of one trial or of a search (methodology 0.6)."""

    PASS = "PASS"
    FAIL = "FAIL"
    INVALID = "INVALID"
    ABORT = "ABORT"

    @property
    def decides(self) -> bool:
        """Whether the device was judged; an INVALID or ABORT trial says nothing about it."""
        return self in (Verdict.PASS, Verdict.FAIL)


class Grid(str, Enum):
    """Which loads a bisection may try."""

    EXACT = "exact"
    """Midpoints at full precision (Valkyrie2889 1.40)."""
    THREE_DECIMALS = "three_decimals"
    """Midpoints rounded down to 3 decimals (XOA)."""
    INTEGER = "integer"
    """Midpoints rounded down to integers in both directions (addresses)."""

    def midpoint(self, low: Fraction, high: Fraction) -> Fraction:
        """Return the next load between ``low`` and ``high``."""
        return self.floored((low + high) / 2)

    def floored(self, load: Fraction) -> Fraction:
        """Return the load of the grid at or below ``load``."""
        if self is Grid.INTEGER:
            return Fraction(floor(load))
        if self is Grid.THREE_DECIMALS:
            return Fraction(floor(load * 1000), 1000)
        return load

    @property
    def granularity(self) -> Fraction:
        """Smallest bracket worth a trial: one ppm of line rate where loads are percents."""
        return {
            Grid.EXACT: Fraction(1, 10_000),
            Grid.THREE_DECIMALS: Fraction(1, 1000),
            Grid.INTEGER: Fraction(1),
        }[self]


@dataclass(frozen=True)
class SearchGoal:
    """Parameters of a bisection; loads are percents of line rate or integers."""

    initial: Fraction
    minimum: Fraction
    maximum: Fraction
    resolution: Fraction
    try_max_first: bool = False
    grid: Grid = Grid.EXACT

    def __post_init__(self) -> None:
        """Refuse bounds that no search can honour."""
        if not self.minimum <= self.initial <= self.maximum or self.resolution <= 0:
            raise ValueError(
                f"a search needs minimum <= initial <= maximum and a positive resolution, not {self.minimum}, "
                f"{self.initial}, {self.maximum}, {self.resolution}"
            )

    @property
    def trials_expected(self) -> int:
        """Typical number of trials, for progress only."""
        span = max(self.maximum - self.minimum, self.resolution)
        return 2 + int(self.try_max_first) + ceil(log2(span / self.resolution))


@dataclass(frozen=True)
class SearchStep:
    """One trial of a search."""

    load: Fraction
    verdict: Verdict


@dataclass(frozen=True)
class SearchOutcome:
    """What a search found, with its bounds and every trial in order."""

    state: Verdict
    passed: Fraction | None
    """Highest load that passed. It is the result only when ``state`` is PASS."""
    failed: Fraction | None
    """Lowest load that failed; None when nothing failed."""
    last_tried: Fraction
    steps: tuple[SearchStep, ...]
    goal: SearchGoal

    @property
    def result(self) -> Fraction | None:
        """The load that the search answers with; None unless the search passed."""
        return self.passed if self.state is Verdict.PASS else None

    @property
    def at_least(self) -> bool:
        """Whether the result is only a floor: no load above it was tried, and it is not the maximum."""
        return self.result is not None and self.failed is None and self.result < self.goal.maximum


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

    The stop test on resolution happens only after a PASS. A failing load within ``resolution`` of the
    minimum ends the search as FAIL, also when the minimum itself passed (the published rule). Two
    rules close what it leaves open: a bracket narrower than the grid's granularity ends the search (a
    device whose limit is exactly a tried load would be searched for ever), and an INVALID or ABORT
    trial ends it at once, because it is neither PASS nor FAIL.
    """
    run = _Bracket(goal)
    load = goal.initial
    if goal.try_max_first:
        verdict = run.note(goal.maximum, (yield goal.maximum))
        if verdict is not Verdict.FAIL or goal.minimum == goal.maximum:
            return run.outcome(verdict)
        if load == goal.maximum:
            load = goal.grid.midpoint(goal.minimum, goal.maximum)
    while True:
        verdict = run.note(load, (yield load))
        if not verdict.decides:
            return run.outcome(verdict)
        if verdict is Verdict.PASS:
            following = goal.grid.midpoint(load, run.right)
            if following >= goal.maximum or run.right - load <= goal.resolution:
                return run.outcome(Verdict.PASS)
        else:
            following = goal.grid.midpoint(run.left, load)
            if load <= goal.minimum + goal.resolution:
                return run.outcome(Verdict.FAIL)
            if run.right <= run.left:
                return run.outcome(Verdict.FAIL)
            if run.right - run.left < goal.grid.granularity:
                return run.outcome(Verdict.FAIL if run.passed is None else Verdict.PASS)
        load = following


class _Bracket:
    """State of one bisection: the bracket and the trials so far."""

    def __init__(self, goal: SearchGoal) -> None:
        self.goal = goal
        self.left = goal.minimum
        self.right = goal.maximum
        self.passed: Fraction | None = None
        self.failed: Fraction | None = None
        self.steps: list[SearchStep] = []

    def note(self, load: Fraction, verdict: Verdict) -> Verdict:
        self.steps.append(SearchStep(load, verdict))
        if verdict is Verdict.PASS:
            self.passed = self.left = load
        elif verdict is Verdict.FAIL:
            self.failed = self.right = load
        return verdict

    def outcome(self, state: Verdict) -> SearchOutcome:
        return SearchOutcome(state, self.passed, self.failed, self.steps[-1].load, tuple(self.steps), self.goal)
