"""Looks at a trial while its streams run, for people who watch it. They change no count and enter no result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from p4mesh.trial.latency_stats import latency_stats


@dataclass(frozen=True)
class Look:
    """What the tester has counted since the first departure of a trial."""

    at_ns: int
    """Since the first departure, by the clock of the target."""
    tx_frames: int
    rx_frames: int
    latency_frames: int = 0
    """Frames that the latencies are those of: of the flows whose cells the trial itself has read, at its last reading;
    0 before."""
    latency_sum_ns: float = 0.0
    latency_max_ns: float = 0.0


@dataclass(frozen=True)
class ReadLatency:
    """Latency in the last records that a trial has read while its streams ran."""

    frames: int = 0
    sum_ns: float = 0.0
    max_ns: float = 0.0

    @classmethod
    def of(cls, records: np.ndarray[Any, Any], tick_ps: int) -> ReadLatency:
        """Return the latency of the frames in some records."""
        found = latency_stats(records, tick_ps)
        return cls(found.count, found.sum_ns, found.max_ns) if found else cls()
