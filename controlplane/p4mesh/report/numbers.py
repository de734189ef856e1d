"""Formats cells: decimal point, no thousands separators, a dash where a value does not apply."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from math import isfinite

from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Cell

NOT_APPLICABLE = "-"


def cell_text(column: Column, value: Cell) -> str:
    """Cell as text with the decimals of its column."""
    if value is None:
        return NOT_APPLICABLE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _rounded(value, column.digits) if column.digits is not None else f"{value:g}"
    return str(value)


def _rounded(value: float, digits: int) -> str:
    """Round half up, as people do and as published tables do: 69.0625 is 69.063."""
    if not isfinite(value):
        return str(value)
    return f"{Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):f}"


def header_text(column: Column) -> str:
    """Title and unit of a column in one line."""
    return f"{column.title} ({column.unit})" if column.unit else column.title


def is_numeric(column: Column, values: list[Cell]) -> bool:
    """Whether the column holds a number or nothing, so that it is aligned to the right."""
    present = [value for value in values if value is not None]
    return not present or any(isinstance(value, int | float) and not isinstance(value, bool) for value in present)
