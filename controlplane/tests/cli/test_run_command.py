"""``p4mesh run`` from arguments to files, on measurers with closed-form answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.fakes import FakeMeasurer
from support.networks import TOPOLOGIES
from support.runs import files

from p4mesh.cli import single_command
from p4mesh.cli.main import main
from p4mesh.errors import ProgramError
from p4mesh.report.vega_script import vega_script
from p4mesh.run.options import RunOptions
from p4mesh.topology import Topology
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

WRS = str(TOPOLOGIES / "wrs-18x1g.yaml")
CALLS: list[str] = []
CALLS_ALLOWED = 10**9


@contextmanager
def open_counting(_: Topology) -> Iterator[CountingMeasurer]:
    yield CountingMeasurer()


class CountingMeasurer(FakeMeasurer):
    """Breaks, as a machine does, after a number of trials."""

    def measure(self, spec: TrialSpec, note: object = None) -> TrialResult:
        if len(CALLS) >= CALLS_ALLOWED:
            raise KeyboardInterrupt
        CALLS.append(spec.label)
        return super().measure(spec)


def options(out: Path, *, jobs: int = 1, opener: str = "support.fakes:open_fake_switch", **more: object) -> RunOptions:
    return RunOptions("rfc2889.fully_meshed", WRS, "64,512", (), str(out), jobs=jobs, opener=opener, **more)  # type: ignore[arg-type]


def test_a_run_leaves_trials_tables_and_a_self_contained_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert single_command.run_test(options(tmp_path / "run")) == 0
    shown = capsys.readouterr()
    assert "Throughput: highest load without loss" in shown.out
    assert f"run directory: {tmp_path / 'run'}" in shown.out
    assert "64 B throughput" in shown.err
    assert "left" in shown.err
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "forwarding_rate.csv",
        "latency_sweep.csv",
        "latency_sweep_definitions.csv",
        "latency_sweep_variation.csv",
        "latency_throughput.csv",
        "latency_throughput_definitions.csv",
        "latency_throughput_variation.csv",
        "mesh_throughput.csv",
        "port_rates.csv",
        "report.html",
        "results.json",
        "run.json",
        "search_trials.csv",
        "searches.csv",
        "sums.json",
        "sweep_loss.csv",
        "sweep_loss_interval.csv",
        "sweep_received.csv",
        "timing.jsonl",
        "trial_ports.csv",
        "trials.csv",
        "trials.jsonl",
    ]
    html = (tmp_path / "run" / "report.html").read_text()
    assert re.search(r"<dd>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d to \d\d:\d\d:\d\d UTC</dd>", html)
    assert "window.vegaEmbed" in html and html.count("<figure>") == 6
    own = html.replace(vega_script(), "")
    for outside in ("<link", " src=", "@import", "url(", "<script src"):
        assert outside not in own


def test_two_runs_and_parallel_runs_are_byte_identical(tmp_path: Path) -> None:
    for name, jobs in (("one", 1), ("two", 1), ("parallel", 2)):
        assert single_command.run_test(options(tmp_path / name, jobs=jobs)) == 0
    assert files(tmp_path / "one") == files(tmp_path / "two") == files(tmp_path / "parallel")


def test_the_journal_holds_the_loads_of_a_sweep_in_their_order(tmp_path: Path) -> None:
    single_command.run_test(options(tmp_path / "run", jobs=2))
    lines = [json.loads(line) for line in (tmp_path / "run" / "trials.jsonl").read_text().splitlines()]
    sweep = [(line["trial"], line["load_pct"]) for line in lines if line["unit"] == "64B/forwarding"]
    assert sweep == [(index, 10 * index + 10) for index in range(10)]
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert [row["load_pct"] for row in results["units"]["64B/forwarding"]["rows"]] == list(range(10, 101, 10))


def test_an_interrupted_run_resumes_and_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opener = "test_run_command:open_counting"
    CALLS.clear()
    monkeypatch.setattr("test_run_command.CALLS_ALLOWED", 7)
    with pytest.raises(KeyboardInterrupt):
        single_command.run_test(options(tmp_path / "cut", opener=opener))
    assert len((tmp_path / "cut" / "trials.jsonl").read_text().splitlines()) == 7
    monkeypatch.setattr("test_run_command.CALLS_ALLOWED", 10**9)
    assert single_command.run_test(options(tmp_path / "cut", opener=opener)) == 0
    assert len(CALLS) == len(set(CALLS)) > 20
    CALLS.clear()
    assert single_command.run_test(options(tmp_path / "whole", opener=opener)) == 0
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_a_finished_run_is_shown_again_without_measuring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opener = "test_run_command:open_counting"
    single_command.run_test(options(tmp_path / "run", opener=opener))
    first = capsys.readouterr().out
    CALLS.clear()
    assert single_command.run_test(options(tmp_path / "run", opener=opener)) == 0
    assert CALLS == []
    assert capsys.readouterr().out == first


def test_json_on_stdout_is_only_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    single_command.run_test(options(tmp_path / "run"), as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert data["state"] == "MEASURED"
    assert data["units"]["64B/throughput"]["throughput_pct"] == pytest.approx(17.545, abs=0.1)


def test_a_device_that_always_loses_is_exit_code_1(tmp_path: Path) -> None:
    assert single_command.run_test(options(tmp_path / "run", opener="support.fakes:open_lossy")) == 1


def test_an_error_in_a_worker_process_arrives_with_its_hint(tmp_path: Path) -> None:
    with pytest.raises(ProgramError) as raised:
        single_command.run_test(options(tmp_path / "run", jobs=2, opener="support.fakes:open_stale"))
    assert raised.value.hint == "run: make p4"
    assert not (tmp_path / "run").exists()


def test_show_prints_the_tables_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    single_command.run_test(options(tmp_path / "run"))
    shown = capsys.readouterr().out
    assert main(["show", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out.strip() in shown


def test_topology_check_says_what_is_in_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "check", WRS]) == 0
    assert "18 tester ports, 18 links, devices: wrs (ethernet_switch, 18 ports)" in capsys.readouterr().out
