"""Faults that the trials of a run have captured, as JSON lines: ``captures.jsonl``, where a run was asked for them.

A line is written before its trial. Lines of trials that did not finish are dropped when the run resumes; a finished run
has them in the order of its units.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from p4mesh.errors import RunDirectoryError
from p4mesh.measurement.faults import Faults
from p4mesh.store.codec import canonical, decode, encode
from p4mesh.store.writing import append_synced, storing, write_atomically

CAPTURES = "captures.jsonl"


@dataclass(frozen=True)
class CapturedTrial:
    """The faults of one trial."""

    unit: str
    trial: int
    faults: Faults

    def line(self) -> str:
        return canonical({"unit": self.unit, "trial": self.trial, "faults": encode(self.faults)})


class FaultFile:
    """The file, which is there once a trial has captured."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, trial: CapturedTrial) -> None:
        """Put the faults of a trial on disk; they survive a crash when this returns."""
        append_synced(self._path, trial.line())

    def keep(self, finished: Callable[[tuple[str, int]], bool]) -> None:
        """Drop the lines of trials that have not finished."""
        if self._path.exists():
            self._write(trial for trial in self.read() if finished((trial.unit, trial.trial)))

    def sort(self, place_of: Mapping[str, int]) -> None:
        """Bring the lines into the order of the units."""
        if self._path.exists():
            self._write(sorted(self.read(), key=lambda trial: (place_of[trial.unit], trial.trial)))

    def read(self) -> tuple[CapturedTrial, ...]:
        """Trials in the file, without a last line that a crash has cut; raises RunDirectoryError for a damaged file."""
        if not self._path.exists():
            return ()
        with storing(self._path):
            data = self._path.read_bytes()
        lines = data[: data.rfind(b"\n") + 1].splitlines()
        return tuple(self._parsed(number, line) for number, line in enumerate(lines, 1))

    def _parsed(self, number: int, line: bytes) -> CapturedTrial:
        try:
            found: dict[str, Any] = json.loads(line)
            return CapturedTrial(str(found["unit"]), int(found["trial"]), decode(Faults, found["faults"]))
        except (ValueError, KeyError, TypeError) as error:
            raise RunDirectoryError(
                f"{self._path}: line {number}: damaged: {type(error).__name__}",
                hint="restore the file, or measure again in a new directory",
            ) from None

    def _write(self, trials: Iterable[CapturedTrial]) -> None:
        write_atomically(self._path, "".join(trial.line() + "\n" for trial in trials))
