"""Progress of a run on stderr: trial, load, loss, and how much remains."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TextIO

from p4mesh.run.execution import TrialReport

_STRAYS = ("flooded", "misdirected")
_TRIALS_BEFORE_OUTLOOK = 5
"""The first trials also start processes and targets; they say little about the rest."""


class Progress:
    """Prints one line per trial."""

    def __init__(
        self,
        expected: Mapping[str, int],
        stream: TextIO | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._remaining = dict(expected)
        self._stream = stream or sys.stderr
        self._clock_s = clock_s
        self._started_s = clock_s()
        self._done = 0
        self._measured = 0

    def trial(self, report: TrialReport) -> None:
        """Show a finished trial."""
        self._done += 1
        self._measured += report.timing is not None
        self._remaining[report.trial.unit] = report.remaining
        left = sum(self._remaining.values())
        result = report.trial.result
        expected = result["expected_rx_frames"]
        loss = f"loss {100 * result['lost_frames'] / expected:8.4f} %" if expected else "no frames"
        size, _, part = report.trial.unit.partition("B/")
        strays = "".join(f"  {result[f'{word}_frames']} {word}" for word in _STRAYS if result.get(f"{word}_frames"))
        trust = "" if result["status"] == "VALID" else f"  {result['status']}: {result['reason']}"
        origin = "  (stored)" if report.timing is None else ""
        self.line(
            f"[{self._done:>3}/~{self._done + left}] {size:>4} B {part:<10} load {report.trial.load_pct:8.4f} %"
            f"  {loss}{strays}{trust}{origin}  {self._outlook(left)}"
        )

    def unit_finished(self, unit: str) -> None:
        """Note that no trial of this unit remains."""
        self._remaining[unit] = 0

    def line(self, text: str) -> None:
        """Print one line."""
        print(text, file=self._stream, flush=True)

    def _outlook(self, left: int) -> str:
        if not left:
            return "| last trials"
        if self._measured < _TRIALS_BEFORE_OUTLOOK:
            return f"| ~{left} left"
        seconds = (self._clock_s() - self._started_s) / self._measured * left
        return f"| ~{left} left, ~{seconds:.0f} s"
