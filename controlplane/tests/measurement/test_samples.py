"""Samples of streams that run, by hand from the records of their cells."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from p4mesh.measurement.samples import Sample, SampledCounts, SampledPort, Sampler, cells_in_parts
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.tester.records import READ_TICKS
from p4mesh.traffic.patterns import Multicast, Pairs
from p4mesh.traffic.stream import Stream

PORTS = (1, 2, 3, 4)
TICK_PS = 4000
BEGIN = (1 << 48) - 1000
"""First departure, shortly before the clock of time stamps begins anew."""


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Two streams of one class, of which one goes to two receivers, and one of no class."""
    limits = Limits.of(load_contract(), TICK_PS, LoopModel(100 * 10**9, 500_000), "sim")
    streams = (
        Stream("group", 64, Fraction(1000), 20, Multicast(), (1,), (2, 3), traffic_class="gold"),
        Stream("pair", 64, Fraction(1000), 20, Pairs(), (3,), (2,), traffic_class="gold"),
        Stream("other", 64, Fraction(1000), 20, Pairs(), (4,), (1,)),
    )
    return make_plan(streams, limits, dict.fromkeys(PORTS, 10**9))


def sample(plan: Plan, sampler: Sampler, columns: dict[str, dict[int, int]], read: int = 1500) -> Sample:
    """The sample of records with some values by cell, the last of which was read at a tick."""
    records = np.zeros(plan.cells, dtype=[(name, np.uint64) for name, _ in load_contract().record_fields])
    for name, values in columns.items():
        records[name][list(values)] = list(values.values())
    timed = np.zeros(plan.cells, dtype=[*records.dtype.descr, (READ_TICKS, np.uint64)])
    for name in records.dtype.names or ():
        timed[name] = records[name]
    cells = [cell for part in sampler.cells for cell in part]
    timed[READ_TICKS][cells[-1]] = read
    return sampler.sample(77, timed[cells], {(1, "transmitted"): 20, (2, "expected"): 17, (2, "flooded"): 5})


def test_a_sample_counts_a_frame_to_many_once_and_frames_on_their_way_as_not_lost(plan: Plan) -> None:
    """Of 20 frames to the group, port 2 got 15 and has 17 behind it, port 3 all but one that came twice.

    Of 2^32 + 10 frames to port 2, number 8 comes next. 2500 ticks of 4 ns have gone since the first departure.
    """
    group, other_of_group, pair, other = (flow for flow in plan.flows if flow.expected)
    sampler = Sampler(plan, TICK_PS, flows=True)
    starts = {transmitter.id: BEGIN for transmitter in plan.streams[0].transmitters}
    found = sample(
        plan,
        sampler,
        {
            "first_departure": starts,
            "flow_sequence": {group.sequence_cell: 20, pair.sequence_cell: (1 << 32) + 10, other.sequence_cell: 4},
            "frames": {group.cell: 15, other_of_group.cell: 19, pair.cell: (1 << 32) + 5, other.cell: 3},
            "next_sequence": {group.cell: 17, other_of_group.cell: 20, pair.cell: 8, other.cell: 1},
            "reordered": {group.cell: 6, pair.cell: 7},
            "duplicates": {other_of_group.cell: 1, pair.cell: 2},
            "last_gap_time": {group.cell: BEGIN + 250, other_of_group.cell: BEGIN + 500},
        },
    )
    whole = 1 << 32
    assert found.at_ns == 2500 * 4
    assert found.classes == (
        SampledCounts("gold", 20 + whole + 10, 15 + 19 + whole + 5, 2 + 1 + 3, 13, 3, 2000),
        SampledCounts("other", 4, 3, 0, 0, 0, None),
    )
    assert found.flows == (
        SampledCounts("group 1->2", 20, 15, 2, 6, 0, 1000),
        SampledCounts("group 1->3", 20, 19, 1, 0, 1, 2000),
        SampledCounts("pair 3->2", whole + 10, whole + 5, 3, 7, 2, None),
        SampledCounts("other 4->1", 4, 3, 0, 0, 0, None),
    )
    assert found.ports == (SampledPort(1, 20, 0), SampledPort(2, 0, 17), SampledPort(3, 0, 0), SampledPort(4, 0, 0))
    assert sampler.lines == len(found.classes) + len(found.ports) + len(found.flows)


def test_before_the_first_departure_the_time_is_the_one_that_was_due(plan: Plan) -> None:
    sampler = Sampler(plan, TICK_PS)
    found = sample(plan, sampler, {})
    assert (found.at_ns, found.flows, sampler.lines) == (77, (), 2 + 4)
    assert {counts.tx_frames for counts in found.classes} == {0}


def test_cells_are_read_in_sixteen_parts_of_one_length() -> None:
    """33 cells in 16 parts: of three each, 11 of them."""
    assert list(map(len, cells_in_parts(range(33)))) == [3] * 11
    assert cells_in_parts(range(16)) == [range(cell, cell + 1) for cell in range(16)]
    assert cells_in_parts([]) == []


def test_a_frame_that_is_read_twice_is_not_lost_below_zero(plan: Plan) -> None:
    """A reading is of several moments: more may have come than the sequence numbers say."""
    group = next(flow for flow in plan.flows if flow.expected)
    columns: dict[str, Any] = {
        "flow_sequence": {group.sequence_cell: 10},
        "frames": {group.cell: 5},
        "next_sequence": {group.cell: 3},
    }
    assert sample(plan, Sampler(plan, TICK_PS), columns).classes[0].lost_frames == 0
