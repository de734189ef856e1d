"""Samples of streams that run, by hand from the records of their cells."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from p4mesh.measurement.samples import Sample, SampledCounts, SampledPort, Sampler, cells_in_parts
from p4mesh.run.sampling_cost import sampling_cost
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.tester.records import READ_TICKS
from p4mesh.traffic.patterns import Multicast, Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.spec import Sampling, TrialSpec

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


@pytest.mark.parametrize(
    ("flows", "lines", "share", "reading_ns", "text"),
    [
        (False, 6, 0.01, 10_000, "10 us, 1 % of the recirculation port"),
        (True, 10, 0.01245, 12_345, "12.3 us, 1.2 % of the recirculation port"),
    ],
)
def test_samples_cost_lines_of_classes_ports_and_flows_by_hand(
    plan: Plan, flows: bool, lines: int, share: float, reading_ns: int, text: str
) -> None:
    """13 in 10 ms and the 3.9 ms by which the last port begins later, of 2 classes, 4 ports and 4 flows."""
    planner: Any = SimpleNamespace(reading_ns=lambda *_: reading_ns, reading_share=lambda *_: share)
    stream = Stream("late", 64, Fraction(1000), 10, Pairs(), (1, 2), (3, 4), start_offset_ns=(0, 3_900_000))
    spec = TrialSpec("t", (stream,), 10**7, sampling=Sampling(10**6, flows=flows))
    cost = sampling_cost(spec, plan, planner)
    assert cost is not None and (cost.samples, cost.lines, cost.bytes_on_disk) == (13, lines, 13 * 100 * lines)
    cells = sum(map(len, Sampler(plan, TICK_PS).cells))
    assert str(cost) == f"13 samples of {lines} lines, one each 0.001 s: {cells} cells in {text}"
    together = (replace(stream, start_offset_ns=()),)
    for duration_ns, samples in ((10**7, 10), (10**7 - 1, 9)):
        found = sampling_cost(replace(spec, streams=together, duration_ns=duration_ns), plan, planner)
        assert found is not None and found.samples == samples
    assert sampling_cost(replace(spec, sampling=None), plan, planner) is None
