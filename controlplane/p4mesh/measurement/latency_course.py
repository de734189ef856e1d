"""How latency went while a trial ran: the error of its average, and growth that is not that of a queue.

Latencies that follow each other are not independent: frames share queues, and a device at line rate never catches up
with its slowest frame. Averages of windows that are longer than such memory tell how far the average of all may be off
(batch means), and whether latency depends on the length of the trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from p4mesh.measurement.columns import Array
from p4mesh.measurement.queue_trend import Readings
from p4mesh.tester.plan import Plan

_T_95 = {5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}
"""Student's t of 95 % for the average of so many windows."""
_SIGMAS = 5
_LEAST_GROWTH = 0.02
"""Share of the average; less is no matter for a report."""
_LEAST_TICKS = 4


@dataclass(frozen=True)
class LatencyCourse:
    """Error of the average with 95 % confidence, and growth from the first window to the last one."""

    error_ns: float = 0.0
    growth_ns: float = 0.0
    """Growth at the receive port where it is largest; 0 where latency also falls, or grows by no more than noise."""


def latency_course(plan: Plan, readings: Readings | None, tick_ps: int) -> LatencyCourse:
    """Compare the windows between readings; nothing is known of trials with too few of them."""
    if readings is None:
        return LatencyCourse()
    ports = dict(zip(plan.columns.cell.tolist(), plan.columns.rx_port.tolist(), strict=True))
    rx_ports = np.array([ports.get(cell, -1) for cell in readings.cells])
    whole = _means(readings.records, rx_ports >= 0)
    if whole is None:
        return LatencyCourse()
    means, _ = whole
    # The watched windows are most of the trial.
    error = _T_95[len(means)] * float(means.std(ddof=1)) / sqrt(len(means))
    of_ports = [rx_ports == port for port in np.unique(rx_ports[rx_ports >= 0])]
    grown = [_growth(_means(readings.records, chosen)) for chosen in of_ports]
    begun = [_of_the_begin(readings.records, chosen) for chosen in of_ports]
    return LatencyCourse(max(error, *begun) * tick_ps / 1000, max(grown, default=0.0) * tick_ps / 1000)


def _means(records: Sequence[np.ndarray[Any, Any]], chosen: Array) -> tuple[Array, Array] | None:
    """Mean latency of some cells in each window, in ticks, and its variance by jitter; None with too few windows."""
    frames, latency, jitter = (
        np.diff([_total(one[chosen], name) for one in records]) for name in ("frames", "latency_sum", "jitter_sum")
    )
    if len(frames) not in _T_95 or (frames <= 0).any():
        return None
    # Of independent latencies, the mean difference of two neighbours is about their standard deviation.
    return latency / frames, (jitter.sum() / frames.sum()) ** 2 / frames


def _of_the_begin(records: Sequence[np.ndarray[Any, Any]], chosen: Array) -> float:
    """Ticks by which frames before the first reading move the average of cells that are read until the end."""
    begun, before, frames = (one["frames"].astype(np.int64) for one in (records[0], records[-2], records[-1]))
    lasting = chosen & (begun > 0) & (frames > before)
    if not lasting.any():
        return 0.0
    first, last = (
        [_total(one[lasting], name) for name in ("frames", "latency_sum")] for one in (records[0], records[-1])
    )
    return abs(last[1] / last[0] - (last[1] - first[1]) / (last[0] - first[0]))


def _growth(found: tuple[Array, Array] | None) -> float:
    if found is None:
        return 0.0
    means, variances = found
    growth = float(means[-1] - means[0])
    noise = _SIGMAS * sqrt(float(variances[0] + variances[-1]))
    never_falls = bool((np.diff(means) >= -noise / _SIGMAS).all())
    least = max(noise, _LEAST_GROWTH * float(means.mean()), _LEAST_TICKS)
    return growth if never_falls and growth > least else 0.0


def _total(records: np.ndarray[Any, Any], name: str) -> float:
    if name == "frames":
        return float(records[name].astype(np.int64).sum())
    high, low = (records[f"{name}_{half}"].astype(np.int64).sum() for half in ("high", "low"))
    return float((int(high) << 32) + int(low))
