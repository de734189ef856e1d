"""Goal and outcome of a search (methodology section 1).

A search without a passing load has no value, only the last load that it tried. There are no marker values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from math import ceil, floor, log2

from p4mesh.verdict import Verdict


class Grid(str, Enum):
    """The loads that a bisection may try."""

    EXACT = "exact"
    """Midpoints at full precision (Valkyrie2889 1.40)."""
    THREE_DECIMALS = "three_decimals"
    """Midpoints rounded down to 3 decimals (XOA)."""
    INTEGER = "integer"
    """Midpoints rounded down to integers in both directions (addresses)."""

    def midpoint(self, low: Fraction, high: Fraction) -> Fraction:
        """The next load between ``low`` and ``high``."""
        return self.floored((low + high) / 2)

    def floored(self, load: Fraction) -> Fraction:
        """The load of the grid at or below ``load``."""
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
    descent: Fraction | None = None
    """Until a load passes, each is at most this far below the one that failed, then twice as far, and so on."""

    def __post_init__(self) -> None:
        """Refuse bounds that no search can honour."""
        if not self.minimum <= self.initial <= self.maximum or self.resolution <= 0:
            raise ValueError(
                f"a search needs minimum <= initial <= maximum and a positive resolution, not {self.minimum}, "
                f"{self.initial}, {self.maximum}, {self.resolution}"
            )

    def below(self, load: Fraction) -> SearchGoal:
        """The goal of a bisection below a load that passed at first: the limit is probably not far from it."""
        initial = max(self.minimum, self.grid.floored(load - self.resolution))
        return replace(self, initial=initial, maximum=load, try_max_first=False, descent=2 * self.resolution)

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
    """Outcome of a search, with its bounds and every trial in order."""

    state: Verdict
    """MEASURED where a load passed, else FAIL, or INVALID or ABORT where the device could not be judged."""
    passed: Fraction | None
    """Highest load that passed. It is the result only when ``state`` is MEASURED."""
    failed: Fraction | None
    """Lowest load that failed; None when nothing failed."""
    last_tried: Fraction
    steps: tuple[SearchStep, ...]
    goal: SearchGoal
    undelivered: Fraction | None = None
    """Lowest load that the tester could not send; None when it could send all."""

    @classmethod
    def of_steps(cls, steps: Sequence[SearchStep], goal: SearchGoal) -> SearchOutcome:
        """The outcome of the trials of a search, in any order of their loads.

        The highest load that passed is the result. Where that or a lower one has failed as well, the trials contradict
        each other, and the search is a FAIL. A trial that says nothing about the device, other than that the tester
        could not send the load, makes the search as untrusted.
        """
        failed = min((step.load for step in steps if step.verdict is Verdict.FAIL), default=None)
        passed = max((step.load for step in steps if step.verdict is Verdict.PASS), default=None)
        undelivered = min((step.load for step in steps if step.verdict is Verdict.UNDELIVERED), default=None)
        if steps[-1].verdict.ends_search:
            state = steps[-1].verdict
        elif failed is not None and (passed is None or failed <= passed):
            state = Verdict.FAIL
        else:
            state = Verdict.INVALID if passed is None else Verdict.MEASURED
        return cls(state, passed, failed, steps[-1].load, tuple(steps), goal, undelivered)

    @property
    def result(self) -> Fraction | None:
        """The load that the search answers with; None where it has found none."""
        return self.passed if self.state is Verdict.MEASURED else None

    @property
    def at_least(self) -> bool:
        """Whether the result is only a floor: no load above it was judged, and it is not the maximum."""
        return self.result is not None and self.failed is None and self.result < self.goal.maximum
