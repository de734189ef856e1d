"""``p4mesh clab FILE``: writes the files of the tester in a container lab, and says what the lab needs for it."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from p4mesh.causes import file_hint
from p4mesh.cli.new_files import write_new
from p4mesh.cli.output import say
from p4mesh.containerlab.set_up import RUN, RUNNING, SERVING, TOPOLOGY, SetUp, set_up
from p4mesh.containerlab.tester_node import Port
from p4mesh.errors import EXIT_OK, LabFileError


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Write both files; none that exists is touched. Raises LabFileError."""
    path = Path(arguments.file)
    folder = Path(arguments.out or path.with_name(f"p4mesh-{path.name.partition('.')[0]}"))
    made = set_up(path, arguments.node, arguments.device, folder, os.environ)
    files = {folder / TOPOLOGY: made.topology, folder / RUN: made.run}
    for file in files:
        if file.exists():
            raise LabFileError(f"{file}: exists, and is left as it is", hint="name another folder with --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabFileError(f"{folder}: {error.strerror}", hint=file_hint(error.errno)) from None
    for file, text in files.items():
        write_new(file, text, LabFileError)
    say(json.dumps(_data(made, list(files)), indent=1) if arguments.json else _text(made, list(files), path))
    return EXIT_OK


def _data(made: SetUp, files: Sequence[Path]) -> dict[str, object]:
    return {
        "files": [str(file) for file in files],
        "tester": made.tester.node.name,
        "container": made.container,
        "ports": [
            {
                "port": port.number,
                "interface": port.interface,
                "link": port.link.type,
                "to": str(port.link.far),
                "mtu": port.link.mtu,
                "addresses": [str(router) for router in port.routers] if made.routed else [],
                "addresses_from": port.origin,
            }
            for port in made.tester.ports
        ],
        "left_out": {link.near.interface: reason for link, reason in made.tester.left_out},
        "addresses_to_remove": list(made.tester.own_addresses),
        "node": made.node,
        "command_of_a_run": RUNNING,
    }


def _text(made: SetUp, files: Sequence[Path], path: Path) -> str:
    tester, name = made.tester, made.tester.node.name
    lines = [*(f"wrote {file}" for file in files), "", f"Ports of {name}"]
    lines += [f"  {port.number}  {_port(port, routed=made.routed)}" for port in tester.ports]
    lines += [f"  {link.near.interface} is none: {reason}" for link, reason in tester.left_out]
    if made.routed and not all(port.origin for port in tester.ports):
        lines.append("  Chosen addresses: give them to the routers, or write those that they have into the topology.")
    lines += ["", f"In {path.name}, below topology.nodes; the links of {name} stay as they are:"]
    lines += [f"    {line}" for line in made.node.splitlines()]
    lines.append(f"  with '{RUNNING}' in place of '{SERVING}' for a run at once")
    if tester.own_addresses:
        lines += [f"  without the commands that give it {', '.join(tester.own_addresses)}: stations have the addresses"]
    return "\n".join(
        [
            *lines,
            "",
            "The image: docker build --file Containerfile --tag p4mesh . (docs/INSTALL.md). Then:",
            f"  containerlab deploy --topo {path}",
            f"  docker logs --follow {made.container}",
            f"  ip netns exec {made.container} python SCRIPT    (snappi: http://127.0.0.1:8443, ports"
            f" {', '.join(port.interface for port in tester.ports)})",
        ]
    )


def _port(port: Port, *, routed: bool) -> str:
    """A port in words: its link, and the addresses that it asks for."""
    link = f"{port.interface} to {port.link.far}, {port.link.type} of MTU {port.link.mtu}"
    if not routed:
        return link
    origin = f"from {port.origin}" if port.origin else "chosen"
    return f"{link}, router {', '.join(map(str, port.routers))} ({origin})"
