"""Result tables for a terminal."""

from __future__ import annotations

from io import StringIO

from rich.box import Box
from rich.console import Console
from rich.table import Table as TextTable
from rich.text import Text

from p4mesh.methods.results.outcome import Outcome, Table
from p4mesh.report.document import Grid, GridCell
from p4mesh.report.grids import grid_of
from p4mesh.report.verdict import statement_of

_BOX = Box("    \n    \n -  \n    \n    \n    \n    \n    \n", ascii=True)
"""Columns two blanks apart, and a line below the heads."""
_WIDEST = 100_000
"""No table is cut: a terminal wraps it, a file keeps it."""


def outcome_text(outcome: Outcome, setting: str = "") -> str:
    """Tables, findings, deviations and the verdict of a test; long tables are in its files alone."""
    parts = [table_text(table) for table in outcome.tables if not table.detail]
    if outcome.findings:
        parts.append("\n".join(["Findings", *(f"  - {text}" for text in outcome.findings)]))
    if outcome.deviations:
        parts.append("\n".join(["Deviations from the RFC", *(f"  - {text}" for text in outcome.deviations)]))
    measured = f"\nMeasured on: {setting}." if setting else ""
    parts.append(f"{outcome.summary}\n{statement_of(outcome)}{measured}")
    return "\n\n".join(parts)


def table_text(table: Table) -> str:
    """One result table: title, heads with their units, rows, note."""
    return grid_text(grid_of(table))


def grid_text(grid: Grid) -> str:
    """One table of a report as text."""
    shown = TextTable(box=_BOX, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    units = any(head.unit for head in grid.heads)
    for head in grid.heads:
        title = f"{head.title}\n{head.unit}" if units else head.title
        shown.add_column(Text(title), justify="right" if head.number else "left", no_wrap=True)
    for row in grid.rows:
        shown.add_row(*(Text(_plain(cell)) for cell in row.cells))
    written = StringIO()
    Console(file=written, width=_WIDEST, color_system=None, legacy_windows=False).print(shown)
    lines = [line.rstrip() for line in written.getvalue().splitlines()]
    return "\n".join([*([grid.title] if grid.title else []), *lines, *([grid.note] if grid.note else [])])


def _plain(cell: GridCell) -> str:
    return cell if isinstance(cell, str) else cell.text
