"""Packet-ins, one by one and in columns: a reading of a large mesh brings 65,536 of them, too many for an object each.

Packet-ins of a batch that have the same form follow each other at equal distances. They stay as they came, as rows of
bytes, until somebody wants them as columns or as objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from p4mesh.p4runtime.stubs import p4r

Array = np.ndarray[Any, Any]

_PACKET_IN_BATCH = "type.googleapis.com/p4mesh.v1.PacketInBatch"
_PAYLOAD, _METADATA = 1 << 3 | 2, 2 << 3 | 2
"""Tags of the fields of PacketIn."""
_METADATA_ID, _METADATA_VALUE = 1 << 3, 2 << 3 | 2
_NUMBER_BYTES = 8
_FEWEST = 16
"""Packet-ins of one form that are worth a run of their own: fewer take longer in columns than one by one."""


class PacketIn(NamedTuple):
    """A frame from the program, without its controller header."""

    payload: bytes
    metadata: Mapping[str, int]
    """Fields of the ``packet_in`` header."""


@dataclass(frozen=True)
class PacketColumns:
    """Packet-ins whose payloads have one length, and whose headers have the same fields."""

    payloads: Array
    """A row of bytes for each."""
    metadata: Mapping[str, Array]
    """Fields of the ``packet_in`` header."""

    def __len__(self) -> int:
        return len(self.payloads)

    def __iter__(self) -> Iterator[PacketIn]:
        names, size = tuple(self.metadata), self.payloads.shape[1]
        octets = self.payloads.tobytes()
        columns = [column.tolist() for column in self.metadata.values()]
        for place in range(len(self)):
            values = [column[place] for column in columns]
            yield PacketIn(octets[place * size : (place + 1) * size], dict(zip(names, values, strict=True)))

    def some(self, chosen: Array) -> PacketColumns:
        """Picks packet-ins by their places, or by a truth value for each."""
        return PacketColumns(self.payloads[chosen], {name: column[chosen] for name, column in self.metadata.items()})


def columns_of(packets: Iterable[PacketIn]) -> list[PacketColumns]:
    """Puts packet-ins into columns, in their order."""
    found = []
    for (size, names), same in groupby(packets, key=lambda packet: (len(packet.payload), tuple(packet.metadata))):
        group = list(same)
        payloads = np.frombuffer(b"".join([packet.payload for packet in group]), dtype=np.uint8)
        columns = {name: _numbers([packet.metadata[name] for packet in group]) for name in names}
        found.append(PacketColumns(payloads.reshape(len(group), size), columns))
    return found


def _numbers(values: list[int]) -> Array:
    return np.array(values, dtype=np.uint64 if max(values) >> 8 * _NUMBER_BYTES == 0 else object)


def numbers_of(rows: Array) -> Array:
    """Unsigned numbers of rows of bytes, of eight bytes at most."""
    padded = np.zeros((len(rows), _NUMBER_BYTES), dtype=np.uint8)
    padded[:, _NUMBER_BYTES - rows.shape[1] :] = rows
    found: Array = padded.view(">u8").ravel().astype(np.uint64)
    return found


@dataclass(frozen=True)
class PacketRun:
    """Encoded packet-ins that follow each other and have one form: equal lengths of everything, and equal fields."""

    rows: Array
    """A row of bytes for each."""
    payload: slice
    """Place of the payload in a row."""
    values: Mapping[int, slice]
    """Place of the value of each metadata field in a row, by the field's id."""

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, places: slice) -> PacketRun:
        """Packet-ins at some places."""
        return PacketRun(self.rows[places], self.payload, self.values)


def split_batch(message: Any) -> Iterator[PacketRun | p4r.PacketIn]:
    """Yield the packet-ins of a batch, in their order: runs of one form, and single ones.

    A batch holds messages, each after its length as a varint.
    """
    if message.type_url != _PACKET_IN_BATCH:
        return
    data = message.value
    position = 0
    while position < len(data):
        length, start = _varint(data, position)
        run = _run(data, position, start, start + length)
        if run is None:
            yield p4r.PacketIn.FromString(data[start : start + length])
            position = start + length
        else:
            yield run
            position += run.rows.size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Number, and the place behind it."""
    found = shift = 0
    while True:
        byte = data[position]
        position += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, position
        shift += 7


def _run(data: bytes, begin: int, start: int, end: int) -> PacketRun | None:
    """Packet-ins of the form of the one from ``start`` to ``end``; None where there are few of them.

    ``begin`` is the place of its length.
    """
    size = end - begin
    last = begin + (_FEWEST - 1) * size
    # Packets of other lengths, the usual reason, are seen at once.
    if data[begin:start] != data[last : last + start - begin] or last + size > len(data):
        return None
    form = _form(data, begin, start, end)
    if form is None:
        return None
    payload, values = form
    rows = np.frombuffer(data, dtype=np.uint8, count=(len(data) - begin) // size * size, offset=begin).reshape(-1, size)
    fixed = np.ones(size, dtype=bool)
    for places in (payload, *values.values()):
        fixed[places] = False
    places_fixed = np.flatnonzero(fixed)
    if not (rows[:_FEWEST, places_fixed] == rows[0, places_fixed]).all():
        return None
    same = (rows[:, places_fixed] == rows[0, places_fixed]).all(axis=1)
    count = len(rows) if same.all() else int(same.argmin())
    return PacketRun(rows[:count], payload, values)


def _form(data: bytes, begin: int, position: int, end: int) -> tuple[slice, dict[int, slice]] | None:
    """Places of the payload and of the metadata from ``begin`` on, of the packet-in up to ``end``.

    None for a packet-in with anything else, or with values that are too long for numbers of the machine.
    """
    payload, values = slice(0, 0), {}
    while position < end:
        tag = data[position]
        length, position = _varint(data, position + 1)
        behind = position + length
        if tag == _PAYLOAD:
            payload = slice(position - begin, behind - begin)
        elif tag == _METADATA:
            number, value = 0, slice(0, 0)
            while position < behind:
                tag = data[position]
                found, position = _varint(data, position + 1)
                if tag == _METADATA_ID:
                    number = found
                elif tag == _METADATA_VALUE and found <= _NUMBER_BYTES:
                    value = slice(position - begin, position + found - begin)
                    position += found
                else:
                    return None
            values[number] = value
        else:
            return None
        position = behind
    return payload, values
