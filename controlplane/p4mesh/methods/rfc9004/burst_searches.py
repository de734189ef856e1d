"""Searches for the longest burst without loss, and their repetition (RFC 9004 6.2, 6.3)."""

from __future__ import annotations

from fractions import Fraction

from p4mesh.errors import ParameterError
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.results.outcome import State
from p4mesh.methods.search.goal import Grid, SearchGoal, SearchOutcome

AT_THE_LIMIT = "INVALID: raise burst_limit_s"
REPEATED = "near the limit: repeated"
_NEAR = Fraction(1, 100)
"""Share of the longest burst from which a result may be set by the limit and not by the device."""


class Searches:
    """The searches for the longest burst of one frame size."""

    def __init__(self, wanted: int) -> None:
        """Ask for a number of searches with a result."""
        self._wanted = wanted
        self._good = 0
        self._last = ""
        self.outcomes: list[tuple[SearchOutcome, str]] = []
        """Every search with its result in words."""

    @property
    def missing(self) -> int:
        """Number of searches still to run."""
        return self._wanted - self._good

    @property
    def complete(self) -> bool:
        """Whether enough searches have a result, or one of them cannot get a result."""
        return not self.missing or self._last not in ("", State.PASS.value, REPEATED)

    @property
    def last_is_near(self) -> bool:
        """Whether the last result was near the longest burst that was allowed."""
        return self._last == REPEATED

    @property
    def state(self) -> str:
        """PASS, or the reason why there is no result."""
        return self._last

    @property
    def bursts(self) -> list[int]:
        """The results."""
        good = (outcome.result for outcome, said in self.outcomes if said == State.PASS.value)
        return [int(burst) for burst in good if burst is not None]

    def add(self, outcome: SearchOutcome, *, raised: bool) -> None:
        """Keep a search; one near its limit is repeated when the limit can be ``raised``, else no search can have a
        result.
        """
        self._last = outcome.state.value
        if outcome.result is not None and is_near_limit(outcome):
            self._last = REPEATED if raised else AT_THE_LIMIT
        self._good += self._last == State.PASS.value
        self.outcomes.append((outcome, self._last))


def is_near_limit(outcome: SearchOutcome) -> bool:
    """Whether a result is at or near the longest burst, and likely no property of the device (RFC 9004 6.2)."""
    assert outcome.result is not None
    goal = outcome.goal
    return outcome.result + max(goal.resolution, _NEAR * goal.maximum) >= goal.maximum


def burst_goal(parameters: ParameterSet, longest: int | None = None) -> SearchGoal:
    """Return the search on the burst length, from the middle of its range."""
    low, high = (Fraction(parameters.integer(f"burst_{name}_frames")) for name in ("min", "max"))
    if low > high:
        raise ParameterError(
            f"burst_min_frames={low} is above burst_max_frames={high}", hint="burst_min_frames <= burst_max_frames"
        )
    high = Fraction(longest or high)
    step = Fraction(parameters.integer("burst_step_frames"))
    return SearchGoal(Grid.INTEGER.midpoint(low, high), low, high, step, grid=Grid.INTEGER)
