"""The 18-byte signature of a test frame as a Scapy layer, and frames that carry it."""

from __future__ import annotations

from scapy.fields import BitField, ByteField, IntField, ShortField
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import checksum

MAGIC = 0x504D


class Signature(Packet):
    """Signature; ``check`` is computed when it is not given (docs/DATAPLANE.md)."""

    name = "Signature"
    fields_desc = [  # noqa: RUF012 - the form that Scapy asks for
        ShortField("magic", MAGIC),
        ByteField("run", 0),
        ByteField("receiver", 0),
        ShortField("flow", 0),
        IntField("sequence", 0),
        BitField("transmit_time", 0, 48),
        ShortField("check", None),
    ]

    def post_build(self, packet: bytes, payload: bytes) -> bytes:
        """Fill in the ones' complement checksum over the other fields."""
        if self.check is None:
            packet = packet[:16] + checksum(packet[:16]).to_bytes(2, "big")
        return packet + payload


def test_frame(
    *,
    dst: str,
    src: str = "02:00:00:00:00:01",
    size: int = 64,
    ip_version: int | None = 4,
    extensions: tuple[int, bytes] | None = None,
    **signature: int,
) -> Packet:
    """A test frame of ``size`` bytes including the FCS, which is not part of it.

    ``extensions`` are the type of the first header behind IPv6 and the bytes in front of UDP.
    """
    headers: Packet = Ether(dst=dst, src=src)
    if ip_version is None:
        headers.type = 0xFFFF
    elif ip_version == 4:
        headers /= IP(src="198.18.1.2", dst="198.18.2.2", id=0) / UDP(sport=20001, dport=20001, chksum=0)
    elif extensions is None:
        headers /= IPv6(src="2001:2::2", dst="2001:2:0:1::2") / UDP(sport=20001, dport=20001)
    else:
        first, chain = extensions
        headers /= IPv6(src="2001:2::2", dst="2001:2:0:1::2", nh=first) / Raw(chain)
        headers /= UDP(sport=20001, dport=20001, chksum=0)
    frame = headers / Signature(**signature)  # type: ignore[arg-type]  # fields by name
    return frame / Raw(bytes(size - 4 - len(frame)))


test_frame.__test__ = False  # type: ignore[attr-defined]
