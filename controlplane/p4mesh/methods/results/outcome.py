"""Results as data: tables and figures that any report can show without knowing the test."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

Cell = str | int | float | bool | None


class State(str, Enum):
    """Verdict of a whole test (methodology 0.6)."""

    PASS = "PASS"
    FAIL = "FAIL"
    DONE = "DONE"
    """Executed; the test has no criterion."""
    INVALID = "INVALID"
    """At least one trial could not be trusted."""
    ABORT = "ABORT"

    @classmethod
    def worst(cls, found: Iterable[str], otherwise: State) -> State:
        """Return the worst verdict that is not good: ABORT, INVALID, FAIL; ``otherwise`` if all are good.

        ``found`` may hold verdicts of trials and searches, verdicts with a suffix, as in "INVALID: why" or "PASS (at
        least)", and other words.
        """
        words = {word for text in found for word in re.findall(r"^[A-Z]+\b", text)}
        return next((state for state in (cls.ABORT, cls.INVALID, cls.FAIL) if state in words), otherwise)


@dataclass(frozen=True)
class Column:
    """One column: ``key`` in rows and CSV (unit last), ``title`` for people, decimals to show."""

    key: str
    title: str
    unit: str = ""
    digits: int | None = None


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
class Figure:
    """One plot with axes that start at the given bounds; None = from the data."""

    name: str
    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    x_max: float | None = None
    y_max: float | None = None


@dataclass(frozen=True)
class Outcome:
    """The complete result of a finished test."""

    state: State
    summary: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    findings: tuple[str, ...] = ()
    """Facts that the reader must not miss, such as flooding or untrusted trials."""
    deviations: tuple[str, ...] = ()
    """Where the run departs from the RFC."""
    iterations: tuple[State, ...] = ()
    """Verdict of each iteration; empty for a test that was run once."""
    goal: str = field(default="", metadata={"stored": "if set"})
    """Goal that PASS confirms; empty where PASS only means that the test was executed."""
