"""The data planes of several switches as one, by hand: who is asked for what, and how the answers are put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from p4mesh.tester.dataplane import DataPlane
from p4mesh.tester.flows import FlowColumns
from p4mesh.tester.histogram import Bins, InterarrivalBins
from p4mesh.tester.plan import Plan, StreamPlan, Transmitter
from p4mesh.tester.responders import PuntRule
from p4mesh.tester.several_dataplanes import SeveralDataPlanes
from p4mesh.tester.stations import Receiver

FLOWS = 100
NUMBERS = ((1, 2, 3), (4, 5))
"""Tester ports of the two switches."""
FORM = [("frames", ">u4"), ("spacing_min_inverted", ">u4"), ("controller_departure", ">u8")]


class Switch:
    """Writes down what it is asked for, and answers with its number."""

    def __init__(self, number: int) -> None:
        self.number, self.asked = number, list[tuple[Any, ...]]()
        self.is_connected, self.packet_outs_sent, self.packet_ins_taken, self.passes_per_cell = True, 10 + number, 4, 3
        self.come: list[bool] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *values, **more: self.asked.append((name, *values, *more.values()))

    def ended_seeds(self) -> int:
        return 2 + self.number

    def take_packet_in(self, timeout_s: float) -> bool:
        self.asked.append(("take", timeout_s))
        return self.come.pop(0) if self.come else False

    def take_handed(self) -> list[tuple[int, bytes]]:
        return [(self.number, b"x")]

    def take_punted(self, ports: list[int]) -> list[tuple[int, bytes]]:
        return [(port, b"y") for port in ports]

    def reason_counts(self, ports: list[int]) -> dict[tuple[int, str], int]:
        return {(port, "expected"): 10 * self.number + port for port in ports}

    port_totals = reason_counts

    def _records(self, cells: list[int]) -> Any:
        found = np.zeros(len(cells), dtype=FORM)
        for place, name in enumerate(("frames", "spacing_min_inverted", "controller_departure")):
            found[name] = [1000 * (self.number + 1) + 100 * place + cell for cell in cells]
        return found

    def read(self, cells: int, wait: object) -> Any:
        return self._records([*range(cells)])

    def read_some(self, wanted: list[range], wait: object) -> Any:
        self.asked.append(("read_some", wanted))
        return self._records([cell for part in wanted for cell in part])

    def histogram_counts(self, histograms: object, records: object, *, counts_times: bool) -> dict[int, Bins]:
        return {7: Bins([1, self.number], [2, 10 + self.number])}

    def interarrival_counts(self, histograms: object, records: object) -> dict[int, InterarrivalBins]:
        return {7: InterarrivalBins([self.number, 5], [3, self.number])}


@pytest.fixture
def planes(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Switch, Switch]:
    monkeypatch.setattr(DataPlane, "__init__", lambda self, client, contract: None)
    switches = Switch(0), Switch(1)
    return SeveralDataPlanes(switches, None, {"FLOWS": FLOWS}, NUMBERS), *switches  # type: ignore[arg-type]


def transmitter(number: int, port: int, flow_base: int) -> Transmitter:
    return Transmitter(number, 0, port, 0, 1, 0, 1, flow_base, 0, 10)


def plan() -> Any:
    """Stream 0 is sent by both switches, stream 1 by the second one alone, with flows of cells 3, 5 and 104."""
    both = transmitter(1, 2, 3), transmitter(101, 4, 104)
    streams = [
        StreamPlan(index, None, None, 0, 1, sent)  # type: ignore[arg-type]
        for index, sent in ((0, both), (1, (transmitter(102, 5, 107),)))
    ]
    cells = np.array([3, 5, 104])
    columns = FlowColumns(cells, np.array([3, 5, 99]), cells, cells, cells, cells > 0, ("",) * 3)
    receivers = tuple(Receiver(port, b"", 0) for port in (1, 4, 5))
    rules: Any = tuple(SimpleNamespace(port=port) for port in (5, 3))
    made: Any = Plan(tuple(streams), (), receivers, columns, (1, 2, 3, 4, 5), histogram_rules=rules)
    return replace(made, loop_uses=("a", "b"))


def test_each_switch_has_its_part_of_a_plan_with_cells_of_its_own(planes: tuple[Any, Switch, Switch]) -> None:
    it, first, second = planes
    it.configure(plan(), 9)
    (_, one, run), (_, two, _) = *first.asked, *second.asked
    assert run == 9
    assert [(stream.index, [(t.id, t.port, t.flow_base) for t in stream.transmitters]) for stream in one.streams] == [
        (0, [(1, 2, 3)])
    ]
    assert [(stream.index, [(t.id, t.port, t.flow_base) for t in stream.transmitters]) for stream in two.streams] == [
        *((0, [(1, 4, 4)]), (1, [(2, 5, 7)])),
    ]
    assert (one.loop_uses, two.loop_uses) == (("a",), ("a", "b"))
    assert [[item.port for item in part.receivers] for part in (one, two)] == [[1], [4, 5]]
    assert [[item.port for item in part.histogram_rules] for part in (one, two)] == [[3], [5]]
    # Sequences have cells, too: cell 99 of the first switch, cell 4 of the second.
    assert it._cells == [100, 5]
    it.clear(200, None)
    assert first.asked[1:] == [("clear", 100, None)] and second.asked[1:] == [("clear", 5, None)]
    it.renew(plan())
    assert [asked[-1][0] for asked in (first.asked, second.asked)] == ["renew", "renew"]
    first.asked.clear()
    second.asked.clear()
    it.admit_streams([0, 1])
    it.stop_streams([1])
    it.inject_seed(1, b"", 0, 1)
    it.inject_seed(0, b"", 2, 3, 4, 5)
    it.start(range(2), 50)
    seed = ("inject_seed", 0, b"", 2, 3, 4, 5)
    assert first.asked == [("admit_streams", [0]), ("stop_streams", [1]), seed, ("start", range(1), 50)]
    second_seed = ("inject_seed", 1, b"", 0, 1, 0, 0)
    stop = ("stop_streams", [1])
    assert second.asked == [("admit_streams", [0, 1]), stop, second_seed, seed, ("start", range(2), 50)]


def test_a_switch_without_flows_has_the_cells_of_its_ports(planes: tuple[Any, Switch, Switch]) -> None:
    it, _, _ = planes
    nothing = np.array([], dtype=np.int64)
    empty = FlowColumns(nothing, nothing, nothing, nothing, nothing, nothing, ())
    assert it._cells_of(SimpleNamespace(columns=empty, streams=())) == [4, 3]


@pytest.mark.parametrize(
    ("cells", "frames"),
    [
        (106, {0: 1000, 99: 1099, 100: 2000, 104: 2004, 105: 0}),
        (102, {99: 1099, 101: 2001}),
        (50, {0: 1000, 49: 1049}),
    ],
)
def test_records_of_a_switch_follow_those_before_and_ports_have_their_numbers(
    cells: int, frames: dict[int, int], planes: tuple[Any, Switch, Switch]
) -> None:
    it, _, _ = planes
    it._cells = [100, 5]
    found = it.read(cells, None)
    assert len(found) == cells
    assert {place: int(found["frames"][place]) for place in frames} == frames
    # Port 4 is the first of the second switch.
    assert found["spacing_min_inverted"].tolist() == [0, 1101, 1102, 1103, 2101, 2102, *[0] * (cells - 6)]
    assert found["controller_departure"][:7].tolist() == [0, 1201, 1202, 1203, 2201, 2202, 0]


def test_cells_of_some_ranges_are_read_at_their_switches(planes: tuple[Any, Switch, Switch]) -> None:
    it, first, second = planes
    found = it.read_some([range(98, 103), range(7, 8), range(100, 101)], None)
    assert found["frames"].tolist() == [1098, 1099, 2000, 2001, 2002, 1007, 2000]
    assert [asked[1] for asked in first.asked] == [[range(98, 100)], [range(7, 8)]]
    assert [asked[1] for asked in second.asked] == [[range(3)], [range(1)]]


def test_what_all_switches_have_is_one(planes: tuple[Any, Switch, Switch]) -> None:
    it, first, second = planes
    assert (it.packet_outs_sent, it.packet_ins_taken, it.passes_per_cell, it.ended_seeds()) == (21, 8, 3, 5)
    assert it.is_connected and not it.counts_strays
    second.is_connected = False
    assert not it.is_connected
    it.load_program()
    it.ensure_connected()
    assert first.asked == second.asked == [("load_program",), ("ensure_connected",)]
    assert it.reason_counts((5, 1)) == it.port_totals((5, 1)) == {(1, "expected"): 1, (5, "expected"): 15}
    assert it.take_handed() == [(0, b"x"), (1, b"x")]
    assert it.take_punted((5, 2, 4)) == [(2, b"y"), (5, b"y"), (4, b"y")]
    assert it.histogram_counts((), None, counts_times=False) == {7: Bins([2, 1], [4, 21])}
    assert it.interarrival_counts((), None) == {7: InterarrivalBins([1, 10], [6, 1])}


def test_frames_and_rules_of_a_port_go_to_its_switch(planes: tuple[Any, Switch, Switch]) -> None:
    it, first, second = planes
    it.send(3, b"a")
    it.send(4, b"b", stamped=True)
    rules = [PuntRule.of(port=4), PuntRule.of(ether_type=5), PuntRule.of(port=1, ether_type=6)]
    it.punt(rules)
    assert first.asked == [("send", 3, b"a", False), ("punt", rules[1:])]
    assert second.asked == [("send", 4, b"b", True), ("punt", rules[:2])]


@pytest.mark.parametrize(("timeout_s", "looks"), [(0.1, 5), (0.0, 1), (0.019, 1), (0.02, 1), (0.04, 2)])
def test_switches_are_looked_at_in_turn_for_a_time(
    timeout_s: float, looks: int, planes: tuple[Any, Switch, Switch]
) -> None:
    """A look at one of two switches takes 10 ms."""
    it, first, second = planes
    assert not it.take_packet_in(timeout_s)
    assert first.asked == second.asked == [("take", 0.01)] * looks
    second.come = [True]
    assert it.take_packet_in(timeout_s)
    assert len(first.asked) == len(second.asked) == looks + 1
