"""Compares the latencies of two cases, measured in repetitions each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from p4mesh.methods.results.repetition import spread_of

CONFIDENCE = 0.95
_DIGITS = 9
"""Decimals of a difference in microseconds: femtoseconds, above what floating point adds."""


@dataclass(frozen=True)
class Delta:
    """A difference of means of repetitions, with its interval of 95 % confidence (Welch's t)."""

    value: float
    low: float | None
    """None where a case has one repetition, whose spread is not known."""
    high: float | None

    @property
    def differs(self) -> bool | None:
        """Whether the interval excludes 0; None without an interval."""
        return None if self.low is None or self.high is None else self.low > 0 or self.high < 0


def delta_of(with_failures: Sequence[float], without: Sequence[float], error: float = 0.0) -> Delta:
    """The difference of the means, each of which time stamps make wrong by less than ``error``."""
    first, second = (spread_of([Fraction(value) for value in values]) for values in (with_failures, without))
    value = round(float(first.mean - second.mean), _DIGITS)
    if min(first.count, second.count) < 2:
        return Delta(value, None, None)
    parts = [(spread.stddev**2 / spread.count, spread.count) for spread in (first, second)]
    variance = sum(part for part, _ in parts)
    half = 2 * error
    if variance == 0:
        return Delta(value, value - half, value + half)
    from scipy.special import stdtrit

    freedom = variance**2 / sum(part**2 / (count - 1) for part, count in parts)
    half += float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * sqrt(variance)
    return Delta(value, value - half, value + half)
