"""From readings of the pieces of a run to the queues that the frames of each class went through.

A class that begins or ends moves the latencies of others. So a run is cut where one does, each piece is watched by
itself, and a class is judged by its own frames in the pieces in which it sends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from p4mesh.measurement.columns import Array
from p4mesh.measurement.counts import ClassQueues, QueueTrend, Trend
from p4mesh.measurement.latency_course import course_of_class
from p4mesh.measurement.queue_trend import Readings, queue_trend
from p4mesh.measurement.queue_watch import Pair, pairs_of
from p4mesh.tester.flows import Flow
from p4mesh.tester.plan import Plan
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.stream import Stream

_TOGETHER = 100
"""Streams that begin or end apart by at most this part of the run do so together."""
_MOST_PIECES = 8
"""Pieces that are watched, the longest ones."""
_OF_ITS_TIME = 8
"""A class may meet others for this part of its time without a judgement: they are as short in a longer run."""
_UNKNOWN = QueueTrend(Trend.UNCLEAR)


@dataclass(frozen=True)
class Piece:
    """Time of a run in which no stream begins or ends, or in which some do so together."""

    begin_ns: int
    end_ns: int
    sending: frozenset[tuple[int, int]]
    """Streams, by number, and places of their transmit ports that send in it."""
    watched: bool

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns


def pieces_of(streams: Sequence[Stream], duration_ns: int) -> tuple[Piece, ...]:
    """The pieces of a run of streams; one of all its time where they begin and end together."""
    spans = {
        (number, place): (begin_ns, begin_ns + int(stream.frame_count * NS_PER_S / stream.rate_fps))
        for number, stream in enumerate(streams)
        for place, begin_ns in enumerate(stream.start_offset_ns or (0,) * len(stream.tx_ports))
    }
    last_ns = max(end_ns for _, end_ns in spans.values())
    limits: list[tuple[int, int]] = []
    for time_ns in sorted({time_ns for span in spans.values() for time_ns in span}):
        if limits and _TOGETHER * (time_ns - limits[-1][1]) <= last_ns:
            limits[-1] = limits[-1][0], time_ns
        else:
            limits.append((time_ns, time_ns))
    if len(limits) <= 2:
        return (Piece(0, duration_ns, frozenset(spans), True),)

    def piece(begin_ns: int, end_ns: int, watched: bool) -> Piece:
        sending = frozenset(key for key, (first, last) in spans.items() if first < end_ns and last > begin_ns)
        return Piece(begin_ns, end_ns, sending, watched)

    between = [(left[1], right[0]) for left, right in pairwise(limits)]
    longest = sorted(between, key=lambda each: each[0] - each[1])[:_MOST_PIECES]
    found = [*(piece(*each, each in longest) for each in between), *(piece(*each, False) for each in limits)]
    return tuple(each for each in found if each.sending and each.length_ns)


def class_queues(
    plan: Plan,
    streams: Sequence[Stream],
    pieces: Sequence[Piece],
    readings: Mapping[Piece, Readings],
    last: Array,
    *,
    duration_ns: int,
    tick_ps: int,
    limit: float,
    unmet: Mapping[int, float],
) -> Iterator[ClassQueues]:
    """Yield the queues of each class of the streams; ``last`` are the records of all cells at rest.

    ``unmet`` are errors of streams in ns, by number, as :func:`p4mesh.measurement.latency_course.unmet_ns` has them.
    """
    everyone = pairs_of(plan)

    def trend_in(piece: Piece, pairs: Mapping[Pair, Sequence[Flow]]) -> QueueTrend | None:
        return queue_trend(
            plan,
            readings.get(piece),
            last,
            duration_ticks=duration_ns * 1000 / tick_ps,
            tick_ps=tick_ps,
            limit=limit,
            pairs=pairs,
            part_ticks=None if len(pieces) == 1 else piece.length_ns * 1000 / tick_ps,
        )

    of_all = {piece: trend_in(piece, _of(everyone, {number for number, _ in piece.sending})) for piece in pieces}
    for name in dict.fromkeys(stream.traffic_class for stream in streams):
        members = {number for number, stream in enumerate(streams) if stream.traffic_class == name}
        pairs = _of(everyone, members)
        own = [piece for piece in pieces if any(number in members for number, _ in piece.sending)]
        trends = {piece: _worse(trend_in(piece, pairs), of_all[piece], pairs) for piece in own}
        course = course_of_class(
            [flow for flows in pairs.values() for flow in flows],
            [(readings[piece], trends[piece].trend is not Trend.FILLING) for piece in own if piece in readings],
            last,
            tick_ps,
        )
        unread_ns = sum(piece.length_ns for piece in _unknown(trends) if piece not in readings)
        share = unread_ns / sum(piece.length_ns for piece in own) if len(own) > 1 else 0.0
        unmet_ns = max(unmet.get(number, 0.0) for number in members)
        yield ClassQueues(name, _of_pieces(trends), course.error_ns, course.growth_ns, share, unmet_ns)


def _of(pairs: Mapping[Pair, Sequence[Flow]], streams: set[int]) -> dict[Pair, list[Flow]]:
    found = {pair: [flow for flow in flows if flow.stream in streams] for pair, flows in pairs.items()}
    return {pair: flows for pair, flows in found.items() if flows}


def _worse(own: QueueTrend | None, of_all: QueueTrend | None, pairs: Mapping[Pair, Sequence[Flow]]) -> QueueTrend:
    """The trend of a class in a piece: a queue that all classes fill is one that its frames wait in."""
    if of_all is not None and of_all.trend is Trend.FILLING and {rx for _, rx in pairs} & {*of_all.rx_ports}:
        return of_all
    return _UNKNOWN if own is None else own


def _unknown(trends: Mapping[Piece, QueueTrend]) -> list[Piece]:
    """Pieces that may have a queue which fills. Fewer streams fill none that more of them do not fill."""
    steady = [piece for piece, trend in trends.items() if trend.trend is Trend.STEADY]
    return [piece for piece in trends if not any(piece.sending <= other.sending for other in steady)]


def _of_pieces(trends: Mapping[Piece, QueueTrend]) -> QueueTrend:
    """The trend of a class in all of its time."""

    def excess(trend: QueueTrend) -> float:
        return trend.excess_ppm + trend.error_ppm

    if filling := [trend for trend in trends.values() if trend.trend is Trend.FILLING]:
        return max(filling, key=lambda trend: trend.excess_ppm)
    steady = [trend for trend in trends.values() if trend.trend is Trend.STEADY]
    unknown, time_ns = _unknown(trends), sum(piece.length_ns for piece in trends)
    if not steady or sum(piece.length_ns for piece in unknown) > Fraction(time_ns, _OF_ITS_TIME):
        return max((trends[piece] for piece in unknown), key=excess, default=_UNKNOWN)
    return max(steady, key=excess)
