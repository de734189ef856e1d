"""The tester program on a Tofino with BF Runtime: a record is put together from the registers of its cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from p4mesh.bfruntime import BfClient
from p4mesh.errors import TargetError
from p4mesh.target.chips import PORTS_PER_PIPE
from p4mesh.tester.cell_reader import WaitForPasses
from p4mesh.tester.contract import Contract
from p4mesh.tester.dataplane import SwitchPorts
from p4mesh.tester.mirror_capture import MirrorCapture
from p4mesh.tester.records import IPDV_ZERO, READ_TICKS, chip_fields, ipdv_bins
from p4mesh.tester.tofino_dataplane import OF_PORTS, TofinoDataPlane

_Word = tuple[str, str]
"""The end of a register's name, and its field: ``f1`` of single words, ``low`` or ``high`` of pairs."""
_SPACING: _Word = ("arrival_spacing.spacing_cells", "f1")
_LAST_START = "arrival_spacing.last_start_cells"
_MESSAGE_TIMES = ("fifo", "lilo", "filo")


def _flow_pair(name: str) -> tuple[_Word, ...]:
    return (f"cells.{name}_cells", "high"), (f"cells.{name}_cells", "low")


def _flow_word(name: str, field: str = "f1") -> tuple[_Word, ...]:
    return ((f"cells.{name}_cells", field),)


def _message_word(name: str, field: str = "f1") -> tuple[_Word, ...]:
    return ((f"messages.{name}_cells", field),)


WORDS: Mapping[str, tuple[_Word, ...]] = {
    "frames": _flow_pair("frames"),
    "duplicates": _flow_word("duplicates"),
    "reordered": _flow_word("reordered"),
    "next_sequence": _flow_word("sequence"),
    "last_gap_time": _flow_pair("last_gap"),
    "latency_min_inverted": _flow_word("latency_extremes", "high"),
    "latency_max": _flow_word("latency_extremes", "low"),
    "latency_sum_high": _flow_word("latency_sum", "high"),
    "latency_sum_low": _flow_word("latency_sum", "low"),
    "latency_last": _flow_word("latency_last"),
    "latency_overflows": _flow_word("latency_overflows"),
    "jitter_min_inverted": _flow_word("jitter_extremes", "high"),
    "jitter_max": _flow_word("jitter_extremes", "low"),
    "jitter_sum_high": _flow_word("jitter_sum", "high"),
    "jitter_sum_low": _flow_word("jitter_sum", "low"),
    "first_arrival": _flow_pair("first_arrival"),
    "last_arrival": _flow_pair("last_arrival"),
    "flow_sequence": (("flow_sequence.high_cells", "f1"), ("flow_sequence.low_cells", "f1")),
    "departures": (("departures.high_cells", "low"), ("departures.low_cells", "f1")),
    "first_departure": (("first_departure.first_cells", "high"), ("first_departure.first_cells", "low")),
    "last_departure": (("last_departure.last_cells", "high"), ("last_departure.last_cells", "low")),
}
"""Words of each field of a record that the program measures, the upper one first."""
_WITHOUT_RECORD = (
    *("departures.skipped_cells", "position.positions"),
    *("modifier_a.progression.progressions", "modifier_b.progression.progressions", _LAST_START, _SPACING[0]),
)
"""Registers that a trial begins with cleared beside those of records."""
IPDV_WORDS: Mapping[str, tuple[_Word, ...]] = {
    "ipdv_count": _flow_pair("ipdv_count"),
    "ipdv_min_inverted": _flow_word("ipdv_extremes", "high"),
    "ipdv_max": _flow_word("ipdv_extremes", "low"),
    "ipdv_sum_high": _flow_word("ipdv_sum", "high"),
    "ipdv_sum_low": _flow_word("ipdv_sum", "low"),
}
"""The same for what the profile with IPDV has beside them."""
MESSAGE_WORDS: Mapping[str, tuple[_Word, ...]] = {
    **{name: _message_word(name) for name in ("newest", "arrived", "complete", "damaged")},
    **{f"{time}_min_inverted": _message_word(f"{time}_extremes", "high") for time in _MESSAGE_TIMES},
    **{f"{time}_max": _message_word(f"{time}_extremes", "low") for time in _MESSAGE_TIMES},
    **{
        f"{time}_sum": _message_word(f"{time}_sum", "high") + _message_word(f"{time}_sum", "low")
        for time in _MESSAGE_TIMES
    },
}
"""The same for each field of a source of messages; smallest times are complements of 32 bits."""
_MESSAGE_STATE = tuple(
    f"messages.{name}_cells" for name in ("departure_of_first", "departure_of_last", "first_arrival")
)
"""Times of the newest message, which no record has."""
_UPPER_ONES = np.uint64(0xFFFFFFFF00000000)
_IN_ORDER = "cells.latency_in_order_cells"
_IPDV_MAX = IPDV_ZERO - 1
_WINDOW = "cells.window_cells"
_BYTES, _COUNTER_OF_BYTES = "bytes", "flow_bytes"
"""Field of a record that a counter has, FCS included; the server adds it up over the pipes."""
_UPPER_BANK = "upper_"


class RegisterDataPlane(TofinoDataPlane):
    """Reads and clears registers of every pipe. A reading frame is used for the time of the chip alone.

    Registers are fetched one after the other: while traffic runs, the fields of a record are of times that may be
    milliseconds apart, and a count still never goes back from one reading to the next.
    """

    message_time_bits = 32

    def __init__(self, client: BfClient, contract: Contract, ports: SwitchPorts) -> None:
        super().__init__(client, contract, ports)
        self._registers = client
        measures_ipdv = any(name.endswith(_IN_ORDER) for name in client.bfrt.tables)
        self._words = {**WORDS, **IPDV_WORDS} if measures_ipdv else WORDS
        self._bins_ipdv = measures_ipdv
        self._cleared = (*_WITHOUT_RECORD, *([_IN_ORDER] if measures_ipdv else []), _COUNTER_OF_BYTES)
        self.faults = MirrorCapture(client, contract, self._number_of, self._keep_punted)

    def clear(self, cells: int, wait: WaitForPasses) -> None:
        """Clear every register of all cells and ports, in every pipe."""
        self._registers.reset([*self._in_banks(_names(self._words)), *self._cleared])

    def clear_windows(self, cells: int, wait: WaitForPasses) -> None:
        """Clear the duplicate windows of all cells, and everything else there."""
        self.clear(cells, wait)
        self._registers.reset(self._in_banks([_WINDOW]))

    def read(self, cells: int, wait: WaitForPasses) -> np.ndarray[Any, Any]:
        """Records of cells 0 to ``cells`` - 1 of all pipes."""
        found = self.read_some([range(cells)], wait)
        name, field = _SPACING
        devices = {number: device for number, device in self._ports.devices.items() if number < cells}
        self._registers.sync([name])
        spacings = self._registers.read_registers(name, list(devices.values()))[field]
        for place, (number, device) in enumerate(devices.items()):
            found[OF_PORTS][number] = spacings[device // PORTS_PER_PIPE, place]
        return found

    def _ipdv_bins(self, records: np.ndarray[Any, Any], finer_bits: int) -> range:
        """Bins of the profile with IPDV; none where a difference may have wrapped."""
        wrapped = bool((records["latency_max"] > _IPDV_MAX).any())
        return ipdv_bins(records, finer_bits) if self._bins_ipdv and not wrapped else range(0)

    def _ipdv_cells(self, histogram: int, half: int, size: int) -> tuple[str, int, int]:
        """A counter for each half, as one stage has no room for both."""
        return ("ipdv_increases", "ipdv_decreases")[half], histogram * size, size

    def clear_messages(self, sources: int, wait: WaitForPasses) -> None:
        """Clear the messages of all sources, in every pipe."""
        self._registers.reset([*_names(MESSAGE_WORDS), *_MESSAGE_STATE])

    def read_messages(self, sources: int, wait: WaitForPasses) -> np.ndarray[Any, Any]:
        """Records of sources 0 to ``sources`` - 1, each from the pipe of its receive port."""
        names = _names(MESSAGE_WORDS)
        self._registers.sync(names)
        cells = np.arange(sources, dtype=np.int64)
        values = {name: self._values(name, cells) for name in names}
        ((name, word),) = MESSAGE_WORDS["arrived"]
        came = values[name][word] > 0
        twice = np.flatnonzero(came.sum(axis=0) > 1)
        if len(twice):
            raise TargetError(
                f"source {twice[0]} of messages has counts in two pipes",
                hint="a device has changed the port of a flow during the trial, or the switch was not cleared",
            )
        pipe = came.argmax(axis=0), cells
        found = np.zeros(sources, dtype=[(field, "u8") for field in MESSAGE_WORDS])
        for field, words in MESSAGE_WORDS.items():
            for name, word in words:
                found[field] = found[field] << np.uint64(32) | values[name][word][pipe]
        for time in _MESSAGE_TIMES:
            found[f"{time}_min_inverted"] |= np.where(found["complete"] > 0, _UPPER_ONES, np.uint64(0))
        return found

    def _of_pipes(self, wanted: Sequence[range], wait: WaitForPasses) -> dict[int, np.ndarray[Any, Any]]:
        cells = np.array([cell for part in wanted for cell in part], dtype=np.int64)
        ticks = int(self._reader.read([range(1)], wait)[READ_TICKS][0])
        self._registers.sync(self._in_banks(_names(self._words)))
        kept = [(name, width) for name, width in chip_fields(self._contract.record_fields) if name in self._words]
        form = [
            ("cell", ">u4"),
            *((name, f">u{width}") for name, width in kept),
            *((_BYTES, ">u8"), (OF_PORTS, ">u4"), (READ_TICKS, "u8")),
        ]
        of_pipes = {pipe: np.zeros(len(cells), dtype=form) for pipe in self._pipes}
        known: dict[str, dict[str, np.ndarray[Any, Any]]] = {}
        for field, _ in kept:
            for name, word in self._words[field]:
                if name not in known:
                    known[name] = self._values(name, cells)
                for pipe, records in of_pipes.items():
                    records[field] = records[field].astype(np.uint64) << np.uint64(32) | known[name][word][pipe]
        octets = [data.bytes for _, data in self._registers.read_counters(_COUNTER_OF_BYTES, cells.tolist())]
        for records in of_pipes.values():
            records["cell"] = cells
            records[_BYTES] = np.where(records["frames"] > 0, octets, 0)
            records[READ_TICKS] = ticks
            if "ipdv_count" in self._words:
                with_signed_ipdv(records)
        return of_pipes

    def _values(self, name: str, cells: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        """Fields of a register for some cells: rows are pipes. A cell that has none reads as 0."""
        pipes = self._pipes[-1] + 1
        fields = self._registers.bfrt.table(name).data_by_id.values()
        found = {one.name.rpartition(".")[2]: np.zeros((pipes, len(cells)), dtype=np.uint64) for one in fields}
        for first, bank in self._banks(name):
            size = self._registers.bfrt.table(bank).size
            inside = np.flatnonzero((cells >= first) & (cells < first + size))
            if len(inside) == 0:
                continue
            for field, values in self._registers.read_registers(bank, (cells[inside] - first).tolist()).items():
                if len(values) < pipes:
                    raise TargetError(
                        f"the switch has registers of {len(values)} pipes, tester ports are in pipe {self._pipes[-1]}",
                        hint="pipes of the chip are one program with symmetric tables: look at its .conf file",
                    )
                found[field][:, inside] = values[:pipes]
        return found

    def _banks(self, name: str) -> list[tuple[int, str]]:
        """(first cell, name) of each register that holds a part of the cells."""
        banks = [(0, name)]
        if name.startswith("cells.") and self._contract["FLOWS"] > 1 << self._contract["BANK_BITS"]:
            banks.append((1 << self._contract["BANK_BITS"], _UPPER_BANK + name))
        return banks

    def _in_banks(self, names: Iterable[str]) -> list[str]:
        return [bank for name in names for _, bank in self._banks(name)]


def _names(of: Mapping[str, tuple[_Word, ...]]) -> list[str]:
    """Registers that have the words."""
    return sorted({name for words in of.values() for name, _ in words})


def with_signed_ipdv(records: np.ndarray[Any, Any]) -> None:
    """Make of the sums of a chip, each of whose samples has its top bit flipped, those of v1model.

    Where a latency of a flow is beyond the largest IPDV, a difference may have wrapped, and the flow has no IPDV.
    """
    wrapped = records["latency_max"] > _IPDV_MAX
    records["ipdv_count"][wrapped] = 0
    low = records["ipdv_sum_low"].astype(np.uint64)
    total = (records["ipdv_sum_high"].astype(np.uint64) << np.uint64(32) | low) - records["ipdv_count"].astype(
        np.uint64
    ) * np.uint64(IPDV_ZERO)
    records["ipdv_sum_high"] = (total.astype(np.int64) >> 32).astype(np.uint64)
    records["ipdv_sum_low"] = total & np.uint64(0xFFFFFFFF)
