"""Trials of a sweep in worker processes, on measurers with closed-form answers: order, stops, errors, processes.

Nothing here depends on how fast a process is: measurers in different processes meet through a log file,
and a trial that must overlap with another one waits until the log shows it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import cast

import pytest
from support.fakes import FakeMeasurer
from support.networks import TOPOLOGIES, parsed, switch
from support.processes import members
from support.runs import files
from support.sweep_actors import (
    LOG,
    OUT,
    PATIENCE_S,
    SCENE,
    ahead_of_the_first,
    beyond_the_stop,
    breaks_after_one_was_kept,
    bug,
    death_beyond_the_stop,
    death_that_is_asked_for,
    error_beyond_the_stop,
    error_that_is_asked_for,
    lines,
    processors_and_overlap,
    searches_meet,
    seen,
    until,
)

from p4mesh.cli import single_command
from p4mesh.errors import HookError, TargetError
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.run.executor import Task
from p4mesh.run.job import Job
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import bed_of
from p4mesh.run.worker_processes import WorkerProcesses, processors_of
from p4mesh.topology.memory import memory_of, memory_without_verification
from p4mesh.trial.spec import TrialSpec

WRS = str(TOPOLOGIES / "wrs-18x1g.yaml")
Stage = Callable[..., dict[str, bytes]]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, bytes]]:
    """The function that runs 26.3 in a scene and returns the files but those of the wall clock."""

    def perform(
        name: str, workers: int, scene: Callable[[str], None] | None = None, *settings: str, **changes: str
    ) -> dict[str, bytes]:
        monkeypatch.setenv(LOG, str(tmp_path / f"{name}.log"))
        (tmp_path / f"{name}.log").touch()
        monkeypatch.setenv(SCENE, scene.__name__ if scene else "")
        out = tmp_path / name
        monkeypatch.setenv(OUT, str(out))
        options = RunOptions(
            changes.get("test", "rfc2544.frame_loss"),
            changes.get("topology", WRS),
            changes.get("sizes", "64"),
            settings,
            str(out),
            jobs=workers,
            opener=f"support.sweep_actors:{changes.get('opener', 'open_actor')}",
        )
        try:
            single_command.run_test(options)
        finally:
            assert multiprocessing.active_children() == [], "no process is left"
        return files(out)

    return perform


def loads(files: dict[str, bytes]) -> list[float]:
    return [json.loads(line)["load_pct"] for line in files["trials.jsonl"].splitlines()]


def test_a_worker_whose_process_did_not_start_can_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal to the whole group can end the server of the workers first."""

    def start(_: ForkServerProcess) -> None:
        raise EOFError

    monkeypatch.setattr(ForkServerProcess, "start", start)
    processes = WorkerProcesses(cast(Job, None), 1)
    with pytest.raises(TargetError, match="the process that starts workers ended"):
        processes.workers[0].measure(cast(Task, None), lambda look: None)
    processes.close()


def test_trials_of_one_sweep_overlap_and_the_run_is_that_of_one_process(stage: Stage) -> None:
    """Goal: 100 % and 90 % at the same time. Method: 100 % does not end before 90 % has begun."""
    together = stage("two", 2, ahead_of_the_first)
    assert len({words[0] for words in lines() if words[1] == "begin"}) == 2, "in two processes"
    assert together == stage("one", 1)
    assert loads(together) == [100, 90, 80, 70, 60]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_workers_that_use_all_processors_keep_to_one_each(stage: Stage) -> None:
    own = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, own[:2])
    try:
        together = stage("two", 2, processors_and_overlap)
    finally:
        os.sched_setaffinity(0, own)
    places = {tuple(words[::2]) for words in lines() if words[1] == "on"}
    assert sorted(place for _, place in places) == [str(number) for number in own[:2]]
    assert together == stage("one", 1)


@pytest.mark.parametrize(("workers", "kept_to"), [(1, [None]), (2, [3, 8]), (3, [None] * 3), (4, [3, 8, 3, 8])])
def test_workers_that_cannot_be_spread_evenly_go_where_the_system_puts_them(
    monkeypatch: pytest.MonkeyPatch, workers: int, kept_to: list[int | None]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {8, 3})
    assert processors_of(workers) == kept_to


def test_what_was_measured_beyond_the_stop_leaves_no_trace(stage: Stage) -> None:
    one = stage("one", 1)
    assert [words[2] for words in lines() if words[1] == "begin"] == ["100", "90", "80", "70", "60"]
    assert stage("two", 2, beyond_the_stop) == one
    assert seen("end", "50"), "it was measured"
    assert "ahead.jsonl" not in one


@pytest.mark.parametrize("scene", [error_beyond_the_stop, death_beyond_the_stop])
def test_a_failure_beyond_the_stop_is_no_failure(stage: Stage, scene: Callable[[str], None]) -> None:
    one = stage("one", 1)
    assert stage("two", 2, scene) == one
    assert seen("raise", "50")


def test_an_error_in_a_worker_is_one_error_with_its_hint(stage: Stage) -> None:
    with pytest.raises(HookError, match="90 % cannot be measured") as raised:
        stage("two", 2, error_that_is_asked_for)
    assert raised.value.hint == "look at the device"


def test_a_bug_in_a_worker_says_where_it_is(stage: Stage) -> None:
    with pytest.raises(Exception, match="what no one has thought of"):
        stage("two", 2, bug)


def test_a_worker_that_dies_is_named_with_a_way_out(stage: Stage) -> None:
    with pytest.raises(TargetError, match="a worker process ended with exit code -9") as raised:
        stage("two", 2, death_that_is_asked_for)
    assert "--jobs 1" in str(raised.value.hint)


def test_a_run_that_broke_does_not_repeat_what_was_measured_ahead(stage: Stage) -> None:
    whole = stage("whole", 1)
    with pytest.raises(TargetError, match="the machine breaks"):
        stage("cut", 2, breaks_after_one_was_kept)
    assert stage("cut", 1, breaks_after_one_was_kept) == whole
    begun = [words[2] for words in lines() if words[1] == "begin"]
    assert begun.count("100") == 2 and begun.count("90") == 1


COMMAND = """
import signal, sys
from dataclasses import replace
from p4mesh.cli import main, run_command
signal.signal(signal.SIGINT, signal.default_int_handler)  # A job in the background of a shell ignores it.
options_of = run_command.options_of
run_command.options_of = lambda words: replace(options_of(words), opener="support.sweep_actors:open_actor")
sys.exit(main.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("whom", ["group", "parent"])
def test_an_interrupted_sweep_leaves_no_process_and_resumes_to_the_same_bytes(
    whom: str, stage: Stage, tmp_path: Path
) -> None:
    """The keyboard interrupts the whole group; a parent that is killed takes its workers with it, in their trials."""
    whole = stage("whole", 1)
    log = tmp_path / "cut.log"
    log.touch()
    command = [sys.executable, "-c", COMMAND, "run", "rfc2544.frame_loss", "--topology", WRS]
    command += ["--sizes", "64", "--jobs", "2", "--out", str(tmp_path / "cut")]
    process = subprocess.Popen(
        command,
        env={**os.environ, LOG: str(log), SCENE: "held", "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    until(lambda: "begin 80" in log.read_text() and (tmp_path / "cut" / "trials.jsonl").exists())
    if whom == "group":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.kill()
    errors = process.communicate(timeout=PATIENCE_S)[1].decode()
    assert process.returncode == (130 if whom == "group" else -signal.SIGKILL)
    assert "Traceback" not in errors
    line = f"interrupted; the same command with --out {tmp_path / 'cut'} resumes the run"
    assert (errors.splitlines()[-1] == line) == (whom == "group")
    until(lambda: not members(process.pid))
    assert stage("cut", 2) == whole


def test_no_more_processes_measure_than_asked_for_and_none_without_need(stage: Stage) -> None:
    """Three sizes with a search and a sweep each, on three processes: one pool for all of them."""
    mesh = {"test": "rfc2889.fully_meshed", "sizes": "64,512,1518"}
    stage("three", 3, None, "search_resolution_pct=10", **mesh)
    measuring: set[str] = set()
    most = 0
    for words in lines():
        (measuring.add if words[1] == "begin" else measuring.discard)(words[0])
        most = max(most, len(measuring))
    assert most <= 3
    assert len({words[0] for words in lines()}) <= 3
    # One search is one trial after the other: the second process is never started.
    stage("search", 2, None, test="rfc2544.throughput")
    assert len({words[0] for words in lines()}) == 1


def test_searches_begin_before_sweeps_so_that_no_search_is_left_alone_at_the_end(stage: Stage) -> None:
    """Searches and sweeps of two sizes on two processes: both searches run before the first trial of a sweep."""
    mesh = {"test": "rfc2889.fully_meshed", "sizes": "64,512", "opener": "open_namer"}
    together = stage("two", 2, searches_meet, **mesh)
    parts = [words[2] for words in lines()]
    assert "forwarding" not in parts[: parts.index("throughput") + 2]
    assert [words[2:] for words in lines()].index(["throughput", "512"]) < parts.index("forwarding")
    assert together == stage("one", 1, None, **mesh)


def test_progress_of_a_unit_is_in_the_order_of_its_trials(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage("two", 2, beyond_the_stop)
    shown = [line for line in capsys.readouterr().err.splitlines() if line.startswith("[")]
    assert [float(line.split("load")[1].split("%")[0]) for line in shown] == [100, 90, 80, 70, 60]


@pytest.mark.parametrize(
    ("topology", "settings", "devices"),
    [
        ("wrs-18x1g", (), 5),
        ("p4-l2-4ports", (), 1),
        ("wrs-18x1g", ("learning_frames=0",), 1),
        ("wrs-18x1g", ("reset_between=hook", "hook=true"), 1),
    ],
    ids=["new devices", "program with registers", "no learning", "command of the user"],
)
def test_trials_that_depend_on_each_other_share_one_device(
    stage: Stage, topology: str, settings: tuple[str, ...], devices: int
) -> None:
    where = str(TOPOLOGIES / f"{topology}.yaml")
    for workers in (1, 2):
        files = stage(f"run{workers}", workers, None, *settings, topology=where)
        if devices == 1 or workers == 1:
            assert sum(words[1] == "open" for words in lines()) == devices
        assert loads(files) == [100, 90, 80, 70, 60]


@pytest.mark.parametrize(
    ("model", "link", "verified", "unverified"),
    [
        ("loss_ppb: 0", "", "", ""),
        ("mac_table: {entries: 300}", "", "", ""),
        ("mac_table: {entries: 300, aging: broken}", "", "entries that have aged", "entries that have aged"),
        ("loss_ppb: 1", "", "", "may not learn every address"),
        ("learning_path: {delay_ns: 1}", "", "", "may not learn every address"),
        ("loss_ppb: 0", "bit_errors_per_1e15: 1", "", "may damage learning frames"),
        ("loss_ppb: 0", "outages: [{at_s: 1}]", "from the start of the devices", "from the start of the devices"),
    ],
)
def test_what_devices_keep_beyond_learning_is_named(model: str, link: str, verified: str, unverified: str) -> None:
    topology = parsed(switch(model, link=link))
    for found, expected in ((memory_of(topology), verified), (memory_without_verification(topology), unverified)):
        assert bool(found) == bool(expected) and expected in found


@pytest.mark.parametrize("test", ["rfc2544.frame_loss", "rfc2544.latency", "rfc2544.system_recovery"])
@pytest.mark.parametrize("setting", ["reset_between=swap_roles", "modifier=routing_update", "start_stagger_us=3"])
def test_announced_trials_are_those_measured_whatever_wraps_the_test(test: str, setting: str) -> None:
    """Roles alternate and so do routing updates: what is announced must be what each trial will be.

    The fake refuses any other trial than the next announced one.
    """
    method = find_test(test)
    if setting.partition("=")[0] not in {parameter.name for parameter in method.parameters}:
        pytest.skip(f"{test} has no {setting}")
    bed = bed_of(parsed(switch()))
    parameters = resolve(test, method.parameters, (setting,))
    method.check(bed, parameters)
    announced: list[int] = []

    class Counting(FakeMeasurer):
        def announce(self, specs: Sequence[TrialSpec]) -> None:
            announced.append(len(specs))
            super().announce(specs)

    def carry(spec: TrialSpec, sent: int) -> int:
        return sent if spec.streams[0].rate_fps < 1_000_000 else sent - 1

    measurer = Counting(carry)
    method.run_unit(method.units(parameters, (64,))[0], bed, parameters, measurer)
    assert announced and min(announced) > 0 and len(measurer.specs) > 1
