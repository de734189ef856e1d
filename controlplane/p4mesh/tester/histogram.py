"""Histograms of latency and IPDV: the flows of each histogram, and percentiles from the bins.

The bins are those of the P4 program (docs/DATAPLANE.md): below 64 ticks one bin per tick, above it 64
bins per power of two. A percentile is the middle of its bin, at most 0.79 % away from that of the frames counted. A
histogram whose size is that of 2^n others has 2^n times as many bins in each of these places, each as much narrower.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor, sqrt

_EXACT_TICKS = 64
_BITS = 6
HISTOGRAM_BINS = 2048
"""Bins of a histogram that has no finer ones (HISTOGRAM_BINS of the program)."""
RELATIVE_ERROR = Fraction(1, 128)
"""Largest relative distance of a latency from the middle of its bin, without finer ones."""

PERCENTILES = (Fraction(50), Fraction(99), Fraction("99.9"), Fraction("99.99"))
SIGNED_PERCENTILES = (*(100 - percent for percent in reversed(PERCENTILES[1:])), *PERCENTILES)
"""Percentiles of a distribution with two tails: 0.01, 0.1, 1, 50, 99, 99.9 and 99.99 per cent."""
_DEVIATIONS = 1.96
"""Standard deviations of a rank to each side that 95 % of all samples keep."""


class HistogramPer(str, Enum):
    """Set of frames that one histogram counts; a trial has at most 256 histograms."""

    CLASS = "class"
    """All streams of one traffic class."""
    STREAM = "stream"
    STREAM_AND_PORT = "stream_and_port"
    """Each receive port of each stream."""
    FLOW = "flow"
    """The flows that are chosen, or every flow."""


FlowName = tuple[str, int, int]
"""A flow as (stream, transmit port, receive port)."""


@dataclass(frozen=True)
class Histogram:
    """One histogram of a trial and the cells of the flows that it counts."""

    number: int
    stream: str
    tx_port: int | None
    rx_port: int | None
    cells: tuple[int, ...]
    finer_bits: int = 0
    """It has 2^finer_bits times as many bins as it would have otherwise."""


@dataclass(frozen=True)
class HistogramRule:
    """Frames of flows that agree with ``flow`` under ``mask``, on ``port``, are counted in ``histogram``."""

    histogram: int
    port: int
    flow: int
    mask: int
    interarrival: int | None = None
    """Histogram of the times between these frames; None: their IPDV is counted."""
    finer_bits: int = 0
    """Those of the histograms."""


@dataclass(frozen=True)
class Bins:
    """Frames per bin of one histogram."""

    latency: Sequence[int]
    ipdv: Sequence[int]
    """Increases and no change, then decreases, by the size of the IPDV."""


@dataclass(frozen=True)
class InterarrivalBins:
    """Frames per bin of the time since the frame before, of the same flow."""

    arrivals: Sequence[int]
    departures: Sequence[int]
    """Only frames whose predecessor by sequence number arrived."""


def bin_bounds_ticks(index: int, finer_bits: int = 0) -> tuple[int, int]:
    """Smallest and largest latency of a bin, in ticks."""
    exact = _EXACT_TICKS << finer_bits
    if index < exact:
        return index, index
    octave, place = divmod(index, exact)
    width = 1 << (octave - 1)
    low = (exact + place) * width
    return low, low + width - 1


def bin_of(ticks: int, finer_bits: int = 0) -> int:
    """Bin that counts a latency, or the size of an IPDV, in ticks."""
    below = max(0, ticks.bit_length() - 1 - _BITS - finer_bits)
    return (ticks >> below) + (below << (_BITS + finer_bits))


def finer_bits_of(bins: int) -> int:
    """How much finer the bins are of a histogram that has so many."""
    return max(1, bins // HISTOGRAM_BINS).bit_length() - 1


def joined_bins(counts: Sequence[int], most: int) -> list[tuple[int, int, int]]:
    """(smallest latency, largest latency, frames) of the bins with frames, in ticks and in order.

    Where there are more than ``most``, neighbours are joined: two of them, four, and so on.
    """
    full = [index for index, count in enumerate(counts) if count]
    finer_bits, width = finer_bits_of(len(counts)), 1
    while len({index // width for index in full}) > most:
        width *= 2
    frames: dict[int, int] = {}
    for index in full:
        frames[index // width] = frames.get(index // width, 0) + counts[index]
    return [
        (
            bin_bounds_ticks(place * width, finer_bits)[0],
            bin_bounds_ticks(min((place + 1) * width, len(counts)) - 1, finer_bits)[1],
            count,
        )
        for place, count in frames.items()
    ]


def percentile_ticks(
    counts: Sequence[int], percentile: Fraction, least: int = 0, most: int | None = None
) -> Fraction | None:
    """Latency that ``percentile`` per cent of the frames do not exceed, in ticks; None without frames.

    It is the middle of that part of a bin which lies between the smallest and the largest latency, where these are
    known.
    """
    place = _place(counts, percentile)
    return None if place is None else Fraction(sum(_within(counts, place, least, most)), 2)


def percentile_error_ticks(
    counts: Sequence[int],
    percentile: Fraction,
    least: int = 0,
    most: int | None = None,
    independent: int | None = None,
) -> Fraction | None:
    """How far the percentile of a longer trial may be from that of these frames, in ticks, with 95 % confidence.

    Frames are taken as independent of each other, ``independent`` of them where it is given: their number below the
    true percentile is binomial. None where they are too few for the rank, as 1,000 frames say nothing about one of
    1,000.
    """
    around, value = _around(counts, percentile, independent), percentile_ticks(counts, percentile, least, most)
    if around is None or value is None:
        return None
    low, high = _within(counts, around[0], least, most)[0], _within(counts, around[1], least, most)[1]
    return max(value - low, high - value)


def signed_percentile_ticks(counts: Sequence[int], percentile: Fraction) -> Fraction | None:
    """IPDV that ``percentile`` per cent of the frames do not exceed, in ticks; None without frames.

    The first half of ``counts`` holds the bins of increases and of no change, the second half those
    of decreases.
    """
    place = _place(_signed(counts), percentile)
    return None if place is None else Fraction(sum(_signed_bounds(place, len(counts) // 2)), 2)


def signed_percentile_error_ticks(
    counts: Sequence[int], percentile: Fraction, independent: int | None = None
) -> Fraction | None:
    """The same error (:func:`percentile_error_ticks`) of a percentile of IPDV."""
    around, value = _around(_signed(counts), percentile, independent), signed_percentile_ticks(counts, percentile)
    if around is None or value is None:
        return None
    low, high = (_signed_bounds(place, len(counts) // 2)[side] for side, place in enumerate(around))
    return max(value - low, high - value)


def sizes(counts: Sequence[int]) -> list[int]:
    """Bins of the size of IPDV, increases and decreases together."""
    half = len(counts) // 2
    return [up + down for up, down in zip(counts[:half], counts[half:], strict=True)]


def _place(counts: Sequence[int], percentile: Fraction) -> int | None:
    """Index of the count that holds the percentile; None without frames."""
    seen = list(accumulate(counts))
    if not seen or not seen[-1]:
        return None
    return bisect_left(seen, -(-seen[-1] * percentile // 100))


def _around(counts: Sequence[int], percentile: Fraction, independent: int | None = None) -> tuple[int, int] | None:
    """Indices of the counts that hold the lowest and the highest rank which the true percentile may have."""
    seen, share = list(accumulate(counts)), float(percentile / 100)
    frames = (seen[-1] if seen else 0) if independent is None else independent
    rank, spread = ceil(frames * percentile / 100), _DEVIATIONS * sqrt(frames * share * (1 - share))
    lowest, highest = floor(rank - spread), ceil(rank + spread)
    if lowest < 1 or highest > frames:
        return None
    copies = Fraction(seen[-1], frames)
    return bisect_left(seen, lowest * copies), bisect_left(seen, highest * copies)


def _within(counts: Sequence[int], index: int, least: int, most: int | None) -> tuple[int, int]:
    """Bounds of that part of a bin which lies between the smallest and the largest latency."""
    low, high = bin_bounds_ticks(index, finer_bits_of(len(counts)))
    return max(low, min(least, high)), high if most is None else min(high, max(most, low))


def _signed(counts: Sequence[int]) -> list[int]:
    half = len(counts) // 2
    return [*reversed(counts[half:]), *counts[:half]]


def _signed_bounds(place: int, half: int) -> tuple[int, int]:
    low, high = bin_bounds_ticks(place - half if place >= half else half - 1 - place, finer_bits_of(half))
    return (low, high) if place >= half else (-high, -low)


def blocks(numbers: set[int], width_bits: int) -> list[tuple[int, int]]:
    """Aligned blocks, as (value, mask) pairs, that cover exactly these numbers."""
    firsts = sorted(number for number in numbers if number - 1 not in numbers)
    lasts = sorted(number for number in numbers if number + 1 not in numbers)
    return [
        block
        for first, last in zip(firsts, lasts, strict=True)
        for block in prefixes(first, last - first + 1, width_bits)
    ]


def prefixes(first: int, count: int, width_bits: int) -> list[tuple[int, int]]:
    """Aligned blocks, as (value, mask) pairs, that cover exactly ``first`` to ``first + count - 1``."""
    full = (1 << width_bits) - 1
    found = []
    while count:
        size = min(first & -first or 1 << width_bits, 1 << (count.bit_length() - 1))
        found.append((first, full & ~(size - 1)))
        first, count = first + size, count - size
    return found
