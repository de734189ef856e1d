"""Defines results of units as frozen dataclasses, their conversion to the JSON data that is stored, and their tables.

A field that is a column is annotated with its entry of :mod:`p4mesh.methods.results.fields`::

    @dataclass(frozen=True, kw_only=True)
    class MaximumRate(Record):
        frame_size_bytes: Annotated[FrameSize, fields.FRAME_SIZE_BYTES]
        mfr_fps: Annotated[float | None, fields.MFR_FPS]
        rows: tuple[MeshTrial, ...]

    MaximumRate.table("maximum_forwarding_rate", "Maximum forwarding rate", rows, headline=(fields.MFR_FPS,))
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, get_args, get_origin, get_type_hints

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Cell, Table, with_reasons
from p4mesh.traffic.imix import MixedSize

_OMITTED, _INLINE = "omitted", "inline"
OMITTED: Mapping[str, bool] = MappingProxyType({_OMITTED: True})
"""Metadata of a field that is not stored where it is None."""
INLINE: Mapping[str, bool] = MappingProxyType({_INLINE: True})
"""Metadata of a field whose own fields are stored in its place; nothing where it is None."""


_BEHIND: tuple[tuple[Column, Callable[[str], bool]], ...] = (
    (fields.SHARED_CORRUPTED_FRAMES, fields.is_loss),
    (fields.CORRUPTED_FRAMES, fields.is_loss),
    (fields.CORRUPTED_FRAMES_AVG, fields.is_loss),
    (fields.SINGLE_ERROR_US, lambda key: key == fields.MAX_US.key),
    (fields.FORWARDING_ERROR_FPS, lambda key: key == fields.FORWARDING_FPS.key),
)
"""Columns that rows may have, each behind the first of others, and those that follow it at once."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """A result. Names of fields are stored keys and keys of columns, so units stand last in them."""

    def data(self, keys: Collection[str] | None = None) -> dict[str, Any]:
        """The stored JSON data: the fields in their order, or those of some keys; enums as their values."""
        found: dict[str, Any] = {}
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if _INLINE in item.metadata:
                found |= {} if value is None else value.data(keys)
            elif keys is not None and item.name not in keys:
                continue
            elif value is not None or _OMITTED not in item.metadata:
                found[item.name] = _plain(value)
        return found

    def cells(self, columns: Iterable[Column]) -> dict[str, Cell]:
        """The cells of a table row; None for a column that this record does not have."""
        keys = [column.key for column in columns]
        data = self.data(keys)
        return {key: data.get(key) for key in keys}

    @classmethod
    def columns(cls) -> tuple[Column, ...]:
        """The columns of the fields, in their order; those of an inline record in its place."""
        found: list[Column] = []
        hints = get_type_hints(cls, include_extras=True)
        for item in dataclasses.fields(cls):
            if _INLINE in item.metadata:
                found += record_class(hints[item.name]).columns()
            for of in getattr(hints[item.name], "__metadata__", ()):
                assert of.key == item.name, f"{cls.__name__}.{item.name} is declared as {of.key}"
                found.append(of)
        return tuple(found)

    @classmethod
    def table(
        cls,
        name: str,
        title: str,
        rows: Iterable[Row],
        note: str = "",
        *,
        columns: Sequence[Column] | None = None,
        optional: Sequence[Column] = (),
        keys: Sequence[Column] | None = None,
        headline: Sequence[Column] = (),
        detail: bool = False,
    ) -> Table:
        """A table of such records, as :func:`table_of`; by default of all columns of the class."""
        shown = cls.columns() if columns is None else columns
        return table_of(name, title, shown, rows, note, optional=optional, keys=keys, headline=headline, detail=detail)


Row = Record | Mapping[str, Any] | tuple[Record | Mapping[str, Any], ...]
"""A row of a table: a record, cells by their keys, or several of them, of which the last ones come first, such as a
trial before its unit.
"""


def table_of(
    name: str,
    title: str,
    columns: Sequence[Column],
    rows: Iterable[Row],
    note: str = "",
    *,
    optional: Sequence[Column] = (),
    keys: Sequence[Column] | None = None,
    headline: Sequence[Column] = (),
    detail: bool = False,
) -> Table:
    """A table of some columns, and of the reasons of verdicts where a row has one.

    A cell that a row lacks is empty; what is true is ``yes``. Columns that are ``optional`` are shown where a row has a
    value. Where a row has corrupted frames, they stand behind its losses, which they are among; and where single
    latencies have an error, it stands behind the largest.
    """
    further = {column.key for column, _ in _BEHIND}
    known = {fields.REASON.key, *further, *(column.key for column in columns)}
    found = tuple(_joined(row, known) for row in rows)
    for column, before in _BEHIND:
        columns = _with_column(columns, column, before, found)
    if fields.CORRUPTED_FRAMES in columns:
        losses = [column.key for column in columns if fields.is_loss(column.key)]
        for row in found:
            if any(row.get(key) is not None for key in losses) and row.get(fields.CORRUPTED_FRAMES.key) is None:
                row[fields.CORRUPTED_FRAMES.key] = 0
    empty = {column.key for column in optional if all(row.get(column.key) is None for row in found)}
    shown = with_reasons(tuple(column for column in columns if column.key not in empty), found)
    cells = tuple({column.key: row.get(column.key) for column in shown} for row in found)
    table = Table(name, title, shown, cells, note, detail, headline=tuple(one.key for one in headline))
    return table if keys is None else dataclasses.replace(table, keys=tuple(one.key for one in keys))


def _with_column(
    columns: Sequence[Column], column: Column, before: Callable[[str], bool], rows: Iterable[Mapping[str, Cell]]
) -> Sequence[Column]:
    """The columns, and a further one behind the first of some where a row has a number there."""
    keys = [found.key for found in columns]
    if not any(map(before, keys)) or column.key in keys or not any(row.get(column.key) for row in rows):
        return columns
    first = next(place for place, key in enumerate(keys) if before(key))
    behind = next((place for place, key in enumerate(keys) if place > first and not before(key)), len(keys))
    return (*columns[:behind], column, *columns[behind:])


def _joined(row: Row, known: Collection[str]) -> dict[str, Cell]:
    parts = row if isinstance(row, tuple) else (row,)
    cells = (part.data(known) if isinstance(part, Record) else part for part in parts)
    return {key: _cell(value) for part in cells for key, value in part.items()}


def _cell(value: Any) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    cell: Cell = _plain(value)
    return cell


def record_class(hint: Any) -> type[Record]:
    """The class of an inline record: of ``Cells | None``, or of ``Searched[MeshTrial]``."""
    kind = get_origin(hint) or hint
    if isinstance(kind, type) and issubclass(kind, Record):
        return kind
    return next(record_class(member) for member in get_args(hint) if member is not type(None))


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.data()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, MixedSize):
        return value.name
    assert value is None or isinstance(value, bool | int | float | str), value
    return value
