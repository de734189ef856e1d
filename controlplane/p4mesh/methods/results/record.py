"""Defines results of units as frozen dataclasses, and their conversion to the JSON data that is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from types import MappingProxyType
from typing import Any

from p4mesh.methods.results.outcome import Cell, Column

_OMITTED, _INLINE = "omitted", "inline"
OMITTED: Mapping[str, bool] = MappingProxyType({_OMITTED: True})
"""Metadata of a field that is not stored where it is None."""
INLINE: Mapping[str, bool] = MappingProxyType({_INLINE: True})
"""Metadata of a field whose own fields are stored in its place; nothing where it is None."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """A result. Names of fields are stored keys and keys of columns, so units stand last in them."""

    def data(self) -> dict[str, Any]:
        """Return JSON data: the fields in their order, enums as their values."""
        found: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if _INLINE in item.metadata:
                found |= {} if value is None else value.data()
            elif value is not None or _OMITTED not in item.metadata:
                found[item.name] = _plain(value)
        return found

    def cells(self, columns: Iterable[Column]) -> dict[str, Cell]:
        """Return the cells of a table row; None for a column that this record does not have."""
        data = self.data()
        return {column.key: data.get(column.key) for column in columns}


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.data()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    assert value is None or isinstance(value, bool | int | float | str), value
    return value
