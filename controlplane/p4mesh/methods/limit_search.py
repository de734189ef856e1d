"""Which search finds the limit: one choice with its parameters, the same answer from all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from math import ceil, log2

from p4mesh.methods.linear_search import combo, linear_down, linear_up
from p4mesh.methods.loss_verification import LossVerification, verified
from p4mesh.methods.mlr_search import MlrGoal, MlrTrial, mlr_search
from p4mesh.methods.search import SearchGoal, SearchOutcome, Verdict, bisect


class SearchMethod(str, Enum):
    """How the next load is chosen."""

    BISECT = "bisect"
    VERIFIED = "bisect_verified"
    LINEAR_DOWN = "linear_down"
    LINEAR_UP = "linear_up"
    COMBO = "combo"
    MLR = "mlr"


@dataclass(frozen=True)
class TrialAnswer:
    """What a search may know of a trial."""

    verdict: Verdict
    offered_frames: int
    lost_frames: int


@dataclass(frozen=True)
class Found:
    """The outcome of a search, and what MLRsearch adds."""

    outcome: SearchOutcome
    conditional_pct: Fraction | None = None


@dataclass(frozen=True)
class MlrAttributes:
    """Attributes of the RFC 9971 goal that are not the trial duration or the loss ratio."""

    duration_sum_trials: int = 2
    exceed_ratio: Fraction = Fraction(1, 2)
    relative_width: Fraction = Fraction(1, 200)


@dataclass(frozen=True)
class LimitSearch:
    """A search with all its parameters."""

    method: SearchMethod
    goal: SearchGoal
    step: Fraction = Fraction(10)
    verification: LossVerification = field(default_factory=LossVerification)
    mlr: MlrAttributes = field(default_factory=MlrAttributes)
    loss_ratio: Fraction = Fraction(0)

    @property
    def trials_expected(self) -> int:
        """Typical number of trials, for progress only."""
        span = self.goal.maximum - self.goal.minimum
        if self.method in (SearchMethod.LINEAR_DOWN, SearchMethod.LINEAR_UP):
            return ceil(span / self.step) + 1
        if self.method is SearchMethod.COMBO:
            return ceil(span / self.step) + max(1, ceil(log2(self.step / self.goal.resolution)))
        if self.method is SearchMethod.MLR:
            return 3 + 2 * self.mlr.duration_sum_trials + ceil(-log2(self.mlr.relative_width))
        return self.goal.trials_expected

    def run(self, trial: Callable[[Fraction], TrialAnswer], trial_duration_s: Fraction) -> Found:
        """Search with trials of one duration."""

        def verdict(load: Fraction) -> Verdict:
            return trial(load).verdict

        if self.method is SearchMethod.MLR:
            return self._mlr(trial, trial_duration_s)
        if self.method is SearchMethod.LINEAR_DOWN:
            return Found(linear_down(self.goal, self.step, verdict))
        if self.method is SearchMethod.LINEAR_UP:
            return Found(linear_up(self.goal, self.step, verdict))
        if self.method is SearchMethod.COMBO:
            return Found(combo(self.goal, self.step, verdict))
        if self.method is SearchMethod.VERIFIED:
            return Found(bisect(self.goal, verified(_with_loss(trial), self.verification)))
        return Found(bisect(self.goal, verdict))

    def _mlr(self, trial: Callable[[Fraction], TrialAnswer], trial_duration_s: Fraction) -> Found:
        goal = MlrGoal(
            trial_duration_s,
            self.mlr.duration_sum_trials * trial_duration_s,
            self.loss_ratio,
            self.mlr.exceed_ratio,
            self.mlr.relative_width,
        )

        def counted(load: Fraction, _: Fraction) -> MlrTrial:
            answer = trial(load)
            return MlrTrial(answer.offered_frames, answer.lost_frames, answer.verdict)

        found = mlr_search(self.goal, goal, counted)
        return Found(found.outcome, found.conditional_pct)


def _with_loss(trial: Callable[[Fraction], TrialAnswer]) -> Callable[[Fraction], tuple[Verdict, int]]:
    def judge(load: Fraction) -> tuple[Verdict, int]:
        answer = trial(load)
        return answer.verdict, answer.lost_frames

    return judge
