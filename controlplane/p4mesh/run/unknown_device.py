"""The set-up of ``--interfaces`` without a topology: a device that no file describes, at interfaces of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from p4mesh.errors import UsageError
from p4mesh.methods.options.parameters import shortened
from p4mesh.network.borrowed import own_names
from p4mesh.tester.stations import station
from p4mesh.topology import Topology
from p4mesh.topology.loader import parse_topology

SWITCH = "switch"
_LINKS = Path("/sys/class/net")
_MEGABIT = 1_000_000


def topology_at(interfaces: Sequence[str], device: str) -> Topology:
    """A switch or router with as many ports as there are interfaces, each of the rate that the link has.

    A router is asked for at the addresses of RFC 2544 C.2.2 and RFC 5180 5.2. Raises UsageError for an interface whose
    link says no rate.
    """
    option = f"--interfaces {shortened(','.join(interfaces))}"
    if len(interfaces) < 2:
        raise UsageError(f"{option}: one port cannot send through a device", hint="name two interfaces or more")
    own = own_names(dict(enumerate(interfaces)))
    rates = [_rate_bps(own[place], option) for place in range(len(interfaces))]
    ports = [{"numbers": str(number), "rate_bps": rate} for number, rate in enumerate(rates, start=1)]
    names = [{"interface": name} for name in interfaces]
    count = len(interfaces)
    found = {
        "name": "-".join(["unknown", device, *(name.lower() for name in interfaces)])[:60],
        "description": f"A {device} that no file describes, at {', '.join(interfaces)} of this machine",
        "tester": {"ports": [port | name for port, name in zip(ports, names, strict=True)]},
        "nodes": [{"name": "dut", **_device(device, count), "ports": ports}],
        "links": [{"from": f"tester:1-{count}", "to": f"dut:1-{count}"}],
    }
    return parse_topology(option, yaml.safe_dump(found, sort_keys=False))


def _device(device: str, count: int) -> Mapping[str, Any]:
    if device == SWITCH:
        return {"device": "ethernet_switch"}
    hosts = ((number, station(number)) for number in range(1, count + 1))
    interfaces = [
        {
            "port": number,
            "mac": f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}",
            "addresses": [f"{here.router_ipv4}/24", f"{here.router_ipv6}/64"],
        }
        for number, here in hosts
    ]
    return {"device": "router", "interfaces": interfaces}


def _rate_bps(interface: str, option: str) -> int:
    folder = _LINKS / interface
    if not folder.is_dir():
        raise UsageError(f"{option}: no interface '{interface}'", hint="ip link shows those that exist")
    try:
        megabits = int((folder / "speed").read_text(encoding="ascii"))
    except (OSError, ValueError):
        megabits = 0
    if megabits <= 0:
        raise UsageError(
            f"{option}: the link of '{interface}' says no rate",
            hint="connect it and switch it on, or name the rate in a topology (rate_bps)",
        )
    return megabits * _MEGABIT
