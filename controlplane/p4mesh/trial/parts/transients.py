"""Reads counters of ports while the streams run, and says whether a device forwarded more at first than later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.measurement.queue_watch import cycle_of, step_of, times_of
from p4mesh.measurement.transient import PortReading, transient
from p4mesh.tester.reading import Reading, ReasonCounts
from p4mesh.tester.records import ALL_ONES
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

_EVEN = 1000
"""Ports that start together do so within this part of a trial: no window is longer or shorter by a visible part."""


class FindingTransients(Part):
    """Readings of all ports at the times at which queues are watched; none around an interruption.

    Windows with other parts of bursts in each are not compared. Where time does not stand still meanwhile, frames sent
    tell it: no readings of streams that send them unevenly.
    """

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        self._times_ns: list[int] = []
        self._readings: list[PortReading] = []

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        spec = trial.spec
        wanted = spec.watch_queues and spec.interruption is None
        return wanted and (not trial.tester.target.capabilities.real_time or _evenly_sent(spec))

    def started(self, sending: Sending) -> None:
        tick_ps = sending.tester.tick_ps
        step_ns = step_of(sending.plan, sending.duration_ns, tick_ps)
        if any(stream.burst for stream in self.trial.spec.streams) and cycle_of(sending.plan, tick_ps) > step_ns:
            return
        self._times_ns = [sending.lead_ns + time_ns for time_ns in times_of(step_ns)]
        self.due_ns = self._times_ns.pop(0)

    def act(self, sending: Sending) -> None:
        self.due_ns = self._times_ns.pop(0) if self._times_ns else None
        sent, counts = None, sending.tester.reason_counts()
        if sending.tester.target.capabilities.real_time:
            before, counts = counts, sending.tester.reason_counts()
            sent = _sent(before), _sent(counts)
        received = {port: frames for (port, reason), frames in counts.items() if reason == "expected"}
        self._readings.append(PortReading(int(sending.now_ns) - sending.lead_ns, sent, received))

    def add(self, result: TrialResult, reading: Reading, flows: FlowArrays) -> TrialResult:
        if not result.status.trusted or not result.lost_frames:
            return result
        ways_ns = _ways_ns(reading, flows, self.trial.tester.tick_ps)
        lost_share = result.lost_frames / result.expected_rx_frames
        varies = self.trial.tester.target.capabilities.software_devices
        found = transient(self._readings, result.ports, ways_ns, result.duration_ns, lost_share, varies=varies)
        return result if found is None else replace(result, transient=found[0], ports=found[1])


def _evenly_sent(spec: TrialSpec) -> bool:
    latest_ns = max((offset for stream in spec.streams for offset in stream.start_offset_ns), default=0)
    return latest_ns * _EVEN <= spec.duration_ns and not any(stream.burst or stream.arrivals for stream in spec.streams)


def _sent(counts: ReasonCounts) -> int:
    return sum(frames for (_, reason), frames in counts.items() if reason == "transmitted")


def _ways_ns(reading: Reading, flows: FlowArrays, tick_ps: int) -> dict[int, float]:
    """Smallest latency of the test frames at each port."""
    rows = np.flatnonzero((flows.expected & (flows.unique > 0))[: len(flows.cells)])
    least = (ALL_ONES - reading.records["latency_min_inverted"][flows.cells[rows]].astype(np.int64)) * tick_ps / 1000
    ways: dict[int, float] = {}
    for port, way_ns in zip(flows.rx_port[rows].tolist(), least.tolist(), strict=True):
        ways[port] = min(way_ns, ways.get(port, way_ns))
    return ways
