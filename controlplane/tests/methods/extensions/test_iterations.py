"""Repetition of whole tests: varying values are shown with their statistics, flapping verdicts with their counts.

Method: devices whose capacity differs from trial to trial by a known rule, then a simulated device with
random loss, whose iterations meet different random numbers.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support import networks
from support.beds import make_bed, two_switch_bed
from support.fakes import FakeMeasurer, FlowMeasurer, capacity

from p4mesh.cli import single_command
from p4mesh.measurement.counts import Outage, PortCounts
from p4mesh.methods.base import Method, TrialNote, Unit
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import TESTS, find_test
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.iterations import combined
from p4mesh.methods.results.outcome import Cell, Figure, Outcome, Series, Table
from p4mesh.methods.results.record import Record
from p4mesh.run.options import RunOptions
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.memberships import MembershipChange
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

SETTINGS = {
    "rfc5180.hop_by_hop": ("routed=true",),
    "rfc2544.reset": ("load_pct=50",),
    "rfc5180.reset": ("load_pct=50",),
    "rfc2544.back_to_back": ("repetitions=2",),
    "rfc5180.back_to_back": ("repetitions=2",),
    "rfc2889.address_learning": ("addresses=sweep", "addresses_end=100"),
    "recirculation.delta": ("rates=100 Mbit/s L2",),
    # The stations of this bed have no sessions, of which a limit could follow.
    "convergence.silence": ("time_limit_ms=2000",),
}
FOUR_PORTS = two_switch_bed(reset_times_s=(("dut", 1),), failures=5)
BED = make_bed(2)
COLUMNS = (Column("frame_size_bytes", "Size", "B"), Column("state", "Result"), Column("lost_frames", "Lost", "frames"))


class Losing(FlowMeasurer):
    """Loses a share of every flow above 10 % load, and frames when it is reset, as the iteration says."""

    def __init__(self, iteration: int) -> None:
        super().__init__(self.carried)
        self.iteration = iteration

    def carried(self, spec: TrialSpec, sent: dict[tuple[str, int, int], int]) -> dict[tuple[str, int, int], int]:
        """The frames of each flow that arrive."""
        first = spec.streams[0]
        light = first.rate_fps <= max_rate_fps(first.frame_size_bytes, 10**9) / 10
        return {key: count if light else count - count // (1 + self.iteration) for key, count in sent.items()}

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = super().measure(spec, note)
        if spec.memberships is not None and (change := spec.memberships.change) is not None:
            return self._told(result, change)
        if "unknown addresses" in spec.label:
            return replace(result, ports=(PortCounts(3, flooded_frames=1),))
        if spec.interruption is None:
            return result
        return replace(result, outages=(Outage(spec.streams[0].name, 1, 2, 10**6, 10 * self.iteration, 0, 0, 10**6),))

    def _told(self, result: TrialResult, change: MembershipChange) -> TrialResult:
        """The result of a device that acts on the reports of hosts after 1 ms, or 2 ms."""
        acted_ns = change.at_ns + 1_000_000 * self.iteration
        flows = tuple(
            replace(flow, first_rx_ns=acted_ns, last_rx_ns=acted_ns, tail_lost_frames=1) for flow in result.flows
        )
        ports = tuple(PortCounts(port, controller_tx_ns=change.at_ns) for port in change.ports)
        return replace(result, flows=flows, ports=ports)


def run(test: str, measurer_of: Callable[[int], FakeMeasurer], *settings: str) -> Outcome:
    """Run a test at 64 B with a measurer of its own for each unit, as the command does."""
    method = find_test(test)
    parameters = resolve(method.name, method.parameters, settings)
    results: dict[Unit, Record] = {}
    for unit in method.units(parameters, (64,)):
        results[unit] = method.run_unit(unit, BED, parameters, measurer_of(unit.iteration))
    return method.assemble(BED, parameters, results)


def outcome(state: Verdict, lost: Cell) -> Outcome:
    row: dict[str, Cell] = {"frame_size_bytes": 64, "state": state.value, "lost_frames": lost}
    figure = Figure("f", "Lost", "x", "y", (Series("lost", ((64.0, float(lost or 0)),)),))
    return Outcome(state, state.value, (Table("t", "Lost frames", COLUMNS, (row,)),), (figure,), (), ("short",))


def rows_of(found: Outcome, table: str) -> dict[str, dict[str, Cell]]:
    (rows,) = (item.rows for item in found.tables if item.name == table)
    return {str(row["iteration"]): row for row in rows}


def test_every_test_can_be_repeated() -> None:
    assert all(test.parameters[-1].name == "iterations" for test in TESTS)


def test_units_of_the_first_iteration_keep_their_keys() -> None:
    method = find_test("rfc2889.fully_meshed")
    units = method.units(resolve(method.name, method.parameters, ("iterations=2",)), (64,))
    assert [unit.key for unit in units] == ["64B/throughput", "64B/forwarding", "64B/throughput/2", "64B/forwarding/2"]


@pytest.mark.parametrize("test", ["rfc2889.fully_meshed", "rfc2544.throughput"])
def test_statistics_of_a_known_spread(test: str) -> None:
    """Capacities of 40, 50 and 60 % of line rate: mean 50, sample standard deviation 10, RSD 20 %."""
    line_fps = 2 * max_rate_fps(64, 10**9)
    found = run(
        test,
        lambda iteration: FakeMeasurer(capacity(line_fps * (30 + 10 * iteration) / 100)),
        "iterations=3",
        "search_resolution_pct=0.001",
    )
    meshed = test.startswith("rfc2889")
    rows = rows_of(found, "mesh_throughput" if meshed else "throughput")
    assert list(rows) == ["1", "2", "3", "min", "avg", "max", "std dev", "RSD %"]
    key = "load_pct" if meshed else "throughput_pct"
    shown = {name: row[key] for name, row in rows.items()}
    expected = {"1": 40, "2": 50, "3": 60, "min": 40, "avg": 50, "max": 60, "std dev": 10, "RSD %": 20}
    assert shown == {name: pytest.approx(value, abs=0.01) for name, value in expected.items()}
    assert found.state is Verdict.MEASURED
    assert found.iterations == (Verdict.MEASURED,) * 3
    assert found.summary.endswith("3 iterations, MEASURED")


def test_flapping_verdicts_are_counted_and_not_averaged() -> None:
    found = combined("Test", [outcome(Verdict.PASS, 2), outcome(Verdict.FAIL, 1000), outcome(Verdict.PASS, 4)])
    rows = rows_of(found, "t")
    assert rows["verdicts"]["state"] == "flapping: 2 PASS, 1 FAIL"
    assert (rows["avg, PASS"]["lost_frames"], rows["avg, FAIL"]["lost_frames"]) == (3.0, 1000.0)
    assert rows["std dev, FAIL"]["lost_frames"] is None, "one value has no deviation"
    assert found.state is Verdict.FAIL, "a test that passes now and then has not passed"
    assert found.summary == "Test: 3 iterations, flapping: 2 PASS, 1 FAIL"
    assert found.findings == ("Lost frames, 64 B: flapping: 2 PASS, 1 FAIL",)


@pytest.mark.parametrize("state", [Verdict.INVALID, Verdict.ABORT])
def test_untrusted_iterations_are_shown_and_never_averaged(state: Verdict) -> None:
    found = combined("Test", [outcome(Verdict.PASS, 2), outcome(state, 10**6), outcome(Verdict.PASS, 4)])
    rows = rows_of(found, "t")
    assert rows["2"]["lost_frames"] == 10**6
    assert rows["avg, PASS"]["lost_frames"] == 3.0
    assert f"avg, {state.value}" not in rows
    assert rows["max, PASS"]["lost_frames"] == 4
    later = combined("Test", [outcome(state, 10**6), outcome(Verdict.PASS, 2), outcome(Verdict.PASS, 4)])
    assert rows_of(later, "t")["avg, PASS"]["lost_frames"] == 3.0
    assert found.state is state


def test_an_untrusted_cell_of_a_sweep_is_not_averaged() -> None:
    measurers = {
        1: FakeMeasurer(),
        2: FakeMeasurer(status=lambda spec: Verdict.INVALID if " 100.0000 %" in spec.label else Verdict.MEASURED),
    }
    found = run("rfc2889.fully_meshed", measurers.__getitem__, "iterations=2", "parts=forwarding", "sweep_step_pct=50")
    (table,) = (item for item in found.tables if item.name == "sweep_loss")
    last = {str(row["iteration"]): row["loss_pct_64B"] for row in table.rows if row["load_pct"] == 100 and len(row) > 2}
    assert last["2"] is None
    (reason,) = (row["reason"] for row in table.rows if row["load_pct"] == 100 and row["iteration"] == "2")
    assert reason == "64 B: INVALID"
    assert (last["min"], last["max"]) == (0, 0)
    first = [str(row["iteration"]) for row in table.rows if row["load_pct"] == 10]
    assert first[:2] == ["1", "2"] and "std dev" in first
    deviation = next(row for row in table.rows if row["load_pct"] == 10 and row["iteration"] == "std dev")
    assert deviation["loss_pct_64B"] is None, "of the one iteration that can be trusted"
    assert found.state is Verdict.INVALID


def test_rows_without_a_verdict_of_an_untrusted_iteration_are_in_no_average() -> None:
    outcomes = []
    for state, value in ((Verdict.PASS, 2), (Verdict.INVALID, 1000), (Verdict.PASS, 4)):
        table = Table("t", "Latency", COLUMNS[::2], ({"frame_size_bytes": 64, "lost_frames": value},))
        outcomes.append(Outcome(state, "", (table,), ()))
    rows = rows_of(combined("Test", outcomes), "t")
    assert (rows["avg"]["lost_frames"], rows["max"]["lost_frames"]) == (3, 4)


# Tests of messages read flows by the class of a position, which this fake does not name; mixed traffic needs roles.
ONE_CLASS = [test for test in TESTS if not test.name.startswith(("messages.", "gsi.mixed"))]


@pytest.mark.parametrize("test", ONE_CLASS, ids=lambda test: test.name)
def test_what_a_test_shows_in_both_iterations_has_statistics(test: Method) -> None:
    """Every second frame of a flow, or every third, is lost; a device that is reset loses 10 or 20 of them."""
    parameters = resolve(test.name, test.parameters, ("iterations=2", *SETTINGS.get(test.name, ())))
    results: dict[Unit, Record] = {}
    for unit in test.units(parameters, (128,)):
        results[unit] = test.run_unit(unit, FOUR_PORTS, parameters, Losing(unit.iteration))
    found = test.assemble(FOUR_PORTS, parameters, results)
    assert len(found.iterations) == 2
    compared = [table for table in found.tables if len(table.keys) > 1]
    assert compared
    for table in compared:
        groups: dict[tuple[Cell, ...], list[str]] = {}
        for row in table.rows:
            key = tuple(row.get(name) for name in table.keys if name != "iteration")
            groups.setdefault(key, []).append(str(row["iteration"]))
        both = [names for names in groups.values() if {"1", "2"} <= {*names}]
        assert both or not table.rows, table.name
        for names in both:
            assert {name.partition(",")[0] for name in names} >= {"min", "avg", "max", "std dev", "RSD %"}, table.name


def test_rows_of_two_iterations_by_hand() -> None:
    """Rows with the same key are matched in their order; numbers have statistics, words stand where they are the same.

    1 and 4 have the sample deviation 3 / sqrt(2), which is 84.85 % of their mean.
    """
    columns = (
        Column("part", "Part"),
        Column("frame_size_bytes", "Size", "B"),
        Column("group", "Group"),
        Column("lost", "Lost", digits=0),
        Column("ratio", "Ratio", digits=4),
        Column("ends", "Ends"),
        Column("state", "Result"),
    )

    def table(*rows: tuple[Cell, ...], note: str = "Note.") -> Outcome:
        cells = tuple(dict(zip([column.key for column in columns], row, strict=True)) for row in rows)
        found = Table("t", "Lost", columns, cells, note, keys=("frame_size_bytes", "group"))
        return Outcome(Verdict.PASS, "", (found,), (), findings=("one",), deviations=("short", "long"))

    first = table(("all", 64, 3, 1, 0.5, True, "PASS"), ("all", 64, 3, 7, None, "end", "PASS"))
    second = table(
        ("all", 64, 3, 4, None, False, "PASS"),
        ("some", 64, 3, 7, None, 5, "FAIL"),
        (None, 64, 4, 1, 2, 3, ""),
        note="Other.",
    )
    found = combined("Test", [first, second])
    assert found.summary == "Test: 2 iterations, PASS"
    (whole,) = found.tables
    assert [column.key for column in whole.columns] == [
        *("frame_size_bytes", "group", "iteration", "part", "lost", "ratio", "ends", "state")
    ]
    assert [column.digits for column in whole.columns if column.key in ("lost", "ratio", "part")] == [2, 2, 4]
    assert whole.keys == ("frame_size_bytes", "group", "iteration")
    assert whole.note.startswith("Note. min to RSD: over the iterations")
    assert found.findings == ("Lost, 64 B, Group 3: flapping: 1 PASS, 1 FAIL", "iteration 1: one", "iteration 2: one")
    assert found.deviations == ("short", "long")
    shown = [
        (row["iteration"], *(row.get(key, "-") for key in ("part", "lost", "ratio", "ends", "state")))
        for row in whole.rows
    ]
    deviation = pytest.approx(3 / 2**0.5)
    assert shown[:8] == [
        ("1", "all", 1, 0.5, True, "PASS"),
        ("2", "all", 4, None, False, "PASS"),
        ("verdicts", "-", "-", "-", "flapping: 1 yes, 1 no", "-"),
        ("min", "all", 1, 0.5, "-", "PASS"),
        ("avg", "all", 2.5, 0.5, "-", "PASS"),
        ("max", "all", 4, 0.5, "-", "PASS"),
        ("std dev", "all", deviation, None, "-", "PASS"),
        ("RSD %", "all", pytest.approx(120 / 2**0.5), None, "-", "PASS"),
    ]
    several, words = shown[8:21], "flapping: 1 all, 1 some"
    assert several[:3] == [
        ("1", "all", 7, None, "end", "PASS"),
        ("2", "some", 7, None, 5, "FAIL"),
        ("verdicts", words, "-", "-", "flapping: 1 end, 1 measured", "flapping: 1 PASS, 1 FAIL"),
    ]
    names = [f"{name}, {state}" for state in ("PASS", "FAIL") for name in ("min", "avg", "max", "std dev", "RSD %")]
    assert [row[0] for row in several[3:]] == names
    assert several[3] == ("min, PASS", "all", 7, None, "end", "PASS")
    assert several[8] == ("min, FAIL", "some", 7, None, 5, "FAIL")
    assert [row[0] for row in shown[21:]] == ["2", "min", "avg", "max", "std dev", "RSD %"]
    assert shown[22] == ("min", None, 1, 2, 3, "")


def test_lines_of_figures_are_averaged_point_by_point() -> None:
    """A line of one iteration alone, and points of one of them, are shown as they are; points are in order."""
    outcomes = []
    for lines in ((("a", ((2.0, 1.0), (1.0, 5.0))),), (("a", ((2.0, 4.0),)), ("b", ((3.0, 7.0),)))):
        series = tuple(Series(name, points) for name, points in lines)
        outcomes.append(Outcome(Verdict.PASS, "", (), (Figure("f", f"Lost {lines[-1][0]}", "x", "y", series),)))
    (figure,) = combined("Test", outcomes).figures
    assert figure.title == "Lost a, average of 2 iterations", "that of the first one"
    assert [(line.name, line.points) for line in figure.series] == [
        ("a", ((1.0, 5.0), (2.0, 2.5))),
        ("b", ((3.0, 7.0),)),
    ]


def test_rows_of_a_log_are_kept_and_not_compared() -> None:
    log = Table("log", "Log", COLUMNS, ({"frame_size_bytes": 64, "state": "PASS", "lost_frames": 1},), keys=())
    found = combined("Test", [Outcome(Verdict.PASS, "", (log,), ())] * 2)
    (whole,) = found.tables
    assert [row["iteration"] for row in whole.rows] == ["1", "2"]
    assert (whole.keys, whole.note, whole.columns[0].key) == ((), "", "iteration")


def test_figures_show_the_average_and_say_so() -> None:
    found = combined("Test", [outcome(Verdict.PASS, 2), outcome(Verdict.PASS, 4)])
    assert found.figures[0].title == "Lost, average of 2 iterations"
    assert found.figures[0].series[0].points == ((64.0, 3.0),)
    assert found.deviations == ("short",)


def faulty(place: Path, loss_ppb: int) -> str:
    """Write a topology whose switch loses frames at random; return its path."""
    topology = place / "faulty.yaml"
    topology.write_text(networks.switch(f"loss_ppb: {loss_ppb}", ports=2))
    return str(topology)


def test_a_device_that_passes_now_and_then_is_shown_as_flapping(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """0.9 % loss and 100 frames per port and trial: some iterations meet a trial without loss, some do not."""
    settings = (
        "iterations=5",
        "scaled_frames=100",
        "search_method=linear_down",
        "search_step_pct=50",
        "search_min_pct=50",
        "confirm_factor=1",
        "learning_verify=false",
    )
    topology = faulty(tmp_path, 9_000_000)
    options = RunOptions("rfc2544.throughput", topology, "64", settings, str(tmp_path / "run"), jobs=1)
    assert single_command.run_test(options) == 1, "it has not passed"
    results = json.loads((tmp_path / "run" / "results.json").read_text())["outcome"]
    verdicts = Counter(results["iterations"])
    assert set(verdicts) == {"MEASURED", "FAIL"}
    text = "flapping: " + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    assert results["summary"] == f"Throughput: 5 iterations, {text}"
    for shown in (capsys.readouterr().out, (tmp_path / "run" / "report.html").read_text()):
        assert f"64 B: {text}" in shown
    with (tmp_path / "run" / "throughput.csv").open() as file:
        rows = {row["iteration"]: row for row in csv.DictReader(file)}
    found = [
        float(row["throughput_pct"]) for name, row in rows.items() if name.isdecimal() and row["state"] == "MEASURED"
    ]
    assert float(rows["avg, MEASURED"]["throughput_pct"]) == pytest.approx(sum(found) / len(found))
    assert rows["verdicts"]["state"] == text


def test_iterations_of_a_run_are_stored_and_reported(tmp_path: Path) -> None:
    """On sim each iteration meets other random numbers; two runs are the same to the byte."""
    topology = faulty(tmp_path, 20_000_000)
    settings = ("iterations=3", "scaled_frames=400", "full_sweep=false", "learning_verify=false", "step_pct=10")
    for name in ("one", "two"):
        options = RunOptions("rfc2544.frame_loss", topology, "64", settings, str(tmp_path / name), jobs=1)
        single_command.run_test(options)
    with (tmp_path / "one" / "frame_loss.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["load_pct"] == "100.0"]
    lost = [int(row["lost_frames"]) for row in rows if row["iteration"].isdecimal()]
    assert len(lost) == 3 and len(set(lost)) > 1, lost
    average = next(row for row in rows if row["iteration"] == "avg")
    assert float(average["lost_frames"]) == pytest.approx(sum(lost) / 3)
    results = json.loads((tmp_path / "one" / "results.json").read_text())
    assert results["outcome"]["iterations"] == ["MEASURED"] * 3
    report = (tmp_path / "one" / "report.html").read_text()
    assert '<th scope="col">Iteration</th>' in report
    assert report.count('<tr class="muted"><td class="number">64</td><td class="number">100.00</td>') == 5
    assert "<dt>Iterations</dt><dd>3 MEASURED</dd>" in report
    for file_name in ("results.json", "trials.jsonl", "frame_loss.csv"):
        assert (tmp_path / "one" / file_name).read_bytes() == (tmp_path / "two" / file_name).read_bytes()
