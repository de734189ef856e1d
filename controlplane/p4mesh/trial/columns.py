"""Sums and extremes of groups of rows, column by column: a trial has up to 65,536 flows, too many for a loop each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, TypeVar

import numpy as np

Array = np.ndarray[Any, Any]
T = TypeVar("T")


class Groups:
    """Rows of a table in groups, none of which is empty."""

    def __init__(self, members: Collection[Sequence[int]]) -> None:
        self.rows = np.fromiter(chain.from_iterable(members), dtype=np.int64)
        """All rows, group by group; the values of the methods are theirs."""
        self._starts = np.fromiter(accumulate(map(len, members), initial=0), dtype=np.int64)[:-1]

    def totals(self, values: Array) -> list[int]:
        """Return the sum of each group."""
        return self._reduced(np.add, values)

    def largest(self, values: Array) -> list[int]:
        """Return the largest value of each group."""
        return self._reduced(np.maximum, values)

    def smallest(self, values: Array) -> list[int]:
        """Return the smallest value of each group."""
        return self._reduced(np.minimum, values)

    def _reduced(self, function: np.ufunc, values: Array) -> list[int]:
        # Big-endian fields of records, and truth values, become numbers of Python's size.
        found: list[int] = function.reduceat(values.astype(np.int64), self._starts).tolist()
        return found


def from_columns(kind: type[T], columns: Mapping[str, Sequence[Any]]) -> Iterator[T]:
    """Yield an object for each row of columns that have the names of its fields."""
    return (kind(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))
