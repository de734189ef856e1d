"""The error of a number in a result table: a smaller difference says nothing.

It is that of a search (its resolution, and the loss that the deciding trial does not exclude), that of the column which
the vocabulary names, that of the parameter which is a resolution, or that of the time stamps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, Sense, quantity_of
from p4mesh.methods.results.outcome import Cell, Table

_SEARCHES = "searches"
_NS = {"ns": 1.0, "us": 1e-3, "ms": 1e-6, "s": 1e-9}
"""A nanosecond in these units."""
_SHARES = (fields.THROUGHPUT_PCT.key, fields.LOAD_PCT.key, fields.LOWER_PCT.key, fields.UPPER_PCT.key)
_LOADS = (fields.LOAD_PCT.key, fields.OFFERED_FPS.key, fields.OFFERED_L1_MBPS.key)
"""Settings of a trial; in a table with the load at which a search fails, its result."""
_PPM, _PCT = 1_000_000, 100


class NumberErrors:
    """Errors of the numbers of one run."""

    def __init__(self, config: Mapping[str, Any], tables: Sequence[Table]) -> None:
        self._parameters = {item["name"]: item["value"] for item in config["parameters"]}
        self._stamps_ns = float(Fraction(config.get("time_stamps", {}).get("resolution_ns", 0)))
        searches = next((table for table in tables if table.name == _SEARCHES), None)
        self._searches = searches.rows if searches else ()

    def error_of(self, table: Table, row: Mapping[str, Cell], column: Column) -> float:
        """Error of a number in the unit of its column; 0 where none is known."""
        quantity, value = quantity_of(column.key), _number(row.get(column.key))
        found = [_number(row.get(quantity.error)), self._resolution(quantity.resolution)]
        found.append(self._stamps_ns * _NS.get(column.unit.partition(" ")[0], 0.0))
        known = {item.key for item in table.columns}
        if (quantity.sense is Sense.HIGHER or column.key in _LOADS) and fields.UPPER_PCT.key in known:
            share = next((_number(row[key]) for key in _SHARES if row.get(key)), 0.0)
            error_pct = self._search_error_pct(row.get(fields.FRAME_SIZE_BYTES.key), share)
            found.append(error_pct if column.unit == fields.LOAD_PCT.unit or not share else value * error_pct / share)
        return max(found)

    def _search_error_pct(self, size: Cell, share: float) -> float:
        """Error of a load that a search found at a frame size, in % of line rate; ``share`` is that load."""
        errors = [
            _number(row.get(fields.RESOLUTION_PCT.key))
            + share * _number(row.get(fields.WIDTH_PCT.key)) / _PCT
            + share * _number(row.get(fields.EXCLUDED_LOSS_PPM.key)) / _PPM
            for row in self._searches
            if row.get(fields.FRAME_SIZE_BYTES.key) == size
        ]
        return max(errors, default=0.0)

    def _resolution(self, parameter: str) -> float:
        try:
            return float(Fraction(str(self._parameters.get(parameter, 0))))
        except ValueError:
            return 0.0


def _number(cell: Cell) -> float:
    return float(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else 0.0
