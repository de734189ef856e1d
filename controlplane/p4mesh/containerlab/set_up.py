"""From a lab file to the texts of a topology, of a run file and of the node that the lab needs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

from p4mesh.config_files.words import word_of
from p4mesh.containerlab.lab_file import Lab, parse_lab
from p4mesh.containerlab.lab_text import read_lab_text
from p4mesh.containerlab.tester_node import IMAGE, Port, TesterNode, find_tester, has_image, tester_of
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
_TESTS = ("throughput", "latency", "frame_loss", "back_to_back")


@dataclass(frozen=True)
class SetUp:
    """All that P4Mesh makes of a lab."""

    lab: Lab
    tester: TesterNode
    topology: str
    run: str
    node: tuple[str, ...]
    """Lines of YAML: the node as the lab has to have it, with the API as its command."""
    routed: bool

    @property
    def container(self) -> str:
        """Name of the tester's container, which its network namespace has, too."""
        return f"{self.lab.container_prefix}{self.tester.node.name}"


def set_up(path: Path, node: str | None, device: str | None, folder: Path, environment: Mapping[str, str]) -> SetUp:
    """Make the files of a lab, to be written into a folder; raises LabFileError."""
    lab = parse_lab(str(path), read_lab_text(str(path)), environment)
    tester = tester_of(lab, find_tester(lab, node))
    routed = device == "router" if device else not tester.is_bridged
    name = word_of(lab.name, "lab")
    topology = _topology_text(lab, tester, name, routed=routed)
    parameters = _parameters(lab, tester, routed=routed)
    run = _run_text(name, _sizes(lab, tester.ports, parameters), parameters)
    try:
        plan_file(parse_run_file(RUN, run), RunOptions(RUN, topology=parse_topology(TOPOLOGY, topology)))
    except P4MeshError as error:
        raise LabFileError(f"{path}: no run with these ports: {error.message}", hint=error.hint) from None
    waiting = " -a ".join(f"-e /sys/class/net/{port.link.near.interface}" for port in tester.ports)
    # Containerlab starts a container before it makes the links.
    command = f'-c "until test {waiting}; do sleep 1; done; exec {_P4MESH} {SERVING}"'
    lines = (
        f"{json.dumps(tester.node.name)}:",
        "  kind: linux",
        f"  image: {json.dumps(tester.node.image) if has_image(tester.node) else IMAGE}",
        "  entrypoint: sh",
        f"  cmd: '{command}'",
        f"  binds: [{json.dumps(f'{os.path.relpath(folder, path.parent)}:{_WORK}/{_INSIDE}')}]",
    )
    return SetUp(lab, tester, topology, run, lines, routed)


def _parameters(lab: Lab, tester: TesterNode, *, routed: bool) -> dict[str, str]:
    """Parameters of the tests; raises LabFileError where no frame can be for all ports."""
    if not routed:
        return {}
    found = {"routed": "true"}
    for version, others in ((4, {}), (6, {"frame_format": "ipv6"})):
        if all(any(router.version == version for router in port.routers) for port in tester.ports):
            found |= others
            break
    else:
        has = ", ".join(f"{port.link.far} IPv{port.routers[0].version}" for port in tester.ports)
        raise lab.error(tester.ports[0].link.place, f"no IP version that all ports have: {has}", "give all of them one")
    for port in tester.ports:
        if port.tag:
            problem = (
                f"{port.link.far} has {port.routers[0]} in VLAN {port.tag}, and stations ask for routers without a tag"
            )
            raise lab.error(
                port.link.place, problem, "give the router an address without a VLAN, or add --device switch"
            )
    for near, port in combinations(tester.ports, 2):
        for here, there in product(near.routers, port.routers):
            if here.version == there.version and here.network.overlaps(there.network):
                problem = f"{port.link.far} has {there}, and {near.link.far} {here}: no router is between them"
                raise lab.error(port.link.place, problem, "give each a network of its own, or add --device switch")
    return found


def _sizes(lab: Lab, ports: Sequence[Port], parameters: Mapping[str, str]) -> list[int]:
    """Frame sizes of the RFC that the headers and every link allow, with the smallest and the largest that they do."""
    least = _SIZES[0] + _MORE_OF_IPV6_BYTES * ("frame_format" in parameters)
    narrow = min(ports, key=lambda port: port.link.mtu).link
    most = min(_SIZES[-1], narrow.mtu + _HEADER_AND_FCS_BYTES)
    if most < least:
        hint = f"an MTU from {least - _HEADER_AND_FCS_BYTES}, for frames of {least} bytes"
        raise lab.error(narrow.place, f"no frame fits into an MTU of {narrow.mtu}", hint)
    return sorted({least, *(size for size in _SIZES if least < size < most), most})


def _topology_text(lab: Lab, tester: TesterNode, name: str, *, routed: bool) -> str:
    """A topology: the ports, and one device that stands for what is at their links."""
    count = len(tester.ports)
    ports = f"numbers: 1-{count}, rate_bps: {_RATE_BPS}"
    interfaces = ",".join(port.link.near.interface for port in tester.ports)
    device = "router" if routed else "ethernet_switch"
    lines = [
        f"# For --target live in the container of {tester.node.name}, in {Path(lab.source.name).name}.",
        "# Cables of a lab have no rate: raise rate_bps, in both places, as far as the machine keeps up.",
        f"name: {name}",
        f"description: {json.dumps(f'{count} ports of {tester.node.name} in the container lab {lab.name}')}",
        "",
        "tester:",
        f'  ports: [{{{ports}, interface: "{interfaces}"}}]',
        "",
        "nodes:",
        "  # All of the lab that is at the links. On sim, one simulated device stands for it.",
        "  - name: lab",
        f"    device: {device}",
        f"    ports: [{{{ports}}}]",
    ]
    if routed:
        lines.append("    interfaces:")
        for port in tester.ports:
            addresses = ", ".join(f'"{router}"' for router in port.routers)
            mac = f"02:00:00:00:{port.number >> 8:02x}:{port.number & 255:02x}"
            lines += [
                f"      # {port.link.far}, from {port.origin}"
                if port.origin
                else f"      # {port.link.far}, chosen here",
                f'      - {{port: {port.number}, mac: "{mac}", addresses: [{addresses}]}}',
            ]
    return "\n".join([*lines, "", f"links: [{{from: tester:1-{count}, to: lab:1-{count}}}]", ""])


def _run_text(name: str, sizes: Sequence[int], parameters: Mapping[str, str]) -> str:
    lines = [
        "# RFC 2544 between the ports. For a first look: p4mesh run FILE --sizes 512 --set duration_ms=1000",
        f"name: {name}",
        f"topology: {TOPOLOGY}",
        "target: live",
        f"sizes: [{', '.join(map(str, sizes))}]",
        *(["parameters:"] if parameters else []),
        *(f"  {key}: {value}" for key, value in parameters.items()),
        "tests:",
        *(f"  - rfc2544.{test}" for test in _TESTS),
    ]
    return "\n".join(lines) + "\n"
