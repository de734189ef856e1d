"""Sums and extremes of groups of rows, column by column: a trial has up to 65,536 flows, too many for a loop each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, make_dataclass
from functools import cache
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
        """Groups rows that have a number in common, in order of the numbers; each group keeps the order of its rows."""
        found = cls(())
        found.rows = np.argsort(numbers, kind="stable")
        found._starts = np.flatnonzero(np.diff(numbers[found.rows], prepend=-1))
        return found

    @property
    def sizes(self) -> Array:
        """Number of rows of each group."""
        return np.diff(self._starts, append=len(self.rows))

    def totals(self, values: Array) -> Array:
        """Sum of each group."""
        return self._reduced(np.add, values)

    def largest(self, values: Array) -> Array:
        """Largest value of each group."""
        return self._reduced(np.maximum, values)

    def smallest(self, values: Array) -> Array:
        """Smallest value of each group."""
        return self._reduced(np.minimum, values)

    def _reduced(self, function: np.ufunc, values: Array) -> Array:
        # Big-endian fields of records, and truth values, become numbers of the machine.
        numbers = values if values.dtype == np.float64 else values.astype(np.int64)
        found: Array = function.reduceat(numbers, self._starts)
        return found


def from_columns(kind: type[T], columns: Mapping[str, Sequence[Any] | Array]) -> list[T]:
    """Makes an object of each row of columns that have the names of fields; other fields have their defaults.

    ``kind`` is a dataclass with slots. Numbers of arrays become those of Python. Columns are of one length, and one at
    least is given.
    """
    rows = len(next(iter(columns.values())))
    made_as = _not_frozen(cast("Any", kind))
    values: dict[str, Iterable[Any]] = {item.name: repeat(item.default, rows) for item in fields(cast("Any", kind))}
    assert columns.keys() <= values.keys(), "columns have the names of fields"
    assert all(len(column) == rows for column in columns.values()), "columns are of one length"
    assert not hasattr(kind, "__post_init__"), "objects are made without their __init__"
    values |= {name: column.tolist() if isinstance(column, np.ndarray) else column for name, column in columns.items()}
    found = list(map(made_as, *values.values()))
    for made in found:
        made.__class__ = kind
    return found


@cache
def _not_frozen(kind: type) -> type[Any]:
    """Makes a dataclass with the slots of another one, whose objects may become those of the other.

    Its __init__ just sets them. That of a frozen dataclass looks for each field by its name, which takes longer than
    both steps here.
    """
    return make_dataclass(kind.__name__, [item.name for item in fields(kind)], slots=True, eq=False, repr=False)
