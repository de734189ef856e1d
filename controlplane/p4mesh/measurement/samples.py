"""Samples the counts of streams while they run: of classes, ports, and flows on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from p4mesh.tester.cell_ranges import ranges_of
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import ReasonCounts
from p4mesh.tester.records import READ_TICKS

_SEQUENCE_BITS = 32
_STAMP_BITS = 48
_READING_FRAMES = 16
"""Parts of the cells that are read at the same time: a loop carries so many reading frames beside its seeds."""


@dataclass(frozen=True)
class SampledCounts:
    """One class or flow since the start of its streams."""

    name: str
    tx_frames: int
    """A frame to many counts once."""
    rx_frames: int
    """Frames at all receivers, without duplicates."""
    lost_frames: int
    """Frames missing among those sent before the last one received: frames on their way are not lost. A frame that
    arrives late no longer counts as lost."""
    reordered_frames: int
    duplicate_frames: int
    last_gap_ns: int | None
    """Departure of the frame behind the last gap, from the first departure of all; None without a gap."""


@dataclass(frozen=True)
class SampledPort:
    """Test frames of one port."""

    port: int
    tx_frames: int
    rx_frames: int


@dataclass(frozen=True)
class Sample:
    """One look at streams that run."""

    at_ns: int
    """Time from the first departure to the reading of the last record."""
    classes: tuple[SampledCounts, ...]
    """Counts by traffic class, or by stream where streams have none."""
    ports: tuple[SampledPort, ...]
    flows: tuple[SampledCounts, ...] = ()


class Sampler:
    """Chooses the cells that a sample of a plan needs, and interprets their records."""

    def __init__(self, plan: Plan, tick_ps: int, *, flows: bool = False) -> None:
        self._with_flows = flows
        self._plan = plan
        self._tick_ps = tick_ps
        self._flows = [flow for flow in plan.flows if flow.expected]
        starts = [t.id for stream in plan.streams for t in stream.transmitters]
        wanted = {cell for flow in self._flows for cell in (flow.cell, flow.sequence_cell)} | set(starts)
        self.cells = cells_in_parts(sorted(wanted))
        """Cells to read, in parts that are read at the same time."""
        place = {cell: row for row, cell in enumerate(cell for part in self.cells for cell in part)}
        self._rows = np.array([place[flow.cell] for flow in self._flows], dtype=np.int64)
        self._sequence_rows = np.array([place[flow.sequence_cell] for flow in self._flows], dtype=np.int64)
        self._start_rows = np.array([place[cell] for cell in starts], dtype=np.int64)
        names = {item.origin: item.stream.traffic_class or item.stream.name for item in plan.streams}
        self.classes: dict[str, list[int]] = {}
        """Rows of the flows of each class."""
        for row, flow in enumerate(self._flows):
            self.classes.setdefault(names[flow.stream], []).append(row)

    @property
    def lines(self) -> int:
        """Number of lines of a sample."""
        return len(self.classes) + len(self._plan.ports) + (len(self._flows) if self._with_flows else 0)

    def sample(self, at_ns: int, records: np.ndarray[Any, Any], frames: ReasonCounts) -> Sample:
        """Interprets the records of ``cells`` and the counts per port.

        ``at_ns`` is the time since the first departure was due, for a sample before it.
        """
        started = records["first_departure"][self._start_rows]
        started = started[started > 0]
        origin = int(started.min()) if len(started) else 0
        if origin:
            # On the wall clock, waiting and reading take longer than they are asked to.
            elapsed_ticks = (int(records[READ_TICKS].max()) - origin) % (1 << _STAMP_BITS)
            at_ns = elapsed_ticks * self._tick_ps // 1000
        counts = _Columns(records[self._rows], records["flow_sequence"][self._sequence_rows])
        return Sample(
            at_ns,
            tuple(self._counted(name, counts, rows, origin) for name, rows in self.classes.items()),
            tuple(
                SampledPort(port, frames.get((port, "transmitted"), 0), frames.get((port, "expected"), 0))
                for port in self._plan.ports
            ),
            tuple(
                self._counted(self._name_of(row), counts, [row], origin)
                for row in range(len(self._flows) if self._with_flows else 0)
            ),
        )

    def _name_of(self, row: int) -> str:
        flow = self._flows[row]
        part = f" {flow.part}" if flow.part else ""
        return f"{self._plan.names[flow.stream]} {flow.tx_port}->{flow.rx_port}{part}"

    def _counted(self, name: str, counts: _Columns, rows: Sequence[int], origin: int) -> SampledCounts:
        gap = int(counts.last_gap[rows].max())
        return SampledCounts(
            name,
            sum({self._flows[row].sequence_cell: int(counts.sent[row]) for row in rows}.values()),
            int(counts.received[rows].sum()),
            int(counts.lost[rows].sum()),
            int(counts.reordered[rows].sum()),
            int(counts.duplicates[rows].sum()),
            (gap - origin) * self._tick_ps // 1000 if gap else None,
        )


class _Columns:
    """Columns over the flows of a sample."""

    def __init__(self, records: np.ndarray[Any, Any], sent: np.ndarray[Any, Any]) -> None:
        self.sent = sent.astype(np.int64)
        self.received = records["frames"].astype(np.int64)
        self.reordered = records["reordered"].astype(np.int64)
        self.duplicates = records["duplicates"].astype(np.int64)
        self.last_gap = records["last_gap_time"].astype(np.int64)
        # A sequence number has 32 bits; it is the one nearest below the frames sent, whose count has 64.
        behind = (self.sent - records["next_sequence"].astype(np.int64)) % (1 << _SEQUENCE_BITS)
        self.lost = np.maximum(self.sent - behind - self.received, 0)


def cells_in_parts(cells: Sequence[int]) -> list[range]:
    """Cuts ascending cells into ranges that are read at the same time, none much longer than the others."""
    return ranges_of(cells, max(1, -(-len(cells) // _READING_FRAMES)))
