"""Latency of broadcast frames to every receiving port (RFC 2889 5.10): rows, and the tables made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, retitled
from p4mesh.methods.results.latency import Definition, definition_of, definition_text, groups_of, summary_of
from p4mesh.methods.results.latency_cells import (
    CALIBRATED,
    CalibrationCells,
    Circumstances,
    DefinitionCells,
    LatencyCells,
    VariationCells,
    calibration_cells,
    definition_cells,
    latency_cells,
    us,
    variation_cells,
)
from p4mesh.methods.results.latency_tables import (
    LATENCY_COLUMNS,
    calibration_table,
    definition_table,
    latency_note,
    variation_table,
)
from p4mesh.methods.results.layers import Increments, largest, layer_rows, layer_tables
from p4mesh.methods.results.layers import PortLatency as Received
from p4mesh.methods.results.outcome import Cell, Table
from p4mesh.methods.results.record import INLINE, OMITTED, Record, Row, table_of
from p4mesh.traffic.line_rate import rate_at_pct
from p4mesh.trial.result import TrialResult

STREAM = "stream"
ALL_DEVICES = "all"

_WHERE = (fields.FRAME_SIZE_BYTES, fields.MODE)
_RATE = (fields.LOAD_PCT, fields.RATE_FPS)
_LOW_HIGH = (
    *("min_us", "avg_us", "avg_error_us", "max_us", "p99_us", "p99_error_us", "p99_9_us", "p99_9_error_us"),
    *("jitter_avg_us", "jitter_avg_error_us", "jitter_max_us"),
)
_NAMES = {column.key: column for column in LATENCY_COLUMNS}

SUMMARY_COLUMNS = (
    *_WHERE,
    *_RATE,
    *(_NAMES[key] for key in ("definition", "calibrated", "queues")),
    retitled(fields.DEVICE, "Behind"),
    fields.PORTS,
    *(
        Column(f"{key}_{end}", f"{_NAMES[key].title}, {end}", "us", 3)
        for key in _LOW_HIGH
        for end in ("low", "high")
        if end == "high" or key in ("min_us", "avg_us", "max_us")
    ),
    fields.AVG_US_MEAN,
    fields.SAMPLES,
    retitled(fields.INCREMENT_US, "Increment", "us, device before"),
    fields.INCREMENT_ERROR_US,
)


@dataclass(frozen=True, kw_only=True)
class PortLatency(Record):
    """Latency to one receiving port, as measured or less the latency of its wire."""

    frame_size_bytes: int
    mode: str
    load_pct: float | None
    rate_fps: float | None
    port: int
    latency: LatencyCells = field(metadata=INLINE)
    variation: VariationCells | None = field(default=None, metadata=OMITTED)
    definitions: DefinitionCells | None = field(default=None, metadata=OMITTED)
    wire: CalibrationCells | None = field(default=None, metadata=OMITTED)


def port_latencies(
    mode: str, size: int, load: Fraction, result: TrialResult, bed: Bed, parameters: ParameterSet
) -> list[PortLatency]:
    """One row per receiving port, and one more where its wire is subtracted."""
    if not result.status.trusted:
        return []
    kind, name = definition_of(parameters), definition_text(bed, parameters)
    rate_fps, circumstances = (
        rate_at_pct(load, size, bed.slowest_rate_bps),
        Circumstances.of([result], bed.stamps.resolution_ns),
    )
    rows = []
    for group in groups_of(result, ("broadcast",)):
        whole = summary_of([group], bed, size, kind)
        if whole is None:
            continue
        row = PortLatency(
            frame_size_bytes=size,
            mode=mode,
            load_pct=float(load) if mode == STREAM else None,
            rate_fps=float(rate_fps) if mode == STREAM else None,
            port=group.rx_port,
            latency=latency_cells(whole, name, circumstances),
        )
        every = {other: summary_of([group], bed, size, other) for other in Definition}
        definitions = definition_cells(every, circumstances)
        rows.append(replace(row, variation=variation_cells(whole, circumstances), definitions=definitions))
        if bed.calibration is not None:
            calibrated = summary_of([group], bed, size, kind, calibrated=True)
            wire = calibration_cells(bed, size, group.tx_port, group.rx_port, us(whole.latency.avg_ns))
            rows.append(replace(row, latency=latency_cells(calibrated, name, circumstances, CALIBRATED), wire=wire))
    return rows


def port_latency_tables(bed: Bed, rows: Sequence[PortLatency]) -> list[Table]:
    """Low and high over the ports, every port, variation, definitions, and the wires."""
    note = f"{latency_note(bed)} The stream runs at the throughput."
    where = (*_WHERE, retitled(fields.PORT, "Rx port"))
    varied = [(row, row.variation) for row in rows if row.variation and row.mode == STREAM]
    found = [
        table_of(
            "broadcast_latency",
            "Broadcast latency over the ports",
            SUMMARY_COLUMNS,
            _latency_summary(bed, rows),
            note,
            keys=(*_WHERE, fields.CALIBRATED, fields.DEVICE),
        ),
        *layer_tables(
            "broadcast_latency_layers",
            "Broadcast latency",
            _WHERE,
            _WHERE,
            _by_layer(bed, rows),
        ),
        table_of(
            "broadcast_latency_ports",
            "Broadcast latency per port",
            (*where, *_RATE, *LATENCY_COLUMNS),
            rows,
            note,
            detail=True,
            keys=(*where, fields.CALIBRATED),
        ),
        variation_table(bed, "broadcast_latency_variation", where, where, varied, detail=True),
    ]
    if bed.defines_latency:
        defined = [(row, row.definitions) for row in rows if row.definitions]
        found.append(definition_table("broadcast_latency_definitions", where, where, defined, detail=True))
    if bed.calibration is not None:
        wires = [(row, row.wire) for row in rows if row.wire]
        found.append(calibration_table("broadcast_latency_wires", bed, _WHERE, _WHERE, wires))
    return found


def _latency_summary(bed: Bed, rows: Sequence[PortLatency]) -> list[Row]:
    """Low and high over all ports, and over the ports of each device of a chain (layer)."""
    devices = {port.number: port.attached_to for port in bed.ports}
    layers = tuple(dict.fromkeys(devices.values()))
    groups: dict[tuple[int, str, str], list[PortLatency]] = {}
    for row in rows:
        groups.setdefault((row.frame_size_bytes, row.mode, row.latency.calibrated), []).append(row)
    summary: list[Row] = []
    for ports in groups.values():
        summary.append(_low_high(ALL_DEVICES, ports))
        increments = Increments()
        for layer in layers if len(layers) > 1 else ():
            behind = [port for port in ports if devices[port.port] == layer]
            if not behind:
                continue
            error_us = largest(port.latency.times.avg_error_us for port in behind)
            summary.append({**_low_high(layer, behind), **increments.after("layer", _mean_us(behind), error_us).data()})
    return summary


def _by_layer(bed: Bed, rows: Sequence[PortLatency]) -> list[Row]:
    """The latency of each frame size and mode at the ports of each layer and role of the topology."""
    groups: dict[tuple[int, str], list[PortLatency]] = {}
    for row in rows:
        groups.setdefault((row.frame_size_bytes, row.mode), []).append(row)
    return [
        cells
        for found in groups.values()
        for cells in layer_rows(
            bed,
            found[0],
            (received for row in found for received in Received.of_cells(row.port, row.latency)),
        )
    ]


def _low_high(device: str, ports: Sequence[PortLatency]) -> dict[str, Cell]:
    shown = ports[0].cells(SUMMARY_COLUMNS) | {"device": device, "ports": len(ports)}
    cells = [port.latency.data() for port in ports]
    for key in _LOW_HIGH:
        values = [cell[key] for cell in cells if cell[key] is not None]
        for end, value in (("low", min(values, default=None)), ("high", max(values, default=None))):
            if f"{key}_{end}" in shown:
                shown[f"{key}_{end}"] = value
    samples = sum(port.latency.samples or 0 for port in ports)
    return shown | {"avg_us_mean": _mean_us(ports), "samples": samples}


def _mean_us(ports: Sequence[PortLatency]) -> float:
    """The mean over all frames of some ports."""
    weighed = [(port.latency.times.avg_us, port.latency.samples) for port in ports]
    total_us = sum(average_us * samples for average_us, samples in weighed if average_us is not None and samples)
    return total_us / sum(samples or 0 for _, samples in weighed)
