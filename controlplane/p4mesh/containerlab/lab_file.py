"""Reads a containerlab file as containerlab does: variables of the environment, merged keys, what nodes share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FolderPath
from typing import Any

import msgspec

from p4mesh.config_files.validation import require_valid
from p4mesh.config_files.yaml_source import FileKind, Path, YamlSource
from p4mesh.containerlab.keys import LabEntry, LinkEntry, NodeEntry, schema
from p4mesh.containerlab.lab_text import FORM
from p4mesh.errors import LabFileError

_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?)([-=])([^}\n]*))?\})")
_MERGE = "<<"
_LAB_NAME = "__lab-name"


@dataclass(frozen=True)
class Node:
    """A node with all that it has from its kind, its group and the defaults."""

    name: str
    kind: str
    image: str
    network_mode: str
    commands: tuple[str, ...]
    """Those that containerlab executes in it."""
    binds: tuple[str, ...]
    """Files and folders that it mounts, as HOST:CONTAINER."""
    labels: Mapping[str, Any]


@dataclass(frozen=True)
class Lab:
    """A containerlab file."""

    source: YamlSource
    name: str
    container_prefix: str
    """Text of the names of containers in front of that of a node."""
    nodes: Mapping[str, Node]
    links: tuple[LinkEntry, ...]

    @property
    def folder(self) -> FolderPath:
        """The folder of the file, at which places of mounted files begin."""
        return FolderPath(self.source.name).parent

    def error(self, place: Path, problem: str, hint: str) -> LabFileError:
        """The error about a value: file, line, key, what is wrong, what is valid."""
        return LabFileError(f"{self.source.where(place)}: {problem}", hint=hint)


def parse_lab(path: str, text: str, environment: Mapping[str, str]) -> Lab:
    """The lab in a text; raises LabFileError with file, line and what is valid."""
    source = YamlSource(path, _expanded(text, environment), FileKind(LabFileError, FORM))
    source.data = _merged(source.data)
    require_valid(source, schema)
    entry = msgspec.convert(source.data, LabEntry)
    prefix = "clab" if entry.prefix is None else entry.prefix
    words = [] if not prefix else [entry.name] if prefix == _LAB_NAME else [prefix, entry.name]
    nodes = {name: _node(entry, name) for name in entry.topology.nodes}
    return Lab(source, entry.name, "".join(f"{word}-" for word in words), nodes, tuple(entry.topology.links or ()))


def _expanded(text: str, environment: Mapping[str, str]) -> str:
    """The text with the variables that have a value or a default; others stay, as in commands of nodes."""

    def value(found: re.Match[str]) -> str:
        plain, braced, colon, sign, default = found.groups()
        given = environment.get(plain or braced)
        if sign and (given is None or (colon and not given)):
            return str(default)
        return found[0] if given is None else given

    return _VARIABLE.sub(value, text)


def _merged(value: Any) -> Any:
    """A value whose mappings have the keys that they merge (``<<: *other``)."""
    if isinstance(value, list):
        return [_merged(item) for item in value]
    if not isinstance(value, dict):
        return value
    own = {key: _merged(item) for key, item in value.items() if key != _MERGE}
    given = _merged(value.get(_MERGE, []))
    for other in given if isinstance(given, list) else [given]:
        own = {**other, **own} if isinstance(other, dict) else {**own, _MERGE: other}
    return own


def _node(entry: LabEntry, name: str) -> Node:
    topology = entry.topology
    empty = NodeEntry()
    groups, kinds, defaults = topology.groups or {}, topology.kinds or {}, topology.defaults or empty
    own = topology.nodes[name] or empty
    named = groups.get(own.group) or groups.get(defaults.group) or empty
    kind = own.kind or named.kind or defaults.kind
    of_kind = kinds.get(kind) or empty
    group = groups.get(own.group or of_kind.group or defaults.group) or empty
    levels = (own, group, of_kind, defaults)

    def first(key: str) -> str:
        return next(filter(None, (getattr(level, key) for level in levels)), "")

    labels: dict[str, Any] = {}
    for level in reversed(levels):
        labels |= level.labels or {}
    commands = tuple(command for level in levels for command in level.exec or ())
    binds = tuple(bind for level in levels for bind in level.binds or ())
    return Node(name, kind, first("image"), first("network_mode"), commands, binds, labels)
