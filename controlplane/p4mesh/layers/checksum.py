"""The checksum of IP, UDP, TCP and ICMP (RFC 1071)."""

from __future__ import annotations

import struct


def ones_complement_sum(data: bytes) -> int:
    """Add 16-bit words with end-around carry; a last byte stands for a word with a zero behind it."""
    total: int = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def checksum(data: bytes) -> int:
    """Complement of the sum: what a header holds whose own checksum counts as 0."""
    return ~ones_complement_sum(data) & 0xFFFF
