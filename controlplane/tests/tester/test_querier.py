"""Questions of the tester as querier, held against Scapy."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from scapy.layers.igmp import IGMP, IGMPv2_LG, IGMPv3_MQ, IGMPv3_MR, IGMPv3_MR_Group
from scapy.layers.inet import IP
from scapy.layers.inet6 import (
    ICMPv6MLDMultAddrRec,
    ICMPv6MLDone,
    ICMPv6MLQuery,
    ICMPv6MLQuery2,
    ICMPv6MLReport2,
    IPv6,
    IPv6ExtHdrHopByHop,
    RouterAlert,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from p4mesh._engine import Querier
from p4mesh.tester.responders.port_hosts import querier
from p4mesh.tester.stations import station
from p4mesh.traffic.memberships import Version

SECOND = 1_000_000_000
ALL_VERSIONS = list(Version)
TO_INCLUDE, BLOCK_OLD = 3, 6


def given_querier(version: Version) -> Querier:
    return querier(station(4), version, 0, interval_ns=120 * SECOND, robustness=2).hosts


def run(given: Querier, until_ns: int) -> list[tuple[int, Packet]]:
    """(time, packet) of all that is sent up to a time."""
    sent: list[tuple[int, Packet]] = []
    while (due_ns := given.next_event()) is not None and due_ns <= until_ns:
        sent += [(due_ns, Ether(frame)) for _, frame, _ in given.on_time(due_ns)]
    return sent


def asked(version: Version, packet: Packet) -> tuple[str, list[str], int]:
    """The group, the sources and the response time in ms."""
    if version is Version.IGMPV2:
        return packet[IGMP].gaddr, [], packet[IGMP].mrcode * 100
    if version is Version.IGMPV3:
        message = packet[IGMPv3_MQ]
        assert (message.qrv, message.qqic) == (2, 120)
        return message.gaddr, list(message.srcaddrs or ()), message.mrcode * 100
    message = packet[ICMPv6MLQuery if version is Version.MLDV1 else ICMPv6MLQuery2]
    if version is Version.MLDV1:
        return message.mladdr, [], message.mrd
    assert (message.QRV, message.QQIC) == (2, 120)
    return message.mladdr, list(message.sources), message.mrd


def left(version: Version, group: str, source: str = "") -> bytes:
    """The message of a host that no longer receives a group, or a sender of it, as Scapy builds it."""
    kind, sources = (BLOCK_OLD, [source]) if source else (TO_INCLUDE, [])
    if version.ip_version == 4:
        header: Packet = Ether(src=station(2).mac.hex(":")) / IP(src=str(station(2).ipv4), dst="224.0.0.22", ttl=1)
        header[IP].proto = 2
        if version is Version.IGMPV2:
            return bytes(header / IGMPv2_LG(gaddr=group))
        record = IGMPv3_MR_Group(rtype=kind, maddr=group, srcaddrs=sources)
        return bytes(header / IGMPv3_MR(records=[record]))
    header = Ether(src=station(2).mac.hex(":"), dst="33:33:00:00:00:16") / IPv6(src="fe80::1", dst="ff02::16", hlim=1)
    header /= IPv6ExtHdrHopByHop(options=[RouterAlert()])
    if version is Version.MLDV1:
        return bytes(header / ICMPv6MLDone(mladdr=group))
    return bytes(header / ICMPv6MLReport2(records=[ICMPv6MLDMultAddrRec(rtype=kind, dst=group, sources=sources)]))


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_questions_are_messages_of_the_protocol(version: Version) -> None:
    given = given_querier(version)
    ipv4 = version.ip_version == 4
    group, nothing = ("225.1.1.1", "0.0.0.0") if ipv4 else ("ff0e::1:1", "::")
    ((at_ns, general),) = run(given, SECOND)
    assert (at_ns, asked(version, general)) == (0, (nothing, [], 10_000))
    given.on_frame(4, left(version, group), SECOND)
    specific = run(given, 20 * SECOND)
    assert [(at_ns, asked(version, packet)) for at_ns, packet in specific] == [
        (at_s * SECOND, (group, [], 1_000)) for at_s in (1, 2)
    ]
    for packet, target in ((general, "224.0.0.1" if ipv4 else "ff02::1"), (specific[0][1], group)):
        network = packet[IP] if ipv4 else packet[IPv6]
        assert (packet.src, network.dst) == (station(4).mac.hex(":"), target)
        assert packet.dst[:5] == ("01:00" if ipv4 else "33:33")
        again: Packet = packet.copy()
        message: Packet = again[IGMP] if ipv4 else again[ICMPv6MLQuery if version is Version.MLDV1 else ICMPv6MLQuery2]
        name = "chksum" if ipv4 else "cksum"
        shown = getattr(message, name)
        delattr(message, name)
        rebuilt = Ether(bytes(again))
        assert getattr(rebuilt[type(message)], name) == shown


@pytest.mark.parametrize("version", [Version.IGMPV3, Version.MLDV2])
def test_blocked_senders_are_asked_for(version: Version) -> None:
    given = given_querier(version)
    group, source = ("225.1.1.1", "10.0.0.1") if version.ip_version == 4 else ("ff0e::1:1", "2001:2::1")
    run(given, SECOND)
    given.on_frame(4, left(version, group, str(ip_address(source))), SECOND)
    assert [asked(version, packet) for _, packet in run(given, 20 * SECOND)] == [(group, [source], 1_000)] * 2
