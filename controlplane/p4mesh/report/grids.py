"""Result tables as tables of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.iterations import ITERATION
from p4mesh.methods.results.outcome import Cell, Table
from p4mesh.report.document import Grid, GridRow, Head
from p4mesh.report.numbers import cell_text, is_numeric

MOST_ROWS = 10_000
"""Rows of a table in a report, at most: pages of browsers get slow, and nobody reads so many."""


def grid_of(table: Table) -> Grid:
    """A result table with every column; statistics of iterations are muted.

    A table that is too long for a page has its first rows, and a note that says where all are.
    """
    rows, note = table.rows[:MOST_ROWS], table.note
    if len(rows) < len(table.rows):
        note = f"The first {len(rows):,} of {len(table.rows):,} rows; {table.name}.csv has all. {note}".rstrip()
    return Grid(
        table.title,
        heads_of(table.columns, rows, table.keys),
        tuple(GridRow(cells_of(table.columns, row), is_statistic(row)) for row in rows),
        note,
        table.detail,
    )


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


def cells_of(columns: Sequence[Column], row: Mapping[str, Cell]) -> tuple[str, ...]:
    """Cells of a row as text."""
    return tuple(cell_text(column, row.get(column.key)) for column in columns)


def is_statistic(row: Mapping[str, Cell]) -> bool:
    """Whether a row is a statistic over the iterations above it."""
    return not str(row.get(ITERATION.key, "1")).isdecimal()
