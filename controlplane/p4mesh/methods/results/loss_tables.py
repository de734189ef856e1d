"""Table of a sweep over loads, with the loss at each of them."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.forwarding import LossSweep, MeshTrial
from p4mesh.methods.results.loss_interval import INTERVAL_COLUMNS
from p4mesh.methods.results.outcome import Table
from p4mesh.methods.results.record import Row, table_of

_KEYS = (fields.FRAME_SIZE_BYTES, fields.LOAD_PCT)
_COLUMNS = (
    fields.FRAME_SIZE_BYTES,
    retitled(fields.LOAD_PCT, "Load", digits=2),
    fields.OFFERED_FPS,
    fields.TX_FRAMES,
    fields.RX_FRAMES,
    fields.LOST_FRAMES,
    fields.LATE_FRAMES,
    fields.EARLY_FRAMES,
    fields.LOSS_PCT,
    *INTERVAL_COLUMNS,
    fields.STATE,
    fields.QUEUES,
)
_LEFT_OUT = (
    "The loss counts late and early frames as lost, because a longer trial loses as many more: those that a queue held "
    "back until the transmission was over, and those that were forwarded at first beyond the rate of the rest."
)


def loss_table(name: str, title: str, sweeps: Sequence[LossSweep], note: str) -> Table:
    """One row per load; that of a trial that cannot be trusted holds its load and status alone."""
    rows = [_row(row) for sweep in sweeps for row in sweep.rows]
    headline = (fields.STATE, fields.OFFERED_FPS, fields.LOSS_PCT)
    optional = (fields.LATE_FRAMES, fields.EARLY_FRAMES)
    if any(row.late_frames or row.early_frames for sweep in sweeps for row in sweep.rows if row.trusted):
        note = f"{note} {_LEFT_OUT}".lstrip()
    return table_of(name, title, _COLUMNS, rows, note, optional=optional, keys=_KEYS, headline=headline)


def _row(row: MeshTrial) -> Row:
    if not row.trusted:
        return row.cells(_KEYS) | {"state": row.verdict}
    left_out = {"late_frames": row.late_frames or None, "early_frames": row.early_frames or None}
    return row, row.interval, {"state": row.verdict} | left_out
