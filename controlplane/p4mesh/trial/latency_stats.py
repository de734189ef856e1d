"""From records and histogram bins to the statistics of latency, jitter and IPDV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from p4mesh.tester.histogram import (
    PERCENTILES,
    SIGNED_PERCENTILES,
    Bins,
    percentile_ticks,
    signed_percentile_ticks,
    sizes,
)
from p4mesh.tester.plan import Plan
from p4mesh.tester.records import ALL_ONES, IPDV_ZERO, with_ipdv
from p4mesh.trial.result import HistogramStats, LatencyStats


def latency_stats(records: np.ndarray[Any, Any], tick_ps: int, bins: Sequence[Bins] = ()) -> LatencyStats | None:
    """Return the statistics of the flows of these records; percentiles when ``bins`` count their frames.

    What the records have no fields for, because the target does not measure it, has a count of 0.
    """
    records = records[records["frames"] > 0]
    if not len(records):
        return None
    tick_ns = tick_ps / 1000
    jittered = records[records["frames"] > 1]
    varied = with_ipdv(records)
    smoothed = jittered if "jitter_smoothed_x16" in (records.dtype.names or ()) else jittered[:0]
    return LatencyStats(
        count=int(records["frames"].sum()),
        min_ns=(ALL_ONES - int(records["latency_min_inverted"].max())) * tick_ns,
        max_ns=int(records["latency_max"].max()) * tick_ns,
        sum_ns=_sum(records, "latency_sum") * tick_ns,
        jitter_count=int(jittered["frames"].sum()) - len(jittered),
        jitter_min_ns=(ALL_ONES - int(jittered["jitter_min_inverted"].max())) * tick_ns if len(jittered) else 0.0,
        jitter_max_ns=int(jittered["jitter_max"].max()) * tick_ns if len(jittered) else 0.0,
        jitter_sum_ns=_sum(jittered, "jitter_sum") * tick_ns,
        rfc3550_jitter_flows=len(smoothed),
        rfc3550_jitter_sum_ns=int(smoothed["jitter_smoothed_x16"].sum()) * tick_ns / 16 if len(smoothed) else 0.0,
        rfc3550_jitter_max_ns=int(smoothed["jitter_smoothed_x16"].max()) * tick_ns / 16 if len(smoothed) else 0.0,
        ipdv_count=int(varied["ipdv_count"].sum()) if len(varied) else 0,
        ipdv_min_ns=(ALL_ONES - int(varied["ipdv_min_inverted"].max()) - IPDV_ZERO) * tick_ns if len(varied) else 0.0,
        ipdv_max_ns=(int(varied["ipdv_max"].max()) - IPDV_ZERO) * tick_ns if len(varied) else 0.0,
        ipdv_sum_ns=_sum(varied, "ipdv_sum") * tick_ns if len(varied) else 0.0,
        overflow_count=int(records["latency_overflows"].sum()),
        percentiles_ns=_percentiles([part.latency for part in bins], percentile_ticks, PERCENTILES, tick_ps),
        ipdv_percentiles_ns=_percentiles(
            [part.ipdv for part in bins], signed_percentile_ticks, SIGNED_PERCENTILES, tick_ps
        ),
        jitter_percentiles_ns=_percentiles([sizes(part.ipdv) for part in bins], percentile_ticks, PERCENTILES, tick_ps),
    )


def _sum(records: np.ndarray[Any, Any], name: str) -> int:
    """Return the total of a 96-bit sum, whose high part is signed."""
    high = sum(int(part) for part in records[f"{name}_high"].astype(np.int64))
    low = sum(int(part) for part in records[f"{name}_low"])
    return (high << 32) + low


def _percentiles(
    bins: Sequence[Sequence[int]],
    percentile: Callable[[Sequence[int], Fraction], Fraction | None],
    percents: Sequence[Fraction],
    tick_ps: int,
) -> tuple[tuple[float, float], ...]:
    total = np.sum(np.array(bins, dtype=np.int64), axis=0).tolist() if bins else []
    found = [(percent, percentile(total, percent)) for percent in percents]
    return tuple((float(percent), float(ticks * tick_ps / 1000)) for percent, ticks in found if ticks is not None)


def latency_of_all(
    plan: Plan, records: np.ndarray[Any, Any], bins: Mapping[int, Bins], tick_ps: int
) -> LatencyStats | None:
    """Return the statistics of all frames; percentiles when every flow has a histogram."""
    counted = {cell for histogram in plan.histograms for cell in histogram.cells}
    complete = all(flow.cell in counted for flow in plan.flows if flow.expected)
    return latency_stats(records, tick_ps, tuple(bins.values()) if complete else ())


def histogram_stats(
    plan: Plan, records: np.ndarray[Any, Any], bins: Mapping[int, Bins], tick_ps: int
) -> tuple[HistogramStats, ...]:
    """Return the statistics of the frames of each histogram."""
    found = []
    for histogram in plan.histograms:
        latency = latency_stats(records[list(histogram.cells)], tick_ps, (bins[histogram.number],))
        if latency is not None:
            found.append(HistogramStats(histogram.stream, histogram.tx_port, histogram.rx_port, latency))
    return tuple(found)
