"""Sums and extremes of groups of rows, column by column: a trial has up to 65,536 flows, too many for a loop each."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import accumulate, chain, repeat
from typing import Any, TypeVar, cast

import numpy as np

Array = np.ndarray[Any, Any]
T = TypeVar("T")


class Groups:
    """Rows of a table in groups, none of which is empty."""

    def __init__(self, members: Collection[Sequence[int]]) -> None:
        self.rows = np.fromiter(chain.from_iterable(members), dtype=np.int64)
        """All rows, group by group; the values of the methods are theirs."""
        self._starts = np.fromiter(accumulate(map(len, members), initial=0), dtype=np.int64)[:-1]

    @classmethod
    def of_numbers(cls, numbers: Array) -> Groups:
        """Return the groups of rows that have a number in common, by this number; each has its rows in their order."""
        found = cls(())
        found.rows = np.argsort(numbers, kind="stable")
        found._starts = np.flatnonzero(np.diff(numbers[found.rows], prepend=-1))
        return found

    def totals(self, values: Array) -> Array:
        """Return the sum of each group."""
        return self._reduced(np.add, values)

    def largest(self, values: Array) -> Array:
        """Return the largest value of each group."""
        return self._reduced(np.maximum, values)

    def smallest(self, values: Array) -> Array:
        """Return the smallest value of each group."""
        return self._reduced(np.minimum, values)

    def _reduced(self, function: np.ufunc, values: Array) -> Array:
        # Big-endian fields of records, and truth values, become numbers of the machine.
        found: Array = function.reduceat(values.astype(np.int64), self._starts)
        return found


def from_columns(kind: type[T], columns: Mapping[str, Sequence[Any] | Array]) -> list[T]:
    """Return an object for each row of columns that have the names of fields; others have their defaults.

    ``kind`` is a dataclass with slots. Numbers of arrays become those of Python. Columns are of one length, and one at
    least is given.
    """
    rows = len(next(iter(columns.values())))
    values: dict[str, Iterable[Any]] = {item.name: repeat(item.default, rows) for item in fields(cast("Any", kind))}
    assert columns.keys() <= values.keys(), "columns have the names of fields"
    assert not hasattr(kind, "__post_init__"), "objects are made without __init__"
    values |= {name: column.tolist() if isinstance(column, np.ndarray) else column for name, column in columns.items()}
    found = [object.__new__(kind) for _ in range(rows)]
    for name, column in values.items():
        # The __init__ of a frozen dataclass looks for each field of each object by its name, which takes twice as long.
        deque(map(getattr(kind, name).__set__, found, column), maxlen=0)
    return found
