"""The declarations of controls and parsers in P4 sources, read without a compiler.

Only what a signature test needs: names, parameters, constructor parameters, and members of types. Preprocessor
lines are left out, so a declaration inside of a macro, or a macro among parameters, is not understood;
:func:`declarations` refuses the second, :func:`macro_declarations` finds the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_DECLARATION = re.compile(r"\b(control|parser)\s+(\w+)\s*\(([^()]*)\)\s*(?:\(([^()]*)\)\s*)?\{")
_PARAMETER = re.compile(r"(?:(in|out|inout)\s+)?(\w+(?:<\w+>)?(?:\[\w+\])?)\s+(\w+)")
_STRUCT = re.compile(r"\bstruct\s+(\w+)\s*\{([^}]*)\}")
_MEMBER = re.compile(r"(\w+(?:<\w+>)?(?:\[\w+\])?)\s+(\w+);")
_ALIAS = re.compile(r"\btypedef\s+(\w+)\s+(\w+)\s*;")
_TYPE = re.compile(r"\b(?:struct|header)\s+(\w+)\s*\{|\btypedef\s+[^;]*?(\w+)\s*;")


@dataclass(frozen=True)
class Parameter:
    """One parameter; the type as it is spelt."""

    direction: str
    type: str
    name: str


@dataclass(frozen=True)
class Declaration:
    """A control or a parser."""

    kind: str
    name: str
    parameters: tuple[Parameter, ...]
    constructor: tuple[Parameter, ...]


def declarations(path: Path) -> list[Declaration]:
    """The declarations of a file; AssertionError for a parameter that is not a plain one."""
    return [
        Declaration(kind, name, _parameters(path, parameters), _parameters(path, constructor or ""))
        for kind, name, parameters, constructor in _DECLARATION.findall(_plain(path))
    ]


def macro_declarations(path: Path) -> list[str]:
    """The macros of a file that declare a control or a parser."""
    directives = _DIRECTIVE.findall(_COMMENT.sub("", path.read_text()))
    return [line.split("(")[0] for line in directives if re.search(r"\b(?:control|parser)\s+\w+\s*\(", line)]


def declared_types(path: Path) -> set[str]:
    """The names of the headers, structs and typedefs of a file."""
    return {struct or alias for struct, alias in _TYPE.findall(_plain(path))}


def struct_members(path: Path) -> dict[str, dict[str, str]]:
    """The members of the structs of a file with their types as they are spelt; other names of a struct, too."""
    text = _plain(path)
    found = {name: {member: kind for kind, member in _MEMBER.findall(body)} for name, body in _STRUCT.findall(text)}
    return found | {alias: found[name] for name, alias in _ALIAS.findall(text) if name in found}


def package_arguments(path: Path, package: str) -> set[str]:
    """The controls and parsers that a file hands to the architecture, which prescribes their parameters."""
    calls = re.findall(rf"\b{package}\s*\((.*?)\)\s*\w+\s*;", _plain(path), re.S)
    return {name for call in calls for name in re.findall(r"(\w+)\s*\(\)", call)}


def _plain(path: Path) -> str:
    return _DIRECTIVE.sub("", _COMMENT.sub("", path.read_text()))


def _parameters(path: Path, text: str) -> tuple[Parameter, ...]:
    found = []
    for part in filter(None, (" ".join(part.split()) for part in text.split(","))):
        matched = _PARAMETER.fullmatch(part)
        assert matched, f"{path}: '{part}' is no plain parameter"
        found.append(Parameter(matched[1] or "", matched[2], matched[3]))
    return tuple(found)
