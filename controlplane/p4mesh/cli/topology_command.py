"""``p4mesh topology``: validates a topology file, or draws it."""

from __future__ import annotations

import argparse
import json
from typing import Any

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK
from p4mesh.run.router_addresses import strange_addresses
from p4mesh.tester.stations import stations_of
from p4mesh.topology.loader import load_topology
from p4mesh.topology.model import Topology

_ROUTING = ("p4", "router")


def check(arguments: argparse.Namespace, _: object = None) -> int:
    """Say what is in a valid file; raises TopologyError for any other one."""
    topology = load_topology(arguments.file)
    from p4mesh.run.preparation import check_settings, commands_in

    check_settings(topology)
    commands = commands_in(topology)
    if arguments.json:
        named = [{"test": test, "parameter": name, "command": command} for test, name, command in commands]
        say(json.dumps({**_data(topology), "commands": named}, indent=1))
        return EXIT_OK
    devices = ", ".join(f"{device.name} ({device.device}, {len(device.ports)} ports)" for device in topology.devices)
    say(
        f"{arguments.file}: valid: '{topology.name}', {len(topology.tester_ports)} tester ports, "
        f"{len(topology.links)} links, devices: {devices or 'none'}"
    )
    say("\n".join(station_lines(topology)))
    for _, problem, asked in strange_addresses(topology):
        say(f"  no routed test can run: {problem}; give the interface {asked}")
    for test, name, command in commands:
        say(f"  runs a command of this machine, with --allow-hooks only: tests.{test}: {name}: {json.dumps(command)}")
    return EXIT_OK


def station_lines(topology: Topology) -> list[str]:
    """The stations, which a P4 program that asks for nothing must know, with the routers that they ask for."""
    routed = any(device.device in _ROUTING for device in topology.devices)
    stations = stations_of(topology)
    return [
        f"  tester:{port.number} {port.interface or port.name}: station {_mac(here.mac)}, {here.ipv4}, {here.ipv6}"
        + (f"; router {port.router_mac or 'is asked for'} at {here.router_ipv4}, {here.router_ipv6}" if routed else "")
        for port in topology.tester_ports
        for here in (stations[port.number],)
    ]


def _mac(address: bytes) -> str:
    return address.hex(":")


def _data(topology: Topology) -> dict[str, Any]:
    return {
        "file": topology.source,
        "topology": topology.name,
        "tester_ports": len(topology.tester_ports),
        "links": len(topology.links),
        "stations": [
            {
                "port": port.number,
                "mac": _mac(here.mac),
                "ipv4": str(here.ipv4),
                "ipv6": str(here.ipv6),
                "router_mac": port.router_mac or None,
            }
            for port in topology.tester_ports
            for here in (stations_of(topology)[port.number],)
        ],
        "devices": [
            {"name": device.name, "device": device.device, "ports": len(device.ports)} for device in topology.devices
        ],
    }


def draw(arguments: argparse.Namespace, _: object = None) -> int:
    """Print the drawing."""
    from p4mesh.topology import drawing

    drawn = drawing.draw(load_topology(arguments.file)).removesuffix("\n")
    say(json.dumps({"file": arguments.file, "svg": drawn}) if arguments.json else drawn)
    return EXIT_OK
