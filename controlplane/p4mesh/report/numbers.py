"""Formats numbers for people: commas between thousands, a dash where no value applies; files have neither."""

from __future__ import annotations

from decimal import ROUND_UP
from math import floor, log10

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


def text_with_error(column: Column, value: float, error: float | None) -> str:
    """A number and its error, None where nothing is known of it (:func:`text_with_bounds`)."""
    if error is None:
        return cell_text(column, value) + error_text(None)
    if not error:
        return cell_text(column, value) + error_text("0")
    return text_with_bounds(column, value, error, error)


def text_with_bounds(column: Column, value: float, below: float, above: float, burst: float = 0.0) -> str:
    """A number, its errors below and above it, and what a forgiven ``burst`` changes.

    Number and errors end at the second digit of the larger error, and have no more decimals than the column. By what
    that rounds the number is in the errors. A number with an error in one direction is a bound: it keeps its digits.
    An error that is 0 in a direction is left out there; nothing is known where all are.
    """
    bucket = f" (bucket {signed_text(burst, _ERROR_DIGITS)})" if burst else ""
    if not below or not above:
        errors = [f" {sign}{number_text(one, _ERROR_DIGITS)}" for sign, one in (("+", above), ("-", below)) if one]
        return cell_text(column, value) + ("".join(errors) + bucket or error_text(None))
    decimals = max(0, _ERROR_DIGITS - 1 - floor(log10(max(below, above))))
    if column.digits is not None:
        decimals = min(decimals, column.digits)
    text = decimals_text(value, decimals)
    rounded_up = float(text.replace(",", "")) - value
    ends = [below + rounded_up, above - rounded_up]
    if below == above:
        ends = [max(ends)] * 2
    low, high = (decimals_text(round(max(0.0, end), _EXACT_DIGITS), decimals, ROUND_UP) for end in ends)
    return text + (error_text(low) if low == high else f" +{high} -{low}") + bucket


def is_numeric(column: Column, values: list[Cell]) -> bool:
    """Whether the column holds a number or nothing, so that it is aligned to the right."""
    present = [value for value in values if value is not None]
    return not present or any(map(is_number, present))


def number(cell: Cell) -> float:
    """The number of a cell; 0 of any other."""
    return float(cell) if is_number(cell) else 0.0
