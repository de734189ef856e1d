"""The kernel's bridge and Open vSwitch as devices under test: learning, aging, table size, VLANs, a known limit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest
from support.linux_devices import available, needs_root, run_live, shipped_on, valid

from p4mesh.network.nodes.base import run_command
from p4mesh.network.nodes.bridge import BridgeNode
from p4mesh.network.nodes.openvswitch import OpenVSwitchNode
from p4mesh.target.live import LiveTarget
from p4mesh.topology import Topology
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.addresses import station_mac
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import FrameTemplate, Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import Status
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
PORTS = (1, 2, 3, 4)
BRIDGE = "bridge-4x10m"


def mesh(ports: tuple[int, ...] = PORTS, template: FrameTemplate | None = None) -> TrialSpec:
    stream = Stream("mesh", 128, Fraction(200), 100, FullMesh(), ports, ports, template or FrameTemplate())
    learning = Learning(wait_ns=100_000_000)
    return TrialSpec("mesh", (stream,), 10**9, learning, settle_ns=300_000_000, restabilise_ns=0, per_flow=True)


def bridge_of(measurer: TrialEngine) -> BridgeNode:
    target = measurer.tester.target
    assert isinstance(target, LiveTarget)
    node = target.network.node("bridge")
    assert isinstance(node, BridgeNode)
    return node


def mac_of(port: int) -> str:
    return station_mac(port).hex(":")


def test_the_bridge_has_learned_exactly_the_stations_and_forgets_them() -> None:
    aging = shipped_on(BRIDGE, "bridge", ("forwarding: store_and_forward", "mac_table: {entries: 1000, aging_s: 2}"))
    with open_measurer(aging, "live") as measurer:
        bridge = bridge_of(measurer)
        assert bridge.learned() == {}
        valid(lambda: measurer.measure(mesh()))
        assert bridge.learned() == {mac_of(port): port for port in PORTS}
        end = time.monotonic() + 20
        while bridge.learned():
            assert time.monotonic() < end, "addresses are forgotten after aging_s"
            time.sleep(0.1)


def test_a_bridge_that_does_not_learn_floods_and_the_trial_says_so() -> None:
    deaf = shipped_on(BRIDGE, "bridge", ("forwarding: store_and_forward", "learning: false"))
    with open_measurer(deaf, "live") as measurer:
        result = measurer.measure(mesh())
        assert bridge_of(measurer).learned() == {}
    assert result.status is Status.INVALID
    assert result.reason.startswith("learning not verified: ")


def test_the_address_table_of_a_bridge_is_found_exactly(tmp_path: Path) -> None:
    """RFC 2889 5.7. The test port's own address takes one of the entries."""
    limit = 50
    small = shipped_on(BRIDGE, "bridge", ("forwarding: store_and_forward", f"mac_table: {{entries: {limit}}}"))
    settings = ("addresses_initial=32", "addresses_min=8", "addresses_max=64", "addresses_resolution=1")
    settings += ("learning_rate_fps=1000", "learning_wait_ms=100", "settle_ms=200", "repetitions=1", "link_off_s=0.1")
    outcome = run_live(
        "rfc2889.address_caching", small, 64, tmp_path, *settings, "reset_between=toggle_link", "link_on_delay_s=0.1"
    )
    (row,) = outcome.tables[0].rows
    assert (row["capacity_min"], row["fails_at"]) == (limit - 1, limit)


VLANS = """
name: vlans
tester: {ports: [{numbers: 1-4, rate_bps: 10000000}]}
nodes:
  - name: bridge
    device: ethernet_switch
    on_linux: openvswitch
    ports: [{numbers: 1-4, rate_bps: 10000000}]
    vlans:
      ports:
        - {port: 1, mode: {trunk: {vids: [7, 8]}}}
        - {port: 2, mode: {trunk: {vids: [7, 8]}}}
        - {port: 3, mode: {trunk: {vids: [8]}}}
        - {port: 4, mode: {access: 7}}
links: [{from: tester:1-4, to: bridge:1-4}]
"""


def test_vlans_of_open_vswitch_keep_frames_apart() -> None:
    """Frames of VLAN 7 pass between its trunks and never reach a trunk without it; the broadcast copies show it."""
    topology = available(parse_topology("vlans", VLANS))
    with open_measurer(topology, "live") as measurer:
        result = valid(lambda: measurer.measure(mesh((1, 2), FrameTemplate(vlan_id=7))))
        assert (result.rx_frames, result.flooded_frames) == (200, 0)
        lost = measurer.measure(mesh((1, 3), FrameTemplate(vlan_id=7)))
    assert lost.status is Status.INVALID
    assert lost.reason.startswith("learning not verified: ")


def test_open_vswitch_learns_the_stations() -> None:
    with open_measurer(shipped_on(BRIDGE, "openvswitch"), "live") as measurer:
        valid(lambda: measurer.measure(mesh()))
        target = measurer.tester.target
        assert isinstance(target, LiveTarget)
        node = target.network.node("bridge")
        assert isinstance(node, OpenVSwitchNode)
        shown = node.control("fdb/show", "ovs0")
    assert all(mac_of(port) in shown for port in PORTS)


RATE_MBPS, QUEUE_MS = 50, 10


@contextmanager
def behind_a_token_bucket(topology: Topology) -> Iterator[TrialEngine]:
    """Open a bridge whose port 2 sends 50 Mbit/s, of frames without FCS, with a queue of 10 ms."""
    with open_measurer(topology, "live") as measurer:
        limit = ["rate", f"{RATE_MBPS}mbit", "burst", "5kb", "latency", f"{QUEUE_MS}ms"]
        node = bridge_of(measurer)
        run_command(node.command("tc", "qdisc", "add", "dev", "p2", "root", "tbf", *limit))
        yield measurer


def test_the_rate_of_a_token_bucket_is_found(tmp_path: Path) -> None:
    """RFC 2544 26.1 within 2 %, with trials of 100 times the time of its queue."""
    size = 1024
    topology = shipped_on(BRIDGE, "bridge", ("10000000", "100000000"))
    settings = (f"duration_ms={100 * QUEUE_MS}", "bidirectional=false", "search_resolution_pct=0.5", "settle_ms=200")
    settings += ("search_min_pct=20", "search_initial_pct=50", "search_method=bisect", "learning_wait_ms=100")
    outcome = run_live(
        "rfc2544.throughput",
        topology,
        size,
        tmp_path,
        *settings,
        "restabilise_ms=0",
        opener=f"{__name__}:behind_a_token_bucket",
    )
    frames_per_s = RATE_MBPS * 1e6 / (8 * (size - 4))
    (row,) = outcome.tables[0].rows
    per_direction = row["throughput_fps"] / 2
    assert per_direction == pytest.approx(frames_per_s, rel=0.02)
