"""Defines scenarios and observations of a switch as plain data that JSON can hold."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

Outputs = dict[int, list[bytes]]
"""Frames by port, in the order in which they left it."""


@dataclass(frozen=True)
class Write:
    """One update: a method of p4mesh.p4runtime's Schema and its arguments, all by names of P4Info."""

    kind: str
    """INSERT, MODIFY or DELETE."""
    method: str
    arguments: dict[str, Any]

    def to_json(self) -> list[Any]:
        """The JSON form."""
        return ["write", self.kind, self.method, _plain(self.arguments)]


@dataclass(frozen=True)
class Frame:
    """A frame that arrives at a port."""

    port: int
    data: bytes

    def to_json(self) -> list[Any]:
        """The JSON form."""
        return ["frame", self.port, self.data.hex()]


@dataclass(frozen=True)
class PacketOut:
    """A frame from the controller."""

    data: bytes
    metadata: dict[str, int]

    def to_json(self) -> list[Any]:
        """The JSON form."""
        return ["out", self.data.hex(), self.metadata]


Step = Write | Frame | PacketOut


def step_from_json(item: list[Any]) -> Step:
    """The step of its JSON form."""
    if item[0] == "write":
        return Write(item[1], item[2], _tuples(item[3]))
    if item[0] == "frame":
        return Frame(item[1], bytes.fromhex(item[2]))
    return PacketOut(bytes.fromhex(item[1]), item[2])


@dataclass
class Scenario:
    """A fresh switch with a program, and the steps that follow."""

    name: str
    program: str
    seed: int
    steps: list[Step] = field(default_factory=list)
    digest_counter: str | None = None
    """Counter whose packets say how many digests to wait for."""
    counters: list[str] | None = None
    """Counters to read back; None: all."""
    ordered: bool = True
    """False where frames come to one port from several threads of simple_switch."""

    @property
    def digest(self) -> str:
        """Identify the steps."""
        text = json.dumps([step.to_json() for step in self.steps], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def frame_count(self) -> int:
        """Count the frames that go in."""
        return sum(not isinstance(step, Write) for step in self.steps)


@dataclass
class Observation:
    """Observation of a switch in a scenario."""

    outputs: list[Outputs] = field(default_factory=list)
    """One per step; empty for writes."""
    refused: dict[int, str] = field(default_factory=dict)
    """Codes of the writes that were refused, by step."""
    packet_ins: list[tuple[bytes, dict[str, int]]] = field(default_factory=list)
    digests: list[tuple[str, str]] = field(default_factory=list)
    """(name, members in hexadecimal), sorted."""
    counters: dict[str, list[list[int]]] = field(default_factory=dict)
    """[index, packets, bytes] of the cells that have counted, by name."""
    direct_counters: dict[str, list[list[Any]]] = field(default_factory=dict)
    """[key, packets, bytes] of the entries of each table, sorted."""


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _tuples(arguments: dict[str, Any]) -> dict[str, Any]:
    """Restore match values, replicas and the numbers of members from their JSON form."""
    restored = dict(arguments)
    if "match" in restored:
        restored["match"] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in restored["match"].items()
        }
    if "replicas" in restored:
        restored["replicas"] = [tuple(replica) for replica in restored["replicas"]]
    if "members" in restored:
        restored["members"] = {int(member): weight for member, weight in restored["members"].items()}
    return restored
