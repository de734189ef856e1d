"""How far a run is and which trials run now, for people who watch it: ``live.json``.

It is there while a run lasts, enters no result, and is never longer than a few dozen kilobytes: of a trial that lasts
long, every second look is dropped again and again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Struct

from p4mesh.store.writing import storing, write_bytes_atomically
from p4mesh.trial.onlooker import Look

_MOST_LOOKS = 240
"""Looks at one trial."""
_MOST_TRIALS = 16
_WRITE_EVERY_S = 0.25


@dataclass(frozen=True)
class WatchedTrial:
    """A trial whose streams run."""

    unit: str
    trial: int
    label: str
    duration_ns: int
    frame_sizes_bytes: tuple[int, ...]


@dataclass(frozen=True)
class Progress:
    """How far a run is: expected trials are typical ones, and the time left follows from those done."""

    done: int
    left: int
    left_s: float | None = None
    """None before anything can be said."""


@dataclass
class Watched:
    """A trial, and the looks at it."""

    trial: WatchedTrial
    looks: list[Look] = field(default_factory=list)

    def add(self, look: Look) -> None:
        self.looks.append(look)
        if len(self.looks) > _MOST_LOOKS:
            # The last one stays, and so does the first.
            self.looks = [*self.looks[:-1:2], self.looks[-1]]


class LiveContent(Struct):
    """Content of the file."""

    trials: list[Watched] = []
    progress: Progress | None = None


class LiveFile:
    """The file, which exists while a run has trials to measure."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._trials: dict[tuple[str, int], Watched] = {}
        self._progress: Progress | None = None
        self._written_s = float("-inf")

    def add(self, trial: WatchedTrial, look: Look) -> None:
        """Add a look at a trial."""
        key = (trial.unit, trial.trial)
        watched = self._trials.pop(key, None) or Watched(trial)
        watched.add(look)
        self._trials[key] = watched
        for oldest in list(self._trials)[:-_MOST_TRIALS]:
            del self._trials[oldest]
        self._write()

    def show(self, progress: Progress) -> None:
        """Say how far the run is."""
        self._progress = progress
        self._write()

    def end(self, unit: str, trial: int) -> None:
        """Forget a trial that is over."""
        self._trials.pop((unit, trial), None)

    def remove(self) -> None:
        """Remove the file: the run is over."""
        self._trials.clear()
        with storing(self._path):
            self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        if time.monotonic() - self._written_s < _WRITE_EVERY_S:
            return
        content = LiveContent(list(self._trials.values()), self._progress)
        write_bytes_atomically(self._path, msgspec.json.encode(content) + b"\n")
        self._written_s = time.monotonic()


def read_live(text: bytes) -> LiveContent:
    """Content of the file; empty where it is not what a run writes."""
    try:
        return msgspec.json.decode(text, type=LiveContent)
    except (ValueError, RecursionError):
        return LiveContent()
