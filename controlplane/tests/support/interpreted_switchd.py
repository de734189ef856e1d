"""A fake bf_switchd whose chip is the interpreted sources of the tester (tna_pipe.py), in virtual time.

What the controller writes by BF Runtime goes into the tables of the interpreter; registers and counters are read from
there. Time passes when a frame comes from the CPU port: until reading frames have come back, and, behind a start, until
all streams are through. Waits of the controller take no virtual time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.fake_bfruntime import TOFINO_1, FakeBfSwitchd, Kind
from support.p4_interpreter import Entry, Number
from support.tna_pipe import EGRESS_TICKS, Sent, TnaPipe, program_of
from support.tofino_chip import Device

from p4mesh.bfruntime import messages

_PIPE = "pipe."
_CLOCKS = "TesterIngress.streams.departure_clock.clock_cells"
_ROUND_TICKS = 700
_FAR_AHEAD_TICKS = 1 << 29
_MOST_ROUNDS = 100_000
_LOWEST = 1 << 30


class InterpretedSwitchd(FakeBfSwitchd):
    """The switch; ``device`` is cabled to its ports, and gets the number of each frame on its port."""

    def __init__(self, device: Device, program: bytes, *, chip: Kind = TOFINO_1, name: str = "tofino1") -> None:
        super().__init__(device, program, chip=chip)
        self.controlled: dict[str, list[Entry]] = {}
        """Entries by table, as the interpreter has them."""
        self._rows: dict[str, dict[bytes, tuple[int, Entry]]] = {}
        self._pipe = TnaPipe(program_of(name), self.controlled, round_ticks=_ROUND_TICKS, pipes=chip.pipes)
        self._pipe.groups = self.groups
        self._sent_by: dict[int, int] = {}
        for table in self._tables.values():
            if table["table_type"] == "MatchAction_Direct" and not _is_constant(table):
                self.controlled[table["name"].removeprefix(_PIPE)] = []

    def __enter__(self) -> InterpretedSwitchd:
        super().__enter__()
        return self

    # Frames

    def from_cpu(self, frame: bytes) -> None:
        """Take a frame from the CPU port, and let time pass."""
        if len(frame) < 60:
            self.faults.append(f"a frame of {len(frame)} bytes on the CPU interface")
        constants = self._pipe.program.constants
        self._pipe.arrive(self._pipe.cpu, self._pipe.now, frame)
        if frame[0] == constants["KIND_SEED"]:
            self._pipe.run(self._pipe.now + 1)
            return
        self._until(lambda: self._pipe.is_idle())
        if frame[0] == constants["KIND_START"] and int.from_bytes(frame[6:10], "big") < _FAR_AHEAD_TICKS:
            self._send_all()

    def _send_all(self) -> None:
        """Let time pass until no stream has departures left, and its last frames have arrived."""
        while dues := self._dues():
            if not self._pipe.seeds():
                return
            if self._pipe.is_idle():
                self._pipe.skip_to(min(dues))
            self._run()
        self._until(lambda: self._pipe.is_idle())

    def _dues(self) -> list[int]:
        """Return when the next slot of each stream begins that has departures left."""
        found = []
        for [(stream, _)], (_, arguments) in self.controlled["TesterIngress.streams.stream"]:
            clock = self._pipe.cells_of(_CLOCKS).cells.get(stream)
            if clock is not None and clock.members["high"].bits:
                due = clock.members["low"].bits + arguments[0]
                found.append(self._pipe.now + _signed(due - self._pipe.now))
        return found

    def _until(self, holds: Callable[[], bool]) -> None:
        for _ in range(_MOST_ROUNDS):
            if holds():
                return
            self._run()
        raise AssertionError("frames go round for ever")

    def _run(self) -> None:
        self._pipe.run(self._pipe.now + _ROUND_TICKS + EGRESS_TICKS)
        for sent in self._pipe.sent:
            self._forward(sent)
        self._pipe.sent.clear()
        for frame in self._pipe.to_controller:
            self._frames.put(frame)
        self._pipe.to_controller.clear()

    def _forward(self, sent: Sent) -> None:
        if not self.ports.get(sent.port, {}).get("$PORT_UP"):
            return
        number = self._sent_by.get(sent.port, 0)
        self._sent_by[sent.port] = number + 1
        for out, latency in self.device(sent.port, sent.frame[:6], number):
            self._pipe.arrive(out, sent.at + latency, sent.frame)

    # Tables

    def _update_entry(self, kind: int, entry: Any) -> None:
        super()._update_entry(kind, entry)
        table = self._table(entry.table_id)
        name = table["name"].removeprefix(_PIPE)
        if table["table_type"] == "ParserValueSet":
            self._pipe.loop_ports[:] = [(port, 0x1FF) for port in self.loop_ports]
        elif name in self.controlled:
            rows = self._rows.setdefault(name, {})
            place = entry.key.SerializeToString() if entry.HasField("key") else b""
            if not entry.HasField("key") and not entry.is_default_entry:
                rows.clear()
            elif kind == messages.DELETE:
                del rows[place]
            else:
                rows[place] = self._row(table, entry)
            self.controlled[name][:] = [row for _, row in sorted(rows.values(), key=lambda known: known[0])]

    def _row(self, table: dict[str, Any], entry: Any) -> tuple[int, Entry]:
        """Return the rank of an entry, of which the smallest wins, and the entry."""
        given = {field.field_id: field for field in entry.key.fields}
        rank, matches = 0, []
        for field in table["key"]:
            match = given.get(field["id"])
            if field["name"] == "$MATCH_PRIORITY":
                rank = int.from_bytes(match.exact.value, "big") if match else 0
            elif match is None:
                matches.append((0, 0))
            elif match.WhichOneof("match") == "exact":
                matches.append((int.from_bytes(match.exact.value, "big"), (1 << 64) - 1))
            else:
                parts = match.ternary.value, match.ternary.mask
                matches.append((int.from_bytes(parts[0], "big"), int.from_bytes(parts[1], "big")))
        action = next(action for action in table["action_specs"] if action["id"] == entry.data.action_id)
        values = {field.field_id: int.from_bytes(field.stream, "big") for field in entry.data.fields}
        arguments = [values[field["id"]] for field in action["data"]]
        name = action["name"].rpartition(".")[2]
        if entry.is_default_entry:
            return _LOWEST, ([(0, 0)] * len(matches), (name, arguments))
        return rank, (matches, (name, arguments))

    def _clear(self, table: dict[str, Any]) -> None:
        super()._clear(table)
        name = table["name"].removeprefix(_PIPE)
        for pipe in range(self._chip.pipes):
            if table["table_type"] == "Register":
                self._pipe.cells_of(name, pipe).cells.clear()
            elif table["table_type"] == "Counter":
                self._pipe.cells_of(name, pipe).clear()

    def _synchronise(self, table: dict[str, Any]) -> None:
        name = table["name"].removeprefix(_PIPE)
        if table["table_type"] == "Counter":
            short = name.rpartition(".")[2]
            counted = self._pipe.counter(name)
            self._synchronised[table["name"]] = {(0, short, cell): count for cell, count in counted.items()}
            return
        found: dict[tuple[int, str, int], int] = {}
        for pipe in range(self._chip.pipes):
            for cell, value in self._pipe.cells_of(name, pipe).cells.items():
                words = {"f1": value} if isinstance(value, Number) else value.members
                found |= {(pipe, word, cell): number.bits for word, number in words.items()}
        self._synchronised[table["name"]] = found

    def _put_register(self, entry: Any, table: dict[str, Any], index: int) -> None:
        """Add each field once for every pipe."""
        for item in table["data"]:
            field = item["singleton"]
            word = field["name"].rpartition(".")[2]
            for pipe in range(self._chip.pipes):
                value = self._synchronised[table["name"]].get((pipe, word, index), 0)
                added = entry.data.fields.add(field_id=field["id"])
                added.stream = value.to_bytes((field["type"]["width"] + 7) // 8, "big")


def _is_constant(table: dict[str, Any]) -> bool:
    """Return whether the program fills the table itself."""
    return not any(True for _ in table.get("action_specs", ())) or table["name"].endswith("$PORT_METADATA")


def _signed(ticks: int) -> int:
    low = ticks % (1 << 32)
    return low - (1 << 32) if low >> 31 else low
