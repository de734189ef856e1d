"""Tables of message tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from p4mesh.methods.bed import Bed
from p4mesh.methods.messages.results import MessageRow, PositionRow, TimesRow
from p4mesh.methods.results import fields
from p4mesh.methods.results.latency import stamps_text
from p4mesh.methods.results.layers import PortLatency, layer_rows, layer_tables
from p4mesh.methods.results.loss_interval import forgiven_text
from p4mesh.methods.results.outcome import Table
from p4mesh.quantities import number_text

_WHERE = MessageRow.columns()[:3]
_TIMES_NOTE = (
    "Of whole messages: FIFO first bit in to first bit out, LILO last to last, FILO first to last, MIMO the smaller of "
    "LILO and FILO less the nominal time of the message on the output. Times are of complete messages; where the data "
    "plane does not count these, of messages whose first or last frame was not lost."
)
_DAMAGED_NOTE = (
    "A message is damaged when it lost a frame, or when one came after a frame of a later message. Where the data "
    "plane does not count messages, the losses of each position bound how many are damaged: at least the largest of "
    "them, and at most their sum."
)


def times_table(rows: Sequence[MessageRow], bed: Bed, frames: int) -> Table:
    """The times of messages of so many frames, calibrated ones below raw ones."""
    calibrated = [fields.CALIBRATED] if any(len(row.times) > 1 for row in rows) else []
    columns = (
        *MessageRow.columns()[:-1],
        *TimesRow.columns()[:-3],
        fields.DEPARTURE_ERROR_NS,
        fields.DIF_PCT,
        fields.DIF_ERROR_PCT,
        *calibrated,
    )
    return MessageRow.table(
        "messages",
        "Messages",
        [(row, times) for row in rows for times in row.times],
        f"{_TIMES_NOTE} {_DAMAGED_NOTE} {stamps_text(bed)} {forgiven_text(row.messages * frames for row in rows)}",
        columns=columns,
        optional=(fields.EARLY_FRAMES, fields.QUEUES),
        keys=(*_WHERE, *calibrated),
        headline=(fields.MIMO_US_AVG, fields.FIFO_US_AVG, fields.LOST_FRAMES),
    )


def mimo_by_layer(rows: Sequence[MessageRow], bed: Bed, receiver: int) -> list[Table]:
    """MIMO of the messages by the layer and the role of their receiver."""
    shown = [
        cells
        for row in rows
        for cells in layer_rows(bed, row, (found for times in row.times for found in _mimo(row, times, receiver)))
    ]
    return layer_tables("messages_layers", "Messages, MIMO", _WHERE, _WHERE, shown)


def _mimo(row: MessageRow, times: TimesRow, receiver: int) -> Iterator[PortLatency]:
    values = (times.mimo_us_min, times.mimo_us_avg, times.mimo_us_max)
    found = [Fraction(value) for value in values if value is not None]
    if found:
        low, mean, high = found
        error_us = None if times.avg_error_us is None else Fraction(times.avg_error_us)
        yield PortLatency(receiver, row.messages, low, mean, high, error_us, times.calibrated)


def position_table(rows: Sequence[MessageRow], *, detail: bool = False) -> Table:
    """Latency of each class of positions."""
    return PositionRow.table(
        "positions",
        "Positions in a message",
        [(row, position) for row in rows for position in row.positions],
        "Ranges contain the positions between them: 2..n-1 and 3..n-2 join rows below them.",
        columns=(*_WHERE, *PositionRow.columns()),
        keys=(*_WHERE, fields.POSITION),
        detail=detail,
    )


def findings_of(rows: Iterable[MessageRow]) -> Iterator[str]:
    """Trials that cannot be trusted."""
    for row in rows:
        if not row.status.trusted:
            where = f"{row.frame_size_bytes} B, {row.part} at {number_text(row.load_pct)} %"
            yield f"{where}: {row.status.value}: {row.reason}"
