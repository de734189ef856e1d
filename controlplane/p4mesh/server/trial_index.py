"""Finds every trial in ``trials.jsonl`` again, so that some of them are read without the rest.

A run of 10,000 trials has hundreds of megabytes of them; a reader looks at a page of a few hundred.
"""

from __future__ import annotations

import os
from array import array
from typing import Any

import msgspec
from msgspec import Struct

from p4mesh.errors import RunDirectoryError
from p4mesh.report.verdict import reason_of
from p4mesh.server.growing_file import GrowingFile
from p4mesh.store.confined import Folder
from p4mesh.store.stored_run import TRIALS
from p4mesh.store.verdict_words import verdict_of

MOST_ROWS = 200
"""Trials that are handed out at a time."""
_STEP_BYTES = 256 << 10
_MOST_BYTES = 256 << 20
"""Bytes of the file that are looked through at a time: the rest has its turn at the next look."""


class _Latency(Struct):
    count: int
    sum_ns: float
    max_ns: float


class _Queues(Struct):
    excess_ppm: float | None = None


class _Result(Struct):
    status: str
    reason: str
    tx_frames: int
    rx_frames: int
    expected_rx_frames: int
    lost_frames: int
    duration_ns: int
    latency: _Latency | None = None
    queues: _Queues | None = None


class _Trial(Struct):
    unit: str
    trial: int
    load_pct: float
    verdict: str
    result: _Result


class TrialIndex:
    """Where the line of each trial ends: eight bytes per trial, however long its line is."""

    def __init__(self) -> None:
        self.generation = 0
        """Grows when trials have another order than before."""
        self._file = GrowingFile(TRIALS)
        self._ends = array("Q")

    def __len__(self) -> int:
        return len(self._ends)

    def refresh(self, folder: Folder) -> None:
        """Look for lines that are new."""
        if self._file.begins_again(folder):
            # A run that ends puts its trials in order.
            self.generation += 1
            del self._ends[:]
        start = read_from = self._file.offset
        most = min(self._file.size, start + _MOST_BYTES)
        if read_from == most:
            return
        # One buffer for all parts: new memory for each of them takes longer than to read and to look through them.
        part = bytearray(_STEP_BYTES)
        with folder.opened(TRIALS) as descriptor:
            while read_from < most and (length := os.preadv(descriptor, [part], read_from)):
                end = part.find(b"\n", 0, length) + 1
                while end:
                    self._ends.append(read_from + end)
                    end = part.find(b"\n", end, length) + 1
                read_from += length
        if self._ends:
            self._file.offset = self._ends[-1]

    def rows(self, folder: Folder, first: int, most: int = MOST_ROWS) -> list[dict[str, Any]]:
        """Trials from place ``first`` on, ``most`` at most; raises RunDirectoryError for a damaged line."""
        found = []
        for place in range(max(0, first), min(len(self), first + min(most, MOST_ROWS))):
            start = self._ends[place - 1] if place else 0
            line = folder.read(TRIALS, self._ends[place] - start, start)
            try:
                found.append(_row(place, msgspec.json.decode(line, type=_Trial)))
            except (ValueError, RecursionError) as error:
                raise RunDirectoryError(
                    f"{TRIALS}: line {place + 1}: damaged: {str(error)[:120]}", hint="p4mesh show names what is wrong"
                ) from None
        return found


def _row(place: int, trial: _Trial) -> dict[str, Any]:
    result, latency = trial.result, trial.result.latency
    measured = latency is not None and latency.count > 0
    verdict = verdict_of(trial.verdict)
    excess_ppm = result.queues.excess_ppm if result.queues else None
    return {
        "number": place + 1,
        "unit": trial.unit,
        "trial": trial.trial + 1,
        "load_pct": trial.load_pct,
        "verdict": verdict.value,
        "status": verdict_of(result.status).value,
        "reason": reason_of(verdict, result.reason, result.lost_frames, excess_ppm),
        "duration_ns": result.duration_ns,
        "tx_frames": result.tx_frames,
        "rx_frames": result.rx_frames,
        "lost_frames": result.lost_frames,
        "expected_rx_frames": result.expected_rx_frames,
        "latency_ns_avg": latency.sum_ns / latency.count if latency and measured else None,
        "latency_ns_max": latency.max_ns if latency and measured else None,
    }
