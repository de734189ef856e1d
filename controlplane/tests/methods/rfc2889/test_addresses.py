"""RFC 2889 5.7 and 5.8 on a device that remembers: the published search results, floods, resets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest
from support.beds import make_bed
from support.fakes import FakeMeasurer, TrialLog
from support.networks import parsed, switch
from support.published import WHITE_RABBIT
from support.runs import run_on_sim, run_units

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.measurement.counts import PortCounts
from p4mesh.methods.base import Method, TrialNote
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.searched import AT_LEAST
from p4mesh.methods.rfc2889.address_caching import AddressCaching
from p4mesh.methods.rfc2889.address_findings import all_findings
from p4mesh.methods.rfc2889.address_learning import LEARNING_RATE, AddressLearning
from p4mesh.methods.rfc2889.address_results import AddressSearch, AddressUnit, Iteration
from p4mesh.methods.rfc2889.address_trial import age_s
from p4mesh.methods.rfc2889.addressed import MAX_RANDOM_ADDRESSES, floors, spread
from p4mesh.tester.contract import load_contract
from p4mesh.traffic.addresses import random_offsets
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.stream import Progression, ValueList
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, ResetAction, TrialSpec
from p4mesh.verdict import Verdict

BED = make_bed()
VECTORS = [
    vector
    for vector in json.loads((Path(__file__).parents[2] / "fixtures" / "search_vectors.json").read_text())
    if vector["grid"] == "integer"
]


PUBLISHED = ("addresses_try_max_first=false",)
"""The searches of the report never tried the largest number first."""
REPORT_RATES = ("rate_try_max_first=false",)


class MemoryMeasurer(FakeMeasurer):
    """A switch that holds ``capacity`` addresses and learns up to ``learns_fps`` per second."""

    def __init__(self, capacity: int, learns_fps: Fraction | Callable[[int], Fraction] = Fraction(10**9)) -> None:
        super().__init__()
        self.capacity = capacity
        self.learns_fps = learns_fps
        self.known = 0
        self.behind = b""

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = super().measure(spec)
        (stream,) = spec.streams
        line_fps = max_rate_fps(stream.frame_size_bytes, BED.rate_bps(stream.tx_ports[0]))
        assert note is not None and note.load_pct == 100 * stream.rate_fps / line_fps
        if spec.label.startswith("learn"):
            limit = self.learns_fps(stream.frame_count) if callable(self.learns_fps) else self.learns_fps
            slow = limit < stream.rate_fps
            self.behind = (stream.source_mac or b"")[:4]
            self.known = 0 if slow else min(stream.frame_count, self.capacity)
            return result
        assert stream.destination_mac is not None
        first = int.from_bytes(stream.destination_mac[-2:], "big")  # the counter of the addresses starts at 1
        known = self.known if stream.destination_mac[:4] == self.behind else 0
        flooded = stream.frame_count - min(max(known - first + 1, 0), stream.frame_count)
        ports = (PortCounts(stream.rx_ports[0], rx_frames=stream.frame_count), PortCounts(3, flooded_frames=flooded))
        return replace(result, flooded_frames=flooded, ports=ports)


def run(test: Method, measurer: FakeMeasurer, *settings: str) -> tuple[list[AddressUnit], Outcome]:
    once = () if any(item.startswith("repetitions") for item in settings) else ("repetitions=1",)
    results, outcome = run_units(test, BED, measurer, (64,), *settings, *once)
    return list(results.values()), outcome


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["result"]))
def test_the_capacity_search_follows_the_published_sequences(vector: dict[str, Any]) -> None:
    measurer = MemoryMeasurer(vector["true_limit_min"])
    (result,), outcome = run(AddressCaching(), measurer, f"addresses_resolution={vector['resolution']}", *PUBLISHED)
    (search,) = result.searches
    assert [[row.addresses, row.verdict is Verdict.PASS] for row in search.rows] == vector["trials"]
    assert search.result == vector["result"]
    assert outcome.state is Verdict.MEASURED


def test_learning_and_test_frames_carry_the_same_addresses_in_opposite_directions() -> None:
    measurer = MemoryMeasurer(5000)
    run(AddressCaching(), measurer, *PUBLISHED)
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
    assert learn.learning == Learning(ports=(2,), wait_ns=0, verify=False), "the test port alone"
    assert check.restabilise_ns == 0


def test_repeated_searches_use_other_addresses_and_report_the_spread() -> None:
    measurer = MemoryMeasurer(5000)
    results, outcome = run(AddressCaching(), measurer, "repetitions=3", "address_order=random")
    assert len(results) == 3
    assert len({spec.streams[0].source_mac for spec in measurer.specs if spec.streams[0].source_mac}) == 3
    row = outcome.tables[0].rows[0]
    assert (row["capacity_min"], row["capacity_max"], row["repetitions"]) == (2048, 2048, 3)
    # The largest number is what somebody chose, no limit of the line.
    assert row["reason"] == "at least"
    assert outcome.findings == ("64 B: >= 2,048 addresses; no more was tried",)


def test_a_capacity_above_the_search_is_a_floor() -> None:
    _, outcome = run(AddressCaching(), MemoryMeasurer(10**6), *PUBLISHED)
    assert outcome.tables[0].rows[0]["reason"] == "at least"


def test_a_floor_above_the_lowest_capacity_is_told_of_its_bases_only() -> None:
    """Base 2 holds 1780 addresses, the others more than the search tries: the lowest result is no floor."""

    class Hashed(MemoryMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            source = spec.streams[0].source_mac
            if source is not None:
                self.capacity = 1780 if source[3] == 17 else 5000
            return super().measure(spec, note)

    _, outcome = run(AddressCaching(), Hashed(0), "repetitions=3", *PUBLISHED)
    (row,) = outcome.tables[0].rows
    assert (row["state"], row["capacity_min"], row["capacity_max"], row["upper_addresses"]) == (
        "MEASURED",
        1743,
        1987,
        1804,
    )
    assert outcome.findings == ("64 B, bases 1, 3: >= 1,987 addresses; no more was tried",)


def test_flooded_frames_are_told_apart_by_port() -> None:
    (result,), _ = run(AddressCaching(), MemoryMeasurer(1500), *PUBLISHED)
    failed = next(row for row in result.searches[0].rows if row.verdict is Verdict.FAIL)
    assert (failed.addresses, failed.monitor_flood_frames, failed.learning_flood_frames) == (1561, 61, 0)


def test_frames_at_every_port_are_told_apart_and_copies_count_once() -> None:
    """Of 100 frames 7 come to the monitor, 3 to T and 2 to L as flooded ones, and 4 to L twice."""

    class Flooding(MemoryMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            result = super().measure(spec, note)
            if spec.label.startswith("learn"):
                return result
            ports = tuple(PortCounts(port, flooded_frames=count) for port, count in ((1, 2), (2, 3), (3, 7), (4, 6)))
            return replace(result, rx_frames=104, duplicate_frames=4, flooded_frames=18, ports=ports)

    class Twice(MemoryMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            result = super().measure(spec, note)
            return replace(result, rx_frames=result.rx_frames + 4, duplicate_frames=4)

    hundred = ("addresses_max=100",)
    (unit,), _ = run(AddressCaching(), Flooding(100), *hundred)
    row = unit.searches[0].rows[0]
    floods = (row.learning_flood_frames, row.test_flood_frames, row.monitor_flood_frames)
    assert (floods, row.learning_rx_frames, row.held_addresses, row.verdict) == ((2, 3, 13), 100, 93, Verdict.FAIL)
    (unit,), _ = run(AddressCaching(), Twice(100), *hundred)
    row = unit.searches[0].rows[0]
    assert (row.learning_rx_frames, row.held_addresses, row.verdict) == (100, 100, Verdict.PASS)


@pytest.mark.parametrize(
    ("settings", "numbers", "searches"),
    [
        (("addresses=sweep", "addresses_end=1000", "addresses_step=300"), 4, 0),
        (("addresses=sweep_to_capacity", "addresses_end=1000", "addresses_step=300"), 4, 1),
        ((), 1, 1),
    ],
)
def test_the_iterations_to_come_are_those_of_all_searches(
    settings: tuple[str, ...], numbers: int, searches: int
) -> None:
    test = AddressLearning()
    parameters = resolve(test.name, test.parameters, settings)
    goals = test.goals(parameters)
    expected = numbers * goals[LEARNING_RATE].trials_expected
    expected += goals["capacity"].trials_expected if searches else 0
    assert test.iterations_expected(parameters) == expected


def rates(unit: AddressUnit) -> dict[int | None, list[float]]:
    """The rates tried per number of addresses."""
    return {
        search.addresses: [row.learning_rate_fps for row in search.rows]
        for search in unit.searches
        if search.search == LEARNING_RATE
    }


HUNDRED = ("addresses=sweep", "addresses_start=100", "addresses_end=100")


def test_the_published_learning_rate_is_a_search_ceiling() -> None:
    (unit,), outcome = run(AddressLearning(), MemoryMeasurer(5000), *HUNDRED, *REPORT_RATES)
    (result,) = unit.searches
    assert outcome.findings == ("64 B, 100 addresses: >= 80 frames/s; no more was tried",)
    assert rates(unit) == {100: [20, 60, 80]}
    assert (result.result, result.state, result.at_least) == (80, Verdict.MEASURED, True)
    assert outcome.state is Verdict.MEASURED


PERCENTS = ("rate_unit=pct", "rate_base_fps=100", *REPORT_RATES)


@pytest.mark.parametrize(
    ("limit_fps", "tried", "printed", "state", "reason"),
    [
        (10**9, [20, 60, 80], 80, "MEASURED", "at least"),
        (40, [20, 60, 40], 40, "MEASURED", ""),
        (39, [20, 60, 40], 20, "MEASURED", ""),
        (19, [20], 20, "FAIL", ""),
    ],
)
def test_every_printed_learning_rate_follows_from_a_limit(
    limit_fps: int, tried: list[int], printed: int, state: str, reason: str
) -> None:
    """Table 1.7 prints 80, 40 and 20: 80 is the search's ceiling, and 20 may be the last rate, which failed."""
    (unit,), outcome = run(AddressLearning(), MemoryMeasurer(5000, Fraction(limit_fps)), *HUNDRED, *PERCENTS)
    assert rates(unit) == {100: tried} and printed in tried
    (row,) = outcome.tables[0].rows
    assert (row["state"], row.get("reason", "")) == (state, reason)
    failed = state == "FAIL"
    assert (row["rate_fps_min"], row["rate_pct_min"]) == ((None, None) if failed else (printed, printed))
    if failed:
        assert (row["upper_fps"], row["upper_rate_pct"]) == (printed, printed)
    assert {row["learning_rate_fps"] for row in WHITE_RABBIT["address_learning"]} == {20, 40, 80}


@pytest.mark.parametrize(("capacity", "result"), [(99, None), (100, 100), (101, 100), (159, 100)])
def test_the_last_number_that_passed_is_the_capacity_even_where_nothing_above_the_minimum_does(
    capacity: int, result: int | None
) -> None:
    (unit,), outcome = run(AddressCaching(), MemoryMeasurer(capacity))
    assert unit.searches[0].result == result
    (row,) = outcome.tables[0].rows
    assert (row["capacity_min"], row["state"]) == (result, "MEASURED" if result else "FAIL")
    passed = [tried.addresses for tried in unit.searches[0].rows if tried.verdict is Verdict.PASS]
    assert max(passed, default=None) == result


def test_percents_of_the_base_rate_are_tried_as_frames_per_second_and_shown_as_both() -> None:
    settings = (*HUNDRED, "rate_unit=pct", "rate_base_fps=1000", "rate_resolution_pct=1")
    (unit,), outcome = run(AddressLearning(), MemoryMeasurer(5000, Fraction(437)), *settings)
    in_fps = ("rate_initial_fps=200", "rate_min_fps=200", "rate_max_fps=1000", "rate_resolution_fps=10")
    (same,), _ = run(AddressLearning(), MemoryMeasurer(5000, Fraction(437)), *HUNDRED, *in_fps)
    assert rates(unit) == rates(same)
    (row,) = outcome.tables[0].rows
    assert 427 <= row["rate_fps_min"] <= 437 < row["upper_fps"]
    for key, share in (
        ("rate_fps_min", "rate_pct_min"),
        ("rate_fps_max", "rate_pct_max"),
        ("upper_fps", "upper_rate_pct"),
    ):
        assert row[share] == pytest.approx(row[key] / 10)


def test_bounds_of_the_other_unit_do_not_matter() -> None:
    run(AddressLearning(), MemoryMeasurer(5000), *HUNDRED, "rate_unit=pct", "rate_min_fps=500")
    with pytest.raises(ParameterError, match="rate_min_pct=50, rate_initial_pct=20, rate_max_pct=100 are out of order"):
        run(AddressLearning(), MemoryMeasurer(5000), *HUNDRED, "rate_unit=pct", "rate_min_pct=50")


def test_a_known_learning_rate_is_found_within_the_resolution() -> None:
    settings = (*HUNDRED, "rate_max_fps=1000", "rate_resolution_fps=1")
    (unit,), _ = run(AddressLearning(), MemoryMeasurer(5000, Fraction(437)), *settings)
    (result,) = unit.searches
    assert 436 <= result.result <= 437 < result.upper


def test_a_device_that_learns_nothing_fails_without_a_rate() -> None:
    (unit,), outcome = run(AddressLearning(), MemoryMeasurer(0), *HUNDRED)
    assert (unit.searches[0].result, outcome.state) == (None, Verdict.FAIL)
    (row,) = outcome.tables[0].rows
    assert (row["state"], row["rate_fps_min"], row["upper_fps"]) == ("FAIL", None, 20)
    (in_pct,), _ = run(AddressLearning(), MemoryMeasurer(0), *HUNDRED, "rate_unit=pct", "rate_base_fps=1000")
    assert rates(in_pct)[100][-1] == 200, "20 % of the base rate is the lowest"


def slower_with_more(addresses: int) -> Fraction:
    """Learn 12,000 addresses per second divided by their number: 120 /s for 100, 19.6 /s for 612."""
    return Fraction(12_000, addresses)


def test_the_rate_is_searched_for_every_number_of_the_sweep() -> None:
    settings = ("addresses=sweep", "addresses_end=1000", "addresses_step=300", "rate_min_fps=1", "rate_max_fps=200")
    measurer = MemoryMeasurer(5000, slower_with_more)
    (unit,), outcome = run(AddressLearning(), measurer, *settings, "rate_resolution_fps=1")
    rows = outcome.tables[0].rows
    assert [row["addresses"] for row in rows] == [100, 400, 700, 1000]
    for row in rows:
        limit_fps = 12_000 / int(row["addresses"] or 0)
        assert row["rate_fps_min"] <= limit_fps < row["upper_fps"] <= row["rate_fps_min"] + 1
        assert (row["state"], row["number"]) == ("MEASURED", "step")
    learned = {spec.streams[0].frame_count for spec in measurer.specs}
    assert learned == {100, 400, 700, 1000}, "no capacity is searched"
    assert sum(len(search.rows) for search in unit.searches) == len(outcome.tables[1].rows)


def test_the_number_is_the_capacity_unless_a_sweep_is_asked_for() -> None:
    """The capacity is searched as in 5.7, at its own rate; the rate is searched with the number that it gives."""
    measurer = MemoryMeasurer(1500)
    settings = ("capacity_try_max_first=false", "capacity_rate_fps=25", *REPORT_RATES)
    (unit,), outcome = run(AddressLearning(), measurer, *settings)
    capacity, rate = unit.searches
    assert [row.addresses for row in capacity.rows] == [100, 1074, 1561, 1317, 1439, 1500]
    assert {row.learning_rate_fps for row in capacity.rows} == {25}
    assert (capacity.result, rate.addresses, rates(unit)) == (1500, 1500, {1500: [20, 60, 80]})
    (row,) = outcome.tables[0].rows
    assert (row["addresses"], row["number"], row["state"], row["reason"]) == (1500, "capacity", "MEASURED", "at least")
    assert [line["search"] for line in outcome.tables[1].rows] == ["capacity"] * 6 + ["learning rate"] * 3


@pytest.mark.parametrize(
    ("capacity", "numbers"),
    [
        (1500, [100, 612, 1124, 1500]),  # table 1.7 of the report: 64 and 128 bytes
        (1469, [100, 612, 1124, 1469]),  # 256 and 1280 bytes
        (982, [100, 612, 982]),  # 512 bytes
        (5000, [100, 612, 1124, 1636, 2048]),  # the end of the sweep bounds it
    ],
)
def test_a_sweep_to_the_capacity_has_the_numbers_of_the_report(capacity: int, numbers: list[int]) -> None:
    settings = ("addresses=sweep_to_capacity", "capacity_resolution=1", *REPORT_RATES)
    (unit,), _ = run(AddressLearning(), MemoryMeasurer(capacity), *settings)
    assert list(rates(unit)) == numbers


def test_a_capacity_below_the_sweep_is_the_only_number() -> None:
    settings = ("addresses=sweep_to_capacity", "capacity_min=1", "capacity_resolution=1")
    (unit,), _ = run(AddressLearning(), MemoryMeasurer(60), *settings)
    assert list(rates(unit)) == [60]


def test_without_a_capacity_there_is_no_rate_and_the_report_says_so() -> None:
    (unit,), outcome = run(AddressLearning(), MemoryMeasurer(50))
    assert rates(unit) == {} and outcome.state is Verdict.FAIL
    assert outcome.tables[0].rows == ()
    assert "64 B, base 1: no capacity was found (FAIL), so no learning rate was searched" in outcome.findings


def test_numbers_beyond_the_capacity_fail_at_every_rate() -> None:
    _, outcome = run(AddressLearning(), MemoryMeasurer(1000), "addresses=sweep", *REPORT_RATES)
    assert [(row["addresses"], row["state"], row["reason"]) for row in outcome.tables[0].rows] == [
        (100, "MEASURED", "at least"),
        (612, "MEASURED", "at least"),
        (1124, "FAIL", ""),
        (1636, "FAIL", ""),
        (2048, "FAIL", ""),
    ]
    assert outcome.state is Verdict.FAIL


def test_a_sweep_that_runs_downwards_is_refused() -> None:
    with pytest.raises(ParameterError, match="addresses_start=3000 is above addresses_end=2048"):
        run(AddressLearning(), FakeMeasurer(), "addresses=sweep", "addresses_start=3000")


def test_the_largest_number_and_the_highest_rate_are_tried_first() -> None:
    measurer = MemoryMeasurer(5000)
    (unit,), outcome = run(AddressLearning(), measurer)
    assert [len(search.rows) for search in unit.searches] == [1, 1]
    (row,) = outcome.tables[0].rows
    assert (row["addresses"], row["rate_fps_min"], row["state"]) == (2048, 100, "MEASURED")


def test_both_directions_take_whole_seconds_and_one_more_at_the_same_rate() -> None:
    measurer = MemoryMeasurer(5000)
    run(AddressCaching(), measurer, "learning_rate_fps=20", "addresses_max=1510")
    learn, test = measurer.specs[:2]
    assert learn.duration_ns == test.duration_ns == 77 * 10**9, "ceil(1510 / 20) + 1 s"
    assert learn.streams[0].rate_fps == test.streams[0].rate_fps == 20
    assert (learn.restabilise_ns, learn.settle_ns, test.settle_ns) == (10**9, 5 * 10**9, 5 * 10**9)
    # Ten addresses behind the test port, of which nothing was learned, end the search.
    (unknown,) = measurer.specs[-1].streams
    assert (unknown.destination_mac, unknown.tx_ports) == (bytes.fromhex("02f4bc020001"), (2,))
    assert (unknown.frame_count, unknown.rate_fps, unknown.modifiers[0].values) == (10, 20, Progression(10))
    run(AddressCaching(), measurer, "learning_rate_fps=20", "test_rate_fps=1000")
    assert {spec.streams[0].rate_fps for spec in measurer.specs[-3:-1]} == {20, 1000}


def test_a_fast_stop_sends_no_more_pieces_after_a_flooded_frame() -> None:
    """A quarter of 1600 addresses is unknown: of eight pieces of 200, the seventh is the last."""
    settings = ("addresses_initial=1600", "addresses_max=1600", *PUBLISHED)
    measurer = MemoryMeasurer(1200)
    (unit,), outcome = run(AddressCaching(), measurer, "fast_stop=true", *settings)
    (whole,), _ = run(AddressCaching(), MemoryMeasurer(1200), *settings)
    first = unit.searches[0].rows[0]
    assert (first.verdict, first.test_tx_frames, first.monitor_flood_frames) == (Verdict.FAIL, 1400, 200)
    pieces = [spec for spec in measurer.specs[1:9] if spec.continues]
    macs = [piece.streams[0].destination_mac for piece in pieces]
    assert macs == [bytes.fromhex("02f4bc01") + (1 + 200 * number).to_bytes(2, "big") for number in range(7)]
    assert unit.searches[0].result == whole.searches[0].result
    assert any("fast_stop" in text for text in outcome.deviations)
    assert pieces[1].label == "test 64 B 200 addresses from 201"
    log = TrialLog(MemoryMeasurer(1200))
    run(AddressCaching(), log, "fast_stop=true", *settings)
    assert log.verdicts[:8] == ["MEASURED", *["PASS"] * 6, "FAIL"], "of all pieces until then"


def test_the_pieces_of_a_fast_stop_have_all_random_addresses_once() -> None:
    measurer = MemoryMeasurer(1)
    measurer.measure = lambda spec, note=None: FakeMeasurer.measure(measurer, spec)  # type: ignore[method-assign]
    run(AddressCaching(), measurer, "fast_stop=true", "address_order=random", "addresses_max=1003")
    learn, *pieces, _ = (spec.streams[0].modifiers[0].values for spec in measurer.specs)
    assert isinstance(learn, ValueList) and len(pieces) == 8
    assert measurer.specs[0].streams[0].source_mac == bytes.fromhex("02f4bc010001")
    assert [value for piece in pieces if isinstance(piece, ValueList) for value in piece.values] == list(learn.values)


def test_the_test_port_takes_an_address_of_the_base_when_asked() -> None:
    measurer = MemoryMeasurer(5000)
    settings = ("test_port_mac=base", "mac_base=00-1B-C5")
    run(AddressCaching(), measurer, *settings)
    learn, test = measurer.specs[:2]
    own = bytes.fromhex("001bc5020000")
    assert (learn.streams[0].destination_mac, test.streams[0].source_mac) == (own, own)
    assert learn.learning.addresses == ((2, own),), "its broadcast comes from this address too"
    assert learn.streams[0].source_mac == test.streams[0].destination_mac == bytes.fromhex("001bc5010001")
    run(AddressCaching(), measurer, *settings, "learning_destination=broadcast")
    assert measurer.specs[-3].streams[0].destination_mac is None


@pytest.mark.parametrize("base", ["02:F4", "zz:00:00", "01:00:5e", "02:F4:BC:00"])
def test_bases_that_are_no_unicast_addresses_are_refused(base: str) -> None:
    with pytest.raises(ParameterError, match=f"mac_base={base}: not valid") as refused:
        run(AddressCaching(), FakeMeasurer(), f"mac_base={base}")
    assert refused.value.hint == "mac_base is three bytes of a unicast address, such as 02:F4:BC"


def test_addresses_that_age_while_the_others_are_learned_are_a_finding() -> None:
    def findings(*settings: str) -> list[str]:
        test = find_test("rfc2889.address_caching")
        _, outcome = run(test, MemoryMeasurer(5000), "learning_rate_fps=20", *settings)
        return [text for text in outcome.findings if "aged" in text]

    assert findings() == []
    (text,) = findings("aging_s=100")
    assert text.startswith("64 B: 2,048 addresses at 20 frames/s take 102.4 s to learn, longer than aging_s=100")


def test_a_device_that_keeps_old_entries_is_named() -> None:
    """As in the report of 2023-10-23: flooded at 1561, and from then on at every smaller number too."""

    class Zombies(MemoryMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            result = super().measure(spec, note)
            if result.flooded_frames:
                self.capacity = 0
            return result

    (unit,), outcome = run(AddressCaching(), Zombies(1500), *PUBLISHED)
    assert unit.searches[0].state is Verdict.FAIL
    text = "64 B, base 1: 1,074 addresses at 50 frames/s passed and failed: the device keeps entries"
    assert any(finding.startswith(text) for finding in outcome.findings)
    (_,), later = run(AddressCaching(), Zombies(1500))
    text = "64 B, base 1: 0 of 100 addresses were held, and 1,500 of 2,048: the device keeps entries that"
    assert any(finding.startswith(text) for finding in later.findings), "the largest number was tried first"
    assert run(AddressCaching(), MemoryMeasurer(1500))[1].findings == ()


def test_a_rate_at_which_nothing_is_learned_is_no_sign_of_old_entries() -> None:
    (unit,), outcome = run(AddressLearning(), MemoryMeasurer(5000, Fraction(30)), *HUNDRED, *REPORT_RATES)
    assert [row.verdict for row in unit.searches[0].rows] == [Verdict.PASS, Verdict.FAIL, Verdict.FAIL]
    assert not any("held" in text for text in outcome.findings)


def test_a_capacity_that_depends_on_the_frame_size_is_a_finding() -> None:
    class Forgetful(MemoryMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            self.capacity = 1500 if spec.streams[0].frame_size_bytes == 64 else 769
            return super().measure(spec, note)

    def findings(measurer: MemoryMeasurer) -> list[str]:
        test = AddressCaching()
        parameters = resolve(test.name, test.parameters, (*PUBLISHED, "repetitions=1"))
        units = test.units(parameters, (64, 1518))
        results = {unit: test.run_unit(unit, BED, parameters, measurer) for unit in units}
        return [text for text in test.assemble(BED, parameters, results).findings if "depends" in text]

    assert findings(MemoryMeasurer(1500)) == []
    (text,) = findings(Forgetful(0))
    assert text.startswith("base 1: the capacity depends on the frame size (64 B: 1,500, 1518 B: 769)")


def test_an_untrusted_iteration_is_no_verdict() -> None:
    measurer = FakeMeasurer(status=lambda _: Verdict.INVALID)
    (unit,), outcome = run(AddressCaching(), measurer)
    (result,) = unit.searches
    assert (result.state, result.result, outcome.state) == (Verdict.INVALID, None, Verdict.INVALID)


@pytest.mark.parametrize("settings", [("learning_port=2",), ("test_port=9",), ("addresses_min=200",)])
def test_contradicting_roles_and_bounds_are_refused(settings: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError):
        run(AddressCaching(), FakeMeasurer(), *settings)


def test_a_role_on_a_port_that_is_not_there_is_told_the_ports_that_are() -> None:
    with pytest.raises(ParameterError) as refused:
        run(AddressCaching(), FakeMeasurer(), "test_port=9")
    assert refused.value.hint == f"ports are 1 to {len(BED.ports)}"


def test_the_counter_of_the_addresses_has_16_bits() -> None:
    measurer = MemoryMeasurer(65_535)
    settings = ("addresses_initial=65535", "addresses_max=65535", "learning_rate_fps=100000", "fast_stop=true")
    (unit,), _ = run(AddressCaching(), measurer, *settings)
    assert unit.searches[0].result == 65_535
    last = measurer.specs[-2].streams[0]
    assert last.destination_mac is not None
    assert int.from_bytes(last.destination_mac[-2:], "big") + last.frame_count - 1 == 65_535


@pytest.mark.parametrize(
    ("test", "settings"),
    [
        (AddressCaching(), ("addresses_max=20000",)),
        (AddressLearning(), ("capacity_max=20000",)),
        (AddressLearning(), ("addresses=sweep", "addresses_end=20000", "capacity_max=65000")),
    ],
)
def test_more_random_addresses_than_the_data_plane_keeps_are_refused(test: Method, settings: tuple[str, ...]) -> None:
    assert load_contract()["MODIFIER_VALUES"] == MAX_RANDOM_ADDRESSES
    with pytest.raises(ParameterError, match="20000 addresses are asked for, and at most 16384 can be random"):
        run(test, FakeMeasurer(), "address_order=random", *settings)
    test.check(BED, resolve(test.name, test.parameters, settings))


def test_two_ports_leave_nobody_to_monitor() -> None:
    test = AddressLearning()
    with pytest.raises(TopologyError, match="needs at least 3 tester ports"):
        test.check(make_bed(2), resolve(test.name, test.parameters, ()))


def test_random_offsets_differ_and_repeat() -> None:
    assert len(set(random_offsets(2048, 1))) == 2048
    assert random_offsets(100, 1) == random_offsets(100, 1) != random_offsets(100, 2)


def searched(result: float | None, upper: float | None, *, at_least: bool = False, trials: int = 0) -> AddressSearch:
    state = Verdict.MEASURED if result is not None else Verdict.FAIL
    rows = cast("tuple[Iteration, ...]", (None,) * trials)
    return AddressSearch(search="capacity", state=state, result=result, upper=upper, at_least=at_least, rows=rows)


@pytest.mark.parametrize(
    ("searches", "expected"),
    [
        ([searched(200, 300, trials=4), searched(100, 150, trials=3)], (Verdict.MEASURED, "", 100, 200, 150, 2, 7)),
        # The least result is open above, or another one.
        ([searched(100, None, at_least=True), searched(200, 300)], (Verdict.MEASURED, AT_LEAST, 100, 200, 300, 2, 0)),
        ([searched(100, 110), searched(200, None, at_least=True)], (Verdict.MEASURED, "", 100, 200, 110, 2, 0)),
        ([searched(100, None, at_least=True), searched(None, 50)], (Verdict.FAIL, "", 100, 100, 50, 2, 0)),
        ([searched(None, None)], (Verdict.FAIL, "", None, None, None, 1, 0)),
    ],
)
def test_searches_with_several_bases_have_a_spread(searches: list[AddressSearch], expected: tuple[object, ...]) -> None:
    found = spread(searches)
    numbers = (found.lowest, found.highest, found.upper, found.repetitions, found.iterations)
    assert (found.state, found.reason, *numbers) == expected


def test_results_above_which_nothing_was_tried_are_told_by_their_bases() -> None:
    held = searched(2048, None, at_least=True)
    assert list(floors("64 B", {1: held, 2: held}, "addresses")) == [
        "64 B: >= 2,048 addresses; no more was tried",
    ]
    less = searched(100, None, at_least=True)
    assert list(floors("64 B", {1: held, 2: less, 3: held, 4: searched(5, 6)}, "addresses")) == [
        "64 B, base 2: >= 100 addresses; no more was tried",
        "64 B, bases 1, 3: >= 2,048 addresses; no more was tried",
    ]


HUNDRED_AT_30 = Iteration(
    search="capacity",
    frame_size_bytes=64,
    repetition=1,
    addresses=100,
    learning_rate_fps=30.0,
    learning_tx_frames=100,
    test_tx_frames=100,
    test_flood_frames=0,
    learning_rx_frames=100,
    learning_flood_frames=0,
    monitor_flood_frames=0,
    held_addresses=100,
    verdict=Verdict.PASS,
    reason="",
)
FLOODED = {"verdict": Verdict.FAIL, "held_addresses": 40, "monitor_flood_frames": 60}
NONE = {"verdict": Verdict.FAIL, "held_addresses": 0}
NINETY, OTHER_RATE = {"addresses": 90, "held_addresses": 90}, {"learning_rate_fps": 40.0}
LOSING = {"verdict": Verdict.FAIL, "lost_frames": 7, "addresses": 200}
NOWHERE: dict[str, Any] = {"verdict": Verdict.FAIL, "held_addresses": 0, "learning_rx_frames": 0}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([{}], []),
        (
            [{**NONE, "addresses": 200, "monitor_flood_frames": 200}, FLOODED],
            [
                "base 1: 0 of 200 addresses were held, and 40 of 100: the device forgets addresses, .* 14 s old",
                "64 B, base 1: 40 of 100 addresses at 30 frames/s were held, the least that was tried: .*tested, 11 s",
            ],
        ),
        ([{"addresses": 50, "held_addresses": 50}, FLOODED], []),
        ([{"verdict": Verdict.FAIL, "held_addresses": 99}], []),
        (
            [{}, {"verdict": Verdict.FAIL, "held_addresses": 99}],
            ["100 addresses at 30 frames/s passed and failed: the"],
        ),
        # None of them is older than the others were.
        (
            [NINETY, {**NINETY, **FLOODED}],
            ["90 addresses at 30 .* passed and", "40 of 90 .*, and 90 of 90: the device k"],
        ),
        # One that held some before, and two that held none.
        (
            [{}, {**NONE, "addresses": 80}, {**NONE, "addresses": 70}],
            ["0 of 70 addresses were held, and 100 of 100: the device k"],
        ),
        # Those of another rate, or of more addresses, do not say what it should have held.
        ([OTHER_RATE, {**FLOODED, "held_addresses": 10}, NINETY], ["10 of 100 addresses were held, and 90 of 90"]),
        ([OTHER_RATE, {**FLOODED, "held_addresses": 10}], []),
        ([NONE, {"addresses": 200, "held_addresses": 200}], []),
        ([{"addresses": 200, "held_addresses": 150}, FLOODED], []),
        # Less than half, but for those that were lost.
        ([NINETY, FLOODED], ["40 of 100 addresses were held, and 90 of 90: the device forgets"]),
        ([NINETY, {**FLOODED, "held_addresses": 45}], []),
        ([NINETY, {**FLOODED, "lost_frames": 30}], ["1 of 2 iterations failed in which frames were lost"]),
        # The least rate with its least number is the example.
        (
            [{**LOSING, "learning_rate_fps": 40.0}, LOSING, {**LOSING, "addresses": 300}, {"lost_frames": 1}],
            ["64 B: 3 of 4 iterations failed in which frames were lost, such as 7 with 200 addresses at 30 frames/s"],
        ),
        ([NOWHERE, NOWHERE], ["64 B, base 1: frames to 100 addresses came to no port"]),
        ([{**NOWHERE, "test_flood_frames": 1}], []),
        ([{**NOWHERE, "learning_flood_frames": 1}], []),
        ([{**NOWHERE, "test_tx_frames": 0}], []),
        ([{"verdict": Verdict.INVALID, "reason": "no link"}], ["64 B, 100 addresses at 30 frames/s: no link"]),
    ],
)
def test_findings_of_iterations_by_hand(changes: list[dict[str, Any]], told: list[str]) -> None:
    """All are of one search, in this order."""
    found = findings_of(changes)
    assert [bool(re.search(text, line)) for text, line in zip(told, found, strict=True)] == [True] * len(told)


def findings_of(changes: Sequence[dict[str, Any]], *settings: str) -> list[str]:
    """Findings of iterations in one search, behind another one that tells nothing."""
    rows = tuple(replace(HUNDRED_AT_30, **change) for change in changes)
    good, search = (replace(searched(None, None), rows=some) for some in ((HUNDRED_AT_30,), rows))
    unit = AddressUnit(frame_size_bytes=64, repetition=1, searches=(good, search))
    test = find_test("rfc2889.address_caching")
    return list(all_findings([unit], rows, resolve(test.name, test.parameters, settings)))


@pytest.mark.parametrize(("test_fps", "later_s"), [(25, 2), (50, 0), (100, 0)])
def test_the_oldest_address_is_as_old_as_learning_silence_and_a_slower_test(test_fps: int, later_s: int) -> None:
    """100 addresses at 50 frames/s take two seconds and a begin of the third; at 25 to the oldest two more."""
    test = find_test("rfc2889.address_caching")
    asked = (f"test_rate_fps={test_fps}", "settle_ms=1500", "learning_wait_ms=2000")
    assert age_s(100, Fraction(50), resolve(test.name, test.parameters, asked)) == 3 + Fraction(7, 2) + later_s


def test_addresses_are_old_when_learning_takes_as_long_as_they_are_kept() -> None:
    said = "64 B: 60 addresses at 30 frames/s take 2 s to learn, longer than aging_s=2: "
    (found,) = findings_of([{"addresses": 60}] * 2, "aging_s=2")
    assert found.startswith(said)
    assert " take 3.333 s to learn" in findings_of([{}], "aging_s=2")[0]
    assert findings_of([{"addresses": 59}], "aging_s=2") == []


class Dropping(MemoryMeasurer):
    """Drops the frames of test trials, from the ``first`` of these on."""

    def __init__(self, first: int) -> None:
        super().__init__(5000)
        self.first = first

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = super().measure(spec, note)
        if spec.label.startswith("learn"):
            return result
        self.first -= 1
        return result if self.first > 0 else replace(result, rx_frames=0, ports=(), flooded_frames=0)


@pytest.mark.parametrize(("first", "told"), [(1, 1), (3, 1), (99, 0)])
def test_frames_that_come_to_no_port_are_told_once(first: int, told: int) -> None:
    _, outcome = run(AddressCaching(), Dropping(first), *PUBLISHED)
    assert sum("addresses came to no port" in text for text in outcome.findings) == told


def test_what_is_the_same_at_several_sizes_is_said_once() -> None:
    _, outcome = run_units(AddressCaching(), BED, MemoryMeasurer(5000), (64, 128, 256), "repetitions=1")
    assert outcome.findings == ("64 B to 256 B (3 results): >= 2,048 addresses; no more was tried",)
    log = outcome.tables[1]
    assert (log.name, log.detail, log.note) == (
        "address_caching_iterations",
        False,
        "Search of the capacity: bisection, initial 100, minimum 100, maximum 2,048, resolution 100, maximum first: "
        "yes.",
    )


@pytest.mark.parametrize("repetitions", [1, 2, 3, 4])
def test_fewer_searches_than_the_rfc_asks_for_are_a_deviation(repetitions: int) -> None:
    _, outcome = run(AddressCaching(), MemoryMeasurer(5000), f"repetitions={repetitions}")
    few = f"{repetitions} searches with different address bases instead of 3 or more."
    assert (few in outcome.deviations) == (repetitions < 3)


@pytest.mark.parametrize(("loss_ppb", "said"), [(0, 0), (50_000_000, 1)])
def test_a_device_that_loses_frames_is_told_from_one_whose_table_is_full(loss_ppb: int, said: int) -> None:
    """298 addresses or more beside those of ports; one frame in 20 is lost."""
    topology = parsed(switch("mac_table: {entries: 300, aging_s: 300}", f"loss_ppb: {loss_ppb}", ports=4))
    asked = ("repetitions=1", "addresses_max=400", "addresses_resolution=2", "addresses_min=2", "settle_ms=1")
    outcome = run_on_sim(AddressCaching(), topology, (64,), *asked)[1]
    row: dict[str, Any] = dict(outcome.tables[0].rows[0])
    assert (row["capacity_min"] >= 298) is not bool(said)
    # Also where frames are lost, the device holds what passed and less than what failed.
    assert row["capacity_min"] <= 299 < row["upper_addresses"] <= (400 if said else 301)
    assert len([text for text in outcome.findings if "a full table floods frames and loses none" in text]) == said


@pytest.mark.parametrize(("lost", "flooded", "upper", "said"), [(0, 1, 400, 0), (1, 1, None, 1), (1, 2, 400, 0)])
def test_a_number_that_failed_by_lost_frames_alone_is_no_bound(
    lost: int, flooded: int, upper: int | None, said: int
) -> None:
    """A lost frame makes one address unknown at most: more floods are those of a full table."""

    class Losing(MemoryMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            result = super().measure(spec, note)
            if spec.streams[0].frame_count < 400 or spec.label.startswith("learn"):
                return result
            ports = (result.ports[0], PortCounts(3, flooded_frames=flooded))
            return replace(result, lost_frames=lost, flooded_frames=flooded, ports=ports)

    asked = ("addresses_max=400", "addresses_resolution=301", "addresses_initial=399", "addresses_min=100")
    _, outcome = run(AddressCaching(), Losing(5000), *asked)
    row = outcome.tables[0].rows[0]
    assert (row["capacity_min"], row["upper_addresses"]) == (399, upper)
    assert sum("more failed only where frames were lost" in text for text in outcome.findings) == said
    assert row.get("reason", "") == ("at least" if said else "")


MEMBERS = ", ".join(f"{{port: {port}, mode: {{access: {(port + 1) // 2}}}}}" for port in range(1, 5))
VLANS = f"vlans: {{ports: [{MEMBERS}]}}"


@pytest.mark.parametrize("vlans", [(), (VLANS,)])
def test_a_capacity_is_not_told_where_no_monitoring_port_gets_a_flooded_frame(vlans: tuple[str, ...]) -> None:
    """The device holds 302 addresses; L and T are alone in their VLAN, and each frame that it floods comes to L."""
    topology = parsed(switch("mac_table: {entries: 302, aging_s: 300}", *vlans, ports=4))
    asked = ("repetitions=1", "addresses_min=300", "addresses_initial=300", "addresses_max=600", "settle_ms=1")
    _, outcome, trials = run_on_sim(AddressCaching(), topology, (64,), *asked, "addresses_resolution=300")
    row: dict[str, Any] = dict(outcome.tables[0].rows[0])
    found = (row["state"], row.get("capacity_min"), row.get("upper_addresses"), len(trials))
    assert found == (("INVALID", None, None, 3) if vlans else ("MEASURED", 300, 600, 4))
    assert sum("so nobody sees a flood" in text for text in outcome.findings) == len(vlans)
    verdicts = [row["verdict"] for row in outcome.tables[1].rows]
    assert verdicts == (["INVALID"] if vlans else ["FAIL", "PASS"])


def test_a_device_that_forgets_or_holds_fewer_than_are_tried_is_told() -> None:
    """It forgets within a second, and learning alone takes two."""
    topology = parsed(switch("mac_table: {entries: 302, aging_s: 1}", ports=3))
    asked = ("repetitions=1", "addresses_max=100", "settle_ms=1")
    outcome = run_on_sim(AddressCaching(), topology, (64,), *asked)[1]
    (text,) = outcome.findings
    assert text.startswith("64 B, base 1: 0 of 100 addresses at 50 frames/s were held, the least that was tried: ")


@pytest.mark.parametrize(
    ("rate", "held", "finding"),
    [
        ("same", 600, "0 of 601 addresses were held, and 600 of 600: the device forgets addresses, as these were 20 s"),
        ("25", 300, "0 of 1,000 addresses were held, and 300 of 300: the device forgets addresses, as these were 47 s"),
    ],
)
def test_addresses_forgotten_while_more_are_learned_are_no_small_table(rate: str, held: int, finding: str) -> None:
    """After 20.5 s. At 50 frames/s 600 take 12 s, with the end, silence and a begin at a whole second 20 s. Half as
    fast, T comes to the last of 300 when it is 6 + 8 s and 6 s more old; of 301 it is 7 + 8 s and 6 s.
    """
    topology = parsed(switch("mac_table: {entries: 8192, aging_s: 20.5}", ports=3))
    bounds = ("addresses_max=1000", f"addresses_min={held}", f"addresses_initial={held + 1}", "addresses_resolution=1")
    asked = (*bounds, "repetitions=1", f"test_rate_fps={rate}")
    outcome = run_on_sim(AddressCaching(), topology, (64,), *asked)[1]
    row = outcome.tables[0].rows[0]
    assert (row["capacity_min"], row["upper_addresses"]) == (held, held + 1)
    assert outcome.findings[0].startswith(f"64 B, base 1: {finding} old or more when frames were sent")
    full = parsed(switch(f"mac_table: {{entries: {held + 2}, aging_s: 300}}", ports=3))
    assert run_on_sim(AddressCaching(), full, (64,), *asked)[1].findings == ()
