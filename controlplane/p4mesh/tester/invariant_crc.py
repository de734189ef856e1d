"""The balance of an invariant CRC, as a seed has it (p4src/v1model/invariant_crc.p4)."""

from __future__ import annotations

from zlib import crc32

BALANCE_BYTES = 8
"""Between the headers and the signature: a zero, four bytes that make the CRC right, three zeros."""
_ZEROS = bytes(1), bytes(3)
_CRC_BYTES, _BYTE_BITS = 4, 8
_POLYNOMIAL, _ALL = 0xEDB88320, 0xFFFFFFFF
"""CRC-32 with the first bit lowest (IEEE 802.3 3.2.9). Its register begins with ones and is inverted in the end."""


def balance_of_seed(constant: bytes, payload: bytes, signature_bytes: int, *, wrong: bool) -> bytes:
    """Write the balance of a frame whose CRC up to the signature is 0 without it; the program adds its own.

    ``constant`` is what stands between what changes and the balance: the program takes zeros for it.

    With it the last four bytes of the payload behind the signature are the CRC of everything in front of them;
    ``wrong`` for a CRC that they never are.
    """
    crc = int.from_bytes(payload[-_CRC_BYTES:], "little") ^ int(wrong)
    behind_signature = taken_back(crc ^ _ALL, payload[:-_CRC_BYTES])
    before, behind = _ZEROS
    value = taken_back(behind_signature ^ _ALL, bytes(_CRC_BYTES) + behind + bytes(signature_bytes))
    value ^= crc32(constant + before, _ALL) ^ _ALL
    return before + value.to_bytes(_CRC_BYTES, "little") + behind


def taken_back(register: int, data: bytes) -> int:
    """Find the register of a CRC-32 before ``data`` from that behind it."""
    for byte in reversed(data):
        for _ in range(_BYTE_BITS):
            top = register >> 31
            register = ((register ^ (_POLYNOMIAL if top else 0)) << 1 | top) & _ALL
        register ^= byte
    return register
