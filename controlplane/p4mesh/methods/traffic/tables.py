"""Tables of traffic: classes with their verdicts, pairs of ports, flows."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.methods.bed import Bed
from p4mesh.methods.results import fields
from p4mesh.methods.results.latency import stamps_text
from p4mesh.methods.results.latency_tables import DEPARTURES_NOTE, ERRORS_NOTE
from p4mesh.methods.results.loss_interval import BUCKET_LOSSES
from p4mesh.methods.results.outcome import Table
from p4mesh.methods.traffic.results import (
    ClassResult,
    FlowResult,
    InterarrivalResult,
    LayerResult,
    RunResult,
    SizeResult,
)

_OPTIONAL = (
    *(fields.STREAM, fields.PART, fields.DOUBTFUL_FRAMES, fields.LATE_FRAMES, fields.EARLY_FRAMES),
    *(fields.LOSS_RATIO_ERROR, fields.CORRUPTED_FRAMES, fields.FLOODED_FRAMES, fields.MISDIRECTED_FRAMES),
    *(fields.P50_US, fields.P50_ERROR_US, fields.P99_US, fields.P99_ERROR_US, fields.P99_9_US, fields.P99_9_ERROR_US),
)
_RARE_TIMES = (
    *(fields.BETWEEN_P1_ERROR_US, fields.BETWEEN_P50_ERROR_US),
    *(fields.BETWEEN_P99_ERROR_US, fields.BETWEEN_P99_9_ERROR_US),
)
_HEADLINE = (fields.RATE, fields.STATE, fields.LOST_FRAMES, fields.LOSS_RATIO, fields.AVG_US, fields.MAX_US)
_LOSS_NOTE = (
    "Loss ratio: lost frames of all frames of the class that its receivers expect; a frame to many is expected at each "
    "of them. Late frames, from a queue that an overload has filled, count as lost: a longer trial loses as many more. "
    "So do early ones, which came at first beyond the rate of the rest. "
    f"Where none was lost, the true ratio is below 3/n with 95 % confidence. {BUCKET_LOSSES} "
    "A PASS does not exclude it."
)
_INTERARRIVAL_NOTE = (
    "Times from a frame to the next one of its flow, counted in bins that are 1.6 % wide at most; at the sender by the "
    "stamps of departures, of frames that came behind their predecessor. Variation: standard deviation over mean, 0 of "
    "even times, 1 of exponential ones."
)
_LAYER_NOTE = (
    "of all frames that the receivers of a layer, or of a role, got; layers and roles in the order of their ports. Low "
    "and high: means of its receivers. Increment: mean less that of the layer before."
)


def tables_of(results: Sequence[RunResult], bed: Bed, definition: str) -> tuple[Table, ...]:
    """All tables of the runs."""
    pairs = [row for result in results for row in result.pairs]
    flows = [row for result in results for row in result.flows]
    layers = [row for result in results for row in result.layers]
    sizes = [row for result in results for row in result.sizes]
    by_class = (fields.RUN, fields.TRAFFIC_CLASS)
    between = (fields.TX_PORT, fields.RX_PORT)
    times = [row for result in results for row in result.interarrival]
    alone = len(results) == 1
    tables = [
        ClassResult.table(
            "classes",
            "Classes",
            [row for result in results for row in result.classes],
            f"{_LOSS_NOTE} Latency {definition}; jitter RFC 4689. {DEPARTURES_NOTE} {ERRORS_NOTE} {stamps_text(bed)}",
            columns=ClassResult.columns()[alone:],
            optional=_OPTIONAL,
            keys=by_class[alone:],
            headline=_HEADLINE,
        ),
        SizeResult.table(
            "sizes",
            "Frame sizes",
            sizes,
            f"Of the classes that have several. Latency {definition}.",
            optional=_OPTIONAL,
            keys=(*by_class, fields.FRAME_SIZE_BYTES),
        ),
        LayerResult.table(
            "layers",
            "Layers and roles",
            layers,
            f"Latency {definition} {_LAYER_NOTE}",
            optional=_OPTIONAL,
            keys=(*by_class, fields.KIND, fields.NAME),
        ),
        InterarrivalResult.table(
            "interarrival",
            "Times between frames",
            times,
            f"{_INTERARRIVAL_NOTE} {stamps_text(bed)}",
            optional=(*_OPTIONAL, fields.TX_PORT, fields.RX_PORT, *_RARE_TIMES),
            keys=(*by_class, fields.STREAM, *between, fields.MEASURED_AT),
        ),
        RunResult.table("runs", "Runs", results, "State: the worst of all classes.", keys=by_class[:1]),
        FlowResult.table(
            "pairs", "Senders and receivers", pairs, optional=_OPTIONAL, keys=(*by_class, *between), detail=True
        ),
    ]
    if len(flows) > len(pairs):
        keys = (*by_class, fields.STREAM, fields.PART, *between)
        tables.append(FlowResult.table("flows", "Flows", flows, optional=_OPTIONAL, keys=keys, detail=True))
    empty = {"layers": not layers, "sizes": not sizes, "interarrival": not times}
    return tuple(table for table in tables if not empty.get(table.name))
