"""RFC 2889 5.10: broadcast frame forwarding and latency, from one port to all the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.longer_trials import Asked, measure_each
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, choice, port_number
from p4mesh.methods.results import fields
from p4mesh.methods.results import latency_tables as latency
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.latency import (
    LATENCY_DEFINITION,
    check_definition,
)
from p4mesh.methods.results.metrics import missed_error_pct, missed_frames, rate_metrics
from p4mesh.methods.results.outcome import Figure, Outcome, Series
from p4mesh.methods.results.queues import queue_cells
from p4mesh.methods.results.record import INLINE, OMITTED, Record, table_of
from p4mesh.methods.results.search_findings import excluded_note, untrusted_trials
from p4mesh.methods.results.searched import FOR_GOOD, FOR_GOOD_NOTE, Searched, SearchRow
from p4mesh.methods.rfc2889.broadcast_latency import STREAM, PortLatency, port_latencies, port_latency_tables
from p4mesh.methods.throughput_search import search_with
from p4mesh.quantities import number_text, ports_text
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic import patterns
from p4mesh.traffic.line_rate import NS_PER_MS, l1_rate_bps, max_rate_fps, rate_at_pct, tx_frames
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

MIN_PORTS = 2
BOTH, THROUGHPUT = "both", "throughput"
SINGLE_FRAME = "single frame"

_COLUMNS = (
    fields.FRAME_SIZE_BYTES,
    retitled(fields.LOAD_PCT, "Load", digits=3),
    fields.OFFERED_FPS,
    fields.OFFERED_L1_MBPS,
    retitled(fields.FORWARDING_FPS, "Rx, all ports"),
    fields.LOSS_PCT,
    fields.LOSS_ERROR_PCT,
    retitled(fields.LOST_FRAMES, "Lost", "copies"),
    fields.STATE,
    *FOR_GOOD,
    retitled(fields.UPPER_PCT, "Fails at", digits=3),
    fields.TRIALS,
)


@dataclass(frozen=True, kw_only=True)
class BroadcastTrial(SearchRow):
    """Rates and counts of one trial; received frames are those of all ports."""

    offered_l1_mbps: float
    late_frames: int
    loss_error_pct: float | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class LatencyTrial(Record):
    """Findings on a trial whose latency is shown."""

    mode: str
    status: Verdict
    reason: str
    lost_frames: int
    lossy_ports: tuple[int, ...]
    flooded_frames: int


@dataclass(frozen=True, kw_only=True)
class BroadcastUnit(Record):
    """Throughput of one frame size, and latency at it."""

    frame_size_bytes: int
    theoretical_fps: float
    latency: tuple[PortLatency, ...]
    latency_trials: tuple[LatencyTrial, ...]
    search: Searched[BroadcastTrial] = field(metadata=INLINE)


class Broadcast(MethodOf[BroadcastUnit]):
    """Throughput of broadcast frames, and their latency to every receiving port."""

    name = "rfc2889.broadcast"
    title = "Broadcast frame forwarding and latency"
    section = "RFC 2889 5.10"
    part = "broadcast"
    parameters = (
        choice("parts", BOTH, "RFC 2889 5.10.3", "which sub-tests run", (BOTH, THROUGHPUT)),
        LATENCY_DEFINITION,
        shared.DEPARTURE_ERROR,
        port_number("source_port", 1, "RFC 2889 5.10.2", "the port that transmits"),
        *shared.trial_parameters("RFC 2889 5.10.2"),
        *shared.search_parameters("RFC 2889 5.10.3"),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than two ports, an unknown port, contradicting bounds."""
        bed.require_ports(self.name, MIN_PORTS)
        shared.search_of(parameters)
        check_definition(self.name, bed, parameters)
        bed.require_port("source_port", parameters.integer("source_port"))

    def latency_pairs(self, bed: Bed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """Every other port receives from the source."""
        source = parameters.integer("source_port")
        return tuple((source, port) for port in bed.port_numbers if port != source)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """The search, and the two latency trials where they are wanted."""
        return shared.search_of(parameters).trials_expected + (2 if parameters.text("parts") == BOTH else 0)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> BroadcastUnit:
        """Search the throughput, then measure latency of a single frame and of a stream."""
        size, rate = unit.frame_size_bytes, bed.slowest_rate_bps
        extra = 2 if parameters.text("parts") == BOTH else 0
        found = search_with(
            parameters,
            shared.duration_ns_of(parameters, size, rate),
            session,
            partial(_spec, THROUGHPUT, size, bed, rate, parameters),
            partial(_row, rate),
            further=extra,
        )
        rows: list[PortLatency] = []
        trials: list[LatencyTrial] = []
        load = found.result_load_pct
        if extra and load is not None:
            decided_ns = round(found.shown.duration_ms * NS_PER_MS)
            asked = [
                Asked(load, partial(_spec, mode, size, bed, rate, parameters, load), decided_ns)
                for mode in (SINGLE_FRAME, STREAM)
            ]
            taken = measure_each(session, asked, lengthen=parameters.flag(shared.SUSTAINED))
            for mode, one in zip((SINGLE_FRAME, STREAM), taken, strict=True):
                rows += port_latencies(mode, size, load, one.result, bed, parameters)
                trials.append(_latency_trial(mode, one.spec, one.result))
        return BroadcastUnit(
            frame_size_bytes=size,
            theoretical_fps=float(max_rate_fps(size, rate)),
            latency=tuple(rows),
            latency_trials=tuple(trials),
            search=found,
        )

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, BroadcastUnit]) -> Outcome:
        """The tables of methodology 3.10; FAIL where no load is without loss."""
        units = list(results.values())
        table = table_of(
            "broadcast",
            "Broadcast throughput",
            _COLUMNS,
            [(unit.search.trusted_cells, unit, unit.search.judgement, unit.search.for_good) for unit in units],
            f"{FOR_GOOD_NOTE} {excluded_note(units)}".rstrip(),
            headline=(fields.STATE, fields.LOAD_PCT, fields.OFFERED_FPS, fields.UPPER_PCT),
        )
        rows = [row for unit in units for row in unit.latency]
        sizes = [unit.frame_size_bytes for unit in results]
        return self.outcome(
            (
                *(unit.search.verdict for unit in units),
                *(trial.status for unit in units for trial in unit.latency_trials),
            ),
            f"port {parameters.integer('source_port')} to {len(bed.ports) - 1} ports",
            (table, *(port_latency_tables(bed, rows) if rows else [])),
            searched=units,
            figures=[_figure(units)],
            findings=(
                *_came_back(units),
                *(text for unit in units for text in untrusted_trials(f"{unit.frame_size_bytes} B", unit.search.rows)),
                *_incomplete(units),
                *latency.overflows((row.frame_size_bytes, row.latency) for row in rows),
            ),
            deviations=(shared.duration_deviation(parameters, sizes, bed.slowest_rate_bps), _mixed(bed)),
        )


def _came_back(units: Sequence[BroadcastUnit]) -> Iterator[str]:
    """Yield copies that the source port received: all other ports, unused ones as well, are to get every frame."""
    for unit in units:
        copies = unit.search.flooded_frames + sum(trial.flooded_frames for trial in unit.latency_trials)
        if copies:
            yield f"flooding detected: {copies:,} frames came back to the source port ({unit.frame_size_bytes} B)"


def _incomplete(units: Sequence[BroadcastUnit]) -> Iterator[str]:
    """Yield latency trials that cannot be trusted, and copies that have no latency because they were lost."""
    for unit in units:
        for trial in unit.latency_trials:
            where = f"{unit.frame_size_bytes} B, latency of a {trial.mode}"
            if not trial.status.trusted:
                yield f"{trial.status.value} trial, {where}: {trial.reason}"
            elif trial.lost_frames:
                ports = f"port{'s' * (len(trial.lossy_ports) > 1)} {ports_text(trial.lossy_ports)}"
                lost = "1 copy was" if trial.lost_frames == 1 else f"{trial.lost_frames:,} copies were"
                yield f"{where}: {lost} lost, on {ports}"


def _latency_trial(mode: str, spec: TrialSpec, result: TrialResult) -> LatencyTrial:
    return LatencyTrial(
        mode=mode,
        status=result.status,
        reason=result.reason,
        lost_frames=result.lost_frames,
        lossy_ports=tuple(sorted(flow.rx_port for flow in result.flows if flow.lost_frames)),
        flooded_frames=_returned(spec, result),
    )


def _returned(spec: TrialSpec, result: TrialResult) -> int:
    """Copies at the source port; those at ports that take no part are as they should be."""
    sources = {port for stream in spec.streams for port in stream.tx_ports}
    return sum(port.flooded_frames for port in result.ports if port.port in sources)


def _mixed(bed: Bed) -> str:
    rate = bed.slowest_rate_bps / 1e9
    return f"Loads are percent of the slowest port's line rate, {number_text(rate)} Gbit/s." if bed.mixed_rates else ""


def _spec(
    part: str,
    size: int,
    bed: Bed,
    rate_bps: int,
    parameters: ParameterSet,
    load_pct: Fraction,
    duration_ns: int,
) -> TrialSpec:
    source = parameters.integer("source_port")
    fps = rate_at_pct(load_pct, size, rate_bps)
    stream = Stream(
        "broadcast",
        size,
        fps,
        1 if part == SINGLE_FRAME else max(1, tx_frames(duration_ns, fps)),
        patterns.Broadcast(),
        (source,),
        tuple(port for port in bed.port_numbers if port != source),
        shared.frame_of(parameters),
    )
    return shared.trial_of(
        parameters,
        f"broadcast {part} {size} B {float(load_pct):.4f} %",
        (stream,),
        duration_ns,
        per_flow=part != THROUGHPUT,
        watch_queues=part != SINGLE_FRAME,
        histograms=HistogramPer.FLOW if part == STREAM and len(stream.rx_ports) <= bed.histograms else None,
        prints_latency=part != THROUGHPUT,
    )


def _row(rate_bps: int, spec: TrialSpec, result: TrialResult, load: Fraction, verdict: Verdict) -> BroadcastTrial:
    (stream,) = spec.streams
    size = stream.frame_size_bytes
    rates = rate_metrics(spec, result, rate_bps, len(stream.rx_ports) * max_rate_fps(size, rate_bps))
    return BroadcastTrial(
        load_pct=float(load),
        offered_fps=float(rates.offered_fps),
        offered_l1_mbps=float(l1_rate_bps(rates.offered_fps, size) / 1_000_000),
        forwarding_fps=float(rates.forwarding_fps),
        forwarding_error_fps=float(rates.forwarding_error_fps),
        late_frames=rates.late_frames,
        lost_frames=result.lost_frames,
        corrupted_frames=result.corrupted_frames or None,
        loss_pct=float(rates.loss_pct),
        loss_error_pct=missed_error_pct(result, missed_frames(result), result.expected_rx_frames),
        flooded_frames=_returned(spec, result),
        status=result.status,
        reason=result.reason,
        verdict=verdict,
        duration_ms=spec.duration_ns / NS_PER_MS,
        watched=queue_cells(result),
    )


def _figure(units: Sequence[BroadcastUnit]) -> Figure:
    theory = tuple((float(unit.frame_size_bytes), unit.theoretical_fps) for unit in units)
    found = tuple(
        (float(unit.frame_size_bytes), unit.search.shown.offered_fps)
        for unit in units
        if unit.search.throughput_pct is not None
    )
    series = (Series("theoretical maximum", theory, theoretical=True), Series("broadcast throughput", found))
    return Figure("broadcast", "Broadcast throughput against frame size", "frame size (B)", "frames/s", series)
