"""Outages of the flows of a plan, from looks at the records while its streams ran and the last reading."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from p4mesh.measurement.counts import Outage
from p4mesh.measurement.departures import departures
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.measurement.flow_counts import tail_lost
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.tester.records import ALL_ONES


class LastBefore(NamedTuple):
    """The last frame of a flow that came before it stalled."""

    departed: int | None
    """In ticks; None where its latency is longer than time stamps reach, or below 0 as clocks of ports are off."""
    sent: int
    """Frames until then, it included."""
    lost: int
    """Those of ``sent`` that were lost."""


class StallFinder:
    """Finds the last frame before an outage, and when frames come again, from looks at the records while the streams
    run.
    """

    def __init__(self, plan: Plan) -> None:
        self._cells = plan.columns.cell[plan.columns.expected]
        self._frames: NDArray[np.int64] | None = None
        self.last_before: dict[int, LastBefore] = {}
        """The last frame before the outage of each flow, by its cell."""
        self.lost_until: dict[int, int] = {}
        """Frames lost until the first look that saw a flow again, by its cell."""

    def look(self, records: NDArray[np.void]) -> None:
        """Take note of every flow that has received nothing since the look before, and of those that do again."""
        frames = records["frames"][self._cells].astype(np.int64)
        if self._frames is not None:
            for cell in self._cells[(frames == self._frames) & (frames > 0)].tolist():
                if cell not in self.last_before:
                    self.last_before[cell] = _last_before(records[cell])
            for cell in self._cells[frames > self._frames].tolist():
                if cell in self.last_before:
                    self.lost_until.setdefault(cell, _lost(records[cell]))
        self._frames = frames

    @property
    def complete(self) -> bool:
        """Whether every flow has stalled and come back."""
        return len(self.lost_until) == len(self._cells)


def _last_before(record: np.void) -> LastBefore:
    arrived, latency, sent = (int(record[name]) for name in ("last_arrival", "latency_last", "next_sequence"))
    return LastBefore(arrived - latency if latency < ALL_ONES else None, sent, _lost(record))


def _lost(record: np.void) -> int:
    return max(0, int(record["next_sequence"]) - int(record["frames"]))


def outages(plan: Plan, reading: Reading, stalls: StallFinder, flows: FlowArrays, tick_ps: int) -> tuple[Outage, ...]:
    """Outage of each flow; ``stalls`` has looked meanwhile."""

    def since_first_ns(ticks: int | None) -> int | None:
        return (ticks - origin) * tick_ps // 1000 if ticks else None

    names, records = plan.names, reading.records
    origin, _ = departures(plan, records)
    unseen = LastBefore(None, 0, 0)
    return tuple(
        Outage(
            stream=names[flow.stream],
            tx_port=flow.tx_port,
            rx_port=flow.rx_port,
            tx_frames=int(flows.sent[row]),
            lost_frames=int(flows.lost[row]),
            tail_lost_frames=int(tail_lost(flows.sent[row], records["next_sequence"][flow.cell])),
            last_before_ns=since_first_ns((before := stalls.last_before.get(flow.cell, unseen)).departed),
            first_after_ns=since_first_ns(int(records["last_gap_time"][flow.cell])),
            sent_before=before.sent,
            lost_before=before.lost,
            lost_later=max(0, int(flows.lost[row]) - stalls.lost_until.get(flow.cell, int(flows.lost[row]))),
        )
        for row, flow in enumerate(plan.flows)
        if flow.expected
    )
