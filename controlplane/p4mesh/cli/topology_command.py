"""``p4mesh topology``: validates a topology file, or draws it."""

from __future__ import annotations

import argparse

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK
from p4mesh.topology.loader import load_topology


def check(arguments: argparse.Namespace, _: object = None) -> int:
    """Say what is in a valid file; raises TopologyError for any other one."""
    topology = load_topology(arguments.file)
    from p4mesh.run.preparation import check_settings
    from p4mesh.target.sim import SimTarget

    check_settings(topology)
    SimTarget.check(topology)
    devices = ", ".join(f"{device.name} ({device.device}, {len(device.ports)} ports)" for device in topology.devices)
    say(
        f"{arguments.file}: valid: '{topology.name}', {len(topology.tester_ports)} tester ports, "
        f"{len(topology.links)} links, devices: {devices or 'none'}"
    )
    return EXIT_OK


def draw(arguments: argparse.Namespace, _: object = None) -> int:
    """Print the drawing."""
    from p4mesh.topology import drawing

    say(drawing.draw(load_topology(arguments.file)).removesuffix("\n"))
    return EXIT_OK
