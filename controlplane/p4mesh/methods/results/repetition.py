"""Statistics over repeated measurements: they show the variation beside the average."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TypeVar

_CONFIDENCE = 0.95
_Trial = TypeVar("_Trial")


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


def sampling_error(
    trials: Sequence[_Trial], statistic: Callable[[Sequence[_Trial]], Fraction | None]
) -> Fraction | None:
    """Error of a statistic of some trials, with 95 % confidence; None of one trial, or where it has no value.

    From its values without each of the trials (jackknife, Efron and Stein 1981), with Student's t, and with what few
    trials shift it by.
    """
    if len(trials) < 2:
        return None
    without = [statistic([*trials[:place], *trials[place + 1 :]]) for place in range(len(trials))]
    known = [value for value in without if value is not None]
    if len(known) < len(without):
        return None
    spread, whole = spread_of(known), statistic(trials)
    if whole is None or not spread.stddev:
        return Fraction(0)
    # scipy.stats, whose t.ppf is this, takes 0.3 s more to load.
    from scipy.special import stdtrit

    deviation = (len(known) - 1) * spread.stddev / sqrt(len(known))
    shift = (len(known) - 1) * abs(spread.mean - whole)
    return Fraction(float(stdtrit(len(known) - 1, (1 + _CONFIDENCE) / 2)) * deviation) + shift
