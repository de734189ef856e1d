"""Headers are written as Scapy writes them, read as they were written, and checked; Scapy is an independent opinion."""

from __future__ import annotations

import random
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP, IPOption_Router_Alert
from scapy.layers.inet6 import IPv6 as ScapyIPv6
from scapy.layers.inet6 import (
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.ipsec import AH
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.packet import Packet, Raw
from support.frames import FORMATS

from p4mesh.errors import ParameterError
from p4mesh.layers import (
    PLAIN,
    UDP_OVER_IPV4,
    UDP_OVER_IPV6,
    Authentication,
    DestinationOptions,
    Encapsulation,
    Ethernet,
    ExtensionHeader,
    Fragment,
    Frame,
    Gre,
    HopByHop,
    IPv4,
    IPv6,
    Layer,
    Mobility,
    Modifiable,
    Routing,
    Udp,
    Vlan,
    vlan,
)
from p4mesh.layers.layer import Role, all_layers, modifiable_names

PAYLOAD = bytes(range(100))
NOBODY, SOMEBODY = b"\x02\0\0\0\0\x01", b"\x02\0\0\0\0\x02"
ETHER: dict[str, Any] = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}
V4, V6 = (IPv4Address("10.1.2.3"), IPv4Address("10.4.5.6")), (IPv6Address("2001:db8::1"), IPv6Address("2001:db8::2"))
OURS4 = IPv4(dscp=46, ecn=1, identification=7, flags=2, ttl=9, source=V4[0], destination=V4[1])
SCAPYS4: dict[str, Any] = {"tos": 46 << 2 | 1, "id": 7, "flags": "DF", "ttl": 9, "src": str(V4[0]), "dst": str(V4[1])}
OURS6 = IPv6(dscp=10, ecn=2, flow_label=0x12345, ttl=3, source=V6[0], destination=V6[1])
SCAPYS6: dict[str, Any] = {"tc": 10 << 2 | 2, "fl": 0x12345, "hlim": 3, "src": str(V6[0]), "dst": str(V6[1])}
UDP_OF: dict[str, Any] = {"sport": 7, "dport": 4000}
OUR_UDP = Udp(7, 4000)

STACKS: dict[str, tuple[tuple[Layer, ...], Packet]] = {
    "plain": ((), Ether(type=0xFFFF, **ETHER)),
    "tags": (
        (Vlan(5, 1, 100), Vlan(vid=4094)),
        Ether(**ETHER) / Dot1Q(prio=5, dei=1, vlan=100) / Dot1Q(vlan=4094, type=0xFFFF),
    ),
    "ipv4": ((OURS4, OUR_UDP), Ether(**ETHER) / IP(**SCAPYS4) / UDP(chksum=0, **UDP_OF)),
    "ipv4 with options": (
        (IPv4(source=V4[0], options=b"\x94\x04\0\0"), OUR_UDP),
        Ether(**ETHER)
        / IP(src=str(V4[0]), dst="0.0.0.0", id=0, options=[IPOption_Router_Alert()])
        / UDP(chksum=0, **UDP_OF),
    ),
    "ipv6": ((OURS6, OUR_UDP), Ether(**ETHER) / ScapyIPv6(**SCAPYS6) / UDP(**UDP_OF)),
    "tagged ipv6": (
        (Vlan(vid=7), OURS6, OUR_UDP),
        Ether(**ETHER) / Dot1Q(vlan=7) / ScapyIPv6(**SCAPYS6) / UDP(**UDP_OF),
    ),
    "gre": (
        (OURS4, Gre(), OURS6, OUR_UDP),
        Ether(**ETHER) / IP(**SCAPYS4) / GRE() / ScapyIPv6(**SCAPYS6) / UDP(**UDP_OF),
    ),
    "ip in ip": (
        (OURS6, OURS4, IPv6(ttl=1), OUR_UDP),
        Ether(**ETHER) / ScapyIPv6(**SCAPYS6) / IP(**SCAPYS4) / ScapyIPv6(hlim=1, src="::", dst="::") / UDP(**UDP_OF),
    ),
    "extension headers": (
        (OURS6, HopByHop(), Routing(), Fragment(), DestinationOptions(), OUR_UDP),
        Ether(**ETHER)
        / ScapyIPv6(**SCAPYS6)
        / IPv6ExtHdrHopByHop(options=[PadN(optdata=bytes(4))])
        / IPv6ExtHdrRouting(addresses=["::1"], segleft=0)
        / IPv6ExtHdrFragment(id=1)
        / IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(4))])
        / UDP(**UDP_OF),
    ),
    "authentication": (
        (OURS6, Authentication(index=0x999, sequence=4)),
        Ether(**ETHER) / ScapyIPv6(**SCAPYS6) / AH(nh=59, spi=0x999, seq=4, icv=bytes(12), payloadlen=4),
    ),
}


@pytest.mark.parametrize("name", STACKS)
def test_bytes_are_those_of_scapy_and_are_read_as_they_were_written(name: str) -> None:
    layers, packet = STACKS[name]
    frame = Frame((Ethernet(SOMEBODY, NOBODY), *layers))
    written = frame.write(PAYLOAD)
    assert written == bytes(packet / Raw(PAYLOAD))
    assert Frame.read(written) == (frame, PAYLOAD)
    assert len(written) == frame.header_bytes + len(PAYLOAD)


def test_encapsulation_and_mobility_are_those_of_their_rfcs() -> None:
    """Scapy encrypts what follows ESP. RFC 4303 2: index, sequence. RFC 6275 6.1: type, checksum."""
    headers = UDP_OVER_IPV6.extended((Mobility(), Encapsulation())).completed(PAYLOAD).layers
    assert headers[2].pack() == bytes([50, 0, 0, 0, 0, 0, 0, 0])
    assert headers[3].pack() == bytes([0, 0, 1, 0, 0, 0, 0, 1])


def random_frame(draw: random.Random) -> Frame:
    """Draw a stack of up to ten layers. Scapy computes no checksum of UDP behind an authentication header."""
    frame = FORMATS[draw.choice((None, 4, 6))]
    if frame.network:
        frame = frame.changed(type(frame.network), ttl=draw.randrange(256), dscp=draw.randrange(64))
        frame = frame.changed(Udp, source=draw.randrange(1 << 16))
    if isinstance(frame.network, IPv6):
        kinds: tuple[type[ExtensionHeader], ...] = (HopByHop, DestinationOptions, Routing, Fragment)
        frame = frame.extended([draw.choice(kinds)() for _ in range(draw.randrange(4))])
    if frame.network and draw.random() < 0.5:
        frame = frame.in_tunnel(*V4)
    return frame.tagged(*(draw.randrange(4096) for _ in range(draw.randrange(3))), priority=draw.randrange(8))


@pytest.mark.parametrize("seed", range(50))
def test_any_stack_is_read_as_it_was_written_and_scapy_finds_its_checksums_right(seed: int) -> None:
    frame = random_frame(random.Random(seed))
    written = frame.write(PAYLOAD)
    assert Frame.read(written) == (frame, PAYLOAD)
    packet = Ether(written)
    for layer in packet.iterpayloads():
        # Without them Scapy writes the right ones; there is none of UDP over IPv4 (RFC 768).
        for name in ("chksum", "len", "plen"):
            if layer.fields.get(name) and not isinstance(layer, IPv6ExtHdrRouting):
                delattr(layer, name)
    assert bytes(packet) == written


def test_a_checksum_of_its_own_stays_and_is_named() -> None:
    wrong = UDP_OVER_IPV6.changed(Udp, checksum=0x1234)
    read, _ = Frame.read(wrong.write(PAYLOAD))
    assert read.wrong_fields == wrong.wrong_fields == ("udp.checksum",)
    damaged = bytearray(UDP_OVER_IPV4.write(PAYLOAD))
    damaged[22] ^= 1  # time to live
    assert Frame.read(bytes(damaged))[0].wrong_fields == ("ipv4.checksum",)


def test_a_udp_checksum_of_zero_over_ipv6_is_sent_as_all_ones() -> None:
    """RFC 8200 8.1. The two bytes of the payload make the sum all ones."""
    open_sum = Frame.read(UDP_OVER_IPV6.write(bytes(2)))[0].completed(bytes(2)).layers[-1]
    assert isinstance(open_sum, Udp) and open_sum.checksum
    written = UDP_OVER_IPV6.write(open_sum.checksum.to_bytes(2, "big"))
    assert written[-4:-2] == b"\xff\xff"


def test_a_datagram_over_ipv4_can_have_a_checksum() -> None:
    """Scapy writes one where none is given (RFC 768)."""
    layers = Ethernet(SOMEBODY, NOBODY), OURS4, OUR_UDP.summed(OURS4, PAYLOAD)
    assert Frame(layers).write(PAYLOAD) == bytes(Ether(**ETHER) / IP(**SCAPYS4) / UDP(**UDP_OF) / Raw(PAYLOAD))


def test_a_tunnel_has_the_time_to_live_of_the_packet_in_it() -> None:
    tunnels = [frame.in_tunnel(*V4).tunnel for frame in (UDP_OVER_IPV6.changed(IPv6, ttl=9), PLAIN)]
    assert [tunnel and tunnel.ttl for tunnel in tunnels] == [9, 64]


@pytest.mark.parametrize("length", range(62))
def test_a_frame_that_ends_in_a_header_is_read_up_to_there(length: int) -> None:
    written = UDP_OVER_IPV6.write(b"")
    frame, rest = Frame.read(written[:length])
    assert len(frame.layers) == sum(length >= end for end in (14, 54, 62))
    assert frame.header_bytes + len(rest) == length


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Vlan(vid=4096), "vlan.vid: 4096 does not fit into 12 bits"),
        (lambda: IPv4(ttl=-1), "ipv4.ttl: -1 does not fit into 8 bits"),
        (lambda: HopByHop(options=bytes(7)), "hop_by_hop: a header of 9 bytes"),
        (lambda: UDP_OVER_IPV4.extended((HopByHop(),)), "extension headers without IPv6"),
    ],
)
def test_what_does_not_fit_is_refused(build: object, message: str) -> None:
    assert callable(build)
    with pytest.raises(ParameterError, match=message) as caught:
        build()
    ends = {"vlan": "use 0 to 4095", "ipv4": "use 0 to 255"}
    assert ends.get(message.partition(".")[0], "use") in str(caught.value.hint)


@pytest.mark.parametrize("kind", tuple(all_layers()))
def test_a_layer_is_declared_whole(kind: type[Layer]) -> None:
    layer = kind()
    assert Layer.of_kind(kind.kind) is kind
    assert sum(wire.width_bits for _, wire in layer.wires) == 8 * layer.fixed_bytes, "whole bytes"
    assert len(layer.pack()) == layer.header_bytes
    assert sum(wire.role is Role.NEXT for _, wire in layer.wires) <= 1


def test_fields_that_may_change_are_found_by_name_and_in_frames_that_have_them() -> None:
    assert Modifiable.of_name("inner_vlan") == vlan.INNER
    with pytest.raises(ValueError, match="no field 'ttl' can change"):
        Modifiable.of_name("ttl")
    assert {name: Modifiable.of_name(name).width_bits for name in modifiable_names()} == {
        "ethernet_dst": 48,
        "ethernet_src": 48,
        "outer_vlan": 12,
        "inner_vlan": 12,
        "udp_dst": 16,
        "udp_src": 16,
        "ipv4_dst": 32,
        "ipv4_src": 32,
        "ipv6_dst": 32,
        "ipv6_src": 32,
    }
    assert [PLAIN.tagged(*vids).has(vlan.INNER) for vids in ((), (1,), (1, 2))] == [False, False, True]
    assert [PLAIN.tagged(*vids).has(vlan.OUTER) for vids in ((), (1,))] == [False, True]
