"""From histogram bins to the distribution of the times between frames of a flow, at the sender and at the receiver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import sqrt

from p4mesh.measurement.columns import Array
from p4mesh.measurement.counts import InterarrivalStats, TimesBetween
from p4mesh.measurement.latency_stats import most_bins, stored_bins
from p4mesh.tester.histogram import (
    Histogram,
    InterarrivalBins,
    bin_bounds_ticks,
    percentile_error_ticks,
    percentile_ticks,
)
from p4mesh.tester.plan import Plan

_PERCENTILES = (Fraction(1), Fraction(50), Fraction(99), Fraction("99.9"))
_DEVIATIONS_95 = 1.96
_STAMPS = 2
"""Time stamps of a time between frames, each rounded to a tick."""


def interarrival_stats(
    plan: Plan, records: Array, bins: Mapping[int, InterarrivalBins], tick_ps: int
) -> tuple[InterarrivalStats, ...]:
    """Distributions of each histogram that has counted a time."""
    most = most_bins(2 * len(plan.interarrival))
    found = (_stats(of, records, bins[of.number], tick_ps, most) for of in plan.interarrival if of.cells)
    return tuple(stats for stats in found if stats is not None)


def _stats(
    histogram: Histogram, records: Array, bins: InterarrivalBins, tick_ps: int, most: int
) -> InterarrivalStats | None:
    own = records[list(histogram.cells)]
    own = own[own["frames"] > 1]
    count = int(own["frames"].sum()) - len(own)
    if not count:
        return None
    # Times from the first to the last frame, which the times between them add up to.
    spans = sum(int(last) - int(first) for first, last in zip(own["first_arrival"], own["last_arrival"], strict=True))
    # Departures differ from that by the latencies of the first and the last frame.
    extremes = zip(own["latency_max"], own["latency_min_inverted"], strict=True)
    latencies = sum(int(largest) - (0xFFFFFFFF - int(inverted)) for largest, inverted in extremes)
    arrived, departed = sum(bins.arrivals), sum(bins.departures)
    arrivals = _times(bins.arrivals, tick_ps, most, _mean(spans, count, len(own)) if arrived == count else None)
    departures = _times(
        bins.departures, tick_ps, most, _mean(spans, count, latencies + len(own)) if departed == count else None
    )
    if arrivals is None:
        return None
    return InterarrivalStats(histogram.stream, histogram.tx_port, histogram.rx_port, arrivals, departures)


def _mean(total: int, count: int, error: int) -> tuple[float, float]:
    """Mean of times whose sum is known within an error, and its own error."""
    return total / count, error / count


def _times(counts: Sequence[int], tick_ps: int, most: int, known: tuple[float, float] | None) -> TimesBetween | None:
    """Distribution of times; ``known`` is their mean and its error in ticks, where sums tell it, else bins do."""
    total = sum(counts)
    if not total:
        return None
    tick_ns = tick_ps / 1000
    full = [(*bin_bounds_ticks(index), frames) for index, frames in enumerate(counts) if frames]
    middles = [((low + high) / 2, frames) for low, high, frames in full]
    middle = sum(value * frames for value, frames in middles) / total
    halves = [((high - low) / 2, frames) for low, high, frames in full]
    mean, mean_error = known or (middle, sum(half * frames for half, frames in halves) / total + _STAMPS / 2)
    moments = [sum((value - middle) ** power * frames for value, frames in middles) / total for power in (2, 4)]
    deviation = sqrt(moments[0])
    # A deviation is a distance: it is off by that of the errors at most.
    inside = sqrt(sum(half**2 * frames for half, frames in halves) / total) + _STAMPS / 2
    sampling = sqrt(max(0.0, moments[1] - moments[0] ** 2) / total) / (2 * deviation) if deviation else 0.0
    return TimesBetween(
        total,
        mean * tick_ns,
        mean_error * tick_ns,
        deviation * tick_ns,
        (inside + _DEVIATIONS_95 * sampling) * tick_ns,
        tuple(_in_ns(((percent, percentile_ticks(counts, percent)) for percent in _PERCENTILES), tick_ns)),
        tuple(_in_ns(((percent, percentile_error_ticks(counts, percent)) for percent in _PERCENTILES), tick_ns)),
        stored_bins([counts], tick_ps, most),
    )


def _in_ns(pairs: Iterable[tuple[Fraction, Fraction | None]], tick_ns: float) -> Iterable[tuple[float, float]]:
    return ((float(percent), float(ticks) * tick_ns) for percent, ticks in pairs if ticks is not None)
