"""Decides whether a load passes: few enough frames are lost, now and once the buffers of the device are full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from p4mesh.measurement.counts import FlowCounts, Trend
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.options.shared import SUSTAINED
from p4mesh.methods.results.loss_interval import loss_error_pct
from p4mesh.methods.results.metrics import judge_loss
from p4mesh.methods.results.searched import JudgedTrial, Row
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict

_PPM = 1_000_000


@dataclass(frozen=True)
class Criterion:
    """Acceptable loss in percent of the frames, and whether the device must carry a load for ever."""

    acceptable_pct: Fraction = Fraction(0)
    sustained: bool = False

    def __call__(self, result: TrialResult) -> Verdict:
        """The verdict on a trial; UNCLEAR where a longer one must tell whether a queue fills, or what it loses."""
        verdict = judge_loss(result, self.acceptable_pct)
        if verdict is not Verdict.PASS or not self.sustained or result.queues is None:
            return verdict
        if result.queues.trend is Trend.UNCLEAR:
            return Verdict.UNCLEAR
        if 100 * kept_share(result) <= self.acceptable_pct:
            return Verdict.PASS
        return Verdict.UNCLEAR if fills_by_copies(result) else Verdict.FAIL

    def judged(self, result: TrialResult, row: Row) -> JudgedTrial[Row]:
        """A trial of a search whose row has the verdict of this criterion."""
        return JudgedTrial(row.verdict, result, row, self.kept_frames(result), self.excess_ppm(result))

    def kept_frames(self, result: TrialResult) -> int:
        """The frames of a trial that are lost as soon as a buffer is full; 0 where that is no criterion."""
        return ceil(kept_share(result) * result.expected_rx_frames) if self.sustained else 0

    def excess_ppm(self, result: TrialResult) -> tuple[float, float] | None:
        """Excess over what the device carries for any time with the acceptable loss, and its error.

        None where loss alone decides.
        """
        trend = result.queues
        if not self.sustained or trend is None:
            return None
        allowed_ppm = float(_PPM * self.acceptable_pct / max(Fraction(1), 100 - self.acceptable_pct))
        excess_ppm = max(0.0, trend.excess_ppm - allowed_ppm)
        error_ppm = max(0.0, trend.excess_ppm + trend.error_ppm - allowed_ppm) - excess_ppm
        if excess_ppm and result.duplicate_frames:
            # A longer trial has more copies, or fewer, by chance.
            error_ppm += _PPM / 100 * (loss_error_pct(result.duplicate_frames, result.tx_frames) or 0.0)
        return excess_ppm, error_ppm


def criterion_of(parameters: ParameterSet) -> Criterion:
    """The criterion of a throughput search."""
    return Criterion(parameters.number("acceptable_loss_pct"), parameters.flag(SUSTAINED))


def judged(verdict: Verdict) -> Verdict:
    """The verdict on a goal by one on a trial: where the trial does not tell, nothing was judged."""
    return Verdict.MEASURED if verdict is Verdict.UNCLEAR else verdict


def kept_share(result: TrialResult) -> Fraction:
    """The share of its frames that a filling queue keeps: they are lost when its buffer is full."""
    trend = result.queues
    if trend is None or trend.trend is not Trend.FILLING:
        return Fraction(0)
    excess = Fraction(trend.excess_ppm) / _PPM
    return excess / (1 + excess)


def fills_by_copies(result: TrialResult, flows: Sequence[FlowCounts] = ()) -> bool:
    """Whether a queue keeps no more frames than came twice: once it is full it may lose nothing but copies.

    Of all frames, or of those of the ``flows`` through queues that fill.
    """
    trend, counted = result.queues, flows or (result,)
    if trend is None or trend.trend is not Trend.FILLING or any(one.lost_frames for one in counted):
        return False
    certain = Fraction(max(0.0, trend.excess_ppm - trend.error_ppm)) / _PPM
    copies = Fraction(sum(one.duplicate_frames for one in counted), sum(one.rx_frames for one in counted))
    return certain / (1 + certain) <= copies
