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


def latency_stats(
    records: np.ndarray[Any, Any], tick_ps: int, bins: Sequence[Bins] = (), most_bins: int = MOST_BINS
) -> LatencyStats | None:
    """Return the statistics of the flows of these records; percentiles when ``bins`` count their frames.

    The histogram has ``most_bins`` bins at most. Statistics that the target does not measure have a count of 0.
    """
    records = _above(records, "frames", 0)
    if not len(records):
        return None
    names = records.dtype.names or ()
    tick_ns = tick_ps / 1000
    jittered = _above(records, "frames", 1)
    varied = _above(records, "ipdv_count", 0) if "ipdv_count" in names else records[:0]
    smoothed = jittered if "jitter_smoothed_x16" in names else jittered[:0]
    return LatencyStats(
        count=_total(records, "frames"),
        min_ns=(ALL_ONES - _greatest(records, "latency_min_inverted")) * tick_ns,
        max_ns=_greatest(records, "latency_max") * tick_ns,
        sum_ns=_wide_total(records, "latency_sum") * tick_ns,
        jitter_count=_total(jittered, "frames") - len(jittered),
        jitter_min_ns=(ALL_ONES - _greatest(jittered, "jitter_min_inverted")) * tick_ns if len(jittered) else 0.0,
        jitter_max_ns=_greatest(jittered, "jitter_max") * tick_ns if len(jittered) else 0.0,
        jitter_sum_ns=_wide_total(jittered, "jitter_sum") * tick_ns,
        rfc3550_jitter_flows=len(smoothed),
        rfc3550_jitter_sum_ns=_total(smoothed, "jitter_smoothed_x16") * tick_ns / 16 if len(smoothed) else 0.0,
        rfc3550_jitter_max_ns=_greatest(smoothed, "jitter_smoothed_x16") * tick_ns / 16 if len(smoothed) else 0.0,
        ipdv_count=_total(varied, "ipdv_count") if len(varied) else 0,
        ipdv_min_ns=(ALL_ONES - _greatest(varied, "ipdv_min_inverted") - IPDV_ZERO) * tick_ns if len(varied) else 0.0,
        ipdv_max_ns=(_greatest(varied, "ipdv_max") - IPDV_ZERO) * tick_ns if len(varied) else 0.0,
        ipdv_sum_ns=_wide_total(varied, "ipdv_sum") * tick_ns if len(varied) else 0.0,
        overflow_count=_total(records, "latency_overflows"),
        percentiles_ns=_percentiles([part.latency for part in bins], percentile_ticks, PERCENTILES, tick_ps),
        ipdv_percentiles_ns=_percentiles(
            [part.ipdv for part in bins], signed_percentile_ticks, SIGNED_PERCENTILES, tick_ps
        ),
        bins=_stored_bins([part.latency for part in bins], tick_ps, most_bins),
        jitter_percentiles_ns=_percentiles([sizes(part.ipdv) for part in bins], percentile_ticks, PERCENTILES, tick_ps),
    )


# Most calls are for the one record of a flow, where a list is several times quicker than a reduction of numpy.


def _above(records: np.ndarray[Any, Any], name: str, limit: int) -> np.ndarray[Any, Any]:
    """Return the records whose field is greater than ``limit``."""
    rows = [row for row, value in enumerate(_numbers(records, name)) if value > limit]
    return records if len(rows) == len(records) else records[rows]


def _numbers(records: np.ndarray[Any, Any], name: str) -> list[int]:
    numbers: list[int] = records[name].tolist()
    return numbers


def _total(records: np.ndarray[Any, Any], name: str) -> int:
    return sum(_numbers(records, name))


def _greatest(records: np.ndarray[Any, Any], name: str) -> int:
    return max(_numbers(records, name))


def _wide_total(records: np.ndarray[Any, Any], name: str) -> int:
    """Return the total of a 96-bit sum, whose high part is signed."""
    high = sum(int(part) for part in records[f"{name}_high"].astype(np.int64))
    return (high << 32) + _total(records, f"{name}_low")


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
