"""Kills runs at random moments and resumes them: the results must be those of an undisturbed run.

Runs of one test on two processes, of a sweep, and of a whole suite are ended by SIGKILL, again and again. A part of the
kills comes while results and reports are written. When a run gets through, its files are compared byte by byte with
those of an undisturbed one, but for those of the wall clock, whose checksums are verified.

Most of the time of a small run goes into the start of Python. Runs in one process are therefore forked from this
process, which has imported everything; those on two processes are commands of their own, so that kills hit the start
of a process too.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

from p4mesh import read_run
from p4mesh.cli.main import main as p4mesh

PRELOADED = (
    "p4mesh.cli.run_command",
    "p4mesh.cli.single_command",
    "p4mesh.cli.suite_command",
    "p4mesh.methods.registry",
    "p4mesh.run.one_process",
    "p4mesh.run.worker_processes",
    "p4mesh.trial.opening",
    "p4mesh.target.sim",
    "p4mesh.topology.loader",
)
"""Imports of a run; none of them starts a thread."""
WALL_CLOCK = ("timing.jsonl", "report.html")
REPORTS_SHARE = 0.3
"""Part of the kills that wait until results are there, so that they hit the files written after them."""
REPORTS_S = 0.15
_LATEST = 0.6
"""Latest kill as a part of the time of an undisturbed run, so that most runs are killed more than once."""
NETWORK = """
name: switch
seed: 3
tester: {ports: [{numbers: 1-4, rate_bps: 1000000000}]}
nodes:
  - name: dut
    device: ethernet_switch
    ports: [{numbers: 1-4, rate_bps: 1000000000}]
    loss_ppb: 2000000
    jitter: {uniform: {max_ns: 500}}
links: [{from: "tester:1-4", to: "dut:1-4"}]
"""


@dataclass(frozen=True)
class Case:
    """A command that is killed."""

    test: str
    jobs: int
    settings: tuple[str, ...]
    sizes: str = "64"


SMALL = (
    ("rfc2889.fully_meshed", ("sweep_step_pct=30", "search_resolution_pct=20")),
    ("rfc2889.broadcast", ("search_resolution_pct=20",)),
    ("rfc2544.throughput", ("search_resolution_pct=20",)),
    ("rfc2544.latency", ("search_resolution_pct=20",)),
    ("rfc2544.frame_loss", ("full_sweep=true",)),
)
"""Tests in one process; they are most of the kills, because they are quick."""
CASES = (
    Case("rfc2889.fully_meshed", 2, ("scaled_frames=50", "sweep_step_pct=20", "search_resolution_pct=10"), "64,512"),
    Case("rfc2544.frame_loss", 2, ("scaled_frames=200", "full_sweep=true")),
    Case("rfc2544", 1, ("scaled_frames=50", "search_resolution_pct=20")),
    *(Case(test, 1, ("scaled_frames=20", *settings)) for _ in range(5) for test, settings in SMALL),
)


class Process(Protocol):
    """A run in a process group of its own."""

    pid: int

    def poll(self) -> int | None:
        """The exit code, minus the signal that ended the process, or None while it runs."""
        ...

    def wait(self) -> int:
        """Wait for the end and return the same."""
        ...


class Forked:
    """A command in a copy of this process, which has imported everything already."""

    def __init__(self, words: list[str], place: Path) -> None:
        self._code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _run(words, place)
        with suppress(PermissionError, ProcessLookupError):
            os.setpgid(self.pid, self.pid)

    def poll(self) -> int | None:
        """The exit code, minus the signal that ended the process, or None while it runs."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self) -> int:
        """Wait for the end and return the same."""
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code


def _run(words: list[str], place: Path) -> NoReturn:
    """Become the command; both sides make it and its children a group, so that all are killed at once."""
    code = 4
    try:
        with suppress(PermissionError):
            os.setpgid(0, 0)
        os.chdir(place)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open("errors", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
        code = p4mesh(words)
    finally:
        os._exit(code)


class Campaign:
    """Counts what it does."""

    def __init__(self, place: Path, chance: random.Random) -> None:
        self.kills = self.during_reports = self.runs = 0
        self._place = place
        self._chance = chance
        for name in PRELOADED:
            importlib.import_module(name)
        (place / "network.yaml").write_text(NETWORK)

    def go(self, kills: int) -> None:
        """Kill ``kills`` times; raises AssertionError for a run that is not the undisturbed one."""
        whole = {case: self._undisturbed(case) for case in dict.fromkeys(CASES)}
        while self.kills < kills:
            for case in CASES:
                files, seconds = whole[case]
                self._disturbed(case, files, seconds, kills)
                print(
                    f"{self.kills} kills, {self.during_reports} of them while reports were written; "
                    f"{self.runs} runs got through, all byte-identical",
                    flush=True,
                )

    def _undisturbed(self, case: Case) -> tuple[dict[str, bytes], float]:
        out = self._place / f"whole-{case.test}-{case.jobs}"
        begin = time.monotonic()
        process = self._start(case, out)
        code = process.wait()
        assert code in (0, 1), f"{case}: exit code {code}: {(self._place / 'errors').read_text()}"
        return dict(files_of(out)), time.monotonic() - begin

    def _disturbed(self, case: Case, files: dict[str, bytes], seconds: float, kills: int) -> None:
        """Kill one run until it gets through."""
        out = self._place / f"run-{self.runs}"
        while True:
            process = self._start(case, out)
            if self.kills < kills:
                self._kill(process, out, seconds)
            code = process.wait()
            if code != -signal.SIGKILL:
                break
        errors = (self._place / "errors").read_text()
        assert code in (0, 1), f"{case}: exit code {code}: {errors}"
        assert dict(files_of(out)) == files, f"{case}: {out} is not the undisturbed run"
        for found in out.rglob("run.json"):
            read_run(found.parent)
        self.runs += 1
        shutil.rmtree(out)

    def _kill(self, process: Process, out: Path, seconds: float) -> None:
        reports = self._chance.random() < REPORTS_SHARE
        if reports:
            known = results_in(out)
            while process.poll() is None and results_in(out) <= known:
                time.sleep(0.001)
            time.sleep(self._chance.uniform(0, REPORTS_S))
        else:
            end = time.monotonic() + self._chance.uniform(0, _LATEST * seconds)
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.005)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            self.kills += 1
            self.during_reports += reports

    def _start(self, case: Case, out: Path) -> Process:
        words = ["run", case.test, "--topology", "network.yaml", "--sizes", case.sizes, "--jobs", str(case.jobs)]
        words += ["--out", str(out), *(word for setting in case.settings for word in ("--set", setting))]
        if case.jobs == 1:
            return Forked(words, self._place)
        command = [sys.executable, "-m", "p4mesh", *words]
        with (self._place / "errors").open("wb") as errors:
            return subprocess.Popen(
                command, cwd=self._place, start_new_session=True, stdout=subprocess.DEVNULL, stderr=errors
            )


def results_in(directory: Path) -> int:
    """How many finished runs are in a directory."""
    return sum(1 for _ in directory.rglob("results.json"))


def files_of(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files that must be equal, by their path in the directory."""
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.name not in WALL_CLOCK:
            yield str(path.relative_to(directory)), path.read_bytes()


def main() -> None:
    """Run the campaign that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="p4mesh-kills-") as place:
        Campaign(Path(place), random.Random(arguments.seed)).go(arguments.kills)


if __name__ == "__main__":
    main()
