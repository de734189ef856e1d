"""YAML text to plain data, with the line of every value, so that messages can point at it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from math import isnan
from typing import Any

import yaml

from p4mesh.errors import UsageError

Path = tuple[str | int, ...]
_MOST_VALUES = 100_000
"""Aliases of aliases grow without bound; 512 ports, each with routes and entries, need a tenth of this."""
_DEEPEST = 30
_NUMBER_TAGS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_NUMBER = re.compile(
    r"-?(0|[1-9][0-9]*|0x[0-9a-fA-F]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?|\.inf)|\.nan", re.IGNORECASE
)
"""Not ``1_0``, ``+1`` and ``010``, which other readers of YAML take for other numbers, or for words."""
_SEXAGESIMAL = re.compile(r"[0-9]+(:[0-9]+)+(\.[0-9]*)?")
"""YAML 1.1 takes it for a number; it is an address, such as 10:20:30:40:50:59."""
_RARE_FORMS = re.compile(r"[^\n -~]|[!?]|[|>]#|^---", re.MULTILINE)
"""Tabs, letters beyond ASCII, tags, complex keys, comments without a space in front, and marks of documents."""
_MOST_BRACKETS = 5_000
_PLAIN = "use plain numbers, strings, lists and mappings"


def as_written(value: str | int | float | bool) -> str:
    """A value as it is written in YAML and after --set."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class FileKind:
    """A kind of configuration file: the error that its readers raise, and the folder with examples."""

    error: type[UsageError]
    examples: str


def _composed(text: str) -> yaml.Node | None:
    """The nodes of a text; raise the errors of PyYAML's own loader, whose words and lines messages have.

    libyaml takes an eighth of the time, but reads some rare forms in another way, and it has no end of its stack.
    """
    if not _RARE_FORMS.search(text) and sum(map(text.count, "[{-")) < _MOST_BRACKETS:
        with suppress(yaml.YAMLError):
            return yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return yaml.compose(text, Loader=yaml.SafeLoader)


class YamlSource:
    """A parsed YAML file."""

    def __init__(self, name: str, text: str, kind: FileKind) -> None:
        """Parse ``text``; raise the error of ``kind`` for bad syntax and for keys that are given twice."""
        self.name = name
        self.text = text
        self.kind = kind
        self._lines: dict[Path, int] = {}
        self._origins: dict[Path, str] = {}
        self._values = 0
        self._constructor = yaml.SafeLoader("")
        try:
            root = _composed(text)
        except RecursionError:
            raise kind.error(f"{name}: lists or mappings are nested too deeply", hint=kind.examples) from None
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise kind.error(f"{name}:{line}: not YAML: {error.problem}", hint=kind.examples) from None
        except yaml.YAMLError as error:
            problem = " ".join(str(error).split())
            raise kind.error(f"{name}: not YAML: {problem}", hint=kind.examples) from None
        if root is None:
            raise kind.error(f"{name}: empty file", hint=kind.examples)
        self.data = self._value(root, ())

    def with_values(self, values: Sequence[tuple[Path, Any, str]]) -> YamlSource:
        """The file with other values at some paths; messages about them name their origin instead of a line.

        Mappings on the way are made where they are missing; raises the error of the kind where one is something else.
        """
        changed = object.__new__(YamlSource)
        changed.__dict__ = {**self.__dict__, "data": deepcopy(self.data), "_origins": dict(self._origins)}
        for path, value, origin in values:
            place = changed.data
            for depth, key in enumerate(path[:-1], 1):
                place = place.setdefault(key, {})
                if not isinstance(place, dict):
                    raise self.kind.error(
                        f"{origin}: {'.'.join(map(str, path[:depth]))} is not a mapping",
                        hint="name a key that has a value",
                    )
            place[path[-1]] = value
            changed._origins[path] = origin
        return changed

    def at(self, path: Path) -> Any:
        """The value at a path that exists."""
        value = self.data
        for step in path:
            value = value[step]
        return value

    def line(self, path: Path) -> int:
        """The line of a value, or of the nearest value around it."""
        known = path
        while known and known not in self._lines:
            known = known[:-1]
        return self._lines.get(known, 1)

    def where(self, path: Path) -> str:
        """``file:line: key.path`` of a value, or the setting that gave the value instead of the file."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._origins:
                return self._origins[path[:length]]
        shown = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
        place = f"{self.name}:{self.line(path)}"
        return f"{place}: {shown}" if shown else place

    def _value(self, node: yaml.Node, path: Path) -> Any:
        self._lines[path] = node.start_mark.line + 1
        self._values += 1
        if self._values > _MOST_VALUES:
            raise self.kind.error(f"{self.name}: more than {_MOST_VALUES} values", hint="do not nest aliases")
        if len(path) > _DEEPEST:
            raise self.kind.error(
                f"{self.name}:{self._lines[path]}: lists or mappings are nested too deeply, or an alias names itself",
                hint=self.kind.examples,
            )
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        if node.tag in _NUMBER_TAGS and not _NUMBER.fullmatch(node.value):
            if _SEXAGESIMAL.fullmatch(node.value):
                return str(node.value)
            raise self.kind.error(
                f"{self.where(path)}: {node.value[:40]} is not a number",
                hint="write 10, -1.5, 1.0e+9 or 0x1f, in digits 0 to 9; a word that looks like a number is in quotes",
            )
        try:
            return self._plain(path, self._constructor.construct_object(node))
        except (yaml.YAMLError, ValueError, TypeError, KeyError) as error:
            problem = " ".join(str(error).split())
            raise self.kind.error(f"{self.where(path)}: {problem}", hint=_PLAIN) from None

    def _plain(self, path: Path, value: Any) -> Any:
        """A scalar as the schema knows it: 1.0e+9 is an integer, other texts are words."""
        if isinstance(value, float):
            if isnan(value):
                return ".nan"
            return int(value) if value.is_integer() else value
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise self.kind.error(f"{self.where(path)}: half a character", hint="write the text in UTF-8")
        return value

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                line = key_node.start_mark.line + 1
                raise self.kind.error(f"{self.name}:{line}: a key is a list or a mapping", hint="keys are words")
            key = str(key_node.value)
            place = (*path, key)
            duplicate = key in result
            result[key] = self._value(value_node, place)
            self._lines[place] = key_node.start_mark.line + 1
            if duplicate:
                raise self.kind.error(f"{self.where(place)}: given twice", hint="keep one of the two")
        return result
