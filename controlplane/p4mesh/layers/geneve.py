"""Geneve (RFC 8926)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.layers.ethernet import TEST_ETHERTYPE
from p4mesh.layers.layer import Layer, Numbers, Surroundings, bits, computed, names_next, tail

_WORD_BYTES = 4


@dataclass(frozen=True)
class Geneve(Layer):
    """A network identifier and options, which are whole words."""

    kind: ClassVar[str] = "geneve"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.UDP_PORT: 6081}
    in_udp_without_checksum: ClassVar[bool] = True
    version: int = bits(2)
    option_words: int | None = computed(6)
    control: int = bits(1)
    critical: int = bits(1)
    reserved: int = bits(6)
    protocol: int | None = names_next(16, Numbers.ETHERTYPE, TEST_ETHERTYPE)
    vni: int = bits(24)
    reserved_byte: int = bits(8)
    options: bytes = tail(b"")

    def __post_init__(self) -> None:
        """Refuse options that are no number of words."""
        super().__post_init__()
        if len(self.options) % _WORD_BYTES:
            raise ParameterError(
                f"geneve.options: {len(self.options)} bytes", hint=f"use a multiple of {_WORD_BYTES} bytes"
            )

    def tail_bytes(self) -> int:
        """The options."""
        return (self.option_words or 0) * _WORD_BYTES

    def completed(self, around: Surroundings) -> Geneve:
        """Fill in the length of the options."""
        return super().completed(around).filled(option_words=len(self.options) // _WORD_BYTES)
