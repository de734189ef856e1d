"""Tables of latency and its variation (latency definitions, RFC 4689, RFC 5481, RFC 3550) from summaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from p4mesh.measurement.counts import Trend
from p4mesh.methods.bed import Bed
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.latency import stamps_text
from p4mesh.methods.results.latency_cells import RAW, CalibrationCells, DefinitionCells, LatencyCells, VariationCells
from p4mesh.methods.results.outcome import Table
from p4mesh.methods.results.record import Row, table_of
from p4mesh.quantities import decimals_text, number_text
from p4mesh.traffic.delay_variation import IPDV, RFC3550_JITTER
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import serialization_ns

LATENCY_COLUMNS = LatencyCells.columns()
OF_MANY_FRAMES = frozenset(column.key for column in LATENCY_COLUMNS if column.key.startswith(("p50", "p99", "jitter")))
"""Columns that are empty for a single frame of a flow."""
DEPARTURES_NOTE = (
    "Departures: how far a frame may have left from its time; jitter, and latency where a queue forms, contain it, and "
    "so do their errors."
)
ERRORS_NOTE = (
    "Errors (+-): how far the number of a longer trial may be, 95 % confidence; up to the maximum where a full queue "
    "loses frames; unknown (?) for too few frames, and while a queue fills or latency grows, since a longer trial has "
    "other latencies. Up to 3/n of the frames (95 %) may take longer than the maximum of n."
)

OF_HISTOGRAMS = frozenset(
    column.key
    for column in (*LATENCY_COLUMNS, *VariationCells.columns())
    if column.key.removeprefix("pdv_").removeprefix("ipdv_").startswith(("p1_", "p50_", "p99_"))
)
"""Columns that are empty unless frames were counted in histograms."""
_PDV_NOTE = (
    "PDV: latency above the smallest one of the same flow (RFC 5481 4.2), of the flow where it is largest. Its error "
    "is unknown (?) of too few frames, and while a queue fills or latency grows: it grows with the length of a trial."
)
_VARIATION_NOTES = {
    IPDV: "IPDV: signed difference to the frame sent before, where both arrived (RFC 5481 4.1).",
    RFC3550_JITTER: "RFC 3550: estimate of each flow at the end of the trial.",
}
"""Meaning of each kind, which a target may leave unmeasured."""

_DEFINITION_NOTE = (
    "Average latency in every definition, from the same time stamps: DUT with test leads, not calibrated."
)


def variation_table(
    bed: Bed,
    name: str,
    where: Sequence[Column],
    keys: Sequence[Column],
    rows: Sequence[Row],
    *,
    of_flows: bool = True,
    counted: bool = True,
    detail: bool = False,
) -> Table:
    """The table of delay variation; ``where`` are the columns that name the frames of a row.

    PDV is a property of one flow: without ``of_flows`` only the sums over many flows are known, and it is left out.
    Where it has no error, as a queue filled, the state of the queues says so.
    Percentiles are left out unless frames were ``counted`` in histograms, and what the target does not measure.
    """
    measured = {"PDV": of_flows, **{kind: kind not in bed.unmeasured for kind in _VARIATION_NOTES}}
    kept = [
        column
        for column in VariationCells.columns()
        if measured[_kind(column)] and (column.key not in OF_HISTOGRAMS or counted)
    ]
    notes = (
        _PDV_NOTE if of_flows else "",
        *(note for kind, note in _VARIATION_NOTES.items() if measured[kind]),
        f"{', '.join(bed.unmeasured)}: not supported on {bed.target}." if bed.unmeasured else "",
    )
    kinds = [kind for kind, is_measured in measured.items() if is_measured]
    title = f"Delay variation: {', '.join(kinds) or 'not supported'}"
    note, detail = " ".join(filter(None, notes)), detail or not of_flows

    def made(*more: Column) -> Table:
        return table_of(name, title, (*where, *kept, *more), rows, note, keys=keys, detail=detail)

    table, value, error = made(fields.QUEUES), fields.PDV_P99_US.key, fields.PDV_P99_ERROR_US.key
    unknown = [row for row in table.rows if row.get(value) is not None and row.get(error) is None]
    return table if any(row[fields.QUEUES.key] not in (None, Trend.STEADY.value) for row in unknown) else made()


def _kind(column: Column) -> str:
    """A kind of delay variation, by the key of a column."""
    return {"pdv": "PDV", "ipdv": IPDV, "rfc3550": RFC3550_JITTER}[column.key.partition("_")[0]]


def definition_table(
    name: str, where: Sequence[Column], keys: Sequence[Column], rows: Sequence[Row], *, detail: bool = False
) -> Table:
    """The table of the average latency in every definition."""
    columns = (*where, *DefinitionCells.columns())
    title = "Average latency by definition"
    return table_of(name, title, columns, rows, _DEFINITION_NOTE, keys=keys, detail=detail)


def calibration_table(
    name: str, bed: Bed, where: Sequence[Column], keys: Sequence[Column], rows: Sequence[Row]
) -> Table:
    """The table of the wires beside raw and calibrated latencies."""
    assert bed.calibration is not None
    runs = "; ".join(
        f"{run.topology} on {run.target}, {run.date_utc}, resolution {number_text(run.resolution_ns)} ns"
        for run in bed.calibration.runs
    )
    return CalibrationCells.table(
        name,
        "Calibration: latency over the wire",
        rows,
        "Calibrated = raw - median over the wire, which contains one cable, or from the stamp of the transmit port to "
        f"its first bit where no wire was measured. Measured: {runs}.",
        columns=(*where, *CalibrationCells.columns()),
        keys=(*keys, fields.TX_PORT, fields.RX_PORT),
        detail=len(rows) > _LONGEST_TABLE,
    )


_LONGEST_TABLE = 60


def latency_note(bed: Bed) -> str:
    """The note under every latency table."""
    subtracted = (
        "calibrated = no: DUT with test leads, nothing is subtracted; yes: the wire of the calibration is subtracted."
        if bed.calibration
        else "DUT with test leads, nothing is subtracted."
    )
    return f"{stamps_text(bed)} {subtracted} Jitter: RFC 4689. {DEPARTURES_NOTE} {ERRORS_NOTE}"


def overflows(rows: Iterable[tuple[FrameSize, LatencyCells]]) -> tuple[str, ...]:
    """A finding for every frame size with frames that took longer than the time stamps reach."""
    counts: dict[FrameSize, int] = {}
    for size, cells in rows:
        if cells.calibrated == RAW:
            counts[size] = counts.get(size, 0) + (cells.overflow_frames or 0)
    return tuple(
        f"{size} B: {count:,} frames took longer than the 2^32 ticks that time stamps reach, or came before they left "
        "by the clocks of their ports: averages and maxima are not those of the device"
        for size, count in counts.items()
        if count
    )


_STAGE_TOLERANCE = Fraction(1, 10)
"""Part of the serialization time by which the growth may differ from that of a number of stages."""


def architecture(fifo_min_ns: Mapping[int, Fraction], rate_bps: int) -> str:
    """The type of the device by the growth of its latency with the frame size; empty with one frame size.

    ``fifo_min_ns`` maps frame sizes to the smallest FIFO latency, at one rate on both sides. The slope
    over the serialization time is 0 for cut-through, 1 for store-and-forward, 1 + k with k more stages.
    """
    if len(fifo_min_ns) < 2:
        return ""
    times = {size: serialization_ns(size, rate_bps) for size in fifo_min_ns}
    mean_time = sum(times.values(), Fraction(0)) / len(times)
    mean_latency = sum(fifo_min_ns.values(), Fraction(0)) / len(times)
    slope = sum(((times[size] - mean_time) * (fifo_min_ns[size] - mean_latency) for size in times), Fraction(0))
    slope /= sum(((time - mean_time) ** 2 for time in times.values()), Fraction(0))
    grows = (
        f"the smallest first-in first-out latency grows by {decimals_text(slope, 2)} of the frame's serialization time"
    )
    stages = round(slope)
    if abs(slope - stages) > _STAGE_TOLERANCE or stages < 0:
        return f"Device type not identified: {grows}."
    if stages == 0:
        return f"Cut-through device, or a wire: {grows}."
    return f"Store-and-forward device{f' of {stages} stages' if stages > 1 else ''}: {grows}."
