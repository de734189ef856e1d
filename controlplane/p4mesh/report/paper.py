"""Tables that are wider than a page: split into parts that each repeat the columns which identify a row."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from p4mesh.report.document import Grid, GridCell, GridRow, Head

_LINE_CHARACTERS = 148
"""Characters of a table in the largest letters that fit side by side on a page."""
_SIZES_PT = ((8.5, 1.0), (7.5, 1.14), (6.6, 1.3))
"""Sizes of letters, each with the factor by which more of them fit."""
_GAP = 2
_LONGEST_CELL = 44
"""Longer cells are set in several lines."""
_LOOKED_AT = 2000
"""Rows whose cells, with every word of the head, give the width of a column."""


@dataclass(frozen=True)
class Part:
    """Some columns of a table, in letters small enough for the width of a page."""

    heads: tuple[Head, ...]
    rows: tuple[GridRow, ...]
    size: float
    """Size of the letters in points."""
    widths: tuple[int, ...]
    """0: as wide as its cells need; else its share of the remaining width."""


def parts_of(grid: Grid) -> tuple[Part, ...]:
    """Cuts a table into parts that each fit a page; every column is in one of them, keys in all."""
    widths = [_width(grid, column) for column in range(len(grid.heads))]
    total = sum(widths) + _GAP * len(widths)
    for size, room in _SIZES_PT:
        if total <= _LINE_CHARACTERS * room:
            return (_part(grid, list(range(len(widths))), size),)
    size, room = _SIZES_PT[-1]
    keys = [column for column, head in enumerate(grid.heads) if head.key]
    others = [column for column in range(len(widths)) if column not in keys]
    kept = sum(widths[column] + _GAP for column in keys)
    parts, chosen, used = [], list[int](), kept
    for column in others:
        if chosen and used + widths[column] + _GAP > _LINE_CHARACTERS * room:
            parts.append(_part(grid, [*keys, *chosen], size))
            chosen, used = [], kept
        chosen.append(column)
        used += widths[column] + _GAP
    return (*parts, _part(grid, [*keys, *chosen], size))


def _part(grid: Grid, columns: list[int], size: float) -> Part:
    rows = tuple(GridRow(tuple(row.cells[column] for column in columns), row.muted) for row in grid.rows)
    widths = tuple(_longest(grid, column) if _longest(grid, column) > _LONGEST_CELL else 0 for column in columns)
    return Part(tuple(grid.heads[column] for column in columns), rows, size, widths)


def _width(grid: Grid, column: int) -> int:
    head = grid.heads[column]
    words = max((len(word) for word in (*head.title.split(), head.unit)), default=0)
    return max(words, min(_LONGEST_CELL, _longest(grid, column)), 3)


def _longest(grid: Grid, column: int) -> int:
    return max((len(_text(row.cells[column])) for row in islice(grid.rows, _LOOKED_AT)), default=0)


def _text(cell: GridCell) -> str:
    return cell if isinstance(cell, str) else cell.text
