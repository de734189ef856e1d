"""From the least, the mean and the longest latency of each flow, read at rest, to how fast its queue can have filled.

A queue that fills makes latency grow evenly: the mean lies half of the growth above the least latency, and half of it
below the longest. So the smaller of both distances bounds the growth, whatever jitter, steps and bursts add to the
other one. No reading while traffic runs is needed. The last latency of a flow says nothing: it may belong to a frame
that met a queue which had become empty, because frames with a shorter way have stopped before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from p4mesh.measurement.columns import Array, Groups
from p4mesh.tester.flows import Flow
from p4mesh.tester.records import ALL_ONES

_LEAST_FRAMES = 8
"""Frames of a flow whose mean latency says how its queue grew."""


def growth_bounds(
    pairs: Mapping[tuple[int, int], Sequence[Flow]], last: Array, part_ticks: float | None = None
) -> dict[tuple[int, int], float]:
    """Bound the growth of latency by time for each pair of ports that has got two frames.

    ``pairs`` has the flows by (transmit port, receive port), ``last`` are the records of all cells at rest. A growth is
    the share of the arrivals that a queue keeps, at most 1. It is that in any ``part_ticks`` of the time of the flows,
    or while all of them send.
    """
    groups = Groups([[flow.cell for flow in flows] for flows in pairs.values()])
    records = last[groups.rows]
    frames = records["frames"].astype(np.int64)
    least = ALL_ONES - records["latency_min_inverted"].astype(np.int64)
    longest, first, end = (records[name].astype(np.int64) for name in ("latency_max", "first_arrival", "last_arrival"))
    rx_ports = np.fromiter((flow.rx_port for flows in pairs.values() for flow in flows), dtype=np.int64)
    alone = _alone_ticks(rx_ports, frames, first, end)
    sums = (records["latency_sum_high"].astype(np.int64) << 32) + records["latency_sum_low"].astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums / frames
        grown = 2 * np.minimum(means - least, longest - means)
        # First frames that are late raise the mean; each hides this much of the growth.
        grown += 2 * (longest - least) / frames
        spans = (end - first).astype(np.float64)
        if part_ticks is not None:
            alone = (spans - part_ticks).clip(0)
        filled = (1 - alone / spans).clip(0)
        bounds = grown / (spans * filled**2)
    bounds[(frames < _LEAST_FRAMES) | np.isnan(bounds)] = np.inf
    return _joined(pairs, groups, (frames, least, longest, first, end, alone), bounds)


def _alone_ticks(rx_ports: Array, frames: Array, first: Array, end: Array) -> Array:
    """Time of each flow before all others to its port have begun, and after one of them has ended.

    A queue fills when all of them send. Flows of few frames have no say: the first one of them is late anyway.
    """
    alone = np.zeros(len(rx_ports))
    for port in np.unique(rx_ports).tolist():
        members = rx_ports == port
        counted = members & (frames >= _LEAST_FRAMES)
        if counted.any():
            begun, ended = first[counted].max(), end[counted].min()
            alone[members] = (begun - first[members]).clip(0) + (end[members] - ended).clip(0)
    return alone


def _joined(
    pairs: Mapping[tuple[int, int], Sequence[Flow]], groups: Groups, columns: Sequence[Array], bounds: Array
) -> dict[tuple[int, int], float]:
    """Bound each pair: by that of its flows, or by what all of its latencies together give."""
    frames, least, longest, first, end, alone = columns
    # Cells without frames show 0, which is no arrival and no latency.
    empty = frames == 0
    far = np.iinfo(np.int64).max
    counts, least, longest, first, end = (
        groups.totals(frames),
        groups.smallest(np.where(empty, far, least)),
        groups.largest(np.where(empty, 0, longest)),
        groups.smallest(np.where(empty, far, first)),
        groups.largest(np.where(empty, 0, end)),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        together = (longest - least) / (end - first - groups.largest(alone)).clip(0)
    together[np.isnan(together)] = np.inf
    found = np.minimum(np.minimum(together, groups.largest(bounds)), 1.0)
    return {pair: bound for pair, bound, count in zip(pairs, found.tolist(), counts.tolist(), strict=True) if count > 1}
