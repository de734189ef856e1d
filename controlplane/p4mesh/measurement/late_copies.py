"""Tells late frames from copies that come late: where that cannot be told, what was lost is a range.

A window of a flow knows a copy while few later frames of the flow have come. A copy that comes after that is counted as
a late frame, and each of them hides a loss. Three facts bound how many there may be. Late frames fill gaps: those
beyond the numbers that were passed over are copies. The program for v1model counts the late frames that its window does
not know, and no others can be copies. And such a copy has waited for so many departures of its flow: where no latency
is as much longer than the shortest one, there is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from p4mesh.measurement.columns import Array
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import CopyWindow
from p4mesh.tester.records import ALL_ONES, chosen_records

_SEQUENCES = 1 << 32


def late_copies(plan: Plan, records: np.ndarray[Any, Any], window: CopyWindow) -> tuple[Array, Array]:
    """Count, for each flow of a plan, late frames that are copies, and those beside them that may be copies."""
    late = records["reordered"][plan.columns.cell].astype(np.int64)
    if not late.any():
        return late, late
    found = chosen_records(records, plan.columns.cell)
    passed_over = (found["next_sequence"].astype(np.int64) + late - found["frames"].astype(np.int64)) % _SEQUENCES
    copies = np.maximum(late - passed_over, 0)
    # A program that counts late frames beyond its window knows all others.
    unknown = found["beyond_window"].astype(np.int64) if "beyond_window" in (found.dtype.names or ()) else late
    doubtful = np.maximum(unknown - copies, 0)
    return copies, np.where(_may_be_copies(plan, found, window), doubtful, 0)


def _may_be_copies(plan: Plan, found: np.ndarray[Any, Any], window: CopyWindow) -> Array:
    """Whether a frame of each flow has taken as long as a copy that the window no longer knows."""
    if window.lateness_ticks is None:
        return np.ones(len(found), dtype=bool)
    shortest = ALL_ONES - found["latency_min_inverted"].astype(np.int64)
    longer = found["latency_max"].astype(np.int64) - shortest
    waited = window.frames * _departure_ticks(plan) - window.lateness_ticks
    may_be: Array = longer >= waited
    return may_be


def _departure_ticks(plan: Plan) -> Array:
    """Least ticks between two frames of each flow as they are due: departures go to all positions in turn."""
    ticks = np.zeros(len(plan.columns.cell), dtype=np.int64)
    for stream in plan.streams:
        for sent in stream.transmitters:
            place = plan.columns.sequence_cell - sent.flow_base
            own = (plan.columns.stream == stream.origin) & (place >= 0) & (place < sent.positions)
            ticks[own] = int(stream.clock.slot_ticks * sent.positions)
    return ticks
