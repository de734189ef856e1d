"""Packet-outs and packet-ins with metadata by names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from p4mesh.p4runtime.errors import SchemaError
from p4mesh.p4runtime.info import Info
from p4mesh.p4runtime.packet_ins import PacketColumns, PacketIn, PacketRun, columns_of, numbers_of
from p4mesh.p4runtime.stubs import p4r
from p4mesh.p4runtime.values import Value, encode
from p4mesh.p4runtime.wire import delimited, heads, number, tag, varint

BATCH_KEY = "p4mesh-packet-batches"
"""Metadata that asks a P4Mesh server for packets in batches, and by which it agrees; others ignore it."""
_PACKET_OUT_BATCH = "type.googleapis.com/p4mesh.v1.PacketOutBatch"


def pack_batch(packets: list[bytes]) -> p4r.StreamMessageRequest:
    """One message for packet-outs, each encoded by :meth:`PacketCodec.packet_out`."""
    message = p4r.StreamMessageRequest()
    message.other.type_url = _PACKET_OUT_BATCH
    message.other.value = b"".join([varint(len(packet)) + packet for packet in packets])
    return message


def single(packet: bytes) -> p4r.StreamMessageRequest:
    """Message for one encoded packet-out."""
    message = p4r.StreamMessageRequest()
    message.packet.MergeFromString(packet)
    return message


class PacketCodec:
    """Packet I/O of one P4Info."""

    def __init__(self, info: Info) -> None:
        out = info.headers.get("packet_out")
        self._out: dict[str, tuple[bytes, list[bytes], int, str]] = {}
        """Name of a field: its encoding with the value 0, the bytes before other values, its width in bits, its name in
        errors."""
        for field in out.metadata if out else ():
            by_length = heads(tag(2, 2), number(1, field.id) + tag(2, 2), field.bitwidth)
            what = f"packet_out field {field.name!r}"
            self._out[field.name] = by_length[1] + b"\0", by_length, field.bitwidth, what
        incoming = info.headers.get("packet_in")
        self._in = _FieldNames((field.id, field.name) for field in (incoming.metadata if incoming else ()))

    def packet_out(self, payload: bytes, metadata: Mapping[str, Value]) -> bytes:
        """Encodes a PacketOut (P4Runtime section 16.1); fields that are left out are 0."""
        parts = [delimited(1, payload)] if payload else []
        for name, (zero, by_length, width_bits, what) in self._out.items():
            value = metadata.get(name, 0)
            if value == 0:
                parts.append(zero)
            else:
                encoded = encode(value, width_bits, what)
                parts += (by_length[len(encoded)], encoded)
        if unknown := metadata.keys() - self._out.keys():
            raise SchemaError(
                f"packet_out has no field {sorted(unknown)[0]!r}", hint=f"valid: {', '.join(self._out) or 'none'}"
            )
        return b"".join(parts)

    def packet_ins(self, arrived: Iterable[PacketRun | p4r.PacketIn]) -> list[PacketIn]:
        """Packet-ins with their metadata by name."""
        found: list[PacketIn] = []
        for item in arrived:
            if isinstance(item, PacketRun):
                found += self._columns(item)
            else:
                found.append(self._packet_in(item))
        return found

    def packet_columns(self, arrived: Iterable[PacketRun | p4r.PacketIn]) -> list[PacketColumns]:
        """Packet-ins with their metadata by name, in columns."""
        found: list[PacketColumns] = []
        single: list[PacketIn] = []
        for item in arrived:
            if isinstance(item, PacketRun):
                found += (*columns_of(single), self._columns(item))
                single.clear()
            else:
                single.append(self._packet_in(item))
        return found + columns_of(single)

    def _packet_in(self, message: p4r.PacketIn) -> PacketIn:
        names = self._in
        metadata = {names[field.metadata_id]: int.from_bytes(field.value, "big") for field in message.metadata}
        return PacketIn(message.payload, metadata)

    def _columns(self, run: PacketRun) -> PacketColumns:
        metadata = {self._in[number]: numbers_of(run.rows[:, places]) for number, places in run.values.items()}
        return PacketColumns(run.rows[:, run.payload], metadata)


class _FieldNames(dict[int, str]):
    """Names of fields by their ids; the name of a field that P4Info does not have is its id."""

    def __missing__(self, key: int) -> str:
        return str(key)
