"""Lists the keys of a node by device model, and the P4 programs that a node of device ``p4`` can run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from p4mesh.causes import reading_hint
from p4mesh.config_files.yaml_source import YamlSource
from p4mesh.errors import TopologyError
from p4mesh.regular_files import MOST_PROGRAM_BYTES, read_text
from p4mesh.shipped import shipped
from p4mesh.topology.keys import ON_LINUX
from p4mesh.topology.schema import schema

P4_DEVICE = "p4"
ROUTER = "router"
COMPILED = shipped("p4src") / "compiled"
_JSON = ".json"
_P4INFO = ".p4info.txtpb"
_TESTER_PROGRAMS = ("p4mesh", "p4mesh_payload")
_NODE = frozenset({"name", "device", "ports"})
_SWITCH = "ethernet_switch"
"""It has many keys: the error about a key of another model names that model."""


def keys_of(device: str) -> frozenset[str]:
    """The keys that a node of a device model may have."""
    rules = schema()["properties"]["nodes"]["items"]["properties"]
    known = frozenset(key for key, rule in rules.items() if device in rule.get("models", [device]))
    return known if device in ON_LINUX else known - {"on_linux"}


def check_keys(source: YamlSource, path: tuple[str | int, ...], device: str, model: dict[str, Any]) -> None:
    """Raise TopologyError for a key of another device model, a missing or an unknown program."""
    for key in model:
        if key not in keys_of(device):
            rules = schema()["properties"]["nodes"]["items"]["properties"]
            valid = ", ".join(sorted(keys_of(device) - _NODE))
            owner = rules[key]["models"][0]
            hint = f"{key} belongs to nodes of device {owner}" if device == _SWITCH else f"valid: {valid}"
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


def check_on_linux(source: YamlSource, path: tuple[str | int, ...], device: str, software: str) -> None:
    """Raise TopologyError where the software cannot stand for the device model."""
    valid = ON_LINUX.get(device, ())
    if software not in valid:
        raise TopologyError(
            f"{source.where((*path, 'on_linux'))}: {software} cannot stand for a node of device {device}",
            hint=f"valid: {', '.join(valid)}" if valid else "leave on_linux out: it exists in simulation only",
        )


def resolve_program(source: YamlSource, path: tuple[str | int, ...], model: dict[str, Any]) -> dict[str, Any]:
    """A model with the path of its program resolved against the topology file, where the program is a file."""
    if not _is_file(model.get("program", "")):
        return model
    place = (Path(source.name).parent / model["program"]).resolve()
    where = source.where((*path, "program"))
    try:
        loaded = json.loads(read_text(place, MOST_PROGRAM_BYTES))
    except OSError as error:
        hint = reading_hint(error.errno, "compile it with p4c-bm2-ss, and name what it has written")
        raise TopologyError(f"{where}: {place}: {error.strerror}", hint=hint) from None
    except (ValueError, RecursionError):
        raise TopologyError(f"{where}: {place} is not JSON", hint="compile the program with p4c-bm2-ss") from None
    if not isinstance(loaded, dict):
        raise TopologyError(f"{where}: {place} is not a P4 program", hint="compile the program with p4c-bm2-ss")
    return {**model, "program": str(place)}


def _is_file(program: str) -> bool:
    return program.endswith(_JSON)


def programs() -> tuple[str, ...]:
    """The compiled programs that can be a device; the tester's own programs are not among them."""
    manifest = json.loads((COMPILED / "manifest.json").read_text(encoding="utf-8"))
    return tuple(sorted(name for name in manifest if name not in _TESTER_PROGRAMS))


def program_files(name: str) -> tuple[Path, Path]:
    """P4Info and p4c's output of a program; raises TopologyError where P4Info is missing."""
    program = Path(name) if _is_file(name) else COMPILED / f"{name}{_JSON}"
    p4info = program.with_name(f"{program.name.removesuffix(_JSON)}{_P4INFO}")
    if not p4info.is_file():
        raise TopologyError(
            f"{p4info}: no such file, and a switch of its own needs P4Info of the program",
            hint=f"compile with p4c-bm2-ss --p4runtime-files {p4info.name}",
        )
    return p4info, program


def program_json(name: str) -> dict[str, Any]:
    """Output of p4c for a program, of p4src/compiled or in a file of its own."""
    place = Path(name) if _is_file(name) else COMPILED / f"{name}{_JSON}"
    loaded: dict[str, Any] = json.loads(read_text(place, MOST_PROGRAM_BYTES))
    return loaded
