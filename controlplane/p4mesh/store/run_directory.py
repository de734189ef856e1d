"""One run on disk.

::

    DIR/run.json       configuration echo; fixed when the run starts, compared when it resumes
    DIR/trials.jsonl   one line per finished trial, appended and synced before the next trial starts
    DIR/timing.jsonl   wall-clock facts of the same trials, and the checksums of their lines
    DIR/ahead.jsonl    while a run lasts: trials measured before the run has asked for them
    DIR/live.json      while a run lasts: what its trials are doing right now
    DIR/samples.csv    samples of running traffic, where a run takes them
    DIR/captures.jsonl faulty frames and the names of lost ones, where a run was asked for them
    DIR/results.json   written once, when every unit is finished
    DIR/sums.json      the checksums of run.json and results.json, just before the latter is written
    DIR/*.csv, DIR/report.html

While units run in parallel, lines are appended in order of completion; a finished run holds them
in the order of its units, so that equal inputs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from p4mesh.errors import RunDirectoryError
from p4mesh.measurement.faults import Faults
from p4mesh.measurement.samples import Sample
from p4mesh.store import run_files
from p4mesh.store.codec import indented
from p4mesh.store.fault_file import CAPTURES, CapturedTrial, FaultFile
from p4mesh.store.live_file import LiveFile, Progress, WatchedTrial
from p4mesh.store.lock import DirectoryLock
from p4mesh.store.opening import NEW, has_files, open_directory
from p4mesh.store.run_files import Journal, KeptTrial, StoredTrial, Timing, digest
from p4mesh.store.sample_file import SampleFile
from p4mesh.store.stored_run import FORMAT, RESULTS, RUN, SUMS, TIMING, TRIALS, read_run_config
from p4mesh.store.writing import append_synced, remove_partial, storing, write_atomically, write_bytes_atomically
from p4mesh.trial.onlooker import Look

AHEAD = "ahead.jsonl"
LIVE = "live.json"
SAMPLES = "samples.csv"
_OWN_FILES = (RUN, TRIALS, TIMING, AHEAD, LIVE, SAMPLES, CAPTURES, RESULTS, SUMS)


class RunDirectory:
    """A run directory that is open for writing, by one process at a time."""

    def __init__(self, path: Path, config: Mapping[str, Any], lock: DirectoryLock, resumed: bool) -> None:
        self.path = path
        self.config = dict(config)
        self.resumed = resumed
        self._lock = lock
        journal = self._read_journal() if resumed else Journal((), (), False)
        self._trials, self._timings = list(journal.trials), list(journal.timings)
        self._stale_timings = journal.stale_timings
        self._kept = run_files.read_kept(path / AHEAD) if resumed else []
        self._samples = SampleFile(path / SAMPLES)
        self._faults = FaultFile(path / CAPTURES)
        self._live = LiveFile(path / LIVE)
        if resumed and not self.is_finished:
            self._live.remove()
            stored = {(trial.unit, trial.index) for trial in self._trials}
            self._samples.keep(stored.__contains__)
            self._faults.keep(stored.__contains__)

    @classmethod
    def open(cls, path: Path, config: Mapping[str, Any]) -> RunDirectory:
        """Create the directory, or resume the run in it when its configuration is the same.

        Raises RunDirectoryError, without touching anything, when the directory holds other files, another run, a
        damaged one, or one that another process uses; StorageError where it cannot be written.
        """
        full = {"format": FORMAT, **config}
        open_directory(path)
        lock = DirectoryLock(path, "--out ")
        try:
            if not has_files(path):
                remove_partial(path)
                write_atomically(path / RUN, indented(full, 2) + "\n")
                return cls(path, full, lock, False)
            stored = read_run_config(path, "--out ", NEW, to_resume=True)
            if stored != full:
                changed = ", ".join(sorted(key for key in {*stored, *full} if stored.get(key) != full.get(key)))
                raise RunDirectoryError(
                    f"--out {path}: holds another run (different {changed})",
                    hint="name a new directory; the same command resumes an interrupted run",
                )
            remove_partial(path)
            return cls(path, full, lock, True)
        except BaseException:
            lock.close()
            raise

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Let other processes have it."""
        self.close()

    def close(self) -> None:
        """Let other processes have the directory."""
        self._lock.close()

    @property
    def is_finished(self) -> bool:
        """Whether every unit has been measured and the results were written."""
        return (self.path / RESULTS).exists()

    def stored(self, unit: str) -> tuple[StoredTrial, ...]:
        """Finished trials of one unit, in order."""
        return tuple(sorted((trial for trial in self._trials if trial.unit == unit), key=lambda trial: trial.index))

    def keep(self, trial: KeptTrial) -> None:
        """Put a trial on disk that was measured ahead, so that a run that goes on here need not repeat it."""
        append_synced(self.path / AHEAD, trial.line())

    def kept(self, unit: str) -> dict[int, KeptTrial]:
        """Trials of one unit that an interrupted run has measured ahead, by their index."""
        return {trial.index: trial for trial in self._kept if trial.unit == unit}

    def append(self, trial: StoredTrial, timing: Timing) -> None:
        """Put one finished trial on disk; it survives a crash from here on."""
        line = trial.line()
        # The timing first: a crash in between leaves a timing without a trial, which is dropped, and never a trial
        # without the checksum that the timing holds.
        append_synced(self.path / TIMING, timing.line(line))
        append_synced(self.path / TRIALS, line)
        self._trials.append(trial)
        self._timings.append(timing)
        self._live.end(trial.unit, trial.index)

    def append_sample(self, unit: str, index: int, sample: Sample) -> None:
        """Put a sample of a running trial on disk."""
        self._samples.append(unit, index, sample)

    def append_faults(self, unit: str, index: int, faults: Faults) -> None:
        """Put on disk what a trial has captured, before the trial itself."""
        self._faults.append(CapturedTrial(unit, index, faults))

    def captured(self, unit_order: Sequence[str]) -> tuple[CapturedTrial, ...]:
        """Faults that the finished trials have captured, by unit; raises RunDirectoryError for a damaged file."""
        finished = {(trial.unit, trial.index) for trial in self._trials}
        found = (trial for trial in self._faults.read() if (trial.unit, trial.trial) in finished)
        return tuple(sorted(found, key=lambda trial: (unit_order.index(trial.unit), trial.trial)))

    def show_look(self, trial: WatchedTrial, look: Look) -> None:
        """Let those who watch the directory see a look at a running trial."""
        self._live.add(trial, look)

    def show_progress(self, progress: Progress) -> None:
        """Let those who watch the directory see how far the run is."""
        self._live.show(progress)

    @contextmanager
    def discarded_when_nothing_was_measured(self) -> Iterator[None]:
        """Remove the directory of a new run when the block fails before its first trial."""
        try:
            yield
        except BaseException:
            if not self.resumed and not self._trials and not (self.path / AHEAD).exists():
                for name in (TRIALS, TIMING, LIVE, SAMPLES, CAPTURES, RUN):
                    (self.path / name).unlink(missing_ok=True)
                if not any(self.path.iterdir()):
                    self.path.rmdir()
            raise

    def finish(self, unit_order: Sequence[str], results: Mapping[str, Any]) -> None:
        """Bring the trials into the order of the units, drop those that no unit asked for, and write the results."""
        place = {unit: position for position, unit in enumerate(unit_order)}
        unknown = next((trial.unit for trial in self._trials if trial.unit not in place), None)
        if unknown is not None:
            raise RunDirectoryError(
                f"{self.path / TRIALS}: this test has no part '{unknown}'",
                hint="start a new run in another directory",
            )
        self._trials.sort(key=lambda trial: (place[trial.unit], trial.index))
        self._drop_stale_timings()
        write_atomically(self.path / TRIALS, "".join(trial.line() + "\n" for trial in self._trials))
        self._samples.sort(place)
        self._faults.sort(place)
        with storing(self.path / AHEAD):
            (self.path / AHEAD).unlink(missing_ok=True)
        self._live.remove()
        text = indented(results, 1) + "\n"
        config = indented(self.config, 2) + "\n"
        sums = {RUN: digest(config), RESULTS: digest(text)}
        write_atomically(self.path / SUMS, indented(sums, 1) + "\n")
        # The last file: with it the run is finished.
        write_atomically(self.path / RESULTS, text)

    def write_text(self, name: str, text: str) -> Path:
        """Write a derived file, such as a CSV table or the report."""
        return self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, data: bytes) -> Path:
        """Write a derived file that is no text."""
        assert name not in _OWN_FILES, name
        target = self.path / name
        write_bytes_atomically(target, data)
        return target

    def _read_journal(self) -> Journal:
        if not self.is_finished:
            for name in (TRIALS, TIMING, AHEAD):
                _cut_half_line(self.path / name)
        return run_files.read_journal(self.path / TRIALS, self.path / TIMING, finished=self.is_finished)

    def _drop_stale_timings(self) -> None:
        """Leave one timing per trial, also where a crash came between a timing and its trial."""
        if not self._stale_timings:
            return
        trials = {(trial.unit, trial.index): trial.line() for trial in self._trials}
        lines = (timing.line(trials[timing.unit, timing.index]) for timing in self._timings)
        write_atomically(self.path / TIMING, "".join(line + "\n" for line in lines))


def _cut_half_line(path: Path) -> None:
    """Cut off a line that a crash left half written."""
    with storing(path):
        if not path.is_file():
            return
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            write_bytes_atomically(path, whole)
