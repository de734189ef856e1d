"""Records that are chosen from others, and the bins of histograms between their extremes, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from p4mesh.tester.records import (
    ALL_ONES,
    IPDV_ZERO,
    READ_TICKS,
    chip_fields,
    chosen_records,
    interarrival_bins,
    ipdv_bins,
    latency_bins,
    with_ipdv,
    with_read_ticks,
)

RECORDS = np.array([(1, 10, 100), (2, 20, 200), (3, 30, 300)], dtype=[("a", ">u4"), ("b", ">u8"), ("c", "<u2")])


def test_records_are_chosen_by_places_and_by_truth_values() -> None:
    for places in (np.array([2, 0, 2]), np.array([True, False, True]), np.zeros(0, dtype=np.int64)):
        found = chosen_records(RECORDS, places)
        assert found.dtype == RECORDS.dtype and found.tolist() == RECORDS[places].tolist()


def test_chosen_records_are_a_copy() -> None:
    found = chosen_records(RECORDS, np.array([0]))
    found["a"] = 9
    assert RECORDS["a"].tolist() == [1, 2, 3]


def cells(**columns: list[int]) -> np.ndarray[Any, Any]:
    """Records of cells by their fields; 0 in those that are left out."""
    names = "frames latency_min_inverted latency_max first_arrival last_arrival ipdv_count ipdv_min_inverted ipdv_max"
    found = np.zeros(len(columns["frames"]), dtype=[(name, np.uint64) for name in names.split()])
    for name, values in columns.items():
        found[name] = values
    return found


def test_bins_of_latency_are_those_between_the_extremes_of_all_cells() -> None:
    """Up to 128 ticks a bin is one tick, up to 256 two: 130 ticks are in bin 129. An empty cell has no extremes."""
    smallest = [ALL_ONES - 10, ALL_ONES - 5, 0]
    assert latency_bins(cells(frames=[1, 1, 0], latency_min_inverted=smallest, latency_max=[40, 130, 0]), 0) == range(
        5, 130
    )
    assert latency_bins(cells(frames=[0]), 0) == range(0)


@pytest.mark.parametrize(("lowest", "highest", "bins"), [(-3, 2, 4), (-1, 5, 6), (1, 2, 3), (0, 0, 1)])
def test_bins_of_ipdv_end_with_its_largest_size(lowest: int, highest: int, bins: int) -> None:
    inverted, last = ALL_ONES - (IPDV_ZERO + lowest), IPDV_ZERO + highest
    records = cells(frames=[3, 9], ipdv_count=[1, 0], ipdv_min_inverted=[inverted, 0], ipdv_max=[last, 0])
    assert ipdv_bins(records, 0) == range(bins)
    assert ipdv_bins(records[1:], 0) == range(0), "no IPDV was measured"
    assert not len(with_ipdv(records[["frames"]])), "the target does not measure it"


@pytest.mark.parametrize(
    ("frames", "last", "bins"),
    [
        # 30 ticks between the arrivals and 20 of latency; no time lies between the frames of one.
        ([2, 1], 130, 51),
        ([1, 1], 130, 0),
        ([2, 1], 80, 1),
        # 32 bits hold 64 bins of one tick, and 64 for each of the 26 powers of two above.
        ([2, 1], 1 << 40, 64 + 26 * 64),
    ],
)
def test_bins_between_frames_end_with_the_longest_time_that_may_be(frames: list[int], last: int, bins: int) -> None:
    """At their departures frames may be farther apart than at their arrivals, by the latency."""
    records = cells(frames=frames, first_arrival=[100, 0], last_arrival=[last, 99_999], latency_max=[20, 20])
    assert interarrival_bins(records, 0) == range(bins)


def test_records_keep_their_values_beside_the_time_of_reading() -> None:
    timed = with_read_ticks(RECORDS, np.array([7, 8, 9]))
    assert timed.tolist() == [(1, 10, 100, 7), (2, 20, 200, 8), (3, 30, 300, 9)]
    assert timed.dtype.names == ("a", "b", "c", READ_TICKS)


def test_a_chip_has_counts_that_stop_at_32_bits() -> None:
    assert chip_fields([("duplicates", 8), ("bytes", 8), ("latency_max", 4)]) == [
        ("duplicates", 4),
        ("bytes", 8),
        ("latency_max", 4),
    ]
