"""Reads and clears the cells of the tester in band (docs/DATAPLANE.md, "Records").

A reading frame goes round once or more per cell and leaves one packet-in for each. Frames and packet-ins may be lost,
come twice or come late; the returned records are complete, or an error is raised. Where the channel to the controller
carries fewer records than the loop makes, cells are read in windows: the next one is asked for when the one before has
come, and a window that loses records is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from p4mesh.errors import TargetError
from p4mesh.p4runtime import PacketIn
from p4mesh.tester.cell_ranges import ranges_of
from p4mesh.tester.contract import Contract
from p4mesh.tester.records import with_read_ticks
from p4mesh.tester.switch_client import SwitchClient

WaitForPasses = Callable[[int], None]
"""Lets the target's time pass until a frame has made this many rounds of the loop."""

_READ_ATTEMPTS = 3
_WINDOW_TIMEOUT_S = 0.5
"""The records of a window come within milliseconds; none for this long are lost."""
PASSES_BESIDE = 2
"""Rounds of a reading frame beside those for its cells: on its way in, and on its way out."""
FRAMES_PER_PASS = 16
"""Reading frames that a loop carries beside its seeds without a round becoming longer."""
_TIME_BITS = 48


@dataclass(frozen=True)
class RecordFormat:
    """Form of the reports that a target sends for a cell."""

    decode: Callable[[Sequence[bytes]], np.ndarray[Any, Any]]
    """From the payloads of packet-ins to records; each payload begins with its cell in 4 bytes."""
    passes: int = 1
    """Rounds of the loop that a reading frame makes for a cell."""
    window_cells: int | None = None
    """Cells that are read at a time; None where the target takes as many records as there are."""
    flags: int = 0
    """Flags of requests for these reports."""


def v1model_format(contract: Contract) -> RecordFormat:
    """Return the format of ``record_t``."""
    dtype = np.dtype([(name, f">u{width}") for name, width in contract.record_fields])
    return RecordFormat(lambda payloads: np.frombuffer(b"".join(payloads), dtype=dtype))


def message_format(contract: Contract) -> RecordFormat:
    """Return the format of ``record_t`` with ``message_record_t`` behind it."""
    dtype = np.dtype([(name, f">u{width}") for name, width in (*contract.record_fields, *contract.message_fields)])
    return RecordFormat(
        lambda payloads: np.frombuffer(b"".join(payloads), dtype=dtype), flags=contract["READ_MESSAGES"]
    )


class CellReader:
    """Sends reading frames and takes their records; ``keep`` gets all other packet-ins."""

    def __init__(
        self, client: SwitchClient, contract: Contract, form: RecordFormat, keep: Callable[[PacketIn], object]
    ) -> None:
        self._client = client
        self._contract = contract
        self._form = form
        self._keep = keep
        self._last_record_ticks: int | None = None
        self._window_cells = form.window_cells

    @property
    def passes_per_cell(self) -> int:
        """Rounds of the loop that a reading frame makes for a cell."""
        return self._form.passes

    def forget(self) -> None:
        """Begin anew with a program that has just been loaded."""
        self._last_record_ticks = None
        self._window_cells = self._form.window_cells

    def clear(self, cells: int, wait: WaitForPasses, *, window: int = 0, port: int = 0, flags: int = 0) -> None:
        """Clear every register of cells 0 to ``cells`` - 1; confirmed by the last record.

        ``window`` is the place of the duplicate window that is cleared, ``port`` the loop port that the frame
        circulates in when it is not 0, ``flags`` those of the report whose registers are cleared, too.
        """
        older = self._last_record_ticks
        flags |= self._contract["FLAG_CLEAR"] | self._contract["FLAG_SILENT"]
        for _ in range(_READ_ATTEMPTS):
            self._request(cells, flags=flags, window=window, value=0, port=port)
            wait(self._form.passes * cells + PASSES_BESIDE)
            if self._records({cells - 1}, older):
                return
        raise TargetError(
            f"a clearing pass over {cells} cells did not return in {_READ_ATTEMPTS} attempts",
            hint="the controller channel or the loop loses frames",
        )

    def read(
        self, wanted: Sequence[range], wait: WaitForPasses, *, port: int = 0, form: RecordFormat | None = None
    ) -> np.ndarray[Any, Any]:
        """Return the records of some cells in their order: fields as in ``record_t``, and when each was read.

        With a ``form``, records are of that form.

        Each range has a reading frame of its own, and up to FRAMES_PER_PASS circulate at the same time: more of them
        would hold up the seeds of streams, whose departures would be late. Records that are
        lost, or a reading frame, are noticed by the missing cells, which are read again. Of duplicate records the
        first is kept, and records of an earlier reading, which may come late or twice, are known by their time.
        Raises TargetError when records stay missing.
        """
        form = form or self._form
        found: dict[int, PacketIn] = {}
        cells = [cell for part in wanted for cell in part]
        missing = list(wanted)
        older = self._last_record_ticks
        for _ in range(_READ_ATTEMPTS):
            for together in self._windows(missing):
                for part in together:
                    self._request(len(part), value=part.start, port=port, flags=form.flags)
                wait(form.passes * max(map(len, together)) + PASSES_BESIDE)
                asked = {cell for part in together for cell in part}
                come = self._records(asked, older, None if self._window_cells is None else _WINDOW_TIMEOUT_S)
                found |= come
                if len(come) < len(asked) and self._window_cells is not None:
                    self._window_cells = max(1, self._window_cells // 2)
            missing = ranges_of([cell for cell in cells if cell not in found])
            if not missing:
                packets = [found[cell] for cell in cells]
                records = form.decode([packet.payload for packet in packets])
                return with_read_ticks(records, [packet.metadata["time"] for packet in packets])
        raise TargetError(
            f"{sum(map(len, missing))} of {len(cells)} records were not received in {_READ_ATTEMPTS} attempts",
            hint="the controller channel or the loop loses frames",
        )

    def _windows(self, runs: Sequence[range]) -> Iterator[Sequence[range]]:
        """Yield the cells that are read together; a window may shrink between two of them."""
        if self._window_cells is None:
            for first in range(0, len(runs), FRAMES_PER_PASS):
                yield runs[first : first + FRAMES_PER_PASS]
            return
        for run in runs:
            while run:
                taken = min(self._window_cells, len(run))
                yield [run[:taken]]
                run = run[taken:]

    def _request(self, count: int, **fields: int) -> None:
        self._client.packet_out(b"", kind=self._contract["KIND_READ"], count=count, **fields)

    def _records(self, cells: Set[int], older: int | None, timeout_s: float | None = None) -> dict[int, PacketIn]:
        """Return the first record of each cell that was read later than ``older``; fewer when no more come."""
        found: dict[int, PacketIn] = {}
        kind = self._contract["KIND_READ"]
        while len(found) < len(cells) and (packets := self._client.take_packet_ins(len(cells) - len(found), timeout_s)):
            for packet in packets:
                cell = int.from_bytes(packet.payload[:4], "big")
                if packet.metadata["kind"] != kind:
                    self._keep(packet)
                elif cell in cells and (older is None or _is_later(packet.metadata["time"], older)):
                    self._last_record_ticks = packet.metadata["time"]
                    found.setdefault(cell, packet)
        return found


def _is_later(ticks: int, other: int) -> bool:
    """Compare two time stamps of 48 bits, which wrap; 0 means no time stamp."""
    return ticks == 0 or 0 < (ticks - other) % (1 << _TIME_BITS) < 1 << (_TIME_BITS - 1)
