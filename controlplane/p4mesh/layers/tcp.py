"""TCP (RFC 9293), without a connection: the data plane sends what is given here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.layers.checksum import checksum
from p4mesh.layers.layer import Layer, Numbers, Surroundings, bits, checksum_field, computed, tail
from p4mesh.layers.network import network_around

PROTOCOL = 6
_USUAL_PORT = 20_001
_ACKNOWLEDGES = 0x10
_WORD_BYTES, _FIXED_BYTES = 4, 20


@dataclass(frozen=True)
class Tcp(Layer):
    """A segment with its options, which are whole words."""

    kind: ClassVar[str] = "tcp"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: PROTOCOL}
    source: int = bits(16, _USUAL_PORT)
    destination: int = bits(16, _USUAL_PORT)
    sequence: int = bits(32)
    acknowledgment: int = bits(32)
    header_words: int | None = computed(4)
    reserved: int = bits(3)
    flags: int = bits(9, _ACKNOWLEDGES)
    window: int = bits(16, 65_535)
    checksum: int | None = checksum_field()
    urgent: int = bits(16)
    options: bytes = tail(b"")

    def __post_init__(self) -> None:
        """Refuse options that are no number of words."""
        super().__post_init__()
        if len(self.options) % _WORD_BYTES:
            raise ParameterError(
                f"tcp.options: {len(self.options)} bytes", hint=f"use a multiple of {_WORD_BYTES} bytes"
            )

    def tail_bytes(self) -> int:
        """Words behind the fifth."""
        return (self.header_words or 0) * _WORD_BYTES - _FIXED_BYTES

    def completed(self, around: Surroundings) -> Tcp:
        """Fill in the length of the header and the checksum."""
        whole = super().completed(around).filled(header_words=self.header_bytes // _WORD_BYTES)
        covered = whole.pack() + around.inside
        network = network_around(around)
        pseudo = network.pseudo_header(PROTOCOL, len(covered)) if network else b""
        return whole.filled(checksum=checksum(pseudo + covered))
