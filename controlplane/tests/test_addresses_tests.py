"""RFC 2889 5.7 and 5.8 on a device that remembers: the published search results, floods, resets."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeMeasurer

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.methods.base import TestMethod, TrialNote, UnitResult
from p4mesh.methods.bed import TestBed, TestPort
from p4mesh.methods.outcome import Outcome, State
from p4mesh.methods.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.methods.rfc2889.address_caching import AddressCaching
from p4mesh.methods.rfc2889.address_learning import AddressLearning
from p4mesh.traffic.addresses import random_offsets
from p4mesh.trial.result import PortCounts, Status, TrialResult
from p4mesh.trial.spec import ResetAction, TrialSpec

BED = TestBed("fake", tuple(TestPort(n, f"p{n}", 10**9) for n in range(1, 5)))
VECTORS = [
    vector
    for vector in json.loads((Path(__file__).parent / "fixtures" / "search_vectors.json").read_text())
    if vector["grid"] == "integer"
]


class MemoryMeasurer(FakeMeasurer):
    """A switch that holds ``capacity`` addresses and learns up to ``learns_fps`` per second."""

    def __init__(self, capacity: int, learns_fps: Fraction = Fraction(10**9)) -> None:
        super().__init__()
        self.capacity = capacity
        self.learns_fps = learns_fps
        self.known = 0

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = super().measure(spec)
        (stream,) = spec.streams
        if stream.source_mac is not None:
            slow = self.learns_fps < stream.rate_fps
            self.known = 0 if slow else min(stream.frame_count, self.capacity)
            return result
        flooded = stream.frame_count - self.known
        ports = (PortCounts(stream.rx_ports[0], rx_frames=stream.frame_count), PortCounts(3, flooded_frames=flooded))
        return replace(result, flooded_frames=flooded, ports=ports)


def run(test: TestMethod, measurer: FakeMeasurer, *settings: str) -> tuple[list[UnitResult], Outcome]:
    once = () if any(item.startswith("repetitions") for item in settings) else ("repetitions=1",)
    parameters = resolve(test.name, test.parameters, (*settings, *once))
    test.check(BED, parameters)
    results = {unit: test.run_unit(unit, BED, parameters, measurer) for unit in test.units(parameters, (64,))}
    return list(results.values()), test.assemble(BED, parameters, results)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["result"]))
def test_the_capacity_search_follows_the_published_sequences(vector: dict[str, Any]) -> None:
    measurer = MemoryMeasurer(vector["true_limit_min"])
    (result,), outcome = run(AddressCaching(), measurer, f"addresses_resolution={vector['resolution']}")
    assert [[row["addresses"], row["verdict"] == "PASS"] for row in result["rows"]] == vector["trials"]
    assert result["result"] == vector["result"]
    assert outcome.state is State.PASS


def test_learning_and_test_frames_carry_the_same_addresses_in_opposite_directions() -> None:
    measurer = MemoryMeasurer(5000)
    run(AddressCaching(), measurer)
    learn, test = (spec.streams[0] for spec in measurer.specs[:2])
    assert (learn.tx_ports, learn.rx_ports, test.tx_ports, test.rx_ports) == ((1,), (2,), (2,), (1,))
    assert learn.source_mac == test.destination_mac == bytes.fromhex("02f4bc010001")
    assert learn.modifiers[0].values == test.modifiers[0].values
    assert learn.frame_count == test.frame_count == 100
    assert learn.rate_fps == 50


def test_the_device_forgets_before_each_iteration_and_never_within_one() -> None:
    test = find_test("rfc2889.address_caching")
    waiting, keeping = MemoryMeasurer(5000), MemoryMeasurer(5000)
    run(test, waiting)
    run(test, keeping, "reset_between=none")
    learn, check = waiting.specs[:2]
    assert (learn.reset.action, learn.reset.aging_ns) == (ResetAction.WAIT_AGING, 350 * 10**9)
    assert {spec.reset.action for spec in keeping.specs} == {ResetAction.NONE}
    assert (check.reset.action, check.continues) == (ResetAction.NONE, True)
    assert not check.learning.enabled, "the test phase must not teach the device"


def test_repeated_searches_use_other_addresses_and_report_the_spread() -> None:
    measurer = MemoryMeasurer(1500)
    results, outcome = run(AddressCaching(), measurer, "repetitions=3", "address_order=random")
    assert len(results) == 3
    assert len({spec.streams[0].source_mac for spec in measurer.specs if spec.streams[0].source_mac}) == 3
    row = outcome.tables[0].rows[0]
    assert (row["capacity_min"], row["capacity_max"], row["repetitions"]) == (1500, 1500, 3)


def test_a_capacity_above_the_search_is_a_floor() -> None:
    _, outcome = run(AddressCaching(), MemoryMeasurer(10**6))
    assert outcome.tables[0].rows[0]["state"] == "PASS (at least)"


def test_flooded_frames_are_told_apart_by_port() -> None:
    (result,), _ = run(AddressCaching(), MemoryMeasurer(1500))
    failed = next(row for row in result["rows"] if row["verdict"] == "FAIL")
    assert (failed["addresses"], failed["monitor_flood_frames"], failed["learning_flood_frames"]) == (1561, 61, 0)


def test_the_published_learning_rate_is_a_search_ceiling() -> None:
    (result,), outcome = run(AddressLearning(), MemoryMeasurer(5000))
    assert [row["learning_rate_fps"] for row in result["rows"]] == [20, 60, 80]
    assert (result["result"], result["state"], result["at_least"]) == (80, "PASS", True)
    assert outcome.state is State.PASS


def test_a_known_learning_rate_is_found_within_the_resolution() -> None:
    (result,), _ = run(
        AddressLearning(), MemoryMeasurer(5000, Fraction(437)), "rate_max_fps=1000", "rate_resolution_fps=1"
    )
    assert 436 <= result["result"] <= 437 < result["fails_at"]


def test_a_device_that_learns_nothing_fails_without_a_rate() -> None:
    (result,), outcome = run(AddressLearning(), MemoryMeasurer(0))
    assert (result["result"], outcome.state) == (None, State.FAIL)


def test_an_untrusted_iteration_is_no_verdict() -> None:
    measurer = FakeMeasurer(status=lambda _: Status.INVALID)
    (result,), outcome = run(AddressCaching(), measurer)
    assert (result["state"], result["result"], outcome.state) == ("INVALID", None, State.INVALID)


@pytest.mark.parametrize("settings", [("learning_port=2",), ("test_port=9",), ("addresses_min=200",)])
def test_contradicting_roles_and_bounds_are_refused(settings: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError):
        run(AddressCaching(), FakeMeasurer(), *settings)


def test_two_ports_leave_nobody_to_monitor() -> None:
    test = AddressLearning()
    with pytest.raises(TopologyError, match="needs at least 3 tester ports"):
        test.check(TestBed("two", BED.ports[:2]), resolve(test.name, test.parameters, ()))


def test_random_offsets_differ_and_repeat() -> None:
    assert len(set(random_offsets(2048, 1))) == 2048
    assert random_offsets(100, 1) == random_offsets(100, 1) != random_offsets(100, 2)
