"""One run on disk.

::

    DIR/run.json       configuration echo; fixed when the run starts, compared when it resumes
    DIR/trials.jsonl   one line per finished trial, appended and synced before the next trial starts
    DIR/timing.jsonl   wall-clock facts of the same trials
    DIR/ahead.jsonl    while a run lasts: trials measured before the run has asked for them
    DIR/results.json   written once, when every unit is finished
    DIR/*.csv, DIR/report.html

While units run in parallel, lines are appended in order of completion; a finished run holds them
in the order of its units, so that equal inputs give equal bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from p4mesh.errors import RunDirectoryError
from p4mesh.store.codec import canonical

FORMAT = 3
"""Of all files of a run directory; it grows when any of them means something else."""
_FORMAT_WITHOUT_A_NUMBER = 1
RUN = "run.json"
TRIALS = "trials.jsonl"
TIMING = "timing.jsonl"
AHEAD = "ahead.jsonl"
RESULTS = "results.json"
_OWN_FILES = (RUN, TRIALS, TIMING, AHEAD, RESULTS)


@dataclass(frozen=True)
class StoredTrial:
    """One finished trial: its place, the question and the answer, as JSON data."""

    unit: str
    index: int
    load_pct: float
    verdict: str
    spec: dict[str, Any]
    result: dict[str, Any]

    def line(self) -> str:
        """Return the JSON line of this trial."""
        data = {"unit": self.unit, "trial": self.index, "load_pct": self.load_pct, "verdict": self.verdict}
        return canonical({**data, "spec": self.spec, "result": self.result})


@dataclass(frozen=True)
class Timing:
    """When one trial ran; never part of a result."""

    unit: str
    index: int
    started_utc: str
    elapsed_s: float

    def line(self) -> str:
        """Return the JSON line of this timing."""
        return canonical(
            {"unit": self.unit, "trial": self.index, "started_utc": self.started_utc, "elapsed_s": self.elapsed_s}
        )


@dataclass(frozen=True)
class KeptTrial:
    """A trial that was measured ahead: part of the run only if the run comes to ask for it."""

    unit: str
    index: int
    spec: dict[str, Any]
    result: dict[str, Any]
    started_utc: str
    elapsed_s: float


class RunDirectory:
    """A run directory that is open for writing."""

    def __init__(self, path: Path, config: Mapping[str, Any], trials: Sequence[StoredTrial], resumed: bool) -> None:
        self.path = path
        self.config = dict(config)
        self.resumed = resumed
        self._trials = list(trials)
        self._kept = [KeptTrial(**line) for line in _whole_lines(path / AHEAD)]

    @classmethod
    def open(cls, path: Path, config: Mapping[str, Any]) -> RunDirectory:
        """Create the directory, or resume the run in it when its configuration is the same.

        Raises RunDirectoryError, without touching anything, when the directory holds other files,
        another run, or a damaged one.
        """
        full = {"format": FORMAT, **config}
        if (path.is_symlink() and not path.exists()) or (path.exists() and not path.is_dir()):
            raise RunDirectoryError(f"--out {path}: not a directory", hint="name a new or an empty directory")
        present = sorted(item.name for item in path.iterdir()) if path.exists() else []
        if not present:
            _create(path)
            _write_atomically(path / RUN, json.dumps(full, indent=2) + "\n")
            return cls(path, full, (), False)
        stored = _read_config(path, "--out ", "name a new or an empty directory")
        if stored != full:
            changed = ", ".join(sorted(key for key in {*stored, *full} if stored.get(key) != full.get(key)))
            raise RunDirectoryError(
                f"--out {path}: holds another run (different {changed})",
                hint="name a new directory; the same command resumes an interrupted run",
            )
        for name in (TRIALS, TIMING, AHEAD):
            _cut_half_line(path / name)
        return cls(path, full, tuple(_trials(path)), True)

    @property
    def is_finished(self) -> bool:
        """Whether every unit has been measured and the results were written."""
        return (self.path / RESULTS).exists()

    def stored(self, unit: str) -> tuple[StoredTrial, ...]:
        """Return the finished trials of one unit, in order."""
        return tuple(sorted((trial for trial in self._trials if trial.unit == unit), key=lambda trial: trial.index))

    def keep(self, trial: KeptTrial) -> None:
        """Put a trial on disk that was measured ahead, so that a run that goes on here need not repeat it."""
        _append_synced(self.path / AHEAD, canonical(asdict(trial)))

    def kept(self, unit: str) -> dict[int, KeptTrial]:
        """Return the trials of one unit that an interrupted run has measured ahead, by their index."""
        return {trial.index: trial for trial in self._kept if trial.unit == unit}

    def append(self, trial: StoredTrial, timing: Timing) -> None:
        """Put one finished trial on disk; it survives a crash from here on."""
        _append_synced(self.path / TIMING, timing.line())
        _append_synced(self.path / TRIALS, trial.line())
        self._trials.append(trial)

    @contextmanager
    def discarded_when_nothing_was_measured(self) -> Iterator[None]:
        """Remove the directory again when the block fails before the first trial of a new run."""
        try:
            yield
        except BaseException:
            if not self.resumed and not self._trials and not (self.path / AHEAD).exists():
                (self.path / RUN).unlink(missing_ok=True)
                if not any(self.path.iterdir()):
                    self.path.rmdir()
            raise

    def finish(self, unit_order: Sequence[str], results: Mapping[str, Any]) -> None:
        """Bring the trials into the order of the units, drop those that nobody asked for, and write the results."""
        place = {unit: position for position, unit in enumerate(unit_order)}
        self._trials.sort(key=lambda trial: (place[trial.unit], trial.index))
        _write_atomically(self.path / TRIALS, "".join(trial.line() + "\n" for trial in self._trials))
        (self.path / AHEAD).unlink(missing_ok=True)
        _write_atomically(self.path / RESULTS, json.dumps(results, indent=1, allow_nan=False) + "\n")

    def write_text(self, name: str, text: str) -> Path:
        """Write a derived file, such as a CSV table or the report."""
        assert name not in _OWN_FILES, name
        target = self.path / name
        _write_atomically(target, text)
        return target


@dataclass(frozen=True)
class StoredRun:
    """A finished run, read back."""

    path: Path
    config: dict[str, Any]
    results: dict[str, Any]
    trials: tuple[StoredTrial, ...]
    timings: tuple[Timing, ...]


def read_run(directory: str | Path) -> StoredRun:
    """Return the finished run in ``directory``; raise RunDirectoryError when there is none."""
    path = Path(directory)
    config = _read_config(path, "", "name the run directory that p4mesh run printed")
    if not (path / RESULTS).exists():
        raise RunDirectoryError(f"{path}: the run is not finished", hint="run the same command again to resume it")
    results = json.loads((path / RESULTS).read_text(encoding="utf-8"))
    timings = tuple(
        Timing(line["unit"], line["trial"], line["started_utc"], line["elapsed_s"])
        for line in _whole_lines(path / TIMING)
    )
    return StoredRun(path, config, results, tuple(_trials(path)), timings)


def _read_config(path: Path, option: str, hint: str) -> dict[str, Any]:
    try:
        config = json.loads((path / RUN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunDirectoryError(f"{option}{path}: not a run directory (no {RUN} in it)", hint=hint) from None
    except (OSError, ValueError) as error:
        raise RunDirectoryError(f"{option}{path / RUN}: {error}", hint=hint) from None
    if not isinstance(config, dict):
        raise RunDirectoryError(f"{option}{path / RUN}: not a run of P4Mesh", hint=hint)
    _require_format(f"{option}{path / RUN}", config)
    return config


def _require_format(where: str, config: Mapping[str, Any]) -> None:
    """Raise RunDirectoryError for a run that an older or a newer version has written."""
    found = config.get("format", _FORMAT_WITHOUT_A_NUMBER)
    if found == FORMAT and isinstance(found, int):
        return
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise RunDirectoryError(f"{where}: '{found}' is not a format of a run", hint="name a new directory")
    age = "an older" if found < FORMAT else "a newer"
    raise RunDirectoryError(
        f"{where}: format {found}, written by {age} version of P4Mesh; this version reads format {FORMAT}",
        hint="use that version to show or to resume it, or measure again in a new directory",
    )


def _cut_half_line(path: Path) -> None:
    """Cut off a line that a crash left half written."""
    if path.exists():
        text = path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            _write_atomically(path, whole)


def _trials(path: Path) -> Iterator[StoredTrial]:
    for line in _whole_lines(path / TRIALS):
        yield StoredTrial(line["unit"], line["trial"], line["load_pct"], line["verdict"], line["spec"], line["result"])


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(keepends=True), start=1):
        if not line.endswith("\n"):
            return
        try:
            yield json.loads(line)
        except ValueError as error:
            raise RunDirectoryError(f"{path}:{number}: {error}", hint="name a new directory") from None


def _create(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunDirectoryError(f"--out {path}: {error.strerror}", hint="name a directory you may write to") from None


def _append_synced(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def _write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".partial")
    with temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
