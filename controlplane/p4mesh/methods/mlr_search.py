"""MLRsearch (RFC 9971) through the PyPI library of the same name, with trials of ours.

The library asks for (duration, load) and classifies loads; here its bounds become a
:class:`SearchOutcome`. Loads are handed over in ppm of line rate, because the library rounds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch
from MLRsearch import SearchGoal as LibraryGoal

from p4mesh.methods.search import SearchGoal, SearchOutcome, SearchStep, Verdict

_NO_TIMEOUT_S = 1e9
_PPM_PER_PCT = 10_000


@dataclass(frozen=True)
class MlrGoal:
    """One search goal of RFC 9971 section 4.6; durations are virtual where time is."""

    final_trial_duration_s: Fraction
    duration_sum_s: Fraction
    loss_ratio: Fraction = Fraction(0)
    exceed_ratio: Fraction = Fraction(1, 2)
    relative_width: Fraction = Fraction(1, 200)


@dataclass(frozen=True)
class MlrTrial:
    """Counts of one trial and whether they can be trusted."""

    offered_frames: int
    lost_frames: int
    verdict: Verdict


@dataclass(frozen=True)
class MlrOutcome:
    """Bounds and conditional throughput, both in percent of line rate."""

    outcome: SearchOutcome
    conditional_pct: Fraction | None
    """Forwarding rate quantile at the relevant lower bound; None when the search is irregular."""


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


def mlr_search(goal: SearchGoal, mlr: MlrGoal, trial: Callable[[Fraction, Fraction], MlrTrial]) -> MlrOutcome:
    """Search between ``goal.minimum`` and ``goal.maximum``; ``trial(load, duration_s)`` measures.

    The minimum load being no lower bound is an irregular result: FAIL, without a value.
    """
    config = Config()
    config.min_load = float(goal.minimum * _PPM_PER_PCT)
    config.max_load = float(goal.maximum * _PPM_PER_PCT)
    config.warmup_duration = None
    config.search_duration_max = _NO_TIMEOUT_S
    target = LibraryGoal(
        loss_ratio=float(mlr.loss_ratio),
        exceed_ratio=float(mlr.exceed_ratio),
        relative_width=float(mlr.relative_width),
        initial_trial_duration=float(mlr.final_trial_duration_s),
        final_trial_duration=float(mlr.final_trial_duration_s),
        duration_sum=float(mlr.duration_sum_s),
        preceding_targets=2,
        fail_fast=False,
    )
    config.goals = [target]
    measurer = _Measurer(trial)
    try:
        found = MultipleLossRatioSearch(config).search(measurer, debug=lambda _: None)[target]
    except _Untrusted as untrusted:
        return MlrOutcome(_outcome(untrusted.verdict, None, None, measurer, goal), None)
    lower, upper = found.relevant_lower_bound, found.relevant_upper_bound
    passed = None if lower is None else _percent(float(lower))
    failed = None if upper is None else _percent(float(upper))
    state = Verdict.FAIL if passed is None else Verdict.PASS
    conditional = found.conditional_throughput
    return MlrOutcome(
        _outcome(state, passed, failed, measurer, goal),
        None if conditional is None else _percent(float(conditional)),
    )


def _percent(load_ppm: float) -> Fraction:
    return Fraction(load_ppm) / _PPM_PER_PCT


def _outcome(
    state: Verdict, passed: Fraction | None, failed: Fraction | None, measurer: _Measurer, goal: SearchGoal
) -> SearchOutcome:
    return SearchOutcome(state, passed, failed, measurer.steps[-1].load, tuple(measurer.steps), goal)
