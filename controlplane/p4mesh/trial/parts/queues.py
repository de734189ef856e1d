"""Reads latencies while the streams run, and says whether a queue of the device fills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np

from p4mesh.measurement.class_queues import Piece, class_queues, pieces_of
from p4mesh.measurement.counts import ClassQueues, LatencyStats, QueueTrend, Trend
from p4mesh.measurement.dependent_frames import DependentFrames
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.measurement.latency_course import latency_course, unmet_ns
from p4mesh.measurement.queue_trend import Readings, queue_trend
from p4mesh.measurement.queue_watch import queue_watch
from p4mesh.tester.reading import Reading
from p4mesh.traffic.arrivals import Profile, Recorded
from p4mesh.traffic.stream import Stream
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.parts.transients import burst_ns
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict


class QueueWatching(Part):
    """Readings of some cells at equal distances; none around an interruption, which moves all latencies.

    Classes that send at different times are watched in each piece of the trial in which the same of them send.
    """

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        self._pieces: tuple[Piece, ...] = ()
        self._due: list[tuple[int, Piece]] = []
        self._cells: dict[Piece, tuple[range, ...]] = {}
        self._records: dict[Piece, list[np.ndarray[Any, Any]]] = {}

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return trial.spec.watch_queues

    def started(self, sending: Sending) -> None:
        if self.trial.spec.interruption is not None:
            return
        tester, plan, streams = sending.tester, sending.plan, self.trial.spec.streams
        whole = Piece(0, sending.duration_ns, frozenset(), True)
        shape_ns = _shape_ns(streams)
        has_classes = any(stream.traffic_class for stream in streams)
        self._pieces = pieces_of(streams, sending.duration_ns) if has_classes else (whole,)
        for piece in self._pieces:
            passes = tester.dataplane.passes_per_cell
            watch = queue_watch(plan, piece.length_ns, tester.tick_ps, plan.round_ns, passes, shape_ns)
            if piece.watched and watch is not None:
                self._cells[piece] = watch.cells
                begin_ns = sending.lead_ns + piece.begin_ns
                self._due += ((begin_ns + time_ns, piece) for time_ns in watch.times_ns)
        self.due_ns = self._due[0][0] if self._due else None

    def act(self, sending: Sending) -> None:
        _, piece = self._due.pop(0)
        self.due_ns = self._due[0][0] if self._due else None
        self._records.setdefault(piece, []).append(sending.read(self._cells[piece]))

    def add(self, result: TrialResult, reading: Reading, flows: FlowArrays) -> TrialResult:
        if result.status is Verdict.ABORT:
            return result
        readings = {
            piece: Readings(tuple(cell for part in self._cells[piece] for cell in part), tuple(records))
            for piece, records in self._records.items()
        }
        spec, tick_ps = self.trial.spec, self.trial.tester.tick_ps
        if not any(port.late_frames for port in result.ports):
            # While a queue fills latencies grow, which is no matter of chance.
            dependent = DependentFrames(self.trial.plan, reading, tuple(readings.values()), tick_ps)
            result = replace(
                result,
                latency=dependent.of_all(result.latency),
                histograms=tuple(map(dependent.of_histogram, result.histograms)),
                flows=tuple(map(dependent.of_flow, result.flows)),
            )
        limit = spec.excess_limit_ppm / 1_000_000
        unmet = unmet_ns(self.trial.plan, spec.streams, self.trial.tester.target.own_rate_bps_of)
        result = replace(result, unmet_ns=max(unmet.values(), default=0.0))
        if any(stream.traffic_class for stream in spec.streams):
            found = tuple(
                class_queues(
                    self.trial.plan,
                    spec.streams,
                    self._pieces,
                    readings,
                    reading.records,
                    duration_ns=spec.duration_ns,
                    tick_ps=tick_ps,
                    limit=limit,
                    unmet=unmet,
                )
            )
            return replace(result, queues=_worst(found), class_queues=found)
        whole = next(iter(readings.values()), None)
        trend = queue_trend(
            self.trial.plan,
            whole,
            reading.records,
            duration_ticks=spec.duration_ns * 1000 / tick_ps,
            tick_ps=tick_ps,
            limit=limit,
        )
        course = latency_course(self.trial.plan, whole, tick_ps)
        filling = trend is not None and trend.trend is Trend.FILLING
        return replace(
            result,
            queues=trend,
            latency_error_ns=max(result.latency_error_ns, _beyond(course.error_ns, result.latency)),
            latency_growth_ns=0.0 if filling else course.growth_ns,
        )


def _shape_ns(streams: Sequence[Stream]) -> Fraction | None:
    """Time after which the rates and sizes of all streams come again; None where they stay the same.

    Latency goes with both, so a window that is no whole number of them says nothing of a queue.
    """
    shapes = [stream for stream in streams if isinstance(stream.arrivals, Profile | Recorded)]
    shapes += [stream for stream in streams if stream.sizes_in_turn_bytes and stream not in shapes]
    if not shapes:
        return None
    found = [burst_ns(stream) for stream in shapes]
    return Fraction(lcm(*(each.numerator for each in found)), gcd(*(each.denominator for each in found)))


def _worst(found: tuple[ClassQueues, ...]) -> QueueTrend | None:
    """The trend of all classes together."""
    for kind in (Trend.FILLING, Trend.UNCLEAR, Trend.STEADY):
        if trends := [each.trend for each in found if each.trend.trend is kind]:
            return max(trends, key=lambda trend: trend.excess_ppm + trend.error_ppm)
    return None


def _beyond(error_ns: float, latency: LatencyStats | None) -> float:
    """The error of an average where it is larger than that of independent frames, else 0."""
    return error_ns if latency is not None and error_ns > latency.sampling_error_ns else 0.0
