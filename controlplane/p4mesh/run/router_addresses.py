"""Routers that have another address than the tester asks for: every routed trial over them would be INVALID."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_interface
from typing import Any

from p4mesh.errors import TopologyError
from p4mesh.tester.stations import ROUTER, stations_of
from p4mesh.topology import TESTER, Topology


def check_router_addresses(topology: Topology, ports: Sequence[int]) -> None:
    """Raise TopologyError for the first router that is asked for at an address which it does not have."""
    for port, problem, asked in strange_addresses(topology):
        if port in ports:
            raise TopologyError(f"{topology.source}: {problem}", hint=f"give the interface {asked}")


def strange_addresses(topology: Topology) -> Iterator[tuple[int, str, str]]:
    """Ports of the tester whose router has no address that it is asked for: the port, what is wrong, what is needed."""
    devices = {device.name: device for device in topology.devices if device.device == ROUTER}
    stations = stations_of(topology)
    asking = {port.number for port in topology.tester_ports if not port.router_mac}
    for link in topology.links:
        for near, far in (link.ends, link.ends[::-1]):
            if near.node != TESTER or near.port not in asking or far.node not in devices:
                continue
            interfaces: list[dict[str, Any]] = devices[far.node].model["interfaces"]
            interface = next((item for item in interfaces if item["port"] == far.port), {})
            given = interface.get("addresses", [])
            here = stations[near.port]
            asked = (here.router_ipv4, here.router_ipv6)
            if not any(ip_interface(address).ip in asked for address in given):
                has = f"has {', '.join(given)}" if given else "has no address"
                yield near.port, f"{far} {has}, and the tester asks for {asked[0]} or {asked[1]}", f"{asked[0]}/24"
