"""What a node may say, by device model, and the P4 programs that a node of device ``p4`` can run."""

from __future__ import annotations

import json
import re
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from p4mesh.errors import TopologyError
from p4mesh.topology.schema import schema
from p4mesh.topology.yaml_source import YamlSource

P4_DEVICE = "p4"
ROUTER = "router"
COMPILED = Path(__file__).resolve().parents[3] / "p4src" / "compiled"
_JSON = ".json"
_TESTER_PROGRAM = "p4mesh"
_NODE = frozenset({"name", "device", "ports"})
_COMMON = frozenset({"latency_ns", "reset"})
_ONLY = {
    "tap": frozenset({"monitor_first", "monitor_second"}),
    P4_DEVICE: frozenset({"program", "timestamp_tick_ps", "groups", "entries"}),
    ROUTER: frozenset({"interfaces", "routes", "neighbours", "static_neighbours", "snmp_community"}),
}
"""Keys of one model alone; an Ethernet switch has all others."""
_ALSO = {ROUTER: frozenset({"lookup"})}
"""Keys that a model has in common with an Ethernet switch."""


def keys_of(device: str) -> frozenset[str]:
    """Return the keys that a node of a device model may have."""
    every = frozenset(schema()["properties"]["nodes"]["items"]["properties"])
    own = _ONLY.get(device, every - frozenset().union(*_ONLY.values()))
    return own | _ALSO.get(device, frozenset()) | _COMMON | _NODE


def check_keys(source: YamlSource, path: tuple[str | int, ...], device: str, model: dict[str, Any]) -> None:
    """Raise TopologyError for a key of another device model, a missing or an unknown program."""
    for key in model:
        if key not in keys_of(device):
            owner = next((owner for owner, keys in _ONLY.items() if key in keys), "")
            valid = ", ".join(sorted(keys_of(device) - _NODE))
            hint = f"valid: {valid}" if device in _ONLY else f"{key} belongs to nodes of device {owner}"
            raise TopologyError(f"{source.where((*path, key))}: a node of device {device} has no {key}", hint=hint)
    if device == ROUTER and "interfaces" not in model:
        place = source.where(path)
        raise TopologyError(f"{place}: a node of device {device} needs interfaces", hint="give port, mac and addresses")
    if device == P4_DEVICE:
        valid = f"programs in p4src/compiled: {', '.join(programs()) or 'none'}"
        if "program" not in model:
            raise TopologyError(f"{source.where(path)}: a node of device {device} needs a program", hint=valid)
        if not _is_file(model["program"]) and model["program"] not in programs():
            place = source.where((*path, "program"))
            raise TopologyError(f"{place}: no program '{model['program']}'", hint=valid)
        _check_numbers(source, (*path, "entries"), model.get("entries", []))


def resolve_program(source: YamlSource, path: tuple[str | int, ...], model: dict[str, Any]) -> dict[str, Any]:
    """Return a model whose program, where that is a file, has its place beside the topology file."""
    if not _is_file(model.get("program", "")):
        return model
    place = (Path(source.name).parent / model["program"]).resolve()
    where = source.where((*path, "program"))
    try:
        loaded = json.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise TopologyError(f"{where}: {place}: {error.strerror}", hint="compile it with p4c-bm2-ss") from None
    except ValueError:
        raise TopologyError(f"{where}: {place} is not JSON", hint="compile the program with p4c-bm2-ss") from None
    if not isinstance(loaded, dict):
        raise TopologyError(f"{where}: {place} is no P4 program", hint="compile the program with p4c-bm2-ss")
    return {**model, "program": str(place)}


def _is_file(program: str) -> bool:
    return program.endswith(_JSON)


def p4_number(text: str) -> str:
    """Return a value of a P4 entry as decimal or hexadecimal number; raise ValueError for one that is no address."""
    if re.fullmatch("[0-9]+|0x[0-9a-fA-F]+", text):
        return text
    if re.fullmatch("[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", text):
        return "0x" + text.replace(":", "")
    return "0x" + ip_address(text).packed.hex()


def _check_numbers(source: YamlSource, path: tuple[str | int, ...], value: Any) -> None:
    """Check the texts in keys and parameters of entries; the names in them are the program's."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in ("table", "action"):
                _check_numbers(source, (*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_numbers(source, (*path, index), item)
    elif isinstance(value, str):
        try:
            p4_number(value)
        except ValueError:
            raise TopologyError(
                f"{source.where(path)}: '{value}' is not valid",
                hint='valid: a number such as 7 or "0x02f4bc000001", a MAC, an IPv4 or an IPv6 address',
            ) from None


def programs() -> tuple[str, ...]:
    """Return the compiled programs that can be a device; the tester's own is none of them."""
    manifest = json.loads((COMPILED / "manifest.json").read_text(encoding="utf-8"))
    return tuple(sorted(name for name in manifest if name != _TESTER_PROGRAM))


def program_json(name: str) -> dict[str, Any]:
    """Return p4c's output for a program, of p4src/compiled or in a file of its own."""
    place = Path(name) if _is_file(name) else COMPILED / f"{name}{_JSON}"
    loaded: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return loaded
