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
    joined_bins,
    percentile_ticks,
    signed_percentile_ticks,
    sizes,
)
from p4mesh.tester.plan import Plan
from p4mesh.tester.records import ALL_ONES, IPDV_ZERO
from p4mesh.trial.result import HistogramStats, LatencyBins, LatencyStats

MOST_BINS = 256
"""Stored of one histogram."""
_MOST_BINS_OF_A_TRIAL = 4096
_LEAST_BINS = 16


Columns = Mapping[str, Sequence[int]]
"""Fields of records by name."""

_FIELDS = (
    *("frames", "latency_min_inverted", "latency_max", "latency_sum_high", "latency_sum_low", "latency_overflows"),
    *("jitter_min_inverted", "jitter_max", "jitter_sum_high", "jitter_sum_low", "jitter_smoothed_x16"),
    *("ipdv_count", "ipdv_min_inverted", "ipdv_max", "ipdv_sum_high", "ipdv_sum_low"),
)
_SIGNED = "_high"
"""End of the names of the high parts of sums."""


def columns_of(records: np.ndarray[Any, Any]) -> Columns:
    """Return the fields that :func:`latency_of_columns` needs, as far as the target measures them.

    Lists: most statistics are those of the one record of a flow, where a list is several times quicker than an array.
    """
    names = [name for name in _FIELDS if name in (records.dtype.names or ())]
    return {
        name: (records[name].astype(np.int64) if name.endswith(_SIGNED) else records[name]).tolist() for name in names
    }


def rows_of(columns: Columns, rows: Sequence[int]) -> Columns:
    """Return some of the records, in this order."""
    return {name: [column[row] for row in rows] for name, column in columns.items()}


def latency_stats(
    records: np.ndarray[Any, Any], tick_ps: int, bins: Sequence[Bins] = (), most_bins: int = MOST_BINS
) -> LatencyStats | None:
    """Return the statistics of the flows of these records, as :func:`latency_of_columns` does."""
    return latency_of_columns(columns_of(records), tick_ps, bins, most_bins)


def latency_of_columns(
    columns: Columns, tick_ps: int, bins: Sequence[Bins] = (), most_bins: int = MOST_BINS
) -> LatencyStats | None:
    """Return the statistics of the flows of these records; percentiles when ``bins`` count their frames.

    The histogram has ``most_bins`` bins at most. Statistics that the target does not measure have a count of 0.
    """
    timed = _above(columns, "frames", 0)
    if not timed["frames"]:
        return None
    tick_ns = tick_ps / 1000
    jittered = _above(timed, "frames", 1)
    smoothed = jittered.get("jitter_smoothed_x16", ())
    varied = _above(timed, "ipdv_count", 0) if "ipdv_count" in timed else rows_of(timed, ())
    some_jittered, some_varied = bool(jittered["frames"]), bool(varied["frames"])
    return LatencyStats(
        count=sum(timed["frames"]),
        min_ns=(ALL_ONES - max(timed["latency_min_inverted"])) * tick_ns,
        max_ns=max(timed["latency_max"]) * tick_ns,
        sum_ns=_wide_total(timed, "latency_sum") * tick_ns,
        jitter_count=sum(jittered["frames"]) - len(jittered["frames"]),
        jitter_min_ns=(ALL_ONES - max(jittered["jitter_min_inverted"])) * tick_ns if some_jittered else 0.0,
        jitter_max_ns=max(jittered["jitter_max"]) * tick_ns if some_jittered else 0.0,
        jitter_sum_ns=_wide_total(jittered, "jitter_sum") * tick_ns,
        rfc3550_jitter_flows=len(smoothed),
        rfc3550_jitter_sum_ns=sum(smoothed) * tick_ns / 16 if smoothed else 0.0,
        rfc3550_jitter_max_ns=max(smoothed) * tick_ns / 16 if smoothed else 0.0,
        ipdv_count=sum(varied["ipdv_count"]) if some_varied else 0,
        ipdv_min_ns=(ALL_ONES - max(varied["ipdv_min_inverted"]) - IPDV_ZERO) * tick_ns if some_varied else 0.0,
        ipdv_max_ns=(max(varied["ipdv_max"]) - IPDV_ZERO) * tick_ns if some_varied else 0.0,
        ipdv_sum_ns=_wide_total(varied, "ipdv_sum") * tick_ns if some_varied else 0.0,
        overflow_count=sum(timed["latency_overflows"]),
        percentiles_ns=_percentiles([part.latency for part in bins], percentile_ticks, PERCENTILES, tick_ps),
        ipdv_percentiles_ns=_percentiles(
            [part.ipdv for part in bins], signed_percentile_ticks, SIGNED_PERCENTILES, tick_ps
        ),
        bins=_stored_bins([part.latency for part in bins], tick_ps, most_bins),
        jitter_percentiles_ns=_percentiles([sizes(part.ipdv) for part in bins], percentile_ticks, PERCENTILES, tick_ps),
    )


def _above(columns: Columns, name: str, limit: int) -> Columns:
    """Return the records whose field is greater than ``limit``."""
    column = columns[name]
    rows = [row for row, value in enumerate(column) if value > limit]
    return columns if len(rows) == len(column) else rows_of(columns, rows)


def _wide_total(columns: Columns, name: str) -> int:
    """Return the total of a 96-bit sum, whose high part is signed."""
    return (sum(columns[f"{name}_high"]) << 32) + sum(columns[f"{name}_low"])


def _percentiles(
    bins: Sequence[Sequence[int]],
    percentile: Callable[[Sequence[int], Fraction], Fraction | None],
    percents: Sequence[Fraction],
    tick_ps: int,
) -> tuple[tuple[float, float], ...]:
    if not bins:
        return ()
    total = np.sum(np.array(bins, dtype=np.int64), axis=0).tolist()
    found = [(percent, percentile(total, percent)) for percent in percents]
    return tuple((float(percent), float(ticks * tick_ps / 1000)) for percent, ticks in found if ticks is not None)


def _stored_bins(bins: Sequence[Sequence[int]], tick_ps: int, most: int) -> LatencyBins | None:
    if not bins:
        return None
    found = joined_bins(np.sum(np.array(bins, dtype=np.int64), axis=0).tolist(), most)
    low, high, frames = zip(*found, strict=True) if found else ((), (), ())
    tick_ns = tick_ps / 1000
    return LatencyBins(tuple(ticks * tick_ns for ticks in low), tuple((ticks + 1) * tick_ns for ticks in high), frames)


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
    most = min(MOST_BINS, max(_LEAST_BINS, _MOST_BINS_OF_A_TRIAL // max(1, len(plan.histograms))))
    for histogram in plan.histograms:
        latency = latency_stats(records[list(histogram.cells)], tick_ps, (bins[histogram.number],), most)
        if latency is not None:
            found.append(HistogramStats(histogram.stream, histogram.tx_port, histogram.rx_port, latency))
    return tuple(found)
