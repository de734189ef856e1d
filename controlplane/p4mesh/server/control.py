"""Starts and stops runs for the live page: ``p4mesh run`` in a process of its own, an interrupt as from the keyboard.

A run that is started here lives on when the server ends. It takes tests, topologies of one directory and parameters;
not parameters that are commands of the machine, which the command line alone sets.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

from p4mesh.errors import P4MeshError, RunDirectoryError, UsageError
from p4mesh.methods.names import NAMES, require_known
from p4mesh.methods.registry import TESTS, find_test
from p4mesh.server.catalogue import Catalogue
from p4mesh.server.run_view import RunView
from p4mesh.store.lock import holder
from p4mesh.target.names import TARGET_NAMES, repeats_exactly

_KEPT = 50
_LONGEST = 4000
"""Characters of what a run has said on standard error."""


@dataclass
class _Started:
    name: str
    process: subprocess.Popen[bytes]
    said: IO[bytes]


class Control:
    """Actions of the holder of the token."""

    def __init__(self, catalogue: Catalogue, topologies: Path, token: str, p4mesh: Sequence[str]) -> None:
        """Start runs with ``p4mesh``: the words of the command line before its command."""
        self.token = token
        self._p4mesh = p4mesh
        self._catalogue = catalogue
        self._topologies = topologies
        self._started: list[_Started] = []

    def choices(self) -> dict[str, list[str]]:
        """Names that can be started: tests and suites, topologies, targets."""
        return {
            "tests": [*NAMES, *(test.name for test in TESTS)],
            "topologies": self._topology_names(),
            "targets": sorted(TARGET_NAMES, key=repeats_exactly, reverse=True),
        }

    def start(self, wanted: Any) -> dict[str, str]:
        """Start a run and return its name; raises UsageError for what cannot be started."""
        test, topology, target, sizes = (_text(wanted, key) for key in ("test", "topology", "target", "sizes"))
        settings = _texts(wanted, "settings")
        require_known(test)
        if topology not in self._topology_names():
            raise UsageError(f"there is no topology '{topology[:40]}'", hint="choose one of the list")
        if target not in TARGET_NAMES:
            raise UsageError(f"there is no target '{target[:40]}'", hint=f"valid targets: {', '.join(TARGET_NAMES)}")
        _require_harmless(test, settings)
        stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
        name = self._free_name(f"{test}-{stamp}")
        words = [*self._p4mesh, "run", test]
        words += ["--topology", str(self._topologies / topology), "--target", target]
        words += ["--out", str(self._catalogue.root / name)]
        words += [f"--sizes={sizes}"] if sizes else []
        words += [f"--set={setting}" for setting in settings]
        said = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as the run can be asked about
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
        )
        self._started = [*self._started, _Started(name, process, said)][-_KEPT:]
        return {"name": name}

    def stop(self, run: RunView) -> None:
        """Interrupt the process that measures; raises RunDirectoryError where there is none.

        The process is held while the lock is looked at again, so that the number cannot belong to another one.
        """
        gone = RunDirectoryError(f"{run.name}: no process measures here", hint="the run may have ended by itself")
        if not run.process:
            raise gone
        try:
            held = os.pidfd_open(run.process)
        except OSError:
            raise gone from None
        try:
            with self._catalogue.opened(run) as opened:
                if holder(opened.owner()) != run.process:
                    raise gone
            signal.pidfd_send_signal(held, signal.SIGINT)
        except OSError as error:
            raise RunDirectoryError(
                f"{run.name}: {error.strerror}",
                hint="only its owner can stop a run" if isinstance(error, PermissionError) else "is it over already?",
            ) from None
        finally:
            os.close(held)

    def started(self) -> list[dict[str, Any]]:
        """The runs that were started here, the latest first, with the end of what those said that ended."""
        return [
            {"name": item.name, "exit_code": item.process.poll(), "said": _end_of(item)}
            for item in reversed(self._started)
        ]

    def _topology_names(self) -> list[str]:
        try:
            return sorted(path.name for path in self._topologies.glob("*.yaml") if path.is_file())
        except OSError:
            return []

    def _free_name(self, name: str) -> str:
        number, free = 1, name
        while (self._catalogue.root / free).exists():
            number += 1
            free = f"{name}-{number}"
        return free


def _end_of(started: _Started) -> str:
    started.said.seek(0, os.SEEK_END)
    size = started.said.tell()
    return os.pread(started.said.fileno(), _LONGEST, max(0, size - _LONGEST)).decode(errors="replace")


def _require_harmless(test: str, settings: list[str]) -> None:
    """Raise UsageError for a parameter that is a command of the machine, in any test of a suite as well."""
    names = [f"{test}.{name}" for name in NAMES[test]] if test in NAMES else [test]
    commands = {item.name for name in names for item in find_test(name).parameters if item.is_command}
    for setting in settings:
        name = setting.partition("=")[0].strip()
        if name in commands:
            raise UsageError(f"{name}: a command of the machine", hint="runs with commands are started with p4mesh run")


def _text(wanted: Any, key: str) -> str:
    value = wanted.get(key, "") if isinstance(wanted, dict) else ""
    if not isinstance(value, str) or "\0" in value:
        raise UsageError(f"'{key}' is not a text", hint="send the form of the page")
    return value.strip()


def _texts(wanted: Any, key: str) -> list[str]:
    values = wanted.get(key, []) if isinstance(wanted, dict) else []
    if not isinstance(values, list) or not all(isinstance(item, str) and "\0" not in item for item in values):
        raise UsageError(f"'{key}' is not a list of texts", hint="send the form of the page")
    return [item for item in (value.strip() for value in values) if item]


def refused(error: P4MeshError) -> dict[str, str]:
    """An error as JSON data."""
    return {"error": error.message, "hint": error.hint}
