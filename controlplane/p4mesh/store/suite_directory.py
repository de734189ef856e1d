"""The directory of a suite: ``suite.json`` names the suite and, at the end, the state of each test.

The run directories of the tests are in it; ``suite.json`` has their names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from p4mesh.errors import RunDirectoryError
from p4mesh.store.lock import DirectoryLock
from p4mesh.store.opening import has_files, open_directory
from p4mesh.store.run_files import is_text, read_json
from p4mesh.store.stored_run import read_run
from p4mesh.store.writing import write_atomically
from p4mesh.verdict import Verdict

FORMAT = 4
_OLDER = 3
"""Format whose states had other words: they are read from its runs."""
NOT_RUN = "not run"
"""State of a test that the topology or the target cannot carry."""
_STATES = {NOT_RUN, *(verdict.value for verdict in Verdict)}
INDEX = "suite.json"
_ROW = ("test", "section", "state", "summary")
_HINT = "name the directory of a suite that p4mesh run printed"


class SuiteDirectory:
    """The directory of a suite that is open for writing, by one process at a time."""

    def __init__(self, path: Path, suite: str, lock: DirectoryLock) -> None:
        self.path = path
        self._suite = suite
        self._lock = lock

    @classmethod
    def open(cls, path: Path, suite: str) -> SuiteDirectory:
        """Create the directory, or continue in it; raises RunDirectoryError for any other one."""
        open_directory(path)
        lock = DirectoryLock(path, "--out ")
        try:
            present = has_files(path)
            if present and _suite_in(path) != suite:
                raise RunDirectoryError(
                    f"--out {path}: holds something other than a run of {suite}",
                    hint="name a new or an empty directory",
                )
            directory = cls(path, suite, lock)
            if not present:
                directory._write({})
            return directory
        except BaseException:
            lock.close()
            raise

    def __enter__(self) -> SuiteDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Let other processes have it."""
        self._lock.close()

    def finish(self, rows: Sequence[Mapping[str, Any]], directories: Mapping[str, str]) -> None:
        """Store the state of each test, and the directories of those that ran, by test."""
        self._write({"tests": list(rows), "directories": dict(directories)})

    def _write(self, more: Mapping[str, Any]) -> None:
        data = {"format": FORMAT, "suite": self._suite, **more}
        write_atomically(self.path / INDEX, json.dumps(data, indent=1) + "\n")


@dataclass(frozen=True)
class StoredSuite:
    """A finished suite, read back: one row per test, and the directories of those that ran."""

    suite: str
    rows: tuple[dict[str, str], ...]
    runs: tuple[Path, ...]


def is_suite(path: Path) -> bool:
    """Whether a directory is that of a suite."""
    return (path / INDEX).exists()


def is_finished(path: Path) -> bool:
    """Whether what became of each test is stored; raises RunDirectoryError for a damaged one."""
    return "tests" in _read(path)


def read_suite(path: Path) -> StoredSuite:
    """Reads the finished suite in ``path``; raises RunDirectoryError when it is missing or damaged."""
    data = _read(path)
    if "tests" not in data:
        raise RunDirectoryError(f"{path}: the suite is not finished", hint="run the same command again to resume it")
    rows = data["tests"]
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and set(row) == set(_ROW) and all(map(is_text, row.values())) for row in rows
    ):
        raise RunDirectoryError(f"{path / INDEX}: damaged: 'tests' is not a list of results", hint=_HINT)
    directories = data.get("directories")
    if not isinstance(directories, dict) or not all(map(_is_name, directories.values())):
        raise RunDirectoryError(f"{path / INDEX}: damaged: 'directories' is not a mapping to names", hint=_HINT)
    runs = tuple(path / directories[row["test"]] for row in rows if row["test"] in directories)
    if data["format"] == _OLDER:
        states = {run.label: run.results["outcome"]["state"] for run in map(read_run, runs)}
        rows = [{**row, "state": states.get(row["test"], row["state"])} for row in rows]
    if not all(row["state"] in _STATES for row in rows):
        raise RunDirectoryError(f"{path / INDEX}: damaged: a state is no verdict", hint=_HINT)
    return StoredSuite(data["suite"], tuple(rows), runs)


def _is_name(value: Any) -> bool:
    """Whether this can be the name of a directory in that of the suite."""
    return is_text(value) and value not in ("", ".", "..") and "/" not in value and "\0" not in value


def _suite_in(path: Path) -> str | None:
    """Name of the suite in a directory; None where there is none."""
    if not is_suite(path):
        return None
    name: str = _read(path)["suite"]
    return name


def _read(path: Path) -> dict[str, Any]:
    data = read_json(path / INDEX, _HINT)
    if not isinstance(data, dict) or not is_text(data.get("suite")):
        raise RunDirectoryError(f"{path / INDEX}: damaged: it names no suite", hint=_HINT)
    if data.get("format") not in (_OLDER, FORMAT):
        raise RunDirectoryError(
            f"{path / INDEX}: format {data.get('format')}, this version reads {_OLDER} and {FORMAT}",
            hint="use the version that wrote it, or measure again in a new directory",
        )
    return data
