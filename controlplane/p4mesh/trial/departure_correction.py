"""Takes the way through the sending kernel out of latencies, on targets whose kernel stamps departures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from p4mesh.tester.plan import Plan
from p4mesh.traffic.stamps import PortStamps
from p4mesh.trial.result import FlowCounts, LatencyBins, LatencyStats, MessageCounts, MessageTime, TrialResult

_SMALLEST_BIN_NS = 1.0


def corrected(
    result: TrialResult, plan: Plan, records: np.ndarray[Any, Any], stamps: Mapping[int, PortStamps]
) -> TrialResult:
    """Return a result with the stamps of its ports, whose latencies are less by the average delay of departures.

    The delay of a single frame is not known, but the distribution of delays: averages are corrected, and the spread of
    the delays is the error of everything else. No latency becomes less than 0.
    """
    shown = tuple(stamps[port] for port in plan.ports if port in stamps)
    delays_ns = {found.port: found.delay_avg_ns for found in shown}
    if not any(delays_ns.values()):
        return replace(result, stamps=shown) if shown else result
    ports = {flow.cell: flow.tx_port for flow in plan.flows}
    cells = {(found.stream, found.tx_port, found.rx_port): found.cells for found in plan.histograms}

    def delay_of(chosen: Iterable[int]) -> float:
        """Return the average delay of the frames of some cells."""
        frames = [(int(records["frames"][cell]), delays_ns.get(ports[cell], 0.0)) for cell in chosen]
        return sum(count * delay for count, delay in frames) / max(1, sum(count for count, _ in frames))

    expected = [flow.cell for flow in plan.flows if flow.expected]
    return replace(
        result,
        stamps=shown,
        latency=result.latency and _earlier(result.latency, delay_of(expected)),
        flows=tuple(_flow(flow, delays_ns.get(flow.tx_port, 0.0)) for flow in result.flows),
        histograms=tuple(
            replace(found, latency=_earlier(found.latency, delay_of(cells[found.stream, found.tx_port, found.rx_port])))
            for found in result.histograms
        ),
        messages=tuple(_message(found, delays_ns.get(found.tx_port, 0.0)) for found in result.messages),
    )


def _flow(flow: FlowCounts, delay_ns: float) -> FlowCounts:
    return replace(flow, latency=_earlier(flow.latency, delay_ns)) if flow.latency else flow


def _message(message: MessageCounts, delay_ns: float) -> MessageCounts:
    def time(found: MessageTime | None) -> MessageTime | None:
        return found and replace(
            found,
            min_ns=_less(found.min_ns, delay_ns),
            max_ns=_less(found.max_ns, delay_ns),
            sum_ns=_less(found.sum_ns, found.count * delay_ns),
        )

    return replace(message, fifo=time(message.fifo), lilo=time(message.lilo), filo=time(message.filo))


def _earlier(latency: LatencyStats, delay_ns: float) -> LatencyStats:
    return replace(
        latency,
        min_ns=_less(latency.min_ns, delay_ns),
        max_ns=_less(latency.max_ns, delay_ns),
        sum_ns=_less(latency.sum_ns, latency.count * delay_ns),
        percentiles_ns=tuple((percent, _less(value, delay_ns)) for percent, value in latency.percentiles_ns),
        bins=_bins(latency.bins, delay_ns) if latency.bins else None,
    )


def _bins(bins: LatencyBins, delay_ns: float) -> LatencyBins:
    """Return the bins, of which those that would be below 0 are one."""
    moved: list[tuple[float, float, int]] = []
    for low, high, frames in zip(bins.low_ns, bins.high_ns, bins.frames, strict=True):
        low_ns = _less(low, delay_ns)
        if moved and low_ns == 0:
            frames += moved.pop()[2]
        moved.append((low_ns, max(_SMALLEST_BIN_NS, high - delay_ns), frames))
    low_of, high_of, frames_of = zip(*moved, strict=True)
    return LatencyBins(low_of, high_of, frames_of)


def _less(value_ns: float, delay_ns: float) -> float:
    return max(0.0, value_ns - delay_ns)
