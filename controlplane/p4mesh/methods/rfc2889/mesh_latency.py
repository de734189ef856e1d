"""Latency columns of the mesh tests: all frames of all flows, at the throughput and at every load of the sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Mesh
from p4mesh.methods.options.parameters import ParameterSet, boolean
from p4mesh.methods.options.shared import departure_error_ns
from p4mesh.methods.results import fields
from p4mesh.methods.results import latency_tables as tables
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.forwarding import MeshLatencyRow, MeshSweep, MeshThroughput, MeshTrial
from p4mesh.methods.results.latency import (
    Definition,
    Group,
    LatencySummary,
    definition_of,
    definition_text,
    groups_of,
    shift_ns,
    summarise,
    summary_of,
)
from p4mesh.methods.results.latency_cells import (
    CALIBRATED,
    RAW,
    Circumstances,
    DefinitionCells,
    calibration_cells,
    definition_cells,
    latency_cells,
    us,
    variation_cells,
)
from p4mesh.methods.results.layers import PortLatency, has_layers, layer_cells, layer_tables
from p4mesh.methods.results.outcome import Table
from p4mesh.methods.results.record import table_of
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.imix import FrameSize
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

_WHERE = (fields.FRAME_SIZE_BYTES, fields.LOAD_PCT)
_RATE = retitled(fields.OFFERED_FPS, "Rate, all ports")
MOST_FLOWS_SHOWN = 20_000
"""A report has a heat map of no more pairs of ports."""
PERCENTILES = boolean(
    "latency_percentiles", False, "RFC 8239 2.3", "count all frames in histograms: of their flows, or of their streams"
)


def counts_flows(bed: Bed, parameters: ParameterSet, mesh: Mesh) -> bool:
    """Whether every flow has a histogram of its own, from which its delay variation (PDV) is read."""
    return parameters.flag(PERCENTILES.name) and len(mesh.pairs) <= bed.histograms


class MeshLatency:
    """Adds the latency of a trial to its row; every flow is kept where wires are to be subtracted, or to be shown."""

    def __init__(self, bed: Bed, frame_size_bytes: FrameSize, parameters: ParameterSet, mesh: Mesh) -> None:
        self._bed = bed
        self._size = frame_size_bytes
        self._definition = definition_of(parameters)
        self._name = definition_text(bed, parameters)
        self._few_flows = len(mesh.pairs) <= MOST_FLOWS_SHOWN
        self._of_flows = counts_flows(bed, parameters, mesh)
        counted = HistogramPer.FLOW if self._of_flows else HistogramPer.STREAM
        self._histograms = counted if parameters.flag(PERCENTILES.name) else None
        self._parameters = parameters

    def asked(self, spec: TrialSpec, *, sweep: bool) -> TrialSpec:
        """The trial with departures as exact as asked for, and with histograms where percentiles are wanted.

        Flows are kept where each needs a correction of its own, for wires and between ports of different rates, where
        ports have layers or roles, and at the throughput, for reports that show each pair of ports.
        """
        corrected = self._bed.calibration is not None or self._bed.mixed_rates or has_layers(self._bed)
        per_flow = corrected or (self._few_flows and not sweep)
        error_ns = departure_error_ns(self._parameters, sweep=sweep)
        return replace(spec, per_flow=per_flow, histograms=self._histograms, departure_error_ns=error_ns)

    def __call__(self, row: MeshTrial, result: TrialResult) -> MeshTrial:
        """The row with the cells of the latency tables; none for a trial that cannot be trusted."""
        if not result.status.trusted:
            return replace(row, latency=(), wires=())
        bed, size = self._bed, self._size
        whole, circumstances = (
            self._summary(result, self._definition),
            Circumstances.of([result], bed.stamps.resolution_ns),
        )
        rows = [
            MeshLatencyRow(
                latency=latency_cells(whole, self._name, circumstances),
                variation=variation_cells(whole, circumstances),
                definitions=self._definitions(result),
            )
        ]
        wires = []
        if bed.calibration is not None:
            groups = _groups(result)
            calibrated = summary_of(groups, bed, size, self._definition, calibrated=True)
            rows.append(MeshLatencyRow(latency=latency_cells(calibrated, self._name, circumstances, CALIBRATED)))
            for group in groups:
                found = summary_of([group], bed, size, self._definition)
                if found is not None:
                    average_us = us(found.latency.avg_ns)
                    wires.append(calibration_cells(bed, size, group.tx_port, group.rx_port, average_us))
        layers = None
        if has_layers(bed):
            layers = layer_cells(
                bed, PortLatency.of_groups(_groups(result), bed, size, self._definition, circumstances)
            )
        return replace(row, latency=tuple(rows), wires=tuple(wires), layers=layers)

    def _definitions(self, result: TrialResult) -> DefinitionCells | None:
        """The average in every definition, where the time stamps give them."""
        if not self._bed.defines_latency:
            return None
        found = {kind: self._summary(result, kind) for kind in Definition}
        return definition_cells(found, Circumstances.of([result], self._bed.stamps.resolution_ns))

    def _summary(self, result: TrialResult, definition: Definition) -> LatencySummary | None:
        """The latency of all frames; PDV, a property of a flow, is that of the flow with the largest one."""
        bed, size = self._bed, self._size
        if bed.mixed_rates:
            return summary_of(_groups(result), bed, size, definition)
        any_port = bed.ports[0].number
        whole = summarise(result.latency, shift_ns(bed, definition, size, any_port, any_port, result.latency))
        of_flows = summary_of(_groups(result), bed, size, definition) if self._of_flows else None
        if whole is None or of_flows is None:
            return whole
        return replace(
            whole,
            pdv_percentiles_ns=of_flows.pdv_percentiles_ns,
            pdv_percentile_errors_ns=of_flows.pdv_percentile_errors_ns,
            pdv_max_ns=of_flows.pdv_max_ns,
        )


def _groups(result: TrialResult) -> list[Group]:
    """The latency of every flow that was kept or counted."""
    streams = {flow.stream for flow in result.flows} | {counted.stream for counted in result.histograms}
    return groups_of(result, streams)


def mesh_latency_tables(
    bed: Bed,
    parameters: ParameterSet,
    throughput: Sequence[MeshThroughput],
    forwarding: Sequence[MeshSweep],
    mesh: Mesh,
) -> list[Table]:
    """Latency at the throughput, at every load of the sweep, its variation, and the wires."""
    of_flows = counts_flows(bed, parameters, mesh)
    found: list[Table] = []
    at_throughput = [(unit.frame_size_bytes, unit.of_latency) for unit in throughput if unit.of_latency is not None]
    sweep = [(unit.frame_size_bytes, row) for unit in forwarding for row in unit.rows]
    for name, title, trials, keys in (
        ("latency_throughput", "Latency at the throughput", at_throughput, _WHERE[:1]),
        ("latency_sweep", "Latency at every load", sweep, _WHERE),
    ):
        if not trials:
            continue
        places = [(_place(size, row), row) for size, row in trials]
        measured = [(place, cells) for place, row in places for cells in row.latency or ()]
        detail = name == "latency_sweep"
        counted = parameters.flag(PERCENTILES.name)
        kept = (item for item in tables.LATENCY_COLUMNS if counted or item.key not in tables.OF_HISTOGRAMS)
        columns, note = (*_WHERE, _RATE, *kept), tables.latency_note(bed)
        found.append(table_of(name, title, columns, measured, note, keys=(*keys, fields.CALIBRATED), detail=detail))
        raw = [(place, cells) for place, cells in measured if cells.latency.calibrated == RAW]
        kinds = {"of_flows": of_flows, "counted": counted, "detail": detail}
        found.append(tables.variation_table(bed, f"{name}_variation", _WHERE, keys, raw, **kinds))
        if bed.defines_latency:
            found.append(tables.definition_table(f"{name}_definitions", _WHERE, keys, raw, detail=True))
        layers = [(place, cells) for place, row in places for cells in row.layers or ()]
        found += layer_tables(f"{name}_layers", title, _WHERE, keys, layers, detail=detail)
        if bed.calibration is not None:
            wires = [(place, wire) for place, row in places for wire in row.wires or ()]
            found.append(tables.calibration_table(f"{name}_wires", bed, _WHERE, keys, wires))
    return found


def mesh_overflows(throughput: Sequence[MeshThroughput], forwarding: Sequence[MeshSweep]) -> tuple[str, ...]:
    """Findings on latencies longer than the time stamps reach, at the throughput or in a sweep."""
    shown = [(unit.frame_size_bytes, unit.of_latency) for unit in throughput if unit.of_latency is not None]
    swept = [(unit.frame_size_bytes, row) for unit in forwarding for row in unit.rows]
    return tables.overflows((size, cells.latency) for size, row in (*shown, *swept) for cells in row.latency or ())


def _place(frame_size_bytes: FrameSize, row: MeshTrial) -> dict[str, FrameSize | float]:
    """The cells that name the trial of a latency."""
    return {"frame_size_bytes": frame_size_bytes, "load_pct": row.load_pct, "offered_fps": row.offered_fps}
