"""What the engine says about a network, in the words and places of the topology file.

The schema knows types and ranges; the models in the engine know what must fit together, such as
ports that an entry names, or the ways of a table. Their messages name places of the engine's document.
"""

from __future__ import annotations

import re
from typing import Any

from p4mesh.errors import TopologyError
from p4mesh.topology.engine_config import NAMES
from p4mesh.topology.model import Topology
from p4mesh.topology.yaml_source import YamlSource

_MESSAGE = re.compile(r"(?P<place>[a-z][\w.\[\]]*): (?P<problem>.*?)(?:; valid: ?(?P<valid>.*))?", re.DOTALL)
_REFERENCE = "docs/DEVICES.md has the keys of every model"
_TIME = re.compile(r"\b(\d+) ps\b")


def topology_error(topology: Topology, message: str) -> TopologyError:
    """Return the engine's message as one that points into the file of the topology."""
    source = YamlSource(topology.source, topology.text)
    match = _MESSAGE.fullmatch(message)
    if match is None:
        return TopologyError(f"{topology.source}: {message}", hint=_REFERENCE)
    path = _path(source.data, [name or int(index) for name, index in re.findall(r"(\w+)|\[(\d+)\]", match["place"])])
    hint = f"valid: {_in_words(match['valid']) or 'none'}" if match["valid"] is not None else _REFERENCE
    return TopologyError(f"{source.where(path)}: {_in_words(match['problem'])}", hint=hint)


def _path(data: Any, parts: list[str | int]) -> tuple[str | int, ...]:
    """Return the path in the file as far as it leads; groups of ports and of links have no numbers of their own."""
    if parts[0] == "devices":
        parts = ["nodes", *(part for part in parts[1:] if part != "model")]
    found: list[str | int] = []
    for part in parts:
        if isinstance(part, int) and found[-1:] in (["links"], ["ports"]) and "vlans" not in found:
            break
        key = next((key for key in _candidates(part) if _has(data, key)), None)
        if key is None:
            continue
        data = data[key]
        found.append(key)
    return tuple(found)


def _candidates(part: str | int) -> list[str | int]:
    if isinstance(part, int):
        return [part]
    base = part.removesuffix("_ps")
    return [part, *(key for key, name in NAMES.items() if name == part), f"{base}_ns", f"{base}_s"]


def _has(data: Any, key: str | int) -> bool:
    if isinstance(key, int):
        return isinstance(data, list) and key < len(data)
    return isinstance(data, dict) and key in data


def _in_words(text: str) -> str:
    for key, name in NAMES.items():
        text = re.sub(rf"\b(\w+)\.{name}\b", rf"\1.{key}", text)
    return _TIME.sub(lambda time: f"{int(time[1]) / 1000:g} ns", text)
