"""Lets loaded streams run as a trial asks: its frames, its interruption and its samples in between, then the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from p4mesh.measurement.counts import LatencyStats
from p4mesh.measurement.faults import faults_of
from p4mesh.measurement.latency_stats import latency_stats
from p4mesh.measurement.outages import StallFinder
from p4mesh.measurement.queue_trend import Readings
from p4mesh.measurement.queue_watch import QueueWatch, queue_watch
from p4mesh.measurement.samples import Sampler
from p4mesh.target.base import Pauses
from p4mesh.tester.group_service import GroupService
from p4mesh.tester.instrument import Tester
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.tester.routing_service import RoutingService
from p4mesh.tester.station_service import StationService
from p4mesh.traffic.controller_frame import ControllerFrame
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.trial.link_watch import LinkWatch
from p4mesh.trial.onlooker import EndedEarlyError, FaultRequest, Look, Onlooker
from p4mesh.trial.resets import trigger
from p4mesh.trial.spec import Interruption, TrialSpec

_CATCH_UP_ATTEMPTS = 50
_LINK_LOOK_NS = 100_000_000
"""Distance of the looks at the links while streams run."""


@dataclass(frozen=True)
class Observed:
    """Observations of a trial: the last reading of its streams, and events before it."""

    reading: Reading
    last_before: Mapping[int, int]
    """Per flow cell, the departure in ticks of the last frame that arrived before an outage."""
    link_losses: Mapping[int, int]
    """Number of times that the link of each port went down."""
    queues: Readings | None
    """Readings while the streams ran; None where there were no readings."""
    pauses: Pauses
    """Of the departures."""


class Transmission:
    """One transmission of the streams of a plan, from their start to the last reading."""

    def __init__(
        self,
        tester: Tester,
        stations: StationService,
        groups: GroupService,
        routing: RoutingService,
        plan: Plan,
        spec: TrialSpec,
        watch: LinkWatch,
        onlooker: Onlooker | None = None,
        faults: FaultRequest | None = None,
    ) -> None:
        self.plan = plan
        self._tester = tester
        self._stations = stations
        self._groups = groups
        self._routing = routing
        self._spec = spec
        self._watch = watch
        self._onlooker = onlooker
        self._sampler = None
        if spec.sampling is not None and onlooker is not None:
            self._sampler = Sampler(plan, tester.tick_ps, flows=spec.sampling.flows)
            self._every_ns = spec.sampling.every_ns
        self._faults = faults
        self._lead_ns = 0
        self._ended_early = False
        self._stalls = StallFinder(plan)
        self._began_ns: int | Fraction = 0
        self._until_ns: int | Fraction = 0
        self._sample_ns: int | Fraction = 0
        self._queue_watch = self._queues() if spec.watch_queues and spec.interruption is None else None
        self._queue_times_ns: list[int] = []
        self._queue_records: list[np.ndarray[Any, Any]] = []
        self._latency: LatencyStats | None = None
        self._pauses = Pauses()
        self._observed: Observed | None = None

    def run(self) -> None:
        """Start the streams and let their time pass; raises LinkLostError where the trial must not go on."""
        self._stations.forget_answers()
        self._tester.load(self.plan)
        if self._faults is not None:
            self._tester.dataplane.faults.begin(self._faults.frames)
        self._tester.arm()
        lead_ns = self._tester.start()
        self._began_ns = self._tester.elapsed_ns
        self._lead_ns = lead_ns
        self._sample_ns = lead_ns + self._every_ns if self._sampler else 0
        if self._queue_watch is not None:
            self._queue_times_ns = [lead_ns + time_ns for time_ns in self._queue_watch.times_ns]
        end_ns = lead_ns + self._spec.duration_ns + 2 * self._tester.round_ns(self.plan) + self._longest_offset_ns
        frames = [(max(0, lead_ns + frame.at_ns), frame) for frame in self._spec.controller_frames]
        if self._spec.memberships is not None:
            self._groups.change_after(lead_ns)
        if self._spec.routing_event is not None:
            self._routing.change_after(lead_ns + self._spec.routing_event.after_ns)
        if self._spec.interruption is None:
            self._stations.transmission(end_ns, frames, self._wait)
        else:
            self._run_interrupted(self._spec.interruption, lead_ns, end_ns, frames)
        self._await_last_departure()
        self._pauses = self._tester.target.take_pauses()

    def end(self) -> Observed:
        """Stop the streams, wait for frames on their way, and return what was observed; the same when asked again."""
        if self._observed is not None:
            return self._observed
        tester, settle_ns = self._tester, self._spec.settle_ns
        if self._ended_early:
            tester.stop()
        tester.drain()
        tester.stop()
        tester.drain()
        tester.wait(settle_ns)
        self._tester.packets.serve()
        reading = tester.read()
        # Where frames in flight are not known, silence must be at least twice the largest latency seen.
        wanted_ns = 2 * int(reading.records["latency_max"].max()) * tester.tick_ps // 1000
        if tester.target.capabilities.real_time and wanted_ns > settle_ns:
            tester.wait(wanted_ns - settle_ns)
            reading = tester.read()
        self._take_faults(reading)
        self._observed = Observed(
            reading, self._stalls.last_before, self._watch.losses(), self._queue_readings, self._pauses
        )
        return self._observed

    def _take_faults(self, reading: Reading) -> None:
        if self._faults is not None:
            capture, most = self._tester.dataplane.faults, self._faults.frames
            packets = capture.take()
            capture.end()
            self._faults.take(faults_of(self.plan, reading.records, packets, self._tester.tick_ps, most))

    @property
    def _now_ns(self) -> int | Fraction:
        """Time since the start request."""
        return self._tester.elapsed_ns - self._began_ns

    def _run_interrupted(
        self,
        interruption: Interruption,
        lead_ns: int,
        end_ns: int,
        frames: Sequence[tuple[int, ControllerFrame]],
    ) -> None:
        at_ns = lead_ns + interruption.after_ns
        earlier = [(due_ns, frame) for due_ns, frame in frames if due_ns <= at_ns]
        later = list(frames[len(earlier) :])
        self._stations.transmission(at_ns, earlier, self._wait)
        trigger(interruption, self._tester.target, self._spec.label)
        self._find_stalls(interruption, end_ns)
        at_ns = int(self._now_ns)
        self._until_ns = at_ns
        self._stations.transmission(
            end_ns - at_ns, [(max(0, due_ns - at_ns), frame) for due_ns, frame in later], self._wait
        )

    def _find_stalls(self, interruption: Interruption, end_ns: int) -> None:
        """Look at the records until every flow has stood still, at most until ``end_ns``."""
        while not self._stalls.complete:
            self._watch.require_links()
            self._stalls.look(self._tester.records())
            self._tester.packets.serve()
            if self._now_ns + interruption.sample_ns >= end_ns:
                return
            self._tester.wait(interruption.sample_ns)

    def _wait(self, duration_ns: int) -> None:
        """Wait, with looks at the links and samples; time that samples have taken counts."""
        self._until_ns += duration_ns
        while (left_ns := self._until_ns - self._now_ns) > 0:
            self._watch.require_links()
            self._require_wanted()
            self._look()
            step_ns = min(left_ns, _LINK_LOOK_NS)
            if self._queue_times_ns:
                if self._now_ns >= self._queue_times_ns[0]:
                    self._read_queues()
                    continue
                step_ns = min(step_ns, self._queue_times_ns[0] - self._now_ns)
            if self._sampler is not None:
                if self._now_ns >= self._sample_ns:
                    self._sample(self._sampler)
                    continue
                step_ns = min(step_ns, self._sample_ns - self._now_ns)
            self._tester.wait(step_ns)
        self._watch.require_links()

    def _require_wanted(self) -> None:
        if self._onlooker is not None and self._onlooker.wants_end():
            self._ended_early = True
            sent_s = max(0, int(self._now_ns) - self._lead_ns) / NS_PER_S
            raise EndedEarlyError(
                f"ended by the user after {sent_s:.3f} s of {self._spec.duration_ns / NS_PER_S:g} s; "
                "the counts are those until then"
            )

    def _sample(self, sampler: Sampler) -> None:
        assert self._onlooker is not None
        at_ns = int(self._now_ns) - self._lead_ns
        self._sample_ns = max(self._sample_ns + self._every_ns, self._now_ns)
        records = self._tester.records_of(sampler.cells)
        self._latency = latency_stats(records, self._tester.tick_ps)
        self._onlooker.take_sample(sampler.sample(at_ns, records, self._tester.reason_counts()))

    def _look(self) -> None:
        """Show the counters of the ports, which cost the loop nothing, with the latency that was read last."""
        at_ns = int(self._now_ns) - self._lead_ns
        if self._onlooker is None or at_ns < 0 or not self._onlooker.wants_look():
            return
        counts = self._tester.reason_counts()
        sent, received = (
            sum(count for (_, reason), count in counts.items() if reason == wanted)
            for wanted in ("transmitted", "expected")
        )
        found = self._latency
        latency = (found.count, found.sum_ns, found.max_ns) if found else ()
        self._onlooker.take_look(Look(at_ns, sent, received, *latency))

    def _queues(self) -> QueueWatch | None:
        tester, plan = self._tester, self.plan
        passes = tester.dataplane.passes_per_cell
        return queue_watch(plan, self._spec.duration_ns, tester.tick_ps, tester.round_ns(plan), passes)

    def _read_queues(self) -> None:
        assert self._queue_watch is not None
        del self._queue_times_ns[0]
        records = self._tester.records_of(self._queue_watch.cells)
        self._queue_records.append(records)
        if self._onlooker is not None:
            self._latency = latency_stats(records, self._tester.tick_ps)

    @property
    def _queue_readings(self) -> Readings | None:
        if self._queue_watch is None:
            return None
        cells = tuple(cell for part in self._queue_watch.cells for cell in part)
        return Readings(cells, tuple(self._queue_records))

    def _await_last_departure(self) -> None:
        """Give a target on the wall clock, which may run late, time to catch up."""
        capabilities = self._tester.target.capabilities
        if not capabilities.real_time:
            return
        intended = sum(t.frames for stream in self.plan.streams for t in stream.transmitters)
        for _ in range(_CATCH_UP_ATTEMPTS):
            if self._tester.frames("transmitted") >= intended:
                return
            self._tester.wait(capabilities.scheduling_jitter_ns)

    @property
    def _longest_offset_ns(self) -> int:
        return max((offset for stream in self.plan.streams for offset in stream.stream.start_offset_ns), default=0)
