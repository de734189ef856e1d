"""Reads and clears the cells of the tester in band (docs/DATAPLANE.md, "Records").

A reading frame goes round once or more per cell and leaves one packet-in for each. Frames and packet-ins may be lost,
come twice or come late; the returned records are complete, or an error is raised. Where the channel to the controller
carries fewer records than the loop makes, cells are read in windows: the next one is asked for when the one before has
come, and a window that loses records is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from p4mesh.errors import TargetError
from p4mesh.p4runtime import PacketColumns, PacketIn
from p4mesh.p4runtime.client import wall_clock_s
from p4mesh.p4runtime.packet_ins import numbers_of
from p4mesh.quantities import number_text
from p4mesh.tester.cell_ranges import ranges_of
from p4mesh.tester.contract import Contract
from p4mesh.tester.records import chosen_records, with_read_ticks
from p4mesh.tester.switch_client import SwitchClient

WaitForPasses = Callable[[int], None]
"""Lets the target's time pass until a frame has made this many rounds of the loop."""

_READ_ATTEMPTS = 3
_SHORTEST_WAIT_S = 0.5
"""The records of a window come within milliseconds on a chip; none for this long are lost there."""
_PATIENCE = 10
"""Records of a window may take so many times as long as the slowest reading so far; each attempt doubles it."""
_RECEIVE_RINGS = 8
"""Rings of the CPU port of a Tofino; the low bits of the first byte, a frame's kind, choose one (docs/TOFINO.md)."""
PASSES_BESIDE = 2
"""Rounds of a reading frame beside those for its cells: on its way in, and on its way out."""
FRAMES_PER_PASS = 16
"""Reading frames that a loop carries beside its seeds without a round becoming longer."""
_TIME_BITS = 48
_CELL_BYTES = 4

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class RecordFormat:
    """Format of the reports that a target sends for a cell."""

    decode: Callable[[Array], Array]
    """Makes records of the payloads of packet-ins: a row of bytes for each, which begins with its cell in 4 bytes."""
    passes: int = 1
    """Rounds of the loop that a reading frame makes for a cell."""
    window_cells: int | None = None
    """Cells that are read at a time; None where the target takes as many records as there are."""
    flags: int = 0
    """Flags of requests for these reports."""


def v1model_format(contract: Contract) -> RecordFormat:
    """Reports of one ``record_t``."""
    dtype = np.dtype([(name, f">u{width}") for name, width in contract.record_fields])
    return RecordFormat(lambda payloads: np.ascontiguousarray(payloads).reshape(-1).view(dtype))


def message_format(contract: Contract) -> RecordFormat:
    """Reports of a ``record_t`` with a ``message_record_t`` behind it."""
    dtype = np.dtype([(name, f">u{width}") for name, width in (*contract.record_fields, *contract.message_fields)])
    return RecordFormat(
        lambda payloads: np.ascontiguousarray(payloads).reshape(-1).view(dtype), flags=contract["READ_MESSAGES"]
    )


@dataclass(frozen=True)
class _Arrived:
    """Records as they came, of cells that differ."""

    cells: Array
    packets: PacketColumns


class CellReader:
    """Sends reading frames and takes their records; ``keep`` gets all other packet-ins."""

    def __init__(
        self,
        client: SwitchClient,
        contract: Contract,
        form: RecordFormat,
        keep: Callable[[PacketIn], object],
        clock_s: Callable[[], float] = wall_clock_s,
    ) -> None:
        self._client = client
        self._contract = contract
        self._form = form
        self._keep = keep
        self._last_record_ticks: int | None = None
        self._window_cells = form.window_cells
        self._clock_s = clock_s
        self._pass_s = 0.0
        """Longest time of a pass, with a share of the way to the controller; 0 before the first reading."""

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
            passes, began_s = self._form.passes * cells + PASSES_BESIDE, self._clock_s()
            self._request(cells, flags=flags, window=window, value=0, port=port)
            wait(passes)
            if self._records([range(cells - 1, cells)], older):
                self._learn(passes, self._clock_s() - began_s)
                return
        raise TargetError(
            f"a clearing pass over {cells} cells did not return in {_READ_ATTEMPTS} attempts",
            hint="the controller channel or the loop loses frames",
        )

    def read(
        self, wanted: Sequence[range], wait: WaitForPasses, *, port: int = 0, form: RecordFormat | None = None
    ) -> Array:
        """Records of the cells of ``wanted``, in their order: the fields of ``record_t``, and when each was read.

        With a ``form``, records are of that form.

        Each range has a reading frame of its own, and up to FRAMES_PER_PASS circulate at the same time: more of them
        would hold up the seeds of streams, whose departures would be late. Records that are
        lost, or a reading frame, are noticed by the missing cells, which are read again. Of duplicate records the
        first is kept, and records of an earlier reading, which may come late or twice, are known by their time.
        Raises TargetError when records stay missing.
        """
        form = form or self._form
        found: list[_Arrived] = []
        cells = np.array([cell for part in wanted for cell in part], dtype=np.int64)
        lost = _marked(wanted)
        missing = list(wanted)
        older = self._last_record_ticks
        for attempt in range(_READ_ATTEMPTS):
            for together in self._windows(missing):
                passes, began_s = form.passes * max(map(len, together)) + PASSES_BESIDE, self._clock_s()
                for part in together:
                    self._request(len(part), value=part.start, port=port, flags=form.flags)
                wait(passes)
                patience_s = self._patience_s(passes, attempt)
                come = self._records(together, older, patience_s)
                for arrived in come:
                    lost[arrived.cells] = False
                found += come
                needed_s = self._clock_s() - began_s
                if not any(lost[part.start : part.stop].any() for part in together):
                    self._learn(passes, needed_s)
                    continue
                if come:
                    # Behind the last record that came nothing did until patience was over.
                    self._learn(passes, needed_s - (patience_s or 0))
                # Records were lost: the channel to the controller is slower than the loop, so smaller windows lose
                # fewer of them.
                if self._window_cells is not None:
                    self._window_cells = max(1, self._window_cells // 2)
            missing = ranges_of(np.flatnonzero(lost).tolist())
            if not missing:
                return _in_order(found, cells, form)
        text = f"{sum(map(len, missing))} of {len(cells)} records were not received in {_READ_ATTEMPTS} attempts"
        if self._window_cells is None:
            raise TargetError(text, hint="the controller channel or the loop loses frames")
        raise self._lost_or_late(text, missing, older)

    def _learn(self, passes: int, needed_s: float) -> None:
        """Take note of the time from a request to its last record."""
        self._pass_s = max(self._pass_s, needed_s / passes)

    def _patience_s(self, passes: int, attempt: int) -> float | None:
        """Time to wait for the next record of a window; None where the client knows.

        Until something has been read, it is as long as any answer of the switch may take.
        """
        if self._window_cells is None:
            return None
        if not self._pass_s:
            return self._client.timeout_s
        expected_s = _PATIENCE * passes * self._pass_s * (1 << attempt)
        return min(self._client.timeout_s, max(_SHORTEST_WAIT_S, expected_s))

    def _lost_or_late(self, text: str, missing: Sequence[range], older: int | None) -> TargetError:
        """The error for records that did not come, after it has listened on for them."""
        began_s, limit_s = self._clock_s(), self._client.timeout_s
        come = sum(len(arrived.cells) for arrived in self._records(missing, older, limit_s))
        if come:
            return TargetError(
                f"{text}; {come} of them came up to {self._clock_s() - began_s:.1f} s later: the switch is slow",
                hint="lower the load, or set a longer tester.tofino.request_timeout_s: records are waited for up to it",
            )
        lost = "".join(f"; {frames:,} frames by {name}" for name, frames in self._client.lost_packet_ins().items())
        ring = self._contract["KIND_READ"] % _RECEIVE_RINGS
        return TargetError(
            f"{text}, and none came in {number_text(limit_s)} s more: the frames are lost{lost}",
            hint=f"look at receive ring {ring} of the CPU port, to which records go, and at the loop (docs/TOFINO.md)",
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

    def _records(self, cells: Sequence[range], older: int | None, timeout_s: float | None = None) -> list[_Arrived]:
        """First record of each cell that was read later than ``older``; fewer when no more come."""
        found: list[_Arrived] = []
        asked = _marked(cells)
        missing = asked.copy()
        count = np.count_nonzero(missing)
        while count and (come := self._client.take_packet_columns(count, timeout_s)):
            for packets in map(self._of_readings, come):
                numbers = numbers_of(packets.payloads[:, :_CELL_BYTES]).astype(np.int64)
                times = packets.metadata["time"].astype(np.int64)
                wanted = numbers < len(asked)
                wanted[wanted] = asked[numbers[wanted]]
                if older is not None:
                    wanted &= _are_later(times, older)
                places = np.flatnonzero(wanted)
                if not len(places):
                    continue
                self._last_record_ticks = int(times[places[-1]])
                places = places[missing[numbers[places]]]
                places = places[np.unique(numbers[places], return_index=True)[1]]
                packets, numbers = packets.some(places), numbers[places]
                found.append(_Arrived(numbers, packets))
                missing[numbers] = False
                count -= len(numbers)
        return found

    def _of_readings(self, packets: PacketColumns) -> PacketColumns:
        """Picks the packet-ins that are records, and keeps the others."""
        records = packets.metadata["kind"] == self._contract["KIND_READ"]
        if records.all():
            return packets
        for packet in packets.some(~records):
            self._keep(packet)
        return packets.some(records)


def _marked(cells: Sequence[range]) -> Array:
    """Truth value for each cell up to the last of ``cells``: whether it is among them."""
    found = np.zeros(max(part.stop for part in cells), dtype=bool)
    for part in cells:
        found[part.start : part.stop] = True
    return found


def _in_order(found: Sequence[_Arrived], cells: Array, form: RecordFormat) -> Array:
    """Records of ``cells``, all of which have come, each with the time of its reading."""
    # Payloads of one length are decoded together.
    parts = [
        form.decode(np.concatenate([arrived.packets.payloads for arrived in same]))
        for _, same in groupby(found, key=lambda arrived: arrived.packets.payloads.shape[1])
    ]
    records = parts[0] if len(parts) == 1 else np.concatenate(parts)
    come = np.concatenate([arrived.cells for arrived in found])
    places = np.zeros(come.max() + 1, dtype=np.int64)
    places[come] = np.arange(len(come))
    order = places[cells]
    ticks = np.concatenate([arrived.packets.metadata["time"] for arrived in found])
    return with_read_ticks(chosen_records(records, order), ticks[order])


def _are_later(ticks: Array, other: int) -> Array:
    """Compare time stamps of 48 bits, which wrap, with one; 0 means no time stamp."""
    after = (ticks - other) % (1 << _TIME_BITS)
    later: Array = (ticks == 0) | ((after > 0) & (after < 1 << (_TIME_BITS - 1)))
    return later
