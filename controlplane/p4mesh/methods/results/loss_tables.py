"""Table of a sweep over loads, with the loss at each of them."""

from __future__ import annotations

from p4mesh.methods.results.forwarding import MeshTrial
from p4mesh.methods.results.loss_interval import INTERVAL_COLUMNS, interval_cells
from p4mesh.methods.results.outcome import Cell, Column
from p4mesh.methods.results.queues import QUEUES

COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("load_pct", "Load", "% of line", 2),
    Column("offered_fps", "Offered", "frames/s", 0),
    Column("tx_frames", "Tx", "frames"),
    Column("rx_frames", "Rx", "frames"),
    Column("lost_frames", "Lost", "frames"),
    Column("loss_pct", "Loss", "%", 4),
    *INTERVAL_COLUMNS,
    Column("state", "Result"),
    QUEUES,
)
KEYS = ("frame_size_bytes", "load_pct")


def cells_of(row: MeshTrial) -> dict[str, Cell]:
    """Return the cells of one load; of an untrusted trial its load and status alone."""
    assert row.verdict is not None
    interval = interval_cells(row.lost_frames, row.tx_frames) if row.trusted else {}
    known = [column for column in COLUMNS if row.trusted or column.key in KEYS]
    return row.cells(known) | interval | {"state": row.verdict.value}
