"""Tables of message tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from p4mesh.methods.bed import Bed
from p4mesh.methods.messages.results import MessageRow, MessageRows, TimesRow
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, retitled
from p4mesh.methods.results.latency import stamps_text
from p4mesh.methods.results.layers import PortLatency, layer_rows, layer_tables
from p4mesh.methods.results.outcome import Cell, Table
from p4mesh.verdict import Verdict

_WHERE = (fields.FRAME_SIZE_BYTES, retitled(fields.PART, "Trial"), retitled(fields.LOAD_PCT, "Load", "%", digits=2))
_KEYS = ("frame_size_bytes", "part", "load_pct")
_DAMAGED = (
    fields.LOST_FRAMES,
    fields.COMPLETE_MESSAGES,
    fields.DAMAGED_MESSAGES_MIN,
    fields.DAMAGED_MESSAGES_MAX,
)
_TIMES = tuple(
    Column(f"{kind}_us_{which}", f"{kind.upper()} {which}", "us", 3)
    for kind in ("fifo", "lilo", "filo", "mimo")
    for which in ("min", "avg", "max")
)
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


def times_table(rows: Sequence[MessageRow], bed: Bed) -> Table:
    """Return the times of messages, calibrated ones below raw ones."""
    calibrated = any(len(row.times) > 1 for row in rows)
    columns = (
        *_WHERE,
        fields.MESSAGES,
        *_DAMAGED,
        *_TIMES,
        fields.DEPARTURE_ERROR_NS,
        fields.DIF_PCT,
        *([fields.CALIBRATED] if calibrated else []),
    )
    of_times = [column for column in columns if column.key in TimesRow.__dataclass_fields__]
    cells = tuple(row.cells(columns) | times.cells(of_times) for row in rows for times in row.times)
    shown = tuple(_only(row, columns) for row in cells)
    keys = (*_KEYS, "calibrated") if calibrated else _KEYS
    note = f"{_TIMES_NOTE} {_DAMAGED_NOTE} {stamps_text(bed)}"
    return Table("messages", "Messages", columns, shown, note, keys=keys)


def mimo_by_layer(rows: Sequence[MessageRow], bed: Bed, receiver: int) -> list[Table]:
    """Return MIMO of the messages by the layer and the role of their receiver."""
    shown = [
        cells
        for row in rows
        for cells in layer_rows(
            bed, row.cells(_WHERE), (found for times in row.times for found in _mimo(row, times, receiver))
        )
    ]
    return layer_tables("messages_layers", "Messages, MIMO", _WHERE, _KEYS, shown)


def _mimo(row: MessageRow, times: TimesRow, receiver: int) -> Iterator[PortLatency]:
    values = (times.mimo_us_min, times.mimo_us_avg, times.mimo_us_max)
    found = [Fraction(value) for value in values if value is not None]
    if found:
        low, mean, high = found
        yield PortLatency(receiver, row.messages, low, mean, high, times.calibrated)


def position_table(rows: Sequence[MessageRow], *, detail: bool = False) -> Table:
    """Return the latency of each class of positions."""
    columns = (
        *_WHERE,
        fields.POSITION,
        fields.SENT_FRAMES,
        fields.RECEIVED_FRAMES,
        fields.LOST_FRAMES,
        retitled(fields.MIN_US, "FIFO min"),
        fields.AVG_US,
        fields.MAX_US,
    )
    cells = tuple(
        _only(row.cells(columns) | position.cells(columns[len(_WHERE) :]), columns)
        for row in rows
        for position in row.positions
    )
    note = "Ranges contain the positions between them: 2..n-1 and 3..n-2 join rows below them."
    return Table("positions", "Positions in a message", columns, cells, note, detail=detail, keys=(*_KEYS, "position"))


def _only(row: dict[str, Cell], columns: Iterable[Column]) -> dict[str, Cell]:
    return {column.key: row.get(column.key) for column in columns}


def state_of(results: Iterable[MessageRows]) -> Verdict:
    """MEASURED where all trials can be trusted, else the worst of their states."""
    return Verdict.worst(row.status for unit in results for row in unit.rows)


def findings_of(results: Iterable[MessageRows]) -> tuple[str, ...]:
    """Return trials that cannot be trusted."""
    return tuple(
        f"{row.frame_size_bytes} B, {row.part} at {row.load_pct:g} %: {row.status.value}: {row.reason}"
        for unit in results
        for row in unit.rows
        if not row.status.trusted
    )
