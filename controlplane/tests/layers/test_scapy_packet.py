"""A packet of Scapy becomes the headers of a stream, or is refused with the reason."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt
from scapy.layers.l2 import ARP, GRE, Dot1Q, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet

from p4mesh.errors import ParameterError
from p4mesh.layers import UDP_OVER_IPV6, DestinationOptions, Frame, IPv4, Udp, Vlan
from p4mesh.layers.frame import UDP_OVER_IPV4
from p4mesh.layers.scapy_packet import frame_of_packet


@pytest.mark.parametrize(
    ("packet", "frame"),
    [
        (Ether() / IP(id=0) / UDP(sport=20001, dport=20001), UDP_OVER_IPV4),
        (
            Ether() / Dot1Q(vlan=7, prio=3) / IP(tos=184, ttl=9) / UDP(sport=1, dport=2),
            Frame((UDP_OVER_IPV4.layers[0], Vlan(3, vid=7), IPv4(dscp=46, ttl=9, identification=1), Udp(1, 2))),
        ),
        (
            Ether() / IPv6() / IPv6ExtHdrDestOpt() / UDP(sport=20001, dport=20001),
            UDP_OVER_IPV6.extended((DestinationOptions(),)),
        ),
        (
            Ether()
            / IP(src="198.18.1.2", dst="198.18.1.1", id=0, flags="DF")
            / GRE()
            / IP(id=0)
            / UDP(sport=20001, dport=20001),
            UDP_OVER_IPV4.in_tunnel(IPv4Address("198.18.1.2"), IPv4Address("198.18.1.1")),
        ),
        (Ether(type=0xFFFF), Frame(UDP_OVER_IPV4.layers[:1])),
    ],
    ids=["ipv4", "tagged", "ipv6", "gre", "plain"],
)
def test_headers_are_those_of_the_packet(packet: Packet, frame: Frame) -> None:
    before = packet.copy()
    assert frame_of_packet(packet) == frame
    assert packet == before, "the script's packet stays as it is"


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        (
            Ether(dst="02:00:00:00:00:01") / IP() / UDP(),
            "Ether.dst is 02:00:00:00:00:01, but frames have the addresses",
        ),
        (Ether() / IP(src="10.0.0.1") / UDP(), "IP.src is 10.0.0.1"),
        (Ether() / IP() / UDP() / b"hello", "5 bytes behind ethernet, ipv4, udp are no header"),
        (Ether() / IP() / SCTP(), "12 bytes behind ethernet, ipv4 are no header that P4Mesh knows"),
        (Ether() / ARP(), "28 bytes behind ethernet are"),
        (Ether() / IP() / UDP(chksum=1), "udp.checksum do not fit the packet"),
        (Ether() / IP(len=99) / UDP(), "ipv4.total_bytes do not fit the packet"),
        (IP() / UDP(), "bytes behind"),
    ],
)
def test_what_cannot_be_sent_is_refused(packet: Packet, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        frame_of_packet(packet)
