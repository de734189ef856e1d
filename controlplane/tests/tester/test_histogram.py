"""Latency bins: bounds without gaps, the stated error, exact prefixes."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from p4mesh.tester.histogram import (
    RELATIVE_ERROR,
    bin_bounds_ticks,
    bin_of,
    finer_bits_of,
    joined_bins,
    percentile_error_ticks,
    percentile_ticks,
    prefixes,
    signed_percentile_error_ticks,
    signed_percentile_ticks,
    sizes,
)

FINER = (0, 1, 3)


def program_bin(latency: int, finer_bits: int) -> int:
    """The bin by the arithmetic of docs/DATAPLANE.md."""
    bits = 6 + finer_bits
    if latency < 1 << bits:
        return latency
    octave = latency.bit_length() - 1
    return ((octave - bits + 1) << bits) + (latency >> (octave - bits)) % (1 << bits)


@pytest.mark.parametrize("finer_bits", FINER)
def test_bins_follow_each_other_without_gaps(finer_bits: int) -> None:
    next_low = 0
    for index in range((27 - finer_bits) << (6 + finer_bits)):
        low, high = bin_bounds_ticks(index, finer_bits)
        assert low == next_low
        assert program_bin(low, finer_bits) == program_bin(high, finer_bits) == index
        assert bin_of(low, finer_bits) == bin_of(high, finer_bits) == index
        next_low = high + 1
    assert next_low == 1 << 32
    assert finer_bits_of(2048 << finer_bits) == finer_bits


@pytest.mark.parametrize("finer_bits", FINER)
def test_middle_of_a_bin_is_within_the_stated_error(finer_bits: int) -> None:
    for index in range((27 - finer_bits) << (6 + finer_bits)):
        low, high = bin_bounds_ticks(index, finer_bits)
        middle = Fraction(low + high, 2)
        if low:
            assert max(middle - low, high - middle) / low <= RELATIVE_ERROR / 2**finer_bits


def test_percentiles_of_finer_bins_are_as_much_nearer() -> None:
    """2 ms in ticks of a nanosecond: bins of 16.4 and of 2.0 us."""
    for finer_bits, width in ((0, 16_384), (3, 2_048)):
        counts, signed = [0] * (2048 << finer_bits), [0] * (4096 << finer_bits)
        counts[bin_of(2_000_000, finer_bits)] = signed[bin_of(2_000_000, finer_bits)] = 100
        for value, error in (
            (percentile_ticks(counts, Fraction(50)), percentile_error_ticks(counts, Fraction(50))),
            (signed_percentile_ticks(signed, Fraction(50)), signed_percentile_error_ticks(signed, Fraction(50))),
        ):
            assert value is not None and error is not None
            assert 2 * error == width - 1
            assert abs(value - 2_000_000) <= error
        ((low, high, frames),) = joined_bins(counts, 4)
        assert (high - low, frames) == (width - 1, 100)


def test_percentiles_of_known_counts() -> None:
    counts = [0] * 2048
    counts[10], counts[20], counts[30] = 50, 49, 1
    assert percentile_ticks(counts, Fraction(50)) == 10
    assert percentile_ticks(counts, Fraction(51)) == 20
    assert percentile_ticks(counts, Fraction(99)) == 20
    assert percentile_ticks(counts, Fraction("99.9")) == 30
    assert percentile_ticks([0] * 2048, Fraction(50)) is None
    assert percentile_ticks([], Fraction(50)) is None


def test_signed_percentiles_of_known_counts() -> None:
    counts = [0] * 4096
    counts[0], counts[10], counts[2048 + 20] = 50, 25, 25
    assert signed_percentile_ticks(counts, Fraction(1)) == -20
    assert signed_percentile_ticks(counts, Fraction(25)) == -20
    assert signed_percentile_ticks(counts, Fraction(26)) == 0
    assert signed_percentile_ticks(counts, Fraction(99)) == 10
    assert percentile_ticks(sizes(counts), Fraction(99)) == 20
    assert signed_percentile_ticks([0] * 4096, Fraction(50)) is None
    assert signed_percentile_ticks([], Fraction(50)) is None


def counted(ticks: list[int]) -> list[int]:
    """Bins of latencies below 64 ticks, which are exact."""
    return [ticks.count(each) for each in range(64)]


@pytest.mark.parametrize(("percentile", "true"), [(50, 31.5), (90, 57.5), (99, 63.0)])
def test_the_error_of_a_percentile_covers_that_of_a_longer_trial(percentile: int, true: float) -> None:
    """The truth is that of equally likely latencies of 0 to 63 ticks."""
    rng = random.Random(percentile)
    covered = 0
    for _ in range(300):
        counts = counted([rng.randrange(64) for _ in range(600)])
        value, error = (read(counts, Fraction(percentile)) for read in (percentile_ticks, percentile_error_ticks))
        assert value is not None and error is not None
        covered += abs(value - Fraction(true)) <= error + Fraction(1, 2)
    assert covered >= 0.95 * 300


def test_a_percentile_of_too_few_frames_has_no_error() -> None:
    assert percentile_error_ticks(counted([5] * 1000), Fraction("99.9")) is None
    assert percentile_error_ticks(counted([5] * 4000), Fraction("99.9")) == 0
    assert percentile_error_ticks([], Fraction(50)) is None
    assert signed_percentile_error_ticks([], Fraction(50)) is None
    assert signed_percentile_error_ticks(counted([3] * 100), Fraction(1)) is None


@pytest.mark.parametrize(
    ("latencies", "independent", "value", "error"),
    [
        # Seven frames are the fewest: ranks 4 - 2.6 and 4 + 2.6 are the first and the last.
        ([*range(1, 8)], None, 4, 3),
        ([*range(1, 7)], None, 3, None),
        # Ranks 50 +- 9.8 of 100, on both sides of the middle; the last bin counts, too.
        ([0] * 50 + [63] * 50, None, 0, 63),
        ([0] * 49 + [63] * 51, None, 63, 63),
        ([0] * 39 + [5] * 22 + [63] * 39, None, 5, 0),
        ([63] * 100, None, 63, 0),
        # Ranks 40 and 60; of 25 that are independent 13 +- 4.9, each of which stands for four.
        ([*range(1, 26)] * 4, None, 13, 3),
        ([*range(1, 26)] * 4, 25, 13, 5),
    ],
)
def test_the_error_of_a_median_reaches_to_the_ranks_that_the_true_one_may_have(
    latencies: list[int], independent: int | None, value: int, error: int | None
) -> None:
    counts = counted(latencies)
    assert percentile_ticks(counts, Fraction(50)) == value
    assert percentile_error_ticks(counts, Fraction(50), independent=independent) == error


@pytest.mark.parametrize(("shorter", "value"), [(500, "128.5"), (499, "200.5")])
def test_the_error_reaches_to_the_far_side_of_a_bin(shorter: int, value: str) -> None:
    """Latencies of 128 or 129 and of 200 or 201 ticks."""
    counts = [0] * 2048
    counts[bin_of(128)], counts[bin_of(200)] = shorter, 1000 - shorter
    assert percentile_ticks(counts, Fraction(50)) == Fraction(value)
    assert percentile_error_ticks(counts, Fraction(50)) == Fraction("72.5")


def test_the_error_is_clipped_to_what_was_measured() -> None:
    counts = [0] * 2048
    counts[bin_of(1000)] = 100
    low, high = bin_bounds_ticks(bin_of(1000))
    assert percentile_error_ticks(counts, Fraction(50)) == Fraction(high - low, 2)
    assert percentile_error_ticks(counts, Fraction(50), 1000, 1000) == 0


def test_the_error_of_a_signed_percentile_reaches_over_zero() -> None:
    counts = [0] * 128
    counts[2], counts[64 + 3] = 500, 500
    assert signed_percentile_ticks(counts, Fraction(50)) == -3
    assert signed_percentile_error_ticks(counts, Fraction(50)) == 5, "3 down to 2 up"


@pytest.mark.parametrize(("first", "count"), [(0, 1), (0, 306), (7, 9), (306, 65_230), (65_535, 1)])
def test_prefixes_cover_a_range_exactly(first: int, count: int) -> None:
    pairs = prefixes(first, count, 24)
    assert all(value <= mask < 1 << 24 for value, mask in pairs)
    for flow in {0, first - 1, first, first + count // 2, first + count - 1, first + count}:
        covered = sum(flow & mask == value for value, mask in pairs)
        assert covered == (first <= flow < first + count), flow


def test_joined_bins_keep_every_frame_between_their_bounds() -> None:
    counts = [0] * 320
    counts[3], counts[4], counts[70], counts[300] = 5, 1, 2, 7
    assert joined_bins(counts, 4) == [(3, 3, 5), (4, 4, 1), (70, 70, 2), (*bin_bounds_ticks(300), 7)]
    third = (bin_bounds_ticks(296)[0], bin_bounds_ticks(303)[1], 7)
    assert joined_bins(counts, 3) == [(0, 7, 6), (64, 71, 2), third]
    assert joined_bins([0, 0], 4) == []
