"""Seeds carry the frame without its signature."""

from __future__ import annotations

import pytest
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import checksum

from p4mesh.tester.frames import SIGNATURE_BYTES, headers_of, seed_payload
from p4mesh.traffic.stream import FrameTemplate

_PSEUDO_HEADER_REST = b"\0\0\0\x11"


def _signature() -> bytes:
    fields = b"\x50\x4d" + bytes(range(1, SIGNATURE_BYTES - 3))
    return fields + checksum(fields).to_bytes(2, "big")


@pytest.mark.parametrize("frame_size_bytes", [128, 129, 1518])
@pytest.mark.parametrize("extensions", [(), ("destination", "fragment")])
@pytest.mark.parametrize("vlan_ids", [(), (7,)])
def test_the_udp_checksum_over_ipv6_is_right_once_the_signature_is_in_place(
    frame_size_bytes: int, extensions: tuple[str, ...], vlan_ids: tuple[int, ...]
) -> None:
    template = FrameTemplate(ip_version=6, ipv6_extensions=extensions, vlan_ids=vlan_ids)
    seed = seed_payload(template, frame_size_bytes)
    headers = len(headers_of(template, frame_size_bytes))
    frame = seed[:headers] + _signature() + seed[headers:]
    udp = frame[headers - 8 :]

    assert len(udp) == int.from_bytes(udp[4:6], "big")
    assert Ether(frame)[IPv6].src == "::"
    # A sum that includes a right checksum is all ones, so its complement is zero.
    assert checksum(bytes(32) + len(udp).to_bytes(4, "big") + _PSEUDO_HEADER_REST + udp) == 0


def test_ipv4_frames_have_no_udp_checksum() -> None:
    template = FrameTemplate()
    headers = len(headers_of(template, 128))

    assert seed_payload(template, 128)[headers - 2 : headers] == b"\0\0"
