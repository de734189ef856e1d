"""The kernel's bridge and Open vSwitch as devices under test: learning, aging, table size, VLANs."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path

import pytest
from support.linux_devices import available, needs_root, run_live, shipped_on, valid

from p4mesh.layers import UDP_OVER_IPV4, Frame
from p4mesh.network.nodes.bridge import BridgeNode, port_vlans
from p4mesh.network.nodes.openvswitch import OpenVSwitchNode
from p4mesh.target.live import LiveTarget
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.addresses import station_mac
from p4mesh.traffic.patterns import FullMesh, Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

pytestmark = [pytest.mark.live, needs_root]
PORTS = (1, 2, 3, 4)
BRIDGE = "bridge-4x10m"


def mesh(ports: tuple[int, ...] = PORTS, headers: Frame | None = None) -> TrialSpec:
    stream = Stream("mesh", 128, Fraction(200), 100, FullMesh(), ports, ports, headers or UDP_OVER_IPV4)
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
    assert result.status is Verdict.INVALID
    assert result.reason.startswith("learning not verified: ")


def test_the_address_table_of_a_bridge_is_found_exactly(tmp_path: Path) -> None:
    """RFC 2889 5.7. The test port's own address takes one of the entries."""
    limit = 50
    small = shipped_on(BRIDGE, "bridge", ("forwarding: store_and_forward", f"mac_table: {{entries: {limit}}}"))
    settings: tuple[str, ...] = (
        "addresses_initial=32",
        "addresses_min=8",
        "addresses_max=64",
        "addresses_resolution=1",
    )
    settings += ("learning_rate_fps=1000", "learning_wait_ms=100", "settle_ms=200", "repetitions=1", "link_off_s=0.1")
    outcome = run_live(
        "rfc2889.address_caching", small, 64, tmp_path, *settings, "reset_between=toggle_link", "link_on_delay_s=0.1"
    )
    (row,) = outcome.tables[0].rows
    assert (row["capacity_min"], row["upper_addresses"]) == (limit - 1, limit)


VLANS = """
name: vlans
tester: {ports: [{numbers: 1-4, rate_bps: 10000000}]}
nodes:
  - name: bridge
    device: ethernet_switch
    on_linux: {part}
    ports: [{numbers: 1-4, rate_bps: 10000000}]
    vlans:
      ports:
        - {port: 1, mode: {trunk: {vids: [7, 8]}}}
        - {port: 2, mode: {trunk: {vids: [7, 8]}}}
        - {port: 3, mode: {trunk: {vids: [8]}}}
        - {port: 4, mode: {access: 7}}
links: [{from: tester:1-4, to: bridge:1-4}]
"""


@pytest.mark.parametrize("part", ["openvswitch", "bridge"])
def test_vlans_keep_frames_apart(part: str) -> None:
    """Frames of VLAN 7 pass between its trunks and never reach a trunk without it; the broadcast copies show it."""
    topology = available(parse_topology("vlans", VLANS.replace("{part}", part)))
    with open_measurer(topology, "live") as measurer:
        result = valid(lambda: measurer.measure(mesh((1, 2), UDP_OVER_IPV4.tagged(7))))
        assert (result.rx_frames, result.flooded_frames) == (200, 0)
        lost = measurer.measure(mesh((1, 3), UDP_OVER_IPV4.tagged(7)))
    assert lost.status is Verdict.INVALID
    assert lost.reason.startswith("learning not verified: ")


def test_the_vlans_of_ports_are_those_of_the_file() -> None:
    (device,) = parse_topology("vlans", VLANS.replace("{part}", "bridge")).devices
    without_tag = 2 | 4
    assert [(port, vlan["vid"], vlan["flags"]) for port, vlan in port_vlans(device)] == [
        *((port, vid, 0) for port in (1, 2) for vid in (7, 8)),
        (3, 8, 0),
        (4, 7, without_tag),
    ]


@pytest.mark.parametrize(("size", "received"), [(1000, 400), (1001, 0)])
def test_the_longest_frame_of_a_switch_is_that_of_the_file(size: int, received: int) -> None:
    short = shipped_on(BRIDGE, "bridge", ("forwarding: store_and_forward", "max_frame_bytes: 1000"))
    stream = Stream("mesh", size, Fraction(200), 100, Pairs(), (1, 2, 3, 4), (2, 1, 4, 3), UDP_OVER_IPV4)
    spec = TrialSpec("long", (stream,), 10**9, Learning(verify=False), settle_ns=300_000_000, restabilise_ns=0)
    with open_measurer(short, "live") as measurer:
        assert valid(lambda: measurer.measure(spec)).rx_frames == received


def test_open_vswitch_learns_the_stations() -> None:
    with open_measurer(shipped_on(BRIDGE, "openvswitch"), "live") as measurer:
        valid(lambda: measurer.measure(mesh()))
        target = measurer.tester.target
        assert isinstance(target, LiveTarget)
        node = target.network.node("bridge")
        assert isinstance(node, OpenVSwitchNode)
        shown = node.control("fdb/show", "ovs0")
    assert all(mac_of(port) in shown for port in PORTS)
