"""Messages of hosts that receive multicast groups, held against Scapy, and a snooping switch that acts on them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address, ip_address
from threading import Thread

import pytest
from scapy.config import conf
from scapy.layers.igmp import IGMP_MQ, IGMPv2_LG, IGMPv2_MR, IGMPv3_MQ, IGMPv3_MR
from scapy.layers.inet import IP, IPOption_Router_Alert
from scapy.layers.inet6 import (
    ICMPv6MLDMultAddrRec,
    ICMPv6MLDone,
    ICMPv6MLQuery,
    ICMPv6MLQuery2,
    ICMPv6MLReport,
    ICMPv6MLReport2,
    IPv6,
    IPv6ExtHdrHopByHop,
    RouterAlert,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from support.frames import FORMATS
from support.networks import parsed, switch

from p4mesh._engine import GroupHosts, RoutingPeer
from p4mesh.errors import ParameterError
from p4mesh.tester.responders.port_hosts import PortHosts, group_hosts
from p4mesh.tester.stations import station
from p4mesh.traffic.memberships import MembershipChange, Memberships, Version
from p4mesh.traffic.patterns import GroupRange, Multicast
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

# Scapy reads lists of 100 elements unless told otherwise.
conf.max_list_count = max(conf.max_list_count, 400)

SECOND = 1_000_000_000
ROUTER = "02:00:00:00:00:aa"
ALL_VERSIONS = list(Version)
KINDS = {1: "IS_INCLUDE", 2: "IS_EXCLUDE", 3: "TO_INCLUDE", 4: "TO_EXCLUDE", 5: "ALLOW_NEW", 6: "BLOCK_OLD"}
"""Of records (RFC 3376 4.2.12)."""


def hosts(version: Version) -> GroupHosts:
    stations = [station(port) for port in (1, 2, 3)]
    return group_hosts(stations, version, joins_per_s=1000, robustness=1, seed=1).hosts


@pytest.mark.parametrize("made", [lambda: hosts(Version.IGMPV2), lambda: RoutingPeer(b"\2" * 6, [], [], 1, 0)])
def test_the_last_reference_may_be_of_another_thread(
    made: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The garbage collector runs in any thread, such as those of gRPC."""
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    held = [made()]
    thread = Thread(target=held.clear)
    thread.start()
    thread.join()
    assert held == [] and told == []


def groups_of(version: Version, count: int) -> list[IPv4Address | IPv6Address]:
    first = ip_address("225.1.1.1" if version.ip_version == 4 else "ff0e::1:1")
    return [first + number for number in range(count)]


def run(given: GroupHosts, until_ns: int) -> list[tuple[int, int, Packet]]:
    """(time, port, packet) of all that is sent up to a time."""
    sent: list[tuple[int, int, Packet]] = []
    while (due_ns := given.next_event()) is not None and due_ns <= until_ns:
        sent += [(due_ns, port, Ether(frame)) for port, frame, _ in given.on_time(due_ns)]
    return sent


def told(packet: Packet) -> list[tuple[str, str, list[str]]]:
    """(kind, group, sources) of the records of a packet."""
    if IGMPv3_MR in packet:
        return [(KINDS[r.rtype], r.maddr, list(r.srcaddrs)) for r in packet[IGMPv3_MR].records]
    if ICMPv6MLReport2 in packet:
        records = []
        # Scapy reads a record as the payload of the one before.
        record = packet[ICMPv6MLReport2].records[0]
        while isinstance(record, ICMPv6MLDMultAddrRec):
            records.append((KINDS[record.rtype], record.dst, list(record.sources)))
            record = record.payload
        return records
    kind: type[Packet]
    for kind, name in ((IGMPv2_MR, "report"), (IGMPv2_LG, "leave")):
        if kind in packet:
            return [(name, packet[kind].gaddr, [])]
    for kind, name in ((ICMPv6MLReport, "report"), (ICMPv6MLDone, "leave")):
        if kind in packet:
            return [(name, packet[kind].mladdr, [])]
    raise AssertionError(packet.summary())


def query(version: Version, group: str = "", sources: tuple[str, ...] = ()) -> bytes:
    """A query as Scapy builds it, to be answered within 10 s."""
    if version.ip_version == 4:
        header: Packet = Ether(src=ROUTER, dst="01:00:5e:00:00:01") / IP(src="198.18.1.1", dst="224.0.0.1", ttl=1)
        header[IP].proto = 2
        if version is Version.IGMPV2:
            return bytes(header / IGMP_MQ(gaddr=group or "0.0.0.0", mrcode=100))
        return bytes(header / IGMPv3_MQ(gaddr=group or "0.0.0.0", srcaddrs=list(sources), mrcode=100))
    header = Ether(src=ROUTER, dst="33:33:00:00:00:01") / IPv6(src="fe80::1", dst="ff02::1", hlim=1)
    header /= IPv6ExtHdrHopByHop(options=[RouterAlert()])
    if version is Version.MLDV1:
        return bytes(header / ICMPv6MLQuery(mladdr=group or "::", mrd=10_000))
    return bytes(header / ICMPv6MLQuery2(mladdr=group or "::", mrd=10_000, sources=list(sources)))


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_joins_and_leaves_are_messages_of_the_protocol_with_router_alert(version: Version) -> None:
    given = hosts(version)
    (group,) = groups_of(version, 1)
    given.join(2, [group], 0)
    ((at_ns, port, joined),) = run(given, SECOND)
    given.leave(2, [group], SECOND)
    ((_, _, left),) = run(given, 2 * SECOND)
    assert (at_ns, port) == (0, 2)
    if version.has_records:
        assert told(joined) == [("TO_EXCLUDE", str(group), [])]
        assert told(left) == [("TO_INCLUDE", str(group), [])]
    else:
        assert (told(joined), told(left)) == ([("report", str(group), [])], [("leave", str(group), [])])
    mac = station(2).mac.hex(":")
    to = {
        Version.IGMPV2: ("225.1.1.1", "224.0.0.2"),
        Version.IGMPV3: ("224.0.0.22", "224.0.0.22"),
        Version.MLDV1: ("ff0e::1:1", "ff02::2"),
        Version.MLDV2: ("ff02::16", "ff02::16"),
    }[version]
    for packet, target in zip((joined, left), to, strict=True):
        network = packet.getlayer(IP) or packet.getlayer(IPv6)
        assert network is not None
        assert (packet.src, network.dst) == (mac, target)
        if version.ip_version == 4:
            assert (network.ttl, network.src) == (1, str(station(2).ipv4))
            assert isinstance(network.options[0], IPOption_Router_Alert)
            assert packet.dst == "01:00:5e:" + ":".join(f"{byte:02x}" for byte in IPv4Address(target).packed[1:])
        else:
            assert (network.hlim, IPv6Address(network.src).is_link_local) == (1, True)
            assert isinstance(packet[IPv6ExtHdrHopByHop].options[0], RouterAlert)
            assert packet.dst == "33:33:" + IPv6Address(target).packed[12:].hex(":")


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_checksums_are_valid(version: Version) -> None:
    given = hosts(version)
    given.join(1, groups_of(version, 20), 0)
    for _, _, packet in run(given, SECOND):
        again: Packet = packet.copy()
        for layer in (IGMPv2_MR, IGMPv3_MR, ICMPv6MLReport, ICMPv6MLReport2):
            if layer in again:
                name = "chksum" if version.ip_version == 4 else "cksum"
                shown = getattr(again[layer], name)
                delattr(again[layer], name)
                assert getattr(Ether(bytes(again))[layer], name) == shown


@pytest.mark.parametrize(("version", "most"), [(Version.IGMPV3, 183), (Version.MLDV2, 72)])
def test_a_full_report_has_all_records(version: Version, most: int) -> None:
    given, wanted = hosts(version), groups_of(version, most + 1)
    given.join(1, wanted, 0)
    (_, _, full), (_, _, rest) = run(given, SECOND)
    assert told(full) + told(rest) == [("TO_EXCLUDE", str(group), []) for group in wanted]
    assert len(told(full)) == most and len(full) == 14 + 1496


@pytest.mark.parametrize("version", [Version.IGMPV3, Version.MLDV2])
def test_records_name_senders_and_queries_of_senders_are_understood(version: Version) -> None:
    given, (group,) = hosts(version), groups_of(version, 1)
    low = ip_address("10.0.0.1" if version.ip_version == 4 else "2001:2::1")
    middle, high = low + 1, low + 2
    given.join(1, [group], 0, [low, middle], exclude=False)
    given.join(1, [group], 0, [middle, high], exclude=False)
    given.join(1, [group], 0, [low, middle])
    name = str(group)
    assert [told(packet) for _, _, packet in run(given, SECOND)] == [
        [("ALLOW_NEW", name, [str(low), str(middle)])],
        [("ALLOW_NEW", name, [str(high)]), ("BLOCK_OLD", name, [str(low)])],
        [("TO_EXCLUDE", name, [str(low), str(middle)])],
    ]
    given.on_frame(1, query(version, name, (str(low), str(high))), SECOND)
    assert [told(packet) for _, _, packet in run(given, 60 * SECOND)] == [[("IS_INCLUDE", name, [str(high)])]]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_general_queries_of_scapy_are_answered(version: Version) -> None:
    given, (group,) = hosts(version), groups_of(version, 1)
    given.join(1, [group], 0)
    run(given, SECOND)
    given.on_frame(1, query(version), SECOND)
    ((at_ns, port, packet),) = run(given, 60 * SECOND)
    assert (port, told(packet)) == (1, [("IS_EXCLUDE" if version.has_records else "report", str(group), [])])
    assert SECOND < at_ns <= 11 * SECOND
    broken = bytearray(query(version))
    broken[-1] ^= 1
    given.on_frame(1, bytes(broken), 60 * SECOND)
    assert run(given, 99 * SECOND) == [], "its checksum does not fit"


@pytest.mark.parametrize(("version", "older"), [(Version.IGMPV3, Version.IGMPV2), (Version.MLDV2, Version.MLDV1)])
def test_queries_of_an_older_router_are_told_apart(version: Version, older: Version) -> None:
    given, (group,) = hosts(version), groups_of(version, 1)
    given.on_frame(1, query(older), 0)
    given.join(1, [group], SECOND)
    ((_, _, packet),) = run(given, 2 * SECOND)
    assert told(packet) == [("report", str(group), [])]


def memberships(version: Version, **more: int | tuple[str, ...]) -> Memberships:
    return Memberships(version, (GroupRange("225.1.1.1", 1, (2,)),), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("joins_per_s", [0, -1, 1_000_001])
def test_a_pace_that_cannot_be_kept_is_refused(joins_per_s: int) -> None:
    with pytest.raises(ParameterError, match=f"{joins_per_s} joins per second"):
        memberships(Version.IGMPV2, joins_per_s=joins_per_s)


@pytest.mark.parametrize("version", [Version.IGMPV2, Version.MLDV1])
def test_single_senders_need_records(version: Version) -> None:
    with pytest.raises(ParameterError, match=f"{version.value} cannot ask for single senders"):
        memberships(version, sources=("10.0.0.1",))


# A snooping switch on sim

SNOOPING = parsed(switch("snooping: {membership_s: 260, leave_delay_ns: 1000000}"))


@pytest.fixture(params=ALL_VERSIONS, ids=lambda version: version.value)
def version(request: pytest.FixtureRequest) -> Iterator[Version]:
    yield request.param


def test_a_snooping_switch_sends_groups_to_the_hosts_that_have_joined(version: Version) -> None:
    one, two = groups_of(version, 2)
    pattern = Multicast((GroupRange(str(one), 1, (2, 3)), GroupRange(str(two), 1, (3,))))
    headers = FORMATS[version.ip_version]
    stream = Stream("groups", 128, Fraction(10_000), 40, pattern, (1,), (2, 3), headers)
    spec = TrialSpec("joined", (stream,), 4_000_000, Learning(enabled=False), 0, 0, per_flow=True)
    with open_measurer(SNOOPING) as measurer:
        packets = measurer.tester.packets
        responder: PortHosts[GroupHosts] = group_hosts(
            [station(port) for port in (2, 3, 4)], version, joins_per_s=10_000, robustness=2, seed=1
        )
        packets.attach(responder)
        members = responder.hosts
        members.join(2, [one], packets.now_ns)
        members.join(3, [one, two], packets.now_ns)
        measurer.tester.wait(2_000_000)
        joined = measurer.measure(spec)
        # A trial lets all be silent that were attached before it.
        packets.attach(responder)
        members.leave(3, [one, two], packets.now_ns)
        members.join(4, [two], packets.now_ns)
        measurer.tester.wait(2 * SECOND)
        left = measurer.measure(spec)
    assert (joined.status, joined.reason) == (left.status, left.reason) == (Verdict.MEASURED, "")
    assert {(flow.rx_port, flow.part): flow.rx_frames for flow in joined.flows} == {
        (2, str(one)): 20, (3, str(one)): 20, (3, str(two)): 20,
    }  # fmt: skip
    assert joined.flooded_frames == 0
    assert {(flow.rx_port, flow.part): flow.rx_frames for flow in left.flows} == {
        (2, str(one)): 20, (3, str(one)): 0, (3, str(two)): 0,
    }  # fmt: skip
    assert {port.port: port.flooded_frames for port in left.ports} == {1: 0, 2: 0, 3: 0, 4: 20}


def test_hosts_that_join_later_are_no_members_at_the_start() -> None:
    groups = (GroupRange("225.1.1.1", 3, (2, 4)), GroupRange("225.1.1.1", 2, (4,)))
    members = Memberships(Version.IGMPV3, groups)
    assert (members.ports, members.count) == ((2, 4), 3 * 2 + 2)
    assert members.at_start() == groups
    joining = replace(members, change=MembershipChange(1, (4,), joins=True))
    assert joining.at_start() == (GroupRange("225.1.1.1", 3, (2,)),)
    assert replace(members, change=MembershipChange(1, (4,), joins=False)).at_start() == groups
