"""Elements of a configuration that have no effect: the client is warned, and all else works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.otg import OtgServer, add_flow, ended, two_ports
from support.otg_bgp import two_speakers


def test_queues_and_flow_control_of_a_port_are_warned_of(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    config.layer1.add(name="l1", port_names=["p1"]).flow_control.ieee_802_1qbb.pfc_class_3 = 3
    flow = add_flow(config, "f")
    flow.packet[0].pfc_queue.value = 3
    flow.duration.fixed_packets.packets = 100
    assert api.set_config(config).warnings == [
        "layer1[0].flow_control has no effect: ports are as the topology has them",
        "flows[0].packet[0].ethernet.pfc_queue has no effect: ports have one queue for all frames of a stream",
    ]
    assert ended(api).frames_rx == 100


def test_captures_that_would_keep_the_last_frames_are_warned_of(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    capture = config.captures.add(name="c", port_names=["p2"])
    (told,) = api.set_config(config).warnings
    assert told == "captures[0].overwrite has no effect: a full capture keeps its first 10,000 frames of each kind"
    capture.overwrite = False
    assert not api.set_config(config).warnings


@pytest.mark.parametrize(("gap_us", "is_warned"), [(990.0, True), (2000.0, False)])
def test_gaps_between_bursts_that_the_rate_does_not_leave_room_for_are_warned_of(
    server: OtgServer, gap_us: float, is_warned: bool
) -> None:
    api = server.api()
    config = two_ports(api)
    burst = add_flow(config, "f", pps=1000).duration.burst
    burst.bursts, burst.packets, burst.inter_burst_gap.microseconds = 10, 5, gap_us
    told = api.set_config(config).warnings
    path = "flows[0].duration.burst.inter_burst_gap"
    what = f"{path} is shorter than the gaps within a burst: all frames follow each other at the rate"
    assert told == ([what] if is_warned else [])
    metric = ended(api)
    assert metric.frames_rx == 50
    lasted_s = (metric.timestamps.last_timestamp_ns - metric.timestamps.first_timestamp_ns) / 1e9
    assert lasted_s == pytest.approx(0.049 if is_warned else 0.040 + 9 * 0.002, rel=0.01)


def _next_hops(peer: Any) -> None:
    routes = peer.v4_routes.add(name="r")
    routes.addresses.add(address="198.51.100.0")
    routes.next_hop_ipv4_address = "192.0.2.9"


def _next_hop_of_the_other_version(peer: Any) -> None:
    _next_hops(peer)
    routes = peer.v4_routes[0]
    routes.next_hop_mode, routes.next_hop_ipv6_address = "manual", "2001:db8::9"


PEERS: dict[str, tuple[Callable[[Any], object], str]] = {
    "next_hop": (_next_hops, "v4_routes[0].next_hop_ipv4_address has no effect: next_hop_mode and"),
    "next_hop_of_the_other_version": (
        _next_hop_of_the_other_version,
        "v4_routes[0].next_hop_ipv6_address has no effect: next_hop_mode and",
    ),
    "restart_time": (
        lambda peer: peer.graceful_restart.set(restart_time=60),
        "graceful_restart has no effect: enable_gr is false",
    ),
    "stale_time": (
        lambda peer: peer.graceful_restart.set(enable_gr=True, stale_time=60),
        "graceful_restart.stale_time has no effect: it is of long-lived graceful restart",
    ),
}


@pytest.mark.parametrize("case", PEERS)
def test_attributes_of_peers_that_others_disable_are_warned_of(server: OtgServer, case: str) -> None:
    api = server.api()
    config, (peer, _) = two_speakers(api)
    peer.graceful_restart.restart_time = 45
    assert not api.set_config(config).warnings, "what snappi gives by itself is no wish"
    change, expected = PEERS[case]
    change(peer)
    (told,) = api.set_config(config).warnings
    assert told.startswith(f"devices[0].bgp.ipv4_interfaces[0].peers[0].{expected}")
