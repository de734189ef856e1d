"""Topology to the JSON document of the embedded engine (``engine/sim``, ``NetworkConfig``).

The engine counts picoseconds, gap bits and parts per billion; people write nanoseconds, gap bytes
and parts per million.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from p4mesh.topology.model import TESTER, Device, DevicePort, PortRef, TesterPort, Topology


@dataclass(frozen=True)
class SpecialPorts:
    """Port numbers that the P4 program gives a meaning to."""

    loop: int
    cpu: int
    drop: int


def engine_config(topology: Topology, special: SpecialPorts) -> dict[str, Any]:
    """Return the network that the engine builds for ``topology``, as JSON data."""
    return {
        "seed": topology.seed,
        "tester": {
            "name": TESTER,
            "ports": [_line(port) for port in topology.tester_ports],
            "loop": {
                "port": special.loop,
                "rate_bps": topology.loop.rate_bps,
                "latency_ps": _ps(topology.loop.latency_ns),
            },
            "cpu_port": special.cpu,
            "drop_port": special.drop,
            "timestamp_tick_ps": topology.clock_tick_ps,
        },
        "devices": [_device(device) for device in topology.devices],
        "links": [
            {"a": _end(link.ends[0]), "b": _end(link.ends[1]), "delay_ps": _ps(link.latency_ns)}
            for link in topology.links
        ],
    }


def _device(device: Device) -> dict[str, Any]:
    return {
        "name": device.name,
        "device": device.device,
        "ports": [{**_line(port), "queue_frames": port.queue_frames} for port in device.ports],
        "model": _ethernet_switch(device.model),
    }


def _ethernet_switch(model: dict[str, Any]) -> dict[str, Any]:
    translated: dict[str, Any] = {
        key: model[key] for key in ("learning", "loss_ppb", "min_frame_bytes", "max_frame_bytes") if key in model
    }
    if model.get("forwarding") == "cut_through":
        translated["forwarding"] = {"cut_through": {"lookahead_bytes": model["look_ahead_bytes"]}}
    if "latency_ns" in model:
        translated["latency_ps"] = _ps(model["latency_ns"])
    if "mac_table" in model:
        translated["mac_table"] = _mac_table(model["mac_table"])
    if "lookup" in model:
        lookup = dict(model["lookup"])
        translated["lookup"] = {"rate_fps": lookup.pop("capacity_fps"), **lookup}
    if "broadcast" in model:
        translated["broadcast"] = _broadcast(model["broadcast"])
    return translated


def _mac_table(model: dict[str, Any]) -> dict[str, Any]:
    translated = {"size": model["entries"]}
    if "ways" in model:
        translated["ways"] = model["ways"]
    if "aging_s" in model:
        translated["aging_ps"] = _exact(model["aging_s"], 10**12)
    return translated


def _broadcast(model: dict[str, Any]) -> dict[str, Any]:
    names = {"service_min_ns": "min_ps", "service_base_ns": "base_ps", "service_per_byte_ns": "byte_ps"}
    translated = {names[key]: _ps(value) for key, value in model.items() if key in names}
    return {**translated, **{key: value for key, value in model.items() if key not in names}}


def _line(port: TesterPort | DevicePort) -> dict[str, Any]:
    return {
        "id": port.number,
        "rate_bps": port.rate_bps,
        "inter_frame_gap_bits": 8 * port.ifg_bytes,
        "clock_ppb": _exact(port.clock_offset_ppm, 1000),
    }


def _end(end: PortRef) -> dict[str, Any]:
    return {"node": end.node, "port": end.port}


def _ps(nanoseconds: float) -> int:
    return _exact(nanoseconds, 1000)


def _exact(value: float, factor: int) -> int:
    """Return ``value * factor`` from the decimal that was written, not from its binary neighbour."""
    return round(Fraction(str(value)) * factor)
