"""Headers are written as Scapy writes them, read as they were written, and checked; Scapy is an independent opinion."""

from __future__ import annotations

import functools
import operator
import random
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest
from scapy.contrib.geneve import GENEVE
from scapy.contrib.gtp import GTP_U_Header, GTPPDUSessionContainer
from scapy.contrib.mpls import MPLS, EoMCW
from scapy.contrib.roce import BTH as SCAPYS_BTH
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_Router_Alert
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    IPv6ExtHdrSegmentRouting,
    PadN,
)
from scapy.layers.inet6 import IPv6 as ScapyIPv6
from scapy.layers.ipsec import AH
from scapy.layers.l2 import GRE, Dot1AD, Dot1Q, Ether
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw
from support.frames import FORMATS

from p4mesh.errors import ParameterError
from p4mesh.layers import (
    PLAIN,
    UDP_OVER_IPV4,
    UDP_OVER_IPV6,
    Authentication,
    Bth,
    ControlWord,
    DestinationOptions,
    Encapsulation,
    Ethernet,
    ExtensionHeader,
    Fragment,
    Frame,
    Geneve,
    Gre,
    Gtpu,
    GtpuOptions,
    HopByHop,
    Icmp,
    Icmpv6,
    IPv4,
    IPv6,
    Layer,
    Mobility,
    Modifiable,
    Mpls,
    OwnBytes,
    PduSession,
    Pppoe,
    Routing,
    SegmentRouting,
    ServiceTag,
    Tcp,
    Udp,
    Vlan,
    Vxlan,
    VxlanGpe,
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
OUTER_UDP = Udp(7)
INNER, SCAPYS_INNER = Ethernet(NOBODY, SOMEBODY), Ether(dst=ETHER["src"], src=ETHER["dst"])
SEGMENTS = tuple(IPv6Address(f"2001:db8::{place}") for place in range(5))


def stack(*layers: Packet) -> Packet:
    """Put packets of Scapy into each other."""
    return functools.reduce(operator.truediv, layers)


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
    "provider tag": (
        (ServiceTag(1, vid=200), Vlan(vid=7), OURS4, OUR_UDP),
        Ether(**ETHER) / Dot1AD(prio=1, vlan=200) / Dot1Q(vlan=7) / IP(**SCAPYS4) / UDP(chksum=0, **UDP_OF),
    ),
    "labels": (
        (*(Mpls(16 + place, place) for place in range(8)), OURS6, OUR_UDP),
        stack(
            Ether(**ETHER),
            *(MPLS(label=16 + place, cos=place, ttl=64) for place in range(8)),
            ScapyIPv6(**SCAPYS6),
            UDP(**UDP_OF),
        ),
    ),
    "pseudowire": (
        (Mpls(100), ControlWord(sequence=5), INNER, OURS4, OUR_UDP),
        Ether(**ETHER)
        / MPLS(label=100, ttl=64, s=1)
        / EoMCW(seq=5)
        / SCAPYS_INNER
        / IP(**SCAPYS4)
        / UDP(chksum=0, **UDP_OF),
    ),
    "segment routing": (
        (OURS6, SegmentRouting(segments_left=4, segments=b"".join(part.packed for part in SEGMENTS)), OURS4, OUR_UDP),
        Ether(**ETHER)
        / ScapyIPv6(**SCAPYS6)
        / IPv6ExtHdrSegmentRouting(addresses=[str(part) for part in SEGMENTS], segleft=4, lastentry=4)
        / IP(**SCAPYS4)
        / UDP(chksum=0, **UDP_OF),
    ),
    **{
        f"segments left in front of {ours.kind}": (
            (OURS6, SegmentRouting(segments_left=4, segments=b"".join(part.packed for part in SEGMENTS)), ours),
            Ether(**ETHER)
            / ScapyIPv6(**SCAPYS6)
            / IPv6ExtHdrSegmentRouting(addresses=[str(part) for part in SEGMENTS], segleft=4, lastentry=4)
            / scapys,
        )
        for ours, scapys in ((OUR_UDP, UDP(**UDP_OF)), (Tcp(7, 4000, flags=2, window=8192), TCP(**UDP_OF, flags="S")))
    },
    "gre with key and sequence": (
        (OURS4, Gre(key=7, sequence=9), INNER, OURS6, OUR_UDP),
        Ether(**ETHER)
        / IP(**SCAPYS4)
        / GRE(key_present=1, seqnum_present=1, key=7, sequence_number=9, proto=0x6558)
        / SCAPYS_INNER
        / ScapyIPv6(**SCAPYS6)
        / UDP(**UDP_OF),
    ),
    "gre with a sequence": (
        (OURS4, Gre(sequence=9), OURS4, OUR_UDP),
        Ether(**ETHER)
        / IP(**SCAPYS4)
        / GRE(seqnum_present=1, sequence_number=9)
        / IP(**SCAPYS4)
        / UDP(chksum=0, **UDP_OF),
    ),
    "vxlan": (
        (OURS6, OUTER_UDP, Vxlan(vni=0xABCDEF), INNER, Vlan(vid=9), OURS4, OUR_UDP),
        Ether(**ETHER)
        / ScapyIPv6(**SCAPYS6)
        / UDP(sport=7, dport=4789, chksum=0)
        / VXLAN(flags=8, vni=0xABCDEF)
        / SCAPYS_INNER
        / Dot1Q(vlan=9)
        / IP(**SCAPYS4)
        / UDP(chksum=0, **UDP_OF),
    ),
    "vxlan-gpe": (
        (OURS4, OUTER_UDP, VxlanGpe(vni=5), OURS6, OUR_UDP),
        Ether(**ETHER)
        / IP(**SCAPYS4)
        / UDP(sport=7, dport=4790, chksum=0)
        / VXLAN(flags=0x0C, NextProtocol=2, vni=5)
        / ScapyIPv6(**SCAPYS6)
        / UDP(**UDP_OF),
    ),
    "geneve": (
        (OURS4, OUTER_UDP, Geneve(vni=5, options=bytes.fromhex("01028001aabbccdd")), INNER, OURS4, OUR_UDP),
        Ether(**ETHER)
        / IP(**SCAPYS4)
        / UDP(sport=7, dport=6081, chksum=0)
        / GENEVE(vni=5, proto=0x6558, options=bytes.fromhex("01028001aabbccdd"))
        / SCAPYS_INNER
        / IP(**SCAPYS4)
        / UDP(chksum=0, **UDP_OF),
    ),
    "gtp-u": (
        (OURS4, OUTER_UDP, Gtpu(teid=0x1234), OURS6, OUR_UDP),
        Ether(**ETHER)
        / IP(**SCAPYS4)
        / UDP(sport=7, dport=2152, chksum=0)
        / GTP_U_Header(gtp_type=255, teid=0x1234)
        / ScapyIPv6(**SCAPYS6)
        / UDP(**UDP_OF),
    ),
    "gtp-u with an extension header": (
        (OURS4, OUTER_UDP, Gtpu(teid=0x1234), GtpuOptions(), PduSession(pdu_type=1, qfi=9), OURS4, OUR_UDP),
        Ether(**ETHER)
        / IP(**SCAPYS4)
        / UDP(sport=7, dport=2152, chksum=0)
        / GTP_U_Header(gtp_type=255, teid=0x1234, E=1, next_ex=0x85)
        / GTPPDUSessionContainer(ExtHdrLen=1, type=1, QFI=9)
        / IP(**SCAPYS4)
        / UDP(chksum=0, **UDP_OF),
    ),
    "gtp-u with a sequence": (
        (OURS4, OUTER_UDP, Gtpu(teid=0x1234), GtpuOptions(sequence=3), OURS4, OUR_UDP),
        Ether(**ETHER)
        / IP(**SCAPYS4)
        / UDP(sport=7, dport=2152, chksum=0)
        / GTP_U_Header(gtp_type=255, teid=0x1234, S=1, seq=3)
        / IP(**SCAPYS4)
        / UDP(chksum=0, **UDP_OF),
    ),
    "pppoe": (
        (Pppoe(session=0x77), OURS6, OUR_UDP),
        Ether(**ETHER) / PPPoE(sessionid=0x77) / PPP() / ScapyIPv6(**SCAPYS6) / UDP(**UDP_OF),
    ),
    "tcp": (
        (OURS4, Tcp(7, 4000, sequence=5, flags=0x12, options=bytes.fromhex("020405b4"))),
        Ether(**ETHER)
        / IP(**SCAPYS4)
        / TCP(sport=7, dport=4000, seq=5, flags="SA", window=65535, options=[("MSS", 1460)]),
    ),
    "tcp over ipv6": (
        (OURS6, Tcp(7, 4000, acknowledgment=5)),
        Ether(**ETHER) / ScapyIPv6(**SCAPYS6) / TCP(sport=7, dport=4000, ack=5, flags="A", window=65535),
    ),
    "icmp": ((OURS4, Icmp(identifier=3, sequence=4)), Ether(**ETHER) / IP(**SCAPYS4) / ICMP(id=3, seq=4)),
    "icmpv6": (
        (OURS6, Icmpv6(identifier=3, sequence=4)),
        Ether(**ETHER) / ScapyIPv6(**SCAPYS6) / ICMPv6EchoRequest(id=3, seq=4),
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


@pytest.mark.parametrize(
    ("network", "scapys"), [(OURS4, IP(**SCAPYS4)), (OURS6, ScapyIPv6(**SCAPYS6))], ids=["ipv4", "ipv6"]
)
def test_the_invariant_crc_of_rocev2_is_that_of_scapy(network: Layer, scapys: Packet) -> None:
    frame = Frame((Ethernet(SOMEBODY, NOBODY), network, Udp(7), Bth(queue_pair=17, sequence=3)))
    packet = Ether(**ETHER) / scapys / UDP(sport=7, dport=4791, chksum=0) / SCAPYS_BTH(opcode=0x64, dqpn=17, psn=3)
    written = frame.write(PAYLOAD)
    assert written == bytes(packet / Raw(PAYLOAD))
    assert Frame.read(written) == (frame, PAYLOAD + written[-4:])


def test_bytes_of_ones_own_stand_where_the_layer_in_front_names_them() -> None:
    assert (
        Frame((Ethernet(ether_type=0x88B5), OwnBytes(b"own"))).write(b"").hex()
        == bytes(12).hex() + "88b5" + b"own".hex()
    )


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
