"""Every test that searches accounts for its goal, its bounds and its trials."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from support.beds import GIGABIT, two_switch_bed
from support.fakes import FakeMeasurer
from support.runs import run_units

from p4mesh.methods.base import Method
from p4mesh.methods.registry import TESTS
from p4mesh.methods.results.outcome import Outcome, Table
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

BED = two_switch_bed()
SEARCHING = [
    test
    for test in TESTS
    if any(item.name == "search_method" for item in test.parameters) and not test.name.endswith(".reset")
]
"""Reset trials have outages, which this fake has not; test_reset has one that does."""
METHODS = ("bisect", "bisect_verified", "linear_down", "linear_up", "combo", "mlr")
SIZE = 128


def run(test: Method, share: str, *settings: str) -> Outcome:
    """Run on a device that carries ``share`` of the line rate of one port, as a load of all that send."""

    def carry(spec: TrialSpec, sent: int) -> int:
        limit_fps = Fraction(share) * max_rate_fps(SIZE, GIGABIT)
        load_fps = max(
            sum(stream.rate_fps for stream in spec.streams if port in stream.tx_ports) for port in BED.port_numbers
        )
        return sent if load_fps <= limit_fps else int(sent * limit_fps / load_fps)

    measurer = FakeMeasurer(carry)
    known = {item.name for item in test.parameters}
    # Some tests have a first load or a highest load of their own.
    asked = ("search_initial_pct=50", "search_max_pct=100", "ppm_below=0", *settings)
    taken = [item for item in asked if item.partition("=")[0] in known]
    return run_units(test, BED, measurer, (SIZE,), *taken)[1]


def table(outcome: Outcome, name: str) -> Table:
    return next(table for table in outcome.tables if table.name == name)


def test_the_tests_that_search() -> None:
    assert {test.name for test in SEARCHING} >= {"rfc2889.fully_meshed", "rfc2544.throughput", "rfc2889.broadcast"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("test", SEARCHING, ids=lambda test: str(test.name))
def test_bounds_goal_and_trials_are_reported(test: Method, method: str) -> None:
    outcome = run(test, "0.605", f"search_method={method}", "search_min_pct=1", "runs=1")
    (row,) = table(outcome, "searches").rows
    assert (row["search_method"], row["minimum_pct"], row["maximum_pct"]) == (method, 1, 100)
    trials = table(outcome, "search_trials").rows
    assert row["trials"] == len(trials)
    passed: set[Any] = {trial["load_pct"] for trial in trials if trial["verdict"] == "PASS"}
    failed: set[Any] = {trial["load_pct"] for trial in trials if trial["verdict"] == "FAIL"}
    assert row["lower_pct"] == max(passed) and row["upper_pct"] == min(failed)
    assert all(trial["duration_ms"] > 0 for trial in trials)
    if method == "combo":
        assert (row["initial_pct"], row["step_pct"], row["backoff_pct"]) == (50, 10, 50)
    if method == "bisect_verified":
        assert (row["verify_trials"], row["verify_overload_frames"]) == (2, 1000)
    if method == "mlr":
        (goal,) = table(outcome, "mlr_goals").rows
        assert (goal["lower_pct"], goal["upper_pct"]) == (row["lower_pct"], row["upper_pct"])
        assert (goal["goal_loss_pct"], goal["exceed_pct"], goal["width_pct"]) == (0, 50, 0.5)
        assert goal["regularity"] == "regular" and goal["conditional_pct"] is not None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("test", SEARCHING, ids=lambda test: str(test.name))
def test_no_test_shows_a_result_that_no_trial_passed(test: Method, method: str) -> None:
    outcome = run(test, "0.001", f"search_method={method}", "search_min_pct=1", "runs=1")
    (row,) = table(outcome, "searches").rows
    assert row.get("lower_pct") is None and row["upper_pct"] is not None
    assert not any(trial["verdict"] == "PASS" for trial in table(outcome, "search_trials").rows)
    if method == "mlr":
        (goal,) = table(outcome, "mlr_goals").rows
        assert (goal["regularity"], goal["conditional_pct"]) == ("irregular", None)


def test_goals_by_name_report_each_goal() -> None:
    test = next(test for test in SEARCHING if test.name == "rfc2544.throughput")
    outcome = run(test, "0.605", "search_method=mlr", "mlr_goals=software", "mlr_initial_pct=10")
    rows = table(outcome, "mlr_goals").rows
    assert [row["goal_loss_pct"] for row in rows] == [0, 0.5]
    assert all(row["duration_sum_ms"] == pytest.approx(21 * row["final_duration_ms"]) for row in rows)
    assert all(row["initial_duration_ms"] == pytest.approx(row["final_duration_ms"] / 10) for row in rows)


@pytest.mark.parametrize(("threshold", "state"), [("60", Verdict.PASS), ("61", Verdict.FAIL)])
def test_a_throughput_below_the_threshold_is_a_fail(threshold: str, state: Verdict) -> None:
    for name in ("rfc2544.throughput", "rfc2889.fully_meshed", "rfc2889.broadcast"):
        test = next(test for test in SEARCHING if test.name == name)
        outcome = run(test, "0.605", f"pass_threshold_pct={threshold}", "parts=throughput")
        assert outcome.state is state, name
        row = outcome.tables[0].rows[0]
        assert (row["state"], row.get("reason", "")) == (state.value, "" if state is Verdict.PASS else "below 61 %")
