"""Histograms of latency and IPDV: which flows go where, and percentiles from the bins.

The bins are those of the P4 program (docs/DATAPLANE.md): below 64 ticks one bin per tick, above it 64
bins per power of two. A percentile is the middle of its bin, at most 0.79 % away from the true value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

_EXACT_TICKS = 64
_BITS = 6
RELATIVE_ERROR = Fraction(1, 128)
"""Largest relative distance of a latency from the middle of its bin."""

PERCENTILES = (Fraction(50), Fraction(99), Fraction("99.9"), Fraction("99.99"))
SIGNED_PERCENTILES = (*(100 - percent for percent in reversed(PERCENTILES[1:])), *PERCENTILES)
"""Both tails of a distribution that has two: 0.01, 0.1, 1, 50, 99, 99.9 and 99.99 per cent."""


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
    """Return the smallest and the largest latency of a bin, in ticks."""
    if index < _EXACT_TICKS:
        return index, index
    octave, place = divmod(index, _EXACT_TICKS)
    width = 1 << (octave - 1)
    low = (_EXACT_TICKS + place) * width
    return low, low + width - 1


def bin_of(ticks: int) -> int:
    """Return the bin that counts a latency, or the size of an IPDV."""
    if ticks < _EXACT_TICKS:
        return ticks
    octave = ticks.bit_length() - 1
    return _EXACT_TICKS * (octave - _BITS + 1) + (ticks >> (octave - _BITS)) % _EXACT_TICKS


def percentile_ticks(counts: Sequence[int], percentile: Fraction) -> Fraction | None:
    """Return the latency that ``percentile`` per cent of the frames do not exceed; None without frames."""
    return _percentile(enumerate(counts), sum(counts), percentile)


def signed_percentile_ticks(counts: Sequence[int], percentile: Fraction) -> Fraction | None:
    """Return the IPDV that ``percentile`` per cent do not exceed.

    The first half of ``counts`` holds the bins of increases and of no change, the second half those
    of decreases.
    """
    half = len(counts) // 2
    upwards = [(-index, counts[half + index]) for index in reversed(range(half))]
    upwards += [(index, counts[index]) for index in range(half)]
    return _percentile(upwards, sum(counts), percentile)


def sizes(counts: Sequence[int]) -> list[int]:
    """Return the bins of the size of IPDV, increases and decreases together."""
    half = len(counts) // 2
    return [up + down for up, down in zip(counts[:half], counts[half:], strict=True)]


def _percentile(bins: Iterable[tuple[int, int]], total: int, percentile: Fraction) -> Fraction | None:
    """Return the middle of the bin that holds the percentile; a negative bin number is a decrease."""
    if not total:
        return None
    rank = -(-total * percentile // 100)
    seen = 0
    for index, count in bins:
        seen += count
        if seen >= rank:
            low, high = bin_bounds_ticks(abs(index))
            return Fraction(low + high, 2) * (1 if index >= 0 else -1)
    raise AssertionError("rank is at most the total")


def prefixes(first: int, count: int, width_bits: int) -> list[tuple[int, int]]:
    """Return (value, mask) pairs that cover exactly ``first`` to ``first + count - 1``."""
    full = (1 << width_bits) - 1
    found = []
    while count:
        size = min(first & -first or 1 << width_bits, 1 << (count.bit_length() - 1))
        found.append((first, full & ~(size - 1)))
        first, count = first + size, count - size
    return found
