"""Sums and extremes of groups of rows, column by column: a trial has up to 65,536 flows, too many for a loop each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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


def from_columns(kind: Callable[..., T], columns: Mapping[str, Iterable[Any]]) -> Iterator[T]:
    """Yield a dataclass object for each row of columns that have the names of fields; others have their defaults."""
    defaults = {item.name: repeat(item.default) for item in fields(cast("Any", kind))}
    assert columns.keys() <= defaults.keys(), "columns have the names of fields"
    # By position: names would have to be looked up in every row.
    return map(kind, *{**defaults, **columns}.values())
