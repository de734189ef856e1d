"""Pieces of a run whose classes begin and end apart, and what they say of a class, by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from p4mesh.measurement.class_queues import Piece, _of_pieces, _unknown, pieces_of
from p4mesh.measurement.counts import QueueTrend, Trend
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream

STEADY, UNCLEAR = QueueTrend(Trend.STEADY, error_ppm=3), QueueTrend(Trend.UNCLEAR, error_ppm=70)
FILLING = QueueTrend(Trend.FILLING, 1000.0, rx_ports=(3,))


def stream(port: int, begin_ns: int, frames: int) -> Stream:
    """A frame each microsecond."""
    return Stream(f"{port}", 64, Fraction(10**6), frames, Pairs(), (port,), (9,), start_offset_ns=(begin_ns,))


def test_a_run_is_cut_where_a_stream_begins_or_ends() -> None:
    """5 ms of one; another from 2 ms on, less 40 us; a third of 20 frames. 1 % of the run are 50 us."""
    found = pieces_of([stream(1, 0, 5000), stream(2, 2_000_000, 2960), stream(3, 3_000_000, 20)], 5_000_000)
    every = frozenset({(0, 0), (1, 0), (2, 0)})
    assert [(one.begin_ns, one.end_ns, one.sending, one.watched) for one in found] == [
        (0, 2_000_000, {(0, 0)}, True),
        (2_000_000, 3_000_000, {(0, 0), (1, 0)}, True),
        (3_020_000, 4_960_000, {(0, 0), (1, 0)}, True),
        (3_000_000, 3_020_000, every, False),
        (4_960_000, 5_000_000, {(0, 0)}, False),
    ]
    together = [stream(1, 0, 5000), stream(2, 50_000, 4900)]
    assert pieces_of(together, 4_900_000) == (Piece(0, 4_900_000, frozenset({(0, 0), (1, 0)}), True),)


@pytest.mark.parametrize(
    ("alone", "both", "three", "length_ns", "found"),
    [
        (STEADY, STEADY, UNCLEAR, 25, STEADY),
        (STEADY, STEADY, UNCLEAR, 29, UNCLEAR),
        (UNCLEAR, STEADY, UNCLEAR, 25, STEADY),
        (STEADY, UNCLEAR, STEADY, 25, STEADY),
        (UNCLEAR, UNCLEAR, UNCLEAR, 1, UNCLEAR),
        (STEADY, FILLING, UNCLEAR, 1, FILLING),
    ],
)
def test_a_class_is_judged_but_for_an_eighth_of_its_time(
    alone: QueueTrend, both: QueueTrend, three: QueueTrend, length_ns: int, found: QueueTrend
) -> None:
    """Of 200 + 25 ns, 28.1 are an eighth. A queue that several classes do not fill, fewer of them do not."""
    one, two, more = (0, 0), (1, 0), (2, 0)
    trends = {
        Piece(0, 100, frozenset({one}), True): alone,
        Piece(100, 200, frozenset({one, two}), True): both,
        Piece(200, 200 + length_ns, frozenset({one, two, more}), True): three,
    }
    assert _of_pieces(trends) == found
    assert (Piece(0, 100, frozenset({one}), True) in _unknown(trends)) is (UNCLEAR is alone and both is not STEADY)
