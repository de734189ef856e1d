"""From histogram bins to the distribution of the times between frames of a flow, at the sender and at the receiver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import inf, sqrt

import numpy as np

from p4mesh.measurement.columns import Array
from p4mesh.measurement.counts import InterarrivalStats, TimesBetween
from p4mesh.measurement.latency_stats import most_bins, stored_bins
from p4mesh.tester.histogram import (
    Histogram,
    InterarrivalBins,
    bin_bounds_ticks,
    finer_bits_of,
    percentile_error_ticks,
    percentile_ticks,
)
from p4mesh.tester.plan import Plan
from p4mesh.traffic.arrivals import Arrivals

_PERCENTILES = (Fraction(1), Fraction(50), Fraction(99), Fraction("99.9"))
_DEVIATIONS_95 = 1.96
_STAMPS = 2
"""Time stamps of a time between frames, each rounded to a tick."""


def interarrival_stats(
    plan: Plan, records: Array, bins: Mapping[int, InterarrivalBins], tick_ps: int
) -> tuple[InterarrivalStats, ...]:
    """Distributions of each histogram that has counted a time."""
    most = most_bins(2 * len(plan.interarrival))
    stream_of = np.zeros(len(records), dtype=int)
    stream_of[plan.columns.cell] = plan.columns.stream
    found = (
        _stats(plan, stream_of, of, records, bins[of.number], tick_ps, most) for of in plan.interarrival if of.cells
    )
    return tuple(stats for stats in found if stats is not None)


def _stats(
    plan: Plan, stream_of: Array, histogram: Histogram, records: Array, bins: InterarrivalBins, tick_ps: int, most: int
) -> InterarrivalStats | None:
    cells = np.array(histogram.cells)
    cells = cells[records["frames"][cells] > 1]
    own = records[cells]
    count = int(own["frames"].sum()) - len(own)
    if not count:
        return None
    # A span from the first to the last frame is the sum of its times; both ends are off by latencies and time stamps.
    spans = sum(int(last) - int(first) for first, last in zip(own["first_arrival"], own["last_arrival"], strict=True))
    extremes = zip(own["latency_max"], own["latency_min_inverted"], strict=True)
    latencies = sum(int(largest) - (0xFFFFFFFF - int(inverted)) for largest, inverted in extremes)
    known = spans / count, (latencies + len(own)) / count
    independent, rounds = _independent(plan, stream_of[cells], own["frames"] - 1)
    if sum(bins.departures) < count:
        rounds = Fraction(0)  # Frames are missing, at random for all that is known.
    arrivals, departures = (
        _times(counts, tick_ps, most, independent / count, rounds, known if sum(counts) == count else None)
        for counts in (bins.arrivals, bins.departures)
    )
    if arrivals is None:
        return None
    return InterarrivalStats(histogram.stream, histogram.tx_port, histogram.rx_port, arrivals, departures)


def _independent(plan: Plan, streams: Array, times: Array) -> tuple[Fraction, Fraction]:
    """How many times of some flows do not depend on each other, and how many rounds of a schedule were sent at least.

    Given are the stream of each flow and its times. Senders in step send the same schedule, and a round of it comes
    again: such copies tell nothing new. A flow that gets each k-th frame of a schedule has the k-th part of its times;
    those of the others are sums of the same ones. A burst is a round, and so is each time of an even schedule.
    """
    alone = Fraction(0)
    rounds = []
    of_schedules: dict[tuple[Arrivals, Fraction], Fraction] = {}
    for item in {item.origin: item for item in plan.streams}.values():
        own = times[streams == item.origin]
        if not len(own):
            continue
        total = int(own.sum())
        stream = item.stream
        once = len(item.clock.longer_by_ticks) if stream.arrivals else stream.burst.frames if stream.burst else 1
        rounds.append(Fraction(stream.frame_count - 1, once))
        if stream.arrivals is None:
            alone += total
            continue
        sample = stream.arrivals.sample, stream.rate_fps
        found = Fraction(total, len(own)) / max(Fraction(1), rounds[-1])
        of_schedules[sample] = max(found, of_schedules.get(sample, Fraction(0)))
    return alone + sum(of_schedules.values(), Fraction(0)), min(rounds)


def _times(
    counts: Sequence[int], tick_ps: int, most: int, share: Fraction, rounds: Fraction, known: tuple[float, float] | None
) -> TimesBetween | None:
    """Distribution of times, of which a ``share`` is independent of each other, in so many ``rounds`` of a schedule.

    ``known`` is their mean and its error in ticks, where sums tell it, else bins do.
    """
    total = sum(counts)
    if not total:
        return None
    independent = max(1, round(share * total))
    tick_ns = tick_ps / 1000
    finer_bits = finer_bits_of(len(counts))
    full = [(*bin_bounds_ticks(index, finer_bits), frames) for index, frames in enumerate(counts) if frames]
    middles = [((low + high) / 2, frames) for low, high, frames in full]
    middle = sum(value * frames for value, frames in middles) / total
    halves = [((high - low) / 2, frames) for low, high, frames in full]
    mean, mean_error = known or (middle, sum(half * frames for half, frames in halves) / total + _STAMPS / 2)
    moments = [sum((value - middle) ** power * frames for value, frames in middles) / total for power in (2, 4)]
    deviation = sqrt(moments[0])
    # A deviation is a distance: it is off by that of the errors at most.
    inside = sqrt(sum(half**2 * frames for half, frames in halves) / total) + _STAMPS / 2
    sampling = sqrt(max(0.0, moments[1] - moments[0] ** 2) / independent) / (2 * deviation) if deviation else 0.0
    # A schedule keeps its mean rate: it is ahead of it or behind it by less than a round, at any moment.
    ends = mean / (rounds - 1) if rounds > 1 else inf
    mean_error += min(_DEVIATIONS_95 * deviation / sqrt(independent), ends)
    errors = ((percent, percentile_error_ticks(counts, percent, independent=independent)) for percent in _PERCENTILES)
    return TimesBetween(
        total,
        independent,
        mean * tick_ns,
        mean_error * tick_ns,
        deviation * tick_ns,
        (inside + _DEVIATIONS_95 * sampling) * tick_ns,
        tuple(_in_ns(((percent, percentile_ticks(counts, percent)) for percent in _PERCENTILES), tick_ns)),
        tuple(_in_ns(errors, tick_ns)),
        stored_bins([counts], tick_ps, most),
    )


def _in_ns(pairs: Iterable[tuple[Fraction, Fraction | None]], tick_ns: float) -> Iterable[tuple[float, float]]:
    return ((float(percent), float(ticks) * tick_ns) for percent, ticks in pairs if ticks is not None)
