"""Pieces of a run whose classes begin and end apart, and what they say of a class, by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from p4mesh.measurement import class_queues as class_queues_module
from p4mesh.measurement.class_queues import Piece, _of_pieces, _unknown, _worse, class_queues, pieces_of
from p4mesh.measurement.counts import ClassQueues, LatencyStats, QueueTrend, Trend
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.measurement.latency_course import LatencyCourse
from p4mesh.measurement.queue_trend import Readings
from p4mesh.measurement.queue_watch import QueueWatch
from p4mesh.tester.reading import Reading
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.parts import queues
from p4mesh.trial.parts.base import Trial
from p4mesh.trial.parts.queues import QueueWatching, _shape_ns, _worst
from p4mesh.trial.results import not_measured
from p4mesh.trial.spec import Interruption, TrialSpec
from p4mesh.verdict import Verdict

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


def test_the_worst_class_stands_for_all() -> None:
    """One that fills before one that nobody can judge; of those alike, the one that may fill most."""

    def worst(*trends: QueueTrend) -> QueueTrend | None:
        return _worst(tuple(ClassQueues("", trend, 0, 0) for trend in trends))

    more, most = replace(UNCLEAR, excess_ppm=40), replace(UNCLEAR, excess_ppm=30, error_ppm=90)
    assert [worst(STEADY, UNCLEAR, FILLING), worst(STEADY, UNCLEAR), worst(STEADY), worst()] == [
        *(FILLING, UNCLEAR, STEADY, None),
    ]
    assert worst(most, more, UNCLEAR) == most


def test_a_class_is_judged_by_its_own_streams_in_the_pieces_in_which_they_send(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams 0 and 2 are gold, stream 1 is silver; two of four pieces were read, and silver fills a queue of its own.

    Gold sends for 400 ns, of which 300 are not read; silver for 700, of which 600 are not.
    """
    flows = {(number, port): [SimpleNamespace(stream=number)] for number, port in ((0, 3), (1, 4), (2, 5))}
    first, both, last, end = (
        Piece(begin, end, frozenset((number, 0) for number in numbers), True)
        for begin, end, numbers in ((0, 100, (0, 2)), (100, 400, (0, 1)), (400, 500, (1,)), (500, 800, (1,)))
    )
    asked: list[tuple[Any, ...]] = []
    courses: list[Any] = []

    def trend(plan: Any, reading: Any, records: Any, *, pairs: Any, **times: Any) -> QueueTrend | None:
        asked.append((plan, reading, records, frozenset(pairs), *times.values()))
        filling = reading == "last" and set(pairs) == {(1, 4)}
        return None if reading is None else replace(FILLING, rx_ports=(4,)) if filling else STEADY

    def course(own: Any, pieces: Any, records: Any, tick_ps: int) -> LatencyCourse:
        courses.append(([flow.stream for flow in own], pieces, records, tick_ps))
        return LatencyCourse(2.0, 1.0)

    monkeypatch.setattr(class_queues_module, "pairs_of", lambda plan: flows)
    monkeypatch.setattr(class_queues_module, "queue_trend", trend)
    monkeypatch.setattr(class_queues_module, "course_of_class", course)
    streams = [replace(stream(port, 0, 1), traffic_class=name) for port, name in enumerate(("gold", "silver", "gold"))]

    def found(*pieces: Piece) -> list[ClassQueues]:
        given: Any = (PLAN, streams, pieces, {first: "first", last: "last"}, "records")
        return list(class_queues(*given, duration_ns=800, tick_ps=500, limit=9.0, unmet={0: 5.0}))

    filling = replace(FILLING, rx_ports=(4,))
    assert found(first, both, last, end) == [
        ClassQueues("gold", UNKNOWN, 2.0, 1.0, 300 / 400, 5.0),
        ClassQueues("silver", filling, 2.0, 1.0, 600 / 700, 0.0),
    ]
    assert courses == [
        ([0, 2], [("first", True)], "records", 500),
        ([1], [("last", False)], "records", 500),
    ]
    of_first = (PLAN, "first", "records", frozenset({(0, 3), (2, 5)}), 1600.0, 500, 9.0, 200.0)
    assert asked[0] == of_first and asked.count(of_first) == 2, "by all classes and by its own"
    assert asked[1] == (PLAN, None, "records", frozenset({(0, 3), (1, 4)}), 1600.0, 500, 9.0, 600.0)
    asked.clear()
    gold, _ = found(replace(first, sending=frozenset({(0, 0), (1, 0)})))
    assert {one[-1] for one in asked} == {None} and gold.burst_share == 0, "the whole trial"


TESTER = SimpleNamespace(
    tick_ps=500, dataplane=SimpleNamespace(passes_per_cell=1), target=SimpleNamespace(own_rate_bps_of={})
)
NO_FLOWS = dict.fromkeys(("cell", "expected", "part", "stream", "tx_port", "rx_port"), np.array([], dtype=int))
PLAN = SimpleNamespace(round_ns=400, histograms=(), columns=SimpleNamespace(**NO_FLOWS), names={})


def reading_of(
    streams: tuple[Stream, ...], monkeypatch: pytest.MonkeyPatch, **more: Any
) -> tuple[QueueWatching, TrialSpec, list[int | Fraction], list[tuple[range, ...]]]:
    """A part whose trial has taken its readings, 9 us later on the clock; their times, and the cells of each."""

    def watch(plan: object, length_ns: int, *rest: object) -> QueueWatch:
        return QueueWatch((range(length_ns // 1_000_000), range(7, 8)), Fraction(length_ns, 8))

    monkeypatch.setattr(queues, "queue_watch", watch)
    monkeypatch.setattr(queues, "unmet_ns", lambda _, asked, rates: dict.fromkeys(range(1, len(asked)), 9.0))
    spec = TrialSpec("queues", streams, 5_000_000, watch_queues=True, excess_limit_ppm=60, **more)
    read: list[tuple[range, ...]] = []

    def record(cells: tuple[range, ...]) -> int:
        read.append(cells)
        return len(read)

    sending: Any = SimpleNamespace(
        tester=TESTER,
        plan=PLAN,
        duration_ns=5_000_000,
        lead_ns=9000,
        read=record,
    )
    part = QueueWatching(cast("Trial", SimpleNamespace(spec=spec, tester=TESTER, plan=PLAN)))
    part.started(sending)
    due_ns: list[int | Fraction] = []
    while part.due_ns is not None:
        due_ns.append(part.due_ns)
        part.act(sending)
    return part, spec, due_ns, read


REST = cast("Reading", SimpleNamespace(records="rest"))
FLOWS = cast("FlowArrays", None)


def test_each_piece_is_read_at_times_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first 2 ms are read each 250 us, the 2.96 ms in which both classes send each 370 us, and the rest is not."""
    streams = tuple(replace(one, traffic_class=one.name) for one in (stream(1, 0, 5000), stream(2, 2_000_000, 2960)))
    asked: dict[str, Any] = {}

    def judged(*arguments: object, **settings: object) -> list[ClassQueues]:
        asked.update(settings, arguments=arguments)
        return [ClassQueues("1", STEADY, 0, 0), ClassQueues("2", FILLING, 0, 0)]

    monkeypatch.setattr(queues, "class_queues", judged)
    part, spec, due_ns, read = reading_of(streams, monkeypatch)
    steps = [250_000 * number for number in range(1, 8)], [2_000_000 + 370_000 * number for number in range(1, 8)]
    assert due_ns == [9000 + time_ns for some in steps for time_ns in some]
    assert read == [(range(2), range(7, 8))] * 14
    result = not_measured(spec, Verdict.MEASURED, "")
    found = part.add(result, REST, FLOWS)
    assert found.queues == FILLING and [each.traffic_class for each in found.class_queues] == ["1", "2"]
    of_plan, of_streams, pieces, readings, last = asked.pop("arguments")
    assert (of_plan, of_streams, last) == (PLAN, streams, "rest")
    assert [readings.get(piece) for piece in pieces] == [
        Readings((0, 1, 7), tuple(range(1, 8))),  # type: ignore[arg-type]
        Readings((0, 1, 7), tuple(range(8, 15))),  # type: ignore[arg-type]
        None,
    ]
    assert (
        asked == {"duration_ns": 5_000_000, "tick_ps": 500, "limit": 60e-6, "unmet": {1: 9.0}} and found.unmet_ns == 9
    )
    aborted = replace(result, status=Verdict.ABORT)
    assert part.add(aborted, REST, FLOWS) is aborted


@pytest.mark.parametrize(
    ("trend", "latency", "error_ns", "growth_ns"),
    [
        # The error of two frames that are 100 ns apart is more than that of windows.
        (STEADY, LatencyStats(2, 0.0, 100.0, 100.0), 3, 7),
        (STEADY, LatencyStats(10**6, 0.0, 100.0, 10**8), 50, 7),
        (STEADY, None, 3, 7),
        (FILLING, LatencyStats(10**6, 0.0, 100.0, 10**8), 50, 0),
        (None, None, 3, 7),
    ],
)
def test_a_trial_without_classes_is_one_piece(
    trend: QueueTrend | None,
    latency: LatencyStats | None,
    error_ns: float,
    growth_ns: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """5 ms are 10^7 ticks of 500 ps, read each 625 us."""
    asked: dict[str, Any] = {}

    def judged(*arguments: object, **settings: object) -> QueueTrend | None:
        asked.update(settings, arguments=arguments)
        return trend

    monkeypatch.setattr(queues, "queue_trend", judged)
    monkeypatch.setattr(queues, "latency_course", lambda *_: LatencyCourse(50.0, 7.0))
    part, spec, due_ns, _ = reading_of((stream(1, 0, 5000),), monkeypatch)
    assert due_ns == [9000 + 625_000 * number for number in range(1, 8)]
    result = replace(not_measured(spec, Verdict.MEASURED, ""), latency=latency, latency_error_ns=3.0)
    found = part.add(result, REST, FLOWS)
    assert (found.queues, found.latency_error_ns, found.latency_growth_ns) == (trend, error_ns, growth_ns)
    whole = Readings((0, 1, 2, 3, 4, 7), tuple(range(1, 8)))  # type: ignore[arg-type]
    assert asked == {"arguments": (PLAN, whole, "rest"), "duration_ticks": 10**7, "tick_ps": 500, "limit": 60e-6}


def test_nothing_is_read_around_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reading_of((stream(1, 0, 5000),), monkeypatch, interruption=Interruption(1, 1))[2] == []


def test_sizes_in_turn_of_all_streams_come_again_after_a_common_time() -> None:
    """Two of 3 M frames/s after 2/3 us and three of 1 M after 3 us: after 6 us; even streams at any time."""
    even = stream(1, 0, 5000)
    two = replace(even, rate_fps=Fraction(3 * 10**6), sizes_in_turn_bytes=(64, 128))
    three = replace(even, sizes_in_turn_bytes=(64, 128, 256))
    assert [_shape_ns(some) for some in ((even,), (even, three), (two, three))] == [None, 3000, 6000]
