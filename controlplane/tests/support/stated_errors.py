"""Numbers of tables that stand beside no error, though they are measured."""

from __future__ import annotations

import re
from collections.abc import Iterator

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Sense, quantity_of
from p4mesh.methods.results.outcome import Table

ELSEWHERE = {
    ("sweep_loss", "loss_pct"): "the table sweep_loss_interval has its interval",
    ("latency_spread", "low_us"): "the smallest latency that was seen, no mean",
    ("latency_spread", "high_us"): "the largest latency that was seen, no mean",
}
"""Columns that stand for something else in a table, and why they need no error there."""


def without_error(table: Table) -> Iterator[str]:
    """Columns of the vocabulary with measured numbers whose error is not in the table."""
    keys = {column.key for column in table.columns}
    for column in table.columns:
        quantity, of_any_size = quantity_of(column.key), re.sub(r"_[0-9]+B$", "", column.key)
        if of_any_size not in fields.QUANTITIES or quantity.sense is Sense.SETTING or quantity.exact:
            continue
        if (table.name, of_any_size) in ELSEWHERE or not any(_is_number(row.get(column.key)) for row in table.rows):
            continue
        beside = {column.error or quantity.error, quantity.like, quantity.share_of} - {""}
        if not (beside & keys or quantity.resolution):
            yield f"{table.name}.{column.key}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
