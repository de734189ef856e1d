"""The error of a number in a result table: a smaller difference says nothing.

It is that of a search (less by the loss that the deciding trial does not exclude, more up to the load that failed),
that of the column which the vocabulary names, that of the parameter which is a resolution, that of the time stamps, of
a count over a time one frame of each port, and of a share of frames its interval with 95 % confidence. A burst that the
device may forgive comes on top, in the direction in which a longer trial would be worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, Sense, quantity_of
from p4mesh.methods.results.loss_interval import loss_interval
from p4mesh.methods.results.outcome import Cell, Table
from p4mesh.methods.results.searched import AT_LEAST
from p4mesh.report.numbers import number
from p4mesh.store.run_files import StoredTrial
from p4mesh.traffic.line_rate import NS_PER_S

_SEARCHES = "searches"
_NS = {"ns": 1.0, "us": 1e-3, "ms": 1e-6, "s": 1e-9}
"""A nanosecond in these units."""
_THROUGHPUTS = tuple(
    column.key
    for column in (
        fields.THROUGHPUT_PCT,
        fields.THROUGHPUT_FPS,
        fields.THROUGHPUT_L1_MBPS,
        fields.THROUGHPUT_L2_MBPS,
    )
)
_LOADS = (fields.LOAD_PCT.key, fields.OFFERED_FPS.key, fields.OFFERED_L1_MBPS.key)
"""Settings of a trial; in a table with the load at which a search fails, its result: see found_by_search."""
_LIMITS = (fields.CARRIED_PCT.key, fields.BUCKET_PCT.key, fields.LOWER_PCT.key, fields.UPPER_PCT.key)
"""Columns that say between what a result lies."""
_FAILS_AT = {
    fields.CAPACITY_MIN.key: fields.UPPER_ADDRESSES.key,
    fields.CAPACITY_MAX.key: fields.UPPER_ADDRESSES.key,
    fields.RATE_FPS_MIN.key: fields.UPPER_FPS.key,
    fields.RATE_FPS_MAX.key: fields.UPPER_FPS.key,
    fields.RATE_PCT_MIN.key: fields.UPPER_RATE_PCT.key,
    fields.RATE_PCT_MAX.key: fields.UPPER_RATE_PCT.key,
}
"""Columns of the lowest value that surely failed: where frames are lost, beyond the resolution of the search."""
_PPM, _PCT = 1_000_000, 100


@dataclass(frozen=True)
class Bounds:
    """How far the number of a long trial may be from one that is printed, in its unit; 0 where nothing is known."""

    below: float
    above: float
    burst: float = 0.0
    """Change by a burst that the device may forgive, below 0 where a longer trial has less; trials of equal length have
    it in common.
    """

    @property
    def known(self) -> bool:
        """Whether there is an error at all."""
        return bool(self.below or self.above or self.burst)


class NumberErrors:
    """Errors of the numbers of one run."""

    def __init__(self, config: Mapping[str, Any], tables: Sequence[Table], trials: Sequence[StoredTrial] = ()) -> None:
        self._parameters = {item["name"]: item["value"] for item in config["parameters"]}
        self._stamps_ns = float(Fraction(config.get("time_stamps", {}).get("resolution_ns", 0)))
        self._ports = len(config.get("ports", ()))
        searches = next((table for table in tables if table.name == _SEARCHES), None)
        self._searches = searches.rows if searches else ()
        self._trials = trials

    def bounds_of(self, table: Table, row: Mapping[str, Cell], column: Column) -> Bounds:
        """Bounds of the error of a number: 0 where its row says that it has none, or that the number is a bound."""
        quantity, value, share = quantity_of(column.key), number(row.get(column.key)), _share(table, row, column)
        unknown = any(one.key == quantity.error for one in table.columns) and row.get(quantity.error) is None
        if unknown or is_bound(row, column):
            return Bounds(0.0, 0.0)
        error = self._error(table, row, column)
        below, above = (error, error) if error or not quantity.share_of else _of_share(value, row, column)
        scale = value / share if share else 1.0
        if share:
            less, more = self._of_search(row, share)
            below, above = max(below, less * scale), max(above, more * scale)
        if (failed := row.get(_FAILS_AT.get(column.key, ""))) is not None:
            above = max(above, number(failed) - value)
        limit = row.get(fields.BUCKET_PCT.key if share else quantity.for_good)
        if limit is None or column.key in _LIMITS:
            return Bounds(below, above)
        return Bounds(below, above, number(limit) * scale - value)

    def _error(self, table: Table, row: Mapping[str, Cell], column: Column) -> float:
        """The error in both directions, without what a search leaves open."""
        quantity, value = quantity_of(column.key), number(row.get(column.key))
        found = [number(row.get(quantity.error)), self._resolution(quantity.resolution)]
        if quantity.sense is not Sense.SETTING and not quantity.like:
            found.append(self._stamps_ns * _NS.get(column.unit.partition(" ")[0], 0.0))
        if quantity.is_rate and not _share(table, row, column):
            found.append(self._ports * self._frame_fps(row))
        like = next((one for one in table.columns if one.key == quantity.like), None)
        if like is not None and not max(found) and (other := number(row.get(like.key))):
            found.append(value * self._error(table, row, like) / other)
        return max(found)

    def _of_search(self, row: Mapping[str, Cell], share: float) -> tuple[float, float]:
        """How much less and more than the load of a search a long trial may carry, in % of line rate.

        Less by the loss that its trials do not exclude, more up to the load that failed, or to the next one to try.
        Nothing is known of more where the highest load has passed.
        """
        less, more = share - number(row.get(fields.CARRIED_PCT.key) or share), 0.0
        for search in self._searches:
            if search.get(fields.FRAME_SIZE_BYTES.key) == row.get(fields.FRAME_SIZE_BYTES.key):
                less = max(less, share * number(search.get(fields.EXCLUDED_LOSS_PPM.key)) / _PPM)
                next_pct = number(search.get(fields.RESOLUTION_PCT.key))
                next_pct += share * (1 + number(search.get(fields.WIDTH_PCT.key)) / _PCT)
                highest_pct = share if search.get(fields.AT_LEAST.key) == "yes" else search.get(fields.MAXIMUM_PCT.key)
                more = max(more, min(next_pct, number(highest_pct or next_pct)) - share)
        failed = number(row.get(fields.UPPER_PCT.key))
        return less, failed - share if failed else more

    def _resolution(self, parameter: str) -> float:
        try:
            return float(Fraction(str(self._parameters.get(parameter, 0))))
        except ValueError:
            return 0.0

    def _frame_fps(self, row: Mapping[str, Cell]) -> float:
        """Rate of one frame in the shortest trial of the frame size of a row; 0 without trials."""
        size = row.get(fields.FRAME_SIZE_BYTES.key)
        durations_ns = [
            trial.spec["duration_ns"]
            for trial in self._trials
            if any(size in (None, stream["frame_size_bytes"]) for stream in trial.spec["streams"])
        ]
        return NS_PER_S / min(durations_ns) if durations_ns else 0.0


def is_bound(row: Mapping[str, Cell], column: Column) -> bool:
    """Whether a search that tried no higher value found a number: the device may do better, and does no worse."""
    quantity = quantity_of(column.key)
    return bool(quantity.resolution or quantity.like) and row.get(fields.REASON.key) == AT_LEAST


def found_by_search(table: Table, column: Column) -> bool:
    """Whether a load is what a search found, and so a result: its table has the load at which the search fails."""
    return column.key in _LOADS and _has(table, fields.UPPER_PCT)


def _has(table: Table, column: Column) -> bool:
    return any(item.key == column.key for item in table.columns)


def _share(table: Table, row: Mapping[str, Cell], column: Column) -> float:
    """The load that a search found, of which a number is one more expression; 0 for others and without a result."""
    quantity = quantity_of(column.key)
    if column.key in _THROUGHPUTS and (_has(table, fields.UPPER_PCT) or _has(table, fields.BUCKET_PCT)):
        keys = [fields.THROUGHPUT_PCT, fields.CARRIED_PCT]
    elif found_by_search(table, column) or (
        quantity.sense is Sense.HIGHER and (quantity.is_rate or not quantity.error) and _has(table, fields.UPPER_PCT)
    ):
        keys = [fields.THROUGHPUT_PCT, fields.LOAD_PCT, fields.LOWER_PCT, fields.UPPER_PCT]
    else:
        return 0.0
    share = next((number(row[key.key]) for key in keys if row.get(key.key)), 0.0)
    # A load that failed itself is no result.
    return 0.0 if share == row.get(fields.UPPER_PCT.key) else share


def _of_share(value: float, row: Mapping[str, Cell], column: Column) -> tuple[float, float]:
    """How far a share of some frames may be from that of a long trial, with 95 % confidence; 0 if it is of none.

    Limits in the row know what chance does not: late frames that may be copies, and those of a transient.
    """
    low, high = (row.get(limit.key) for limit in (fields.LOSS_LOW_PCT, fields.LOSS_HIGH_PCT))
    if column.key == fields.LOSS_PCT.key and low is not None and high is not None:
        return value - number(low), number(high) - value
    # Copies of a frame may be lost together.
    keys = (quantity_of(column.key).share_of, fields.TX_FRAMES.key)
    frames = min((round(number(row[key])) for key in keys if row.get(key)), default=0)
    if not frames:
        return 0.0, 0.0
    whole = _PCT if column.unit.startswith("%") else 1
    least, most = loss_interval(round(value / whole * frames), frames)
    return value - whole * least, whole * most - value
