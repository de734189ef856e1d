"""The trials that run now, for people who watch the run: ``live.json``.

It is there while a run lasts, enters no result, and is never longer than a few dozen kilobytes: of a trial that lasts
long, every second look is dropped again and again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from p4mesh.store.writing import storing, write_atomically
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


@dataclass
class _Watched:
    trial: WatchedTrial
    looks: list[Look] = field(default_factory=list)

    def add(self, look: Look) -> None:
        self.looks.append(look)
        if len(self.looks) > _MOST_LOOKS:
            # The last one stays, and so does the first.
            self.looks = [*self.looks[:-1:2], self.looks[-1]]

    def data(self) -> dict[str, Any]:
        return {**asdict(self.trial), "looks": [asdict(look) for look in self.looks]}


class LiveFile:
    """The file, which exists after the first look at a trial."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._trials: dict[tuple[str, int], _Watched] = {}
        self._written_s = float("-inf")

    def add(self, trial: WatchedTrial, look: Look) -> None:
        """Add a look at a trial."""
        key = (trial.unit, trial.trial)
        watched = self._trials.pop(key, None) or _Watched(trial)
        watched.add(look)
        self._trials[key] = watched
        for oldest in list(self._trials)[:-_MOST_TRIALS]:
            del self._trials[oldest]
        if time.monotonic() - self._written_s >= _WRITE_EVERY_S:
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
        data = {"trials": [watched.data() for watched in self._trials.values()]}
        write_atomically(self._path, json.dumps(data, separators=(",", ":")) + "\n")
        self._written_s = time.monotonic()


def watched_trials(text: str) -> Iterator[dict[str, Any]]:
    """Yield the trials in the text of the file; none where it is not what a run writes."""
    try:
        data = json.loads(text)
        yield from (trial for trial in data["trials"] if isinstance(trial["looks"], list))
    except (ValueError, TypeError, KeyError, RecursionError):
        return
