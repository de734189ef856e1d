"""Runs a search for the throughput, and tries its result again before it is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor
from typing import Generic

from p4mesh.measurement.counts import Trend
from p4mesh.methods.base import Session, TrialNote
from p4mesh.methods.criterion import criterion_of, fills_by_copies
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.options.shared import search_of
from p4mesh.methods.results.loss_interval import excluded_ratio
from p4mesh.methods.results.metrics import part_alone
from p4mesh.methods.results.rare_loss import CountedTrial, rare_loss
from p4mesh.methods.results.searched import (
    ForGood,
    JudgedTrial,
    MlrGoalRow,
    Row,
    Searched,
    less_bucket,
    mlr_row,
    search_attributes,
)
from p4mesh.methods.search.goal import SearchOutcome, SearchStep
from p4mesh.methods.search.lengthening import settled, until_clear
from p4mesh.methods.search.limit import LimitSearch, SearchMethod, TrialAnswer, stretch
from p4mesh.methods.search.mlr_goal import MlrGoalResult
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

Trial = Callable[[Fraction, int, int], JudgedTrial[Row]]
"""(load, trials expected after it, duration in ns) -> the trial."""
_PPM = 1_000_000
_LINE_PCT = Fraction(100)
_MOST_LOWERED = 3
"""Loads below a result that are tried because a queue fills at it: one tells, more where latency wanders."""
_GROWN_FRAMES = 2
"""Growth of a queue that phases of the traffic do not make: slots and ports with clocks of their own make up to one."""
_MOST_REPEATED = 16
"""Greatest length of a trial that tells a queue from phases, in lengths of the trial before."""
_PASSED = (Verdict.PASS, Verdict.UNCLEAR)
"""Verdicts on the last trial of a load that is a result: the longest one may still be too short to tell."""


def search_with(
    parameters: ParameterSet,
    duration_ns: int,
    session: Session,
    spec_of: Callable[[Fraction, int], TrialSpec],
    row_of: Callable[[TrialSpec, TrialResult, Fraction, Verdict], Row],
    further: int = 0,
    theoretical_pct: Fraction = _LINE_PCT,
) -> Searched[Row]:
    """The result of the search that the parameters describe, without a confirmation.

    ``spec_of`` gives the trial of a load in percent of line rate and a duration in ns, ``row_of`` its row with the
    verdict of the search. ``further`` trials follow. Above ``theoretical_pct`` outputs are asked for too much.
    """
    criterion = criterion_of(parameters)

    def trial(load: Fraction, remaining: int, length_ns: int) -> JudgedTrial[Row]:
        spec = spec_of(load, length_ns)
        result = session.measure(spec, TrialNote(load, remaining + further, criterion))
        return criterion.judged(result, row_of(spec, result, load, criterion(result)))

    return search_throughput(search_of(parameters), duration_ns, trial, theoretical_pct=theoretical_pct)


@dataclass(frozen=True)
class Confirmation(Generic[Row]):
    """The trial that tries a result again."""

    trial: Trial[Row]
    factor: int
    """Its length in trials of the search."""


def search_throughput(
    search: LimitSearch,
    duration_ns: int,
    trial: Trial[Row],
    confirmation: Confirmation[Row] | None = None,
    theoretical_pct: Fraction = _LINE_PCT,
) -> Searched[Row]:
    """The result of a search with trials of ``duration_ns``, and every trial of it.

    The result is tried again by a longer trial where a ``confirmation`` asks for that, and where trials are scaled
    and its load is so low that its trial had fewer frames than one at the highest load: as many are sent then.
    Where it fails, the search goes on below it with trials of that length or with as many frames, because shorter
    ones would lead back. MLRsearch, which judges a load by the sum of its trials, sends as many frames from the start.
    """
    trials = _Trials(search, trial, theoretical_pct)
    of_frames = search.method is SearchMethod.MLR

    def length_ns(at: Fraction, factor: int) -> int:
        return round(duration_ns * max(Fraction(factor), stretch(search, at)))

    found = trials.searched(search, lambda at: length_ns(at, 1) if of_frames else duration_ns)
    load = found.result
    factor = confirmation.factor if confirmation else 1
    again = confirmation.trial if confirmation else trial

    def told(outcome: SearchOutcome) -> Searched[Row]:
        return trials.told(trials.lowered(outcome, again, lambda at: length_ns(at, factor)))

    if load is None or (factor == 1 and (of_frames or stretch(search, load) == 1)):
        return told(found)
    goal = search.goal
    verdict = trials.measured(again, load, 0, length_ns(load, factor)).for_search
    if verdict is Verdict.PASS:
        return told(found)
    confirmed = SearchOutcome.of_steps((SearchStep(load, verdict),), goal)
    outcomes = [found, confirmed]
    if not verdict.ends_search and load > goal.minimum:
        lower = trials.searched(search.below(load), lambda at: length_ns(at, factor), again)
        confirmed = SearchOutcome.of_steps((*confirmed.steps, *lower.steps), goal)
        if lower.state.ends_search or search.method is SearchMethod.MLR:
            confirmed = replace(confirmed, state=lower.state, passed=lower.passed)
        outcomes.append(lower)
    failed = min((outcome.failed for outcome in outcomes if outcome.failed is not None), default=None)
    unsent = min((outcome.undelivered for outcome in outcomes if outcome.undelivered is not None), default=None)
    return told(replace(confirmed, failed=failed, undelivered=unsent))


@dataclass
class _Trials(Generic[Row]):
    """All trials of one search, in their order."""

    search: LimitSearch
    trial: Trial[Row]
    theoretical_pct: Fraction
    """Losses above this load are those of outputs that the pattern asks for too much."""
    rows: list[Row] = field(default_factory=list)
    counted: list[CountedTrial] = field(default_factory=list)
    goals: tuple[MlrGoalResult, ...] = ()
    last: dict[Fraction, tuple[JudgedTrial[Row], int]] = field(default_factory=dict)
    """Trial at each load that was the last one there, and its length in ns."""

    def measured(self, trial: Trial[Row], load: Fraction, remaining: int, duration_ns: int) -> JudgedTrial[Row]:
        """Measure one load and keep the result; where a trial is too short to tell, a longer one follows."""
        length_ns = duration_ns

        def of_length(wanted_ns: int) -> JudgedTrial[Row]:
            nonlocal length_ns
            length_ns = wanted_ns
            judged = trial(load, remaining, wanted_ns)
            self.rows.append(judged.row)
            return judged

        judged = until_clear(of_length, duration_ns)
        judged = replace(judged, verdict=settled(judged.verdict, judged.result))
        self.last[load] = judged, length_ns
        if judged.verdict.decides:
            result = judged.result
            self.counted.append(
                CountedTrial(
                    load,
                    length_ns,
                    result.expected_rx_frames,
                    result.lost_frames,
                    part_alone(result),
                    result.corrupted_frames,
                )
            )
        return judged

    def searched(
        self, search: LimitSearch, length_ns: Callable[[Fraction], int], trial: Trial[Row] | None = None
    ) -> SearchOutcome:
        """Run a search whose trials take ``length_ns(load)``; MLRsearch may use shorter ones on its way."""
        nominal_ns = length_ns(search.goal.maximum)
        first = len(self.rows)

        def answer(load: Fraction, duration_s: Fraction) -> TrialAnswer:
            left = max(0, search.trials_expected - (len(self.rows) - first) - 1)
            duration_ns = round(duration_s * NS_PER_S * length_ns(load) / nominal_ns)
            judged = self.measured(trial or self.trial, load, left, duration_ns)
            lost_frames = judged.result.lost_frames + judged.kept_frames
            offered_frames = judged.result.expected_rx_frames
            return TrialAnswer(judged.for_search, offered_frames, lost_frames, _forwarded_share(judged.result))

        found = search.run(answer, Fraction(nominal_ns, NS_PER_S))
        self.goals = found.goals
        return found.outcome

    def lowered(self, found: SearchOutcome, trial: Trial[Row], length_ns: Callable[[Fraction], int]) -> SearchOutcome:
        """Go below a result at which a queue fills by less than the limit, to the load that the device carries.

        A queue of Q frames is full at last: a trial that is long enough loses frames at such a load. So it is no
        result either where the longer trial, which was to tell whether a queue fills, has lost them already.
        """
        load = None if self.search.method is SearchMethod.MLR else found.result
        for _ in range(_MOST_LOWERED):
            if load is None or not self._fills(load, trial):
                break
            has_failed = self.last[load][0].for_search is Verdict.FAIL
            if has_failed and load == found.result:
                # Until a lower load passes, nothing has.
                found = replace(found, state=Verdict.FAIL, failed=load)
            grid = self.search.goal.grid.granularity
            # Rounded down, by less than what a table shows.
            unit = grid / 100
            lower = unit * floor(min(self._carried(load), load - grid) / unit)
            if lower < self.search.goal.minimum:
                break
            # Nothing has failed where the highest load passed; now it is known to be too high.
            failed = load if found.failed is None or has_failed else found.failed
            if self.measured(trial, lower, 0, length_ns(lower)).for_search is Verdict.PASS:
                steps = (*found.steps, SearchStep(lower, Verdict.PASS))
                found = replace(
                    found, state=Verdict.MEASURED, passed=lower, failed=failed, last_tried=lower, steps=steps
                )
            load = lower
        return found

    def _fills(self, load: Fraction, trial: Trial[Row]) -> bool:
        """Whether a queue certainly fills at a load, by more frames than phases of the traffic make; else it may rest.

        A longer trial tells, by a loss, too, if it need not be many times longer.
        """
        for may_repeat in (True, False):
            judged, length_ns = self.last[load]
            excess_ppm, error_ppm = judged.excess_ppm or (0.0, 0.0)
            if excess_ppm <= error_ppm or load - self._carried(load) < self.search.goal.grid.granularity:
                break
            grown_frames = excess_ppm / _PPM * max(port.rx_frames for port in judged.result.ports)
            if grown_frames >= _GROWN_FRAMES:
                return True
            if not may_repeat or grown_frames * _MOST_REPEATED < _GROWN_FRAMES:
                break
            longer = self.measured(trial, load, 0, length_ns * ceil(_GROWN_FRAMES / grown_frames))
            if longer.for_search is Verdict.FAIL:
                return True
        return False

    def _carried(self, load: Fraction) -> Fraction:
        """Load that the device carries for any time, by the last trial at ``load``."""
        judged, _ = self.last[load]
        return load / (1 + Fraction(sum(judged.excess_ppm or ())) / _PPM)

    def _for_good(self, load: Fraction | None) -> ForGood:
        if load is None:
            return ForGood()
        judged, _ = self.last[load]
        lower_pct = float(self._carried(load))
        frames = min((port.tx_frames for port in judged.result.ports if port.tx_frames), default=0)
        return ForGood(carried_pct=lower_pct if judged.excess_ppm else None, bucket_pct=less_bucket(lower_pct, frames))

    def told(self, outcome: SearchOutcome) -> Searched[Row]:
        of_copies = self._of_copies(outcome)
        if of_copies is not None:
            failed = [load for load, (judged, _) in self.last.items() if judged.for_search is Verdict.FAIL]
            surely = (load for load in failed if not fills_by_copies(self.last[load][0].result))
            outcome = replace(outcome, failed=min(surely, default=None))
        throughput_pct, found = _number(outcome.result), outcome.passed
        lower_pct = None if found is None else float(self._carried(found))
        good = [row for row in self.rows if row.verdict in _PASSED and row.load_pct == throughput_pct]
        return Searched(
            state=outcome.state,
            throughput_pct=throughput_pct,
            lower_pct=lower_pct,
            for_good=self._for_good(outcome.result),
            upper_pct=_number(outcome.failed),
            at_least=outcome.at_least,
            goal=search_attributes(self.search),
            mlr_goals=tuple(self._mlr_row(result) for result in self.goals),
            trials=len(self.rows),
            shown=(good or self.rows)[-1],
            rows=tuple(self.rows),
            flooded_frames=sum(row.flooded_frames for row in self.rows),
            excluded_loss_ppm=self._excluded_ppm(outcome.result),
            undelivered_pct=_number(outcome.undelivered),
            of_copies_pct=_number(of_copies),
            rare_loss=rare_loss(
                [trial for trial in self.counted if trial.load_pct <= self.theoretical_pct], self.search.loss_ratio
            ),
        )

    def _mlr_row(self, found: MlrGoalResult) -> MlrGoalRow:
        """The row of a goal; a queue that fills by copies makes no upper bound."""
        upper = found.upper
        if upper is not None and fills_by_copies(self.last[upper][0].result):
            found = replace(found, upper=None)
        return mlr_row(found, self._for_good(found.lower))

    def _of_copies(self, outcome: SearchOutcome) -> Fraction | None:
        """The lowest load that failed above a result, where only a queue that fills by copies says that it does."""
        failed = outcome.failed
        if outcome.result is None or failed is None or not fills_by_copies(self.last[failed][0].result):
            return None
        return failed

    def _excluded_ppm(self, result: Fraction | None) -> float | None:
        """The loss ratio that the last trial at the result excludes."""
        at = [trial for trial in self.counted if trial.load_pct == result]
        if not at:
            return None
        last = at[-1]
        return _PPM * excluded_ratio(last.lost_frames * last.alone, last.frames * last.alone)


def _forwarded_share(result: TrialResult) -> Fraction | None:
    """The share of the frames that the device forwards while its queues neither grow nor shrink."""
    if result.queues is not None and result.queues.trend is Trend.FILLING:
        return 1 / (1 + Fraction(result.queues.excess_ppm) / _PPM)
    offered_frames = result.expected_rx_frames
    return 1 - Fraction(result.lost_frames, offered_frames) if offered_frames else None


def _number(load: Fraction | None) -> float | None:
    return None if load is None else float(load)
