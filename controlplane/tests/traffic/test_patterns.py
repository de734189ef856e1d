"""Traffic patterns: the tables of the RFCs, an independent oracle frame by frame, and the refusals of each pattern."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from support import destination_oracle as oracle

from p4mesh.errors import ParameterError
from p4mesh.layers import UDP_OVER_IPV4
from p4mesh.store.codec import canonical, decode, encode
from p4mesh.traffic.patterns import (
    Broadcast,
    FullMesh,
    GroupRange,
    InPhase,
    MeshStreams,
    Message,
    Multicast,
    Pairs,
    Pattern,
    PositionClass,
    Rotate,
)
from p4mesh.traffic.stream import Burst, Stream


def stream(pattern: Pattern, tx: tuple[int, ...], rx: tuple[int, ...], count: int = 12, **more: object) -> Stream:
    return Stream("s", 64, Fraction(1000), count, pattern, tx, rx, **more)  # type: ignore[arg-type]


def sent(given: Stream, source: int, frames: int) -> list[tuple[int, ...]]:
    return [given.pattern.expected_ports(given, source, k) for k in range(frames)]


def test_full_mesh_is_the_table_of_rfc_2889() -> None:
    mesh = stream(FullMesh(), (1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6))
    table = ("23456", "34561", "45612", "56123", "61234", "12345")
    for source, row in enumerate(table):
        assert "".join(str(port) for (port,) in sent(mesh, source, 10)) == row + row


@pytest.mark.parametrize("count", [2, 3, 6, 18, 256])
def test_full_mesh_is_a_permutation_at_every_step_and_never_hairpins(count: int) -> None:
    ports = tuple(range(1, count + 1))
    mesh = stream(FullMesh(), ports, ports)
    for k in (*range(0, 2 * count, max(1, count // 16)), count - 2, count - 1):
        targets = [mesh.pattern.expected_ports(mesh, source, k) for source in range(count)]
        assert sorted(targets) == [(port,) for port in ports]
        assert all(target != (port,) for port, target in zip(ports, targets, strict=True))


UNICAST_AND_BROADCAST = [
    (FullMesh(), (1, 2, 5, 9), (1, 2, 5, 9)),
    (Rotate(), (1, 2), (3, 4, 5)),
    (Rotate(), (1, 2, 3, 4, 5, 6, 7), (8, 9, 10)),
    (Rotate(), (1,), (3, 4, 5)),
    (Rotate(), (1, 2, 3), (4,)),
    (Pairs(), (1, 2), (3, 4)),
    (InPhase(), (1, 2), (3, 4, 5)),
    (Broadcast(), (1,), (2, 3, 4)),
    (Broadcast(), (1, 2), (1, 2, 3)),
    (Multicast(), (3, 1), (1, 2, 3)),
]


@pytest.mark.parametrize(("pattern", "tx", "rx"), UNICAST_AND_BROADCAST)
def test_every_frame_is_for_the_ports_that_the_oracle_names(
    pattern: Pattern, tx: tuple[int, ...], rx: tuple[int, ...]
) -> None:
    given = stream(pattern, tx, rx)
    for source in range(len(tx)):
        assert sent(given, source, 30) == [oracle.destinations(given, source, k) for k in range(30)]


@pytest.mark.parametrize(("pattern", "tx", "rx"), UNICAST_AND_BROADCAST)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
def test_flow_counts_of_the_oracle_equal_a_walk_over_all_frames(
    pattern: Pattern, tx: tuple[int, ...], rx: tuple[int, ...], count: int
) -> None:
    given = stream(pattern, tx, rx, count)
    walked: Counter[tuple[int, int]] = Counter()
    for index, source in enumerate(tx):
        for k in range(count):
            walked.update((source, target) for target in pattern.expected_ports(given, index, k))
    assert oracle.flow_counts(given) == walked


@pytest.mark.parametrize(("pattern", "tx", "rx"), UNICAST_AND_BROADCAST)
def test_receivers_are_those_of_all_frames_in_the_order_of_the_ports(
    pattern: Pattern, tx: tuple[int, ...], rx: tuple[int, ...]
) -> None:
    given = stream(pattern, tx, rx)
    for source in range(len(tx)):
        everyone = {port for k in range(30) for port in oracle.destinations(given, source, k)}
        assert pattern.receivers(given, source) == tuple(port for port in rx if port in everyone)
        assert len(pattern.flows(given, source)) == len(set(sent(given, source, 30))), "one for each destination"


def test_the_whole_other_group_is_visited_from_the_sources_own_place() -> None:
    """RFC 2889 5.3.3 without local traffic."""
    given = stream(Rotate(), (1, 2, 3), (11, 12, 13))
    for source in range(3):
        assert sent(given, source, 9) == [(oracle.two_groups(source, k, (11, 12, 13)),) for k in range(9)]


def test_in_phase_sources_collide() -> None:
    both = stream(InPhase(), (1, 2), (3, 4))
    assert sent(both, 0, 4) == sent(both, 1, 4) == [(3,), (4,), (3,), (4,)]


def test_mesh_streams_leave_out_any_number_of_departures_below_that_of_destinations() -> None:
    """Five ports have four destinations each: 0 to 3 departures of 1 ms, whatever the seed."""
    ports = (1, 2, 3, 4, 5)
    offsets = {
        offset
        for seed in range(50)
        for offset in MeshStreams(seed=seed).start_offsets_ns(stream(MeshStreams(seed=seed), ports, ports))
    }
    assert offsets == {0, 1_000_000, 2_000_000, 3_000_000}


def test_mesh_streams_start_at_whole_departures_and_reproducibly() -> None:
    ports = (1, 2, 3, 4)
    asked = stream(MeshStreams(seed=3), ports, ports)
    unphased = asked.as_sent()
    interval_ns = Fraction(10**9) / asked.rate_fps
    assert all(round(offset / interval_ns) in range(3) for offset in unphased.start_offset_ns)
    assert unphased == asked.as_sent()
    assert len({MeshStreams(seed=seed).start_offsets_ns(asked) for seed in range(20)}) > 5
    assert replace(unphased, start_offset_ns=()) == replace(asked, pattern=FullMesh())


def test_ports_of_a_module_have_a_phase_in_common() -> None:
    ports = tuple(range(1, 33))
    offsets = stream(MeshStreams(ports_in_step=4), ports, ports).as_sent().start_offset_ns
    modules = [set(offsets[first : first + 4]) for first in range(0, 32, 4)]
    assert all(len(module) == 1 for module in modules)
    assert len(set.union(*modules)) > 4


def test_sources_share_a_list_but_for_routers_of_several_addresses() -> None:
    def routed(*macs: bytes) -> Stream:
        return stream(Pairs(), (1, 2), (3, 4), router_macs=macs)

    one, other = bytes(5) + b"\1", bytes(5) + b"\2"
    assert [routed(*macs).lists_differ for macs in ((), (one, one), (one, other))] == [False, False, True]


# Multicast

GROUPS = (GroupRange("225.1.1.1", 2, (2, 3)), GroupRange("225.9.0.1", 1, (3, 4)))


def test_sources_visit_all_groups_in_turn_and_each_group_has_its_receivers() -> None:
    given = stream(Multicast(GROUPS), (1, 2), (2, 3, 4))
    assert sent(given, 0, 4) == [(2, 3), (2, 3), (3, 4), (2, 3)]
    assert sent(given, 1, 3) == [(3,), (3,), (3, 4)], "a source never receives its own frames"
    assert [flow.part for flow in given.pattern.flows(given, 0)] == ["225.1.1.1", "225.1.1.2", "225.9.0.1"]
    assert [flow.shared.mac.hex(":") for flow in given.pattern.flows(given, 0) if flow.shared] == [
        "01:00:5e:01:01:01", "01:00:5e:01:01:02", "01:00:5e:09:00:01",
    ]  # fmt: skip
    given.pattern.check(given)
    assert given.multicast_group == "225.1.1.1"


@pytest.mark.parametrize("first", ["225.1.1.1", "ff05::1"])
@pytest.mark.parametrize("count", [1, 2])
def test_frames_to_a_group_have_its_address_and_its_name_where_there_are_several(first: str, count: int) -> None:
    given = stream(Multicast((GroupRange(first, count),)), (1,), (2,))
    names = [first, f"{first[:-1]}2"][:count]
    flows = given.pattern.flows(given, 0)
    assert [flow.part for flow in flows] == ([""] if count == 1 else names)
    found = [flow.shared for flow in flows if flow.shared]
    assert [str(shared.ipv6 if ":" in first else shared.ipv4) for shared in found] == names


def test_every_source_may_have_a_group_of_its_own() -> None:
    """N-to-N multicast: every port sends its own group, all others receive it."""
    given = stream(Multicast((GroupRange("225.1.1.1", 3),), own_groups=True), (1, 2, 3), (1, 2, 3))
    assert [sent(given, source, 2) for source in range(3)] == [[(2, 3)] * 2, [(1, 3)] * 2, [(1, 2)] * 2]
    assert [[flow.part for flow in given.pattern.flows(given, source)] for source in range(3)] == [
        ["225.1.1.1"], ["225.1.1.2"], ["225.1.1.3"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ((), "has no multicast group"),
        ((GroupRange("198.18.0.1"),), "198.18.0.1 is not a multicast group"),
        ((GroupRange("group"),), "'group' does not appear to be an IPv4 or IPv6 address"),
        ((GroupRange("239.255.255.255", 2),), "240.0.0.0 is not a multicast group"),
        ((GroupRange(count=0),), "0 groups from 225.1.1.1"),
        ((GroupRange(count=1 << 17),), "131072 groups from 225.1.1.1"),
        ((GroupRange("ff05::1"),), "group ff05::1 does not fit IPv4 frames"),
        ((GroupRange(receivers=(2, 10, 9)),), "port 9 receives group 225.1.1.1 and is no receive port"),
        ((GroupRange("225.1.1.1", 3), GroupRange("225.1.1.3")), "group 225.1.1.3 is named twice"),
    ],
)
def test_groups_that_contradict_the_stream_are_refused(groups: tuple[GroupRange, ...], message: str) -> None:
    given = stream(Multicast(groups), (1,), (2, 3), frame=UDP_OVER_IPV4)
    with pytest.raises(ParameterError, match=message):
        given.pattern.check(given)


def test_own_groups_are_as_many_as_transmit_ports() -> None:
    given = stream(Multicast((GroupRange(count=3),), own_groups=True), (1, 2), (1, 2))
    with pytest.raises(ParameterError, match="3 groups for 2 transmit ports"):
        given.pattern.check(given)


# Messages


def test_all_frames_of_a_message_go_where_its_order_sends_the_message() -> None:
    given = stream(Message(Rotate(), 3), (1, 2), (7, 8), burst=Burst(3))
    for source in range(2):
        whole = stream(Rotate(), (1, 2), (7, 8))
        expected = [oracle.destinations(whole, source, k // 3) for k in range(24)]
        assert sent(given, source, 24) == expected
    assert [flow.part for flow in given.pattern.flows(given, 0)] == ["1", "2", "3", "1", "2", "3"]


def test_positions_are_measured_in_classes() -> None:
    classes = (PositionClass(6, 6), PositionClass(2, 5), PositionClass(1, 1))
    given = stream(Message(Pairs(), 6, classes), (1,), (2,), burst=Burst(6))
    given.pattern.check(given)
    assert [flow.part for flow in given.pattern.flows(given, 0)] == ["1", "2..5", "2..5", "2..5", "2..5", "6"]


@pytest.mark.parametrize(
    ("pattern", "changes", "message"),
    [
        (Message(Broadcast(), 4), {}, "messages cannot go out in the order 'broadcast'"),
        (Message(MeshStreams(), 4), {}, "messages cannot go out in the order 'mesh_streams'"),
        (Message(Message(Pairs(), 4), 4), {}, "messages cannot go out in the order 'message'"),
        (Message(Pairs(), 4), {"rx_ports": (2, 3)}, "cannot be paired"),
        (Message(Pairs(), 0), {}, "messages of 0 frames"),
        (Message(Pairs(), 4), {"burst": None}, "messages of 4 frames in bursts of 1"),
        (Message(Pairs(), 2), {}, "messages of 2 frames in bursts of 4"),
        (Message(Pairs(), 4), {"frame_count": 10}, "10 frames are not whole messages of 4 frames"),
        (Message(Pairs(), 4, (PositionClass(1, 2), PositionClass(4, 4))), {}, "do not have each position 1 to 4 once"),
        (Message(Pairs(), 4, (PositionClass(1, 3), PositionClass(3, 4))), {}, "the classes 1..3, 3..4 do not have"),
    ],
)
def test_messages_that_cannot_be_sent_are_refused(pattern: Message, changes: dict[str, object], message: str) -> None:
    given = replace(stream(pattern, (1,), (2,), burst=Burst(4)), **changes)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=message):
        given.pattern.check(given)


def test_messages_of_one_frame_may_leave_in_bursts() -> None:
    given = stream(Message(Pairs(), 1), (1,), (2,), burst=Burst(4))
    given.pattern.check(given)


# Storage


@pytest.mark.parametrize("pattern", [given[0] for given in UNICAST_AND_BROADCAST])
def test_a_pattern_with_its_usual_parameters_is_stored_as_its_name(pattern: Pattern) -> None:
    data = encode(stream(pattern, (1, 2), (1, 2)))
    assert (data["pattern"], data["multicast_group"]) == (pattern.kind, "225.1.1.1")
    assert list(data)[15:18] == ["bad_fcs", "multicast_group", "may_be_filtered"]
    assert decode(Stream, data) == stream(pattern, (1, 2), (1, 2))


@pytest.mark.parametrize(
    ("pattern", "stored"),
    [
        (MeshStreams(seed=7), '{"kind":"mesh_streams","seed":7}'),
        (MeshStreams(ports_in_step=4), '{"kind":"mesh_streams","ports_in_step":4}'),
        (
            Multicast((GroupRange("225.1.1.9"), GroupRange("226.0.0.0", 4, (2,)))),
            '{"kind":"multicast","groups":[{"first":"225.1.1.9","count":1,"receivers":[]},'
            '{"first":"226.0.0.0","count":4,"receivers":[2]}]}',
        ),
        (
            Message(Pairs(), 4, (PositionClass(1, 4),)),
            '{"kind":"message","order":"pairs","frames":4,"classes":[{"first":1,"last":4}]}',
        ),
    ],
)
def test_parameters_of_a_pattern_are_stored_and_read(pattern: Pattern, stored: str) -> None:
    given = stream(pattern, (1,), (2,))
    data = encode(given)
    assert canonical(data["pattern"]) == stored
    assert decode(Stream, data) == given
    assert data["multicast_group"] == pattern.first_group


def test_an_unknown_pattern_is_an_error() -> None:
    with pytest.raises(ValueError, match="no pattern 'spiral'; valid: broadcast, full_mesh, in_phase"):
        decode(Stream, {**encode(stream(Pairs(), (1,), (2,))), "pattern": "spiral"})
