"""Topology to the JSON document of the embedded engine (``engine/sim``, ``NetworkConfig``).

The engine counts picoseconds and parts per billion; people write nanoseconds, seconds and
parts per million. Units are in the names, so that one rule translates them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from p4mesh.topology.device_keys import P4_DEVICE, p4_number, program_json
from p4mesh.topology.model import TESTER, Device, DevicePort, Link, PortRef, TesterPort, Topology

_PS_PER_S = 10**12


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
        "links": [_link(link) for link in topology.links],
    }


def _device(device: Device) -> dict[str, Any]:
    model = dict(device.model)
    reset = _translated(model.pop("reset", {}))
    look_ahead_bytes = model.pop("look_ahead_bytes", None)
    if look_ahead_bytes is not None:
        model["forwarding"] = {"cut_through": {"lookahead_bytes": look_ahead_bytes}}
    return {
        "name": device.name,
        "device": device.device,
        "ports": [{**_line(port), "queue_frames": port.queue_frames} for port in device.ports],
        "model": _p4_model(model) if device.device == P4_DEVICE else _translated(model),
        "reset": reset,
    }


def _p4_model(model: dict[str, Any]) -> dict[str, Any]:
    """Return the model of a P4 program: names in ``entries`` belong to the program and stay."""
    others = {key: value for key, value in model.items() if key not in ("program", "latency_ns", "entries")}
    entries = [
        {
            **entry,
            "key": {name: _numbers(match) for name, match in entry["key"].items()},
            "params": _numbers(entry.get("params", [])),
        }
        for entry in model.get("entries", [])
    ]
    return {
        **others,
        "entries": entries,
        "program": program_json(model["program"]),
        "latency_ps": _ps(model.get("latency_ns", 0)),
    }


def _numbers(value: Any) -> Any:
    """Return the values of an entry with addresses as numbers."""
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return p4_number(value) if isinstance(value, str) else value


NAMES = {
    "entries": "size",
    "capacity_fps": "rate_fps",
    "service_min_ns": "min_ps",
    "service_base_ns": "base_ps",
    "service_per_byte_ns": "byte_ps",
    "service_by_size": "service",
    "frame_bytes": "wire_bytes",
    "time_ns": "ps",
}
"""Names that differ by more than their unit."""


def _translated(value: Any) -> Any:
    """Return YAML data for the engine: ``*_ns`` and ``*_s`` become ``*_ps``, some names differ."""
    if isinstance(value, list):
        return [_translated(item) for item in value]
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, item in value.items():
        if key.endswith("_ns"):
            result[NAMES.get(str(key), f"{key[:-3]}_ps")] = _ps(item)
        elif key.endswith("_s"):
            result[f"{key[:-2]}_ps"] = _exact(item, _PS_PER_S)
        else:
            result[NAMES.get(str(key), str(key))] = _translated(item)
    return result


def _line(port: TesterPort | DevicePort) -> dict[str, Any]:
    return {
        "id": port.number,
        "rate_bps": port.rate_bps,
        "inter_frame_gap_bits": port.ifg_bits,
        "clock_ppb": _exact(port.clock_offset_ppm, 1000),
        **_translated(port.options),
    }


def _link(link: Link) -> dict[str, Any]:
    errors = {"bit_errors_per_1e15": link.bit_errors_per_1e15} if link.bit_errors_per_1e15 else {}
    outages = {"outages": [_translated(outage) for outage in link.outages]} if link.outages else {}
    ends = {"a": _end(link.ends[0]), "b": _end(link.ends[1])}
    return {**ends, "delay_ps": _ps(link.latency_ns), **errors, **outages}


def _end(end: PortRef) -> dict[str, Any]:
    return {"node": end.node, "port": end.port}


def _ps(nanoseconds: float) -> int:
    return _exact(nanoseconds, 1000)


def _exact(value: float, factor: int) -> int:
    """Return ``value * factor`` from the decimal that was written, not from its binary neighbour."""
    return round(Fraction(str(value)) * factor)
