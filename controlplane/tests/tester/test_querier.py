"""The tester as querier: its questions and their times, after a leave, and beside another querier."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from p4mesh.tester.responders import Outgoing
from p4mesh.tester.responders.group_messages import (
    Group,
    Host,
    Query,
    Record,
    RecordKind,
    leave,
    query_frame,
    read,
    report,
    reports,
)
from p4mesh.tester.responders.querier import Querier
from p4mesh.tester.stations import station
from p4mesh.traffic.memberships import Version

SECOND = 1_000_000_000
ALL_VERSIONS = list(Version)


def host(port: int) -> Host:
    return Host(station(port).mac, station(port).ipv4)


def querier(version: Version) -> Querier:
    return Querier(4, host(4), version, 0, interval_ns=120 * SECOND)


def run(given: Querier, until_ns: int) -> list[tuple[int, Query]]:
    """Return (time, query) of all that is sent up to a time."""
    sent: list[tuple[int, Outgoing]] = []
    while (due_ns := given.next_event()) is not None and due_ns <= until_ns:
        sent += [(due_ns, one) for one in given.on_time(due_ns)]
    found = []
    for at_ns, one in sent:
        heard = read(one.frame)
        assert isinstance(heard, Query) and one.port == 4
        found.append((at_ns, heard))
    return found


def group_of(version: Version) -> Group:
    return ip_address("225.1.1.1" if version.ip_version == 4 else "ff0e::1:1")


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_general_queries_come_quickly_at_the_start_and_then_at_the_interval(version: Version) -> None:
    general = Query(version, None, (), 10 * SECOND)
    assert run(querier(version), 300 * SECOND) == [(at_s * SECOND, general) for at_s in (0, 30, 150, 270)]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_a_leave_is_followed_by_two_questions_about_the_group(version: Version) -> None:
    given, group = querier(version), group_of(version)
    run(given, SECOND)
    left = [leave(host(2), group)]
    if version.has_records:
        left = list(reports(host(2), [Record(RecordKind.TO_INCLUDE, group)]))
    for frame in left:
        given.on_frame(4, frame, SECOND)
        given.on_frame(3, frame, SECOND)
    asked = Query(version, group, (), SECOND)
    assert run(given, 20 * SECOND) == [(SECOND, asked), (2 * SECOND, asked)]


@pytest.mark.parametrize("version", [Version.IGMPV3, Version.MLDV2])
def test_blocked_senders_are_asked_for(version: Version) -> None:
    given, group = querier(version), group_of(version)
    run(given, SECOND)
    source = ip_address("10.0.0.1" if version.ip_version == 4 else "2001:2::1")
    records = [Record(RecordKind.ALLOW_NEW, group, (source,)), Record(RecordKind.BLOCK_OLD, group, (source,))]
    for frame in reports(host(2), records):
        given.on_frame(4, frame, SECOND)
    assert run(given, 20 * SECOND) == [(at_s * SECOND, Query(version, group, (source,), SECOND)) for at_s in (1, 2)]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_joins_are_no_reason_to_ask(version: Version) -> None:
    given, group = querier(version), group_of(version)
    run(given, SECOND)
    joined = [report(host(2), group)]
    if version.has_records:
        joined = list(reports(host(2), [Record(RecordKind.TO_EXCLUDE, group)]))
    for frame in joined:
        given.on_frame(4, frame, SECOND)
    assert run(given, 29 * SECOND) == []


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_a_querier_with_a_lower_address_silences_this_one_until_it_is_gone(version: Version) -> None:
    given = querier(version)
    run(given, SECOND)
    ports = sorted((1, 2, 3), key=lambda port: int(host(port).link_local))
    low = next((port for port in ports if int(host(port).link_local) < int(host(4).link_local)), None)
    other = host(1) if version.ip_version == 4 or low is None else host(low)
    own = host(4).ipv4 if version.ip_version == 4 else host(4).link_local
    address = other.ipv4 if version.ip_version == 4 else other.link_local
    given.on_frame(4, query_frame(other, Query(version, None, (), 10 * SECOND), 2, 120 * SECOND), 5 * SECOND)
    silent_s = 2 * 120 + 5 if int(address) < int(own) else 25
    assert next(at_ns for at_ns, _ in run(given, 260 * SECOND)) == (5 + silent_s) * SECOND
