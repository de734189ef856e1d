"""Starts and stops runs for the live page: ``p4mesh run`` in a process of its own, an interrupt as from the keyboard.

A run that is started here lives on when the server ends. It takes tests, run files and topologies of one directory
each, and options; not parameters that are commands of the machine, which the command line alone sets.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import Field, dataclass, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

from p4mesh.errors import P4MeshError, RunDirectoryError, UsageError
from p4mesh.methods.base import Method
from p4mesh.methods.names import NAMES, require_known
from p4mesh.methods.options.parameters import show
from p4mesh.methods.registry import TESTS, find_test
from p4mesh.run.options import ARGUMENT, RunOptions
from p4mesh.run.planning import planned_tests
from p4mesh.run_file.reader import load_run_file
from p4mesh.server.catalogue import Catalogue
from p4mesh.server.run_view import RunView
from p4mesh.store.lock import holder
from p4mesh.target.names import TARGET_NAMES

_PLACES = ("test", "topology")
_OFFERED = ("target", "sizes", "ports", "settings", "notes")
"""Options that the form has. None of them names a file, another machine or a command."""
_OPTIONS = [item for name in _OFFERED for item in fields(RunOptions) if item.name == name]
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

    def __init__(
        self, catalogue: Catalogue, topologies: Path, token: str, p4mesh: Sequence[str], run_files: Path | None = None
    ) -> None:
        """Start runs with ``p4mesh``: the words of the command line before its command."""
        self.token = token
        self._p4mesh = p4mesh
        self._catalogue = catalogue
        self._topologies = topologies
        self._run_files = run_files
        self._started: list[_Started] = []

    def choices(self) -> dict[str, Any]:
        """Tests, suites, run files and topologies that can be started, and the options that go with them."""
        return {
            "tests": [*NAMES, *(test.name for test in TESTS)],
            "run_files": _names_in(self._run_files),
            "topologies": _names_in(self._topologies),
            "options": [_described(item) for item in _OPTIONS],
        }

    def parameters(self, test: str) -> list[dict[str, str]]:
        """The parameters of a test, of the tests of a suite or of those in a run file, once each, with their help."""
        found = {item.name: item for name in self._tests_of(test) for item in find_test(name).parameters}
        return [
            {"name": item.name, "default": show(item.default), "valid": item.valid, "summary": item.summary}
            for item in found.values()
            if not item.is_command
        ]

    def start(self, wanted: Any) -> dict[str, str]:
        """Start a run and return its name; raises a P4MeshError for what the run itself would refuse."""
        _require_fields(wanted)
        test, topology = _text(wanted, "test"), _text(wanted, "topology")
        if topology and topology not in _names_in(self._topologies):
            raise UsageError(f"there is no topology '{topology[:40]}'", hint="choose one of the list")
        given = {item.name: _value(wanted, item) for item in _OPTIONS}
        if given["target"] and given["target"] not in TARGET_NAMES:
            raise UsageError(
                f"--target {given['target'][:40]}: not a target", hint=f"valid targets: {', '.join(TARGET_NAMES)}"
            )
        is_file = test in _names_in(self._run_files)
        if not is_file:
            require_known(test)
        whole = RunOptions(
            self._run_files / test if is_file and self._run_files else test,
            self._topologies / topology if topology else None,
            **{name: value for name, value in given.items() if value},
        )
        _require_harmless(planned_tests(whole), whole.settings)
        stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
        name = self._free_name(f"{Path(test).stem if is_file else test}-{stamp}")
        words = [*self._p4mesh, "run", str(whole.test), "--out", str(self._catalogue.root / name)]
        words += ["--topology", str(whole.topology)] if whole.topology else []
        for item in _OPTIONS:
            flag, value = item.metadata[ARGUMENT][0], given[item.name]
            words += [f"{flag}={text}" for text in ((value,) if isinstance(value, str) else value) if text]
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

    def _tests_of(self, test: str) -> list[str]:
        names = [test]
        if self._run_files and test in _names_in(self._run_files):
            names = [entry.test for _, entry in load_run_file(self._run_files / test).entries()]
        for name in names:
            require_known(name)
        return [
            inner for name in names for inner in ([f"{name}.{own}" for own in NAMES[name]] if name in NAMES else [name])
        ]

    def _free_name(self, name: str) -> str:
        """A name that no run has: neither on disk nor on its way there."""
        taken = {item.name for item in self._started}
        number, free = 1, name
        while free in taken or (self._catalogue.root / free).exists():
            number += 1
            free = f"{name}-{number}"
        return free


def _end_of(started: _Started) -> str:
    started.said.seek(0, os.SEEK_END)
    size = started.said.tell()
    return os.pread(started.said.fileno(), _LONGEST, max(0, size - _LONGEST)).decode(errors="replace")


def _names_in(folder: Path | None) -> list[str]:
    try:
        return sorted(path.name for path in folder.glob("*.yaml") if path.is_file()) if folder else []
    except OSError:
        return []


def _described(item: Field[Any]) -> dict[str, Any]:
    """An option as the form shows it, from where it is declared."""
    flag, how = item.metadata[ARGUMENT]
    return {
        "name": item.name,
        "flag": flag,
        "help": how["help"].replace("%%", "%"),
        "example": how.get("metavar", ""),
        "choices": list(how.get("choices", ())),
        "is_list": how.get("action") == "append",
    }


def _require_harmless(tests: Iterable[Method], settings: Iterable[str]) -> None:
    """Raise UsageError for a parameter that is a command of the machine."""
    commands = {item.name for test in tests for item in test.parameters if item.is_command}
    for setting in settings:
        name = setting.partition("=")[0].strip()
        if name in commands:
            raise UsageError(f"{name}: a command of the machine", hint="runs with commands are started with p4mesh run")


def _require_fields(wanted: Any) -> None:
    """Raise UsageError for what is no form, and for a field that it does not have: it would be left out in silence."""
    fields_of_form = (*_PLACES, *_OFFERED)
    if not isinstance(wanted, dict):
        what = "the request is no object with the fields of the form"
    elif unknown := sorted(set(wanted) - set(fields_of_form)):
        what = f"'{unknown[0][:40]}' is no field of the form"
    elif not wanted.get("test"):
        what = "'test' is left out"
    else:
        return
    raise UsageError(what, hint=f"valid: {', '.join(fields_of_form)}")


def _value(wanted: Any, item: Field[Any]) -> Any:
    if item.metadata[ARGUMENT][1].get("action") == "append":
        return tuple(_texts(wanted, item.name))
    return _text(wanted, item.name)


def _text(wanted: Any, key: str) -> str:
    value = wanted.get(key, "")
    if not isinstance(value, str) or "\0" in value:
        raise UsageError(f"'{key}' is not a text", hint="send the form of the page")
    return value.strip()


def _texts(wanted: Any, key: str) -> list[str]:
    values = wanted.get(key, [])
    if not isinstance(values, list) or not all(isinstance(item, str) and "\0" not in item for item in values):
        raise UsageError(f"'{key}' is not a list of texts", hint="send the form of the page")
    return [item for item in (value.strip() for value in values) if item]


def refused(error: P4MeshError) -> dict[str, str]:
    """An error as JSON data."""
    return {"error": error.message, "hint": error.hint}
