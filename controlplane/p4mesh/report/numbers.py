"""Formats numbers for people: commas between thousands, a dash where no value applies; files have neither."""

from __future__ import annotations

from decimal import ROUND_UP

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Cell, is_number
from p4mesh.quantities import decimals_text, number_text, signed_text

NOT_APPLICABLE = "-"
_ERROR_DIGITS = 2
_EXACT_DIGITS = 12
"""Decimals behind which a float is noise."""
_NAMES = {column.key for column in (fields.FRAME_SIZE_BYTES, fields.PORT, fields.TX_PORT, fields.RX_PORT)}
"""Columns whose numbers are names: frame sizes are written as in RFCs, 1518, and ports as on the device."""


def cell_text(column: Column, value: Cell) -> str:
    """Cell as text with the decimals of its column; an error is rounded up, so that it stays one."""
    if value is None:
        return NOT_APPLICABLE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) or column.key in _NAMES:
        return str(value)
    if isinstance(value, float) and column.digits is not None:
        if column.unit.startswith("+-"):
            return decimals_text(round(value, _EXACT_DIGITS), column.digits, ROUND_UP)
        return decimals_text(value, column.digits)
    return number_text(value)


def error_text(error: str | None) -> str:
    """The end of a cell whose number has an error; None: nothing is known of it."""
    return f" +-{error or '?'}"


def bounds_text(below: float, above: float, burst: float) -> str:
    """The end of a cell whose number has errors below and above it, and what a forgiven ``burst`` changes.

    One that is 0 in a direction is left out there; nothing is known where all are.
    """
    low, high = (number_text(one, _ERROR_DIGITS) for one in (below, above))
    text = (
        error_text(low)
        if low == high != "0"
        else "".join(f" {sign}{one}" for sign, one in (("+", high), ("-", low)) if one != "0")
    )
    return text + (f" (bucket {signed_text(burst, _ERROR_DIGITS)})" if burst else "") or error_text(None)


def is_numeric(column: Column, values: list[Cell]) -> bool:
    """Whether the column holds a number or nothing, so that it is aligned to the right."""
    present = [value for value in values if value is not None]
    return not present or any(map(is_number, present))


def number(cell: Cell) -> float:
    """The number of a cell; 0 of any other."""
    return float(cell) if is_number(cell) else 0.0
