"""Directories that are in use, full, read-only or impossible: one message each, and the run can go on afterwards."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.networks import TOPOLOGIES
from support.runs import files

from p4mesh.errors import RunDirectoryError, StorageError
from p4mesh.run import Event, RunOptions, TrialFinished, run, run_suite
from p4mesh.store import writing

WRS = TOPOLOGIES / "wrs-18x1g.yaml"


def options(out: Path | None, test: str = "rfc2544.frame_loss") -> RunOptions:
    return RunOptions(test, WRS, "64", out=out, jobs=1, opener="support.fakes:open_wire")


@pytest.mark.parametrize("test", ["rfc2544.frame_loss", "rfc2544"])
def test_a_directory_is_for_one_run_at_a_time(test: str, tmp_path: Path) -> None:
    """Goal: the second run is refused, with the process of the first. Method: begin it in the middle of the first."""
    begin = run_suite if test == "rfc2544" else run
    refusals: list[RunDirectoryError] = []

    def again(event: Event) -> None:
        if isinstance(event, TrialFinished) and not refusals:
            with pytest.raises(RunDirectoryError) as raised:
                begin(options(tmp_path / "run", test))
            refusals.append(raised.value)

    begin(options(tmp_path / "run", test), again)
    assert refusals[0].message == f"--out {tmp_path / 'run'}: in use by process {os.getpid()}"
    begin(options(tmp_path / "run", test))


HOLD = """
import sys, time
from pathlib import Path
from p4mesh.store.lock import DirectoryLock
lock = DirectoryLock(Path(sys.argv[1]), "--out ")
print("held", flush=True)
time.sleep(600)
"""


def test_a_process_that_is_killed_leaves_no_lock(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
            with pytest.raises(RunDirectoryError, match=f"in use by process {holder.pid}"):
                run(options(tmp_path))
        finally:
            holder.kill()
    run(options(tmp_path))


def test_runs_that_begin_in_the_same_second_have_directories_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = [run(options(None)).directory for _ in range(3)]
    assert len(set(found)) == 3
    assert all(re.fullmatch(r"runs/rfc2544\.frame_loss-\d{8}-\d{6}(-\d)?", str(path)) for path in found)


def test_a_refused_run_leaves_no_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    with pytest.raises(Exception, match="make p4"):
        run(RunOptions("rfc2544.frame_loss", WRS, "64", jobs=1, opener="test_storage:open_stale"))
    assert list((tmp_path / "runs").iterdir()) == []


def open_stale(_: object) -> None:
    raise RuntimeError("make p4")


@pytest.mark.parametrize("allowed", range(0, 12, 2))
def test_a_disk_that_is_full_anywhere_is_one_error_and_the_run_goes_on_later(
    allowed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Method: a number of writes work, the next one writes half of its bytes and fails."""
    whole = run(options(tmp_path / "whole")).directory
    left = [allowed]
    sync = os.fsync
    synced: dict[int, int] = {}

    def full(descriptor: int) -> None:
        file = os.fstat(descriptor)
        if left[0] == 0:
            os.ftruncate(descriptor, (synced.get(file.st_ino, 0) + file.st_size) // 2)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left[0] -= 1
        sync(descriptor)
        synced[file.st_ino] = file.st_size

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(StorageError, match=r"No space left on device$") as raised:
        run(options(tmp_path / "full"))
    assert raised.value.exit_code == 3
    monkeypatch.undo()
    assert files(run(options(tmp_path / "full")).directory) == files(whole)


@pytest.mark.parametrize(
    ("name", "problem"),
    [("x" * 300, "File name too long"), ("x/" * 2100 + "x", "File name too long")],
    ids=["name", "path"],
)
def test_an_impossible_name_is_an_environment_error(name: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=problem) as raised:
        run(options(tmp_path / name))
    assert len(raised.value.message) < 160


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="there is no /sys, where nobody can make a directory")
def test_a_place_that_cannot_be_written_is_an_environment_error() -> None:
    with pytest.raises(StorageError, match="/sys/kernel/run: "):
        run(options(Path("/sys/kernel/run")))
