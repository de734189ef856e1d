"""Seeds carry the frame without its signature."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import checksum

from p4mesh.errors import ParameterError
from p4mesh.layers import PLAIN, UDP_OVER_IPV4, UDP_OVER_IPV6, Frame
from p4mesh.layers.extension import extension_of
from p4mesh.tester.frames import SIGNATURE_BYTES, minimum_frame_bytes, seed_payload

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


@pytest.mark.parametrize(
    ("frame", "message", "hint"),
    [
        (PLAIN, "frame size 35: plain Ethernet and the 18-byte signature need 36 bytes", "use 36 bytes or more, or"),
        (UDP_OVER_IPV4, "frame size 63: IPv4/UDP and the 18-byte signature need 64 bytes", "use 64 bytes or more, or"),
        (
            UDP_OVER_IPV6.tagged(1, 2).in_tunnel(*[IPv4Address("10.0.0.1")] * 2),
            "frame size 115: IPv6/UDP with 2 VLAN tags in a GRE tunnel and the 18-byte signature need 116 bytes",
            "use 116 bytes or more (92 without the tunnel), or",
        ),
    ],
)
def test_a_frame_that_is_too_short_is_refused_with_what_it_needs(frame: Frame, message: str, hint: str) -> None:
    minimum = minimum_frame_bytes(frame)
    assert len(seed_payload(frame, minimum)) == minimum - 4 - SIGNATURE_BYTES
    with pytest.raises(ParameterError) as caught:
        seed_payload(frame, minimum - 1)
    assert (caught.value.message, str(caught.value.hint)[: len(hint)]) == (message, hint)
