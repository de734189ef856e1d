"""Builds the engine's network of a topology, and maps the engine's errors to places of the topology file.

The schema knows types and ranges; the models in the engine know the relations between keys, such as ports that an entry
names, or the ways of a table. Keys are the same on both sides.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from p4mesh.config_files.yaml_source import Path, YamlSource
from p4mesh.errors import TopologyError
from p4mesh.topology.engine_config import SpecialPorts, engine_config
from p4mesh.topology.model import Topology
from p4mesh.topology.schema import TOPOLOGY_FILE

if TYPE_CHECKING:
    from p4mesh import _engine

_REFERENCE = "docs/DEVICES.md has the keys of every model"
_LISTS_OF_GROUPS = (("links",), ("tester", "ports"), ("nodes", int, "ports"))
"""Lists that the engine's document has without groups: an index in them is not an index in the file."""


_ANY_PORTS = SpecialPorts(loop=65_533, cpu=65_534, drop=65_535)
"""Ports for a network without a program."""


def build_network(topology: Topology, special: SpecialPorts = _ANY_PORTS) -> _engine.SimNetwork:
    """Build the network of a topology; raise TopologyError where its models do not fit together."""
    from p4mesh import _engine  # The schema has been made with it.

    try:
        return _engine.SimNetwork(json.dumps(engine_config(topology, special)))
    except _engine.ConfigError as error:
        raise _topology_error(topology, error.place, error.problem, error.valid) from None


def _topology_error(topology: Topology, place: Path, problem: str, valid: str | None) -> TopologyError:
    """An error at a place of the engine's document as one that points into the file of the topology."""
    source = YamlSource(topology.source, topology.text, TOPOLOGY_FILE)
    hint = _REFERENCE if valid is None else f"valid: {valid or 'none'}"
    path = _in_file(source.data, place)
    where = source.where(path) if path else topology.source
    return TopologyError(f"{where}: {problem}", hint=hint)


def _in_file(data: Any, place: Path) -> Path:
    """The part of the place that exists in the file."""
    for start in _LISTS_OF_GROUPS:
        steps = zip(start, place, strict=False)
        if len(place) >= len(start) and all(step == found or step is type(found) for step, found in steps):
            place = place[: len(start)]
    for length, step in enumerate(place):
        known = step < len(data) if isinstance(data, list) and isinstance(step, int) else step in data
        if not known:
            return place[:length]
        data = data[step]
    return place
