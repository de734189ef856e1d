"""Statistics of many flows at once are those of each flow alone, and follow from their records by hand."""

from __future__ import annotations

import numpy as np
import pytest

from p4mesh.measurement.columns import Groups
from p4mesh.measurement.counts import LatencyBins, LatencyStats, average_error_ns
from p4mesh.measurement.latency_stats import latency_of_groups, latency_stats, most_bins
from p4mesh.tester.contract import load_contract
from p4mesh.tester.histogram import Bins
from p4mesh.tester.records import ALL_ONES, IPDV_ZERO

TICK_PS = 3200
NOT_ON_CHIPS = frozenset({"jitter_smoothed_x16", "ipdv_count", "ipdv_min_inverted", "ipdv_max", "ipdv_sum_high"})


def records_of(count: int, without: frozenset[str] = frozenset()) -> np.ndarray:
    fields = [(name, f">u{width}") for name, width in load_contract().record_fields if name not in without]
    return np.zeros(count, dtype=fields)


def random_records(count: int, without: frozenset[str] = frozenset()) -> np.ndarray:
    random = np.random.default_rng(7)
    records = records_of(count, without)
    for name in records.dtype.names or ():
        records[name] = random.integers(0, 1 << 31, count)
        if name.endswith("_high"):
            records[name] = random.integers(-2, 3, count).astype(np.int64).view(np.uint64)
    records["frames"] = random.integers(0, 4, count)
    if "ipdv_count" in (records.dtype.names or ()):
        records["ipdv_count"] = np.maximum(records["frames"].astype(np.int64) - 1, 0)
    return records


def test_the_statistics_of_a_group_are_those_of_its_records_alone() -> None:
    for without in (frozenset(), NOT_ON_CHIPS):
        records = random_records(200, without)
        members = [[5], [7, 3], list(range(20, 90)), [199, 0], [1]]
        groups = Groups(members)
        alone = [latency_stats(records[group], TICK_PS) for group in members]
        assert latency_of_groups(records[groups.rows], groups, TICK_PS) == alone


def test_sums_are_signed_and_flows_without_frames_take_no_part() -> None:
    """Cells of a flow without frames may hold anything."""
    records = records_of(3)
    records["frames"] = [0, 2, 3]
    records["latency_min_inverted"] = [ALL_ONES - 1, ALL_ONES - 10, ALL_ONES - 4]
    records["latency_max"] = [ALL_ONES - 1, 30, 20]
    records["latency_sum_low"] = [ALL_ONES - 1, 40, 36]
    records["ipdv_count"] = [0, 1, 2]
    records["ipdv_min_inverted"] = [ALL_ONES - 1, ALL_ONES - (IPDV_ZERO + 5), ALL_ONES - (IPDV_ZERO - 16)]
    records["ipdv_max"] = [ALL_ONES - 1, IPDV_ZERO + 5, IPDV_ZERO + 1]
    # 5 and -15, of 96 bits each.
    records["ipdv_sum_low"] = [ALL_ONES - 1, 5, (1 << 32) - 15]
    records["ipdv_sum_high"] = [0, 0, (1 << 64) - 1]
    groups = Groups([[0], [0, 1, 2]])
    nothing, found = latency_of_groups(records[groups.rows], groups, 1000)
    assert nothing is None and found is not None
    assert (found.count, found.min_ns, found.max_ns, found.sum_ns) == (5, 4.0, 30.0, 76.0)
    assert (found.jitter_count, found.rfc3550_jitter_flows) == (3, 2)
    assert (found.ipdv_count, found.ipdv_min_ns, found.ipdv_max_ns, found.ipdv_sum_ns) == (3, -16.0, 5.0, -10.0)


def test_no_group_has_no_statistics() -> None:
    groups = Groups([])
    assert latency_of_groups(records_of(4)[groups.rows], groups, TICK_PS) == []
    assert latency_stats(records_of(0), TICK_PS) is None


def test_sums_beyond_63_bits_are_exact_until_they_are_nanoseconds() -> None:
    records = records_of(2)
    records["frames"] = records["ipdv_count"] = [1, 1]
    records["latency_sum_high"] = [1 << 40, 3]
    records["latency_sum_low"] = [5, 1]
    records["ipdv_sum_high"] = [0, (1 << 64) - (1 << 40)]
    records["ipdv_sum_low"] = [7, 9]
    found = latency_of_groups(records, Groups([[0], [1]]), 1000)
    assert [stats and stats.sum_ns for stats in found] == [float((1 << 72) + 5), float((3 << 32) + 1)]
    assert [stats and stats.ipdv_sum_ns for stats in found] == [7.0, float(9 - (1 << 72))]


def test_jitter_and_added_bytes_follow_from_the_records_by_hand() -> None:
    """Ticks of 2 ns; a flow of one frame has no jitter, and one of several sizes says nothing about added bytes."""
    records = records_of(3)
    records["frames"] = [1, 4, 5]
    records["bytes"] = [64, 4 * 68, 5 * 500]
    records["jitter_min_inverted"] = [0, ALL_ONES - 3, ALL_ONES - 2]
    records["jitter_max"] = [99, 9, 7]
    records["jitter_sum_low"] = [99, 20, 11]
    records["jitter_smoothed_x16"] = [99, 48, 16]
    records["latency_overflows"] = [1, 0, 2]
    (found,) = latency_of_groups(records, Groups([[0, 1, 2]]), 2000, np.array([64, 64, 0]))
    assert found is not None
    assert (found.count, found.overflow_count) == (10, 3)
    assert (found.jitter_count, found.jitter_min_ns, found.jitter_max_ns, found.jitter_sum_ns) == (7, 4.0, 18.0, 62.0)
    assert found.rfc3550_jitter_flows == 2
    assert (found.rfc3550_jitter_sum_ns, found.rfc3550_jitter_max_ns) == ((48 + 16) * 2 / 16, 48 * 2 / 16)
    assert found.added_bytes == 4 * (68 - 64) / 10


def test_the_error_of_an_average_is_that_of_values_at_both_extremes() -> None:
    """Half at 0 and half at 10 ns: deviation 5 ns, error 1.96 x 5 / sqrt(4)."""
    assert average_error_ns(4, 0, 5, 10) == pytest.approx(4.9)
    assert LatencyStats(4, 0.0, 10.0, 20.0).sampling_error_ns == pytest.approx(4.9)
    assert average_error_ns(3, 0.1, 0.1 + 1e-16, 0.1) == average_error_ns(3, 1, 1.5, 1) == 0, "rounding of an average"
    assert LatencyStats(0, 0.0, 0.0, 0.0).sampling_error_ns == 0


def test_percentiles_and_bins_are_nanoseconds() -> None:
    """Ticks of 2 ns; 3 frames of 10 ticks and one of 20: half do not exceed 10, and 99 % do not exceed 20."""
    records = records_of(1)
    records["frames"], records["latency_sum_low"] = 4, 50
    records["latency_min_inverted"], records["latency_max"] = ALL_ONES - 10, 20
    counts = [3 if bin_ == 10 else bin_ == 20 for bin_ in range(64)]
    found = latency_stats(records, 2000, (Bins(counts, [0] * 128),))
    assert found is not None and found.bins is not None
    assert dict(found.percentiles_ns) == {50: 20, 99: 40, 99.9: 40, 99.99: 40}
    assert found.bins == LatencyBins((20, 40), (22, 42), (3, 1))
    assert found.ipdv_percentiles_ns == found.jitter_percentiles_ns == ()


@pytest.mark.parametrize(("histograms", "bins"), [(0, 256), (1, 256), (16, 256), (17, 240), (200, 20), (1000, 16)])
def test_histograms_of_a_trial_share_4096_bins_but_have_16_at_least(histograms: int, bins: int) -> None:
    assert most_bins(histograms) == bins
