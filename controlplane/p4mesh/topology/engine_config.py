"""Topology to the JSON document of the embedded engine (``engine/sim``, ``NetworkConfig``).

Both have the same keys. The structure differs: a file has groups of ports and of links, and names of programs; the
document has every port and every link by itself, and the programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from p4mesh.topology.device_keys import P4_DEVICE, program_json
from p4mesh.topology.model import TESTER, Device, DevicePort, Link, PortRef, TesterPort, Topology


@dataclass(frozen=True)
class SpecialPorts:
    """Port numbers that the P4 program gives a meaning to."""

    loop: int
    cpu: int
    drop: int


def engine_config(topology: Topology, special: SpecialPorts) -> dict[str, Any]:
    """The network that the engine builds for ``topology``, as JSON data."""
    return {
        "seed": topology.seed,
        "tester": {
            "name": TESTER,
            "switches": topology.switches,
            "ports": [_port(port) for port in topology.tester_ports],
            "loop": {
                "port": special.loop,
                "rate_bps": topology.loop.rate_bps,
                "latency_ns": topology.loop.latency_ns,
            },
            "cpu_port": special.cpu,
            "drop_port": special.drop,
            "clock_tick_ps": topology.clock_tick_ps,
        },
        "nodes": [_node(device) for device in topology.devices],
        "links": [_link(link) for link in topology.links],
    }


def _node(device: Device) -> dict[str, Any]:
    ports = [{**_port(port), "queue_frames": port.queue_frames} for port in device.ports]
    node = {"name": device.name, "device": device.device, "ports": ports, **device.model}
    return {**node, "program": program_json(node["program"])} if device.device == P4_DEVICE else node


def _port(port: TesterPort | DevicePort) -> dict[str, Any]:
    return {
        "number": port.number,
        "rate_bps": port.rate_bps,
        "ifg_bits": port.ifg_bits,
        "clock_offset_ppm": port.clock_offset_ppm,
        **port.options,
    }


def _link(link: Link) -> dict[str, Any]:
    return {
        "from": _end(link.ends[0]),
        "to": _end(link.ends[1]),
        # A sum of binary fractions may be one of 15 digits; the engine counts picoseconds.
        "latency_ns": round(link.latency_ns + link.line_code_ns, 3) if link.line_code_ns else link.latency_ns,
        "bit_errors_per_1e15": link.bit_errors_per_1e15,
        "outages": list(link.outages),
    }


def _end(end: PortRef) -> dict[str, Any]:
    return {"node": end.node, "port": end.port}
