"""Quantities as people read them: one notation for numbers, for times, and for ports that follow each other."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from math import isfinite

_UNITS_NS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns"))
_FACTOR_IN_ONE_UNIT = 1000
"""Times that are further apart have units of their own: one of them would have only zeros."""


def number_text(value: float | Fraction, digits: int = 6) -> str:
    """A number with commas between thousands and no exponent; a fraction has ``digits`` digits, whole ones all.

    For example ``1,488,095``, ``0.333333`` and ``0.00005``.
    """
    if isinstance(value, int):
        return f"{value:,}"
    if not isfinite(value):
        return str(float(value))
    return f"{_rounded(value, digits):,f}"


def signed_text(value: float | Fraction, digits: int = 6) -> str:
    """A change: a number with its sign, also where it is positive."""
    return f"{'+' if value > 0 else ''}{number_text(value, digits)}"


def typed_text(value: float | Fraction, digits: int = 12) -> str:
    """A number as somebody types it into a file or a command: neither commas nor an exponent."""
    return f"{_rounded(value, digits):f}"


def most_text(limit: float | Fraction, digits: int = 10) -> str:
    """The largest number of so many digits that is not above a limit, as it is typed."""
    return _typed_limit(limit, digits, ROUND_FLOOR)


def least_text(limit: float | Fraction, digits: int = 10) -> str:
    """The smallest number of so many digits that is not below a limit, as it is typed."""
    return _typed_limit(limit, digits, ROUND_CEILING)


def _typed_limit(limit: float | Fraction, digits: int, rounding: str) -> str:
    exact = Fraction(limit)
    context = Context(prec=digits, rounding=rounding)
    return f"{context.divide(Decimal(exact.numerator), Decimal(exact.denominator)).normalize(context):f}"


def decimals_text(value: float | Fraction, digits: int, rounding: str = ROUND_HALF_UP) -> str:
    """A number with commas between thousands and so many decimals, by default rounded half up, as published tables are.

    For example 69.0625 is ``69.063``. What rounds to 0 has no sign.
    """
    number = float(value)
    if not isfinite(number):
        return str(number)
    return f"{_unsigned_zero(Decimal(repr(number)).quantize(Decimal(1).scaleb(-digits), rounding)):,f}"


def _rounded(value: float | Fraction, digits: int) -> Decimal:
    number = Decimal(f"{float(value):.{digits}g}")
    return _unsigned_zero(Decimal(round(value)) if number.adjusted() >= digits - 1 else number.normalize())


def _unsigned_zero(number: Decimal) -> Decimal:
    return abs(number) if number.is_zero() else number


def grouped(text: str) -> str:
    """A text with commas between its thousands where it is a plain number; any other as it is."""
    whole, point, rest = text.partition(".")
    plain = whole.isdecimal() and (rest.isdecimal() or not point)
    return f"{int(whole):,}{point}{rest}" if plain else text


def time_text(*times_ns: float) -> str:
    """A time in its largest unit with four digits, such as ``36.91 s``; of several the least to the greatest."""
    low, high = min(times_ns), max(times_ns)
    unit_ns, unit = _unit_of(high)
    if low == high:
        return f"{number_text(high / unit_ns, 4)} {unit}"
    if low * _FACTOR_IN_ONE_UNIT < high:
        return f"{time_text(low)} to {time_text(high)}"
    return f"{number_text(low / unit_ns, 4)} to {number_text(high / unit_ns, 4)} {unit}"


def _unit_of(time_ns: float) -> tuple[int, str]:
    return next((unit for unit in _UNITS_NS if time_ns >= unit[0]), _UNITS_NS[-1])


def ports_text(ports: Iterable[int]) -> str:
    """Ports in their order, those that follow each other as a range: ``1-4,7``."""
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in _consecutive(ports))


def frame_sizes_text(sizes: Iterable[int | str]) -> str:
    """Frame sizes and names of mixes in their order, those that follow each other as a range: ``64 to 127, 1518 B``."""
    runs = _consecutive(sizes)
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs) + " B"


def _consecutive(items: Iterable[int | str]) -> list[list[int | str]]:
    """The items in runs of numbers that follow each other; a name is a run by itself."""
    runs: list[list[int | str]] = []
    for item in items:
        last = runs[-1][-1] if runs else None
        if isinstance(item, int) and isinstance(last, int) and item == last + 1:
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs
