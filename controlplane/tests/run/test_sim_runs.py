"""Whole runs on sim: the same inputs give the same bytes, and the report says how the tester sent."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.networks import TOPOLOGIES, switch
from support.runs import WALL_CLOCK, files

from p4mesh.cli import single_command
from p4mesh.run.options import RunOptions
from p4mesh.topology import Topology
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

TOPOLOGY = str(TOPOLOGIES / "wrs-18x1g.yaml")
SETTINGS = ("scaled_frames=200", "sweep_step_pct=45", "search_resolution_pct=10", "search_method=bisect")


def run(out: Path, workers: int) -> dict[str, bytes]:
    options = RunOptions("rfc2889.fully_meshed", TOPOLOGY, "64,1518", SETTINGS, str(out), jobs=workers)
    single_command.run_test(options)
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.fixture(scope="module")
def in_one_process(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run in one process."""
    return run(tmp_path_factory.mktemp("runs") / "one", 1)


def test_two_runs_are_byte_identical_apart_from_wall_clock_files(
    tmp_path: Path, in_one_process: dict[str, bytes]
) -> None:
    first, second = in_one_process, run(tmp_path / "b", 2)
    assert first.keys() == second.keys()
    assert len(first["trials.jsonl"].splitlines()) > 8
    for name in first.keys() - set(WALL_CLOCK):
        assert first[name] == second[name], name
    report = first["report.html"].decode()
    assert "Tester: how exactly it sent" in report
    assert "Departure error" in report


LOSSY = switch("loss_ppb: 20000000, jitter: {uniform: {max_ns: 500}}", link="bit_errors_per_1e15: 100000000000", seed=3)
FORGETFUL = switch("mac_table: {entries: 300, aging_s: 300, aging: broken}", seed=3)
LEFT = [0]
"""Trials before the machine breaks."""


class Breaking:
    """A measurer of a machine that breaks."""

    def __init__(self, measurer: TrialEngine) -> None:
        self._measurer = measurer

    def measure(self, spec: TrialSpec, onlooker: object = None) -> TrialResult:
        if LEFT[0] == 0:
            raise KeyboardInterrupt
        LEFT[0] -= 1
        return self._measurer.measure(spec)


@contextmanager
def open_breaking(topology: Topology) -> Iterator[Breaking]:
    with open_measurer(topology) as measurer:
        yield Breaking(measurer)


RESUMED = {
    "chance": (LOSSY, "rfc2544.frame_loss", ("scaled_frames=500", "full_sweep=true"), (3,)),
    # Trials that build on one another, and on entries that aging leaves behind.
    "memory": (FORGETFUL, "rfc2889.address_caching", ("aging_s=400", "addresses_max=900"), (1, 3)),
}


@pytest.mark.parametrize("name", RESUMED)
def test_a_run_that_was_cut_anywhere_resumes_to_the_same_bytes(name: str, tmp_path: Path) -> None:
    text, test, settings, cuts = RESUMED[name]
    topology = tmp_path / "switch.yaml"
    topology.write_text(text)

    def run(out: str, trials: int) -> dict[str, bytes]:
        LEFT[0] = trials
        options = RunOptions(
            test, str(topology), "64", settings, str(tmp_path / out), jobs=1, opener="test_sim_runs:open_breaking"
        )
        single_command.run_test(options)
        return files(tmp_path / out)

    whole = run("whole", -1)
    assert len(whole["trials.jsonl"].splitlines()) > max(cuts)
    for cut in cuts:
        with pytest.raises(KeyboardInterrupt):
            run(f"cut{cut}", cut)
        assert run(f"cut{cut}", -1) == whole, f"cut after {cut} trials"


def test_a_parallel_run_that_was_killed_resumes_to_the_same_bytes(
    tmp_path: Path, in_one_process: dict[str, bytes]
) -> None:
    whole = in_one_process
    command = [sys.executable, "-m", "p4mesh", "run", "rfc2889.fully_meshed", "--topology", TOPOLOGY]
    command += ["--sizes", "64,1518", "--jobs", "2", "--out", str(tmp_path / "killed")]
    command += [word for setting in SETTINGS for word in ("--set", setting)]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = tmp_path / "killed" / "trials.jsonl"
    while process.poll() is None and not (journal.exists() and len(journal.read_bytes().splitlines()) >= 3):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed" / "results.json").exists(), "it was killed before it was finished"
    resumed = run(tmp_path / "killed", 2)
    assert {name: resumed[name] for name in resumed if name not in WALL_CLOCK} == {
        name: whole[name] for name in whole if name not in WALL_CLOCK
    }


def test_the_trial_log_holds_every_trial_with_load_verdict_and_ports(in_one_process: dict[str, bytes]) -> None:
    files = in_one_process
    trials = [json.loads(line) for line in files["trials.jsonl"].splitlines()]
    log = list(csv.DictReader(files["trials.csv"].decode().splitlines()))
    ports = list(csv.DictReader(files["trial_ports.csv"].decode().splitlines()))
    timings = [json.loads(line) for line in files["timing.jsonl"].splitlines()]
    assert len(log) == len(trials) == len(timings) and len(ports) == 18 * len(trials)
    assert {(row["unit"], row["trial"]) for row in log} == {(item["unit"], str(item["trial"])) for item in timings}
    assert all(item["started_utc"] for item in timings)
    assert {row["verdict"] for row in log} == {"PASS", "FAIL", "MEASURED"}
    for row in log:
        searched = row["unit"].endswith("throughput")
        lossless = row["lost_frames"] == "0"
        assert row["verdict"] == (("PASS" if lossless else "FAIL") if searched else "MEASURED")
        assert float(row["oload_pct"]) == pytest.approx(float(row["load_pct"]), rel=5e-3)
        own = [port for port in ports if (port["unit"], port["trial"]) == (row["unit"], row["trial"])]
        assert sum(int(port["tx_frames"]) for port in own) == int(row["tx_frames"])
        assert sum(int(port["rx_frames"]) for port in own) == int(row["rx_frames"])
    report = files["report.html"].decode()
    for title in ("Iload", "Oload", "Verdict", "Started"):
        assert f">{title}" in report


@pytest.mark.parametrize("test", ["rfc2544.throughput", "rfc2544.frame_loss", "rfc2889.fully_meshed"])
def test_a_test_whose_link_fails_is_aborted_and_never_passes(
    test: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topology = tmp_path / "failing.yaml"
    topology.write_text(switch(link="outages: [{at_s: 1, duration_s: 0.001}]"))
    out, settings = str(tmp_path / "run"), ("scaled_frames=100",)
    options = RunOptions(test, str(topology), "64", settings, out, jobs=1)
    assert single_command.run_test(options) == 1
    shown = capsys.readouterr()
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["outcome"]["state"] == "ABORT"
    assert "ABORT: loss of link on ports 1, 2, 3, 4" in shown.err
    log = list(csv.DictReader((tmp_path / "run" / "trials.csv").read_text().splitlines()))
    assert (log[0]["verdict"], log[0]["status"]) == ("ABORT", "ABORT")
