"""Numbers in what users write: the digits 0 to 9, as other programs read them.

Python's own readers also take digits of other scripts, ``1_0`` and ``+1``, and refuse thousands of digits in their own
way.
"""

from __future__ import annotations

import re
from fractions import Fraction

_MOST_DIGITS = 60
_MOST_EXPONENT_DIGITS = 4
"""Sign included. Numbers with longer exponents take long to compute with."""
_INTEGER = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?|-?[0-9]+/[0-9]+")


def is_digits(text: str) -> bool:
    """Tell whether a text is a number without sign, of no more digits than anything needs."""
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def integer(text: str) -> int:
    """Whole number of a text; raises ValueError for any other text."""
    if len(text) > _MOST_DIGITS or not _INTEGER.fullmatch(text):
        raise ValueError("not an integer")
    return int(text)


def decimal(text: str) -> Fraction:
    """Exact number of a text such as ``-1.5``, ``1e3`` or ``1/3``; raises ValueError for any other text."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > _MOST_DIGITS or len(exponent) > _MOST_EXPONENT_DIGITS or not _DECIMAL.fullmatch(text):
        raise ValueError("not a number")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("not a number") from None
