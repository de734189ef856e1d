"""Takes the way through the sending kernel out of latencies, on targets whose kernel stamps departures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from p4mesh.measurement.counts import Counts, FlowCounts, LatencyBins, LatencyStats, MessageCounts, MessageTime
from p4mesh.tester.plan import Plan
from p4mesh.traffic.stamps import KERNEL, PortStamps

_SMALLEST_BIN_NS = 1.0
_BEYOND_CHANCE = 2
"""Sampling errors below 0 that make an average impossible: of hundreds of flows a few are beyond a single one."""


@dataclass(frozen=True)
class _Delay:
    """Delay of the departures of some frames."""

    average_ns: float
    smallest_ns: float
    error_ns: float = 0.0
    """Error of the average."""
    single_error_ns: float = 0.0
    """Most that is left of the delay of a single frame."""
    sampling_ns: float = 0.0
    """Part of the error of the average that is chance, with 95 % confidence: frames are some of those of their port."""


_NONE = _Delay(0.0, 0.0)


def corrected(counts: Counts, plan: Plan, records: np.ndarray[Any, Any], stamps: Mapping[int, PortStamps]) -> Counts:
    """Takes the delay of departures out of latencies, and adds the stamps of the ports to the counts.

    The average delay of a port is known, not that of a single frame. Averages are less by the average delay of the
    ports that sent their frames, in the shares of these. The smallest and the largest value, percentiles and bins are
    of single frames: they are less by the smallest delay, which every frame has had, and so never below the latency of
    the frame. So the smallest value may be above the average; then it is less by the average delay.

    An average delay is no longer than the average time until arrival: where it is by more than chance among the frames
    of a port makes it, the stamps are not of these frames, which is counted as a fault.
    """
    shown = tuple(stamps[port] for port in plan.ports if port in stamps)
    if not shown:
        return counts
    ports = {flow.cell: flow.tx_port for flow in plan.flows}
    cells = {(found.stream, found.tx_port, found.rx_port): found.cells for found in plan.histograms}

    def delay_of(chosen: Iterable[int]) -> _Delay:
        """Delay of the frames of some cells."""
        frames: dict[int, int] = {}
        for cell in chosen:
            frames[ports[cell]] = frames.get(ports[cell], 0) + int(records["frames"][cell])
        sent = [(number, _delay(stamps.get(port), number)) for port, number in frames.items() if number]
        if not sent:
            return _NONE
        return _Delay(
            sum(number * delay.average_ns for number, delay in sent) / sum(number for number, _ in sent),
            min(delay.smallest_ns for _, delay in sent),
            max(delay.error_ns for _, delay in sent),
            max(delay.single_error_ns for _, delay in sent),
            max(delay.sampling_ns for _, delay in sent),
        )

    expected = [flow.cell for flow in plan.flows if flow.expected]
    of_flows = [(flow.latency, _delay_of_flow(flow, stamps)) for flow in counts.flows if flow.latency]
    of_histograms = [
        (found.latency, delay_of(cells[found.stream, found.tx_port, found.rx_port])) for found in counts.histograms
    ]
    of_all = [(counts.latency, delay_of(expected))] if counts.latency else []
    every = [*of_all, *of_flows, *of_histograms]
    senders = {flow.tx_port for flow in plan.flows}
    return replace(
        counts,
        stamps=shown,
        latency_error_ns=max((delay.error_ns for _, delay in every), default=0.0),
        single_latency_error_ns=max((delay.single_error_ns for _, delay in every), default=0.0),
        unstamped_departures=any(found.port in senders and found.departures != KERNEL for found in shown),
        impossible_averages=sum(_average_ns(*one) < -_BEYOND_CHANCE * one[1].sampling_ns for one in every),
        latency=counts.latency and _earlier(counts.latency, delay_of(expected)),
        flows=tuple(_flow(flow, _delay_of_flow(flow, stamps)) for flow in counts.flows),
        histograms=tuple(
            replace(found, latency=_earlier(latency, delay))
            for found, (latency, delay) in zip(counts.histograms, of_histograms, strict=True)
        ),
        messages=tuple(_message(found, _delay(stamps.get(found.tx_port), 0)) for found in counts.messages),
    )


def _delay(stamps: PortStamps | None, frames: int) -> _Delay:
    """Delay of some of the frames of a port."""
    if stamps is None:
        return _NONE
    sampling_ns = stamps.average_error_ns(frames)
    return _Delay(
        stamps.delay_avg_ns,
        max(0.0, stamps.delay_min_ns),
        sampling_ns + stamps.cable_error_ns,
        stamps.single_error_ns + stamps.cable_error_ns,
        sampling_ns,
    )


def _delay_of_flow(flow: FlowCounts, stamps: Mapping[int, PortStamps]) -> _Delay:
    return _delay(stamps.get(flow.tx_port), flow.latency.count if flow.latency else 0)


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


def _average_ns(found: LatencyStats | MessageTime, delay: _Delay) -> float:
    """Average less the average delay."""
    return found.sum_ns / max(1, found.count) - delay.average_ns


def _spread(found: LatencyStats | MessageTime, delay: _Delay) -> tuple[float, float, float]:
    """Smallest value, sum and largest value, less the delay."""
    average_ns = max(0.0, _average_ns(found, delay))
    if found.count == 1:
        return average_ns, average_ns, average_ns
    min_ns, max_ns = (_less(value, delay.smallest_ns) for value in (found.min_ns, found.max_ns))
    if min_ns > average_ns:
        min_ns = _less(found.min_ns, delay.average_ns)
    return min_ns, found.count * average_ns, max_ns


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
