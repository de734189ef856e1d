"""MLRsearch (RFC 9971) through the PyPI library of the same name, with trials of ours.

The library asks for (duration, load) and classifies loads; here its bounds become a
:class:`SearchOutcome`. Loads are handed over in ppm of line rate, because the library rounds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch
from MLRsearch import SearchGoal as LibraryGoal

from p4mesh.methods.search.goal import SearchGoal, SearchOutcome, SearchStep, Verdict

_NO_TIMEOUT_S = 1e9
_PPM_PER_PCT = 10_000
_PRECEDING_TARGETS = 2
"""Coarser targets in front of each goal, with wider bounds and shorter trials."""


@dataclass(frozen=True)
class MlrGoal:
    """One search goal of RFC 9971 section 4.6; durations are virtual where time is."""

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
    """What the search says about one goal, loads in percent of line rate."""

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


class _Untrusted(Exception):
    """A trial was INVALID or ABORT: it must not enter the classification."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.value)
        self.verdict = verdict


class _Measurer(AbstractMeasurer):  # type: ignore[misc]
    """Hands the library's questions to our trial and keeps them in order."""

    def __init__(self, trial: Callable[[Fraction, Fraction], MlrTrial]) -> None:
        self._trial = trial
        self.steps: list[SearchStep] = []

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        load = _percent(intended_load)
        counts = self._trial(load, Fraction(intended_duration))
        self.steps.append(SearchStep(load, counts.verdict))
        if not counts.verdict.decides:
            raise _Untrusted(counts.verdict)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=counts.offered_frames,
            loss_count=counts.lost_frames,
        )


def mlr_search(
    bounds: SearchGoal, goals: Sequence[MlrGoal], trial: Callable[[Fraction, Fraction], MlrTrial]
) -> MlrOutcome:
    """Search between ``bounds.minimum`` and ``bounds.maximum``; ``trial(load, duration_s)`` measures.

    All goals are searched at once. The minimum load being no lower bound of the first one is FAIL, without a value.
    """
    config = Config()
    config.min_load = float(bounds.minimum * _PPM_PER_PCT)
    config.max_load = float(bounds.maximum * _PPM_PER_PCT)
    config.warmup_duration = None
    config.search_duration_max = _NO_TIMEOUT_S
    targets = [_library_goal(goal) for goal in goals]
    config.goals = targets
    measurer = _Measurer(trial)
    try:
        found = MultipleLossRatioSearch(config).search(measurer, debug=lambda _: None)
    except _Untrusted as untrusted:
        return MlrOutcome(_outcome(untrusted.verdict, None, None, measurer, bounds), ())
    results = tuple(
        MlrGoalResult(
            goal,
            _load(found[target].relevant_lower_bound),
            _load(found[target].relevant_upper_bound),
            _load(found[target].conditional_throughput),
        )
        for goal, target in zip(goals, targets, strict=True)
    )
    first = results[0]
    state = Verdict.FAIL if first.lower is None else Verdict.PASS
    return MlrOutcome(_outcome(state, first.lower, first.upper, measurer, bounds), results)


def _library_goal(goal: MlrGoal) -> LibraryGoal:
    final_s = float(goal.final_trial_duration_s)
    initial_s = goal.initial_trial_duration_s
    return LibraryGoal(
        loss_ratio=float(goal.loss_ratio),
        exceed_ratio=float(goal.exceed_ratio),
        relative_width=float(goal.relative_width),
        initial_trial_duration=final_s if initial_s is None else float(initial_s),
        final_trial_duration=final_s,
        duration_sum=float(goal.duration_sum_s),
        preceding_targets=_PRECEDING_TARGETS,
        fail_fast=False,
    )


def _load(bound: Any) -> Fraction | None:
    return None if bound is None else _percent(float(bound))


def _percent(load_ppm: float) -> Fraction:
    return Fraction(load_ppm) / _PPM_PER_PCT


def _outcome(
    state: Verdict, passed: Fraction | None, failed: Fraction | None, measurer: _Measurer, goal: SearchGoal
) -> SearchOutcome:
    return SearchOutcome(state, passed, failed, measurer.steps[-1].load, tuple(measurer.steps), goal)
