"""Quantities as people read them: one notation for numbers, for times, and for ports that follow each other."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

_UNITS_NS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns"))
_SIX_DIGITS = 100_000
_ROUNDED_TO_1000 = 999.95
"""Four digits of it and of what is above have a comma."""
_FACTOR_IN_ONE_UNIT = 1000
"""Times that are further apart have units of their own: one of them would have only zeros."""


def number_text(value: float) -> str:
    """A number with commas between thousands and, of a fraction, six digits: ``1,488,095`` and ``0.333333``."""
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) >= _SIX_DIGITS and isfinite(value):
        return f"{value:,.0f}"
    return f"{value:,.6g}"


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
        return f"{four_digits(high / unit_ns)} {unit}"
    if low * _FACTOR_IN_ONE_UNIT < high:
        return f"{time_text(low)} to {time_text(high)}"
    return f"{four_digits(low / unit_ns)} to {four_digits(high / unit_ns)} {unit}"


def _unit_of(time_ns: float) -> tuple[int, str]:
    return next((unit for unit in _UNITS_NS if time_ns >= unit[0]), _UNITS_NS[-1])


def four_digits(value: float) -> str:
    """A number with four digits and no exponent; whole numbers have all of theirs."""
    return f"{value:,.0f}" if value >= _ROUNDED_TO_1000 else f"{value:.4g}"


def ports_text(ports: Iterable[int]) -> str:
    """Ports in their order, those that follow each other as a range: ``1-4,7``."""
    runs: list[list[int]] = []
    for port in ports:
        if runs and port == runs[-1][1] + 1:
            runs[-1][1] = port
        else:
            runs.append([port, port])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
