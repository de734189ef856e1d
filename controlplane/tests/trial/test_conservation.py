"""Reasons to doubt the counts of a trial, one by one, and the largest deviations that are no reason.

Method: two ports send 11 frames to each other, one per millisecond; a reading in which all adds up is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from p4mesh.measurement.counting import count
from p4mesh.measurement.flow_arrays import flow_arrays
from p4mesh.target.base import MacCounts, Pauses
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.inner_losses import InnerLosses, LossWatch
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.tester.reading import Reading
from p4mesh.tester.records import ALL_ONES
from p4mesh.tester.strays import Strays
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.conservation import Doubt, doubt

FRAMES = 11
TICK_PS = 500
SPAN_TICKS = 20_000_000
"""10 ms from the first departure to the last."""
STREAM = Stream("pair", 64, Fraction(1000), FRAMES, Pairs(), (1, 2), (2, 1))
LIMITS = Limits.of(load_contract(), TICK_PS, LoopModel(100 * 10**9, 500_000), "sim")
PLAN = make_plan((STREAM,), LIMITS, {1: 10**9, 2: 10**9})
TRANSMITTERS = PLAN.streams[0].transmitters
BOTH = (0, 1)
NO_PAUSES = Pauses()


def reading(
    counters: Mapping[tuple[int, str], int] | None = None, *, count_bytes: int = 8, **columns: Mapping[int, int]
) -> Reading:
    """A reading in which all adds up, but for these values of records by flow or transmitter (0 and 1)."""
    names = [name for name, _ in load_contract().record_fields]
    records = np.zeros(PLAN.cells, dtype=[(name, f"u{count_bytes if name == 'reordered' else 8}") for name in names])
    cells = {"flow": [flow.cell for flow in PLAN.flows], "transmitter": [one.id for one in TRANSMITTERS]}
    good = dict.fromkeys(BOTH, FRAMES)
    whole: dict[str, Mapping[int, int]] = {
        "flow_sequence": good,
        "frames": good,
        "departures": good,
        "first_departure": dict.fromkeys(BOTH, 100),
        "last_departure": dict.fromkeys(BOTH, 100 + SPAN_TICKS),
    }
    for name, changed in (whole | columns).items():
        places = cells["transmitter" if "departure" in name else "flow"]
        for place, value in {**whole.get(name, {}), **changed}.items():
            records[name][places[place]] = value
    counted = {(port, reason): FRAMES for port in (1, 2) for reason in ("expected", "transmitted")}
    return Reading(records, counted | dict(counters or {}))


def doubted(
    read: Reading, plan: Plan = PLAN, pauses: Pauses = NO_PAUSES, lateness_ns: int = 0, **counts: int
) -> Doubt | None:
    """The doubt about a reading, of which some counts are replaced."""
    flows = flow_arrays(plan, read)
    found = replace(count(plan, read, TICK_PS, flows=flows), **counts)  # type: ignore[arg-type]
    return doubt(plan, read, flows, found, pauses=pauses, tick_ps=TICK_PS, lateness_ns=lateness_ns)


def test_counts_that_add_up_are_trusted() -> None:
    """Copies are received beside the frames that they are copies of."""
    assert doubted(reading()) is None
    assert doubted(reading({(2, "expected"): 13}, duplicates={0: 2})) is None
    assert doubted(reading(reordered={0: ALL_ONES})) is None, "in 64 bits this is a number like others"
    assert doubted(reading(count_bytes=4, reordered={0: ALL_ONES - 1})) is None
    whole = MacCounts(good_received=FRAMES, buffer_full=0)
    assert doubted(replace(reading({(1, "pause"): 5}), macs={1: whole, 2: whole})) is None
    assert doubted(replace(reading(), losses=InnerLosses(seeds_injected=3, seeds_ended=3))) is None


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (
            replace(reading(), losses=InnerLosses({"table full": 1, "queue": 2})),
            "frames were dropped inside the tester: 2 by queue, 1 by table full",
        ),
        (
            replace(reading(), losses=InnerLosses(seeds_injected=3, seeds_ended=2)),
            "2 seeds came back to the loop when the streams ended, 3 were injected: a stream without all of its seeds "
            "is slow",
        ),
        (reading(flow_sequence={1: 10}), "tester under-delivered: port 2 sent 10 of 11 frames"),
    ],
    ids=["drops", "seeds", "missing"],
)
def test_a_tester_that_has_not_sent_its_frames_says_nothing_about_the_device(read: Reading, reason: str) -> None:
    assert doubted(read) == Doubt(reason, undelivered=True)


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (reading({(1, "transmitted"): 10}), "transmit counters show 21 frames, the flows 22"),
        (reading({(2, "expected"): 10}), "receive counters show 21 expected frames, the flows 22"),
        (reading({(2, "expected"): 12}, frames={0: 12}), "a flow has received more frames than were sent"),
        (
            reading(count_bytes=4, reordered={0: ALL_ONES}),
            "a flow has 4,294,967,295 or more frames counted in reordered",
        ),
        (
            replace(reading(), macs={2: MacCounts(bad_fcs_sent=3)}),
            "port 2 sent 3 frames with a bad FCS instead of 0",
        ),
        (
            replace(reading(), macs={2: MacCounts(buffer_full=1234)}),
            "port 2 dropped 1,234 frames in front of the program ($FramesDroppedBufferFull)",
        ),
        (
            replace(reading({(1, "stale"): 1, (1, "pause"): 5}), macs={1: MacCounts(good_received=13)}),
            "port 1 received 13 good frames by its MAC ($FramesReceivedOK without PAUSE), of which 12 came to the "
            "program",
        ),
        *(
            (reading({(2, reason): 1500}), f"1,500 frames were dropped by the tester: {reason}")
            for reason in ("unknown_flow", "no_destination", "unknown_transmitter")
        ),
    ],
)
def test_counts_that_contradict_each_other(read: Reading, reason: str) -> None:
    assert doubted(read) == Doubt(reason, undelivered=False)


def test_averages_shorter_than_the_way_through_the_sending_kernel_are_doubted() -> None:
    found = doubted(reading(), impossible_averages=1500)
    assert found is not None and not found.undelivered
    assert found.reason.startswith("1,500 averages of latency are shorter than the average way of a departure")


def test_frames_with_a_bad_fcs_are_those_that_the_port_was_to_damage() -> None:
    damaged = replace(STREAM, tx_ports=(1,), rx_ports=(2,), bad_fcs=True)
    good = replace(STREAM, name="good", tx_ports=(2,), rx_ports=(1,))
    plan = make_plan((damaged, good), replace(LIMITS, bad_fcs=True), {1: 10**9, 2: 10**9})
    for sent, reason in ((11, None), (10, "port 1 sent 10 frames with a bad FCS instead of 11")):
        found = doubted(replace(reading(), macs={1: MacCounts(bad_fcs_sent=sent), 2: MacCounts()}), plan)
        assert (found and found.reason) == reason


def longer(ticks: int) -> Reading:
    """Port 2 needs so many ticks more for its frames than the load asks for."""
    return reading(last_departure={1: 100 + SPAN_TICKS + ticks})


@pytest.mark.parametrize(
    ("lateness_ns", "contention_ps", "allowed_ticks"),
    [(0, 0, 2002), (5000, 0, 10_002), (5000, 1_000_000, 12_002)],
    ids=["0.01 % of the load", "lateness of departures", "other frames on the port"],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_offered_load_may_deviate_by_its_tolerance_and_the_error_of_its_reading(
    lateness_ns: int, contention_ps: int, allowed_ticks: int, sign: int
) -> None:
    """2 ticks are the error of a difference of stamps."""
    (stream,) = PLAN.streams
    waiting = tuple(replace(one, contention_ps=contention_ps) for one in stream.transmitters)
    plan = replace(PLAN, streams=(replace(stream, transmitters=waiting),))
    # The share is one of the time that was needed, which the deviation changes.
    edge = allowed_ticks - 1 if sign < 0 and not lateness_ns else allowed_ticks
    assert doubted(longer(sign * edge), plan, lateness_ns=lateness_ns) is None
    found = doubted(longer(sign * (edge + 1)), plan, lateness_ns=lateness_ns)
    assert found is not None and found.undelivered and found.reason.startswith("oload_mismatch: ")


def test_a_deviating_load_is_named_with_its_tolerance() -> None:
    """11 ms instead of 10: 90.9 %; of the 11 ms, the tolerance is 1.1 us."""
    found = doubted(longer(2_000_000))
    assert found == Doubt(
        "oload_mismatch: offered load is 90.9091 % of the intended load on port 2 (tolerance 0.0110 %)", True
    )
    at_once = doubted(longer(-SPAN_TICKS))
    assert at_once is not None and "offered load is 0.0000 % of" in at_once.reason


@pytest.mark.parametrize(
    ("late_ns", "lost", "expected", "late"),
    [
        (3_000_000, 7, 22, 7),
        (3_000_000, 8, 22, None),
        (3_000_000, 14, 44, 7),
        (3_000_000, 15, 44, None),
        (3_000_000, 1, 22, 7),
        (1, 1, 22, 1),
        (10**9, 22, 22, 22),
        (3_000_000, 0, 22, None),
        (0, 1, 22, None),
    ],
)
def test_losses_may_be_those_of_frames_that_left_late(late_ns: int, lost: int, expected: int, late: int | None) -> None:
    """Two ports with 1,000 frames/s have 6 due in 3 ms, and one at its edge; each lost frame to two ports is half."""
    pauses = Pauses(longest_ns=200_000_500_000, late_ns=late_ns)
    found = doubted(reading(), pauses=pauses, lost_frames=lost, expected_rx_frames=expected)
    assert found == (
        Doubt(
            f"late departures: the tester stood still for up to 200,000.5 ms; about {late} frames left late and too "
            f"close together, which may be why {lost} were lost",
            undelivered=True,
        )
        if late
        else None
    )


@pytest.mark.parametrize("counts_seeds", [True, False])
def test_losses_inside_the_tester_are_those_since_the_last_begin(counts_seeds: bool) -> None:
    drops, ended = {"loop": 5, "pipe": 7}, 3
    target: Any = SimpleNamespace(
        drop_counts=lambda: dict(drops), capabilities=SimpleNamespace(counts_seeds=counts_seeds)
    )
    dataplane: Any = SimpleNamespace(ended_seeds=lambda: ended)
    watch = LossWatch(target, dataplane)
    for first in (5, 6):
        watch.begin()
        assert watch.read() == InnerLosses({}, 0, 0)
        watch.end(4)
        watch.end(2)
        drops["loop"], ended = first + 1, ended + 8
        assert watch.read() == InnerLosses({"loop": 1}, *((6, 8) if counts_seeds else (0, 0)))


def test_strays_are_counted_per_flow_of_streams_with_classes_since_they_were_loaded() -> None:
    """Goal: registers are read only where ports have counted such frames, of flows 0 to the last one."""
    counts = np.array([[5, 0, 7], [0, 1, 0]])
    dataplane: Any = SimpleNamespace(counts_strays=True, stray_counts=lambda flows: counts[:, :flows].copy())

    def plan(traffic_class: str, *flows: int) -> Any:
        streams = [SimpleNamespace(stream=SimpleNamespace(traffic_class=traffic_class))]
        return SimpleNamespace(streams=streams, columns=SimpleNamespace(sequence_cell=np.array(flows, dtype=np.int64)))

    def found(frames: dict[tuple[int, str], int]) -> list[list[int]] | None:
        read = strays.read(frames)
        return None if read is None else read.tolist()

    strays, some = Strays(dataplane), {(1, "flooded"): 12, (2, "misdirected"): 1}
    strays.begin(plan("voice", 2, 0), some)
    counts += [[1, 0, 0], [0, 0, 4]]
    assert found({(1, "flooded"): 1}) == found({(2, "misdirected"): 4}) == [[1, 0, 0], [0, 0, 4]]
    assert found({(1, "flooded"): 0, (1, "damaged"): 9}) == [[0, 0, 0], [0, 0, 0]]
    strays.begin(plan("voice"), {})
    assert found({}) == [[0], [0]]
    strays.begin(plan(""), some)
    assert found(some) is None
    dataplane.counts_strays = False
    strays.begin(plan("voice", 2), some)
    assert found(some) is None
