"""A measurer whose frames take known times, so that every latency statistic has a closed form."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from support.destination_oracle import flow_counts
from support.fakes import FakeMeasurer

from p4mesh.measurement.counts import FlowCounts, HistogramStats, LatencyStats
from p4mesh.methods.base import TrialNote
from p4mesh.tester.histogram import PERCENTILES, SIGNED_PERCENTILES, HistogramPer
from p4mesh.topology import Topology
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

Delays = Callable[[Stream, int, int, int], Sequence[float]]
"""(stream, transmit port, receive port, number of frames) -> time of each frame in ns."""


def constant(nanoseconds: float) -> Delays:
    """Every frame takes the same time."""
    return lambda stream, tx, rx, count: [nanoseconds] * count


def statistics(delays: Sequence[float], *, percentiles: bool) -> LatencyStats:
    """The statistics that the tester measures of one flow whose frames arrive in order."""
    changes = [later - earlier for earlier, later in itertools.pairwise(delays)]
    sizes = [abs(change) for change in changes]
    smoothed = 0.0
    for size in sizes:
        smoothed += (size - smoothed) / 16
    return LatencyStats(
        len(delays),
        min(delays),
        max(delays),
        sum(delays),
        len(changes),
        min(sizes, default=0.0),
        max(sizes, default=0.0),
        sum(sizes),
        _ranks(delays, PERCENTILES) if percentiles else (),
        ipdv_count=len(changes),
        ipdv_min_ns=min(changes, default=0.0),
        ipdv_max_ns=max(changes, default=0.0),
        ipdv_sum_ns=sum(changes),
        ipdv_percentiles_ns=_ranks(changes, SIGNED_PERCENTILES) if percentiles else (),
        rfc3550_jitter_flows=1 if changes else 0,
        rfc3550_jitter_sum_ns=smoothed,
        rfc3550_jitter_max_ns=smoothed,
    )


def _ranks(values: Sequence[float], percents: Sequence[Any]) -> tuple[tuple[float, float], ...]:
    ordered = sorted(values)
    if not ordered:
        return ()
    places = [max(0, -(-len(ordered) * percent // 100) - 1) for percent in percents]
    return tuple((float(percent), ordered[place]) for percent, place in zip(percents, places, strict=True))


class DelayMeasurer(FakeMeasurer):
    """Delivers every frame after the time that ``delays`` gives."""

    def __init__(self, delays: Delays, status: Callable[[TrialSpec], Verdict] = lambda _: Verdict.MEASURED) -> None:
        super().__init__(status=status)
        self.delays = delays

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        """A trial without loss."""
        base = super().measure(spec)
        flows, histograms = [], []
        everything: list[float] = []
        for stream in spec.streams:
            for (tx, rx), count in flow_counts(stream).items():
                delays = self.delays(stream, tx, rx, count)
                everything += delays
                plain = statistics(delays, percentiles=False)
                flows.append(FlowCounts(stream.name, tx, rx, count, count, latency=plain))
                if spec.histograms is HistogramPer.FLOW:
                    wanted = spec.histogram_flows or ((stream.name, tx, rx),)
                    if (stream.name, tx, rx) in wanted:
                        stats = statistics(delays, percentiles=True)
                        histograms.append(HistogramStats(stream.name, tx, rx, stats))
        return replace(
            base,
            latency=statistics(everything, percentiles=spec.histograms is not None and not spec.histogram_flows),
            flows=tuple(flows) if spec.per_flow else (),
            histograms=tuple(histograms),
        )


@contextmanager
def open_wires(_: Topology) -> Iterator[DelayMeasurer]:
    """A measurer of wires of 100 ns and another 10 ns per transmit port."""
    yield DelayMeasurer(lambda stream, tx, rx, count: [100.0 + 10 * tx] * count)


@contextmanager
def open_longer_wires(_: Topology) -> Iterator[DelayMeasurer]:
    """A measurer of wires that take 50 ns more."""
    yield DelayMeasurer(lambda stream, tx, rx, count: [150.0 + 10 * tx] * count)


@contextmanager
def open_device(_: Topology) -> Iterator[DelayMeasurer]:
    """A measurer of a device that every frame takes 2000 ns through."""
    yield DelayMeasurer(constant(2000.0))


@contextmanager
def open_untrusted(_: Topology) -> Iterator[DelayMeasurer]:
    """A measurer whose trials are INVALID."""
    yield DelayMeasurer(constant(2000.0), lambda _: Verdict.INVALID)
