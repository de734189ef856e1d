"""How latency went while a trial ran: the error of its average, and growth that is not that of a queue.

Latencies that follow each other are not independent: frames share queues, and a device at line rate never catches up
with its slowest frame. Averages of windows that are longer than such memory tell how far the average of all may be off
(batch means), and whether latency depends on the length of the trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np

from p4mesh.measurement.columns import Array
from p4mesh.measurement.queue_trend import Readings
from p4mesh.measurement.queue_watch import pairs_of
from p4mesh.tester.flows import Flow
from p4mesh.tester.plan import Plan
from p4mesh.traffic.line_rate import NS_PER_S, frame_time_ns
from p4mesh.traffic.stream import Stream

_T_95 = {5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}
"""Student's t of 95 % for the average of so many windows."""
_SIGMAS = 5
_LEAST_GROWTH = 0.02
"""Share of the average; less is no matter for a report."""
_LEAST_TICKS = 4
_SUMS = ("frames", "latency_sum")
_MOST_PHASES = 256
"""Phases of two streams that are looked at."""


@dataclass(frozen=True)
class LatencyCourse:
    """Error of the average with 95 % confidence, and growth from the first window to the last one."""

    error_ns: float = 0.0
    growth_ns: float = 0.0
    """Growth at the receive port where it is largest; 0 where latency also falls, or grows by no more than noise."""


def latency_course(plan: Plan, readings: Readings | None, tick_ps: int) -> LatencyCourse:
    """Compare the windows between readings; nothing is known of trials with too few of them."""
    if readings is None:
        return LatencyCourse()
    ports = dict(zip(plan.columns.cell.tolist(), plan.columns.rx_port.tolist(), strict=True))
    rx_ports = np.array([ports.get(cell, -1) for cell in readings.cells])
    whole = _means(readings.records, rx_ports >= 0)
    if whole is None:
        return LatencyCourse()
    means, _ = whole
    # The watched windows are most of the trial.
    error = _T_95[len(means)] * float(means.std(ddof=1)) / sqrt(len(means))
    of_ports = [rx_ports == port for port in np.unique(rx_ports[rx_ports >= 0])]
    grown = [_growth(_means(readings.records, chosen)) for chosen in of_ports]
    begun = [_of_the_begin(readings.records, chosen) for chosen in of_ports]
    return LatencyCourse(max(error, *begun) * tick_ps / 1000, max(grown) * tick_ps / 1000)


def course_of_class(
    flows: Sequence[Flow], pieces: Sequence[tuple[Readings, bool]], last: Array, tick_ps: int
) -> LatencyCourse:
    """The course of some flows in pieces of a trial, each with whether a growth there is not that of a queue.

    The average of all frames may be off from that of the windows, too: others have come and gone between the pieces.
    """
    error, grown = 0.0, 0.0
    ports = {flow.cell: flow.rx_port for flow in flows}
    read: dict[int, list[np.ndarray[Any, Any]]] = {}
    rows: dict[int, set[int]] = {}
    for readings, is_growth in pieces:
        rx_ports = np.array([ports.get(cell, -1) for cell in readings.cells])
        if (whole := _means(readings.records, rx_ports >= 0)) is None:
            continue
        means, _ = whole
        error = max(error, _T_95[len(means)] * float(means.std(ddof=1)) / sqrt(len(means)))
        for port in np.unique(rx_ports[rx_ports >= 0]).tolist():
            chosen = rx_ports == port
            if is_growth:
                grown = max(grown, _growth(_means(readings.records, chosen)))
            first, end = (
                np.array([total(readings.records[place][chosen], name) for name in _SUMS]) for place in (0, -1)
            )
            read.setdefault(port, []).append(end - first)
            rows.setdefault(port, set()).update(np.array(readings.cells)[chosen].tolist())
    for port, inside in read.items():
        frames, latency = np.sum(inside, axis=0).tolist()
        all_frames, all_latency = (total(last[sorted(rows[port])], name) for name in _SUMS)
        if frames:
            error = max(error, abs(all_latency / all_frames - latency / frames))
    return LatencyCourse(error * tick_ps / 1000, grown * tick_ps / 1000)


def unmet_ns(plan: Plan, streams: Sequence[Stream], rate_bps_of: Mapping[int, int]) -> dict[int, float]:
    """Error of the average latency of each stream by frames of others, if these have other rates; 0 is left out.

    Frames that leave evenly at two rates meet at phases that change with each of them. A frame waits for another one
    for no longer than that takes to leave, and for less the later it comes. So the average is off by no more than this
    time, times the discrepancy of the phases that the trial has seen (Koksma).
    """
    even = {number for number, stream in enumerate(streams) if stream.arrivals is None}
    if len({streams[number].rate_fps for number in even}) < 2:
        return {}
    senders: dict[int, dict[int, set[int]]] = {}
    receivers: dict[tuple[int, int], set[int]] = {}
    for (tx, rx), flows in pairs_of(plan).items():
        for number in {flow.stream for flow in flows} & even:
            senders.setdefault(rx, {}).setdefault(number, set()).add(tx)
            receivers.setdefault((number, tx), set()).add(rx)

    def at_once(number: int, own_tx: int, ports: set[int]) -> float:
        """Frames of a stream that may come from other ports at a time."""
        to_many = streams[number].pattern.to_many
        return sum(1 if to_many else 1 / len(receivers[number, tx]) for tx in ports if tx != own_tx)

    found: dict[int, float] = {}
    for rx, here in senders.items():
        for own, own_ports in here.items():
            error = 0.0
            for other, ports in here.items():
                stream, longest = streams[other], max(at_once(other, tx, ports) for tx in own_ports)
                if longest and stream.rate_fps != streams[own].rate_fps:
                    taken_ns = stream.burst_frames * frame_time_ns(stream.frame_size_bytes, rate_bps_of[rx])
                    error += longest * _unseen(streams[own], stream) * float(taken_ns)
            if error:
                found[own] = max(error, found.get(own, 0.0))
    return found


def _unseen(own: Stream, other: Stream) -> float:
    """Discrepancy of the phases at which the frames of a stream come, 0 to 1, for the part of its time with others."""
    (begin, end), (first, last) = map(_span_ns, (own, other))
    together = float((min(end, last) - max(begin, first)) / (end - begin))
    frames = int(together * own.frame_count / own.burst_frames)
    apart = other.rate_fps / other.burst_frames * own.burst_frames / own.rate_fps
    return together * discrepancy(apart, frames) if together > 0 else 0.0


def _span_ns(stream: Stream) -> tuple[Fraction, Fraction]:
    begins = stream.start_offset_ns or (0,)
    return Fraction(min(begins)), max(begins) + stream.frame_count * NS_PER_S / stream.rate_fps


@lru_cache(maxsize=4096)
def discrepancy(step: Fraction, count: int) -> float:
    """Largest difference of the part of so many phases that lies in an arc, 0 to 1, from that of all that ever come.

    Each phase is a ``step``, without its whole part, behind the one before.
    """
    period = step.denominator
    if not count or period <= count:
        return count % period / count if count else 1.0
    chosen = min(count, _MOST_PHASES)
    # No arc is met less evenly by all phases than by each so-many-th of them.
    numbers = range(0, count // chosen * chosen, count // chosen)
    phases = np.sort([number * step.numerator % period / period for number in numbers])
    places = np.arange(chosen + 1) / chosen
    return float((places[1:] - phases).max() - (places[:-1] - phases).min())


def _means(records: Sequence[np.ndarray[Any, Any]], chosen: Array) -> tuple[Array, Array] | None:
    """Mean latency of some cells in each window, in ticks, and its variance by jitter; None with too few windows."""
    frames, latency, jitter = (
        np.diff([total(one[chosen], name) for one in records]) for name in ("frames", "latency_sum", "jitter_sum")
    )
    if len(frames) not in _T_95 or (frames <= 0).any():
        return None
    # Of independent latencies, the mean difference of two neighbours is about their standard deviation.
    return latency / frames, (jitter.sum() / frames.sum()) ** 2 / frames


def _of_the_begin(records: Sequence[np.ndarray[Any, Any]], chosen: Array) -> float:
    """Ticks by which frames before the first reading move the average of cells that are read until the end."""
    begun, before, frames = (one["frames"].astype(np.int64) for one in (records[0], records[-2], records[-1]))
    lasting = chosen & (begun > 0) & (frames > before)
    if not lasting.any():
        return 0.0
    first, last = (
        [total(one[lasting], name) for name in ("frames", "latency_sum")] for one in (records[0], records[-1])
    )
    return abs(last[1] / last[0] - (last[1] - first[1]) / (last[0] - first[0]))


def _growth(found: tuple[Array, Array] | None) -> float:
    if found is None:
        return 0.0
    means, variances = found
    growth = float(means[-1] - means[0])
    noise = _SIGMAS * sqrt(float(variances[0] + variances[-1]))
    never_falls = bool((np.diff(means) >= -noise / _SIGMAS).all())
    least = max(noise, _LEAST_GROWTH * float(means.mean()), _LEAST_TICKS)
    return growth if never_falls and growth > least else 0.0


def total(records: np.ndarray[Any, Any], name: str) -> float:
    """Sum of a field, or of the high and low half of one, over some cells."""
    if name == "frames":
        return float(records[name].astype(np.int64).sum())
    high, low = (records[f"{name}_{half}"].astype(np.int64).sum() for half in ("high", "low"))
    return float((int(high) << 32) + int(low))
