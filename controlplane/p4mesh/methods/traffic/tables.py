"""Tables of traffic: classes with their verdicts, pairs of ports, flows."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.methods.bed import Bed
from p4mesh.methods.results.latency import stamps_text
from p4mesh.methods.results.latency_tables import DEPARTURES, DEPARTURES_NOTE
from p4mesh.methods.results.layers import KIND_COLUMNS
from p4mesh.methods.results.outcome import Column, Table
from p4mesh.methods.results.queues import QUEUES
from p4mesh.methods.traffic.results import ClassResult, FlowResult, LayerResult, RunResult

_RUN = Column("run", "Run")
_CLASS = Column("traffic_class", "Class")
_COUNTS = (
    Column("sent_frames", "Sent", "frames"),
    Column("expected_frames", "Expected", "frames"),
    Column("received_frames", "Received", "frames"),
    Column("lost_frames", "Lost", "frames"),
    Column("misordered_frames", "Misordered", "frames"),
    Column("duplicate_frames", "Duplicate", "frames"),
)
_LATENCY = (
    Column("latency_us_min", "Latency min", "us", 3),
    Column("latency_us_avg", "Avg", "us", 3),
    Column("latency_us_max", "Max", "us", 3),
)
_PERCENTILES = (
    Column("latency_us_p50", "p50", "us", 3),
    Column("latency_us_p99", "p99", "us", 3),
    Column("latency_us_p99_9", "p99.9", "us", 3),
)
_JITTER = (
    Column("jitter_us_min", "Jitter min", "us", 3),
    Column("jitter_us_avg", "Avg", "us", 4),
    Column("jitter_us_max", "Max", "us", 3),
)
_RATIOS = (
    Column("loss_ratio", "Loss ratio", "of expected"),
    Column("loss_ratio_below", "Below, 95 %", "of expected"),
)
_STRAYS = (Column("flooded_frames", "Flooded", "frames"), Column("misdirected_frames", "Misdirected", "frames"))
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
        tables.append(_flow_table("flows", "Flows", (Column("stream", "Stream"), Column("part", "Part")), flows))
    return tuple(tables)


def _class_table(rows: Sequence[ClassResult], bed: Bed, definition: str, *, several: bool) -> Table:
    percentiles = _PERCENTILES if any(row.delay.latency_us_p50 is not None for row in rows) else ()
    columns = (
        *([_RUN] if several else []),
        _CLASS,
        Column("rate", "Rate", "per sender"),
        Column("mean_bytes", "Frame", "B mean", 1),
        Column("state", "State"),
        *_COUNTS,
        Column("received_bytes", "Received", "bytes"),
        *_RATIOS,
        *(_STRAYS if any(row.flooded_frames is not None for row in rows) else ()),
        *_LATENCY,
        *percentiles,
        *_JITTER,
        DEPARTURES,
        QUEUES,
        Column("reason", "Why"),
    )
    note = f"{_LOSS_NOTE} Latency {definition}; jitter RFC 4689. {DEPARTURES_NOTE} {stamps_text(bed)}"
    keys = ("run", "traffic_class") if several else ("traffic_class",)
    return Table("classes", "Classes", columns, tuple(row.cells(columns) for row in rows), note, keys=keys)


def _layer_table(rows: Sequence[LayerResult], definition: str) -> Table:
    columns = (
        _RUN,
        _CLASS,
        *KIND_COLUMNS,
        *_COUNTS,
        *_LATENCY,
        Column("latency_us_low", "Low", "us mean", 3),
        Column("latency_us_high", "High", "us mean", 3),
        Column("increment_us", "Increment", "us", 3),
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
        _RUN,
        Column("state", "State"),
        Column("flooded_frames", "Flooded", "frames"),
        Column("misdirected_frames", "Misdirected", "frames"),
        Column("foreign_frames", "Foreign", "frames"),
    )
    rows = tuple(result.cells(columns) for result in results)
    return Table("runs", "Runs", columns, rows, "State: the worst of all classes.", keys=("run",))


def _flow_table(name: str, title: str, which: Sequence[Column], rows: Sequence[FlowResult]) -> Table:
    columns = (
        _RUN,
        _CLASS,
        *which,
        Column("tx_port", "Sender", "port"),
        Column("rx_port", "Receiver", "port"),
        *_COUNTS,
        *(_STRAYS if any(row.flooded_frames is not None for row in rows) else ()),
        *_LATENCY,
        *_JITTER,
    )
    keys = ("run", "traffic_class", *(column.key for column in which), "tx_port", "rx_port")
    return Table(name, title, columns, tuple(row.cells(columns) for row in rows), detail=True, keys=keys)
