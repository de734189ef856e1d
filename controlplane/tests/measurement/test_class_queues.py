"""Pieces of a run whose classes begin and end apart, and what they say of a class, by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from p4mesh.measurement.class_queues import Piece, _of_pieces, _unknown, _worse, pieces_of
from p4mesh.measurement.counts import QueueTrend, Trend
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream

STEADY, UNCLEAR = QueueTrend(Trend.STEADY, error_ppm=3), QueueTrend(Trend.UNCLEAR, error_ppm=70)
FILLING = QueueTrend(Trend.FILLING, 1000.0, rx_ports=(3,))
UNKNOWN = QueueTrend(Trend.UNCLEAR)


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


def test_limits_of_pieces_are_chains_of_times_that_are_a_hundredth_of_the_run_apart() -> None:
    """Starts at 0, 40 and 80 us are one limit of 5 ms; ports that have no start of their own begin at 0."""
    both = Stream("both", 64, Fraction(10**6), 5000, Pairs(), (1, 2), (8, 9))
    found = pieces_of([both, stream(3, 40_000, 4960), stream(4, 80_000, 1920)], 5_000_000)
    every = {(0, 0), (0, 1), (1, 0), (2, 0)}
    assert [(one.begin_ns, one.end_ns, one.sending) for one in found] == [
        (80_000, 2_000_000, every),
        (2_000_000, 5_000_000, every - {(2, 0)}),
        (0, 80_000, every - {(2, 0)}),
    ]


def test_the_eight_longest_pieces_are_watched() -> None:
    lengths_us = (300, 400, 500, 200, 600, 700, 800, 900, 1000)
    starts_us = [sum(lengths_us[:place]) for place in range(len(lengths_us))]
    streams = [stream(port, 1000 * start, sum(lengths_us) - start) for port, start in enumerate(starts_us)]
    found = pieces_of(streams, 1000 * sum(lengths_us))
    assert [one.length_ns // 1000 for one in found if one.watched] == [each for each in lengths_us if each != 200]


@pytest.mark.parametrize(("rx_port", "own", "found"), [(3, STEADY, FILLING), (4, STEADY, STEADY), (4, None, UNKNOWN)])
def test_a_queue_that_all_classes_fill_is_one_of_those_whose_frames_come_by_it(
    rx_port: int, own: QueueTrend | None, found: QueueTrend
) -> None:
    assert _worse(own, FILLING, {(1, rx_port): ()}) == found
    assert _worse(own, None, {(1, rx_port): ()}) == _worse(own, STEADY, {(1, rx_port): ()}) == (own or UNKNOWN)


def test_of_pieces_the_one_that_may_fill_most_is_told() -> None:
    """As much as is excluded of growth and its error. Where all of a piece is known elsewhere it needs no judgement."""
    one, two = frozenset({(0, 0)}), frozenset({(1, 0)})
    more, less = QueueTrend(Trend.STEADY, 5.0, error_ppm=3), QueueTrend(Trend.STEADY, 6.0, error_ppm=1)
    pieces = Piece(0, 700, one, True), Piece(700, 800, two, True)
    assert _of_pieces(dict(zip(pieces, (more, less), strict=True))) == more
    assert _of_pieces(dict(zip(pieces, (more, UNCLEAR), strict=True))) == more, "an eighth of the time is not known"
    again = Piece(800, 1600, one, True)
    assert _of_pieces({pieces[0]: more, again: UNCLEAR}) == more


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
