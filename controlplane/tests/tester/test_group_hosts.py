"""Hosts that receive multicast groups: their messages and times, and a snooping switch that acts on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address
from random import Random

import pytest
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

from p4mesh.errors import ParameterError
from p4mesh.tester.responders.group_hosts import Filter, GroupHosts
from p4mesh.tester.responders.group_messages import Group, Host, Query, RecordKind, read, report
from p4mesh.tester.stations import station
from p4mesh.traffic.memberships import Version
from p4mesh.traffic.patterns import GroupRange, Multicast
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

SECOND = 1_000_000_000
ROUTER = "02:00:00:00:00:aa"
ALL_VERSIONS = list(Version)
IS_EXCLUDE, TO_INCLUDE, TO_EXCLUDE = RecordKind.IS_EXCLUDE, RecordKind.TO_INCLUDE, RecordKind.TO_EXCLUDE


def random_up_to() -> Callable[[int], int]:
    return partial(Random(1).randint, 1)


def hosts(version: Version, **more: int) -> GroupHosts:
    return GroupHosts(
        {port: station(port) for port in (1, 2, 3)},
        version,
        **{"joins_per_s": 1000, **more},
        random_up_to=random_up_to(),
    )


def groups_of(version: Version, count: int) -> list[Group]:
    first = ip_address("225.1.1.1" if version.ip_version == 4 else "ff0e::1:1")
    return [first + number for number in range(count)]


def run(given: GroupHosts, until_ns: int) -> list[tuple[int, int, Packet]]:
    """Return (time, port, packet) of all that is sent up to a time."""
    sent: list[tuple[int, int, Packet]] = []
    while (due_ns := given.next_event()) is not None and due_ns <= until_ns:
        sent += [(due_ns, one.port, Ether(one.frame)) for one in given.on_time(due_ns)]
        later_ns = given.next_event()
        assert later_ns is None or later_ns > due_ns, "timers go on"
    return sent


def told(packet: Packet) -> list[tuple[str, str, list[str]]]:
    """Return (kind, group, sources) of the records of a packet."""
    if IGMPv3_MR in packet:
        return [(RecordKind(r.rtype).name, r.maddr, list(r.srcaddrs)) for r in packet[IGMPv3_MR].records]
    if ICMPv6MLReport2 in packet:
        records = []
        # Scapy reads a record as the payload of the one before.
        record = packet[ICMPv6MLReport2].records[0]
        while isinstance(record, ICMPv6MLDMultAddrRec):
            records.append((RecordKind(record.rtype).name, record.dst, list(record.sources)))
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


def query(version: Version, group: str = "", sources: tuple[str, ...] = (), code: int | None = None) -> bytes:
    """Return a query as Scapy builds it; ``code`` is that of the field."""
    if version.ip_version == 4:
        header: Packet = Ether(src=ROUTER, dst="01:00:5e:00:00:01") / IP(src="198.18.1.1", dst="224.0.0.1", ttl=1)
        if version is Version.IGMPV2:
            body = bytes(IGMP_MQ(gaddr=group or "0.0.0.0"))
        else:
            body = bytes(IGMPv3_MQ(gaddr=group or "0.0.0.0", srcaddrs=list(sources)))
        body = body[:1] + bytes([100 if code is None else code]) + body[2:]
        header[IP].proto = 2
        return bytes(header / body)
    header = Ether(src=ROUTER, dst="33:33:00:00:00:01") / IPv6(src="fe80::1", dst="ff02::1", hlim=1)
    header /= IPv6ExtHdrHopByHop(options=[RouterAlert()])
    delay = 10_000 if code is None else code
    if version is Version.MLDV1:
        return bytes(header / ICMPv6MLQuery(mladdr=group or "::", mrd=delay))
    return bytes(header / ICMPv6MLQuery2(mladdr=group or "::", mrd=delay, sources=list(sources)))


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_joins_and_leaves_are_messages_of_the_protocol_with_router_alert(version: Version) -> None:
    given = hosts(version, robustness=1)
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


@pytest.mark.parametrize(
    ("version", "frames", "last"), [(Version.IGMPV3, 23, 4095 - 22 * 183), (Version.MLDV2, 57, 4095 - 56 * 72)]
)
def test_reports_hold_as_many_records_as_fit_into_1500_bytes(version: Version, frames: int, last: int) -> None:
    given = hosts(version, robustness=1, joins_per_s=100_000)
    wanted = groups_of(version, 4095)
    given.join(1, wanted, 0)
    assert given.pending_changes == 4095
    sent = run(given, SECOND)
    assert len(sent) == frames
    assert told(sent[0][2])[0] == ("TO_EXCLUDE", str(wanted[0]), [])
    assert told(sent[-1][2]) == [("TO_EXCLUDE", str(group), []) for group in wanted[4095 - last :]]
    assert {len(packet) for _, _, packet in sent[:-1]} == {14 + 1496}
    assert given.pending_changes == 0


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_joins_of_all_ports_together_keep_the_pace(version: Version) -> None:
    given = hosts(version, robustness=1, joins_per_s=3000)
    for port in (1, 2, 3):
        given.join(port, groups_of(version, 40), 7)
    sent = run(given, 10 * SECOND)
    assert sum(len(told(packet)) for _, _, packet in sent) == 120
    told_before = 0
    for at_ns, _, packet in sent:
        # Neither faster than the pace nor slower by more than a nanosecond.
        assert 0 <= at_ns - 7 - told_before * SECOND / 3000 < 2
        told_before += len(told(packet))


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_hosts_that_have_joined_the_same_groups_leave_them_by_themselves(version: Version) -> None:
    given = hosts(version, robustness=1)
    groups = groups_of(version, 3)
    for port in (1, 2, 3):
        given.join(port, groups, 0)
    given.leave(2, groups[:1], 0)
    given.leave(3, groups[:1], 0)
    given.join(2, groups, 0)
    assert [list(given.memberships(port)) for port in (1, 2, 3)] == [groups, [*groups[1:], groups[0]], groups[1:]]
    sent = [(port, group) for _, port, packet in run(given, SECOND) for _, group, _ in told(packet)]
    first = str(groups[0])
    # Without records a host that has joined again by then does not leave.
    left = [(2, first), (3, first)] if version.has_records else [(3, first)]
    assert sent == [(port, str(group)) for port in (1, 2, 3) for group in groups] + left + [(2, first)]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_changes_are_repeated_within_the_interval_unless_they_are_no_longer_true(version: Version) -> None:
    given = hosts(version)
    one, two = groups_of(version, 2)
    given.join(1, [one, two], 0)
    begun = run(given, 10_000_000)
    given.leave(1, [two], 10_000_000)
    later = run(given, 30 * SECOND)
    limit_ns = SECOND if version.has_records else 10 * SECOND
    assert [record[1] for _, _, packet in begun for record in told(packet)] == [str(one), str(two)]
    records = [(at_ns, *record) for at_ns, _, packet in later for record in told(packet)]
    joins = [(at_ns, group) for at_ns, kind, group, _ in records if kind in ("report", "TO_EXCLUDE")]
    assert [group for _, group in joins] == [str(one)], "the join of the group that was left is not repeated"
    assert 0 < joins[0][0] <= limit_ns + 10_000_000
    leaves = [kind for _, kind, _, _ in records if kind in ("leave", "TO_INCLUDE")]
    assert len(leaves) == (2 if version.has_records else 1), "a leave without records is sent once"


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_a_general_query_is_answered_for_every_group_within_its_time(version: Version) -> None:
    given = hosts(version, robustness=1)
    wanted = groups_of(version, 40)
    given.join(3, wanted, 0)
    run(given, SECOND)
    assert list(given.on_frame(3, query(version), SECOND)) == []
    assert list(given.on_frame(1, query(version), SECOND)) == [], "a host without groups has nothing to say"
    answers = run(given, 60 * SECOND)
    assert all(SECOND < at_ns <= 11 * SECOND and port == 3 for at_ns, port, _ in answers)
    records = [record for _, _, packet in answers for record in told(packet)]
    assert sorted(records) == sorted(
        ("IS_EXCLUDE" if version.has_records else "report", str(group), list[str]()) for group in wanted
    )
    if not version.has_records:
        assert len({at_ns for at_ns, _, _ in answers}) > 30, "each group has a random time of its own"


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_a_query_of_a_group_is_answered_by_its_receivers_alone(version: Version) -> None:
    given = hosts(version, robustness=1)
    one, two = groups_of(version, 2)
    given.join(1, [one, two], 0)
    given.join(2, [one], 0)
    run(given, SECOND)
    code = 10 if version.ip_version == 4 else 1000
    for port in (1, 2, 3):
        given.on_frame(port, query(version, str(two), code=code), 2 * SECOND)
    ((at_ns, port, packet),) = run(given, 60 * SECOND)
    assert (port, told(packet)[0][1]) == (1, str(two))
    assert 2 * SECOND < at_ns <= 3 * SECOND


@pytest.mark.parametrize("version", [Version.IGMPV2, Version.MLDV1])
def test_a_report_of_another_host_suppresses_the_own_one(version: Version) -> None:
    given = hosts(version, robustness=1)
    one, two = groups_of(version, 2)
    given.join(1, [one, two], 0)
    run(given, SECOND)
    given.on_frame(1, query(version), SECOND)
    given.on_frame(1, report(Host(station(9).mac, station(9).ipv4), one), SECOND + 1)
    assert [told(packet)[0][1] for _, _, packet in run(given, 60 * SECOND)] == [str(two)]


@pytest.mark.parametrize("version", [Version.IGMPV3, Version.MLDV2])
def test_hosts_ask_for_single_senders_and_answer_for_them(version: Version) -> None:
    given = hosts(version, robustness=1)
    (group,) = groups_of(version, 1)
    low = ip_address("10.0.0.1" if version.ip_version == 4 else "2001:2::1")
    middle, high = low + 1, low + 2
    given.join(1, [group], 0, Filter(frozenset((low, middle)), exclude=False))
    given.join(1, [group], 0, Filter(frozenset((middle, high)), exclude=False))
    given.join(1, [group], 0, Filter(frozenset((low,)), exclude=True))
    given.join(1, [group], 0, Filter(frozenset((high,)), exclude=True))
    name = str(group)
    assert [told(packet) for _, _, packet in run(given, SECOND)] == [
        [("ALLOW_NEW", name, [str(low), str(middle)])],
        [("ALLOW_NEW", name, [str(high)]), ("BLOCK_OLD", name, [str(low)])],
        [("TO_EXCLUDE", name, [str(low)])],
        [("ALLOW_NEW", name, [str(low)]), ("BLOCK_OLD", name, [str(high)])],
    ]
    given.on_frame(1, query(version, name, (str(low), str(high))), SECOND)
    assert [told(packet) for _, _, packet in run(given, 60 * SECOND)] == [[("IS_INCLUDE", name, [str(low)])]]
    given.on_frame(1, query(version, name, (str(high),)), 60 * SECOND)
    assert run(given, 99 * SECOND) == [], "none of the sources asked for is received"


@pytest.mark.parametrize(("version", "older"), [(Version.IGMPV3, Version.IGMPV2), (Version.MLDV2, Version.MLDV1)])
def test_an_older_router_gets_older_reports_until_it_is_forgotten(version: Version, older: Version) -> None:
    given = hosts(version, robustness=1)
    (one, two, three) = groups_of(version, 3)
    given.on_frame(1, query(older), 0)
    given.join(1, [one], SECOND)
    given.join(2, [two], SECOND)
    sent = run(given, 2 * SECOND)
    given.leave(1, [one], 2 * SECOND)
    sent += run(given, 261 * SECOND)
    given.join(1, [three], 261 * SECOND)
    sent += run(given, 300 * SECOND)
    assert [(port, told(packet)[0][:2]) for _, port, packet in sent] == [
        (1, ("report", str(one))),
        (2, ("TO_EXCLUDE", str(two))),
        (1, ("leave", str(one))),
        (1, ("TO_EXCLUDE", str(three))),
    ]


@pytest.mark.parametrize(
    ("version", "code", "expected_ns"),
    [
        (Version.IGMPV2, 0, 10 * SECOND),
        (Version.IGMPV2, 100, 10 * SECOND),
        (Version.IGMPV2, 255, 255 * SECOND // 10),
        (Version.IGMPV3, 127, 127 * SECOND // 10),
        (Version.IGMPV3, 0x80, 128 * SECOND // 10),
        (Version.IGMPV3, 0xFF, 31_744 * SECOND // 10),
        (Version.MLDV1, 40_000, 40 * SECOND),
        (Version.MLDV2, 32_767, 32_767 * SECOND // 1000),
        (Version.MLDV2, 0x8000, 32_768 * SECOND // 1000),
        (Version.MLDV2, 0xFFFF, 8_387_584 * SECOND // 1000),
    ],
)
def test_response_times_of_queries_are_read_as_the_rfcs_say(version: Version, code: int, expected_ns: int) -> None:
    assert read(query(version, code=code)) == Query(version, None, (), expected_ns)


@pytest.mark.parametrize("joins_per_s", [0, -1, 1_000_001])
def test_a_pace_that_cannot_be_kept_is_refused(joins_per_s: int) -> None:
    with pytest.raises(ParameterError, match=f"{joins_per_s} joins per second"):
        hosts(Version.IGMPV2, joins_per_s=joins_per_s)


@pytest.mark.parametrize("version", [Version.IGMPV2, Version.MLDV1])
def test_single_senders_need_records(version: Version) -> None:
    with pytest.raises(ParameterError, match=f"{version.value} cannot ask for single senders"):
        hosts(version).join(1, groups_of(version, 1), 0, Filter(exclude=True, sources=frozenset(groups_of(version, 1))))


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
        members = GroupHosts(
            {port: station(port) for port in (2, 3, 4)}, version, joins_per_s=10_000, random_up_to=random_up_to()
        )
        packets.attach(members)
        members.join(2, [one], packets.now_ns)
        members.join(3, [one, two], packets.now_ns)
        measurer.tester.wait(2_000_000)
        joined = measurer.measure(spec)
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
