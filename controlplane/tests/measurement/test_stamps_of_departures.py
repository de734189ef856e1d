"""Departures by hand: from their stamps to loads, starts, frames that came after them, and outages."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from p4mesh.measurement.counts import Outage
from p4mesh.measurement.departures import (
    READ_ERROR_TICKS,
    Window,
    departures,
    load_error_ppm,
    start_differences,
    window,
)
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.measurement.outages import LastBefore, StallFinder, outages
from p4mesh.tester.flows import Flow
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.tester.records import ALL_ONES
from p4mesh.traffic.derived import chains_of
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream

WINDOW = Window(transmission=Fraction(1000), starts=10)
ALLOWED = 1000 + 10 + READ_ERROR_TICKS
STAMPS = {1: (100, 1100), 2: (130, 1140), 3: (70, 2050), 4: (0, 0), 5: (5, 5), 6: (5, 6)}
"""First and last departure of transmitters; number 4 has sent nothing."""
PAIR = Stream("one", 64, Fraction(10**7), 10, Pairs(), (1,), (2,))
BEHIND = {"before": 0, "sampled": 1000, "other": 1101}
"""Begins of streams, in ns. The last one is more than a frame later than the end of the first."""


def records() -> np.ndarray[Any, Any]:
    found = np.zeros(7, dtype=[(name, np.uint64) for name in ("departures", "first_departure", "last_departure")])
    for number, (first, last) in STAMPS.items():
        found[number] = (int(last > 0), first, last)
    return found


def planned(*streams: dict[int, int], interval: int = 100, burst: int = 0, longer_by: int = 0, **asked: Any) -> Plan:
    """Plan streams of transmitters, each with its number of frames."""
    clock = SimpleNamespace(
        frame_interval_ticks=Fraction(interval),
        longer_by_ticks=(longer_by,) if longer_by else (),
        slot_ticks=interval,
        span_ticks=lambda frames: (frames - 1) * interval + longer_by,
    )
    stream = SimpleNamespace(burst=SimpleNamespace(frames=burst) if burst else None)
    of_stream = [
        SimpleNamespace(
            origin=number,
            clock=clock,
            stream=stream,
            transmitters=[SimpleNamespace(id=one, frames=frames) for one, frames in members.items()],
        )
        for number, members in enumerate(streams)
    ]
    plain = {"start_offset_ns": (), "in_step": True, "frame_count": 10, "rate_fps": Fraction(10**7)} | asked
    plain = {"pattern": SimpleNamespace(in_step=plain.pop("in_step")), "rx_ports": ()} | plain
    wanted = [SimpleNamespace(name=name, tx_ports=tuple(members), **plain) for name, members in enumerate(streams)]
    names = dict.fromkeys(range(len(streams)), "")
    return cast("Plan", SimpleNamespace(streams=of_stream, names=names, asked=wanted))


def test_arrivals_of_the_time_of_transmission_and_the_distance_of_starts_are_not_late() -> None:
    assert WINDOW.late_frames(501, 7, 7 + ALLOWED) == 0
    assert WINDOW.late_frames(501, 7, 7 + ALLOWED + 30, varied=30) == 0


def test_one_tick_more_makes_those_late_that_the_time_of_transmission_does_not_hold() -> None:
    """Evenly spread, 500 distances take the span; the time of transmission holds 1000 / span of them."""
    span = ALLOWED + 1
    assert WINDOW.late_frames(501, 7, 7 + span) == 501 - 1000 * 500 // span
    assert WINDOW.late_frames(501, 7, 7 + span + 30, varied=30) == 501 - 1000 * 500 // (span + 30)
    # Five frames in 2000 ticks are four distances, of which the time of transmission holds two.
    assert Window(Fraction(1000), 0).late_frames(5, 0, 2000) == 5 - 2


def test_first_and_last_departures_are_those_of_transmitters_that_have_sent() -> None:
    assert departures(planned({1: 9, 4: 9}, {2: 9}), records()) == (100, 1140)
    assert departures(planned({4: 9}), records()) == departures(planned(), records()) == (0, 0)


@pytest.mark.parametrize(
    ("plan", "error_ppm"),
    [
        # 10 distances of 100 ticks took 1,000 and 1,010; that of one frame says nothing.
        (planned({3: 1, 1: 11, 2: 11}), 1e6 * (1000 / 1010 - 1)),
        (planned({1: 2}), 1e6 * (100 / 1000 - 1)),
        (planned({1: 12}, {2: 11}), 1e6 * (1100 / 1000 - 1)),
        # A burst of two at the end may be cut short by less than that; 200 ticks are not.
        (planned({1: 12}, burst=2), 0),
        (planned({1: 13}, burst=2), 1e6 * (1200 / 1000 - 1)),
        (planned({1: 9}, burst=2), 1e6 * (800 / 1000 - 1)),
        # A schedule is as long as its gaps say, whatever the distance of frames on the average.
        (planned({1: 11}, longer_by=100), 1e6 * (1100 / 1000 - 1)),
        (planned({1: 11}, longer_by=100, burst=5), 1e6 * (1100 / 1000 - 1)),
        # No time between two frames is no load, and one tick is.
        (planned({5: 2}), 0),
        (planned({6: 2}), 1e6 * (100 - 1)),
        (planned(), 0),
    ],
)
def test_the_load_that_was_offered_is_off_by_the_transmitter_that_is_farthest(plan: Plan, error_ppm: float) -> None:
    assert load_error_ppm(plan, records()) == pytest.approx(error_ppm, rel=1e-12)


def test_starts_apart_are_a_fault_unless_they_were_asked_for() -> None:
    """Ports 1 to 3 begin at 100, 130 and 70."""
    assert start_differences(planned({1: 9, 2: 9, 3: 9}), records()) == (60, 0)
    assert start_differences(planned({1: 9, 2: 9}, {3: 9, 2: 9}, {1: 9}), records()) == (60, 0)
    assert start_differences(planned({1: 9, 2: 9}, {3: 9, 2: 9}, start_offset_ns=(0, 30)), records()) == (0, 60)
    assert start_differences(planned({1: 9, 2: 9}, start_offset_ns=(0, 0)), records()) == (30, 0)
    assert start_differences(planned({1: 9, 2: 9}, in_step=False), records()) == (0, 30)


def test_streams_send_for_their_count_over_their_rate_or_as_long_as_their_schedule() -> None:
    """10 frames of 10^7 a second take 1 us: 2,000 ticks of 500 ps; 21 in slots of 100 and a gap of 50 are 2,150."""
    assert window(planned({1: 9, 2: 9, 4: 9}), records(), 500) == Window(Fraction(2000), 30)
    assert window(planned({1: 21}, longer_by=50), records(), 500) == Window(Fraction(2150), 0)
    assert window(planned({1: 2}, {3: 20}, longer_by=50), records(), 500) == Window(Fraction(2050), 30)
    assert window(planned({4: 9}), records(), 500).starts == 0
    assert window(planned(), records(), 500) == Window(Fraction(0), 0)


def test_streams_one_behind_the_other_send_for_as_long_as_all_of_them() -> None:
    """A warm-up of 1 us and what is sampled behind it take 2 us; the latter is no port that starts later."""
    plan = planned({1: 9}, {3: 9})
    before, sampled, other = (replace(PAIR, name=name, start_offset_ns=(begin,)) for name, begin in BEHIND.items())
    plan = cast("Plan", SimpleNamespace(streams=plan.streams, asked=[before, sampled]))
    assert window(plan, records(), 500) == Window(Fraction(4000), 0)
    plan = cast("Plan", SimpleNamespace(streams=plan.streams, asked=[before, other]))
    assert window(plan, records(), 500) == Window(Fraction(2000), 30)
    assert chains_of([sampled, before, other]) == [[before, sampled], [other]]


def looked_at(*cells: tuple[int, int, int]) -> np.ndarray[Any, Any]:
    """Records of cells: frames, last arrival, last latency; one frame in ten of those that came is lost."""
    names = ("frames", "last_arrival", "latency_last", "next_sequence")
    return np.array([(*cell, cell[0] * 11 // 10) for cell in cells], dtype=[(name, np.uint64) for name in names])


def test_a_flow_has_stalled_when_a_look_finds_no_frame_more() -> None:
    """Cells 0 and 2 are to receive: cell 2 stalls at the third look, cell 0 at the fourth."""
    columns = SimpleNamespace(cell=np.arange(3), expected=np.array([True, False, True]))
    finder = StallFinder(cast("Plan", SimpleNamespace(columns=columns)))
    finder.look(looked_at((4, 500, 30), (0, 0, 0), (0, 0, 0)))
    finder.look(looked_at((5, 600, 30), (0, 0, 0), (0, 0, 0)))
    assert (finder.last_before, finder.complete) == ({}, False), "a flow without frames has none before an outage"
    finder.look(looked_at((6, 700, 30), (0, 0, 0), (1, 700, 40)))
    finder.look(looked_at((7, 800, 30), (0, 0, 0), (1, 700, 40)))
    assert (finder.last_before, finder.complete) == ({2: (660, 1, 0)}, False)
    finder.look(looked_at((20, 800, 30), (0, 0, 0), (2, 900, 40)))
    finder.look(looked_at((20, 800, 30), (0, 0, 0), (2, 900, 40)))
    assert (finder.last_before, finder.complete) == ({2: (660, 1, 0), 0: (770, 22, 2)}, False), "the first stall counts"
    finder.look(looked_at((31, 900, 30), (0, 0, 0), (9, 950, 40)))
    finder.look(looked_at((52, 950, 30), (0, 0, 0), (19, 950, 40)))
    assert (finder.lost_until, finder.complete) == ({2: 0, 0: 3}, True), "the first look that sees a flow again counts"


def test_a_latency_that_no_stamp_reaches_tells_no_departure() -> None:
    """A clock that is behind makes a latency below 0; it stops at 2^32 - 1 ticks."""
    finder = StallFinder(cast("Plan", SimpleNamespace(columns=SimpleNamespace(cell=np.arange(1), expected=[True]))))
    for _ in range(2):
        finder.look(looked_at((20, 800, ALL_ONES)))
    assert finder.last_before == {0: (None, 22, 2)}


def test_an_outage_is_told_from_the_first_departure_on() -> None:
    """The trial begins at tick 100 of 2 ns: frames before and after the gap left 700 and 1,900 ticks later."""
    flows = (Flow(0, 0, 0, 1, 2), Flow(1, 1, 0, 1, 3, expected=False), Flow(2, 2, 0, 2, 1))
    plan = cast("Plan", SimpleNamespace(**planned({1: 9, 2: 9}).__dict__ | {"names": {0: "load"}, "flows": flows}))
    columns = [(name, np.uint64) for name in ("next_sequence", "last_gap_time")]
    stamped = np.zeros(7, dtype=[*records().dtype.descr, *columns])
    for name in records().dtype.names or ():
        stamped[name] = records()[name]
    stamped["next_sequence"][:3], stamped["last_gap_time"][:3] = (90, 0, 95), (2000, 0, 0)
    stalls = cast("StallFinder", SimpleNamespace(last_before={0: LastBefore(800, 40, 3)}, lost_until={0: 25}))
    counted = cast("FlowArrays", SimpleNamespace(sent=np.array([100, 0, 95]), lost=np.array([30, 0, 7])))
    assert outages(plan, cast("Reading", SimpleNamespace(records=stamped)), stalls, counted, 2000) == (
        Outage("load", 1, 2, 100, 30, 10, 1400, 3800, 40, 3, 5),
        Outage("load", 2, 1, 95, 7, 0, None, None),
    )
