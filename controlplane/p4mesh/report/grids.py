"""Result tables as tables of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from p4mesh.methods.results.fields import Column, quantity_of
from p4mesh.methods.results.iterations import ITERATION
from p4mesh.methods.results.outcome import Cell, Table, is_number
from p4mesh.report.document import Grid, GridRow, Head
from p4mesh.report.numbers import cell_text, is_numeric, number, text_with_error

MOST_ROWS = 10_000
"""Rows of a table in a report, at most: pages of browsers get slow, and nobody reads so many."""
_EQUAL = "each of "
"""Beginning of the text in place of the numbers of iterations that measured the same."""


def grid_of(table: Table) -> Grid:
    """A result table with every column, errors beside their numbers; statistics of iterations are muted.

    Iterations that measured the same are one row. A table that is too long for a page has its first rows, and a note
    that says where all are.
    """
    found, note = rows_of(table), table.note
    rows = found[:MOST_ROWS]
    if len(rows) < len(found):
        note = f"The first {len(rows):,} of {len(table.rows):,} rows; {table.name}.csv has all. {note}".rstrip()
    errors = errors_of(table)
    joined = {error.key for error in errors.values()}
    columns = [column for column in table.columns if column.key not in joined]
    return Grid(
        table.title,
        heads_of(columns, rows, table.keys),
        tuple(GridRow(cells_of(columns, row, errors), is_statistic(row)) for row in rows),
        note,
        table.detail,
    )


def rows_of(table: Table) -> tuple[Mapping[str, Cell], ...]:
    """Rows of a table: one instead of all iterations and their statistics where the iterations measured the same."""
    if ITERATION.key not in table.keys:
        return table.rows
    names = [name for name in table.keys if name != ITERATION.key]
    groups: dict[tuple[Cell, ...], list[Mapping[str, Cell]]] = {}
    for row in table.rows:
        groups.setdefault(tuple(row.get(name) for name in names), []).append(row)
    return tuple(row for group in groups.values() for row in _joined(group))


def _joined(group: Sequence[Mapping[str, Cell]]) -> Sequence[Mapping[str, Cell]]:
    measured = [row for row in group if not is_statistic(row)]
    values = [{key: cell for key, cell in row.items() if key != ITERATION.key} for row in measured]
    if len(measured) < 2 or any(value != values[0] for value in values):
        return group
    numbers = [str(row[ITERATION.key]) for row in measured]
    if len(set(numbers)) < len(numbers):
        return group
    return [{**values[0], ITERATION.key: f"{_EQUAL}{len(numbers)}"}]


def heads_of(columns: Sequence[Column], rows: Sequence[Mapping[str, Cell]], keys: Iterable[str]) -> tuple[Head, ...]:
    about = set(keys)
    return tuple(
        Head(
            column.title,
            column.unit,
            is_numeric(column, [row.get(column.key) for row in rows]),
            column.key in about,
        )
        for column in columns
    )


def errors_of(table: Table) -> dict[str, Column]:
    """The column of the error of each number or mean that has one in the table, by the key of the number."""
    columns = {column.key: column for column in table.columns}
    found = {key: columns.get(column.error or quantity_of(key).error) for key, column in columns.items()}
    return {
        key: error
        for key, error in found.items()
        if error and error.unit == f"+- {columns[key].unit.removesuffix(' mean')}"
    }


def cells_of(columns: Sequence[Column], row: Mapping[str, Cell], errors: Mapping[str, Column]) -> tuple[str, ...]:
    """Cells of a row as text, each number with its error (:func:`errors_of`)."""

    def text(column: Column) -> str:
        value, error = row.get(column.key), errors.get(column.key)
        if error is None or not is_number(value):
            return cell_text(column, value)
        error_cell = row.get(error.key)
        return text_with_error(column, value, None if error_cell is None else number(error_cell))

    return tuple(text(column) for column in columns)


def is_statistic(row: Mapping[str, Cell]) -> bool:
    """Whether a row is a statistic over the iterations above it."""
    text = str(row.get(ITERATION.key, "1"))
    return not (text.isdecimal() or text.startswith(_EQUAL))


def is_average(row: Mapping[str, Cell]) -> bool:
    """Whether a row stands for all iterations: their average, or what each of them measured."""
    return str(row.get(ITERATION.key, "")).startswith(("avg", _EQUAL))
