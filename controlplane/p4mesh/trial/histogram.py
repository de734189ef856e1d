"""Latency histograms: which flows go where, and percentiles from the bins.

The bins are those of the P4 program (docs/DATAPLANE.md): below 64 ticks one bin per tick, above it 64
bins per power of two. A percentile is the middle of its bin, at most 0.79 % away from the true value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

_EXACT_TICKS = 64
_BITS = 6
RELATIVE_ERROR = Fraction(1, 128)
"""Largest relative distance of a latency from the middle of its bin."""

PERCENTILES = (Fraction(50), Fraction(99), Fraction("99.9"), Fraction("99.99"))


@dataclass(frozen=True)
class HistogramRule:
    """Frames of flows that agree with ``flow`` under ``mask``, on ``port``, are counted in ``histogram``."""

    histogram: int
    port: int
    flow: int
    mask: int


def bin_bounds_ticks(index: int) -> tuple[int, int]:
    """Return the smallest and the largest latency of a bin, in ticks."""
    if index < _EXACT_TICKS:
        return index, index
    octave, place = divmod(index, _EXACT_TICKS)
    width = 1 << (octave - 1)
    low = (_EXACT_TICKS + place) * width
    return low, low + width - 1


def percentile_ticks(counts: Sequence[int], percentile: Fraction) -> Fraction | None:
    """Return the latency that ``percentile`` per cent of the frames do not exceed; None without frames."""
    total = sum(counts)
    if not total:
        return None
    rank = -(-total * percentile // 100)
    seen = 0
    for index, count in enumerate(counts):
        seen += count
        if seen >= rank:
            low, high = bin_bounds_ticks(index)
            return Fraction(low + high, 2)
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
