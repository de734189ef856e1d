"""Frames of each flow of a plan, column by column, from one reading."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from p4mesh.measurement.columns import Array
from p4mesh.measurement.counted_groups import group_frames
from p4mesh.measurement.late_copies import late_copies
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading


@dataclass(frozen=True)
class FlowArrays:
    """Columns over the flows of a plan, in the plan's order."""

    cells: Array
    """Cells of the flows that have one: the first ones. The others are counted alone, and have no duplicates and no
    order."""
    rx_port: Array
    expected: Array
    sent: Array
    unique: Array
    """Frames received without copies, and with those that may be copies."""
    duplicates: Array
    reordered: Array
    doubtful: Array
    """Late frames, among the unique ones, that may be copies of earlier ones."""

    @property
    def lost(self) -> Array:
        """Frames that are missing if all doubtful ones are copies."""
        return self.sent - self.unique + self.doubtful


def flow_arrays(plan: Plan, reading: Reading) -> FlowArrays:
    """Columns of the flows with cells, and behind them of those that are counted alone."""
    records = reading.records
    columns = plan.columns
    cells = columns.cell
    copies, doubtful = late_copies(plan, records, reading.window)
    measured = FlowArrays(
        cells,
        columns.rx_port,
        columns.expected,
        records["flow_sequence"][columns.sequence_cell].astype(np.int64),
        records["frames"][cells].astype(np.int64) - copies,
        records["duplicates"][cells].astype(np.int64) + copies,
        records["reordered"][cells].astype(np.int64) - copies,
        doubtful,
    )
    counted = list(group_frames(plan, reading))
    if not counted:
        return measured
    nothing = [np.zeros(group.sent.size, dtype=np.int64) for group in counted]
    return FlowArrays(
        cells,
        np.concatenate([measured.rx_port, *(np.repeat(group.ports, group.sent.shape[1]) for group in counted)]),
        np.concatenate([measured.expected, *(group.expected.ravel() for group in counted)]),
        np.concatenate([measured.sent, *(group.sent.ravel() for group in counted)]),
        np.concatenate([measured.unique, *(group.received.ravel() for group in counted)]),
        np.concatenate([measured.duplicates, *nothing]),
        np.concatenate([measured.reordered, *nothing]),
        np.concatenate([measured.doubtful, *nothing]),
    )


def addresses_reached(plan: Plan, reading: Reading) -> set[int]:
    """Ports at whose destinations at least one frame arrived."""
    flows = flow_arrays(plan, reading)
    return {int(port) for port in flows.rx_port[flows.expected & (flows.unique > 0)]}
