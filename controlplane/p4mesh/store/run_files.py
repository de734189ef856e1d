"""Reads the files of a run directory, and refuses content that no run has written: every message names file and line.

A trial's line is compared with its checksum, which ``timing.jsonl`` holds beside the wall-clock facts of the trial;
``sums.json`` has those of the files that are written once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from p4mesh.causes import reading_hint
from p4mesh.errors import RunDirectoryError, StorageError
from p4mesh.regular_files import UnusualFileError, read_text
from p4mesh.store.codec import canonical
from p4mesh.store.verdict_words import verdict_of
from p4mesh.verdict import Verdict

LIMIT_BYTES = 4 << 30
"""Size of one file, at most; 65,536 flows in 10,000 trials need less."""
_DAMAGED = "a run that is damaged cannot be trusted: restore the file, or measure again in a new directory"

Shape = Mapping[str, Callable[[Any], bool]]


def is_text(value: Any) -> bool:
    """Whether this is a string."""
    return isinstance(value, str)


def is_count(value: Any) -> bool:
    """Whether this is an integer from 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_number(value: Any) -> bool:
    """Whether this is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_mapping(value: Any) -> bool:
    """Whether this is a JSON object."""
    return isinstance(value, dict)


def is_list(value: Any) -> bool:
    """Whether this is a JSON array."""
    return isinstance(value, list)


def is_verdict(value: Any) -> bool:
    """Whether this is a verdict on a trial."""
    try:
        return verdict_of(value) is not None
    except ValueError:
        return False


_COUNTED = (
    *("intended", "tx", "expected_rx", "rx", "duplicate", "reordered"),
    *("flooded", "foreign", "stale", "damaged", "misdirected"),
)
_COUNTS: Shape = {f"{name}_frames": is_count for name in _COUNTED}
_RESULT: Shape = {**_COUNTS, "status": is_verdict, "reason": is_text, "ports": is_list}
_TRIAL: Shape = {
    "unit": is_text,
    "trial": is_count,
    "load_pct": is_number,
    "verdict": is_verdict,
    "spec": is_mapping,
    "result": is_mapping,
}
_TIMING: Shape = {
    "unit": is_text,
    "trial": is_count,
    "started_utc": is_text,
    "elapsed_s": is_number,
    "sha256": is_text,
}
_KEPT: Shape = {
    "unit": is_text,
    "index": is_count,
    "spec": is_mapping,
    "result": is_mapping,
    "started_utc": is_text,
    "elapsed_s": is_number,
    "sha256": is_text,
}
_CONFIG: Shape = {
    **dict.fromkeys(("test", "title", "section", "version", "target"), is_text),
    **dict.fromkeys(("ports", "frame_sizes_bytes", "parameters"), is_list),
    **dict.fromkeys(("topology", "time_stamps"), is_mapping),
}


@dataclass(frozen=True)
class StoredTrial:
    """One finished trial: its place, the question and the answer, as JSON data."""

    unit: str
    index: int
    load_pct: float
    verdict: Verdict
    spec: dict[str, Any]
    result: dict[str, Any]
    taken_from: str = ""
    """The trial of another unit that it was measured as; empty for one that was measured by itself."""

    @property
    def status(self) -> Verdict:
        """MEASURED where its counts can be trusted."""
        return verdict_of(self.result["status"])

    def line(self) -> str:
        """Line of ``trials.jsonl``."""
        data = {"unit": self.unit, "trial": self.index, "load_pct": self.load_pct, "verdict": self.verdict.value}
        origin = {"taken_from": self.taken_from} if self.taken_from else {}
        return canonical({**data, **origin, "spec": self.spec, "result": self.result})


@dataclass(frozen=True)
class Timing:
    """Wall-clock facts of one trial; never part of a result."""

    unit: str
    index: int
    started_utc: str
    elapsed_s: float

    def line(self, trial_line: str) -> str:
        """Line of ``timing.jsonl``, with a checksum of it and of the line of its trial."""
        facts = {"unit": self.unit, "trial": self.index, "started_utc": self.started_utc, "elapsed_s": self.elapsed_s}
        return canonical({**facts, "sha256": digest(f"{canonical(facts)}\n{trial_line}")})


@dataclass(frozen=True)
class KeptTrial:
    """A trial that was measured ahead: part of the run only if the run comes to ask for it."""

    unit: str
    index: int
    spec: dict[str, Any]
    result: dict[str, Any]
    started_utc: str
    elapsed_s: float

    def line(self) -> str:
        """Line of ``ahead.jsonl``, with a checksum of its own."""
        data = dict(self.__dict__)
        return canonical({**data, "sha256": digest(canonical(data))})


@dataclass(frozen=True)
class Journal:
    """The trials of a run and when they ran, in the order of their lines."""

    trials: tuple[StoredTrial, ...]
    timings: tuple[Timing, ...]
    stale_timings: bool
    """A crash has left timings behind whose trials are not there; ``timings`` is without them."""


def digest(text: str) -> str:
    """SHA-256 of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_json(path: Path, hint: str) -> Any:
    """Data in a file; raises RunDirectoryError when it is damaged, FileNotFoundError when it is missing."""
    try:
        return parse_json(_text(path, hint))
    except (ValueError, RecursionError) as error:
        raise RunDirectoryError(f"{path}: damaged: {_first_line(error)}", hint=hint) from None


def read_config(path: Path, option: str, hint: str) -> dict[str, Any]:
    """Data of ``run.json``, whatever its format."""
    try:
        config = read_json(path, hint)
    except FileNotFoundError:
        raise RunDirectoryError(
            f"{option}{path.parent}: not a run directory (no {path.name} in it)", hint=hint
        ) from None
    if not isinstance(config, dict):
        raise RunDirectoryError(f"{option}{path}: not a run of P4Mesh", hint=hint)
    return config


def check_config(path: Path, config: Mapping[str, Any]) -> None:
    """Raise RunDirectoryError where ``run.json`` of this format lacks something."""
    _require(config, _CONFIG, str(path))


def read_journal(trials: Path, timing: Path, *, finished: bool) -> Journal:
    """Trials with their timings; raises RunDirectoryError for the first line that is damaged or missing."""
    times: dict[tuple[str, int], tuple[Timing, str, str]] = {}
    stale = False
    for where, line, text in _lines(timing, finished):
        _require(line, _TIMING, where)
        key = (line["unit"], line["trial"])
        # The later timing counts: a crash came between the earlier one and its trial, which was measured again.
        stale |= key in times
        times.pop(key, None)
        times[key] = Timing(*key, line["started_utc"], line["elapsed_s"]), text, where
    found: dict[tuple[str, int], StoredTrial] = {}
    for where, line, text in _lines(trials, finished):
        _require(line, _TRIAL, where)
        _require(line["result"], _RESULT, f"{where}: result")
        key = (line["unit"], line["trial"])
        if key in found:
            _damaged(where, f"trial {key[1]} of {key[0]} is there twice")
        if not is_text(line.get("taken_from", "")):
            _damaged(where, "taken_from is not a text")
        line["result"]["status"] = verdict_of(line["result"]["status"]).value
        verdict = verdict_of(line["verdict"])
        trial = StoredTrial(*key, line["load_pct"], verdict, line["spec"], line["result"], line.get("taken_from", ""))
        if key not in times:
            _damaged(where, f"{timing.name} has no line for trial {key[1]} of {key[0]}")
        time, line_of_time, place = times[key]
        if time.line(text) != line_of_time:
            _damaged(where, f"trial {key[1]} of {key[0]} is not what was measured: its checksum in {place} differs")
        found[key] = trial
    _require_whole(trials, found)
    missing = [key for key in times if key not in found]
    if finished and missing:
        _damaged(str(trials), f"trial {missing[0][1]} of {missing[0][0]} is missing")
    kept = tuple(time for key, (time, _, _) in times.items() if key in found)
    return Journal(tuple(found.values()), kept, stale or bool(missing))


def read_kept(path: Path) -> list[KeptTrial]:
    """Trials that an interrupted run has measured ahead."""
    kept = []
    for where, line, _ in _lines(path, False):
        _require(line, _KEPT, where)
        checksum = line.pop("sha256")
        if set(line) != set(KeptTrial.__dataclass_fields__) or checksum != digest(canonical(line)):
            _damaged(where, "the trial is not what was measured: its checksum differs")
        kept.append(KeptTrial(**line))
    return kept


def check_sums(directory: Path, sums: Path, names: Sequence[str]) -> None:
    """Raise RunDirectoryError where a file is not the one that the run has written."""
    try:
        expected = read_json(sums, _DAMAGED)
    except FileNotFoundError:
        _damaged(str(sums), "missing")
    if not isinstance(expected, dict) or set(expected) != set(names):
        _damaged(str(sums), f"not the checksums of {' and '.join(names)}")
    for name in names:
        if digest(_text(directory / name, _DAMAGED)) != expected[name]:
            _damaged(str(directory / name), "not what the run has written: its checksum differs")


def parse_json(text: str) -> Any:
    """Data of a text; raises ValueError, for numbers that JSON does not have as well."""

    def refuse(word: str) -> NoReturn:
        raise ValueError(f"{word} is not a number of JSON")

    return json.loads(text, parse_constant=refuse)


def _require_whole(path: Path, trials: Mapping[tuple[str, int], StoredTrial]) -> None:
    """Raise for a unit whose trials are not numbered 0, 1, 2, ..."""
    counts: dict[str, int] = {}
    for unit, _ in trials:
        counts[unit] = counts.get(unit, 0) + 1
    for unit, index in trials:
        if index >= counts[unit]:
            gap = next(number for number in range(counts[unit]) if (unit, number) not in trials)
            _damaged(str(path), f"trial {gap} of {unit} is missing")


def _lines(path: Path, finished: bool) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the place, the data and the text of every whole line; only a crash leaves one without an end."""
    try:
        text = _text(path, _DAMAGED)
    except FileNotFoundError:
        if finished:
            _damaged(str(path), "missing")
        return
    *whole, rest = text.split("\n")
    if rest and finished:
        _damaged(f"{path}:{len(whole) + 1}", "the line has no end")
    for number, line in enumerate(whole, start=1):
        where = f"{path}:{number}"
        try:
            data = parse_json(line)
        except (ValueError, RecursionError) as error:
            _damaged(where, _first_line(error))
        if not isinstance(data, dict):
            _damaged(where, "not a JSON object")
        yield where, data, line


def _text(path: Path, hint: str) -> str:
    try:
        return read_text(path, LIMIT_BYTES)
    except FileNotFoundError:
        raise
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise RunDirectoryError(f"{path}:{line}: damaged: not text in UTF-8", hint=hint) from None
    except UnusualFileError as error:
        raise RunDirectoryError(f"{path}: {error.strerror}", hint=hint) from None
    except IsADirectoryError as error:
        raise RunDirectoryError(f"{path}: {error.strerror}", hint=hint) from None
    except OSError as error:
        hint = reading_hint(error.errno, "the disk may fail: look at the messages of the kernel")
        raise StorageError(f"{path}: {error.strerror}", hint=hint) from None


def _require(data: Mapping[str, Any], shape: Shape, where: str) -> None:
    for key, is_valid in shape.items():
        if key not in data:
            _damaged(where, f"'{key}' is missing")
        if not is_valid(data[key]):
            _damaged(where, f"'{key}' is {_shown(data[key])}")


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__


def _damaged(where: str, problem: str) -> NoReturn:
    raise RunDirectoryError(f"{where}: damaged: {problem}", hint=_DAMAGED)
