"""Table of a sweep over loads, with the loss at each of them."""

from __future__ import annotations

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.forwarding import MeshTrial
from p4mesh.methods.results.loss_interval import INTERVAL_COLUMNS, interval_cells
from p4mesh.methods.results.outcome import Cell

COLUMNS = (
    fields.FRAME_SIZE_BYTES,
    retitled(fields.LOAD_PCT, "Load", digits=2),
    fields.OFFERED_FPS,
    fields.TX_FRAMES,
    fields.RX_FRAMES,
    fields.LOST_FRAMES,
    fields.LOSS_PCT,
    *INTERVAL_COLUMNS,
    fields.STATE,
    fields.QUEUES,
)
KEYS = ("frame_size_bytes", "load_pct")


def cells_of(row: MeshTrial) -> dict[str, Cell]:
    """Return the cells of one load; of an untrusted trial its load and status alone."""
    assert row.verdict is not None
    interval = interval_cells(row.lost_frames, row.tx_frames, row.doubtful_frames) if row.trusted else {}
    known = [column for column in COLUMNS if row.trusted or column.key in KEYS]
    return row.cells(known) | interval | {"state": row.verdict.value}
