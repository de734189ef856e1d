"""P4Info as an index of names: full names, aliases and their unique suffixes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from p4mesh.causes import reading_hint
from p4mesh.p4runtime.errors import PipelineError, SchemaError
from p4mesh.p4runtime.stubs import p4i
from p4mesh.regular_files import MOST_PROGRAM_BYTES, read_text

_HOW = "p4c writes it with --p4runtime-files FILE.txtpb"


def load_p4info(path: str | Path) -> p4i.P4Info:
    """Read P4Info in text format."""
    info = p4i.P4Info()
    try:
        info.CopyFrom(_parsed(read_text(Path(path), MOST_PROGRAM_BYTES)))
    except OSError as error:
        hint = reading_hint(error.errno, _HOW)
        raise PipelineError(f"cannot read P4Info {path}: {error.strerror}", hint=hint) from None
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise PipelineError(f"{path} is not P4Info in text format: {error}", hint=_HOW) from None
    return info


@lru_cache(maxsize=4)
def _parsed(text: str) -> p4i.P4Info:
    """Parses a text once: every simulated device of a run has the same one. The message must not be changed."""
    info = p4i.P4Info()
    text_format.Parse(text, info)
    return info


class Info:
    """Objects of one P4Info by name and id."""

    def __init__(self, message: p4i.P4Info) -> None:
        self.message = message
        self.tables = _by_name(message.tables)
        self.actions = _by_name(message.actions)
        self.action_profiles = _by_name(message.action_profiles)
        self.counters = _by_name(message.counters)
        self.direct_counters = _by_name(message.direct_counters)
        self.meters = _by_name(message.meters)
        self.direct_meters = _by_name(message.direct_meters)
        self.registers = _by_name(message.registers)
        self.value_sets = _by_name(message.value_sets)
        self.digests = _by_name(message.digests)
        self.tables_by_id: dict[int, p4i.Table] = {table.preamble.id: table for table in message.tables}
        self.actions_by_id: dict[int, p4i.Action] = {action.preamble.id: action for action in message.actions}
        self.digests_by_id: dict[int, p4i.Digest] = {digest.preamble.id: digest for digest in message.digests}
        self.headers = {header.preamble.name: header for header in message.controller_packet_metadata}
        self._names: dict[int, str] = {}
        for kind in (
            message.tables,
            message.actions,
            message.action_profiles,
            message.counters,
            message.direct_counters,
            message.meters,
            message.direct_meters,
            message.registers,
            message.value_sets,
            message.digests,
        ):
            for item in kind:
                self._names[item.preamble.id] = item.preamble.alias or item.preamble.name

    def name_of(self, number: int) -> str:
        """Short name of an object, or its id where P4Info does not have it."""
        return self._names.get(number, f"{number:#010x}")


def _by_name(items: Iterable[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in items:
        found[item.preamble.name] = item
        found.setdefault(item.preamble.alias or item.preamble.name, item)
    return found


def lookup(items: dict[str, Any], kind: str, name: str) -> Any:
    """The object with a full name, an alias, or the only name that ends so; the error lists the valid ones."""
    try:
        return items[name]
    except KeyError:
        by_name = {item.preamble.name: item for item in items.values()}
        return by_name[full_name(by_name, name, kind)]


def full_name(names: Iterable[str], asked: str, kind: str, owner: str = "") -> str:
    """The one name that is ``asked``, or that alone ends with its parts. Raises SchemaError with the valid names.

    Devices of a topology are written with names of this form, too: the engine resolves them in the same way.
    """
    names = list(names)
    if asked in names:
        return asked
    ending = [name for name in names if name.endswith(f".{asked}")]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise SchemaError(
            f"{asked!r} is the end of more than one {kind}{f' of {owner}' if owner else ''}",
            hint=f"valid: {', '.join(sorted(ending))}",
        )
    valid = sorted(_shortest(names, name) for name in names)
    problem = f"{owner} has no {kind} {asked!r}" if owner else f"no {kind} named {asked!r}"
    raise SchemaError(problem, hint=f"valid: {', '.join(valid) or 'none'}")


def _shortest(names: list[str], name: str) -> str:
    """The shortest end of a name that no other name has."""
    parts = name.split(".")
    ends = (".".join(parts[start:]) for start in range(len(parts) - 1, -1, -1))
    return next(
        end for end in ends if end == name or [it for it in names if it == end or it.endswith(f".{end}")] == [name]
    )
