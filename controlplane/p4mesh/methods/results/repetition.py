"""Statistics over repeated measurements: they show the variation beside the average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt


@dataclass(frozen=True)
class Spread:
    """Minimum, mean, maximum and sample standard deviation."""

    count: int
    minimum: Fraction
    mean: Fraction
    maximum: Fraction
    stddev: float
    """Sample standard deviation; 0 for one value."""

    @property
    def rsd_pct(self) -> float | None:
        """Standard deviation in percent of the mean (RFC 8239: less than 10 %); None for a mean of 0."""
        return 100 * self.stddev / abs(float(self.mean)) if self.mean else None


def spread_of(values: Sequence[Fraction | int]) -> Spread:
    """The spread of the values; raises ValueError without a value."""
    if not values:
        raise ValueError("no value to describe")
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    variance = sum(((value - mean) ** 2 for value in exact), Fraction(0)) / max(1, len(exact) - 1)
    return Spread(len(exact), min(exact), mean, max(exact), sqrt(variance))
