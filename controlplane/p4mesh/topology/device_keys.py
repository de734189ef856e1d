"""What a node may say, by device model, and the P4 programs that a node of device ``p4`` can run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from p4mesh.errors import TopologyError
from p4mesh.topology.yaml_source import YamlSource

P4_DEVICE = "p4"
COMPILED = Path(__file__).resolve().parents[3] / "p4src" / "compiled"
_TESTER_PROGRAM = "p4mesh"
_COMMON = frozenset({"latency_ns"})
_ONLY = {
    "tap": frozenset({"monitor_first", "monitor_second"}),
    P4_DEVICE: frozenset({"program", "timestamp_tick_ps", "groups", "entries"}),
}
"""Keys of one model alone; an Ethernet switch has all others."""


def check_keys(source: YamlSource, path: tuple[str | int, ...], device: str, model: dict[str, Any]) -> None:
    """Raise TopologyError for a key of another device model, a missing or an unknown program."""
    foreign = {key: owner for owner, keys in _ONLY.items() for key in keys if owner != device}
    for key in model:
        if device in _ONLY and key not in _ONLY[device] | _COMMON:
            valid = ", ".join(sorted(_ONLY[device] | _COMMON))
            raise TopologyError(
                f"{source.where((*path, key))}: a node of device {device} has no {key}", hint=f"valid: {valid}"
            )
        if key in foreign:
            raise TopologyError(
                f"{source.where((*path, key))}: a node of device {device} has no {key}",
                hint=f"{key} belongs to nodes of device {foreign[key]}",
            )
    if device == P4_DEVICE:
        valid = f"programs in p4src/compiled: {', '.join(programs()) or 'none'}"
        if "program" not in model:
            raise TopologyError(f"{source.where(path)}: a node of device {device} needs a program", hint=valid)
        if model["program"] not in programs():
            place = source.where((*path, "program"))
            raise TopologyError(f"{place}: no program '{model['program']}'", hint=valid)


def programs() -> tuple[str, ...]:
    """Return the compiled programs that can be a device; the tester's own is none of them."""
    return tuple(
        path.stem for path in sorted(COMPILED.glob("*.json")) if path.stem not in (_TESTER_PROGRAM, "manifest")
    )


def program_json(name: str) -> dict[str, Any]:
    """Return p4c's output for a program."""
    loaded: dict[str, Any] = json.loads((COMPILED / f"{name}.json").read_text(encoding="utf-8"))
    return loaded
