"""Queues in front of ports whose clock is slower than that of departures, on chips that stamp behind these queues.

Departures follow the chip's nanosecond, frames the clock of their port: a port that sends at its line rate, and is
slower by x ppm, has x millionths of the frames waiting at the end. No latency shows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from p4mesh.measurement.columns import Array
from p4mesh.measurement.departures import READ_ERROR_TICKS, spans
from p4mesh.tester.plan import Plan


@dataclass(frozen=True)
class PortQueue:
    """A port that has sent slower than it was asked to."""

    port: int
    frames: int
    """Frames that waited when the last of them was due."""
    slower_ppm: float
    """Rate of its departures below that of its load."""


def port_queues(plan: Plan, records: Array, tick_ps: int) -> Iterator[PortQueue]:
    """Yield the queues that the departures of a trial show, the longest of each port.

    A departure may be late by a round of the loop without any queue, so less than two rounds show none.
    """
    longest: dict[int, PortQueue] = {}
    usual = 2 * plan.round_ns * 1000 / tick_ps + READ_ERROR_TICKS
    for transmitter, wanted, span in spans(plan, records):
        late = span - wanted
        frames = int(late * (transmitter.frames - 1) / span) if span else 0
        known = longest.get(transmitter.port)
        if late > usual and frames and (known is None or frames > known.frames):
            longest[transmitter.port] = PortQueue(transmitter.port, frames, 1e6 * (1 - wanted / span))
    yield from (longest[port] for port in sorted(longest))
