"""Finds the errors of frames that depend on each other: latencies of those that share a queue are much the same.

Averages in parts of the trial differ by more than chance then. By how much more they vary is by how much fewer the
frames are that tell something new.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from p4mesh.measurement.columns import Array
from p4mesh.measurement.counts import FlowCounts, HistogramStats, LatencyStats
from p4mesh.measurement.latency_course import total
from p4mesh.measurement.latency_stats import ipdv_errors_ns, percentile_errors_ns
from p4mesh.measurement.queue_trend import Readings
from p4mesh.tester.histogram import Histogram, bin_bounds_ticks, finer_bits_of
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.tester.records import ALL_ONES, chosen_records

_NORMAL_95 = 1.96
_T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}
"""Student's t for the average of so many parts."""
_F_95 = {2: 3.841, 3: 2.996, 4: 2.605, 5: 2.372, 6: 2.214, 7: 2.099, 8: 2.010}
"""Quotient of the variance between so many parts and the true one, which chance exceeds in 5 % of all samples."""
_STAMPS_TICKS = 1.0
"""Averages of latencies differ by this much where nothing but their phase to the clock does."""


@dataclass(frozen=True)
class Parts:
    """Spread of averages in parts of a trial, which tells how far a longer trial may be."""

    variance: float
    """Variance of single frames in square ticks, if they were independent of each other."""
    count: int

    @classmethod
    def of(cls, records: Sequence[Array]) -> Parts | None:
        """Parts between records of the same cells; None where less than two have frames.

        A part with less than half of the frames of another one is left out.
        """
        frames, sums = (np.diff([total(one, name) for one in records]) for name in ("frames", "latency_sum"))
        whole = (frames > 0) & (2 * frames >= frames.max(initial=0))
        frames, sums = frames[whole], sums[whole]
        if len(frames) not in _T_95:
            return None
        apart = np.maximum(0, np.abs(sums / frames - sums.sum() / frames.sum()) - _STAMPS_TICKS)
        return cls(float((frames * apart**2).sum() / (len(frames) - 1)), len(frames))

    def error_ticks(self, frames: int) -> float:
        """Error of the average of so many frames, with 95 % confidence."""
        return _T_95[self.count] * sqrt(self.variance / frames)

    def independent_share(self, bins: Array) -> float:
        """Part of the frames in these bins, above 0 to 1, that is independent of each other; 1 where chance may have
        made the difference.
        """
        by_chance = _variance(bins)
        if self.variance <= _F_95[self.count] * by_chance:
            return 1.0
        return by_chance / self.variance * (_NORMAL_95 / _T_95[self.count]) ** 2


class DependentFrames:
    """Adds the errors of averages and percentiles that readings of a trial show to the statistics of its latencies."""

    def __init__(self, plan: Plan, reading: Reading, readings: Sequence[Readings], tick_ps: int) -> None:
        self._plan, self._reading, self._readings, self._tick_ps = plan, reading, readings, tick_ps
        self._histograms = {(each.stream, each.tx_port, each.rx_port): each for each in plan.histograms}
        self._flows = _cells_by_flow(plan, {cell for each in readings for cell in each.cells})

    def of_flow(self, found: FlowCounts) -> FlowCounts:
        cells = self._flows.get((found.stream, found.tx_port, found.rx_port, found.part))
        if cells is None or found.latency is None:
            return found
        return replace(found, latency=self._averaged(found.latency, cells))

    def of_histogram(self, found: HistogramStats) -> HistogramStats:
        histogram = self._histograms[found.stream, found.tx_port, found.rx_port]
        return replace(found, latency=self._counted(found.latency, (histogram,)))

    def of_all(self, latency: LatencyStats | None) -> LatencyStats | None:
        if latency is None or not latency.percentile_errors_ns:
            return latency
        return self._counted(latency, tuple(self._histograms.values()))

    def _averaged(self, latency: LatencyStats, cells: Sequence[int]) -> LatencyStats:
        error_ticks = max((part.error_ticks(latency.count) for part in self._parts(cells)), default=0.0)
        error_ns = error_ticks * self._tick_ps / 1000
        return replace(latency, windows_error_ns=error_ns) if error_ns > latency.sampling_error_ns else latency

    def _counted(self, latency: LatencyStats, histograms: Sequence[Histogram]) -> LatencyStats:
        cells = [cell for histogram in histograms for cell in histogram.cells]
        counted = [self._reading.bins[histogram.number] for histogram in histograms]
        latencies, ipdv = (
            np.sum(np.array(some, dtype=np.int64), axis=0)
            for some in ([part.latency for part in counted], [part.ipdv for part in counted])
        )
        latency = self._averaged(latency, cells)
        frames = int(latencies.sum())
        share = min((part.independent_share(latencies) for part in self._parts(cells)), default=1.0) if frames else 1.0
        if share == 1:
            return latency
        records = chosen_records(self._reading.records, np.array(cells))
        records = records[records["frames"] > 0]
        least, most = ALL_ONES - int(records["latency_min_inverted"].max()), int(records["latency_max"].max())
        # Frames that wait together catch up together: so are their differences.
        ipdv_frames = max(1, round(share * int(ipdv.sum())))
        return replace(
            latency,
            percentile_errors_ns=percentile_errors_ns(
                [latencies.tolist()], least, most, self._tick_ps, max(1, round(share * frames))
            ),
            ipdv_percentile_errors_ns=ipdv_errors_ns([ipdv.tolist()], self._tick_ps, ipdv_frames),
        )

    def _parts(self, cells: Sequence[int]) -> list[Parts]:
        """Parts of the trial, or of each piece of it: what other pieces of the trial have is no matter of chance."""
        found = []
        for readings in self._readings:
            chosen = np.isin(np.array(readings.cells), cells)
            records = [one[chosen] for one in readings.records]
            if len(self._readings) == 1:
                rest = chosen_records(self._reading.records, np.array(readings.cells)[chosen])
                records = [np.zeros_like(records[0]), *records, rest]
            found.append(Parts.of(records))
        return [each for each in found if each is not None]


def _cells_by_flow(plan: Plan, read: Collection[int]) -> dict[tuple[str, int, int, str], list[int]]:
    """Cells of flows that were read, by stream, ports and part."""
    columns = plan.columns
    rows = np.flatnonzero(columns.expected & np.isin(columns.cell, list(read)))
    keys = zip(
        map(plan.names.__getitem__, columns.stream[rows].tolist()),
        columns.tx_port[rows].tolist(),
        columns.rx_port[rows].tolist(),
        map(columns.part.__getitem__, rows.tolist()),
        strict=True,
    )
    found: dict[tuple[str, int, int, str], list[int]] = {}
    for key, cell in zip(keys, columns.cell[rows].tolist(), strict=True):
        found.setdefault(key, []).append(cell)
    return found


def _variance(bins: Array) -> float:
    """Variance of the latencies of single frames, in square ticks."""
    finer_bits = finer_bits_of(len(bins))
    full = np.flatnonzero(bins)
    low, high = np.array([bin_bounds_ticks(int(index), finer_bits) for index in full], dtype=float).T
    weights = bins[full] / bins.sum()
    middles = (low + high) / 2
    mean = float((weights * middles).sum())
    return float((weights * ((middles - mean) ** 2 + ((high - low + 1) ** 2 - 1) / 12)).sum())
