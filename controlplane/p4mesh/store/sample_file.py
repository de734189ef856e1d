"""The samples of a run as CSV lines, appended while traffic runs: ``samples.csv``.

A line is a class, a port or a flow at one moment. Lines of a trial that was broken off are dropped when the run
resumes; a finished run has them in the order of its units.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from p4mesh.measurement.samples import Sample, SampledCounts
from p4mesh.store.writing import storing, write_atomically
from p4mesh.traffic.line_rate import NS_PER_S

SAMPLE_COLUMNS = (
    "unit",
    "trial",
    "at_s",
    "kind",
    "name",
    "tx_frames",
    "rx_frames",
    "lost_frames",
    "reordered_frames",
    "duplicate_frames",
    "last_gap_s",
)
LINE_BYTES = 100
"""Length of one line, with a short name of its run."""

TrialName = tuple[str, int]
"""A trial: its unit, and its place there."""


class SampleFile:
    """The file, which is there once there is a sample."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, unit: str, trial: int, sample: Sample) -> None:
        """Put one sample on disk."""
        with storing(self._path):
            new = not self._path.exists()
            with self._path.open("a", encoding="utf-8", newline="") as file:
                file.write(_text([SAMPLE_COLUMNS] if new else []) + _text(_rows(unit, trial, sample)))

    def keep(self, finished: Callable[[TrialName], bool]) -> None:
        """Drop the lines of trials that have not finished."""
        if self._path.exists():
            self._write(row for row in self._rows() if finished((row[0], int(row[1]))))

    def sort(self, place_of: Mapping[str, int]) -> None:
        """Bring the lines into the order of the units."""
        if self._path.exists():
            self._write(sorted(self._rows(), key=lambda row: (place_of[row[0]], int(row[1]))))

    def _rows(self) -> Iterator[list[str]]:
        with storing(self._path):
            text = self._path.read_text(encoding="utf-8")
        # A crash may have cut the last line.
        whole = text[: text.rfind("\n") + 1]
        yield from (row for row in list(csv.reader(io.StringIO(whole)))[1:] if len(row) == len(SAMPLE_COLUMNS))

    def _write(self, rows: Iterable[Sequence[str]]) -> None:
        kept = list(rows)
        if kept:
            write_atomically(self._path, _text([SAMPLE_COLUMNS, *kept]))
        else:
            self._path.unlink()


def _rows(unit: str, trial: int, sample: Sample) -> Iterator[Sequence[object]]:
    head = (unit, trial, _seconds(sample.at_ns))
    for kind, counted in (("class", sample.classes), ("flow", sample.flows)):
        yield from ((*head, kind, *_cells(counts)) for counts in counted)
    for port in sample.ports:
        yield (*head, "port", port.port, port.tx_frames, port.rx_frames, "", "", "", "")


def _cells(counts: SampledCounts) -> tuple[object, ...]:
    return (
        counts.name,
        counts.tx_frames,
        counts.rx_frames,
        counts.lost_frames,
        counts.reordered_frames,
        counts.duplicate_frames,
        "" if counts.last_gap_ns is None else _seconds(counts.last_gap_ns),
    )


def _seconds(nanoseconds: int) -> str:
    whole, rest = divmod(abs(nanoseconds), NS_PER_S)
    return f"{'-' if nanoseconds < 0 else ''}{whole}.{rest:09d}"


def _text(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
