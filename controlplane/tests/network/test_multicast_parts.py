"""Linux parts refuse multicast of a model that they would do in another way."""

from __future__ import annotations

import pytest
from support.networks import parsed, switch

from p4mesh.errors import UnsupportedError
from p4mesh.network.nodes.base import LinuxNode
from p4mesh.network.nodes.bridge import BridgeNode
from p4mesh.network.nodes.frr import FrrNode
from p4mesh.network.nodes.openvswitch import OpenVSwitchNode
from p4mesh.network.nodes.router import RouterNode
from p4mesh.network.nodes.smcroute import SmcrouteNode

INTERFACES = ", ".join(f'{{port: {n}, mac: "02:00:00:00:01:0{n}", addresses: [198.18.{n}.1/24]}}' for n in range(1, 5))


@pytest.fixture(autouse=True)
def all_programs_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in (OpenVSwitchNode, FrrNode, SmcrouteNode):
        monkeypatch.setattr(part, "programs", ())


def refused(part: type[LinuxNode], *keys: str) -> str:
    device = "router" if issubclass(part, RouterNode) else "ethernet_switch"
    (model,) = parsed(switch(*keys, device=device)).devices
    with pytest.raises(UnsupportedError) as caught:
        part.check(model)
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize("value", ["max_groups: 7", "forward_by: mac", "flood_unknown: true"])
def test_a_bridge_has_snooping_of_its_own(value: str) -> None:
    key = value.partition(":")[0]
    message = refused(BridgeNode, f"snooping: {{{value}}}")
    assert message == f"not supported on Linux bridges: the value of snooping.{key} of node 'dut'"


def test_a_bridge_takes_times_router_ports_and_its_own_values() -> None:
    keys = "snooping: {leave_delay_ns: 5000000, join_time_ns: 10, router_ports: [2], forward_by: group}"
    (model,) = parsed(switch(keys)).devices
    BridgeNode.check(model)


def test_open_vswitch_is_not_told_of_snooping() -> None:
    assert refused(OpenVSwitchNode, "snooping: {}") == "not supported on Open vSwitch: snooping of node 'dut'"


def router(multicast: str) -> tuple[str, str]:
    return f"interfaces: [{INTERFACES}]", f"multicast: {{{multicast}}}"


@pytest.mark.parametrize(
    ("multicast", "message"),
    [
        ("host_ports: [2]", "not supported by SMCRoute: multicast.host_ports of node 'dut'"),
        ("pim: {ports: [2]}", "not supported by SMCRoute: multicast.pim of node 'dut'"),
        (
            "routes: [{groups: 225.1.1.0/24, outputs: [2]}]",
            "not supported by SMCRoute: a route of groups without input on node 'dut'",
        ),
    ],
)
def test_smcroute_has_fixed_routes_alone(multicast: str, message: str) -> None:
    assert refused(SmcrouteNode, *router(multicast)) == message


@pytest.mark.parametrize("part", [RouterNode, FrrNode])
def test_other_routers_have_no_multicast(part: type[RouterNode]) -> None:
    message = refused(part, *router("host_ports: [2]"))
    assert message == f"not supported by on_linux: {part.software}: multicast of node 'dut'"


def test_smcroute_takes_fixed_routes() -> None:
    keys = router("routes: [{groups: 225.1.1.0/24, input: 1, outputs: [2, 3]}]")
    (model,) = parsed(switch(*keys, device="router")).devices
    SmcrouteNode.check(model)
