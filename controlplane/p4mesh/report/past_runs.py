"""Past runs with their verdicts: every run below a directory, in whatever state it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from p4mesh.errors import P4MeshError
from p4mesh.report.publish import outcome_of
from p4mesh.store.finding import find_runs, require_folder
from p4mesh.store.lock import holder
from p4mesh.store.run_files import read_config
from p4mesh.store.stored_run import RESULTS, RUN, SUMS, TRIALS, read_run
from p4mesh.store.suite_directory import NOT_RUN, is_finished, is_suite, read_suite
from p4mesh.verdict import Verdict

DAMAGED, UNFINISHED, RUNNING = "damaged", "not finished", "running"
_FILES = (RUN, TRIALS, RESULTS, SUMS)
"""A directory without any of them has never been that of a run."""


@dataclass(frozen=True)
class PastRun:
    """A run, or a suite."""

    directory: Path
    state: str
    """Verdict; of a suite the worst one. ``running``, ``not finished`` or ``damaged``."""
    test: str = ""
    topology: str = ""
    target: str = ""
    started_utc: str = ""
    summary: str = ""
    """Result in one line; what is wrong with a damaged one."""


def past_runs(folder: Path) -> tuple[PastRun, ...]:
    """The runs below a folder, newest first, those that have not begun to measure at the end.

    Raises RunDirectoryError for no folder.
    """
    require_folder(folder)
    # A suite shows its own runs.
    found = (folder.joinpath(*place.parts) for place in find_runs(folder) if place.suite is None)
    runs = [_one(path) for path in found if is_suite(path) or any((path / name).exists() for name in _FILES)]
    return tuple(sorted(runs, key=lambda run: (run.started_utc, run.directory), reverse=True))


def _one(path: Path) -> PastRun:
    try:
        if is_suite(path):
            return _suite(path)
        return _run(path)
    except (P4MeshError, OSError) as error:
        problem = error.message if isinstance(error, P4MeshError) else str(error)
        return PastRun(path, DAMAGED, summary=problem.removeprefix(f"{path}: "))


def _run(path: Path) -> PastRun:
    if not (path / RESULTS).exists():
        config = read_config(path / RUN, "", "")
        return _unfinished(path, str(config.get("test", "")))
    run = read_run(path)
    outcome = outcome_of(run)
    started = min((timing.started_utc for timing in run.timings), default="")
    config = run.config
    return PastRun(
        path, outcome.state.value, run.label, config["topology"]["name"], config["target"], started, outcome.summary
    )


def _unfinished(path: Path, test: str) -> PastRun:
    process = holder(path.stat())
    if process is None:
        return PastRun(path, UNFINISHED, test, summary="the same command with --out resumes it")
    return PastRun(path, RUNNING, test, summary=f"process {process}" if process else "a process elsewhere")


def _suite(path: Path) -> PastRun:
    if not is_finished(path):
        return _unfinished(path, "")
    suite = read_suite(path)
    runs = [_run(directory) for directory in suite.runs]
    first = runs[0] if runs else PastRun(path, "")
    states = [row["state"] for row in suite.rows]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    return PastRun(
        path,
        Verdict.worst(Verdict(state) for state in states if state != NOT_RUN).value,
        suite.suite,
        first.topology,
        first.target,
        min((run.started_utc for run in runs), default=""),
        f"{len(states)} tests: {counts}",
    )
