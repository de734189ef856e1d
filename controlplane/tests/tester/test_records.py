"""Records that are chosen from others."""

from __future__ import annotations

import numpy as np

from p4mesh.tester.records import chosen_records

RECORDS = np.array([(1, 10, 100), (2, 20, 200), (3, 30, 300)], dtype=[("a", ">u4"), ("b", ">u8"), ("c", "<u2")])


def test_records_are_chosen_by_places_and_by_truth_values() -> None:
    for places in (np.array([2, 0, 2]), np.array([True, False, True]), np.zeros(0, dtype=np.int64)):
        found = chosen_records(RECORDS, places)
        assert found.dtype == RECORDS.dtype and found.tolist() == RECORDS[places].tolist()


def test_chosen_records_are_a_copy() -> None:
    found = chosen_records(RECORDS, np.array([0]))
    found["a"] = 9
    assert RECORDS["a"].tolist() == [1, 2, 3]
