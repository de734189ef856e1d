"""Chooses the search that finds the limit; all of them return the same type of result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from math import ceil, log2

from p4mesh.methods.search.bisection import bisect
from p4mesh.methods.search.combined import HALF, combo
from p4mesh.methods.search.goal import SearchGoal, SearchOutcome
from p4mesh.methods.search.guided import guided
from p4mesh.methods.search.linear import linear_down, linear_up
from p4mesh.methods.search.loss_verification import LossVerification, verified
from p4mesh.methods.search.mlr_goal import MlrGoal, MlrGoalResult, MlrTrial
from p4mesh.verdict import Verdict


class SearchMethod(str, Enum):
    """Method that chooses the next load."""

    BISECT = "bisect"
    GUIDED = "guided"
    VERIFIED = "bisect_verified"
    LINEAR_DOWN = "linear_down"
    LINEAR_UP = "linear_up"
    COMBO = "combo"
    MLR = "mlr"

    @property
    def bisects(self) -> bool:
        """Whether the loads are those of a bisection."""
        return self in (SearchMethod.BISECT, SearchMethod.GUIDED, SearchMethod.VERIFIED)


@dataclass(frozen=True)
class TrialAnswer:
    """The part of a trial result that a search reads."""

    verdict: Verdict
    offered_frames: int
    lost_frames: int
    forwarded_share: Fraction | None = None
    """Share of the load that the device forwards for as long as one likes, by the best guess; None if unknown."""


@dataclass(frozen=True)
class Found:
    """The outcome of a search, and the result of MLRsearch for each of its goals."""

    outcome: SearchOutcome
    goals: tuple[MlrGoalResult, ...] = ()


class MlrPreset(str, Enum):
    """Goals of RFC 9971 by name; durations in trial durations T."""

    CUSTOM = "custom"
    """One goal with the attributes given."""
    RFC_2544 = "rfc2544"
    """Unconditional: one trial of T without loss."""
    TST_009 = "tst009"
    """Two trials of T, of which one may lose frames."""
    SOFTWARE = "software"
    """21 T in sum, loss ratios 0 and 0.5 %, half of the time may exceed them."""


_FEWER = Fraction(9, 10)
"""Share of the highest load below which a trial of the same length has clearly fewer frames."""
_GUIDED_TRIALS = 6
"""Typical: the first load, the highest, two guesses, and one of them longer."""
_SOFTWARE_SUM = 21
_SOFTWARE_LOSS_RATIOS = (Fraction(0), Fraction(1, 200))


@dataclass(frozen=True)
class MlrAttributes:
    """Attributes of the RFC 9971 goals that are not the trial duration or the loss ratio."""

    preset: MlrPreset = MlrPreset.CUSTOM
    duration_sum_trials: int = 2
    exceed_ratio: Fraction = HALF
    relative_width: Fraction = Fraction(1, 200)
    initial_share: Fraction = Fraction(1)
    """Shortest trial as a share of T."""

    def goals(self, trial_duration_s: Fraction, loss_ratio: Fraction) -> tuple[MlrGoal, ...]:
        """The goals for trials of ``trial_duration_s``; ``loss_ratio`` is that of the custom goal."""
        attributes: tuple[tuple[int, Fraction, Fraction], ...] = {
            MlrPreset.CUSTOM: ((self.duration_sum_trials, loss_ratio, self.exceed_ratio),),
            MlrPreset.RFC_2544: ((1, Fraction(0), Fraction(0)),),
            MlrPreset.TST_009: ((2, Fraction(0), HALF),),
            MlrPreset.SOFTWARE: tuple((_SOFTWARE_SUM, ratio, HALF) for ratio in _SOFTWARE_LOSS_RATIOS),
        }[self.preset]
        return tuple(
            MlrGoal(
                trial_duration_s,
                trials * trial_duration_s,
                ratio,
                exceed,
                self.relative_width,
                self.initial_share * trial_duration_s,
            )
            for trials, ratio, exceed in attributes
        )


Trial = Callable[[Fraction, Fraction], TrialAnswer]
"""(load, duration in seconds) -> answer."""


@dataclass(frozen=True)
class LimitSearch:
    """A search with all its parameters."""

    method: SearchMethod
    goal: SearchGoal
    step: Fraction = Fraction(10)
    backoff: Fraction = HALF
    verification: LossVerification = field(default_factory=LossVerification)
    mlr: MlrAttributes = field(default_factory=MlrAttributes)
    loss_ratio: Fraction = Fraction(0)
    threshold: Fraction = Fraction(0)
    """Result below which the device fails, in percent of line rate."""
    same_frames: bool = False
    """A result counts when its trial had as many frames as one at the highest load; else all trials are as long."""

    @property
    def trials_expected(self) -> int:
        """Typical number of trials, for progress only."""
        span = self.goal.maximum - self.goal.minimum
        if self.method in (SearchMethod.LINEAR_DOWN, SearchMethod.LINEAR_UP):
            return ceil(span / self.step) + 1
        if self.method is SearchMethod.COMBO:
            steps = ceil((self.goal.maximum - self.goal.initial) / self.step) + 1
            return steps + max(1, ceil(log2(self.step / self.goal.resolution)))
        if self.method is SearchMethod.MLR:
            goals = self.mlr.goals(Fraction(1), self.loss_ratio)
            return sum(3 + 2 * int(goal.duration_sum_s) + ceil(-log2(goal.relative_width)) for goal in goals)
        if self.method is SearchMethod.GUIDED:
            return min(_GUIDED_TRIALS, self.goal.trials_expected)
        return self.goal.trials_expected

    def below(self, load: Fraction) -> LimitSearch:
        """The search that goes on below a load that passed at first and failed when it was tried again."""
        if self.method.bisects:
            return replace(self, goal=self.goal.below(load))
        initial = min(self.goal.initial, self.goal.grid.midpoint(self.goal.minimum, load))
        return replace(self, goal=replace(self.goal, maximum=load, initial=initial, try_max_first=False))

    def run(self, trial: Trial, trial_duration_s: Fraction) -> Found:
        """Search with trials of ``trial_duration_s``; MLRsearch may use shorter ones on its way."""

        def answer(load: Fraction) -> TrialAnswer:
            return trial(load, trial_duration_s)

        def verdict(load: Fraction) -> Verdict:
            return answer(load).verdict

        if self.method is SearchMethod.MLR:
            return self._mlr(trial, trial_duration_s)
        if self.method is SearchMethod.LINEAR_DOWN:
            return Found(linear_down(self.goal, self.step, verdict))
        if self.method is SearchMethod.LINEAR_UP:
            return Found(linear_up(self.goal, self.step, verdict))
        if self.method is SearchMethod.COMBO:
            return Found(combo(self.goal, self.step, verdict, self.backoff))
        if self.method is SearchMethod.VERIFIED:
            return Found(bisect(self.goal, verified(_with_loss(answer), self.verification)))
        if self.method is SearchMethod.GUIDED:
            return Found(guided(self.goal, _with_forwarded(answer)))
        return Found(bisect(self.goal, verdict))

    def _mlr(self, trial: Trial, trial_duration_s: Fraction) -> Found:
        from p4mesh.methods.search.mlr import mlr_search  # its library takes long to load

        def counted(load: Fraction, duration_s: Fraction) -> MlrTrial:
            answer = trial(load, duration_s)
            return MlrTrial(answer.offered_frames, answer.lost_frames, answer.verdict)

        found = mlr_search(self.goal, self.mlr.goals(trial_duration_s, self.loss_ratio), counted)
        return Found(found.outcome, found.results)


def stretch(search: LimitSearch, load: Fraction) -> Fraction:
    """How much longer a trial takes to send as many frames as one at the highest load; 1 where it need not."""
    if not search.same_frames or load >= _FEWER * search.goal.maximum:
        return Fraction(1)
    return search.goal.maximum / load


def _with_forwarded(
    trial: Callable[[Fraction], TrialAnswer],
) -> Callable[[Fraction], tuple[Verdict, Fraction | None]]:
    def judge(load: Fraction) -> tuple[Verdict, Fraction | None]:
        answer = trial(load)
        return answer.verdict, None if answer.forwarded_share is None else answer.forwarded_share * load

    return judge


def _with_loss(trial: Callable[[Fraction], TrialAnswer]) -> Callable[[Fraction], tuple[Verdict, int]]:
    def judge(load: Fraction) -> tuple[Verdict, int]:
        answer = trial(load)
        return answer.verdict, answer.lost_frames

    return judge
