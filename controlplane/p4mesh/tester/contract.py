"""The compiled tester program: its files, its freshness, and the numbers it shares with controllers.

``make p4`` writes ``p4src/compiled``: the BMv2 JSON, the P4Info, and a manifest with the hashes of
the sources and the constants of the program, so that no constant is typed twice.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from p4mesh.errors import ProgramError
from p4mesh.shipped import shipped

P4SRC = shipped("p4src")
TESTER = "p4mesh"
SUMMING_TESTER = "p4mesh_payload"
"""The same whose signatures cover the payload behind them."""
_FIX = "run make p4 where p4c is installed, or check out p4src again"


def sources_of(main: str, p4src: Path = P4SRC) -> list[str]:
    """Names of the main file and of everything that it includes, relative to ``p4src``, sorted."""
    pending, found = [p4src / main], set()
    while pending:
        path = pending.pop()
        if path in found:
            continue
        found.add(path)
        for name in re.findall(r'^\s*#include\s+"([^"]+)"', path.read_text(), re.MULTILINE):
            pending.append((path.parent / name).resolve())
    return sorted(path.relative_to(p4src).as_posix() for path in found)


def hash_of_sources(sources: list[str], p4src: Path = P4SRC) -> str:
    """SHA-256 over names and contents of the sources, in hexadecimal digits."""
    digest = hashlib.sha256()
    for name in sources:
        digest.update(name.encode() + b"\0" + (p4src / name).read_bytes() + b"\0")
    return digest.hexdigest()


def constants_of(sources: list[str], p4src: Path = P4SRC, defines: Mapping[str, int] | None = None) -> dict[str, int]:
    """Numbers of every ``const bit<N> NAME = number;`` and ``#define NAME number`` of the sources, by name.

    ``defines`` are the numbers that the compiler is given with -D; lines that their conditionals exclude are left out.
    """
    pattern = re.compile(r"^(?:const\s+bit<\w+>\s+(\w+)\s*=\s*|#define\s+(\w+)\s+)(0[xX][0-9a-fA-F_]+|\d+);?\s*$", re.M)
    constants = {}
    for source in sources:
        for const, define, number in pattern.findall(_selected((p4src / source).read_text(), defines or {})):
            constants[const or define] = int(number.replace("_", ""), 0)
    return dict(sorted(constants.items()))


def _selected(text: str, defines: Mapping[str, int]) -> str:
    """Lines that ``#if NAME == number``, ``#ifdef`` and ``#ifndef`` leave, for names that -D defines.

    Both branches of any other condition are kept: it depends on the source itself.
    """
    kept: list[str] = []
    branches: list[bool | None] = []
    for line in text.splitlines(keepends=True):
        directive = re.match(r"\s*#\s*(ifdef|ifndef|if|else|endif)\b\s*(\w*)\s*(?:==\s*(\d+))?", line)
        if directive is None:
            if False not in branches:
                kept.append(line)
        elif directive[1] == "endif":
            branches.pop()
        elif directive[1] == "else":
            branches[-1] = None if branches[-1] is None else not branches[-1]
        elif directive[2] not in defines:
            branches.append(None)
        else:
            branches.append(defines[directive[2]] == int(directive[3]) if directive[3] else directive[1] == "ifdef")
    return "".join(kept)


@dataclass(frozen=True)
class Contract:
    """The compiled tester program as a controller sees it."""

    directory: Path
    name: str
    constants: Mapping[str, int]

    @property
    def json_path(self) -> Path:
        """BMv2 JSON."""
        return self.directory / f"{self.name}.json"

    @property
    def device_config_path(self) -> Path:
        """Device config that a switch gets to run the program."""
        return self.json_path

    @property
    def p4info_path(self) -> Path:
        """P4Info in text format."""
        return self.directory / f"{self.name}.p4info.txtpb"

    def __getitem__(self, constant: str) -> int:
        """A constant of the program by its P4 name."""
        return self.constants[constant]

    @cached_property
    def record_fields(self) -> tuple[tuple[str, int], ...]:
        """Names and widths in bytes of the fields of ``record_t``, in wire order."""
        fields = _header_fields(self.json_path.read_text(), "record_t")
        if not fields:
            raise ProgramError(f"{self.json_path}: the program has no header record_t", hint=_FIX)
        return fields

    @cached_property
    def message_fields(self) -> tuple[tuple[str, int], ...]:
        """Names and widths in bytes of the fields of ``message_record_t``, which follows ``record_t`` on request."""
        return _header_fields(self.json_path.read_text(), "message_record_t")

    @cached_property
    def modifiers(self) -> str:
        """Letters of the field modifiers of the program, in order."""
        return "".join(letter for letter in "abcdefgh" if f"ID_TABLE_MODIFIER_{letter.upper()}" in self.constants)

    @property
    def check_covers_payload(self) -> bool:
        """Whether the check of a signature covers what is behind it, too."""
        return "CHECK_COVERS_PAYLOAD" in self.constants

    def reason(self, name: str) -> int:
        """Number of a reason, for example of ``EXPECTED``."""
        return self.constants[f"REASON_{name}"]

    @cached_property
    def reasons(self) -> dict[int, str]:
        """Reason numbers and their names in lower case."""
        prefix = "REASON_"
        return {
            number: name.removeprefix(prefix).lower()
            for name, number in self.constants.items()
            if name.startswith(prefix) and name != "REASON_BITS"
        }


@lru_cache(maxsize=4)
def _header_fields(program: str, name: str) -> tuple[tuple[str, int], ...]:
    """Names and widths in bytes of the fields of a header type in BMv2 JSON; none without such a header."""
    for header_type in json.loads(program)["header_types"]:
        if header_type["name"] == name:
            return tuple((name, bits // 8) for name, bits, *_ in header_type["fields"])
    return ()


def load_contract(name: str = TESTER, p4src: Path = P4SRC) -> Contract:
    """Opens the compiled program; raises ProgramError when it is missing or stale."""
    directory = p4src / "compiled"
    manifest_path = directory / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(manifest_path.read_text())
        entry = manifest[name]
    except FileNotFoundError:
        raise ProgramError(f"{manifest_path}: the compiled program is missing", hint=_FIX) from None
    except (json.JSONDecodeError, KeyError):
        raise ProgramError(f"{manifest_path}: no valid entry for program '{name}'", hint=_FIX) from None
    for file, digest in entry["output_sha256"].items():
        path = directory / file
        if not path.exists():
            raise ProgramError(f"{path}: the compiled program is missing", hint=_FIX)
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise ProgramError(f"{path}: the compiled program is not the one of the manifest", hint=_FIX)
    main = p4src / entry["main"]
    if main.exists() and hash_of_sources(sources_of(entry["main"], p4src), p4src) != entry["source_sha256"]:
        raise ProgramError(f"{directory / name}.json: the compiled program is older than its sources", hint=_FIX)
    return Contract(directory, name, entry["constants"])
