"""Mininet networks of topology files."""

from __future__ import annotations

from typing import Any

from mininet.link import Link
from mininet.net import Mininet

from p4mesh.mininet.nodes import Tester, TopologyNode
from p4mesh.network.netns import NetnsNetwork
from p4mesh.topology.model import TESTER, PortRef, Topology

__all__ = ("Mininet", "network_of")


def network_of(topology: Topology) -> Mininet:
    """Network of a topology, not yet started: node ``tester``, and one for each device.

    Raises what ``p4mesh net up`` raises for devices that have no Linux part here.
    """
    NetnsNetwork.check(topology)
    net = Mininet(controller=None, link=Link, build=False, autoSetMacs=False)
    nodes: dict[str, Any] = {TESTER: net.addHost(TESTER, cls=Tester)}
    for device in topology.devices:
        nodes[device.name] = net.addSwitch(device.name, cls=TopologyNode, device=device)
    for link in topology.links:
        near, far = link.ends
        names = {"intfName1": _interface(near), "intfName2": _interface(far)}
        net.addLink(nodes[near.node], nodes[far.node], port1=near.port, port2=far.port, **names)
    return net


def _interface(end: PortRef) -> str:
    return f"{TESTER}-eth{end.port}" if end.node == TESTER else f"p{end.port}"
