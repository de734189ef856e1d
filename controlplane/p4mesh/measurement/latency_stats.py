"""From records and histogram bins to the statistics of latency, jitter and IPDV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from p4mesh.measurement.columns import Array, Groups, from_columns
from p4mesh.measurement.counts import HistogramStats, LatencyBins, LatencyStats
from p4mesh.tester.histogram import (
    PERCENTILES,
    SIGNED_PERCENTILES,
    Bins,
    joined_bins,
    percentile_error_ticks,
    percentile_ticks,
    signed_percentile_error_ticks,
    signed_percentile_ticks,
    sizes,
)
from p4mesh.tester.plan import Plan
from p4mesh.tester.records import ALL_ONES, IPDV_ZERO, chosen_records

MOST_BINS = 256
"""Bins stored of one histogram, at most."""
_MOST_BINS_OF_A_TRIAL = 4096
_LEAST_BINS = 16
_MOST_HIGH = 1 << 30
"""High parts of sums that numbers of the machine have room for, together with the low parts."""


def sent_bytes_of(plan: Plan) -> Array:
    """Frame size of the flow of each cell; 0 of those whose frames have several sizes."""
    sizes = {found.origin: found.stream for found in plan.streams}
    found = np.zeros(plan.cells, dtype=np.int64)
    for number, stream in sizes.items():
        size = 0 if stream.sizes_in_turn_bytes else stream.frame_size_bytes
        found[plan.columns.cell[plan.columns.stream == number]] = size
    return found


def latency_stats(
    records: Array, tick_ps: int, bins: Sequence[Bins] = (), sent_bytes: Array | None = None
) -> LatencyStats | None:
    """Statistics of the flows of these records; with percentiles when ``bins`` count their frames."""
    if not len(records):
        return None
    (found,) = latency_of_groups(records, Groups([range(len(records))]), tick_ps, sent_bytes)
    return found and _with_bins(found, bins, tick_ps, MOST_BINS)


def latency_of_groups(
    records: Array, groups: Groups, tick_ps: int, sent_bytes: Array | None = None
) -> list[LatencyStats | None]:
    """Statistics of the flows of each group; None for a group without frames.

    ``records`` are those of :attr:`Groups.rows`, ``sent_bytes`` the frame sizes of their flows, 0 where there are
    several. Statistics that the target does not measure have a count of 0.
    """
    names = records.dtype.names or ()
    nothing = np.zeros(len(records), dtype=np.int64)
    frames = records["frames"].astype(np.int64)
    varied = records["ipdv_count"].astype(np.int64) if "ipdv_count" in names else nothing
    timed, jittered, varying = frames > 0, frames > 1, varied > 0
    tick_ns = tick_ps / 1000

    def of(chosen: Array, name: str) -> Array:
        """Field of the chosen flows; 0 for the others and where the target does not measure it."""
        return np.where(chosen, records[name].astype(np.int64), 0) if name in names else nothing

    def spread(name: str, chosen: Array, some: Array, zero: int = 0) -> dict[str, Array]:
        """Smallest value, largest one and sum of the chosen flows in nanoseconds."""
        least = ALL_ONES - zero - groups.largest(of(chosen, f"{name}_min_inverted"))
        most = groups.largest(of(chosen, f"{name}_max")) - zero
        # Sums have 96 bits, and their high part is signed.
        high, low = (groups.totals(of(chosen, f"{name}_sum_{half}")) for half in ("high", "low"))
        if (abs(high) >= _MOST_HIGH).any():
            high = high.astype(object)  # numbers of Python, which have room for them
        prefix = "" if name == "latency" else f"{name}_"
        return {
            f"{prefix}min_ns": np.where(some, least * tick_ns, 0.0),
            f"{prefix}max_ns": np.where(some, most * tick_ns, 0.0),
            f"{prefix}sum_ns": ((high << 32) + low) * tick_ns,
        }

    count, jitter_count, ipdv_count = (groups.totals(it) for it in (frames, (frames - 1) * jittered, varied))
    added: Array = nothing
    if sent_bytes is not None and "bytes" in names:
        added = np.where(sent_bytes > 0, of(timed, "bytes") - frames * sent_bytes, 0)
    smoothed = of(jittered, "jitter_smoothed_x16")
    columns: dict[str, Sequence[Any] | Array] = {
        "count": count,
        **spread("latency", timed, count),
        "jitter_count": jitter_count,
        **spread("jitter", jittered, jitter_count),
        "rfc3550_jitter_flows": groups.totals(jittered if "jitter_smoothed_x16" in names else nothing),
        "rfc3550_jitter_sum_ns": groups.totals(smoothed) * tick_ns / 16,
        "rfc3550_jitter_max_ns": groups.largest(smoothed) * tick_ns / 16,
        "ipdv_count": ipdv_count,
        **spread("ipdv", varying, ipdv_count, IPDV_ZERO),
        "overflow_count": groups.totals(of(timed, "latency_overflows")),
        "added_bytes": groups.totals(added) / np.maximum(count, 1),
    }
    return [found if found.count else None for found in from_columns(LatencyStats, columns)]


def _with_bins(found: LatencyStats, bins: Sequence[Bins], tick_ps: int, most_bins: int) -> LatencyStats:
    """Adds percentiles, and a histogram of ``most_bins`` bins at most."""
    if not bins:
        return found
    latencies, variations = [part.latency for part in bins], [part.ipdv for part in bins]
    jitters = [sizes(part) for part in variations]
    least, most = (round(1000 * value_ns / tick_ps) for value_ns in (found.min_ns, found.max_ns))
    value = partial(percentile_ticks, least=least, most=most)
    return replace(
        found,
        percentiles_ns=_percentiles(latencies, value, PERCENTILES, tick_ps),
        percentile_errors_ns=percentile_errors_ns(latencies, least, most, tick_ps),
        ipdv_percentiles_ns=_percentiles(variations, signed_percentile_ticks, SIGNED_PERCENTILES, tick_ps),
        ipdv_percentile_errors_ns=ipdv_errors_ns(variations, tick_ps),
        bins=stored_bins(latencies, tick_ps, most_bins),
        jitter_percentiles_ns=_percentiles(jitters, percentile_ticks, PERCENTILES, tick_ps),
    )


def percentile_errors_ns(
    bins: Sequence[Sequence[int]], least: int, most: int, tick_ps: int, independent: int | None = None
) -> tuple[tuple[float, float], ...]:
    """Errors of the percentiles of latencies between ``least`` and ``most`` ticks; all frames are taken as independent
    of each other unless it is said how many are.
    """
    error = partial(percentile_error_ticks, least=least, most=most, independent=independent)
    return _percentiles(bins, error, PERCENTILES, tick_ps)


def ipdv_errors_ns(
    bins: Sequence[Sequence[int]], tick_ps: int, independent: int | None = None
) -> tuple[tuple[float, float], ...]:
    """The same errors of percentiles of IPDV."""
    error = partial(signed_percentile_error_ticks, independent=independent)
    return _percentiles(bins, error, SIGNED_PERCENTILES, tick_ps)


def _percentiles(
    bins: Sequence[Sequence[int]],
    percentile: Callable[[Sequence[int], Fraction], Fraction | None],
    percents: Sequence[Fraction],
    tick_ps: int,
) -> tuple[tuple[float, float], ...]:
    total = np.sum(np.array(bins, dtype=np.int64), axis=0).tolist()
    found = [(percent, percentile(total, percent)) for percent in percents]
    return tuple((float(percent), float(ticks * tick_ps / 1000)) for percent, ticks in found if ticks is not None)


def stored_bins(bins: Sequence[Sequence[int]], tick_ps: int, most: int) -> LatencyBins:
    """Bins of several histograms together in nanoseconds, ``most`` of them at most."""
    found = joined_bins(np.sum(np.array(bins, dtype=np.int64), axis=0).tolist(), most)
    low, high, frames = zip(*found, strict=True) if found else ((), (), ())
    tick_ns = tick_ps / 1000
    return LatencyBins(tuple(ticks * tick_ns for ticks in low), tuple((ticks + 1) * tick_ns for ticks in high), frames)


def latency_of_all(plan: Plan, records: Array, bins: Mapping[int, Bins], tick_ps: int) -> LatencyStats | None:
    """Statistics of all frames; with percentiles when every flow has a histogram."""
    cells = plan.columns.cell[plan.columns.expected]
    counted = [cell for histogram in plan.histograms for cell in histogram.cells]
    complete = np.isin(cells, counted).all()
    of_all = tuple(bins.values()) if complete else ()
    return latency_stats(chosen_records(records, cells), tick_ps, of_all, sent_bytes_of(plan)[cells])


def most_bins(histograms: int) -> int:
    """Bins stored of each histogram of a trial that has so many."""
    return min(MOST_BINS, max(_LEAST_BINS, _MOST_BINS_OF_A_TRIAL // max(1, histograms)))


def histogram_stats(plan: Plan, records: Array, bins: Mapping[int, Bins], tick_ps: int) -> tuple[HistogramStats, ...]:
    """Statistics of the frames of each histogram."""
    histograms = [histogram for histogram in plan.histograms if histogram.cells]
    most = most_bins(len(plan.histograms))
    groups = Groups([histogram.cells for histogram in histograms])
    sent_bytes = sent_bytes_of(plan)[groups.rows]
    latencies = latency_of_groups(chosen_records(records, groups.rows), groups, tick_ps, sent_bytes)
    return tuple(
        HistogramStats(
            histogram.stream,
            histogram.tx_port,
            histogram.rx_port,
            _with_bins(latency, (bins[histogram.number],), tick_ps, most),
        )
        for histogram, latency in zip(histograms, latencies, strict=True)
        if latency is not None
    )
