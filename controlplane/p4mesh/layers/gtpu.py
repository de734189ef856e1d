"""User plane of GTP (3GPP TS 29.281) and the extension header of a PDU session (TS 38.415)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.layer import Layer, Numbers, Surroundings, bits, computed, names_next
from p4mesh.layers.versions import ip_of

_USER_DATA = 255
"""Message type of a packet of a user (G-PDU)."""


@dataclass(frozen=True)
class Gtpu(Layer):
    """The 8 bytes that every message has."""

    kind: ClassVar[str] = "gtpu"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.UDP_PORT: 2152}
    in_udp_without_checksum: ClassVar[bool] = True
    version: int = bits(3, 1)
    protocol_type: int = bits(1, 1)
    reserved: int = bits(1)
    extension_present: int | None = computed(1)
    sequence_present: int | None = computed(1)
    number_present: int = bits(1)
    message_type: int = bits(8, _USER_DATA)
    length_bytes: int | None = computed(16)
    """Everything behind these 8 bytes."""
    teid: int = bits(32, 1)
    """Tunnel endpoint identifier."""

    def completed(self, around: Surroundings) -> Gtpu:
        """Fill in the length, and whether options follow: those with an extension header, and those without."""
        options = around.following if isinstance(around.following, GtpuOptions) else None
        extension = bool(options and options.next_extension)
        return (
            super()
            .completed(around)
            .filled(
                length_bytes=len(around.inside),
                extension_present=int(extension),
                sequence_present=int(bool(options) and not extension),
            )
        )

    def next_kind(self, inside: bytes) -> type[Layer] | None:
        """Options, or the packet."""
        options = self.extension_present or self.sequence_present or self.number_present
        return GtpuOptions if options else ip_of(inside)


@dataclass(frozen=True)
class GtpuOptions(Layer):
    """The 4 bytes that follow where a message has a sequence number, an N-PDU number or an extension header."""

    kind: ClassVar[str] = "gtpu_options"
    sequence: int = bits(16)
    n_pdu: int = bits(8)
    next_extension: int | None = names_next(8, Numbers.GTPU_EXTENSION, 0)

    def next_kind(self, inside: bytes) -> type[Layer] | None:
        """An extension header, or the packet."""
        return super().next_kind(inside) if self.next_extension else ip_of(inside)


@dataclass(frozen=True)
class PduSession(Layer):
    """Container of a PDU session, downlink (type 0) or uplink (type 1): 4 bytes."""

    kind: ClassVar[str] = "pdu_session"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.GTPU_EXTENSION: 0x85}
    length_words: int = bits(8, 1)
    pdu_type: int = bits(4)
    spare: int = bits(4)
    paging_policy: int = bits(1)
    reflective: int = bits(1)
    qfi: int = bits(6, 1)
    """Identifier of the quality of service of the flow."""
    next_extension: int | None = names_next(8, Numbers.GTPU_EXTENSION, 0)

    def next_kind(self, inside: bytes) -> type[Layer] | None:
        """An extension header, or the packet."""
        return super().next_kind(inside) if self.next_extension else ip_of(inside)
