"""Goal: every number that a test has measured stands beside its error, or the vocabulary says why it needs none."""

from __future__ import annotations

import pytest

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, Quantity, Sense, quantity_of

MEASURED = [
    (column, quantity_of(column.key))
    for columns in fields.BY_TOPIC.values()
    for column in columns
    if quantity_of(column.key).sense is not Sense.SETTING and (column.unit or column.digits is not None)
]
KEYS = set(fields.QUANTITIES)


@pytest.mark.parametrize(("column", "quantity"), MEASURED, ids=lambda item: getattr(item, "key", ""))
def test_each_measured_column_has_an_error_or_a_reason_to_have_none(column: Column, quantity: Quantity) -> None:
    found = (quantity.error, quantity.like, quantity.share_of, quantity.resolution, quantity.exact)
    assert any(found), f"{column.key}: give it the column of its error, or say why it is exact"
    # Columns of the lowest and highest of several ports are named after those of one port.
    assert {quantity.error.removesuffix("_high"), quantity.like, quantity.share_of} - {""} <= KEYS
