"""The interpreted sources of the tester (tna_pipe.py) as the chip behind a fake server, in virtual time.

Entries come by the names of P4Info, registers and counters are read by them. Time passes when a frame comes from the
CPU port: until reading frames have come back, and, behind a start, until all streams are through, where nobody lets
time pass by :meth:`InterpretedChip.wait`. Rounds in which no seed departs are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from support.p4_interpreter import Entry
from support.tna_pipe import EGRESS_TICKS, Sent, TnaPipe, program_of

Arrival = tuple[int, int]
"""(port in, ticks since the frame was sent)."""
_CLOCKS = "TesterIngress.streams.departure_clock.clock_cells"
_STREAMS = "TesterIngress.streams.stream"
_ROUND_TICKS = 700
_FAR_AHEAD_TICKS = 1 << 29
_MOST_ROUNDS = 100_000


class InterpretedChip:
    """Pipes with entries; ``forward`` tells where each frame that leaves a port comes back."""

    def __init__(
        self,
        name: str,
        tables: Iterable[str],
        pipes: int,
        forward: Callable[[Sent], Iterable[Arrival]],
        *,
        sends_at_once: bool = True,
    ) -> None:
        self.entries: dict[str, list[Entry]] = {table: [] for table in tables}
        """Entries by table, as the interpreter has them when time passes."""
        self._changed: set[str] = set()
        self._rows: dict[str, dict[object, tuple[int, Entry]]] = {table: {} for table in self.entries}
        self.pipe = TnaPipe(program_of(name), self.entries, round_ticks=_ROUND_TICKS, pipes=pipes)
        self.reports: list[bytes] = []
        """Frames to the controller that have not been taken."""
        self._forward = forward
        self._sends_at_once = sends_at_once

    # Tables

    def set_row(self, table: str, place: object, rank: int, entry: Entry) -> None:
        """Take an entry; of those that match, the one with the smallest rank wins."""
        self._rows[table][place] = (rank, entry)
        self._changed.add(table)

    def remove_row(self, table: str, place: object) -> None:
        """Forget an entry."""
        del self._rows[table][place]
        self._changed.add(table)

    def clear_rows(self, table: str) -> None:
        """Forget all entries of a table."""
        self._rows[table].clear()
        self._changed.add(table)

    def _sort(self) -> None:
        while self._changed:
            table = self._changed.pop()
            rows = sorted(self._rows[table].values(), key=lambda known: known[0])
            self.entries[table][:] = [row for _, row in rows]

    # Time

    def from_cpu(self, frame: bytes) -> None:
        """Take a frame from the CPU port, and let time pass."""
        self._sort()
        constants = self.pipe.program.constants
        self.pipe.arrive(self.pipe.cpu, self.pipe.now, frame)
        if frame[0] == constants["KIND_SEED"]:
            self.pipe.run(self.pipe.now + 1)
            return
        self._until(self.pipe.is_idle)
        if not self._sends_at_once or frame[0] != constants["KIND_START"]:
            return
        if int.from_bytes(frame[6:10], "big") < _FAR_AHEAD_TICKS:
            self._send_all()

    def wait(self, ticks: int) -> None:
        """Let time pass."""
        self._sort()
        end = self.pipe.now + ticks
        while self.pipe.now < end:
            if self.pipe.is_idle():
                self.pipe.skip_to(min([end, *self._dues()]))
            self._run()

    def _send_all(self) -> None:
        """Let time pass until no stream has departures left, and its last frames have arrived."""
        while (dues := self._dues()) and self.pipe.seeds():
            if self.pipe.is_idle():
                self.pipe.skip_to(min(dues))
            self._run()
        self._until(self.pipe.is_idle)

    def _dues(self) -> list[int]:
        """Time at which the next slot begins, of each stream that has departures left."""
        found = []
        for [(stream, _)], (_, arguments) in self.entries[_STREAMS]:
            clock = self.pipe.cells_of(_CLOCKS).cells.get(stream)
            if clock is not None and (words := clock.values())["high"]:
                due = words["low"] + arguments[0]
                found.append(self.pipe.now + _signed(due - self.pipe.now))
        return found

    def _until(self, holds: Callable[[], bool]) -> None:
        for _ in range(_MOST_ROUNDS):
            if holds():
                return
            self._run()
        raise AssertionError("frames go round for ever")

    def _run(self) -> None:
        self.pipe.run(self.pipe.now + _ROUND_TICKS + EGRESS_TICKS)
        for sent in self.pipe.sent:
            for port, ticks in self._forward(sent):
                self.pipe.arrive(port, sent.at + ticks, sent.frame)
        self.pipe.sent.clear()
        self.reports += self.pipe.to_controller
        self.pipe.to_controller.clear()


def _signed(ticks: int) -> int:
    low = ticks % (1 << 32)
    return low - (1 << 32) if low >> 31 else low
