"""Values of match fields, parameters and metadata: Python to canonical bytestrings and back."""

from __future__ import annotations

import ipaddress
import re

from p4mesh import numerals
from p4mesh.p4runtime.errors import SchemaError

_MAC = re.compile(r"[0-9a-fA-F]{1,2}(:[0-9a-fA-F]{1,2}){5}")
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]+")

MAX_TEXT_BYTES = 1024
"""Longest string that is sent for a type that is translated to strings (P4Runtime section 18)."""

Value = int | bytes | str
"""A number, its big-endian bytes, or the text of a number, MAC, IPv4 or IPv6 address."""


def encode(value: Value, width_bits: int, what: str) -> bytes:
    """Canonical bytestring (P4Runtime section 8.4) of a value of at most ``width_bits``; ``what`` names it in errors.

    Without a width in P4Info (0) text is sent as it is, for types that are translated to strings.
    """
    if value.__class__ is not int:
        if width_bits == 0 and isinstance(value, str):
            text = value.encode()
            if len(text) > MAX_TEXT_BYTES:
                raise SchemaError(f"{what}: a string of {len(text)} bytes is above the limit of {MAX_TEXT_BYTES}")
            return text
        value = _number(value, what)
    bits = value.bit_length()
    if bits > (width_bits or MAX_TEXT_BYTES * 8) or value < 0:
        raise SchemaError(f"{what}: {value:#x} does not fit in {width_bits} bits")
    return value.to_bytes((bits + 7) // 8 or 1, "big")


def _number(value: Value, what: str) -> int:
    if isinstance(value, bytes | bytearray):
        return int.from_bytes(value, "big")
    if isinstance(value, int):
        return int(value)
    if not isinstance(value, str):
        raise SchemaError(f"{what}: {value!r} is not a value", hint="use an int, bytes, or an address as text")
    try:
        if _MAC.fullmatch(value):
            return int.from_bytes(bytes(int(octet, 16) for octet in value.split(":")), "big")
        if "." in value or ":" in value:
            return int(ipaddress.ip_address(value))
        return int(value, 16) if _HEXADECIMAL.fullmatch(value) else numerals.integer(value)
    except ValueError:
        raise SchemaError(
            f"{what}: {value!r} is not a value", hint="use a number, a MAC address, or an IP address"
        ) from None


def decode(value: bytes) -> int:
    """Number of a bytestring."""
    return int.from_bytes(value, "big")
