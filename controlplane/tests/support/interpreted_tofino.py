"""A fake P4Runtime server whose chip is the interpreted sources of the tester (interpreted_chip.py).

Frames of test ports come by :meth:`InterpretedTofino.send` and are taken by :meth:`InterpretedTofino.received`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from support.fake_tofino import FakeTofino
from support.interpreted_chip import Arrival, InterpretedChip
from support.p4_interpreter import Entry
from support.tna_pipe import Sent
from support.tofino_chip import PORTS_PER_PIPE

from p4mesh.p4runtime.stubs import p4i, p4r

_LOWEST = 1 << 30
_EXACT = (1 << 64) - 1


class InterpretedTofino(FakeTofino):
    """The switch; ``devices`` has the device port of each test port."""

    def __init__(self, devices: Mapping[int, int], name: str = "tofino1") -> None:
        super().__init__(lambda *_: [])
        self._name, self._devices = name, devices
        self._numbers = {device: number for number, device in devices.items()}
        self._lock = threading.Lock()
        self._left: list[tuple[int, bytes]] = []

    def __enter__(self) -> InterpretedTofino:
        super().__enter__()
        return self

    def send(self, port: int, frame: bytes) -> None:
        """Let a frame arrive at a test port."""
        with self._lock:
            self._runs.pipe.arrive(self._devices[port], self._runs.pipe.now, frame)

    def received(self) -> list[tuple[int, bytes]]:
        """Take the frames that have left test ports."""
        with self._lock:
            left, self._left = self._left, []
        return left

    def wait(self, ticks: int) -> None:
        """Let time pass."""
        with self._lock:
            self._runs.wait(ticks)
            self._report()

    def _keep(self, sent: Sent) -> Iterable[Arrival]:
        self._left.append((self._numbers[sent.port], sent.frame))
        return ()

    # P4Runtime

    def _set_pipeline(self, request: Any, context: object) -> Any:
        answer = super()._set_pipeline(request, context)
        self._tables: dict[int, p4i.Table] = {
            table.preamble.id: table for table in self.info.tables if not table.is_const_table
        }
        names = [table.preamble.name for table in self._tables.values()]
        pipes = 1 + max(self._devices.values()) // PORTS_PER_PIPE
        self._runs = InterpretedChip(self._name, names, pipes, self._keep, sends_at_once=False)
        self._runs.pipe.groups = self.groups
        self._counters = {counter.preamble.id: counter.preamble.name for counter in self.info.counters}
        return answer

    def _packet_out(self, packet: p4r.PacketOut) -> None:
        values = {m.metadata_id: int.from_bytes(m.value, "big") for m in packet.metadata}
        head, bits = 0, 0
        for field in self._header("packet_out").metadata:
            head, bits = head << field.bitwidth | values.get(field.id, 0), bits + field.bitwidth
        with self._lock:
            self._runs.from_cpu((head.to_bytes(bits // 8, "big") + packet.payload).ljust(60, b"\0"))
            self._report()

    def _report(self) -> None:
        for frame in self._runs.reports:
            values, place = [], 0
            for field in self._header("packet_in").metadata:
                values.append(int.from_bytes(frame[place : place + field.bitwidth // 8], "big"))
                place += field.bitwidth // 8
            kind, _, port, time = values
            self.to_controller(kind, port, time, frame[place:])
        self._runs.reports.clear()

    def _write(self, request: p4r.WriteRequest, context: Any) -> p4r.WriteResponse:
        with self._lock:
            answer = super()._write(request, context)
            self._runs.pipe.loop_ports[:] = [(port, 0x1FF) for port in self.loop_ports]
            return answer

    def _write_entry(self, entry: Any, gone: bool) -> None:
        table = self._tables[entry.table_id]
        name, place = table.preamble.name, b"".join(sorted(match.SerializeToString() for match in entry.match))
        place = b"default" if entry.is_default_action else place + entry.priority.to_bytes(4, "big")
        if gone:
            self._runs.remove_row(name, place)
        else:
            self._runs.set_row(name, place, *self._row(table, entry))

    def _row(self, table: p4i.Table, entry: Any) -> tuple[int, Entry]:
        """The rank of an entry, of which the smallest wins, and the entry."""
        given = {match.field_id: match for match in entry.match}
        matches = []
        for field in table.match_fields:
            match = given.get(field.id)
            if match is None:
                matches.append((0, 0))
            elif match.HasField("exact"):
                matches.append((int.from_bytes(match.exact.value, "big"), _EXACT))
            else:
                parts = match.ternary.value, match.ternary.mask
                matches.append((int.from_bytes(parts[0], "big"), int.from_bytes(parts[1], "big")))
        action = next(a for a in self.info.actions if a.preamble.id == entry.action.action.action_id)
        values = {param.param_id: int.from_bytes(param.value, "big") for param in entry.action.action.params}
        call = (action.preamble.name.rpartition(".")[2], [values[param.id] for param in action.params])
        if entry.is_default_action:
            return _LOWEST, ([(0, 0)] * len(matches), call)
        return -entry.priority, (matches, call)

    def _read(self, request: p4r.ReadRequest, _: object) -> Any:
        answer = p4r.ReadResponse()
        with self._lock:
            for entity in request.entities:
                asked = entity.counter_entry
                found = answer.entities.add().counter_entry
                found.CopyFrom(asked)
                counted = self._runs.pipe.counter(self._counters[asked.counter_id])
                found.data.packet_count = counted.get(asked.index.index, 0)
        yield answer
