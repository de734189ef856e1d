"""Seeds carry the frame without its signature."""

from __future__ import annotations

from dataclasses import astuple
from ipaddress import IPv4Address

import pytest
from scapy.layers import inet6
from scapy.layers.l2 import Ether
from scapy.utils import checksum
from support.stacks import OUTER4, OUTER6, OWN, ROUTING, SEGMENTS, STACKS, UDP4, UDP6

from p4mesh.errors import ParameterError
from p4mesh.layers import (
    PLAIN,
    UDP_OVER_IPV4,
    UDP_OVER_IPV6,
    Ethernet,
    Frame,
    Gre,
    HopByHop,
    IPv4,
    IPv6,
    Layer,
    Modifiable,
    Mpls,
    Routing,
    Tcp,
    Udp,
    Vxlan,
)
from p4mesh.layers.extension import extension_of
from p4mesh.layers.layer import BAD_CHECKSUM, all_layers, changing_fields
from p4mesh.tester.contract import load_contract
from p4mesh.tester.frames import SIGNATURE_BYTES, minimum_frame_bytes, seed_payload
from p4mesh.tester.seed_layout import can_be_cut, field_place, fields_of, fields_that_change, layout_of

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
    assert Ether(sent)[inet6.IPv6].src == "::"
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


@pytest.mark.parametrize(
    ("layers", "places"),
    [
        (STACKS["provider tag"], "ethernet outer_vlan inner_vlan ipv4 udp"),
        (STACKS["four tags"], "ethernet outer_vlan outer:0 outer:1 outer:2 ipv6 udp"),
        (STACKS["tcp over ipv6"], "ethernet outer_vlan ipv6 extension:0 tcp"),
        (STACKS["icmp"], "ethernet ipv4 icmp"),
        (STACKS["ip in ip"], "ethernet first_ipv6 first_extension outer:0 ipv4 udp"),
        (STACKS["gre"], "ethernet first_ipv4 outer:0 ipv6 udp"),
        (STACKS["vxlan"], "ethernet first_ipv4 first_udp outer:0 inner_ethernet inner:0 ipv6 udp"),
        (STACKS["vxlan behind a list"], "ethernet first_ipv6 first_extension outer:0 outer:2 inner_ethernet ipv4 udp"),
        # 4 bytes of GRE and 40 of IPv6 are in front of the list.
        ((Ethernet(), OUTER4, Gre(), OUTER6, ROUTING, *UDP4), "ethernet first_ipv4 outer:0 outer:1 outer:11 ipv4 udp"),
        ((Ethernet(), IPv6(), HopByHop(), Routing(), Udp()), "ethernet ipv6 extension:0 extension:1 udp"),
        # A word of options is in front of own bytes.
        ((Ethernet(), IPv4(), Tcp(options=bytes(4)), OWN), "ethernet ipv4 tcp own:1"),
    ],
)
def test_layers_have_headers_of_the_program_or_words_of_its_stacks(layers: tuple[Layer, ...], places: str) -> None:
    found = layout_of.__wrapped__(Frame(layers)).places
    with_words = [f"{it.header}:{it.word}" if it.is_word or it.header == "extension" else it.header for it in found]
    assert " ".join(with_words) == places


@pytest.mark.parametrize(
    ("stack", "field", "place"),
    [
        ("icmp", "ipv4.destination", ("IPV4_DST", 0, 32, 0, 32)),
        ("icmp", "ipv4.dscp", ("IPV4_DSCP_ECN", 0, 8, 2, 6)),
        ("icmp", "ipv4.ecn", ("IPV4_DSCP_ECN", 0, 8, 0, 2)),
        ("tcp over ipv6", "vlan.vid", ("OUTER_VLAN", 0, 12, 0, 12)),
        ("icmp", "ipv4.flags", ("IPV4_FLAGS_OFFSET", 0, 16, 13, 3)),
        ("icmp", "icmp.identifier", ("ICMP_REST", 0, 32, 16, 16)),
        ("icmp", "icmp.sequence", ("ICMP_REST", 0, 32, 0, 16)),
        ("icmp", "icmp.type", ("ICMP_TYPE_CODE", 0, 16, 8, 8)),
        ("icmp", "icmp.code", ("ICMP_TYPE_CODE", 0, 16, 0, 8)),
        ("tcp", "tcp.flags", ("TCP_FLAGS", 0, 16, 0, 9)),
        ("tcp", "tcp.reserved", ("TCP_FLAGS", 0, 16, 9, 3)),
        ("vxlan", "vxlan.flags", ("OUTER_WORD", 0, 32, 24, 8)),
        ("vxlan", "vxlan.reserved", ("OUTER_WORD", 0, 32, 0, 24)),
        ("vxlan", "vxlan.vni", ("OUTER_WORD", 1, 32, 8, 24)),
        ("vxlan", "vlan.vid", ("INNER_WORD", 0, 32, 16, 12)),
        ("vxlan", "ipv6.dscp", ("IPV6_TRAFFIC_CLASS", 0, 8, 2, 6)),
        ("vxlan", "ipv6.ttl", ("IPV6_HOP_LIMIT", 0, 8, 0, 8)),
        ("vxlan", "udp[0].source", ("FIRST_UDP_SRC", 0, 16, 0, 16)),
        ("vxlan", "udp[0].destination", None),
        ("vxlan", "ethernet[1].source", None),
        ("a frame of its own address", "ethernet[1].source", ("INNER_ETHERNET_SRC", 0, 48, 0, 48)),
        ("segments", "segment_routing.flags", ("FIRST_EXTENSION", 0, 48, 16, 8)),
        ("segments", "segment_routing.tag", ("FIRST_EXTENSION", 0, 48, 0, 16)),
        ("segments", "segment_routing.segments_left", None),
        ("addresses left", "routing.reserved", ("EXTENSION", 0, 48, 0, 32)),
        ("a second extension", "routing.reserved", None),
        ("tunnels in tunnels", "ipv4[0].ttl", None),
        ("rdma", "bth.forward_congestion", ("OWN_WORD", 1, 32, 31, 1)),
        ("labels of a frame", "mpls[3].ttl", ("INNER_WORD", 3, 32, 0, 8)),
        ("labels of a frame", "mpls[4].ttl", None),
        ("a list in a tunnel", "ipv6[0].ttl", ("OUTER_WORD", 2, 32, 0, 8)),
        ("a list in a tunnel", "ipv6[0].source", ("OUTER_WORD", 6, 32, 0, 32)),
        ("authentication", "ah.reserved", ("EXTENSION", 0, 48, 32, 16)),
        ("authentication", "ah.sequence", None),
    ],
)
def test_a_field_that_changes_has_a_place_in_a_container(
    stack: str, field: str, place: tuple[str, int, int, int, int] | None
) -> None:
    """Goal: constant and offset, bits of the container, bits below the field and its own."""
    stacks = {
        **STACKS,
        "a frame of its own address": (Ethernet(), OUTER4, Udp(), Vxlan(), Ethernet(source=b"\2\0\0\0\0\1"), *UDP6),
        "labels of a frame": (*(Ethernet(), OUTER4, Udp(), Vxlan(), Ethernet()), *[Mpls(16)] * 5, *UDP4),
        "a list in a tunnel": (Ethernet(), OUTER4, Gre(), OUTER6, ROUTING, *UDP4),
        "authentication": (Ethernet(), IPv6(), extension_of("ah"), Udp()),
        "a second extension": (Ethernet(), IPv6(), HopByHop(), Routing(addresses=SEGMENTS[:16]), Udp()),
    }
    fields = fields_of(load_contract())
    found = field_place(Frame(stacks[stack]), Modifiable.of_name(field), fields)
    assert (found and astuple(found)) == place
    fixed_words = {name: number for name, number in fields.items() if not name.startswith("CHANGING_")}
    found = field_place(Frame(stacks[stack]), Modifiable.of_name(field), fixed_words)
    assert (found and astuple(found)) == (None if place and "_WORD" in place[0] else place)


@pytest.mark.parametrize("kind", [kind for kind in all_layers() if kind is not Ethernet], ids=lambda kind: kind.kind)
def test_a_field_that_changes_lies_in_one_word(kind: type[Layer]) -> None:
    """Goal: whatever stands in a stack of words, but for Ethernet, which never does."""
    begin, fields = 0, dict(changing_fields(kind))
    for name, wire in kind().wires:
        begin += wire.width_bits
        if name in fields:
            assert -begin % 32 + Modifiable.of_name(f"{kind.kind}.{name}").width_bits <= 32


def test_all_fields_that_change_are_told() -> None:
    fields = fields_of(load_contract())
    assert list(fields_that_change(Frame(STACKS["an ethertype"]), fields)) == [
        "ethernet.destination",
        "ethernet.source",
    ]


def test_a_frame_can_be_cut_where_the_program_corrects_all_that_its_length_changes() -> None:
    """Goal: no word of a stack, and no header but tags, one IP with its extension headers, and UDP."""
    extended = Frame((Ethernet(), IPv6(), HopByHop(), Udp()))
    able = [UDP_OVER_IPV4, PLAIN.tagged(1, 2), extended]
    assert [can_be_cut(frame) for frame in able] == [True] * 3
    others = [Frame(STACKS[name]) for name in ("icmp", "tcp", "gre", "own bytes in udp")]
    wrong = UDP_OVER_IPV4.changed(Udp, checksum=BAD_CHECKSUM)
    assert [can_be_cut(frame) for frame in (*others, wrong)] == [False] * 5
