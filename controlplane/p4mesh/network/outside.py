"""Which parts of a topology are outside of this machine: those that are cabled to interfaces that it names."""

from __future__ import annotations

from p4mesh.errors import TopologyError
from p4mesh.topology.model import TESTER, Link, Topology


def outside_nodes(topology: Topology) -> frozenset[str]:
    """The nodes that Linux parts must not stand for; raises TopologyError for cables that cannot be.

    A node is outside when a port of the tester reaches it by an interface of this machine, if need be through others.
    """
    interfaces = {port.number: port.interface for port in topology.tester_ports}
    found: set[str] = set()
    for link in topology.links:
        if any(end.node == TESTER and interfaces[end.port] for end in link.ends):
            found |= {end.node for end in link.ends if end.node != TESTER}
    while further := {node for link in topology.links for node in _neighbours(link, found)} - found:
        found |= further
    for link in topology.links:
        near, far = link.ends
        for end, other in ((near, far), (far, near)):
            real = other.node in found or (other.node == TESTER and bool(interfaces[other.port]))
            if end.node == TESTER and real and not interfaces[end.port]:
                raise TopologyError(
                    f"{topology.source}: {other} is outside of this machine, and {end} is no interface of it",
                    hint=f"name the interface of port {end.port}: interface: NAME in tester.ports, or --interfaces",
                )
    return frozenset(found)


def _neighbours(link: Link, nodes: set[str]) -> set[str]:
    ends = {end.node for end in link.ends}
    return ends - {TESTER} if TESTER not in ends and ends & nodes else set()
