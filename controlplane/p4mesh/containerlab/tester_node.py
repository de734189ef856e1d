"""The node that is the tester, and its ports: links over which frames go, each with the router at its other end."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_interface
from itertools import islice

from p4mesh.config_files.yaml_source import Path
from p4mesh.containerlab.commands import configured
from p4mesh.containerlab.configured import Configured
from p4mesh.containerlab.lab_file import Lab, Node
from p4mesh.containerlab.links import Address, Link, links_of
from p4mesh.containerlab.mounted import files_of, mounted
from p4mesh.errors import LabFileError
from p4mesh.tester.stations import station

IMAGE = "p4mesh"
ROUTER, SWITCH, CABLE = "router", "switch", "cable"
_LABEL, _LABELLED = "p4mesh", "tester"
_NAMES = ("tester", "p4mesh")
_OTHER_KINDS = ("keysight_ixia-c-one",)
_OTHER_IMAGES = ("ixia-c-one", "ostinato", "trex")
"""Traffic generators whose place the tester takes."""
_HOST = "linux"
_BRIDGES = ("bridge", "ovs-bridge")
_NO_CONTAINERS = (*_BRIDGES, "host", "ext-container")
_LEFT_OUT = {
    "mgmt-net": "it is in the management network",
    "macvlan": "a macvlan takes no frames to the stations of the tester",
    "dummy": "nothing is at its other end",
}
_MANAGEMENT = "eth0"
_INTERFACE = re.compile(r"[A-Za-z0-9_.-]{1,15}")
_LEAST_PORTS = 2
_MOST_NAMED = 20


@dataclass(frozen=True)
class Port:
    """A port of the tester."""

    number: int
    link: Link
    routers: tuple[Address, ...]
    """Addresses of what is at the other end, with the lengths of their prefixes."""
    origin: str
    """Where they are from; empty: chosen here."""
    tag: int
    """VLAN in which they are; 0: untagged."""

    @property
    def interface(self) -> str:
        """Interface of Linux that frames go through: that of the link, or one above it for the VLAN."""
        if not self.tag:
            return self.link.near.interface
        name = f"{self.link.near.interface}.{self.tag}"
        return name if _INTERFACE.fullmatch(name) else f"port{self.number}.{self.tag}"


@dataclass(frozen=True)
class TesterNode:
    """The tester of a lab."""

    node: Node
    ports: tuple[Port, ...]
    behind: str
    """The device at its links: a router, a switch where all are bridges, or a cable where they join its own ports."""
    left_out: tuple[tuple[Link, str], ...]
    """Links that are no ports, with the reasons."""
    own_addresses: tuple[str, ...]
    """Those that commands of the node give the interfaces of ports, with their interfaces."""


def find_tester(lab: Lab, name: str | None) -> Node:
    """The node of this name, or the only one that shows to be the tester; raises LabFileError."""
    nodes = lab.nodes.values()
    shown = [node.name for node in nodes if node.kind not in _NO_CONTAINERS]
    valid = f"--node NAME, one of {', '.join(shown[:_MOST_NAMED])}{', ...' if shown[_MOST_NAMED:] else ''}"
    if name is not None:
        if name not in lab.nodes:
            raise LabFileError(f"{lab.source.name}: '{name}' is no node", hint=valid)
        return lab.nodes[name]
    signs: tuple[tuple[str, Callable[[Node], bool]], ...] = (
        (f"have the label {_LABEL}: {_LABELLED}", lambda node: node.labels.get(_LABEL) == _LABELLED),
        (f"have the image {IMAGE}", has_image),
        ("have the name of a tester", lambda node: node.name in _NAMES),
        ("are traffic generators", lambda node: node.kind in _OTHER_KINDS or _image(node) in _OTHER_IMAGES),
    )
    for sign, shows in signs:
        found = [node for node in nodes if shows(node)]
        if len(found) == 1:
            return found[0]
        if found:
            names = [node.name for node in found]
            raise LabFileError(
                f"{lab.source.name}: {', '.join(names[:_MOST_NAMED])} {sign}: one node is the tester",
                hint=f"name it: {' or '.join(f'--node {name}' for name in names[:_MOST_NAMED])}",
            )
    raise LabFileError(
        f"{lab.source.name}: no node is the tester: none has the image {IMAGE}, the label {_LABEL}: {_LABELLED} or the"
        f" name {' or '.join(_NAMES)}",
        hint=f"{_addition(lab, shown)}; or, for a node with two links or more, {valid}",
    )


def _addition(lab: Lab, shown: Sequence[str]) -> str:
    """Text on what to add to a lab for the tester: in place of two hosts where there are such, which have one link."""
    hosts = {}
    for name in shown:
        links = links_of(lab, name) if lab.nodes[name].kind == _HOST else []
        if len(links) == 1:
            hosts[name] = str(links[0].far)
    replaced = list(hosts)[:_LEAST_PORTS] if len(hosts) >= _LEAST_PORTS else []
    ends = [hosts[name] for name in replaced] or [f"{name}:INTERFACE" for name in (*shown, *shown)]
    given = [f'["{_NAMES[0]}:eth{number}", "{end}"]' for number, end in enumerate(ends[:_LEAST_PORTS], 1)]
    such = f", such as endpoints: {' and '.join(given)}" if given else ""
    instead = f", in place of {' and '.join(replaced)}" if replaced else ""
    return (
        f"add {_NAMES[0]}: {{kind: {_HOST}, image: {IMAGE}}} to topology.nodes, and {_LEAST_PORTS} links of it or more"
        f" to topology.links{such}{instead}"
    )


def has_image(node: Node) -> bool:
    """Whether the image of a node is that of the container file, of any registry and version."""
    return _image(node) == IMAGE


def _image(node: Node) -> str:
    """Name of a node's image, without registry and version."""
    return node.image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def tester_of(lab: Lab, node: Node) -> TesterNode:
    """A node with its ports; raises LabFileError where it cannot be the tester."""
    place: Path = ("topology", "nodes", node.name)
    if node.kind in _NO_CONTAINERS:
        raise lab.error(place, f"a node of kind {node.kind} is no container of this lab", "name a node of kind linux")
    if node.network_mode and node.network_mode != "none":
        hint = "leave network-mode out: the links of the tester are in a network namespace of its own"
        raise lab.error(place, f"network-mode {node.network_mode[:60]}", hint)
    links = sorted(links_of(lab, node.name), key=_order)
    for link in links:
        name = link.near.interface
        if not _INTERFACE.fullmatch(name) or (name == _MANAGEMENT and not node.network_mode):
            wrong = "is the management interface" if name == _MANAGEMENT else "is no name of a Linux interface"
            raise lab.error(link.place, f"'{name[:60]}' {wrong}", "name interfaces of the tester eth1, eth2 and so on")
    used = [link for link in links if link.type not in _LEFT_OUT]
    if len(used) < _LEAST_PORTS:
        without = "".join(
            f"; {link.near.interface} is none: {_LEFT_OUT[link.type]}" for link in links if link not in used
        )
        raise lab.error(
            place,
            f"{len(used)} link{'s' * (len(used) != 1)} for a tester that sends from port to port{without}",
            f'give it two links or more, such as endpoints: ["{node.name}:eth{len(links) + 1}", "leaf2:e1-1"]',
        )
    own = configured(node.commands)
    ports = tuple(_port(lab, number, link, own) for number, link in enumerate(used, 1))
    interfaces = {link.near.interface for link in used}
    given = [
        f"{address} dev {name}" for name, items in own.addresses.items() if name in interfaces for address in items
    ]
    if len({link.far.node == node.name for link in used}) > 1:
        hint = "use a tester for each, or leave one kind of links out"
        raise lab.error(place, "some of its links are to other nodes, some join its own ports", hint)
    far = {link.far.node for link in used}
    bridged = all(name in lab.nodes and lab.nodes[name].kind in _BRIDGES for name in far)
    behind = CABLE if far == {node.name} else SWITCH if bridged else ROUTER
    left_out = tuple((link, _LEFT_OUT[link.type]) for link in links if link not in used)
    return TesterNode(node, ports, behind, left_out, tuple(given))


def _order(link: Link) -> tuple[list[tuple[int, str]], ...]:
    """Sort key: by interfaces; ports of the tester that are joined are neighbours, since frames go in pairs of them."""
    near = _natural(link.near.interface)
    return min(near, _natural(link.far.interface)) if link.far.node == link.near.node else near, near


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key by which eth2 comes before eth10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def _port(lab: Lab, number: int, link: Link, own: Configured) -> Port:
    """A port with its router: addresses of the link, of its commands or files, beside the tester's own, or chosen."""
    far = lab.nodes.get(link.far.node)
    if link.far.node == link.near.node:
        return Port(number, link, (), "", 0)
    commands = configured(far.commands if far else ())
    addresses, tag = commands.at(link.far.interface)
    routers, origin = list(link.far.addresses), "its link"
    if routers:
        tag = 0
    else:
        routers, origin = addresses, f"commands of {link.far.node}"
    if not routers and far:
        files = files_of(far.binds, far.name, lab.folder)
        routers, tag = mounted(files, commands.tags).at(link.far.interface)
        origin = f"files that {link.far.node} mounts"
    if not routers:
        addresses, tag = own.at(link.near.interface)
        routers = [_router_beside(address, own) for address in link.near.addresses or addresses]
        origin = f"the network of {link.near}"
    if not routers:
        usual = station(number)
        routers, origin = [ip_interface(f"{usual.router_ipv4}/24"), ip_interface(f"{usual.router_ipv6}/64")], ""
    for router in routers:
        if all(host == router.ip for host in islice(router.network.hosts(), 2)):
            hint = "give it a network with two addresses or more"
            raise lab.error(link.place, f"{link.far} has {router}: no address is left for the tester", hint)
    return Port(number, link, tuple(routers), origin, tag)


def _router_beside(address: Address, own: Configured) -> Address:
    """The router of a network: the gateway of the tester's routes there, else the first other host."""
    gateways = [gateway for gateway in own.gateways if gateway in address.network]
    others = (host for host in islice(address.network.hosts(), 2) if host != address.ip)
    found = next(iter([*gateways, *others]), address.ip)
    return ip_interface(f"{found}/{address.network.prefixlen}")
