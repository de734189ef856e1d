"""Rows in groups, and objects of columns."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, astuple
from typing import Any

import numpy as np
import pytest

from p4mesh.measurement.columns import Groups, from_columns
from p4mesh.measurement.counts import LatencyStats


def test_rows_with_the_same_number_are_a_group_in_their_order() -> None:
    numbers = np.array([2, 0, 1, 0, 2, 2])
    values = np.array([5, 10, -3, 20, 1, 9])
    groups = Groups.of_numbers(numbers)
    assert groups.rows.tolist() == [1, 3, 2, 0, 4, 5]
    sorted_values = values[groups.rows]
    assert groups.totals(sorted_values).tolist() == [30, -3, 15]
    assert groups.largest(sorted_values).tolist() == [20, -3, 9]
    assert groups.smallest(sorted_values).tolist() == [10, -3, 1]


def test_numbers_of_no_row_make_no_group() -> None:
    groups = Groups.of_numbers(np.zeros(0, dtype=np.int64))
    assert groups.rows.tolist() == groups.totals(np.zeros(0)).tolist() == []


def test_objects_of_columns_are_those_that_the_class_makes() -> None:
    columns: dict[str, Any] = {
        "sum_ns": [1.5, 2.5],
        "count": np.array([3, 4]),
        "min_ns": np.array([0.5, 0.0]),
        "max_ns": [9.0, 8.0],
    }
    made = [LatencyStats(3, 0.5, 9.0, 1.5), LatencyStats(4, 0.0, 8.0, 2.5)]
    found = from_columns(LatencyStats, columns)
    assert found == made and not {found[0]} - {made[0]} and repr(found) == repr(made)
    assert [type(value) for value in astuple(found[0])] == [type(value) for value in astuple(made[0])]
    assert pickle.loads(pickle.dumps(found)) == made
    assert from_columns(LatencyStats, {"count": []}) == []


def test_objects_of_columns_are_frozen_like_others() -> None:
    (found,) = from_columns(LatencyStats, {"count": [1], "min_ns": [2.0], "max_ns": [3.0], "sum_ns": [2.0]})
    assert type(found) is LatencyStats
    with pytest.raises(FrozenInstanceError):
        found.count = 2  # type: ignore[misc]


def test_columns_of_two_lengths_are_refused() -> None:
    with pytest.raises(AssertionError, match="one length"):
        from_columns(LatencyStats, {"count": [1, 2], "min_ns": [2.0]})
