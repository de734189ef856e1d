"""MLRsearch (RFC 9971) through the PyPI library of the same name, with trials of ours.

The library asks for (duration, load) and classifies loads; here its bounds become a
:class:`SearchOutcome`. Loads are handed over in ppm of line rate, because the library rounds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch
from MLRsearch import SearchGoal as LibraryGoal

from p4mesh.methods.search.goal import SearchGoal, SearchOutcome, SearchStep
from p4mesh.methods.search.mlr_goal import MlrGoal, MlrGoalResult, MlrOutcome, MlrTrial
from p4mesh.verdict import Verdict

_NO_TIMEOUT_S = 1e9
_PPM_PER_PCT = 10_000
_NEARLY = 1 - Fraction(1, 10**6)
"""Share of the only load of a search that stands for a lower one: the library wants two."""
_PRECEDING_TARGETS = 2
"""Coarser targets in front of each goal, with wider bounds and shorter trials."""


class _Untrusted(Exception):
    """A trial was INVALID or ABORT: it must not enter the classification."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.value)
        self.verdict = verdict


class _Undelivered(Exception):
    """The tester could not send a load, so that the library has no counts to go on with."""


class _Measurer(AbstractMeasurer):  # type: ignore[misc]
    """Hands the library's questions to our trial and keeps them in order."""

    def __init__(self, trial: Callable[[Fraction, Fraction], MlrTrial]) -> None:
        self._trial = trial
        self.steps: list[SearchStep] = []

    def ask(self, load: Fraction, duration_s: Fraction) -> MlrTrial:
        """Measure one load and keep the result; raise _Untrusted when that ends the search."""
        counts = self._trial(load, duration_s)
        self.steps.append(SearchStep(load, counts.verdict))
        if counts.verdict.ends_search:
            raise _Untrusted(counts.verdict)
        return counts

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        counts = self.ask(_percent(intended_load), Fraction(intended_duration))
        if counts.verdict is Verdict.UNDELIVERED:
            raise _Undelivered
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

    All goals are searched at once. A minimum load that is no lower bound of the first goal is a FAIL, without a value.
    Where the tester cannot send a load, the highest one that it can send is found first; the search ends there.
    """
    targets = [_library_goal(goal) for goal in goals]
    measurer = _Measurer(trial)
    maximum = bounds.maximum
    found: Any = None
    try:
        while found is None:
            try:
                found = _library_search(bounds.minimum, maximum, targets, measurer)
            except _Undelivered:
                sent = _highest_sent(bounds, goals[0], measurer)
                if sent is None:
                    return MlrOutcome(SearchOutcome.of_steps(measurer.steps, bounds), ())
                maximum = sent
    except _Untrusted:
        return MlrOutcome(SearchOutcome.of_steps(measurer.steps, bounds), ())
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
    said = SearchOutcome.of_steps(measurer.steps, bounds)
    state = Verdict.FAIL if first.lower is None else Verdict.MEASURED
    return MlrOutcome(replace(said, state=state, passed=first.lower, failed=first.upper), results)


def _library_search(minimum: Fraction, maximum: Fraction, targets: list[LibraryGoal], measurer: _Measurer) -> Any:
    config = Config()
    config.min_load = float(min(minimum, maximum * _NEARLY) * _PPM_PER_PCT)
    config.max_load = float(maximum * _PPM_PER_PCT)
    config.warmup_duration = None
    config.search_duration_max = _NO_TIMEOUT_S
    config.goals = targets
    return MultipleLossRatioSearch(config).search(measurer, debug=lambda _: None)


def _highest_sent(bounds: SearchGoal, goal: MlrGoal, measurer: _Measurer) -> Fraction | None:
    """The highest load that the tester can send, within the width of a goal; None when there is none."""
    low = max((step.load for step in measurer.steps if step.verdict.decides), default=None)
    high = min(step.load for step in measurer.steps if step.verdict is Verdict.UNDELIVERED)
    if low is None or low >= high:
        low = bounds.minimum
        if high <= low or not measurer.ask(low, goal.final_trial_duration_s).verdict.decides:
            return None
    while high - low > goal.relative_width * high:
        middle = (low + high) / 2
        if measurer.ask(middle, goal.final_trial_duration_s).verdict.decides:
            low = middle
        else:
            high = middle
    return low


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
