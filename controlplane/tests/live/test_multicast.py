"""Multicast through the bridge and the router of Linux: the groups that hosts have joined, and no others."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from ipaddress import IPv4Address

import pytest
from support.frames import FORMATS
from support.linux_devices import needs_root, shipped_on, valid

from p4mesh.layers import UDP_OVER_IPV4
from p4mesh.network.netns import NetnsNetwork
from p4mesh.target.live import LiveTarget
from p4mesh.traffic.memberships import Memberships, Version
from p4mesh.traffic.patterns import GroupRange, Multicast
from p4mesh.traffic.stream import Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
NS_PER_S = 1_000_000_000
FRAMES = 60
QUERIER_S = 11
"""A bridge floods until hosts have had the 10 s of the first question to answer."""
FIRST = {4: "225.1.1.", 6: "ff1e::1:"}
Entry = tuple[str, str]
"""Port of the bridge and group."""


def database(namespace: str) -> set[Entry]:
    """Pairs (port, group) that ``bridge mdb`` shows."""
    command = ["bridge", "-n", namespace, "-j", "mdb", "show"]
    shown = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout or "[{}]")
    return {(entry["port"], entry["grp"]) for part in shown for entry in part.get("mdb", [])}


def network_of(measurer: TrialEngine) -> NetnsNetwork:
    target = measurer.tester.target
    assert isinstance(target, LiveTarget)
    return target.network


@contextmanager
def watched(namespace: str) -> Iterator[list[set[Entry]]]:
    """Yield a list that gets the database each half second."""
    found: list[set[Entry]] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            found.append(database(namespace))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        done.set()
        watcher.join()


@pytest.mark.parametrize("version", list(Version))
def test_the_database_of_the_bridge_holds_exactly_the_groups_that_are_joined(version: Version) -> None:
    """Three groups with receivers of their own; the tester is the querier on the port of the source."""
    topology = shipped_on(
        "bridge-4x10m", "bridge", ("    forwarding:", "    snooping: {leave_delay_ns: 1000000000}\n    forwarding:")
    )
    first = FIRST[version.ip_version]
    ranges = (GroupRange(f"{first}1", 1, (2, 3)), GroupRange(f"{first}2", 1, (3,)), GroupRange(f"{first}3", 1, (4,)))
    headers = FORMATS[version.ip_version]
    stream = Stream("groups", 128, Fraction(100), 3 * FRAMES, Multicast(ranges), (1,), (2, 3, 4), headers)
    memberships = Memberships(
        version, ranges, querier_port=1, join_wait_ns=QUERIER_S * NS_PER_S, leave_wait_ns=4 * NS_PER_S, verify=False
    )
    spec = TrialSpec(
        "groups",
        (stream,),
        2 * NS_PER_S,
        Learning(enabled=False),
        NS_PER_S // 2,
        0,
        per_flow=True,
        memberships=memberships,
    )
    with open_measurer(topology, "live") as measurer:
        namespace = network_of(measurer).node("bridge").namespace
        with watched(namespace) as found:
            result = valid(lambda: measurer.measure(spec))
    expected = {("p2", f"{first}1"), ("p3", f"{first}1"), ("p3", f"{first}2"), ("p4", f"{first}3")}
    assert expected in found, found[-1]
    assert all(held <= expected for held in found), "no group that nobody has joined"
    assert found[-1] < expected, "what is left ends"
    assert (result.lost_frames, result.flooded_frames) == (0, 0)
    assert {(flow.part, f"p{flow.rx_port}"): flow.rx_frames for flow in result.flows} == {
        (group, port): FRAMES for port, group in expected
    }


def test_a_linux_router_sends_groups_where_their_routes_lead() -> None:
    """SMCRoute: a route of one sender, and one of a range of groups from anybody."""
    routes = (
        "    multicast:\n"
        "      routes:\n"
        "        - {groups: 225.1.1.1/32, source: 198.18.1.2, input: 1, outputs: [2, 3]}\n"
        "        - {groups: 225.1.2.0/24, input: 1, outputs: [4]}\n"
        "    interfaces:"
    )
    topology = shipped_on("router-4x1g", "smcroute", ("    interfaces:", routes))
    ranges = (GroupRange("225.1.1.1", 1, (2, 3)), GroupRange("225.1.2.1", 2, (4,)))
    stream = Stream("groups", 128, Fraction(100), 3 * FRAMES, Multicast(ranges), (1,), (2, 3, 4))
    spec = TrialSpec("groups", (stream,), 2 * NS_PER_S, Learning(enabled=False), NS_PER_S // 2, 0, per_flow=True)
    with open_measurer(topology, "live") as measurer:
        result = valid(lambda: measurer.measure(spec))
    assert (result.lost_frames, result.flooded_frames) == (0, 0)
    received = {(flow.part, flow.rx_port): flow.rx_frames for flow in result.flows}
    expected = {("225.1.1.1", 2), ("225.1.1.1", 3), ("225.1.2.1", 4), ("225.1.2.2", 4)}
    assert received == dict.fromkeys(expected, FRAMES)


@pytest.mark.parametrize("part", ["simple_switch_grpc", "p4mesh_switch"])
def test_a_router_in_p4_puts_groups_into_tunnels_and_takes_them_out(part: str) -> None:
    with open_measurer(shipped_on("p4-tunnels-4ports", part), "live") as measurer:
        for first, sent, back in (("225.1.1.1", False, True), ("225.1.2.1", True, False), ("225.1.3.1", True, True)):
            check_tunnels(measurer, first, sent=sent, back=back)


def check_tunnels(measurer: TrialEngine, first: str, *, sent: bool, back: bool) -> None:
    tunneled = UDP_OVER_IPV4.in_tunnel(IPv4Address("198.18.1.2"), IPv4Address("198.18.1.1"))
    stream = Stream(
        "groups",
        256,
        Fraction(100),
        3 * FRAMES,
        Multicast((GroupRange(first, 3),)),
        (1,),
        (2, 3, 4),
        tunneled if sent else UDP_OVER_IPV4,
        routed=sent,
        received_in_tunnel=back,
    )
    spec = TrialSpec("groups", (stream,), 2 * NS_PER_S, Learning(enabled=False), NS_PER_S // 2, 0, per_flow=True)
    result = valid(lambda: measurer.measure(spec))
    assert (result.lost_frames, result.flooded_frames) == (0, 0)
    groups = [str(group) for group in GroupRange(first, 3).groups]
    received = {(flow.part, flow.rx_port): flow.rx_frames for flow in result.flows}
    assert received == {(group, port): FRAMES for group in groups for port in (2, 3, 4)}
