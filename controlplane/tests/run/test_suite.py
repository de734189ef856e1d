"""``p4mesh run SUITE``: every test that fits the topology, each resumable, nothing overwritten."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.networks import TOPOLOGIES

from p4mesh.cli.main import main
from p4mesh.cli.suite_command import run_tests
from p4mesh.errors import ParameterError, RunDirectoryError, TopologyError
from p4mesh.methods.registry import find_test, suites
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.run import Event, RunFinished, run_suite
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import prepare
from p4mesh.topology import load_topology

WRS = str(TOPOLOGIES / "wrs-18x1g.yaml")
NO_RESET = "rfc2544.reset needs a device that can be reset, topology 'wrs-18x1g' has none"
ROUTER = str(TOPOLOGIES / "router-4x1g.yaml")
PAIR = str(TOPOLOGIES / "back-to-back.yaml")


def options(out: Path, *settings: str, topology: str = WRS) -> RunOptions:
    return RunOptions("rfc2544", topology, "64", settings, str(out), jobs=1, opener="support.fakes:open_wire")


def test_a_suite_runs_its_tests_in_directories_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_tests(options(tmp_path / "all")) == 0
    shown = capsys.readouterr().out
    assert "Suite rfc2544" in shown
    for name in ("throughput", "latency", "frame_loss", "back_to_back"):
        assert (tmp_path / "all" / name / "report.html").exists()
        assert f'href="{name}/report.html"' in (tmp_path / "all" / "report.html").read_text()


def test_a_suite_resumes_in_its_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_tests(options(tmp_path / "all"))
    first = capsys.readouterr()
    assert run_tests(options(tmp_path / "all")) == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert again.err.splitlines() == [f"rfc2544.reset: not run: {NO_RESET}"]


def test_tests_that_the_topology_cannot_carry_are_named_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = options(tmp_path / "all", "parts=throughput", topology=PAIR)
    assert run_tests(replace(asked, test="rfc2889")) == 0
    shown = capsys.readouterr()
    assert "rfc2889.partially_meshed: not run: rfc2889.partially_meshed needs at least 3 tester ports" in shown.err
    missing = [
        line.split()[0] for line in shown.out.splitlines() if line.startswith("rfc2889.") and " not run " in line
    ]
    assert "rfc2889.multiple_devices" in missing
    assert f"Not run, of 11 tests: {', '.join(missing)}." in shown.out


def test_a_suite_that_is_required_as_a_whole_fails_without_all_of_its_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = options(tmp_path / "all", "parts=throughput", topology=PAIR)
    assert run_tests(replace(asked, test="rfc2889", require_all=True)) == 1
    capsys.readouterr()
    assert run_tests(replace(asked, test="rfc2889"), as_json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert "needs at least 3 tester ports" in data["not_run"]["rfc2889.partially_meshed"]
    whole = replace(options(tmp_path / "whole", topology=ROUTER), test="chassis", sizes="128", require_all=True)
    assert run_tests(whole) == 0
    assert "Tests run: all 3." in capsys.readouterr().out


def test_a_setting_reaches_the_tests_that_know_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_tests(options(tmp_path / "all", "step_pct=5"), as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert len(data["runs"]) == len(suites()["rfc2544"]) - 1, "all but the reset, which this switch does not have"
    config = json.loads((tmp_path / "all" / "frame_loss" / "run.json").read_text())
    assert {"step_pct": "5"}.items() <= {item["name"]: item["value"] for item in config["parameters"]}.items()


def test_a_setting_that_no_test_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no test of rfc2544 has this parameter"):
        run_tests(options(tmp_path / "all", "colour=red"))
    assert not (tmp_path / "all").exists()


def test_a_directory_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RunDirectoryError, match="something other than a run of rfc2544"):
        run_tests(options(tmp_path))
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_topology_that_carries_no_test_is_an_error(tmp_path: Path) -> None:
    one = tmp_path / "one.yaml"
    one.write_text(
        "name: one\ntester:\n  ports: [{numbers: 1, rate_bps: 1000000000}]\nnodes:\n  - name: dut\n"
        "    device: ethernet_switch\n    ports: [{numbers: 1, rate_bps: 1000000000}]\n"
        "links: [{from: tester:1, to: dut:1}]\n"
    )
    with pytest.raises(TopologyError, match="needs at least 2 tester ports"):
        run_tests(options(tmp_path / "all", topology=str(one)))


def test_a_topology_carries_parameters_of_its_tests_and_the_user_has_the_last_word() -> None:
    topology = load_topology(WRS)
    broadcast = find_test("rfc2889.broadcast")
    given = prepare(broadcast, topology, RunOptions(broadcast.name, WRS)).job.parameters
    assert (given.number("search_initial_pct"), given.flag("search_try_max_first")) == (10, False)
    asked = prepare(broadcast, topology, RunOptions(broadcast.name, WRS, settings=("search_initial_pct=20",)))
    assert (asked.job.parameters.number("search_initial_pct"), asked.job.parameters.number("search_min_pct")) == (
        20,
        10,
    )


def test_show_prints_a_suite_as_its_run_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_tests(options(tmp_path / "all"))
    shown = capsys.readouterr().out
    assert main(["show", str(tmp_path / "all")]) == 0
    again = capsys.readouterr().out
    assert shown.startswith(again.rstrip("\n"))
    assert "not run" in again


def test_show_says_that_a_suite_is_not_finished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def stop(event: Event) -> None:
        if isinstance(event, RunFinished):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_suite(options(tmp_path / "all"), stop)
    assert main(["show", str(tmp_path / "all")]) == 2
    assert "the suite is not finished" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format": 2}', '{"format": 1, "suite": "rfc2544"}', "\x00", '{"format": 2, ']
)
def test_a_damaged_suite_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "suite.json").write_text(text)
    assert main(["show", str(tmp_path)]) == 2
    assert f"{tmp_path / 'suite.json'}: " in capsys.readouterr().err
    with pytest.raises(RunDirectoryError):
        run_tests(options(tmp_path))


def test_an_internal_error_ends_its_test_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Goal: the suite is finished and says so, with the exit code of a bug. Method: a latency test that raises."""

    def broken(*_: object) -> None:
        raise KeyError(17)

    monkeypatch.setattr(Latency, "assemble", broken)
    assert run_tests(options(tmp_path / "all")) == 4
    shown = capsys.readouterr()
    told = "internal error: KeyError: 17 (a bug of P4Mesh; see latency.traceback.txt)"
    assert f"rfc2544.latency: not run: {told}" in shown.err
    assert "Traceback" not in shown.err
    assert "in broken\n    raise KeyError(17)" in (tmp_path / "all" / "latency.traceback.txt").read_text()
    assert (tmp_path / "all" / "back_to_back" / "report.html").exists(), "tests behind it ran"
    assert main(("show", str(tmp_path / "all"))) == 0
    assert told in capsys.readouterr().out
