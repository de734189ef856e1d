"""Durations (methodology 0.5): as the RFC says where time is real, scaled in virtual time, and reports tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from support.beds import two_switch_bed
from support.fakes import FakeMeasurer, FlowMeasurer, lossless
from support.networks import TOPOLOGIES
from support.runs import run_units

from p4mesh.cli.main import main
from p4mesh.measurement.counts import Outage
from p4mesh.methods.base import Method, TrialNote
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import TESTS, find_test
from p4mesh.methods.results.outcome import Outcome
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import prepare
from p4mesh.topology import load_topology
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

GIGABIT = 10**9
BED = two_switch_bed(reset_times_s=(("dut", 1),), failures=5)
NEEDED = {"rfc5180.hop_by_hop": ("routed=true",), "recirculation.delta": ("rates=100 Mbit/s L2",)}
"""Settings without which a test does not run on this bed."""
BRIDGE = TOPOLOGIES / "bridge-4x10m.yaml"
TIMED = [test for test in TESTS if any(parameter.name == "duration_ms" for parameter in test.parameters)]
CONFIRMED = ("rfc2544.throughput", "rfc5180.throughput", "rfc5695.throughput", "srv6.throughput")
SECONDS = {
    **dict.fromkeys(CONFIRMED, 30),
    "recirculation.delta": 10,
    "rfc3918.latency": 120,
    "rfc3918.min_max_latency": 120,
    "rfc3918.burdened_latency": 120,
    "chassis.multicast": 120,
    "chassis.n_to_n": 120,
}
"""Search trials, of which the result is confirmed for 60 s; trials that no RFC describes; latency by RFC 3918 5.1;
other tests measure as long as their RFC says."""


class OneFrameLost(FlowMeasurer):
    """A wire; a device that is reset loses a frame."""

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = super().measure(spec, note)
        if spec.interruption is None:
            return result
        return replace(result, outages=(Outage(spec.streams[0].name, 1, 2, 1000, 1, 0, 0, 1000),))


def run(test: Method, measurer: FakeMeasurer, *settings: str, real_time: bool) -> tuple[Outcome, list[TrialSpec]]:
    return run_units(test, BED, measurer, (128,), *settings, real_time=real_time)[1], measurer.specs


def seconds(specs: Sequence[TrialSpec]) -> list[float]:
    return [spec.duration_ns / 10**9 for spec in specs]


@pytest.mark.parametrize("test", TIMED, ids=lambda test: test.name)
def test_trials_take_as_long_as_the_rfc_says_where_time_is_real(test: Method) -> None:
    wanted = SECONDS.get(test.name, 30 if test.name.startswith(("rfc2889.", "rfc3918.", "gsi.")) else 60)
    for real_time, shown in ((False, "scaled"), (True, str(1000 * wanted))):
        assert resolve(test.name, test.parameters, (), real_time=real_time).shown()["duration_ms"] == shown


def test_only_tests_of_tables_and_delays_have_no_duration_of_a_trial() -> None:
    """Theirs follows from the number of addresses, groups or messages and the rate, or from the longest time."""
    without = {test.name for test in TESTS} - {test.name for test in TIMED}
    delays = {f"rfc3918.{name}" for name in ("join_delay", "leave_delay", "burdened_join_delay")}
    messages = {f"messages.{name}" for name in ("latency", "background", "n_to_one")}
    tables = {"rfc2889.address_caching", "rfc2889.address_learning", "rfc3918.group_capacity"}
    events = {test.name for test in TESTS if test.name.startswith("convergence.")}
    assert without == tables | delays | messages | events | {"gsi.mixed"}


@pytest.mark.parametrize(
    ("target", "settings", "shown"),
    [
        ("sim", (), "scaled"),
        ("live", (), "30000"),
        ("bmv2", (), "30000"),
        ("live", ("duration_ms=1000",), "1000"),
        ("live", ("duration_ms=scaled",), "scaled"),
        ("live", ("scaled_frames=500",), "scaled"),
    ],
)
def test_the_target_decides_unless_the_user_says_otherwise(target: str, settings: tuple[str, ...], shown: str) -> None:
    test = find_test("rfc2889.fully_meshed")
    prepared = prepare(test, load_topology(str(BRIDGE)), RunOptions(test.name, "", settings=settings, target=target))
    assert prepared.job.parameters.shown()["duration_ms"] == shown


def test_scaled_frames_of_a_topology_say_how_long_trials_are_there_on_every_target() -> None:
    test = find_test("rfc2544.frame_loss")
    topology = replace(load_topology(str(BRIDGE)), settings={test.name: ("scaled_frames=500",)})
    prepared = prepare(test, topology, RunOptions(test.name, "", target="live"))
    assert prepared.job.parameters.shown()["duration_ms"] == "scaled"


def test_throughput_is_searched_for_30_s_and_confirmed_for_60_s() -> None:
    outcome, specs = run(find_test("rfc2544.throughput"), FakeMeasurer(), real_time=True)
    assert seconds(specs) == [30, 60]
    assert outcome.deviations == (
        "Search trials are shorter than the 60 s of RFC 2544 24, the confirming ones are not.",
    )


def test_latency_is_measured_for_120_s_and_departs_from_nothing() -> None:
    outcome, specs = run(find_test("rfc2544.latency"), FakeMeasurer(), "mode=rfc", "runs=20", real_time=True)
    assert seconds(specs)[-20:] == [120] * 20
    assert outcome.deviations == ()


def test_overloads_take_60_s_and_resets_come_after_15_s() -> None:
    parameters = {
        name: resolve(name, find_test(name).parameters, (), real_time=True).shown()
        for name in ("rfc2544.system_recovery", "rfc2544.reset")
    }
    assert parameters["rfc2544.system_recovery"]["overload_ms"] == "60000"
    assert parameters["rfc2544.reset"]["before_ms"] == "15000"


@pytest.mark.parametrize("test", TIMED, ids=lambda test: test.name)
def test_every_report_of_scaled_trials_says_how_short_they_were(test: Method) -> None:
    needed = NEEDED.get(test.name, ())
    outcome, _ = run(test, OneFrameLost(lossless), *needed, real_time=False)
    assert [text for text in outcome.deviations if text.startswith("Trial duration ")], outcome.deviations
    if test.name not in CONFIRMED:
        outcome, _ = run(test, OneFrameLost(lossless), *needed, real_time=True)
        assert [text for text in outcome.deviations if "uration" in text or "shorter" in text] == []


def test_reports_of_scaled_trials_say_what_a_queue_may_add_that_none_of_them_shows() -> None:
    """4 ticks in 20 ms are 12,000 in 60 s."""
    outcome, _ = run(find_test("rfc2544.throughput"), FakeMeasurer(), "duration_ms=20", real_time=False)
    assert "is not seen: in 60 s it adds up to 12,000, and with jitter more." in outcome.deviations[0]


def test_a_trial_longer_than_that_of_the_rfc_is_no_deviation() -> None:
    outcome, specs = run(find_test("rfc2544.frame_loss"), FakeMeasurer(), "duration_ms=120000", real_time=False)
    assert seconds(specs) == [120, 120]
    assert outcome.deviations == ()


def test_the_list_of_tests_has_both_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tests", "rfc2889.fully_meshed"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("    duration_ms"))
    assert line.split()[1] == "scaled"
    assert line.endswith("; default on bmv2, live, tofino: 30000")
    assert main(["tests", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    found = {item["name"]: item for item in listed[0]["parameters"]}
    assert (found["duration_ms"]["default"], found["duration_ms"]["real_time_default"]) == ("scaled", "30000")
    assert (found["settle_ms"]["default"], found["settle_ms"]["real_time_default"]) == ("2000", "2000")
