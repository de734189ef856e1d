"""Seeds carry the frame without its signature."""

from __future__ import annotations

import pytest
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import checksum

from p4mesh.layers import UDP_OVER_IPV4, UDP_OVER_IPV6
from p4mesh.layers.extension import extension_of
from p4mesh.tester.frames import SIGNATURE_BYTES, seed_payload

_PSEUDO_HEADER_REST = b"\0\0\0\x11"


def _signature() -> bytes:
    fields = b"\x50\x4d" + bytes(range(1, SIGNATURE_BYTES - 3))
    return fields + checksum(fields).to_bytes(2, "big")


@pytest.mark.parametrize("frame_size_bytes", [128, 129, 1518])
@pytest.mark.parametrize("extensions", [(), ("destination", "fragment"), ("ah", "esp")])
@pytest.mark.parametrize("vids", [(), (7,)])
def test_the_udp_checksum_over_ipv6_is_right_once_the_signature_is_in_place(
    frame_size_bytes: int, extensions: tuple[str, ...], vids: tuple[int, ...]
) -> None:
    frame = UDP_OVER_IPV6.tagged(*vids).extended([extension_of(kind) for kind in extensions])
    seed = seed_payload(frame, frame_size_bytes)
    headers = frame.header_bytes
    sent = seed[:headers] + _signature() + seed[headers:]
    udp = sent[headers - 8 :]

    assert len(udp) == int.from_bytes(udp[4:6], "big")
    assert Ether(sent)[IPv6].src == "::"
    # A sum that includes a right checksum is all ones, so its complement is zero.
    assert checksum(bytes(32) + len(udp).to_bytes(4, "big") + _PSEUDO_HEADER_REST + udp) == 0


def test_ipv4_frames_have_no_udp_checksum() -> None:
    headers = UDP_OVER_IPV4.header_bytes

    assert seed_payload(UDP_OVER_IPV4, 128)[headers - 2 : headers] == b"\0\0"
