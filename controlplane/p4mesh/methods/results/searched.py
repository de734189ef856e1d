"""Throughput as data: the result of a search, and the row of every trial."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Generic, Protocol, TypeVar

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.loss_interval import BUCKET_FRAMES
from p4mesh.methods.results.metrics import search_verdict
from p4mesh.methods.results.outcome import Cell
from p4mesh.methods.results.queues import QueueCells
from p4mesh.methods.results.rare_loss import RareLoss
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.methods.search.goal import Grid
from p4mesh.methods.search.limit import LimitSearch, SearchMethod
from p4mesh.methods.search.mlr_goal import MlrGoalResult
from p4mesh.quantities import number_text
from p4mesh.traffic.imix import FrameSize
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict

FOR_GOOD_NOTE = (
    "'For good': what the device carries for any time, less what the trial of the result does not exclude; of a device "
    "that forgives no burst, and of one that forgives each port a burst of up to "
    f"{BUCKET_FRAMES:,} frames (bucket), which delays none."
)
AT_LEAST = "at least"
"""Reason of a result that is only a floor: nothing above it was judged."""


@dataclass(frozen=True, kw_only=True)
class ForGood(Record):
    """Loads that a device carries for any time, beside its throughput; empty where they are not known."""

    carried_pct: Annotated[float | None, fields.CARRIED_PCT] = None
    """None where loss alone decides."""
    bucket_pct: Annotated[float | None, fields.BUCKET_PCT] = None
    """The same for a device with a bucket of BUCKET_FRAMES at each port."""


FOR_GOOD = ForGood.columns()


@dataclass(frozen=True, kw_only=True)
class SearchRow(Record):
    """Rates and counts of a trial of a search; rates are sums over all ports."""

    load_pct: float
    offered_fps: float
    forwarding_fps: float
    forwarding_error_fps: float
    lost_frames: int
    loss_pct: float
    corrupted_frames: int | None = field(default=None, metadata=OMITTED)
    """Lost frames that came with another payload; None where there is none."""
    flooded_frames: int
    status: Verdict
    reason: str
    verdict: Verdict
    """Verdict of the search."""
    duration_ms: float
    watched: QueueCells | None = field(default=None, metadata=INLINE)

    @property
    def trusted(self) -> bool:
        """Whether the counts can be trusted."""
        return self.status.trusted


Row = TypeVar("Row", bound=SearchRow)
Shown = TypeVar("Shown", bound=SearchRow, covariant=True)


@dataclass(frozen=True)
class JudgedTrial(Generic[Row]):
    """A trial, and its row with the verdict of the search on it."""

    verdict: Verdict
    result: TrialResult
    row: Row
    kept_frames: int = 0
    """Frames that a constantly filling queue keeps: a search counts them as lost."""
    excess_ppm: tuple[float, float] | None = None
    """Excess over what the device carries for any time, and its error; None where loss alone decides."""

    @property
    def for_search(self) -> Verdict:
        """The verdict that a search goes on with."""
        return search_verdict(self.result, self.verdict)


@dataclass(frozen=True, kw_only=True)
class SearchAttributes(Record):
    """The goal of a search in words and numbers; loads in percent of line rate, None where the method has none."""

    search_method: Annotated[SearchMethod, fields.SEARCH_METHOD]
    initial_pct: Annotated[float | None, fields.INITIAL_PCT] = field(default=None, metadata=OMITTED)
    minimum_pct: Annotated[float, fields.MINIMUM_PCT]
    maximum_pct: Annotated[float, fields.MAXIMUM_PCT]
    resolution_pct: Annotated[float | None, fields.RESOLUTION_PCT] = field(default=None, metadata=OMITTED)
    grid: Annotated[Grid | None, fields.GRID] = field(default=None, metadata=OMITTED)
    step_pct: Annotated[float | None, fields.STEP_PCT] = field(default=None, metadata=OMITTED)
    backoff_pct: Annotated[float | None, fields.BACKOFF_PCT] = field(default=None, metadata=OMITTED)
    try_max_first: Annotated[bool | None, fields.TRY_MAX_FIRST] = field(default=None, metadata=OMITTED)
    acceptable_loss_pct: Annotated[float, fields.ACCEPTABLE_LOSS_PCT]
    threshold_pct: Annotated[float, fields.THRESHOLD_PCT]
    verify_trials: Annotated[int | None, fields.VERIFY_TRIALS] = field(default=None, metadata=OMITTED)
    verify_overload_frames: Annotated[int | None, fields.VERIFY_OVERLOAD_FRAMES] = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class MlrGoalRow(Record):
    """A goal of MLRsearch, with its relevant bounds."""

    initial_duration_ms: Annotated[float, fields.INITIAL_DURATION_MS]
    final_duration_ms: Annotated[float, fields.FINAL_DURATION_MS]
    duration_sum_ms: Annotated[float, fields.DURATION_SUM_MS]
    goal_loss_pct: Annotated[float, fields.GOAL_LOSS_PCT]
    exceed_pct: Annotated[float, fields.EXCEED_PCT]
    width_pct: Annotated[float, fields.WIDTH_PCT]
    lower_pct: Annotated[float | None, fields.LOWER_PCT]
    upper_pct: Annotated[float | None, retitled(fields.UPPER_PCT, "Upper bound")]
    conditional_pct: Annotated[float | None, fields.CONDITIONAL_PCT]
    for_good: ForGood = field(metadata=INLINE)
    regularity: Annotated[str, fields.REGULARITY]


@dataclass(frozen=True, kw_only=True)
class Searched(Record, Generic[Shown]):
    """Result of a throughput search with every trial; loads in percent of line rate."""

    state: Verdict
    throughput_pct: Annotated[float | None, fields.THROUGHPUT_PCT]
    """None unless a load passed."""
    lower_pct: Annotated[float | None, fields.LOWER_PCT]
    """The highest load that passed, less the excess that its trial does not exclude."""
    for_good: ForGood
    upper_pct: Annotated[float | None, retitled(fields.UPPER_PCT, "Upper bound")]
    at_least: Annotated[bool, fields.AT_LEAST]
    goal: SearchAttributes
    mlr_goals: tuple[MlrGoalRow, ...]
    trials: Annotated[int, fields.TRIALS]
    shown: Shown
    """The trial of the result, or of the last load tried when nothing passed."""
    rows: tuple[Shown, ...]
    flooded_frames: int
    excluded_loss_ppm: Annotated[float | None, fields.EXCLUDED_LOSS_PPM] = field(default=None, metadata=OMITTED)
    """Loss ratio that the trial of the result excludes with 95 % confidence; None without a result."""
    undelivered_pct: Annotated[float | None, fields.UNDELIVERED_PCT] = field(default=None, metadata=OMITTED)
    """Lowest load that the tester could not send; None when it could send all."""
    of_copies_pct: float | None = field(default=None, metadata=OMITTED)
    """Lowest load above the result at which a queue filled by no more than copies; None where no such load failed."""
    rare_loss: RareLoss | None = field(default=None, metadata=OMITTED)
    """Losses that do not come from a lack of capacity; None when all of them may come from it."""

    @property
    def result_load_pct(self) -> Fraction | None:
        """The load of the result, as exact as its decimals: one at the highest load equals that load.

        Stored as a binary number, 99.99 is a little less than it says.
        """
        return None if self.throughput_pct is None else Fraction(str(self.throughput_pct))

    @property
    def verdict(self) -> Verdict:
        """The verdict on the device: PASS and FAIL by the threshold, where there is one (methodology 2.1)."""
        return judged(self.state, self.throughput_pct, self.goal.threshold_pct)

    @property
    def reason(self) -> str:
        """The qualification of the verdict; empty where there is none."""
        if self.throughput_pct is not None and self.verdict is Verdict.FAIL:
            return f"below {number_text(self.goal.threshold_pct)} %"
        return AT_LEAST if self.at_least else ""

    @property
    def trusted_cells(self) -> Record | dict[str, Cell]:
        """The trial that is shown, for a row of a table; nothing of one that cannot be trusted."""
        return self.shown if self.shown.trusted else {}

    @property
    def judgement(self) -> dict[str, Cell]:
        """The cells of the verdict, for a row of a table."""
        return {"state": self.verdict.value, "reason": self.reason}


def less_bucket(load_pct: float, frames: int) -> float:
    """Share of a load that a device carries for any time, if it forgives each port BUCKET_FRAMES.

    A port that sends N ``frames`` hides an excess of B/N in a bucket of B frames.
    """
    return load_pct * max(0.0, 1 - BUCKET_FRAMES / max(1, frames))


def judged(state: Verdict, throughput_pct: float | None, threshold_pct: float) -> Verdict:
    """The verdict on the result of a search: that of the search where there is no threshold above 0."""
    if throughput_pct is None or not threshold_pct:
        return state
    return Verdict.PASS if throughput_pct >= threshold_pct else Verdict.FAIL


class HasSearch(Protocol):
    """The result of a unit that has searched the throughput of a frame size."""

    @property
    def frame_size_bytes(self) -> FrameSize:
        """Frame size with FCS."""
        ...

    @property
    def search(self) -> Searched[SearchRow]:
        """Result of the search."""
        ...


def search_attributes(search: LimitSearch) -> SearchAttributes:
    """The parameters that the method of a search uses."""
    method = search.method
    steps = method in (SearchMethod.LINEAR_DOWN, SearchMethod.LINEAR_UP, SearchMethod.COMBO)
    narrows = method.bisects or method is SearchMethod.COMBO
    verifies = method is SearchMethod.VERIFIED
    return SearchAttributes(
        search_method=method,
        minimum_pct=float(search.goal.minimum),
        maximum_pct=float(search.goal.maximum),
        acceptable_loss_pct=float(100 * search.loss_ratio),
        threshold_pct=float(search.threshold),
        step_pct=float(search.step) if steps else None,
        initial_pct=float(search.goal.initial) if narrows else None,
        try_max_first=search.goal.try_max_first if method.bisects else None,
        backoff_pct=float(100 * search.backoff) if method is SearchMethod.COMBO else None,
        resolution_pct=float(search.goal.resolution) if narrows else None,
        grid=search.goal.grid if narrows else None,
        verify_trials=search.verification.trials if verifies else None,
        verify_overload_frames=search.verification.overload_frames if verifies else None,
    )


def mlr_row(result: MlrGoalResult, for_good: ForGood) -> MlrGoalRow:
    """The row of a goal; ``for_good`` is that of its lower bound."""
    goal = result.goal
    initial_s = goal.final_trial_duration_s if goal.initial_trial_duration_s is None else goal.initial_trial_duration_s
    return MlrGoalRow(
        initial_duration_ms=float(1000 * initial_s),
        final_duration_ms=float(1000 * goal.final_trial_duration_s),
        duration_sum_ms=float(1000 * goal.duration_sum_s),
        goal_loss_pct=float(100 * goal.loss_ratio),
        exceed_pct=float(100 * goal.exceed_ratio),
        width_pct=float(100 * goal.relative_width),
        lower_pct=_number(result.lower),
        upper_pct=_number(result.upper),
        conditional_pct=_number(result.conditional),
        for_good=for_good,
        regularity="irregular" if result.lower is None else "regular",
    )


def _number(load: Fraction | None) -> float | None:
    return None if load is None else float(load)
