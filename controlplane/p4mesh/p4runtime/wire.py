"""Protobuf encoding by hand for table entries and write requests.

Building 100,000 entries a second is a requirement; the protobuf classes alone need 12 to 16
microseconds for an entry with one key field and two parameters, this needs a third. The results are
ordinary messages: ``test_p4runtime_schema.py`` compares them with the classes' own encoding.
"""

from __future__ import annotations

from p4mesh.p4runtime.values import MAX_TEXT_BYTES


def varint(number: int) -> bytes:
    """Encode an unsigned number."""
    if number < 0x80:
        return _SHORT[number]
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_SHORT = [bytes([number]) for number in range(0x80)]


def tag(field: int, wire_type: int) -> bytes:
    """Encode a field's tag."""
    return varint(field << 3 | wire_type)


def number(field: int, value: int) -> bytes:
    """Encode a numeric field; zero is left out, negative numbers are not supported."""
    return tag(field, 0) + varint(value) if value else b""


def delimited(field: int, body: bytes) -> bytes:
    """Encode a bytes, string or message field."""
    return tag(field, 2) + varint(len(body)) + body


def heads(outer: bytes, inner: bytes, width_bits: int) -> list[bytes]:
    """Bytes that stand before a value, by its length in bytes.

    The value is a bytes field whose tag ends ``inner``, in a message whose tag is ``outer``. Width 0: a string.
    """
    lengths = range((width_bits + 7) // 8 + 2 if width_bits else MAX_TEXT_BYTES + 1)
    return [outer + varint(len(inner) + len(varint(n)) + n) + inner + varint(n) for n in lengths]
