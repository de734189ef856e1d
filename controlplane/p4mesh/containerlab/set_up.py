"""From a lab file to the texts of a topology, of a run file and of the node that the lab needs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import yaml

from p4mesh.config_files.words import word_of
from p4mesh.containerlab.lab_file import Lab, parse_lab
from p4mesh.containerlab.lab_text import read_lab_text
from p4mesh.containerlab.tester_node import (
    CABLE,
    IMAGE,
    ROUTER,
    SWITCH,
    Port,
    TesterNode,
    find_tester,
    has_image,
    tester_of,
)
from p4mesh.errors import LabFileError, P4MeshError
from p4mesh.run.options import RunOptions
from p4mesh.run.run_files import plan_file
from p4mesh.run_file.reader import parse_run_file
from p4mesh.topology.loader import parse_topology

TOPOLOGY, RUN = "topology.yaml", "run.yaml"
_RATE_BPS = 10_000_000
_SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
"""RFC 2544 9.1."""
_HEADER_AND_FCS_BYTES = 18
_MORE_OF_IPV6_BYTES = 20
_WORK, _INSIDE = "/work", "lab"
"""Folder in which commands of the image begin, and the one of the files in it."""
_P4MESH = "/opt/p4mesh/bin/p4mesh"
SERVING = f"otg --target live --topology {_INSIDE}/{TOPOLOGY}"
RUNNING = f"run {_INSIDE}/{RUN} --out {_INSIDE}/run"
"""Commands of the tester's container, either of which it can have."""
_RATE_NOTE = "# Cables of a lab have no rate: raise rate_bps, in both places, as far as the machine keeps up.\n"
_RUN_NOTE = "# RFC 2544 between the ports. For a first look: p4mesh run FILE --sizes 512 --set duration_ms=1000\n"
_WIDTH = 1000
_TESTS = ("throughput", "latency", "frame_loss", "back_to_back")


@dataclass(frozen=True)
class SetUp:
    """All that P4Mesh makes of a lab."""

    lab: Lab
    tester: TesterNode
    topology: str
    run: str
    node: str
    """YAML: the node as the lab has to have it, with the API as its command."""
    routed: bool

    @property
    def container(self) -> str:
        """Name of the tester's container, which its network namespace has, too."""
        return f"{self.lab.container_prefix}{self.tester.node.name}"


def set_up(path: Path, node: str | None, device: str | None, folder: Path, environment: Mapping[str, str]) -> SetUp:
    """Make the files of a lab, to be written into a folder; raises LabFileError."""
    lab = parse_lab(str(path), read_lab_text(str(path)), environment)
    tester = tester_of(lab, find_tester(lab, node))
    if device and tester.behind == CABLE:
        raise LabFileError(f"--device {device}: links join ports of the tester", hint="leave --device out")
    behind = device or tester.behind
    if behind != ROUTER:
        # Frames go to no router in a VLAN.
        tester = replace(tester, ports=tuple(replace(port, tag=0) for port in tester.ports))
    name = word_of(lab.name, "lab")
    topology = _topology_text(lab, tester, name, behind)
    parameters = _parameters(lab, tester) if behind == ROUTER else {}
    head = {"name": name, "topology": TOPOLOGY, "target": "live", "sizes": _sizes(lab, tester.ports, parameters)}
    run = _RUN_NOTE + _yaml(head | {"parameters": parameters, "tests": [f"rfc2544.{test}" for test in _TESTS]})
    try:
        plan_file(parse_run_file(RUN, run), RunOptions(RUN, topology=parse_topology(TOPOLOGY, topology)))
    except P4MeshError as error:
        raise LabFileError(f"{path}: no run with these ports: {error.message}", hint=error.hint) from None
    # Containerlab starts a container before it makes the links.
    waiting = " -a ".join(f"-e /sys/class/net/{port.link.near.interface}" for port in tester.ports)
    tagging = "".join(
        f"ip link add link {port.link.near.interface} name {port.interface} type vlan id {port.tag};"
        f" ip link set {port.interface} up; "
        for port in tester.ports
        if port.tag
    )
    made = {
        "kind": "linux",
        "image": tester.node.image if has_image(tester.node) else IMAGE,
        "entrypoint": "sh",
        "cmd": f'-c "until test {waiting}; do sleep 1; done; {tagging}exec {_P4MESH} {SERVING}"',
        "binds": [f"{os.path.relpath(folder, path.parent)}:{_WORK}/{_INSIDE}"],
    }
    return SetUp(lab, tester, topology, run, _yaml({tester.node.name: made}), behind == ROUTER)


def _parameters(lab: Lab, tester: TesterNode) -> dict[str, Any]:
    """Parameters of tests of a router; raises LabFileError where no frame can be for all ports."""
    found: dict[str, Any] = {"routed": True}
    for version, others in ((4, {}), (6, {"frame_format": "ipv6"})):
        if all(any(router.version == version for router in port.routers) for port in tester.ports):
            found |= others
            break
    else:
        has = ", ".join(f"{port.link.far} IPv{port.routers[0].version}" for port in tester.ports)
        raise lab.error(tester.ports[0].link.place, f"no IP version that all ports have: {has}", "give all of them one")
    for near, port in combinations(tester.ports, 2):
        for here, there in product(near.routers, port.routers):
            if here.version == there.version and here.network.overlaps(there.network):
                problem = f"{port.link.far} has {there}, and {near.link.far} {here}: no router is between them"
                raise lab.error(port.link.place, problem, "give each a network of its own, or add --device switch")
    return found


def _sizes(lab: Lab, ports: Sequence[Port], parameters: Mapping[str, Any]) -> list[int]:
    """Frame sizes of the RFC that the headers and every link allow, with the smallest and the largest that they do."""
    least = _SIZES[0] + _MORE_OF_IPV6_BYTES * ("frame_format" in parameters)
    narrow = min(ports, key=lambda port: port.link.mtu).link
    most = min(_SIZES[-1], narrow.mtu + _HEADER_AND_FCS_BYTES)
    if most < least:
        hint = f"an MTU from {least - _HEADER_AND_FCS_BYTES}, for frames of {least} bytes"
        raise lab.error(narrow.place, f"no frame fits into an MTU of {narrow.mtu}", hint)
    return sorted({least, *(size for size in _SIZES if least < size < most), most})


def _topology_text(lab: Lab, tester: TesterNode, name: str, behind: str) -> str:
    """A topology: the ports, and one device that stands for all that is at their links."""
    count = len(tester.ports)
    ports = {"numbers": f"1-{count}", "rate_bps": _RATE_BPS}
    interfaces = [port.interface for port in tester.ports]
    found: dict[str, Any] = {
        "name": name,
        "description": f"{count} ports of {tester.node.name} in the container lab {lab.name}",
        "tester": {"ports": [ports | {"interface": ",".join(interfaces)}]},
        "links": [{"from": f"tester:1-{count}", "to": f"lab:1-{count}"}],
    }
    if behind == CABLE:
        found["links"] = [{"from": f"tester:{near}", "to": f"tester:{near + 1}"} for near in range(1, count, 2)]
    elif behind == SWITCH:
        found["nodes"] = [{"name": "lab", "device": "ethernet_switch", "ports": [ports]}]
    else:
        routers = [
            {
                "port": port.number,
                "mac": f"02:00:00:00:{port.number >> 8:02x}:{port.number & 255:02x}",
                "addresses": [str(router) for router in port.routers],
            }
            for port in tester.ports
        ]
        found["nodes"] = [{"name": "lab", "device": "router", "ports": [ports], "interfaces": routers}]
    return _RATE_NOTE + _yaml(found)


def _yaml(data: Mapping[str, Any]) -> str:
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=_WIDTH)
