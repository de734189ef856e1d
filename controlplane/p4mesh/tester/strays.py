"""Flooded and misdirected frames of each flow, of trials whose streams have classes.

The counters of the data plane are never cleared. They are read where the counters of the ports say that there is
something to read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from p4mesh.tester.dataplane import DataPlane
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import ReasonCounts

_REASONS = ("flooded", "misdirected")


class Strays:
    """Reads the counts since the streams of a plan were loaded."""

    def __init__(self, dataplane: DataPlane) -> None:
        self._dataplane = dataplane
        self._flows = 0
        self._before = np.zeros((len(_REASONS), 0), dtype=np.int64)

    def begin(self, plan: Plan, frames: ReasonCounts) -> None:
        """Counts begin here; ``frames`` are those of all ports since the program was loaded."""
        wanted = self._dataplane.counts_strays and any(item.stream.traffic_class for item in plan.streams)
        self._flows = 1 + int(plan.columns.sequence_cell.max(initial=0)) if wanted else 0
        self._before = self._counts() if self._flows and _any(frames) else self._nothing()

    def read(self, frames: ReasonCounts) -> np.ndarray[Any, Any] | None:
        """Flooded and misdirected frames per flow number: two rows; None where nobody counts them.

        ``frames`` are those of all ports since the streams were loaded.
        """
        if not self._flows:
            return None
        return self._counts() - self._before if _any(frames) else self._nothing()

    def _counts(self) -> np.ndarray[Any, Any]:
        return self._dataplane.stray_counts(self._flows)

    def _nothing(self) -> np.ndarray[Any, Any]:
        return np.zeros((len(_REASONS), self._flows), dtype=np.int64)


def _any(frames: ReasonCounts) -> bool:
    return any(count for (_, reason), count in frames.items() if reason in _REASONS)
