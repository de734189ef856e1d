"""More flows than there are cells: groups are counted on each port, and those that fit have latency, too."""

from __future__ import annotations

from contextlib import AbstractContextManager
from fractions import Fraction
from ipaddress import IPv4Address
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.networks import parsed, switch

from p4mesh.layers import udp
from p4mesh.measurement.counted_groups import group_frames
from p4mesh.tester import dataplane
from p4mesh.traffic.memberships import Memberships, Version
from p4mesh.traffic.patterns import FullMesh, GroupRange, Multicast
from p4mesh.traffic.stream import FieldModifier, Progression, Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

GROUPS = 4095
MEMBERS = tuple(range(2, 19))
"""17 ports and 4,095 groups are 69,615 pairs, more than the 65,536 cells."""
UDP_PORTS_IN_TURN = (FieldModifier(udp.DESTINATION, Progression(count=8000)),)


def open_snooping(keys: str) -> AbstractContextManager[TrialEngine]:
    """Open a snooping switch with 20 ports; ``keys`` are those of ``snooping``."""
    return open_measurer(parsed(switch(f"snooping: {{{keys}}}", ports=20, rates_bps=10**10)))


def test_counts_are_exact_beyond_the_cells_and_strangers_are_flooded() -> None:
    """Port 19 has joined the first 100 groups though the stream does not expect it there: these frames are flooded.

    The first five groups get a second frame; UDP ports change from frame to frame.
    """
    everyone = GroupRange("225.1.1.1", GROUPS, MEMBERS)
    frames = GROUPS + 5
    pattern = Multicast((everyone,))
    stream = Stream("groups", 128, Fraction(5_000_000), frames, pattern, (1,), MEMBERS, modifiers=UDP_PORTS_IN_TURN)
    mesh = Stream("mesh", 128, Fraction(1_000_000), 100, FullMesh(), (19, 20), (19, 20))
    memberships = Memberships(
        Version.IGMPV3, (everyone, GroupRange("225.1.1.1", 100, (19,))), joins_per_s=1_000_000, robustness=1
    )
    spec = TrialSpec(
        "counted", (stream, mesh), 2_000_000, Learning(verify=False), 0, 0, per_flow=True, memberships=memberships
    )
    with open_snooping("leave_delay_ns: 1000000") as measurer:
        result = measurer.measure(spec)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert result.expected_rx_frames == result.rx_frames == frames * len(MEMBERS) + 200
    assert (result.lost_frames, result.silent_flows, result.flooded_frames) == (0, 0, 105)
    received = {port.port: port.rx_frames for port in result.ports}
    assert received == {1: 0, **dict.fromkeys(MEMBERS, frames), 19: 100, 20: 100}
    measured = [flow for flow in result.flows if flow.stream == "groups"]
    assert {flow.tx_frames for flow in measured} == {1, 2} and len(measured) > 30_000
    assert all(flow.latency and flow.latency.count == flow.rx_frames for flow in measured)


def test_a_source_that_is_a_member_receives_nothing_of_its_own() -> None:
    """Ports 2 and 5 are counted; port 2 sends 7 frames to a group of both and 8 to one of port 5."""
    groups = SimpleNamespace(
        tx_port=2, first=1, destinations=[SimpleNamespace(ports=ports) for ports in ((2, 5), (5,))]
    )
    plan: Any = SimpleNamespace(counted_ports=(2, 5), counted=[groups])
    received = np.array([[9, 0, 0], [9, 7, 8], [9, 9, 9]])
    reading: Any = SimpleNamespace(groups=received, records={"flow_sequence": np.array([1, 7, 8], np.uint32)})
    (found,) = group_frames(plan, reading)
    assert found.expected.tolist() == [[False, False], [True, True]]
    assert found.sent.tolist() == [[7, 8], [7, 8]]
    assert found.received.tolist() == [[0, 0], [7, 8]]


@pytest.mark.parametrize("of_all_cells", [dataplane._OF_ALL_CELLS, 1 << 20])
def test_a_member_that_has_not_joined_is_silent_beyond_the_cells(
    of_all_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counters are read one by one, and as one array of 2^20."""
    monkeypatch.setattr(dataplane, "_OF_ALL_CELLS", of_all_cells)
    everyone = GroupRange("225.1.1.1", GROUPS, MEMBERS)
    some = GroupRange("225.1.1.1", GROUPS - 10, MEMBERS)
    stream = Stream("groups", 128, Fraction(5_000_000), GROUPS, Multicast((everyone,)), (1,), MEMBERS)
    memberships = Memberships(Version.IGMPV3, (some,), joins_per_s=1_000_000, robustness=1, verify=False)
    spec = TrialSpec("silent", (stream,), 1_000_000, Learning(enabled=False), 0, 0, memberships=memberships)
    with open_snooping("leave_delay_ns: 1000000") as measurer:
        result = measurer.measure(spec)
    assert (result.status, result.lost_frames, result.silent_flows) == (Verdict.MEASURED, 170, 170)


def test_every_group_may_have_a_set_of_receivers_of_its_own() -> None:
    """200 of 4,095 groups are each joined by a random set of ports and by no other: no frame too few, none too many.

    A second trial counts its own frames alone.
    """
    random = Random(7)
    sets = [tuple(sorted(random.sample(MEMBERS, random.randint(1, len(MEMBERS))))) for _ in range(200)]
    first = IPv4Address("225.1.1.1")
    own = tuple(GroupRange(str(first + place), 1, ports) for place, ports in enumerate(sets))
    ranges = (*own, GroupRange(str(first + len(own)), GROUPS - len(own), MEMBERS))
    sets += [MEMBERS] * ranges[-1].count
    stream = Stream("groups", 128, Fraction(5_000_000), GROUPS, Multicast(ranges), (1,), MEMBERS)
    memberships = Memberships(Version.IGMPV3, ranges, joins_per_s=1_000_000, robustness=1, verify=False)
    spec = TrialSpec("sets", (stream,), 2_000_000, Learning(enabled=False), 0, 0, memberships=memberships)
    with open_snooping("leave_delay_ns: 1000000") as measurer:
        results = [measurer.measure(spec) for _ in range(2)]
    for result in results:
        assert (result.status, result.reason) == (Verdict.MEASURED, "")
        assert result.expected_rx_frames == result.rx_frames == sum(map(len, sets))
        assert (result.lost_frames, result.silent_flows, result.flooded_frames) == (0, 0, 0)
        received = {port.port: port.rx_frames for port in result.ports if port.port in MEMBERS}
        assert received == {port: sum(port in ports for ports in sets) for port in MEMBERS}


@pytest.mark.parametrize(("forward_by", "flooded"), [("mac", 200), ("group", 0), ("source_and_group", 0)])
def test_groups_that_share_a_mac_are_told_apart_by_the_tester(forward_by: str, flooded: int) -> None:
    """225.1.1.1 and 225.129.1.1 are one MAC: a switch that looks at it alone sends both to the members of both."""
    ranges = (GroupRange("225.1.1.1", 1, (2,)), GroupRange("225.129.1.1", 1, (3,)))
    stream = Stream("groups", 128, Fraction(1_000_000), 200, Multicast(ranges), (1,), (2, 3))
    memberships = Memberships(Version.IGMPV3, ranges, robustness=1, verify=False)
    spec = TrialSpec(
        "one mac", (stream,), 1_000_000, Learning(enabled=False), 0, 0, per_flow=True, memberships=memberships
    )
    with open_snooping(f"forward_by: {forward_by}") as measurer:
        result = measurer.measure(spec)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    received = {(flow.part, flow.rx_port): flow.rx_frames for flow in result.flows}
    assert received == {("225.1.1.1", 2): 100, ("225.129.1.1", 3): 100}
    assert (result.lost_frames, result.flooded_frames) == (0, flooded)


@pytest.mark.parametrize(("sources", "received"), [(("198.18.1.2",), 100), (("198.18.9.9",), 0)])
def test_a_host_that_asks_for_one_sender_gets_its_frames_alone(sources: tuple[str, ...], received: int) -> None:
    ranges = (GroupRange("232.1.1.1", 1, (2, 3)),)
    stream = Stream("groups", 128, Fraction(1_000_000), 100, Multicast(ranges), (1,), (2, 3))
    memberships = Memberships(Version.IGMPV3, ranges, sources, robustness=1, verify=False)
    spec = TrialSpec("sender", (stream,), 1_000_000, Learning(enabled=False), 0, 0, memberships=memberships)
    with open_snooping("forward_by: source_and_group") as measurer:
        result = measurer.measure(spec)
    assert (result.status, result.rx_frames) == (Verdict.MEASURED, 2 * received), result.reason
