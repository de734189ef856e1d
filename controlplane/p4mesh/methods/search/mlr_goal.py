"""Goals and results of MLRsearch (RFC 9971), without the library that searches, which takes long to load."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from p4mesh.methods.search.goal import SearchOutcome
from p4mesh.verdict import Verdict


@dataclass(frozen=True)
class MlrGoal:
    """One search goal of RFC 9971 section 4.6; durations are virtual where the target's time is."""

    final_trial_duration_s: Fraction
    duration_sum_s: Fraction
    loss_ratio: Fraction = Fraction(0)
    exceed_ratio: Fraction = Fraction(1, 2)
    relative_width: Fraction = Fraction(1, 200)
    initial_trial_duration_s: Fraction | None = None
    """Shortest trial that the search may use on its way; None = the final duration."""


@dataclass(frozen=True)
class MlrTrial:
    """Counts of one trial and whether they can be trusted."""

    offered_frames: int
    lost_frames: int
    verdict: Verdict


@dataclass(frozen=True)
class MlrGoalResult:
    """Result for one goal; loads in percent of line rate."""

    goal: MlrGoal
    lower: Fraction | None
    """Relevant lower bound; None when the result is irregular: not even the lowest load satisfies the goal."""
    upper: Fraction | None
    """Relevant upper bound; None when the highest load satisfies the goal."""
    conditional: Fraction | None
    """Conditional throughput: forwarding rate quantile at the relevant lower bound."""


@dataclass(frozen=True)
class MlrOutcome:
    """The search as one for its first goal, and the results of all goals, in their order."""

    outcome: SearchOutcome
    results: tuple[MlrGoalResult, ...]
    """Empty when an untrusted trial has ended the search."""
