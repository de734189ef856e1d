"""A fake bf_switchd whose chip is the interpreted sources of the tester (interpreted_chip.py).

What the controller writes by BF Runtime goes into the tables of the interpreter; registers and counters are read from
there. Waits of the controller take no virtual time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from support.fake_bfruntime import TOFINO_1, FakeBfSwitchd, Kind
from support.interpreted_chip import Arrival, InterpretedChip
from support.p4_interpreter import Entry
from support.tna_pipe import Sent
from support.tofino_chip import Device

from p4mesh.bfruntime import messages

_PIPE = "pipe."
_LOWEST = 1 << 30
_UNLIMITED = 0xFFFF


def mac_ns(frame_bytes: int) -> int:
    """Time from the egress parser to the first bit of a frame without FCS, a formula."""
    return 300 + frame_bytes // 4


class InterpretedSwitchd(FakeBfSwitchd):
    """The switch; ``device`` is cabled to its ports, and gets the number of each frame on its port."""

    def __init__(
        self,
        device: Device,
        program: bytes,
        *,
        chip: Kind = TOFINO_1,
        name: str = "tofino1",
        sends_at_once: bool = True,
    ) -> None:
        super().__init__(device, program, chip=chip)
        tables = [
            table["name"].removeprefix(_PIPE)
            for table in self._tables.values()
            if table["table_type"] == "MatchAction_Direct"
        ]
        self._runs = InterpretedChip(name, tables, chip.pipes, self._forwarded, sends_at_once=sends_at_once)
        self._pipe = self._runs.pipe
        self._pipe.groups = self.groups
        self._sent_by: dict[int, int] = {}
        self.sent: list[Sent] = []
        """All frames that have left its ports."""

    def __enter__(self) -> InterpretedSwitchd:
        super().__enter__()
        return self

    # Frames

    def from_cpu(self, frame: bytes) -> None:
        """Take a frame from the CPU port, and let time pass."""
        if len(frame) < 60:
            self.faults.append(f"a frame of {len(frame)} bytes on the CPU interface")
        self._runs.from_cpu(frame)
        self._hand_over()

    @property
    def now_ns(self) -> int:
        """Time of the chip."""
        return self._pipe.now

    def wait(self, ticks: int) -> None:
        """Let time pass, where streams are not sent at once."""
        self._runs.wait(ticks)
        self._hand_over()

    def _hand_over(self) -> None:
        for report in self._runs.reports:
            self._frames.put(report)
        self._runs.reports.clear()

    def _forwarded(self, sent: Sent) -> Iterable[Arrival]:
        """Arrivals of a frame that the device forwards."""
        if not self.ports.get(sent.port, {}).get("$PORT_UP"):
            return ()
        self.sent.append(sent)
        if sent.departure_kept:
            self.keep_departure(sent.port, sent.at + mac_ns(len(sent.frame)))
        number = self._sent_by.get(sent.port, 0)
        self._sent_by[sent.port] = number + 1
        arrivals = self.device(sent.port, sent.frame[:6], number)
        for port, _ in arrivals:
            self.statistics[port]["$FramesReceivedOK"] += 1
        return arrivals

    # Tables

    def _update_entry(self, kind: int, entry: Any) -> None:
        super()._update_entry(kind, entry)
        table = self._table(entry.table_id)
        name = table["name"].removeprefix(_PIPE)
        if table["table_type"] == "ParserValueSet":
            self._pipe.loop_ports[:] = [(port, 0x1FF) for port in self.loop_ports]
        elif name in self._runs.entries:
            place = entry.key.SerializeToString() if entry.HasField("key") else b""
            if not entry.HasField("key") and not entry.is_default_entry:
                self._runs.clear_rows(name)
            elif kind == messages.DELETE:
                self._runs.remove_row(name, place)
            else:
                self._runs.set_row(name, place, *self._row(table, entry))

    def _take(self, table: dict[str, Any], key: dict[str, Any], values: dict[str, Any], place: bytes) -> None:
        super()._take(table, key, values, place)
        if table["name"] == "$mirror.cfg" and values["$session_enable"] and values["$ucast_egress_port_valid"]:
            self._pipe.mirrors[key["$sid"]] = (values["$ucast_egress_port"], values.get("$max_pkt_len") or _UNLIMITED)

    def _row(self, table: dict[str, Any], entry: Any) -> tuple[int, Entry]:
        """The rank of an entry, of which the smallest wins, and the entry."""
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
            of_pipes = [self._pipe.cells_of(name, pipe).octets for pipe in range(self._chip.pipes)]
            for cell in counted:
                self.octets[short, cell] = sum(octets.get(cell, 0) for octets in of_pipes)
            return
        found: dict[tuple[int, str, int], int] = {}
        for pipe in range(self._chip.pipes):
            for cell, value in self._pipe.cells_of(name, pipe).cells.items():
                words = {"f1": value} if isinstance(value, int) else value.values()
                found |= {(pipe, word, cell): number for word, number in words.items()}
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
