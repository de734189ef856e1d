"""Counts of a plan and a reading, with no trial around them: what a server would do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.networks import parsed, switch

from p4mesh.measurement.counting import count
from p4mesh.measurement.counts import MessageCounts, MessageTime
from p4mesh.measurement.departures import READ_ERROR_TICKS, Window, window
from p4mesh.measurement.flow_arrays import addresses_reached, flow_arrays
from p4mesh.target.base import MacCounts
from p4mesh.target.loop import LoopModel
from p4mesh.target.table import TARGETS
from p4mesh.tester.contract import load_contract
from p4mesh.tester.histogram import HistogramPer
from p4mesh.tester.message_sources import with_messages
from p4mesh.tester.opening import open_tester
from p4mesh.tester.plan import Limits, make_plan
from p4mesh.tester.reading import Reading
from p4mesh.tester.records import ALL_ONES
from p4mesh.traffic.patterns import FullMesh, GroupRange, Message, Multicast, Pairs, PositionClass
from p4mesh.traffic.stream import Burst, Stream

PORTS = (1, 2, 3, 4)
FRAMES = 300
LIMITS = Limits.of(load_contract(), 4, LoopModel(100 * 10**9, 500_000), "sim")
MESH = Stream("mesh", 64, Fraction(100_000), FRAMES, FullMesh(), PORTS, PORTS)


def test_counts_of_streams_that_no_trial_has_started() -> None:
    """Each port sends 300 frames, 100 to each other port; halfway about half of them have come."""
    with open_tester(TARGETS["sim"], parsed(switch())) as instrument:
        plan = instrument.plan((MESH,), HistogramPer.STREAM)
        instrument.load(plan)
        instrument.arm()
        instrument.wait(instrument.start() + 1_500_000)
        half = count(plan, instrument.read(), instrument.tick_ps)
        instrument.wait(2_000_000)
        instrument.drain()
        counts = count(plan, instrument.read(), instrument.tick_ps, per_flow=True)

    assert 590 < half.rx_frames < 650
    assert (counts.intended_frames, counts.tx_frames, counts.rx_frames, counts.lost_frames) == (1200, 1200, 1200, 0)
    assert [(port.port, port.tx_frames, port.rx_frames) for port in counts.ports] == [(p, 300, 300) for p in PORTS]
    assert {(flow.tx_port, flow.rx_port): flow.rx_frames for flow in counts.flows} == {
        (source, sink): 100 for source in PORTS for sink in PORTS if sink != source
    }
    assert counts.latency is not None and counts.latency.count == 1200
    assert [found.latency.count for found in counts.histograms] == [1200]


def forged(plan: Any, counters: dict[tuple[int, str], int], **columns: dict[int, int]) -> Reading:
    """A reading whose records have some values by cell, and 0 elsewhere."""
    records = np.zeros(plan.cells, dtype=[(name, np.uint64) for name, _ in load_contract().record_fields])
    for name, values in columns.items():
        for cell, value in values.items():
            records[name][cell] = value
    return Reading(records, {(port, "expected"): 0 for port in PORTS} | counters)


def planned(*streams: Stream) -> Any:
    return make_plan(streams, LIMITS, dict.fromkeys(PORTS, 10**9))


def test_frames_to_many_that_come_back_to_their_source_are_flooded() -> None:
    """Of 20 frames to port 2, 18 came and 1 of them twice; 3 came to their source, port 1, and 2 of these twice.

    Nothing is known of departures, so each of the 5 late frames beyond the window may be a copy that hides a loss.
    """
    plan = planned(Stream("group", 64, Fraction(1000), 20, Multicast(), (1,), (2,)))
    (wanted,) = [flow for flow in plan.flows if flow.expected]
    (back,) = [flow for flow in plan.flows if flow.rx_port == 1]
    counts = count(
        plan,
        forged(
            plan,
            {(1, "transmitted"): 20, (2, "expected"): 19, (1, "expected"): 5, (1, "flooded"): 7, (2, "flooded"): 1,
             (3, "foreign"): 4, (4, "foreign"): 2, (2, "stale"): 6, (2, "damaged"): 8, (3, "misdirected"): 9},
            flow_sequence={wanted.sequence_cell: 20},
            frames={wanted.cell: 18, back.cell: 3},
            next_sequence={wanted.cell: 20},
            duplicates={wanted.cell: 1, back.cell: 2},
            reordered={wanted.cell: 5}, beyond_window={wanted.cell: 5},
        ),
        4,
    )  # fmt: skip
    assert (counts.tx_frames, counts.expected_rx_frames, counts.rx_frames, counts.lost_frames) == (20, 20, 19, 7)
    assert (counts.duplicate_frames, counts.reordered_frames, counts.doubtful_frames) == (1, 5, 5)
    assert counts.flooded_frames == 7 + 1 + 5
    assert (counts.foreign_frames, counts.stale_frames, counts.damaged_frames, counts.misdirected_frames) == (
        6,
        6,
        8,
        9,
    )
    assert [(port.rx_frames, port.flooded_frames) for port in counts.ports[:2]] == [(0, 7 + 5), (19, 1)]


def test_bytes_are_shown_of_streams_of_many_sizes() -> None:
    """3 frames of 64, 128 and 64 bytes; those of one size have the bytes that they were sent with."""
    mixed = Stream("mixed", 128, Fraction(1000), 3, Pairs(), (1,), (2,), sizes_in_turn_bytes=(64, 128))
    plan = planned(mixed, Stream("plain", 64, Fraction(1000), 3, Pairs(), (1,), (3,)))
    cells = {flow.rx_port: flow for flow in plan.flows if flow.expected}
    sent = {flow.sequence_cell: 3 for flow in cells.values()}
    came = {flow.cell: 3 for flow in cells.values()}
    octets = {cells[2].cell: 256, cells[3].cell: 192}
    reading = forged(plan, {(1, "transmitted"): 6}, flow_sequence=sent, frames=came, next_sequence=came, bytes=octets)
    counts = count(plan, reading, 4, per_flow=True)
    assert {flow.stream: flow.rx_bytes for flow in counts.flows} == {"mixed": 256, "plain": None}


def test_times_of_departures_are_nanoseconds_of_the_clock() -> None:
    """Ticks of 4 ps: two ports that were to start together are 500,000 ticks apart, two with an offset 25 million.

    The last port sends its two frames 2 million ticks apart instead of 2.5 million: 25 % too fast.
    """
    together = Stream("together", 64, Fraction(100_000), 3, Pairs(), (1, 2), (3, 4))
    apart = Stream("apart", 64, Fraction(100_000), 2, Pairs(), (3, 4), (1, 2), start_offset_ns=(0, 100_000))
    plan = planned(together, apart)
    firsts = [1_000_000, 1_500_000, 2_000_000, 27_000_000]
    ids = [transmitter.id for stream in plan.streams for transmitter in stream.transmitters]
    lasts = [6_000_000, 6_500_000, 4_500_000, 29_000_000]
    reading = forged(
        plan,
        {},
        departures=dict.fromkeys(ids, 3),
        first_departure=dict(zip(ids, firsts, strict=True)),
        last_departure=dict(zip(ids, lasts, strict=True)),
    )
    counts = count(plan, reading, 4)
    assert (counts.first_tx_ns, counts.last_tx_ns) == (4000, 116_000)
    assert (counts.start_skew_ns, counts.start_spread_ns) == (2000, 100_000)
    assert counts.oload_error_ppm == 250_000


def test_a_reading_before_the_first_departure_has_no_times() -> None:
    counts = count(plan := planned(MESH), forged(plan, {}), 4)
    assert (counts.intended_frames, counts.tx_frames, counts.rx_frames, counts.lost_frames) == (1200, 0, 0, 0)
    assert (counts.first_tx_ns, counts.last_tx_ns, counts.start_skew_ns, counts.start_spread_ns) == (0, 0, 0, 0)
    assert (counts.oload_error_ppm, counts.latency) == (0, None)
    assert {(port.late_frames, port.queued_frames, port.pause_frames) for port in counts.ports} == {(0, 0, 0)}
    empty = planned()
    assert window(empty, forged(empty, {}).records, 4) == Window(Fraction(0), 0), "no stream sends for no time"


def test_pause_frames_are_those_that_the_program_or_the_mac_has_counted_whichever_saw_more() -> None:
    plan = planned(MESH)
    macs = {1: MacCounts(pause_received=7), 2: MacCounts(pause_received=0), 3: MacCounts()}
    reading = replace(forged(plan, {(1, "pause"): 3, (3, "pause"): 5, (4, "pause"): 2}), macs=macs)
    counts = count(plan, reading, 4)
    assert {port.port: port.pause_frames for port in counts.ports} == {1: 7, 2: 0, 3: 5, 4: 2}


def test_addresses_are_reached_where_a_frame_came_to_the_port_that_it_was_for() -> None:
    plan = planned(
        Stream("pairs", 64, Fraction(1000), 20, Pairs(), (1, 3), (2, 4)),
        Stream("group", 64, Fraction(1000), 20, Multicast(), (1,), (2,)),
    )
    to_two, back, to_four = (next(flow.cell for flow in plan.flows if flow.rx_port == port) for port in (2, 1, 4))
    assert addresses_reached(plan, forged(plan, {}, frames={to_two: 1, back: 1})) == {2}
    assert addresses_reached(plan, forged(plan, {}, frames={to_two: 0, to_four: 2})) == {4}


def test_groups_that_are_counted_alone_are_flows_behind_those_with_cells() -> None:
    """Three cells hold one of two groups on the ports 1 to 3; the other one came to port 3 only."""
    stream = Stream("groups", 64, Fraction(1000), 20, Multicast((GroupRange("225.1.1.1", 2, (2, 3)),)), (1,), (2, 3))
    plan = make_plan((stream,), replace(LIMITS, flows=3, groups=2, group_ports=3), dict.fromkeys(PORTS, 10**9))
    groups = np.array([[0, 0], [0, 0], [0, 9]], dtype=np.int64)
    reading = replace(forged(plan, {}, flow_sequence={0: 10, 1: 10}, frames={1: 8}), groups=groups)
    flows = flow_arrays(plan, reading)
    assert flows.rx_port[flows.expected].tolist() == [2, 3, 2, 3]
    assert (flows.sent[flows.expected].tolist(), flows.lost[flows.expected].tolist()) == ([10] * 4, [2, 10, 10, 1])
    assert addresses_reached(plan, reading) == {2, 3}


def test_spacing_and_departures_of_the_controller_are_nanoseconds_where_they_are_known() -> None:
    """Ticks of 4 ps; the MAC of port 1 keeps departures itself."""
    plan = planned(MESH)
    macs = {1: MacCounts(last_departure_ns=777), 2: MacCounts()}
    columns = {"spacing_min_inverted": {2: ALL_ONES - 168_000}, "controller_departure": {1: 5, 2: 250_499, 3: 250_500}}
    counts = count(plan, replace(forged(plan, {}, **columns), macs=macs), 4)
    assert [(port.min_spacing_ns, port.controller_tx_ns) for port in counts.ports] == [
        (None, 777), (672, 1001), (None, 1002), (None, None),
    ]  # fmt: skip


def test_jitter_makes_frames_late_that_no_queue_has_held_back() -> None:
    """501 frames arrive within twice the 500 intervals of their departures, at two ports; one of them has jitter."""
    streams = [Stream(f"to_{port}", 64, Fraction(1_000_000), 501, Pairs(), (1,), (port,)) for port in (2, 3)]
    plan = planned(*streams)
    quiet, jittered = (flow.cell for flow in plan.flows)
    whole = 501 * 1_000_000 // 4
    reading = forged(
        plan,
        {},
        flow_sequence={plan.columns.sequence_cell[number]: 501 for number in (0, 1)},
        frames={quiet: 501, jittered: 501},
        first_arrival={quiet: 100, jittered: 100},
        last_arrival={quiet: 100 + 2 * whole, jittered: 100 + 2 * whole},
        latency_min_inverted=dict.fromkeys((quiet, jittered), ALL_ONES - 50),
        jitter_sum_low={jittered: 501 * whole // 4},
    )
    counts = count(plan, reading, 4)
    late = {port.port: (port.late_frames, port.queued_frames) for port in counts.ports}
    assert late == {1: (0, 0), 2: (251, 251), 3: (251, 0), 4: (0, 0)}


WHOLE = 500 * 1_000_000 // 4
"""Ticks of 500 frames at a million a second."""
STARTS = 3000


@pytest.mark.parametrize(
    ("taken", "behind", "held"),
    [
        (WHOLE + STARTS, 1_000_001, 500),
        (WHOLE + STARTS + 1, 1_000_001, 1000),
        (WHOLE * 498 // 500, 1_000_001, 500),
        (WHOLE * 498 // 500 - 1, 1_000_001, 1000),
        (WHOLE + STARTS, 1_000_000, 1000),
        # So long behind it, all but the first of the frames that a queue held back are late.
        (WHOLE + STARTS, 999 * WHOLE, 500),
    ],
)
def test_a_flow_that_came_in_time_while_others_were_held_back_has_no_late_frames(
    taken: int, behind: int, held: int
) -> None:
    """Its 500 frames take the time of transmission, two fewer at most; more than four are due until others end."""
    streams = [Stream(f"from_{port}", 64, Fraction(1_000_000), 500, Pairs(), (port,), (2,)) for port in (1, 3)]
    plan = planned(*streams)
    first, second = (flow.cell for flow in plan.flows)
    ids = [transmitter.id for stream in plan.streams for transmitter in stream.transmitters]
    span = WHOLE + STARTS + behind
    reading = forged(
        plan,
        {},
        departures=dict.fromkeys(ids, 500),
        first_departure=dict(zip(ids, (100, 100 + STARTS), strict=True)),
        flow_sequence=dict.fromkeys(plan.columns.sequence_cell.tolist(), 500),
        frames={first: 500, second: 500},
        first_arrival={first: 1000, second: 1000},
        last_arrival={first: 1000 + taken, second: 1000 + span},
    )
    late = {port.port: port.late_frames for port in count(plan, reading, 4).ports}
    assert late == {**dict.fromkeys(PORTS, 0), 2: held - WHOLE * (held - 1) // span}


@pytest.mark.parametrize(("came", "held"), [(0, 0), (1, 500 - 499 // 2)])
def test_one_frame_may_be_late_and_a_flow_of_which_nothing_came_has_no_times(came: int, held: int) -> None:
    """The last frame comes when twice the time of transmission is over; one of the other flow's frames is lost."""
    streams = [Stream(f"from_{port}", 64, Fraction(1_000_000), 500, Pairs(), (port,), (2,)) for port in (1, 3)]
    plan = planned(*streams)
    first, second = (flow.cell for flow in plan.flows)
    begin = 10**9
    stamps = {second: begin + 2 * WHOLE} if came else {}
    reading = forged(
        plan,
        {},
        flow_sequence=dict.fromkeys(plan.columns.sequence_cell.tolist(), 500),
        frames={first: 499, second: came},
        first_arrival={first: begin, **stamps},
        last_arrival={first: begin + WHOLE, **stamps},
    )
    assert {port.port: port.late_frames for port in count(plan, reading, 4).ports} == {1: 0, 2: held, 3: 0, 4: 0}


@pytest.mark.parametrize(
    ("frames", "later", "ways", "jitter", "varied"),
    [
        (500, 0, 700, 112_500, 1600),
        (500, 0, 0, 0, 0),
        (500, 0, 0, 112_500, 900),
        (500, 0, 0, 1 << 32, 34_359_738),
        (7, 0, 5, 0, 0),
        (8, 0, 5, 0, 5),
        # A flow that begins behind the first 25th of the arrivals may have found a queue.
        (500, (WHOLE + READ_ERROR_TICKS + 698) // 25, 698, 0, 698),
        (500, (WHOLE + READ_ERROR_TICKS + 1) // 25 + 1, 700, 0, 0),
    ],
)
def test_a_queue_held_back_what_neither_jitter_nor_ways_of_different_lengths_explain(
    frames: int, later: int, ways: int, jitter: int, varied: int
) -> None:
    """Latencies differ by eight times the jitter, and by that of the least ones of flows of 8 frames or more."""
    plan = planned(
        *(Stream(f"from_{port}", 64, Fraction(1_000_000), frames, Pairs(), (port,), (2,)) for port in (1, 3))
    )
    cells = [flow.cell for flow in plan.flows]
    for beyond, queued in ((0, False), (1, True)):
        last = 1000 + frames * 1_000_000 // 4 + READ_ERROR_TICKS + varied + beyond
        reading = forged(
            plan,
            {},
            flow_sequence=dict.fromkeys(plan.columns.sequence_cell.tolist(), frames),
            frames=dict.fromkeys(cells, frames),
            first_arrival=dict(zip(cells, (1000, 1000 + later), strict=True)),
            last_arrival=dict.fromkeys(cells, last),
            latency_min_inverted=dict(zip(cells, (ALL_ONES - 50, ALL_ONES - 50 - ways), strict=True)),
            jitter_sum_high={cells[0]: jitter >> 32},
            jitter_sum_low={cells[0]: jitter & ALL_ONES},
        )
        assert [bool(port.queued_frames) for port in count(plan, reading, 4).ports] == [False, queued, False, False]


def test_times_of_flows_are_whole_nanoseconds_of_the_first_and_the_last_of_their_frames() -> None:
    """Ticks of 3.2 ns; one of two positions of a message has not come to port 2 yet, and nothing at all to port 4."""
    message = Message(Pairs(), 2, (PositionClass(1, 2),))
    plan = planned(
        Stream("two", 64, Fraction(1000), 20, message, (1,), (2,), burst=Burst(2)),
        Stream("none", 64, Fraction(1000), 20, Pairs(), (3,), (4,)),
    )
    (cell, *_) = (flow.cell for flow in plan.flows if flow.rx_port == 2)
    reading = forged(plan, {}, frames={cell: 2}, first_arrival={cell: 1}, last_arrival={cell: 123_457_999})
    times = {
        flow.rx_port: (flow.first_rx_ns, flow.last_rx_ns) for flow in count(plan, reading, 3200, per_flow=True).flows
    }
    assert times == {2: (3, 123_457_999 * 3200 // 1000), 4: (0, 0)}


@pytest.mark.parametrize(("covers_payload", "damaged", "corrupted"), [(False, 8, 5), (True, 0, 13)])
def test_damaged_frames_are_corrupted_ones_where_the_check_covers_the_payload(
    covers_payload: bool, damaged: int, corrupted: int
) -> None:
    plan = planned(MESH)
    macs = {2: MacCounts(corrupted_received=5), 3: MacCounts()}
    reading = replace(forged(plan, {(2, "damaged"): 8}), macs=macs, check_covers_payload=covers_payload)
    found = {port.port: (port.damaged_frames, port.corrupted_frames) for port in count(plan, reading, 4).ports}
    assert found == {1: (0, 0), 2: (damaged, corrupted), 3: (0, 0), 4: (0, 0)}


def test_a_flow_has_its_copies_its_last_gap_and_the_frames_behind_the_last_one_that_came() -> None:
    """18 came, 3 of them copies; number 7 of 2^32 is next, though 2^32 + 2^31 + 10 were sent: 2^31 + 3 are missing."""
    plan = planned(Stream("s", 64, Fraction(1000), 20, Pairs(), (1, 3), (2, 4)))
    first, second = plan.flows
    sent = {first.sequence_cell: (1 << 32) + (1 << 31) + 10, second.sequence_cell: 20}
    reading = forged(plan, {}, flow_sequence=sent, frames={first.cell: 15, second.cell: 20}, duplicates={first.cell: 3},
                     next_sequence={first.cell: 7, second.cell: 20}, last_gap_time={first.cell: 250})  # fmt: skip
    found = [
        (flow.rx_frames, flow.duplicate_frames, flow.last_gap_tx_ns, flow.tail_lost_frames)
        for flow in count(plan, reading, 3200, per_flow=True).flows
    ]
    assert found == [(18, 3, 800, (1 << 31) + 3), (20, 0, None, 0)]


def test_messages_that_were_sent_and_are_not_complete_are_damaged_and_times_are_nanoseconds() -> None:
    """Ticks of 4 ns. Of 10 messages to port 2, 7 came whole, and none of the 3 messages to port 4."""
    message = Message(Pairs(), 2, (PositionClass(1, 1), PositionClass(2, 2)))
    stream = Stream("two", 64, Fraction(1000), 20, message, (1, 3), (2, 4), burst=Burst(2))
    plan = planned(stream)
    plan = with_messages(plan, replace(LIMITS, message_sources=2, message_rules=9))
    first, second = plan.messages
    names = [f"{name}_{part}" for name in ("fifo", "lilo", "filo") for part in ("min_inverted", "max", "sum")]
    records = np.zeros(2, dtype=[(name, np.uint64) for name in ("complete", *names)])
    records["complete"][first.number] = 7
    for number, name in enumerate(("fifo", "lilo", "filo"), start=1):
        records[f"{name}_min_inverted"][first.number] = (1 << 64) - 1 - 100 * number
        records[f"{name}_max"][first.number], records[f"{name}_sum"][first.number] = 200 * number, 1000 * number
    reading = replace(forged(plan, {}, flow_sequence={first.last_flow: 10, second.last_flow: 3}), messages=records)
    times = [MessageTime(7, 400.0 * number, 800.0 * number, 4000.0 * number) for number in (1, 2, 3)]
    assert count(plan, reading, 4000).messages == (
        MessageCounts("two", 1, 2, 2, 10, 7, 3, *times),
        MessageCounts("two", 3, 4, 2, 3, 0, 3),
    )
    assert count(plan, replace(reading, messages=None), 4000).messages == ()
