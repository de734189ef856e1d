"""Reads one run directory for the live page: only files that have changed, and only their new lines."""

from __future__ import annotations

import csv
import io
import time
from dataclasses import asdict
from typing import Any

import msgspec
from msgspec import Struct

from p4mesh.quantities import frame_sizes_text
from p4mesh.report.verdict import badge
from p4mesh.server.growing_file import GrowingFile
from p4mesh.server.trial_index import TrialIndex
from p4mesh.store.confined import Folder, Mark
from p4mesh.store.live_file import LiveContent, Watched, read_live
from p4mesh.store.lock import holder
from p4mesh.store.run_directory import LIVE, SAMPLES
from p4mesh.store.sample_file import SAMPLE_COLUMNS
from p4mesh.store.stored_run import RESULTS, RUN, TIMING, TRIALS
from p4mesh.store.verdict_words import verdict_on_test

RUNNING, STOPPED, FINISHED, DAMAGED = "running", "stopped", "finished", "damaged"
_FRESH_S = 10.0
"""A run whose process is unknown, as on a network file system, counts as running while its files change."""
_CONFIG_BYTES = 64 << 20
_RESULTS_BYTES = 256 << 20
_LIVE_BYTES = 4 << 20
_SAMPLES_BYTES = 1 << 18
_SHOWN = (".csv", ".json", ".jsonl", ".html", ".pdf", ".xml", ".parquet", ".pcapng")
"""Endings of the files that are offered."""


class _Topology(Struct):
    name: str


class _Config(Struct):
    test: str
    title: str
    section: str
    version: str
    target: str
    topology: _Topology
    frame_sizes_bytes: list[int | str]
    notes: dict[str, str] = {}


class _Outcome(Struct):
    state: str
    summary: str
    goal: str = ""
    findings: list[str] = []


class _Results(Struct):
    outcome: _Outcome


class _Timing(Struct):
    started_utc: str


class RunView:
    """One run; ``version`` grows with every change that a reader sees."""

    def __init__(self, key: str, name: str, parts: tuple[str, ...], suite: str | None) -> None:
        self.key = key
        self.name = name
        self.parts = parts
        self.suite = suite
        """Key of the suite that it belongs to."""
        self.version = 0
        self.process: int | None = None
        """Process that measures the run; None without one, or where the machine does not tell."""
        self.is_wanted = False
        """Whether a reader looks at its trials."""
        self.files: list[str] = []
        self._trials = TrialIndex()
        self._trials_told = (0, 0)
        self._state = STOPPED
        self._config: _Config | None = None
        self._results: _Results | None = None
        self._problem = ""
        self._live = LiveContent()
        self._was_held = False
        """Whether a process of this machine was seen to measure: its end is seen as well."""
        self._samples: list[dict[str, str]] = []
        self._started, self._started_utc = 0, ""
        self._marks: dict[str, Mark | None] = {}
        self._times_file = GrowingFile(TIMING)

    @property
    def is_running(self) -> bool:
        """Whether some process measures, as far as this machine can tell."""
        return self._state == RUNNING

    @property
    def is_finished(self) -> bool:
        """Whether the run has results that can be read."""
        return self._state == FINISHED

    def refresh(self, folder: Folder) -> bool:
        """Read what has changed; return whether something has."""
        before = (self._state, self._problem)
        try:
            changed = self._read(folder)
        except (OSError, ValueError, RecursionError) as error:
            self._state, self._problem, changed = DAMAGED, _words(error), False
            # Files that are as they were are not read again: the damage would be forgotten at the next look.
            self._marks.clear()
        changed |= before != (self._state, self._problem)
        self.version += changed
        return changed

    def summary(self) -> dict[str, Any]:
        """A line of the list of runs."""
        config, outcome = self._config, self._results.outcome if self._results else None
        verdict = badge(verdict_on_test(outcome.state, outcome.goal), outcome.goal) if outcome else None
        return {
            "key": self.key,
            "name": self.name,
            "suite": self.suite,
            "state": self._state,
            "problem": self._problem,
            "test": config.test if config else "",
            "title": config.title if config else "",
            "section": config.section if config else "",
            "topology": config.topology.name if config else "",
            "target": config.target if config else "",
            "sizes": frame_sizes_text(config.frame_sizes_bytes) if config else "",
            "notes": config.notes if config else {},
            "verdict": {"text": verdict.text, "tone": verdict.tone.value} if verdict else None,
            "outcome": outcome.summary if outcome else "",
            "trials": self._started,
            "started_utc": self._started_utc,
            "progress": asdict(self._live.progress) if self._live.progress else None,
            "live": [_shown(watched, -2) for watched in self._running_trials()],
        }

    def detail(self) -> dict[str, Any]:
        """Everything of the run but its trials: how many there are, and the generation of their order."""
        return {
            **self.summary(),
            "live": [_shown(watched, 0) for watched in self._running_trials()],
            "samples": self._samples,
            "files": self.files,
            "findings": self._results.outcome.findings if self._results else [],
            **self._trials_now(),
        }

    def rows(self, folder: Folder, first: int, most: int) -> dict[str, Any]:
        """Trials from place ``first`` on, ``most`` at most; raises RunDirectoryError for damaged ones."""
        self._trials.refresh(folder)
        return {**self._trials_now(), "rows": self._trials.rows(folder, first, most)}

    def _running_trials(self) -> list[Watched]:
        """None of a run that a signal has ended: the file is still there."""
        return self._live.trials if self.is_running else []

    def _trials_now(self) -> dict[str, int]:
        return {"total": len(self._trials), "generation": self._trials.generation}

    def _read(self, folder: Folder) -> bool:
        changed = self._configuration(folder) | self._outcome(folder) | self._times(folder) | self._now(folder)
        self._problem = ""
        self.process = holder(folder.owner())
        self._state = self._state_now(folder)
        if self.is_wanted:
            files = [name for name in folder.names()[0] if name.endswith(_SHOWN) and name != LIVE]
            changed |= self._measured(folder) | self._sampled(folder) | (files != self.files)
            self.files = files
        return changed

    def _state_now(self, folder: Folder) -> str:
        if self._results is not None:
            return FINISHED
        if self.process is not None:
            self._was_held = True
            return RUNNING
        if self._was_held:
            return STOPPED
        marks = (folder.mark(name) for name in (RUN, TRIALS, LIVE))
        latest_s = max((mark.changed_ns for mark in marks if mark), default=0) / 1e9
        return RUNNING if time.time() - latest_s < _FRESH_S else STOPPED

    def _is_new(self, folder: Folder, name: str) -> bool:
        mark = folder.mark(name)
        known = name in self._marks and self._marks[name] == mark
        self._marks[name] = mark
        return not known

    def _configuration(self, folder: Folder) -> bool:
        if not self._is_new(folder, RUN) and self._config:
            return False
        self._config = msgspec.json.decode(folder.read(RUN, _CONFIG_BYTES), type=_Config)
        return True

    def _outcome(self, folder: Folder) -> bool:
        if not self._is_new(folder, RESULTS):
            return False
        there = self._marks[RESULTS] is not None
        self._results = msgspec.json.decode(folder.read(RESULTS, _RESULTS_BYTES), type=_Results) if there else None
        return True

    def _times(self, folder: Folder) -> bool:
        again = self._times_file.begins_again(folder)
        if again:
            self._started, self._started_utc = 0, ""
        lines = self._times_file.new_lines(folder)
        self._started += len(lines)
        starts = (msgspec.json.decode(line, type=_Timing).started_utc for line in lines)
        self._started_utc = min((start for start in (self._started_utc, *starts) if start), default="")
        return again or bool(lines)

    def _now(self, folder: Folder) -> bool:
        if not self._is_new(folder, LIVE):
            return False
        there = self._marks[LIVE] is not None
        self._live = read_live(folder.read(LIVE, _LIVE_BYTES)) if there else LiveContent()
        return True

    def _measured(self, folder: Folder) -> bool:
        self._trials.refresh(folder)
        told, self._trials_told = self._trials_told, (len(self._trials), self._trials.generation)
        return told != self._trials_told

    def _sampled(self, folder: Folder) -> bool:
        if not self._is_new(folder, SAMPLES):
            return False
        mark = self._marks[SAMPLES]
        self._samples = []
        if mark is not None:
            start = max(0, mark.size - _SAMPLES_BYTES)
            self._samples = _latest(folder.read(SAMPLES, _SAMPLES_BYTES, start).decode(errors="replace"))
        return True


def _shown(watched: Watched, first_look: int) -> dict[str, Any]:
    """A trial that runs, counted from 1, with the looks from ``first_look`` on."""
    trial, looks = watched.trial, watched.looks[first_look:]
    return {**asdict(trial), "trial": trial.trial + 1, "looks": [asdict(look) for look in looks]}


def _latest(text: str) -> list[dict[str, str]]:
    """The last sample of each class in the end of the sample file."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    whole = text[: text.rfind("\n") + 1]
    for cells in csv.reader(io.StringIO(whole)):
        row = dict(zip(SAMPLE_COLUMNS, cells, strict=False))
        if len(cells) == len(SAMPLE_COLUMNS) and row["kind"] == "class":
            found[row["unit"], row["name"]] = row
    return list(found.values())


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename}" if error.filename else str(error.strerror or error)
    return f"damaged: {str(error)[:120]}"
