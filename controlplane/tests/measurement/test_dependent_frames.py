"""Frames that share a queue tell less than as many frames that do not, and percentiles of them have larger errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from support.device_bench import pairs
from support.networks import parsed, switch

from p4mesh.measurement.counts import LatencyStats
from p4mesh.measurement.dependent_frames import independent_share
from p4mesh.measurement.queue_trend import Readings
from p4mesh.tester.histogram import HISTOGRAM_BINS, HistogramPer, bin_of, percentile_error_ticks, percentile_ticks
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

RECORD = [(name, np.uint64) for name in ("frames", "latency_sum_high", "latency_sum_low")]
FRAMES = 64_000
SEEDS = range(60)
INTERVAL, SERVICE, SPIKE = 1000, 900, 10_000
"""Ticks: a spike is over after 100 frames."""


def counted(latencies: NDArray[np.int64]) -> NDArray[np.int64]:
    """Frames per bin."""
    bins = np.zeros(HISTOGRAM_BINS, dtype=np.int64)
    for ticks, frames in zip(*np.unique(latencies, return_counts=True), strict=True):
        bins[bin_of(int(ticks))] += frames
    return bins


def read(*sums: Sequence[int], frames: int) -> Readings:
    """Readings of cells with these sums of latencies, after each ``frames`` more."""
    records = []
    for number, row in enumerate(zip(*sums, strict=True)):
        record = np.zeros(len(row), dtype=RECORD)
        record["frames"], record["latency_sum_low"] = frames * (number + 1), row
        records.append(record)
    return Readings(tuple(range(len(sums))), tuple(records))


def windows(*means: Sequence[int], frames: int = 100) -> Readings:
    """Readings around windows with these means in each cell."""
    return read(*(np.cumsum([0, *(frames * mean for mean in each)]).tolist() for each in means), frames=frames)


BINS = counted(np.array([20, 40] * 1000))
"""A variance of 100: the average of 100 independent frames has one of 1."""
MEANS = (20, 24, 28, 32, 36, 40)
"""A deviation of sqrt(56), of which one tick may be the clock's."""
SHARE = (1.96 / 2.571) ** 2 / (56**0.5 - 1) ** 2


@pytest.mark.parametrize(
    ("means", "cells", "share"),
    [
        pytest.param([MEANS], np.zeros(1), SHARE, id="as many frames less as the variance is more"),
        pytest.param([MEANS, (30,) * 6], np.zeros(1), SHARE, id="its own cells alone"),
        pytest.param([MEANS, (30,) * 6], [1], 1, id="that has no more variance than by chance"),
        # Half as far from their mean, of which one of twice as many frames has half the variance.
        pytest.param([MEANS, (30,) * 6], [0, 1], (1.96 / 2.571) ** 2 / 2 / (14**0.5 - 1) ** 2, id="both together"),
        pytest.param([(30, 30, 30, 30, 30, 36)], np.zeros(1), 1, id="2.449 are less than 1 + sqrt(2.214)"),
        pytest.param(
            [(30, 30, 30, 30, 30, 37)], np.zeros(1), (1.96 / 2.571) ** 2 / (7 / 6**0.5 - 1) ** 2, id="2.858 are more"
        ),
        pytest.param([MEANS[:5]], np.zeros(1), (1.96 / 2.776) ** 2 / (40**0.5 - 1) ** 2, id="five windows"),
        pytest.param([MEANS[:4]], np.zeros(1), 1, id="four windows say nothing"),
        pytest.param([MEANS], [7], 1, id="no cell of it was read"),
    ],
)
def test_frames_are_fewer_by_as_much_as_averages_of_windows_vary_more(
    means: list[Sequence[int]], cells: list[int], share: float
) -> None:
    assert independent_share(BINS, np.array(cells), windows(*means)) == pytest.approx(share)


def test_the_width_of_bins_counts_as_variance_and_a_constant_has_none() -> None:
    """Bins of 4,096 and more have 64 ticks: of latencies that are all in one, (64 ** 2 - 1) / 12 are unknown."""
    wide, step = counted(np.full(100, 4100)), 20
    means = [4100 + step * number for number in range(6)]
    spread = (step * 3.5**0.5 - 1) ** 2
    expected = (1.96 / 2.571) ** 2 * (64**2 - 1) / 12 / 100 / spread
    assert independent_share(wide, np.zeros(1), windows(means)) == pytest.approx(expected)
    assert independent_share(counted(np.full(100, 30)), np.zeros(1), windows([30, 31, 30, 31, 30, 31])) == 1


def queue(seed: int, frames: int, *, alone: bool = False) -> NDArray[np.int64]:
    """Latencies of evenly spaced frames behind a server that holds one of 2,000 up; ``alone``: no frame waits."""
    random = np.random.default_rng(seed)
    own = random.integers(0, 50, frames) + SPIKE * (random.random(frames) < 1 / 2000)
    if alone:
        return 1000 + own
    begun = 3000
    work = np.concatenate([random.integers(0, 50, begun), own]) + SERVICE - INTERVAL
    level = work.cumsum()
    waiting = level - np.minimum.accumulate(level) + INTERVAL
    return waiting[begun:]


@dataclass
class Coverage:
    percent: Fraction
    inside: int = 0
    outside: int = 0
    unknown: int = 0

    def add(self, bins: NDArray[np.int64], truth: Fraction, independent: int) -> None:
        found = percentile_ticks(bins.tolist(), self.percent)
        error = percentile_error_ticks(bins.tolist(), self.percent, independent=independent)
        assert found is not None
        if error is None:
            self.unknown += 1
        elif abs(found - truth) <= error:
            self.inside += 1
        else:
            self.outside += 1


def coverage(percent: int, *, alone: bool, aware: bool) -> Coverage:
    """Of trials of 64,000 frames, against the percentile of 2,000,000."""
    truth = percentile_ticks(counted(queue(1, 2_000_000, alone=alone)).tolist(), Fraction(percent))
    assert truth is not None
    found = Coverage(Fraction(percent))
    step = FRAMES // 8
    for seed in SEEDS:
        latencies = queue(100 + seed, FRAMES, alone=alone)
        readings = read(latencies.cumsum()[step - 1 :: step][:7].tolist(), frames=step)
        bins = counted(latencies)
        share = independent_share(bins, np.zeros(1), readings) if aware else 1
        found.add(bins, truth, max(1, round(share * FRAMES)))
    return found


@pytest.mark.parametrize(("percent", "inside"), [(95, 0.8), (99, 0.2)])
def test_the_error_of_a_percentile_behind_a_queue_covers_the_truth_or_is_unknown(percent: int, inside: float) -> None:
    """32 spikes in a trial, 100 frames behind each: taken for independent frames, three of four trials are outside."""
    plain, aware = (coverage(percent, alone=False, aware=aware) for aware in (False, True))
    assert plain.outside > 0.6 * len(SEEDS)
    assert aware.outside <= 0.1 * len(SEEDS) and aware.inside > inside * len(SEEDS)


@pytest.mark.parametrize("percent", [50, 99])
def test_independent_frames_keep_their_errors(percent: int) -> None:
    found = coverage(percent, alone=True, aware=True)
    assert found.inside >= 0.93 * len(SEEDS) and not found.unknown


def measured(jitter: str, per: HistogramPer) -> TrialResult:
    """100,000 frames of 64 bytes at 90 % from port 1 to 2 and back, by a switch with such a jitter."""
    topology = parsed(switch(jitter, ports=2, port="queue_frames: 1000", seed=5))
    stream = pairs(90, 64, 50_000, (1, 2))
    duration_ns = int(stream.frame_count * 10**9 / stream.rate_fps)
    spec = TrialSpec("one", (stream,), duration_ns, histograms=per, watch_queues=True)
    with open_measurer(topology) as measurer:
        return measurer.measure(spec)


def percents(latency: LatencyStats | None) -> list[float]:
    assert latency is not None
    return [percent for percent, _ in latency.percentile_errors_ns]


def test_percentiles_of_a_trial_know_of_frames_that_wait_behind_a_spike() -> None:
    """A spike of 200 us holds up 3,000 frames, and 50,000 have a few: they say nothing of p99.9."""
    every = [50.0, 99.0, 99.9]
    for per in (HistogramPer.STREAM, HistogramPer.FLOW):
        quiet = measured("jitter: {uniform: {max_ns: 1000}}", per)
        assert [percents(each.latency)[:3] for each in quiet.histograms] == [every] * len(quiet.histograms)
        held_up = measured("jitter: {spike: {delay_ns: 200000, chance_ppb: 100000}}", per)
        assert all(99.9 not in percents(each.latency) for each in held_up.histograms)
        assert 99.9 not in percents(held_up.latency)
