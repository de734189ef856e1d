"""Results as data: tables and figures that any report can show without knowing the test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, nextafter
from typing import TypeGuard

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.traffic.imix import FrameSize, MixedSize
from p4mesh.verdict import Verdict

Cell = str | int | float | bool | None
_VERDICTS = (fields.STATE.key, fields.VERDICT.key)


def is_number(cell: object) -> TypeGuard[int | float]:
    """Whether a cell holds a number, and no truth value."""
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def with_reasons(columns: tuple[Column, ...], rows: Iterable[Mapping[str, Cell]]) -> tuple[Column, ...]:
    """The columns, and one of reasons where a row has one for a verdict that is shown."""
    shown = {column.key for column in columns}
    told = fields.REASON.key not in shown and not shown.isdisjoint(_VERDICTS)
    return (*columns, fields.REASON) if told and any(row.get(fields.REASON.key) for row in rows) else columns


@dataclass(frozen=True)
class Table:
    """One result table; ``rows`` map column keys to cells, None where a value does not apply."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[dict[str, Cell], ...]
    note: str = ""
    detail: bool = False
    """Too long for a terminal: shown in the report and written as CSV only."""
    keys: tuple[str, ...] = ("frame_size_bytes",)
    """Columns that identify a row: rows of several iterations that agree in them belong together. Empty for a log,
    whose rows are not compared.
    """
    headline: tuple[str, ...] = field(default=(), metadata={"stored": "if set"})
    """Keys of the few columns that a reader wants first; a report shows them before everything else."""


@dataclass(frozen=True)
class Series:
    """One line of a figure."""

    name: str
    points: tuple[tuple[float, float], ...]
    theoretical: bool = False


@dataclass(frozen=True)
class PlaceName:
    """A name that stands at a place of an x axis."""

    x: float
    name: str

    @classmethod
    def of_mixes(cls, frame_sizes_bytes: Iterable[FrameSize]) -> tuple[PlaceName, ...]:
        """The mixes among frame sizes, at their means."""
        mixes = {size for size in frame_sizes_bytes if isinstance(size, MixedSize)}
        return tuple(cls(place_of(mix), mix.name) for mix in sorted(mixes))


def place_of(size: FrameSize) -> float:
    """Place on an axis of frame sizes: of a mix its mean, or a little beside it where that is a size, too."""
    return nextafter(size, inf) if isinstance(size, MixedSize) and size.denominator == 1 else float(size)


@dataclass(frozen=True)
class Figure:
    """One plot with axes that end at the given bounds, or where data are beyond them; None = from the data."""

    name: str
    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    x_max: float | None = None
    y_max: float | None = None
    x_names: tuple[PlaceName, ...] = field(default=(), metadata={"stored": "if set"})


@dataclass(frozen=True)
class Outcome:
    """The complete result of a finished test."""

    state: Verdict
    summary: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    findings: tuple[str, ...] = ()
    """Facts that the reader must not miss, such as flooding or untrusted trials."""
    deviations: tuple[str, ...] = ()
    """Where the run departs from the RFC."""
    iterations: tuple[Verdict, ...] = ()
    """Verdict of each iteration; empty for a test that was run once."""
    goal: str = field(default="", metadata={"stored": "if set"})
    """Goal that PASS and FAIL judge; empty where the test has none."""
