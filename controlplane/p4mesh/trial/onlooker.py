"""The observer of a trial while its streams run, and what it is shown. Nothing of it enters a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from p4mesh.measurement.faults import Faults
from p4mesh.measurement.samples import Sample


class EndedEarlyError(Exception):
    """The observer of a trial wants it to end; the message says when."""


@dataclass(frozen=True)
class Look:
    """Counts of the tester since the first departure of a trial."""

    at_ns: int
    """Time since the first departure, by the clock of the target."""
    tx_frames: int
    rx_frames: int
    latency_frames: int = 0
    """Frames that the latencies are those of: of the flows whose cells the trial itself has read, at its last reading;
    0 before."""
    latency_sum_ns: float = 0.0
    latency_max_ns: float = 0.0


@dataclass(frozen=True)
class FaultRequest:
    """Faults that someone wants to see of each trial."""

    frames: int
    """Frames of each reason, gaps, late frames, and flows whose last frames are lost: so many at most."""
    take: Callable[[Faults], None]


@dataclass(frozen=True)
class Onlooker:
    """Observer of a trial while its streams run."""

    take_sample: Callable[[Sample], None]
    """Gets the samples that the trial asks for."""
    wants_end: Callable[[], bool] = lambda: False
    """Whether the streams are to end now; the trial then ends with its counts so far."""
    wants_look: Callable[[], bool] = lambda: False
    """Whether a look at the trial is due; called only while the trial waits."""
    take_look: Callable[[Look], None] = lambda look: None
    faults: FaultRequest | None = None
    """Faults that it wants to see; None: none are captured."""
