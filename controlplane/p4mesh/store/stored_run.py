"""Finished runs, read back from their directories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from p4mesh.errors import RunDirectoryError
from p4mesh.store import run_files
from p4mesh.store.codec import canonical
from p4mesh.store.column_words import todays_table
from p4mesh.store.run_files import StoredTrial, Timing
from p4mesh.store.verdict_words import todays_results

FORMAT = 7
"""Format of all files of a run directory; it grows when any of them means something else. 6: frames of streams are
layers, and verdicts have the words of :class:`p4mesh.verdict.Verdict` alone. 7: a column has one name in all tables.
"""
_SEVERAL_VERDICTS = 5
READABLE = (_SEVERAL_VERDICTS, 6, FORMAT)
"""Formats of finished runs that are shown; a run goes on in its own format only."""
_FORMAT_WITHOUT_A_NUMBER = 1
_IDENTIFIER_DIGITS = 16
RUN = "run.json"
TRIALS = "trials.jsonl"
TIMING = "timing.jsonl"
RESULTS = "results.json"
SUMS = "sums.json"
SUMMED = (RUN, RESULTS)
HINT = "name the run directory that p4mesh run printed"


@dataclass(frozen=True)
class StoredRun:
    """A finished run, read back."""

    path: Path
    config: dict[str, Any]
    results: dict[str, Any]
    trials: tuple[StoredTrial, ...]
    timings: tuple[Timing, ...]

    @property
    def label(self) -> str:
        """Name of the run among those of a run file; the name of its test where it has none of its own."""
        return str(self.config.get("label", self.config["test"]))

    @property
    def started_utc(self) -> str:
        """Start of the first trial, as ISO 8601 in UTC; empty for a run without trials."""
        return min((timing.started_utc for timing in self.timings), default="")

    @property
    def identifier(self) -> str:
        """16 hexadecimal digits that tell the run from all others: they follow from its configuration and its start."""
        return run_files.digest(f"{canonical(self.config)}\n{self.started_utc}")[:_IDENTIFIER_DIGITS]

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the devices that the ports are linked to."""
        return tuple(dict.fromkeys(str(port["attached_to"]) for port in self.config["ports"] if port["attached_to"]))

    @property
    def setting(self) -> str:
        """Kind of devices and of time; see :func:`setting_of`."""
        return setting_of(self.config)


def setting_of(config: Mapping[str, Any]) -> str:
    """Kind of devices and of time, for people, with the model and the source of its parameters where notes have them.

    Empty in runs that did not say so yet.
    """
    kind, notes = str(config.get("setting", "")), config.get("notes", {})
    model = " ".join(notes[key] for key in ("vendor", "model") if key in notes)
    source = f"parameters: {notes['model_parameters']}" if "model_parameters" in notes else ""
    about = "; ".join(text for text in (model, source) if text)
    return f"{kind} ({about})" if kind and about else kind


def read_run(directory: str | Path) -> StoredRun:
    """Reads the finished run in ``directory``.

    Raises RunDirectoryError when there is none, or when its files differ from those that a run has written.
    """
    path = Path(directory)
    config = read_run_config(path)
    run_files.check_config(path / RUN, config)
    try:
        results = run_files.read_json(path / RESULTS, HINT)
    except FileNotFoundError:
        raise RunDirectoryError(
            f"{path}: the run is not finished", hint="run the same command again to resume it"
        ) from None
    run_files.check_sums(path, path / SUMS, SUMMED)
    if config["format"] != FORMAT:
        results = _todays(path / RESULTS, results, config["format"])
    journal = run_files.read_journal(path / TRIALS, path / TIMING, finished=True)
    return StoredRun(path, config, results, journal.trials, journal.timings)


def _todays(path: Path, results: dict[str, Any], written: int) -> dict[str, Any]:
    try:
        if written == _SEVERAL_VERDICTS:
            results = todays_results(results)
        outcome = results["outcome"]
        return {**results, "outcome": {**outcome, "tables": [todays_table(table) for table in outcome["tables"]]}}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunDirectoryError(
            f"{path}: damaged: {type(error).__name__}: {error}", hint="measure again in a new directory"
        ) from None


def read_run_config(path: Path, option: str = "", hint: str = HINT, *, to_resume: bool = False) -> dict[str, Any]:
    """Read the configuration of a run; raises RunDirectoryError where there is none that can be shown, or resumed."""
    config = run_files.read_config(path / RUN, option, hint)
    _require_format(f"{option}{path / RUN}", config, to_resume)
    return config


def _require_format(where: str, config: Mapping[str, Any], to_resume: bool) -> None:
    """Raise RunDirectoryError for a run that an older or a newer version has written."""
    found = config.get("format", _FORMAT_WITHOUT_A_NUMBER)
    valid = (FORMAT,) if to_resume else READABLE
    if found in valid and isinstance(found, int):
        return
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise RunDirectoryError(f"{where}: '{found}' is not a format of a run", hint="name a new directory")
    age = "an older" if found < FORMAT else "a newer"
    *others, last = map(str, valid)
    does = f"{'resumes' if to_resume else 'reads'} format {' and '.join([', '.join(others), last]) if others else last}"
    raise RunDirectoryError(
        f"{where}: format {found}, written by {age} version of P4Mesh; this version {does}",
        hint="use that version to show or to resume it, or measure again in a new directory",
    )
