"""YAML text to plain data, with the line of every value, so that messages can point at it."""

from __future__ import annotations

from typing import Any

import yaml

from p4mesh.errors import TopologyError

Path = tuple[str | int, ...]


class YamlSource:
    """A parsed YAML file."""

    def __init__(self, name: str, text: str) -> None:
        """Parse ``text``; raise TopologyError for bad syntax and for keys that are given twice."""
        self.name = name
        self._lines: dict[Path, int] = {}
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise TopologyError(
                f"{name}:{line}: not YAML: {error.problem}", hint="see topologies/ for complete examples"
            ) from None
        except yaml.YAMLError as error:
            raise TopologyError(f"{name}: not YAML: {error}", hint="see topologies/ for complete examples") from None
        if root is None:
            raise TopologyError(f"{name}: empty file", hint="see topologies/ for complete examples")
        self.data = self._value(root, ())

    def line(self, path: Path) -> int:
        """Return the line of a value, or of the nearest value around it."""
        known = path
        while known and known not in self._lines:
            known = known[:-1]
        return self._lines.get(known, 1)

    def where(self, path: Path) -> str:
        """Return ``file:line: key.path`` of a value."""
        shown = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
        place = f"{self.name}:{self.line(path)}"
        return f"{place}: {shown}" if shown else place

    def _value(self, node: yaml.Node, path: Path) -> Any:
        self._lines[path] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        constructor = yaml.SafeLoader("")
        try:
            return constructor.construct_object(node)
        except yaml.YAMLError as error:
            raise TopologyError(
                f"{self.where(path)}: {error}", hint="use plain numbers, strings, lists and mappings"
            ) from None
        finally:
            constructor.dispose()

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            place = (*path, key)
            duplicate = key in result
            result[key] = self._value(value_node, place)
            self._lines[place] = key_node.start_mark.line + 1
            if duplicate:
                raise TopologyError(f"{self.where(place)}: given twice", hint="keep one of the two")
        return result
