"""Histograms of latency and IPDV: the flows of each histogram, and percentiles from the bins.

The bins are those of the P4 program (docs/DATAPLANE.md): below 64 ticks one bin per tick, above it 64
bins per power of two. A percentile is the middle of its bin, at most 0.79 % away from the true value.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import accumulate

_EXACT_TICKS = 64
_BITS = 6
RELATIVE_ERROR = Fraction(1, 128)
"""Largest relative distance of a latency from the middle of its bin."""

PERCENTILES = (Fraction(50), Fraction(99), Fraction("99.9"), Fraction("99.99"))
SIGNED_PERCENTILES = (*(100 - percent for percent in reversed(PERCENTILES[1:])), *PERCENTILES)
"""Percentiles of a distribution with two tails: 0.01, 0.1, 1, 50, 99, 99.9 and 99.99 per cent."""


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


@dataclass(frozen=True)
class HistogramRule:
    """Frames of flows that agree with ``flow`` under ``mask``, on ``port``, are counted in ``histogram``."""

    histogram: int
    port: int
    flow: int
    mask: int


@dataclass(frozen=True)
class Bins:
    """Frames per bin of one histogram."""

    latency: Sequence[int]
    ipdv: Sequence[int]
    """Increases and no change, then decreases, by the size of the IPDV."""


def bin_bounds_ticks(index: int) -> tuple[int, int]:
    """Smallest and largest latency of a bin, in ticks."""
    if index < _EXACT_TICKS:
        return index, index
    octave, place = divmod(index, _EXACT_TICKS)
    width = 1 << (octave - 1)
    low = (_EXACT_TICKS + place) * width
    return low, low + width - 1


def bin_of(ticks: int) -> int:
    """Bin that counts a latency, or the size of an IPDV, in ticks."""
    if ticks < _EXACT_TICKS:
        return ticks
    octave = ticks.bit_length() - 1
    return _EXACT_TICKS * (octave - _BITS + 1) + (ticks >> (octave - _BITS)) % _EXACT_TICKS


def joined_bins(counts: Sequence[int], most: int) -> list[tuple[int, int, int]]:
    """(smallest latency, largest latency, frames) of the bins with frames, in ticks and in order.

    Where there are more than ``most``, neighbours are joined: two of them, four, and so on.
    """
    full = [index for index, count in enumerate(counts) if count]
    width = 1
    while len({index // width for index in full}) > most:
        width *= 2
    frames: dict[int, int] = {}
    for index in full:
        frames[index // width] = frames.get(index // width, 0) + counts[index]
    return [
        (bin_bounds_ticks(place * width)[0], bin_bounds_ticks(min((place + 1) * width, len(counts)) - 1)[1], count)
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
    if place is None:
        return None
    low, high = bin_bounds_ticks(place)
    return Fraction(max(low, min(least, high)) + (high if most is None else min(high, max(most, low))), 2)


def signed_percentile_ticks(counts: Sequence[int], percentile: Fraction) -> Fraction | None:
    """IPDV that ``percentile`` per cent of the frames do not exceed, in ticks; None without frames.

    The first half of ``counts`` holds the bins of increases and of no change, the second half those
    of decreases.
    """
    half = len(counts) // 2
    place = _place([*reversed(counts[half:]), *counts[:half]], percentile)
    if place is None:
        return None
    return _middle_ticks(place - half) if place >= half else -_middle_ticks(half - 1 - place)


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


def _middle_ticks(index: int) -> Fraction:
    low, high = bin_bounds_ticks(index)
    return Fraction(low + high, 2)


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
