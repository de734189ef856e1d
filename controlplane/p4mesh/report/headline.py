"""The few numbers that a reader wants first, with their errors and the trial duration for which each of them holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, Sense, quantity_of
from p4mesh.methods.results.iterations import ITERATION
from p4mesh.methods.results.loss_interval import BUCKET_FRAMES
from p4mesh.methods.results.outcome import Cell, Outcome, Table, is_number
from p4mesh.methods.results.searched import AT_LEAST
from p4mesh.quantities import time_text
from p4mesh.report.document import Grid, GridRow
from p4mesh.report.errors_of_numbers import NumberErrors, is_bound
from p4mesh.report.grids import cells_of, errors_of, heads_of, is_average, rows_of
from p4mesh.report.numbers import cell_text, error_text, number, text_with_bounds
from p4mesh.store.run_files import StoredTrial
from p4mesh.store.stored_run import StoredRun
from p4mesh.traffic.line_rate import NS_PER_MS

DURATION = Column("trial_duration", "Trials of")
_DURATION_KEY = "duration_ms"
_SIZE_KEY = "frame_size_bytes"
_UNITS_OF_LOADS = ("% of line", "frames/s")
_ALWAYS = (ITERATION.key, fields.REASON.key)
"""Columns that stand in every headline, where they are filled."""
_COUNT = "frames"
"""Unit of numbers that are exact, also where they are means of counts."""
_OTHERWISE = 4
"""Headline columns of a table that names none."""
_MOST_ROWS = 16
_BUCKET = "(bucket "
_UNKNOWN = "+-?: its error is not known, because it was measured once, of too few frames, or while a queue filled."
_BURST = (
    f"Bucket: a longer trial may differ by so much, if the device forgives each port a burst of {BUCKET_FRAMES:,} "
    "frames, as policers do, and by more if it collapses then."
)


def headline_grids(outcome: Outcome, run: StoredRun) -> tuple[Grid, ...]:
    """Headline of every table that has one; of the first table with rows where none has."""
    durations, errors = _Durations(run.trials), _errors_of_run(outcome, run)
    return tuple(_grid(table, durations, errors) for table in _chosen(outcome))


def _errors_of_run(outcome: Outcome, run: StoredRun) -> NumberErrors:
    return NumberErrors(run.config, outcome.tables, run.trials)


def _chosen(outcome: Outcome) -> list[Table]:
    chosen = [table for table in outcome.tables if table.headline and table.rows]
    first = next((table for table in outcome.tables if table.rows and not table.detail), None)
    return chosen or ([replace(first, headline=_first_columns(first))] if first else [])


def is_whole_on_cover(table: Table) -> bool:
    """Whether the headline of a table is all of it: then the report does not have it again."""
    filled = {column.key for column in table.columns if any(row.get(column.key) is not None for row in table.rows)}
    filled -= {error.key for key, error in errors_of(table).items() if key in table.headline}
    rows = rows_of(table)
    return (
        bool(table.headline and rows)
        and not table.note
        and filled <= {*table.keys, *_ALWAYS, *table.headline}
        and len(_shown(rows)) == len(rows) <= _MOST_ROWS
    )


def _grid(table: Table, durations: _Durations, number_errors: NumberErrors) -> Grid:
    rows = _shown(rows_of(table))
    wanted = (*table.keys, *_ALWAYS, *table.headline)
    columns = [column for column in table.columns if column.key in wanted]
    columns = [column for column in columns if any(row.get(column.key) not in (None, "") for row in rows)]
    heads = heads_of((*columns, DURATION), rows, table.keys)
    cut = rows[:_MOST_ROWS]
    cells = _Cells(table, number_errors)
    lines = tuple(GridRow((*(cells.text(row, column) for column in columns), durations.of(row))) for row in cut)
    left = len(rows) - len(cut)
    more = f"{left:,} more row{'s' * (left != 1)} below." if left else ""
    notes = [more, errors_note(str(cell) for line in lines for cell in line.cells)]
    return Grid(table.title, (*heads[:-1], replace(heads[-1], number=True)), lines, " ".join(filter(None, notes)))


def errors_note(cells: Iterable[str]) -> str:
    """Meaning of the ends of numbers with errors, where that needs a word."""
    texts = tuple(cells)
    unknown = any(re.search(rf"{re.escape(error_text(None))}(\s|$)", text) for text in texts)
    return " ".join([_UNKNOWN] * unknown + [_BURST] * any(_BUCKET in text for text in texts))


class _Cells:
    """Cells of a table as text, each number with its error: that of its column, of its search, resolution or stamps.

    A result whose error is not known has a question mark; counts and what was asked for are exact.
    """

    def __init__(self, table: Table, number_errors: NumberErrors) -> None:
        self._table, self._number_errors, self._errors = table, number_errors, errors_of(table)

    def text(self, row: Mapping[str, Cell], column: Column) -> str:
        value, (text,) = row.get(column.key), cells_of([column], row, {})
        if not is_number(value) or column.key in (*self._table.keys, fields.UPPER_PCT.key):
            return text
        bounds = self._number_errors.bounds_of(self._table, row, column)
        is_result = isinstance(value, float) and quantity_of(column.key).sense in (Sense.HIGHER, Sense.LOWER)
        if column.key in self._errors and not bounds.burst:
            return cells_of([column], row, self._errors)[0]
        if bounds.known or (is_result and column.unit != _COUNT and not is_bound(row, column)):
            return text_with_bounds(column, value, bounds.below, bounds.above, bounds.burst)
        return text

    def span(self, column: Column, rows: Sequence[Mapping[str, Cell]]) -> str:
        """Numbers of a column from the lowest to the highest one."""
        found = sorted(rows, key=lambda row: number(row.get(column.key)))
        low, high = self.text(found[0], column), self.text(found[-1], column)
        return low if low == high else f"{low} to {high}"


def _shown(rows: Sequence[Mapping[str, Cell]]) -> list[Mapping[str, Cell]]:
    """Rows to show: of several iterations the averages, where there are some."""
    averages = [row for row in rows if is_average(row)]
    return averages or list(rows)


def _first_columns(table: Table) -> tuple[str, ...]:
    """Verdict and first numbers of a table that names no headline columns."""
    errors = {error.key for error in errors_of(table).values()}
    others = [column for column in table.columns if column.key not in (*table.keys, *errors)]
    return tuple(column.key for column in others[:_OTHERWISE])


def key_numbers(outcome: Outcome, run: StoredRun) -> str:
    """The quantity that a test measures, from its lowest to its highest row, as on the cover; else its words, counted.

    A load is the quantity of a search alone: beside a latency, a loss or a time it only says where that was measured.
    """
    table = next(iter(_chosen(outcome)), None)
    if table is None:
        return ""
    rows, cells = _shown(rows_of(table)), _Cells(table, _errors_of_run(outcome, run))
    columns = {column.key: column for column in table.columns}
    if fields.LOAD_PCT.key in table.keys and fields.LOSS_PCT.key in columns:
        return _sweep(columns, rows, cells)
    named = [columns[key] for key in table.headline if key in columns]
    named.sort(key=lambda column: (column.unit in _UNITS_OF_LOADS, not column.key.startswith("avg")))
    quantities = [column for column in named if column.unit and column.unit not in _UNITS_OF_LOADS]
    notes = [str(row[fields.REASON.key]) for row in rows if row.get(fields.REASON.key)]
    about = table.title.partition(":")[0]
    if quantities and notes and not any(row.get(column.key) is not None for column in quantities for row in rows):
        return f"{about}: {', '.join(dict.fromkeys(notes))}"
    words = []
    for column in named:
        numbers = [row for row in rows if is_number(row.get(column.key))]
        if numbers:
            name = about if about == column.title else f"{about}: {column.title}"
            name += f" {AT_LEAST}" * all(row.get(fields.REASON.key) == AT_LEAST for row in numbers)
            return f"{name} {cells.span(column, numbers)} {column.unit}".rstrip()
        found = Counter(str(row[column.key]) for row in rows if row.get(column.key) is not None)
        words += [f"{column.title}: {count} {cell}" for cell, count in found.most_common()]
    return ", ".join(words)


def _sweep(columns: Mapping[str, Column], rows: Sequence[Mapping[str, Cell]], cells: _Cells) -> str:
    """Highest load without a loss, and the loss at the highest load, over all frame sizes."""
    load, loss = columns[fields.LOAD_PCT.key], columns[fields.LOSS_PCT.key]
    best: dict[Cell, float] = {}
    top: dict[Cell, Mapping[str, Cell]] = {}
    for row in rows:
        if is_number(row.get(load.key)) and is_number(row.get(loss.key)):
            size, at = row.get(_SIZE_KEY), number(row.get(load.key))
            best[size] = max(best.get(size, 0.0), 0.0 if row[loss.key] else at)
            top[size] = max(row, top.get(size, row), key=lambda one: (number(one[load.key]), number(one[loss.key])))
    if not top:
        return ""
    return (
        f"no loss up to {_span(load, best.values())} {load.unit}; loss at the highest load "
        f"{cells.span(loss, list(top.values()))} {loss.unit}"
    )


def _span(column: Column, values: Iterable[float]) -> str:
    """Values from the lowest to the highest one."""
    found = sorted(values)
    low, high = cell_text(column, found[0]), cell_text(column, found[-1])
    return low if low == high else f"{low} to {high}"


class _Durations:
    """Time for which trials sent, by frame size."""

    def __init__(self, trials: Sequence[StoredTrial]) -> None:
        self._all = {trial.spec["duration_ns"] for trial in trials}
        self._of_size: dict[int, set[int]] = {}
        for trial in trials:
            for size in _sizes(trial.spec):
                self._of_size.setdefault(size, set()).add(trial.spec["duration_ns"])

    def of(self, row: Mapping[str, Cell]) -> str:
        """Duration of the trials behind a row: its own, else that of its frame size, else that of all."""
        own, size = row.get(_DURATION_KEY), row.get(_SIZE_KEY)
        if is_number(own):
            return time_text(own * NS_PER_MS)
        found = self._of_size.get(size, self._all) if isinstance(size, int) else self._all
        return time_text(*found) if found else "-"


def _sizes(spec: Mapping[str, object]) -> Iterator[int]:
    streams = spec["streams"]
    assert isinstance(streams, list)
    yield from {stream["frame_size_bytes"] for stream in streams}
