"""Authentication header (RFC 4302) and encapsulating security payload (RFC 4303), without keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.extension import ExtensionHeader
from p4mesh.layers.ipv6 import NO_NEXT_HEADER
from p4mesh.layers.layer import Numbers, Surroundings, bits, computed, names_next, tail

_FIRST_INDEX = 0x100
"""First security parameters index that is not reserved (RFC 4303 2.1)."""
_WORD_BYTES, _WORDS_NOT_COUNTED = 4, 2


@dataclass(frozen=True)
class Authentication(ExtensionHeader):
    """A header with an integrity value of 12 zeros: devices forward it, no host accepts it."""

    kind: ClassVar[str] = "ah"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: 51}
    next_header: int | None = names_next(8, Numbers.IP_PROTOCOL, NO_NEXT_HEADER)
    length_words: int | None = computed(8)
    """Length in words of 4 bytes, less 2 (RFC 4302 2.2)."""
    reserved: int = bits(16)
    index: int = bits(32, _FIRST_INDEX)
    sequence: int = bits(32, 1)
    integrity: bytes = tail(bytes(12))

    def tail_bytes(self) -> int:
        """Words behind the sequence number."""
        return _WORD_BYTES * ((self.length_words or 0) + _WORDS_NOT_COUNTED) - self.fixed_bytes

    def completed(self, around: Surroundings) -> Authentication:
        """Fill in the length of the header."""
        words = self.header_bytes // _WORD_BYTES - _WORDS_NOT_COUNTED
        return super().completed(around).filled(length_words=words)


@dataclass(frozen=True)
class Encapsulation(ExtensionHeader):
    """ESP with null encryption: the next layer follows in the clear, without the trailer that would name it."""

    kind: ClassVar[str] = "esp"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: 50}
    index: int = bits(32, _FIRST_INDEX)
    sequence: int = bits(32, 1)
