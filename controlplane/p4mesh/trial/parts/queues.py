"""Reads latencies while the streams run, and says whether a queue of the device fills."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from p4mesh.measurement.counts import LatencyStats, Trend
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.measurement.latency_course import latency_course
from p4mesh.measurement.queue_trend import Readings, queue_trend
from p4mesh.measurement.queue_watch import QueueWatch, queue_watch
from p4mesh.tester.reading import Reading
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict


class QueueWatching(Part):
    """Readings of some cells at equal distances; none around an interruption, which moves all latencies."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        self._watch: QueueWatch | None = None
        self._times_ns: list[int] = []
        self._records: list[np.ndarray[Any, Any]] = []

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return trial.spec.watch_queues

    def started(self, sending: Sending) -> None:
        if self.trial.spec.interruption is not None:
            return
        tester, plan = sending.tester, sending.plan
        passes = tester.dataplane.passes_per_cell
        begin_ns, end_ns = self.trial.spec.watched_ns or (0, sending.duration_ns)
        self._watch = queue_watch(plan, end_ns - begin_ns, tester.tick_ps, plan.round_ns, passes)
        if self._watch is not None:
            self._times_ns = [sending.lead_ns + begin_ns + time_ns for time_ns in self._watch.times_ns]
            self.due_ns = self._times_ns.pop(0)

    def act(self, sending: Sending) -> None:
        assert self._watch is not None
        self.due_ns = self._times_ns.pop(0) if self._times_ns else None
        self._records.append(sending.read(self._watch.cells))

    def add(self, result: TrialResult, reading: Reading, flows: FlowArrays) -> TrialResult:
        if result.status is Verdict.ABORT:
            return result
        readings = None
        if self._watch is not None:
            readings = Readings(tuple(cell for part in self._watch.cells for cell in part), tuple(self._records))
        spec, tick_ps = self.trial.spec, self.trial.tester.tick_ps
        trend = queue_trend(
            self.trial.plan,
            readings,
            reading.records,
            duration_ticks=spec.duration_ns * 1000 / tick_ps,
            tick_ps=tick_ps,
            limit=spec.excess_limit_ppm / 1_000_000,
        )
        course = latency_course(self.trial.plan, readings, tick_ps)
        filling = trend is not None and trend.trend is Trend.FILLING
        return replace(
            result,
            queues=trend,
            latency_error_ns=max(result.latency_error_ns, _beyond(course.error_ns, result.latency)),
            latency_growth_ns=0.0 if filling else course.growth_ns,
        )


def _beyond(error_ns: float, latency: LatencyStats | None) -> float:
    """The error of an average where it is larger than that of independent frames, else 0."""
    return error_ns if latency is not None and error_ns > latency.sampling_error_ns else 0.0
