"""Frames that share a queue tell less than as many frames that do not, and percentiles of them have larger errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from support.device_bench import pairs
from support.networks import parsed, switch

from p4mesh.measurement.counts import LatencyStats
from p4mesh.measurement.dependent_frames import Parts
from p4mesh.tester.histogram import HISTOGRAM_BINS, HistogramPer, bin_of, percentile_error_ticks, percentile_ticks
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

RECORD = [(name, np.uint64) for name in ("frames", "latency_sum_high", "latency_sum_low")]
FRAMES = 64_000
SEEDS = range(40)
INTERVAL, SERVICE, SPIKE = 1000, 900, 10_000
"""Ticks: a spike is over after 100 frames."""


def counted(latencies: NDArray[np.int64]) -> NDArray[np.int64]:
    """Frames per bin."""
    bins = np.zeros(HISTOGRAM_BINS, dtype=np.int64)
    for ticks, frames in zip(*np.unique(latencies, return_counts=True), strict=True):
        bins[bin_of(int(ticks))] += frames
    return bins


def records(frames: Sequence[int], means: Sequence[float], cells: int = 1) -> list[NDArray[Any]]:
    """Records at the begin and after each part, of so many frames with such a mean in each of some cells."""
    found: list[NDArray[Any]] = []
    for until in range(len(frames) + 1):
        record = np.zeros(cells, dtype=RECORD)
        record["frames"] = sum(frames[:until])
        total = sum(count * mean for count, mean in zip(frames[:until], means, strict=False))
        record["latency_sum_high"], record["latency_sum_low"] = divmod(int(total), 1 << 32)
        found.append(record)
    return found


BINS = counted(np.array([20, 40] * 1000))
"""A variance of 100: the average of 100 independent frames has one of 1."""
MEANS = (20, 24, 28, 32, 36, 40)
"""A variance of 56; of each distance from 30 one tick may be the clock's: 2 * (9 ** 2 + 5 ** 2 + 1) / 5 are left."""
LEFT = 2 * (81 + 25 + 1) / 5


@pytest.mark.parametrize(
    ("frames", "means", "variance"),
    [
        pytest.param([100] * 6, MEANS, 100 * LEFT, id="as much more as a part has frames"),
        pytest.param([400] * 6, MEANS, 400 * LEFT, id="four times as many"),
        pytest.param([50, *[100] * 6, 49], (90, *MEANS, 90), None, id="a half counts, less does not"),
        pytest.param([100, 0, 0, 100], (20, 0, 0, 40), 100 * 2 * 81, id="parts without frames say nothing"),
        pytest.param([200, 100], (20, 50), 200 * 9**2 + 100 * 19**2, id="a mean of 30, of all frames"),
        pytest.param([100] * 4, (30, 31, 30, 31), 0, id="the phase to the clock"),
        pytest.param([100] * 3, (1 << 33, 1 << 33, (1 << 33) + 30), 100 * (2 * 81 + 361) / 2, id="sums of 64 bits"),
    ],
)
def test_the_variance_is_that_of_averages_of_parts_times_their_frames(
    frames: list[int], means: Sequence[float], variance: float | None
) -> None:
    if variance is None:
        mean = (50 * 90 + 100 * sum(MEANS)) / 650
        apart = [(50, 90 - mean - 1), *((100, abs(one - mean) - 1) for one in MEANS)]
        variance = sum(count * distance**2 for count, distance in apart) / 6
    found = Parts.of(records(frames, means, cells=1))
    assert found is not None and found.variance == pytest.approx(variance)
    # As many frames in two cells are twice as many.
    twice = Parts.of(records(frames, means, cells=2))
    assert twice is not None and (twice.variance, twice.count) == (pytest.approx(2 * variance), found.count)


def test_one_part_says_nothing() -> None:
    assert Parts.of(records([100], [30])) is Parts.of(records([100, 49], [30, 40])) is None
    assert Parts.of(records([0, 0], [0, 0])) is None


@pytest.mark.parametrize(
    ("count", "t", "f"),
    [(2, 12.706, 3.841), (3, 4.303, 2.996), (4, 3.182, 2.605), (5, 2.776, 2.372), (8, 2.365, 2.010)],
)
def test_the_share_and_the_error_allow_for_few_parts(count: int, t: float, f: float) -> None:
    """Against scipy: Student's t, and chi squared over its degrees of freedom."""
    assert (t, f) == pytest.approx(
        (stats.t.ppf(0.975, count - 1), stats.chi2.ppf(0.95, count - 1) / (count - 1)), rel=1e-3
    )
    assert Parts(100 * f * 0.999, count).independent_share(BINS) == 1
    assert Parts(100 * f * 1.001, count).independent_share(BINS) == pytest.approx((1.96 / t) ** 2 / f, rel=2e-3)
    assert Parts(900.0, count).error_ticks(400) == pytest.approx(t * 30 / 20)


def test_the_width_of_bins_counts_as_variance() -> None:
    """Bins of 4,096 and more have 64 ticks: of latencies that are all in one, (64 ** 2 - 1) / 12 are unknown."""
    wide = Parts(100_000.0, 6).independent_share(counted(np.full(100, 4100)))
    assert wide == pytest.approx((1.96 / 2.571) ** 2 * (64**2 - 1) / 12 / 100_000)
    assert Parts(0.0, 6).independent_share(counted(np.full(100, 30))) == 1


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


def coverage(percent: int, *, alone: bool) -> tuple[Coverage, Coverage]:
    """Of trials of 64,000 frames, against the percentile of 1,000,000: taken for independent, and by their parts."""
    truth = percentile_ticks(counted(queue(1, 1_000_000, alone=alone)).tolist(), Fraction(percent))
    assert truth is not None
    plain, aware = Coverage(Fraction(percent)), Coverage(Fraction(percent))
    step = FRAMES // 8
    for seed in SEEDS:
        latencies = queue(100 + seed, FRAMES, alone=alone)
        parts = Parts.of(records([step] * 8, latencies.reshape(8, step).mean(axis=1).tolist()))
        assert parts is not None
        bins = counted(latencies)
        plain.add(bins, truth, FRAMES)
        aware.add(bins, truth, max(1, round(parts.independent_share(bins) * FRAMES)))
    return plain, aware


@pytest.mark.parametrize(("percent", "inside"), [(95, 0.8), (99, 0.2)])
def test_the_error_of_a_percentile_behind_a_queue_covers_the_truth_or_is_unknown(percent: int, inside: float) -> None:
    """32 spikes in a trial, 100 frames behind each: taken for independent frames, most trials are outside."""
    plain, aware = coverage(percent, alone=False)
    assert plain.outside > 0.6 * len(SEEDS)
    assert aware.outside <= 0.1 * len(SEEDS) and aware.inside > inside * len(SEEDS)


@pytest.mark.parametrize("percent", [50, 99])
def test_independent_frames_keep_their_errors(percent: int) -> None:
    plain, aware = coverage(percent, alone=True)
    assert aware.inside >= plain.inside >= 0.93 * len(SEEDS) and not aware.unknown


def measured(jitter: str, per: HistogramPer) -> TrialResult:
    """100,000 frames of 64 bytes at 90 % from port 1 to 2 and back, by a switch with such a jitter."""
    topology = parsed(switch(jitter, ports=2, port="queue_frames: 1000", seed=5))
    stream = pairs(90, 64, 50_000, (1, 2))
    duration_ns = int(stream.frame_count * 10**9 / stream.rate_fps)
    spec = TrialSpec("one", (stream,), duration_ns, per_flow=True, histograms=per, watch_queues=True)
    with open_measurer(topology) as measurer:
        return measurer.measure(spec)


def latencies_of(result: TrialResult) -> list[LatencyStats]:
    """Those of all frames, of histograms and of flows."""
    found = [result.latency, *(each.latency for each in result.histograms), *(flow.latency for flow in result.flows)]
    return [latency for latency in found if latency is not None]


def test_statistics_of_a_trial_know_of_frames_that_wait_behind_a_spike() -> None:
    """A spike of 200 us holds up 3,000 frames, and 50,000 have a few: they say nothing of p99.9."""
    for per in (HistogramPer.STREAM, HistogramPer.FLOW):
        quiet = latencies_of(measured("jitter: {uniform: {max_ns: 1000}}", per))
        held_up = latencies_of(measured("jitter: {spike: {delay_ns: 200000, chance_ppb: 100000}}", per))
        assert not any(each.windows_error_ns for each in quiet)
        assert all(each.windows_error_ns > 2 * each.sampling_error_ns for each in held_up)
        for latencies, known in ((quiet, True), (held_up, False)):
            counted = [each for each in latencies if each.percentiles_ns]
            assert counted and all((99.9 in dict(each.percentile_errors_ns)) is known for each in counted)
            # All that a spike holds up catch up by the same step.
            assert all((1.0 in dict(each.ipdv_percentile_errors_ns)) is known for each in counted)
