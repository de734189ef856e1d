"""Takes the way through the sending kernel out of latencies, on targets whose kernel stamps departures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from p4mesh.measurement.counts import Counts, FlowCounts, LatencyBins, LatencyStats, MessageCounts, MessageTime
from p4mesh.tester.plan import Plan
from p4mesh.traffic.stamps import PortStamps

_SMALLEST_BIN_NS = 1.0


@dataclass(frozen=True)
class _Delay:
    """Delay of the departures of some frames."""

    average_ns: float
    smallest_ns: float
    error_ns: float = 0.0
    """Of the average."""


_NONE = _Delay(0.0, 0.0)


def corrected(counts: Counts, plan: Plan, records: np.ndarray[Any, Any], stamps: Mapping[int, PortStamps]) -> Counts:
    """Takes the delay of departures out of latencies, and adds the stamps of the ports to the counts.

    The delay of a single frame is not known, but the distribution of delays. Averages are less by the average delay.
    The smallest and the largest value, percentiles and bins are of single frames: they are less by the smallest delay,
    which every frame has had, and so never below the latency of the frame.

    A few long delays make an average uncertain that some of the frames tell. Where it would leave less than the
    smallest latency, it is not that of these frames: their average is less by the smallest delay, too, and the
    difference of the two delays is its error.
    """
    shown = tuple(stamps[port] for port in plan.ports if port in stamps)
    delays = {
        found.port: _Delay(found.delay_avg_ns, max(0.0, found.delay_min_ns), found.delay_avg_error_ns)
        for found in shown
    }
    if all(delay == _NONE for delay in delays.values()):
        return replace(counts, stamps=shown) if shown else counts
    ports = {flow.cell: flow.tx_port for flow in plan.flows}
    cells = {(found.stream, found.tx_port, found.rx_port): found.cells for found in plan.histograms}

    def delay_of(chosen: Iterable[int]) -> _Delay:
        """Delay of the frames of some cells."""
        counted = [(int(records["frames"][cell]), delays.get(ports[cell], _NONE)) for cell in chosen]
        sent = [(frames, delay) for frames, delay in counted if frames]
        if not sent:
            return _NONE
        total_ns = sum(frames * delay.average_ns for frames, delay in sent)
        return _Delay(
            total_ns / sum(frames for frames, _ in sent),
            min(delay.smallest_ns for _, delay in sent),
            max(delay.error_ns for _, delay in sent),
        )

    expected = [flow.cell for flow in plan.flows if flow.expected]
    of_flows = [(flow.latency, delays.get(flow.tx_port, _NONE)) for flow in counts.flows if flow.latency]
    of_all = [(counts.latency, delay_of(expected))] if counts.latency else []
    return replace(
        counts,
        stamps=shown,
        latency_error_ns=max((_error_ns(*one) for one in (*of_all, *of_flows)), default=0.0),
        uncorrected_averages=sum(not _leaves_enough(*one) for one in of_flows or of_all),
        latency=counts.latency and _earlier(counts.latency, delay_of(expected)),
        flows=tuple(_flow(flow, delays.get(flow.tx_port, _NONE)) for flow in counts.flows),
        histograms=tuple(
            replace(found, latency=_earlier(found.latency, delay_of(cells[found.stream, found.tx_port, found.rx_port])))
            for found in counts.histograms
        ),
        messages=tuple(_message(found, delays.get(found.tx_port, _NONE)) for found in counts.messages),
    )


def _flow(flow: FlowCounts, delay: _Delay) -> FlowCounts:
    return replace(flow, latency=_earlier(flow.latency, delay)) if flow.latency else flow


def _message(message: MessageCounts, delay: _Delay) -> MessageCounts:
    def time(found: MessageTime | None) -> MessageTime | None:
        if found is None:
            return None
        min_ns, sum_ns, max_ns = _spread(found, delay)
        return replace(found, min_ns=min_ns, sum_ns=sum_ns, max_ns=max_ns)

    return replace(message, fifo=time(message.fifo), lilo=time(message.lilo), filo=time(message.filo))


def _earlier(latency: LatencyStats, delay: _Delay) -> LatencyStats:
    smallest_ns = delay.smallest_ns
    min_ns, sum_ns, max_ns = _spread(latency, delay)
    return replace(
        latency,
        min_ns=min_ns,
        max_ns=max_ns,
        sum_ns=sum_ns,
        percentiles_ns=tuple((percent, _less(value, smallest_ns)) for percent, value in latency.percentiles_ns),
        bins=_bins(latency.bins, smallest_ns) if latency.bins else None,
    )


def _leaves_enough(found: LatencyStats | MessageTime, delay: _Delay) -> bool:
    """Whether an average less the average delay is no less than the smallest value."""
    average_ns = found.sum_ns / max(1, found.count) - delay.average_ns
    return average_ns >= max(0.0, found.min_ns - delay.smallest_ns)


def _error_ns(found: LatencyStats, delay: _Delay) -> float:
    """Error that a delay leaves in an average."""
    return delay.error_ns + (0.0 if _leaves_enough(found, delay) else delay.average_ns - delay.smallest_ns)


def _spread(found: LatencyStats | MessageTime, delay: _Delay) -> tuple[float, float, float]:
    """Smallest value, sum and largest value, less the delay."""
    average_delay_ns = delay.average_ns if _leaves_enough(found, delay) else delay.smallest_ns
    min_ns, max_ns = (_less(value, delay.smallest_ns) for value in (found.min_ns, found.max_ns))
    return min_ns, _less(found.sum_ns, found.count * average_delay_ns), max_ns


def _bins(bins: LatencyBins, delay_ns: float) -> LatencyBins:
    """Moves bins down by the delay; those that would begin below 0 become one."""
    moved: list[tuple[float, float, int]] = []
    for low, high, frames in zip(bins.low_ns, bins.high_ns, bins.frames, strict=True):
        low_ns = _less(low, delay_ns)
        if moved and low_ns == 0:
            frames += moved.pop()[2]
        moved.append((low_ns, max(_SMALLEST_BIN_NS, high - delay_ns), frames))
    low_of, high_of, frames_of = zip(*moved, strict=True)
    return LatencyBins(low_of, high_of, frames_of)


def _less(value_ns: float, delay_ns: float) -> float:
    """Time less a delay, at least 0: less than that is an error of clocks, or of a delay that few frames have told."""
    return max(0.0, value_ns - delay_ns)
