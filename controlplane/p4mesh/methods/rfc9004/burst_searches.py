"""Searches for the longest burst without loss, and their repetition (RFC 9004 6.2, 6.3)."""

from __future__ import annotations

from fractions import Fraction

from p4mesh.errors import ParameterError
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.search.goal import Grid, SearchGoal, SearchOutcome
from p4mesh.verdict import Judgement, Verdict

AT_THE_LIMIT = Judgement(Verdict.INVALID, "raise burst_limit_s")
REPEATED = Judgement(Verdict.MEASURED, "near the limit: repeated")
_NEAR = Fraction(1, 100)
"""Share of the longest burst from which a result may be set by the limit and not by the device."""


class Searches:
    """The searches for the longest burst of one frame size."""

    def __init__(self, wanted: int) -> None:
        """Ask for a number of searches with a result."""
        self._wanted = wanted
        self.outcomes: list[tuple[SearchOutcome, Judgement]] = []
        """Every search, with the judgement on its result."""
        self.trials: list[int] = []
        """Trials of each search: verification repeats some of its steps."""

    @property
    def missing(self) -> int:
        """Number of searches still to run."""
        return self._wanted - len(self.bursts)

    @property
    def complete(self) -> bool:
        """Whether enough searches have a result, or one of them cannot get a result."""
        return not self.missing or self.last.state is not Verdict.MEASURED

    @property
    def last_is_near(self) -> bool:
        """Whether the last result was near the longest burst that was allowed."""
        return self.last is REPEATED

    @property
    def last(self) -> Judgement:
        """The judgement on the last search: MEASURED, or why there is no result."""
        return self.outcomes[-1][1] if self.outcomes else Judgement(Verdict.MEASURED)

    @property
    def bursts(self) -> list[int]:
        """The results."""
        good = (outcome.result for outcome, found in self.outcomes if found == Judgement(Verdict.MEASURED))
        return [int(burst) for burst in good if burst is not None]

    def add(self, outcome: SearchOutcome, trials: int, *, raised: bool) -> None:
        """Keep a search; one near its limit is repeated when the limit can be ``raised``, else no search can have a
        result.
        """
        self.trials.append(trials)
        found = Judgement(outcome.state)
        if outcome.result is not None and is_near_limit(outcome):
            found = REPEATED if raised else AT_THE_LIMIT
        self.outcomes.append((outcome, found))


def is_near_limit(outcome: SearchOutcome) -> bool:
    """Whether a result is at or near the longest burst, and likely no property of the device (RFC 9004 6.2)."""
    assert outcome.result is not None
    goal = outcome.goal
    return outcome.result + max(goal.resolution, _NEAR * goal.maximum) >= goal.maximum


def burst_goal(parameters: ParameterSet, longest: int | None = None) -> SearchGoal:
    """The search on the burst length, from the middle of its range."""
    low, high = (Fraction(parameters.integer(f"burst_{name}_frames")) for name in ("min", "max"))
    if low > high:
        raise ParameterError(
            f"burst_min_frames={low} is above burst_max_frames={high}", hint="burst_min_frames <= burst_max_frames"
        )
    high = Fraction(longest or high)
    step = Fraction(parameters.integer("burst_step_frames"))
    return SearchGoal(Grid.INTEGER.midpoint(low, high), low, high, step, grid=Grid.INTEGER)
