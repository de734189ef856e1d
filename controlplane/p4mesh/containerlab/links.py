"""The links of a lab, seen from one of its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Interface, ip_interface

from p4mesh.config_files.yaml_source import Path
from p4mesh.containerlab.keys import LinkEnd, LinkEntry
from p4mesh.containerlab.lab_file import Lab

Address = IPv4Interface | IPv6Interface
_BRIEF_TYPES = ("host", "mgmt-net", "macvlan")
"""Names that are no nodes in the brief form: they say what is at the other end."""
_BETWEEN_NODES = ("veth", "veth-stitch")
_MTU = 9500
"""MTU of links, where the file names none."""
_TUNNEL_MTU = 1450
"""MTU of VXLAN over a network of 1,500 bytes, where the file names none."""


@dataclass(frozen=True)
class End:
    """One end of a link."""

    node: str
    interface: str
    addresses: tuple[Address, ...] = ()
    """Those that the link gives it."""

    def __str__(self) -> str:
        """The spelling of the brief form."""
        return f"{self.node}:{self.interface}"


@dataclass(frozen=True)
class Link:
    """A link of a node."""

    type: str
    near: End
    far: End
    """The other node; or what is there, such as an interface of the host."""
    mtu: int
    place: Path


def links_of(lab: Lab, node: str) -> list[Link]:
    """The links of a node in the order of the file, one of the node to itself twice; raises LabFileError."""
    used: set[tuple[str, str]] = set()
    found = []
    for number, entry in enumerate(lab.links):
        place: Path = ("topology", "links", number)
        link = _link(lab, place, entry)
        for end in (link.near, link.far):
            if end.node in lab.nodes:
                if (end.node, end.interface) in used:
                    raise lab.error(place, f"{end} is the end of another link, too", "an interface has one link")
                used.add((end.node, end.interface))
        ways = (link, Link(link.type, link.far, link.near, link.mtu, place))
        found += [way for way in ways if way.near.node == node]
    return found


def _link(lab: Lab, place: Path, entry: LinkEntry) -> Link:
    if entry.endpoints:
        ends = [_end(lab, (*place, "endpoints", number), end) for number, end in enumerate(entry.endpoints)]
        given = [tuple(_listed(lab, place, entry, number)) for number in range(2)]
        ends = [End(end.node, end.interface, end.addresses + given[number]) for number, end in enumerate(ends)]
        outer = next((number for number, end in enumerate(ends) if end.node in _BRIEF_TYPES), None)
        if outer is not None:
            return Link(ends[outer].node, ends[1 - outer], ends[outer], entry.mtu or _MTU, place)
        if entry.type not in _BETWEEN_NODES:
            raise lab.error(
                (*place, "type"), f"a link of type {entry.type} has one endpoint", "endpoint: {node, interface}"
            )
        return Link(entry.type, ends[0], ends[1], entry.mtu or _MTU, place)
    if entry.endpoint is None or entry.type in _BETWEEN_NODES:
        raise lab.error(place, "'endpoints' is missing", 'such as endpoints: ["leaf1:e1-1", "tester:eth1"]')
    near = _end(lab, (*place, "endpoint"), entry.endpoint)
    mtu = entry.mtu or (_TUNNEL_MTU if entry.type.startswith("vxlan") else _MTU)
    return Link(entry.type, near, End(entry.type, entry.remote or entry.host_interface), mtu, place)


def _end(lab: Lab, place: Path, given: str | LinkEnd) -> End:
    if isinstance(given, LinkEnd):
        node, interface = given.node, given.interface
        addresses = [
            _address(lab, (*place, key), getattr(given, key)) for key in ("ipv4", "ipv6") if getattr(given, key)
        ]
    else:
        node, _, interface = given.partition(":")
        addresses = []
        if node in _BRIEF_TYPES:
            return End(node, interface)
    if node not in lab.nodes:
        names = list(lab.nodes)
        raise lab.error(place, f"'{node}' is no node", f"nodes: {', '.join(names[:20])}{', ...' if names[20:] else ''}")
    return End(node, interface, tuple(addresses))


def _listed(lab: Lab, place: Path, entry: LinkEntry, number: int) -> Iterator[Address]:
    """The addresses that the link itself lists for an end; an empty one is none."""
    for key, words in (("ipv4", entry.ipv4), ("ipv6", entry.ipv6)):
        if number < len(words) and words[number]:
            yield _address(lab, (*place, key, number), words[number])


def _address(lab: Lab, place: Path, text: str) -> Address:
    try:
        if "/" in text:
            return ip_interface(text)
    except ValueError:
        pass
    raise lab.error(place, f"'{text[:60]}' is no address with the length of its prefix", "such as 192.168.1.1/24")
