"""Packet-outs and packet-ins with metadata by names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from p4mesh.p4runtime.errors import SchemaError
from p4mesh.p4runtime.info import Info
from p4mesh.p4runtime.stubs import p4r
from p4mesh.p4runtime.values import Value, encode
from p4mesh.p4runtime.wire import delimited, heads, number, tag, varint

BATCH_KEY = "p4mesh-packet-batches"
"""Metadata that asks a P4Mesh server for packets in batches, and by which it agrees; others ignore it."""
_PACKET_IN_BATCH = "type.googleapis.com/p4mesh.v1.PacketInBatch"
_PACKET_OUT_BATCH = "type.googleapis.com/p4mesh.v1.PacketOutBatch"


def pack_batch(packets: list[bytes]) -> p4r.StreamMessageRequest:
    """Return one message for packet-outs that are encoded as :meth:`PacketCodec.packet_out` does it."""
    message = p4r.StreamMessageRequest()
    message.other.type_url = _PACKET_OUT_BATCH
    message.other.value = b"".join([varint(len(packet)) + packet for packet in packets])
    return message


def single(packet: bytes) -> p4r.StreamMessageRequest:
    """Return the message for one encoded packet-out."""
    message = p4r.StreamMessageRequest()
    message.packet.MergeFromString(packet)
    return message


def unpack_batch(message: Any) -> Iterator[p4r.PacketIn]:
    """Return the packet-ins of a batch: messages, each after its length as a varint."""
    if message.type_url != _PACKET_IN_BATCH:
        return
    data = message.value
    position, end = 0, len(data)
    from_string = p4r.PacketIn.FromString
    while position < end:
        length = shift = 0
        while True:
            byte = data[position]
            position += 1
            length |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        yield from_string(data[position : position + length])
        position += length


class PacketIn(NamedTuple):
    """A frame from the program, without its controller header."""

    payload: bytes
    metadata: Mapping[str, int]
    """Fields of the ``packet_in`` header."""


class PacketCodec:
    """Packet I/O of one P4Info."""

    def __init__(self, info: Info) -> None:
        out = info.headers.get("packet_out")
        self._out = {
            field.name: (
                heads(tag(2, 2), number(1, field.id) + tag(2, 2), field.bitwidth),
                field.bitwidth,
                f"packet_out field {field.name!r}",
            )
            for field in (out.metadata if out else ())
        }
        incoming = info.headers.get("packet_in")
        self._in = _FieldNames((field.id, field.name) for field in (incoming.metadata if incoming else ()))

    def packet_out(self, payload: bytes, metadata: Mapping[str, Value]) -> bytes:
        """Return an encoded PacketOut; fields that are left out are 0."""
        parts = [delimited(1, payload)] if payload else []
        for name, (by_length, width_bits, what) in self._out.items():
            value = metadata.get(name, 0)
            encoded = b"\0" if value == 0 else encode(value, width_bits, what)
            parts += (by_length[len(encoded)], encoded)
        if unknown := metadata.keys() - self._out.keys():
            raise SchemaError(
                f"packet_out has no field {sorted(unknown)[0]!r}", hint=f"valid: {', '.join(self._out) or 'none'}"
            )
        return b"".join(parts)

    def packet_in(self, message: p4r.PacketIn) -> PacketIn:
        """Return a packet-in with its metadata by name."""
        names = self._in
        metadata = {names[field.metadata_id]: int.from_bytes(field.value, "big") for field in message.metadata}
        return PacketIn(message.payload, metadata)


class _FieldNames(dict[int, str]):
    """Names of fields by their ids; the name of a field that P4Info does not have is its id."""

    def __missing__(self, key: int) -> str:
        return str(key)
