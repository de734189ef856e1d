"""Cells as ranges, which reading frames visit in one pass after the other."""

from __future__ import annotations

from collections.abc import Iterable


def ranges_of(cells: Iterable[int], longest: int | None = None) -> list[range]:
    """Joins cells that follow one another; ``cells`` ascend, and a range has at most ``longest`` of them."""
    found: list[range] = []
    for cell in cells:
        if found and found[-1].stop == cell and (longest is None or len(found[-1]) < longest):
            found[-1] = range(found[-1].start, cell + 1)
        else:
            found.append(range(cell, cell + 1))
    return found
