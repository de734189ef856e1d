"""Finds how many frames of a histogram tell something new: latencies of frames that share a queue are much the same.

Averages of windows differ by more than chance then. By how much more they vary is by how much fewer the frames are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from p4mesh.measurement.columns import Array
from p4mesh.measurement.counts import HistogramStats, LatencyStats
from p4mesh.measurement.latency_course import T_95, window_means
from p4mesh.measurement.latency_stats import percentile_errors_ns
from p4mesh.measurement.queue_trend import Readings
from p4mesh.tester.histogram import Histogram, bin_bounds_ticks, finer_bits_of
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.tester.records import ALL_ONES, chosen_records

_F_95 = {5: 2.372, 6: 2.214, 7: 2.099, 8: 2.010}
"""Quotient of the variance of so many averages and the true one, which chance exceeds in 5 % of all samples."""
_NORMAL_95 = 1.96
_STAMPS_TICKS = 1.0
"""Averages of latencies differ by this much where nothing but their phase to the clock does."""


class DependentFrames:
    """Errors of percentiles that know of frames which depend on each other, as far as readings of their trial tell."""

    def __init__(self, plan: Plan, reading: Reading, readings: Sequence[Readings], tick_ps: int) -> None:
        self._reading, self._readings, self._tick_ps = reading, readings, tick_ps
        self._histograms = {(each.stream, each.tx_port, each.rx_port): each for each in plan.histograms}
        self._tells = bool(reading.bins and readings)

    def of_histogram(self, found: HistogramStats) -> HistogramStats:
        """Statistics of a histogram with these errors."""
        if not self._tells:
            return found
        histogram = self._histograms[found.stream, found.tx_port, found.rx_port]
        return replace(found, latency=self._known(found.latency, (histogram,)))

    def of_all(self, latency: LatencyStats | None) -> LatencyStats | None:
        """Statistics of all frames with these errors."""
        if not self._tells or latency is None or not latency.percentile_errors_ns:
            return latency
        return self._known(latency, tuple(self._histograms.values()))

    def _known(self, latency: LatencyStats, histograms: Sequence[Histogram]) -> LatencyStats:
        cells = np.array([cell for histogram in histograms for cell in histogram.cells])
        bins = np.array([self._reading.bins[histogram.number].latency for histogram in histograms], dtype=np.int64)
        total = bins.sum(axis=0)
        share = min(independent_share(total, cells, each) for each in self._readings)
        if share == 1:
            return latency
        records = chosen_records(self._reading.records, cells)
        records = records[records["frames"] > 0]
        least, most = ALL_ONES - int(records["latency_min_inverted"].max()), int(records["latency_max"].max())
        independent = max(1, round(share * int(total.sum())))
        errors_ns = percentile_errors_ns([total.tolist()], least, most, self._tick_ps, independent)
        return replace(latency, percentile_errors_ns=errors_ns)


def independent_share(bins: Array, cells: Array, readings: Readings) -> float:
    """Part of the frames of a histogram, above 0 to 1, that is independent of each other.

    The variance of an average of m independent frames is that of one frame over m. Averages of the windows between
    readings have more, which is allowed for with 95 % confidence. 1 where chance may have made the difference, or too
    few windows have frames.
    """
    chosen = np.isin(np.array(readings.cells), cells)
    windows = window_means(readings.records, chosen)
    if windows is None or not bins.any():
        return 1.0
    means, frames = windows
    beyond = max(0.0, float(means.std(ddof=1)) - _STAMPS_TICKS) ** 2
    by_chance = _variance(bins) * float((1 / frames).mean())
    if beyond <= _F_95[len(means)] * by_chance:
        return 1.0
    return by_chance / beyond * (_NORMAL_95 / T_95[len(means)]) ** 2


def _variance(bins: Array) -> float:
    """Variance of the latencies of single frames, in square ticks."""
    finer_bits = finer_bits_of(len(bins))
    full = np.flatnonzero(bins)
    low, high = np.array([bin_bounds_ticks(int(index), finer_bits) for index in full], dtype=float).T
    weights = bins[full] / bins.sum()
    middles = (low + high) / 2
    mean = float((weights * middles).sum())
    return float((weights * ((middles - mean) ** 2 + ((high - low + 1) ** 2 - 1) / 12)).sum())
