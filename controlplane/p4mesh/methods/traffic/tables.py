"""Tables of traffic: classes with their verdicts, pairs of ports, flows."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.methods.bed import Bed
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, retitled
from p4mesh.methods.results.latency import stamps_text
from p4mesh.methods.results.latency_tables import DEPARTURES_NOTE
from p4mesh.methods.results.layers import KIND_COLUMNS
from p4mesh.methods.results.outcome import Table
from p4mesh.methods.traffic.results import ClassResult, Counts, FlowResult, LayerResult, RunResult

_LATENCY = (
    fields.LATENCY_US_MIN,
    fields.LATENCY_US_AVG,
    fields.LATENCY_US_MAX,
)
_PERCENTILES = (
    fields.LATENCY_US_P50,
    fields.LATENCY_US_P99,
    fields.LATENCY_US_P99_9,
)
_JITTER = (
    fields.JITTER_US_MIN,
    fields.JITTER_US_AVG,
    fields.JITTER_US_MAX,
)
_RATIOS = (
    fields.LOSS_RATIO,
    fields.LOSS_RATIO_BELOW,
)
_STRAYS = (fields.FLOODED_FRAMES, fields.MISDIRECTED_FRAMES)
_LOSS_NOTE = (
    "Loss ratio: lost frames of all frames of the class that its receivers expect; a frame to many is expected at each "
    "of them. Where none was lost, the true ratio is below 3/n with 95 % confidence."
)


def tables_of(results: Sequence[RunResult], bed: Bed, definition: str) -> tuple[Table, ...]:
    """Return all tables of the runs."""
    classes = [row for result in results for row in result.classes]
    pairs = [row for result in results for row in result.pairs]
    flows = [row for result in results for row in result.flows]
    tables = [_class_table(classes, bed, definition, several=len(results) > 1)]
    layers = [row for result in results for row in result.layers]
    if layers:
        tables.append(_layer_table(layers, definition))
    tables.append(_run_table(results))
    tables.append(_flow_table("pairs", "Senders and receivers", (), pairs))
    if len(flows) > len(pairs):
        tables.append(_flow_table("flows", "Flows", (fields.STREAM, fields.PART), flows))
    return tuple(tables)


def _counted(rows: Sequence[ClassResult | LayerResult | FlowResult]) -> tuple[Column, ...]:
    """The columns of counts; that of doubtful frames where there are some."""
    doubtful = any(row.counts.doubtful_frames for row in rows)
    return tuple(column for column in Counts.columns() if doubtful or column != fields.DOUBTFUL_FRAMES)


def _class_table(rows: Sequence[ClassResult], bed: Bed, definition: str, *, several: bool) -> Table:
    percentiles = _PERCENTILES if any(row.delay.latency_us_p50 is not None for row in rows) else ()
    columns = (
        *([fields.RUN] if several else []),
        fields.TRAFFIC_CLASS,
        retitled(fields.RATE, "Rate", "per sender"),
        fields.MEAN_BYTES,
        retitled(fields.STATE, "State"),
        *_counted(rows),
        fields.RECEIVED_BYTES,
        *_RATIOS,
        *(_STRAYS if any(row.flooded_frames is not None for row in rows) else ()),
        *_LATENCY,
        *percentiles,
        *_JITTER,
        fields.DEPARTURE_ERROR_NS,
        fields.QUEUES,
        retitled(fields.REASON, "Why"),
    )
    note = f"{_LOSS_NOTE} Latency {definition}; jitter RFC 4689. {DEPARTURES_NOTE} {stamps_text(bed)}"
    keys = ("run", "traffic_class") if several else ("traffic_class",)
    return Table("classes", "Classes", columns, tuple(row.cells(columns) for row in rows), note, keys=keys)


def _layer_table(rows: Sequence[LayerResult], definition: str) -> Table:
    columns = (
        fields.RUN,
        fields.TRAFFIC_CLASS,
        *KIND_COLUMNS,
        *_counted(rows),
        *_LATENCY,
        fields.LATENCY_US_LOW,
        fields.LATENCY_US_HIGH,
        fields.INCREMENT_US,
        *_JITTER,
    )
    note = (
        f"Latency {definition} of all frames that the receivers of a layer, or of a role, got; layers and roles in the "
        "order of their ports. Low and high: means of its receivers. Increment: mean less that of the layer before."
    )
    cells = tuple(row.cells(columns) for row in rows)
    return Table("layers", "Layers and roles", columns, cells, note, keys=("run", "traffic_class", "kind", "name"))


def _run_table(results: Sequence[RunResult]) -> Table:
    columns = (
        fields.RUN,
        retitled(fields.STATE, "State"),
        fields.FLOODED_FRAMES,
        fields.MISDIRECTED_FRAMES,
        fields.FOREIGN_FRAMES,
    )
    rows = tuple(result.cells(columns) for result in results)
    return Table("runs", "Runs", columns, rows, "State: the worst of all classes.", keys=("run",))


def _flow_table(name: str, title: str, which: Sequence[Column], rows: Sequence[FlowResult]) -> Table:
    columns = (
        fields.RUN,
        fields.TRAFFIC_CLASS,
        *which,
        retitled(fields.TX_PORT, "Sender", "port"),
        retitled(fields.RX_PORT, "Receiver", "port"),
        *_counted(rows),
        *(_STRAYS if any(row.flooded_frames is not None for row in rows) else ()),
        *_LATENCY,
        *_JITTER,
    )
    keys = ("run", "traffic_class", *(column.key for column in which), "tx_port", "rx_port")
    return Table(name, title, columns, tuple(row.cells(columns) for row in rows), detail=True, keys=keys)
