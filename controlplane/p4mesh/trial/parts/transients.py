"""Reads counters of ports while the streams run, and says whether a device forwarded more at first than later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from p4mesh.measurement.columns import Array
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.measurement.queue_watch import cycle_of, step_of, times_of
from p4mesh.measurement.transient import FEWEST_READINGS, UNKNOWN, PortReading, transient
from p4mesh.tester.reading import Reading, ReasonCounts
from p4mesh.tester.records import ALL_ONES
from p4mesh.traffic.arrivals import Profile, Recorded
from p4mesh.traffic.derived import chains_of
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.stream import Stream
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.result import TrialResult


class FindingTransients(Part):
    """Readings of all ports at the times at which queues are watched; none around an interruption.

    Windows have whole bursts where time stands still meanwhile and the trial is long enough. Elsewhere frames sent tell
    the time, and the length of a window is unsure by one burst; with streams that begin or end apart, it is unsure by
    how far, as each has part in the frames of a port. Where that is more than a window, nobody can tell whether a
    device forwarded more at first. Frames that a device is to filter tell nothing.
    """

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        self._times_ns: list[int] = []
        self._readings: list[PortReading] = []
        self._uneven_ns: dict[str, tuple[Fraction, Fraction]] = {}
        """How far a stream is apart from others, and how long its bursts are."""
        self._step_ns = Fraction(0)
        self._names: Mapping[int, str] = {}
        self._stream_of_row: Array = np.zeros(0, dtype=np.int64)
        """Streams of the plan, and the number of that of each flow with a cell."""
        self._sending_ns = trial.spec.duration_ns
        self._by_way = False
        self._has_arrivals = any(stream.arrivals for stream in trial.spec.streams)
        self._has_sizes = any(stream.sizes_in_turn_bytes for stream in trial.spec.streams)
        self._real_time = trial.tester.target.capabilities.real_time

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        spec = trial.spec
        return spec.interruption is None and (spec.watch_queues or spec.watch_losses)

    def started(self, sending: Sending) -> None:
        plan, tick_ps, streams = sending.plan, sending.tester.tick_ps, self.trial.spec.streams
        step_ns = step_of(plan, sending.duration_ns, tick_ps)
        cycles_ns = {stream.name: burst_ns(stream) for stream in streams}
        self._names, self._stream_of_row = plan.names, plan.columns.stream
        turns = self._has_arrivals or self._has_sizes
        whole = cycle_of(plan, tick_ps) <= step_ns and len(set(cycles_ns.values())) == 1 and not turns
        if max(cycles_ns.values()):
            self._sending_ns = round(max(stream.frame_count * NS_PER_S / stream.rate_fps for stream in streams))
            longest_ns = Fraction(self._sending_ns, FEWEST_READINGS + 1)
            fitting_ns = [cycle_ns for cycle_ns in cycles_ns.values() if 0 < cycle_ns <= longest_ns]
            if fitting_ns and not whole:
                step_ns = max(1, int(step_ns / max(fitting_ns))) * max(fitting_ns)
        aparts_ns = _aparts_ns(streams, self._sending_ns)
        self._uneven_ns = {name: (aparts_ns[name], cycle_ns) for name, cycle_ns in cycles_ns.items()}
        self._by_way = whole and not self._real_time
        self._step_ns = step_ns
        times_ns = [time_ns for time_ns in times_of(step_ns) if time_ns < self._sending_ns]
        if len(times_ns) >= FEWEST_READINGS:
            self._times_ns = [sending.lead_ns + time_ns for time_ns in times_ns]
            self.due_ns = self._times_ns.pop(0)

    def _uneven(self, result: TrialResult, came: Iterable[tuple[str, int, int]], way_ns: float) -> dict[int, float]:
        """Part of the trial by which frames to a port leave early or late; of whole bursts, some are on their ``way``.

        It is the mean over the frames that came, or the most where these are not told apart.
        """
        parts = {
            name: float(apart_ns + (min(float(bursts_ns), way_ns) if self._by_way else bursts_ns)) / self._sending_ns
            for name, (apart_ns, bursts_ns) in self._uneven_ns.items()
        }
        if not result.flows:
            return dict.fromkeys((port.port for port in result.ports), max(parts.values()))
        of_port: defaultdict[int, int] = defaultdict(int)
        uneven: defaultdict[int, float] = defaultdict(float)
        for stream, port, frames in came:
            of_port[port] += frames
            uneven[port] += frames * parts[stream]
        return {port: uneven[port] / frames for port, frames in of_port.items() if frames}

    def act(self, sending: Sending) -> None:
        self.due_ns = self._times_ns.pop(0) if self._times_ns else None
        sent, counts = None, sending.tester.reason_counts()
        if self._real_time:
            before, counts = counts, sending.tester.reason_counts()
            sent = _sent(before), _sent(counts)
        received = {port: frames for (port, reason), frames in counts.items() if reason == "expected"}
        self._readings.append(PortReading(int(sending.now_ns) - sending.lead_ns, sent, received))

    def add(self, result: TrialResult, reading: Reading, flows: FlowArrays) -> TrialResult:
        lost_share = self._lost_share(result)
        queued = any(port.queued_frames for port in result.ports)
        if not result.status.trusted or (lost_share <= 0 and not queued):
            return result
        by_port = {port.port: port.rx_frames for port in result.ports}
        came = list(self._came(result, flows))
        frames = max(1, sum(by_port.values()))
        least = sum(part * by_port[port] for port, part in self._uneven(result, came, 0).items()) / frames
        if not self._readings or least * self._sending_ns > self._step_ns:
            return replace(result, transient=UNKNOWN) if lost_share > 0 else result
        ways_ns = _ways_ns(reading, flows, self.trial.tester.tick_ps)
        # A device on a processor forwards as it has time, and of what comes by chance it loses as chance has it.
        varies = self.trial.tester.target.capabilities.software_devices or self._has_arrivals
        found = transient(
            self._readings,
            result.ports,
            ways_ns,
            self._sending_ns,
            lost_share,
            uneven=self._uneven(result, came, max(ways_ns.values(), default=0)),
            strays={port: reading.of_ports[port]["expected"] - frames for port, frames in by_port.items()},
            varies=varies,
        )
        return result if found is None else replace(result, transient=found[0], ports=found[1])

    def _came(self, result: TrialResult, flows: FlowArrays) -> Iterator[tuple[str, int, int]]:
        """Frames that readings count, by stream and port: of flows, and of frames to many where they are not wanted."""
        yield from ((flow.stream, flow.rx_port, flow.rx_frames) for flow in result.flows)
        rows = np.flatnonzero(~flows.expected[: len(flows.cells)])
        streams, ports = self._stream_of_row[rows], flows.rx_port[rows]
        strays = (flows.unique + flows.duplicates)[rows]
        for stream, port, frames in zip(streams.tolist(), ports.tolist(), strays.tolist(), strict=True):
            yield self._names[stream], port, frames

    def _lost_share(self, result: TrialResult) -> float:
        """Share of the frames that were lost, without those that may be filtered, if others were sent."""
        wanted = {stream.name for stream in self.trial.spec.streams if not stream.may_be_filtered}
        flows = [flow for flow in result.flows if flow.stream in wanted]
        if not flows:
            return result.lost_frames / max(1, result.expected_rx_frames)
        return sum(flow.lost_frames for flow in flows) / max(1, sum(flow.tx_frames for flow in flows))


def burst_ns(stream: Stream) -> Fraction:
    """Time after which a stream does the same again, but for its destinations; 0 of even departures, or by chance."""
    if isinstance(stream.arrivals, Profile | Recorded):
        frames = stream.arrivals.departures_in_round(stream.rate_fps, stream.frame_count)
    else:
        frames = stream.burst.frames if stream.burst else len(stream.sizes_in_turn_bytes)
    return frames * NS_PER_S / stream.rate_fps


def _aparts_ns(streams: Sequence[Stream], sending_ns: int) -> Mapping[str, Fraction]:
    """Time by which each stream begins after the first one, or ends before or behind the transmission, in whole frames.

    A warm-up and what is sampled behind it are one stream in this.
    """
    begins_ns = {stream.name: stream.start_offset_ns or (0,) for stream in streams}
    lasts_ns = {stream.name: stream.frame_count * NS_PER_S / stream.rate_fps for stream in streams}
    first_ns = min(map(min, begins_ns.values()))
    last_ns = max(max(begins) + lasts_ns[name] for name, begins in begins_ns.items())
    end_ns = min(Fraction(first_ns + sending_ns), last_ns)
    found: dict[str, Fraction] = {}
    for chain in chains_of(streams):
        begin, end = chain[0].name, chain[-1].name
        late_ns = Fraction(max(begins_ns[begin]) - first_ns)
        frame_ns = NS_PER_S / chain[-1].rate_fps
        early_ns = end_ns - min(begins_ns[end]) - lasts_ns[end] - frame_ns
        behind_ns = max(begins_ns[end]) + lasts_ns[end] - frame_ns - end_ns
        found |= dict.fromkeys((stream.name for stream in chain), max(late_ns, early_ns, behind_ns))
    return found


def _sent(counts: ReasonCounts) -> int:
    return sum(frames for (_, reason), frames in counts.items() if reason == "transmitted")


def _ways_ns(reading: Reading, flows: FlowArrays, tick_ps: int) -> dict[int, float]:
    """Smallest latency of the test frames at each port; 0 where time stamps do not reach it, as clocks are off."""
    rows = np.flatnonzero((flows.expected & (flows.unique > 0))[: len(flows.cells)])
    ticks = ALL_ONES - reading.records["latency_min_inverted"][flows.cells[rows]].astype(np.int64)
    least_ns = np.where(ticks < ALL_ONES, ticks, 0) * tick_ps / 1000
    ways: dict[int, float] = {}
    for port, way_ns in zip(flows.rx_port[rows].tolist(), least_ns.tolist(), strict=True):
        ways[port] = min(way_ns, ways.get(port, way_ns))
    return ways
