"""Holds the counts of a run of classes: per class, per pair of ports and per flow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

from p4mesh.measurement.counts import FlowCounts, Trend
from p4mesh.methods.bed import Bed
from p4mesh.methods.results import fields
from p4mesh.methods.results.latency import Definition, LatencySummary, merged, shift_ns, summarise
from p4mesh.methods.results.latency_cells import us
from p4mesh.methods.results.layers import Increments, ports_by_layer
from p4mesh.methods.results.loss_interval import excluded_ratio
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.methods.traffic.classes import Acceptance, LaidClass
from p4mesh.methods.traffic.runs import LaidRun
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Judgement, Verdict


@dataclass(frozen=True, kw_only=True)
class Counts(Record):
    """Frames of a class, of a pair of ports in it, or of a flow."""

    sent_frames: Annotated[int, fields.SENT_FRAMES]
    expected_frames: Annotated[int, fields.EXPECTED_FRAMES]
    received_frames: Annotated[int, fields.RECEIVED_FRAMES]
    """Without duplicates."""
    lost_frames: Annotated[int, fields.LOST_FRAMES]
    doubtful_frames: Annotated[int | None, fields.DOUBTFUL_FRAMES] = field(default=None, metadata=OMITTED)
    """Of those lost, frames that may have come late; None where there is none."""
    misordered_frames: Annotated[int, fields.MISORDERED_FRAMES]
    duplicate_frames: Annotated[int, fields.DUPLICATE_FRAMES]


@dataclass(frozen=True, kw_only=True)
class Delay(Record):
    """Latency in the definition of the run, and its variation; empty without frames."""

    latency_us_min: float | None = None
    latency_us_avg: float | None = None
    latency_us_max: float | None = None
    latency_us_p50: float | None = None
    latency_us_p99: float | None = None
    latency_us_p99_9: float | None = None
    jitter_us_min: float | None = None
    jitter_us_avg: float | None = None
    jitter_us_max: float | None = None


@dataclass(frozen=True, kw_only=True)
class ClassResult(Record):
    """One class in one run, with its verdict."""

    run: str
    traffic_class: str
    state: Verdict
    reason: str
    rate: str
    rate_fps: float
    mean_bytes: float
    counts: Counts = field(metadata=INLINE)
    received_bytes: int
    """Of the frames received, FCS included."""
    loss_ratio: float | None
    loss_ratio_below: float | None
    """Upper bound at 95 % confidence; None where frames were lost."""
    delay: Delay = field(metadata=INLINE)
    flooded_frames: int | None
    misdirected_frames: int | None
    """At ports that they were not for; None where the target counts them per port alone."""
    departure_error_ns: float | None
    """How late its frames may have left; None where that is not known."""
    queues: str | None
    """Whether a queue on its way filled meanwhile; None where queues were not watched."""


@dataclass(frozen=True, kw_only=True)
class FlowResult(Record):
    """One flow, or all flows of a class between two ports."""

    run: str
    traffic_class: str
    stream: str
    part: str
    tx_port: int
    rx_port: int
    counts: Counts = field(metadata=INLINE)
    flooded_frames: int | None
    misdirected_frames: int | None
    """At ports that they were not for; None for frames to many, and where the target counts them per port alone."""
    delay: Delay = field(metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class LayerResult(Record):
    """Counts and delays of a class at the receivers of one layer or role."""

    run: str
    traffic_class: str
    kind: str
    """``layer`` or ``role``."""
    name: str
    receivers: int
    counts: Counts = field(metadata=INLINE)
    delay: Delay = field(metadata=INLINE)
    latency_us_low: float | None
    latency_us_high: float | None
    """Lowest and highest mean of its receivers."""
    increment_us: float | None
    """Mean less that of the layer before; None for roles, which have no order."""


@dataclass(frozen=True, kw_only=True)
class RunResult(Record):
    """One run of the traffic."""

    run: str
    state: Verdict
    status: Verdict
    reason: str
    flooded_frames: int
    misdirected_frames: int
    foreign_frames: int
    classes: tuple[ClassResult, ...]
    flows: tuple[FlowResult, ...]
    pairs: tuple[FlowResult, ...]
    layers: tuple[LayerResult, ...]
    """By the layers and roles of the topology; empty where it has none."""
    rounded_starts: tuple[str, ...]
    """Streams whose starts the tester had to round, and by how much."""


def result_of(run: LaidRun, result: TrialResult, bed: Bed, definition: Definition) -> RunResult:
    """Return the counts of one trial, class by class."""
    flows = {item.name: [] for item in run.classes}  # type: dict[str, list[tuple[Stream, FlowCounts]]]
    streams = {stream.name: stream for stream in run.spec.streams}
    for flow in result.flows:
        stream = streams[flow.stream]
        flows[stream.traffic_class].append((stream, flow))
    classes = tuple(_class_result(run, item, flows[item.name], result, bed, definition) for item in run.classes)
    return RunResult(
        run=run.label,
        state=Verdict.worst(item.state for item in classes),
        status=result.status,
        reason=result.reason,
        flooded_frames=result.flooded_frames,
        misdirected_frames=result.misdirected_frames,
        foreign_frames=result.foreign_frames,
        classes=classes,
        flows=tuple(
            _row(run.label, name, [(stream, flow)], bed, definition, bool(result.strays), flow.stream, flow.part)
            for name, found in flows.items()
            for stream, flow in found
        ),
        pairs=tuple(
            _row(run.label, name, list(group), bed, definition, bool(result.strays))
            for name, found in flows.items()
            for group in _by_pair(found)
        ),
        layers=tuple(row for name, found in flows.items() for row in _layers(run.label, name, found, bed, definition)),
        rounded_starts=tuple(
            f"{pacing.stream}: by up to {pacing.start_offset_error_ns:.4g} ns"
            for pacing in result.pacing
            if pacing.start_offset_error_ns > float(bed.stamps.resolution_ns)
        ),
    )


Found = tuple[Stream, FlowCounts]


def _by_pair(found: Sequence[Found]) -> Iterable[list[Found]]:
    groups: dict[tuple[int, int], list[Found]] = {}
    for stream, flow in found:
        groups.setdefault((flow.tx_port, flow.rx_port), []).append((stream, flow))
    return groups.values()


def _row(
    run: str,
    name: str,
    found: Sequence[Found],
    bed: Bed,
    definition: Definition,
    strays: bool,
    stream: str = "",
    part: str = "",
) -> FlowResult:
    flow = found[0][1]
    counted = strays and not any(one.pattern.to_many for one, _ in found)
    return FlowResult(
        run=run,
        traffic_class=name,
        stream=stream,
        part=part,
        tx_port=flow.tx_port,
        rx_port=flow.rx_port,
        counts=_counts(found),
        flooded_frames=sum(flow.flooded_frames for _, flow in found) if counted else None,
        misdirected_frames=sum(flow.misdirected_frames for _, flow in found) if counted else None,
        delay=_delay(merged(_summaries(found, bed, definition))),
    )


def _layers(run: str, name: str, found: Sequence[Found], bed: Bed, definition: Definition) -> Iterable[LayerResult]:
    increments = Increments()
    for kind, of_kind, ports in ports_by_layer(bed):
        by_port = {port: [item for item in found if item[1].rx_port == port] for port in ports}
        inside = [item for items in by_port.values() for item in items]
        if not inside:
            continue
        delay = _delay(merged(_summaries(inside, bed, definition)))
        means = [
            us(summary.latency.avg_ns)
            for items in by_port.values()
            if (summary := merged(_summaries(items, bed, definition))) is not None
        ]
        mean = delay.latency_us_avg
        yield LayerResult(
            run=run,
            traffic_class=name,
            kind=kind,
            name=of_kind,
            receivers=sum(map(bool, by_port.values())),
            counts=_counts(inside),
            delay=delay,
            latency_us_low=min(means, default=None),
            latency_us_high=max(means, default=None),
            increment_us=None if mean is None else increments.after(kind, mean),
        )


def _counts(found: Sequence[Found]) -> Counts:
    # A frame to many is one frame sent, and a flow at each receiver.
    sent: dict[tuple[str, int, str, int], int] = {}
    for stream, flow in found:
        receiver = 0 if stream.pattern.to_many else flow.rx_port
        sent[flow.stream, flow.tx_port, flow.part, receiver] = flow.tx_frames
    flows = [flow for _, flow in found]
    return Counts(
        sent_frames=sum(sent.values()),
        expected_frames=sum(flow.tx_frames for flow in flows),
        received_frames=sum(flow.rx_frames - flow.duplicate_frames for flow in flows),
        lost_frames=sum(flow.lost_frames for flow in flows),
        doubtful_frames=sum(flow.doubtful_frames for flow in flows) or None,
        misordered_frames=sum(flow.reordered_frames for flow in flows),
        duplicate_frames=sum(flow.duplicate_frames for flow in flows),
    )


def _summaries(found: Sequence[Found], bed: Bed, definition: Definition) -> list[LatencySummary]:
    summaries = (
        summarise(flow.latency, shift_ns(bed, definition, stream.frame_size_bytes, flow.tx_port, flow.rx_port))
        for stream, flow in found
    )
    return [summary for summary in summaries if summary is not None]


def _strays(item: LaidClass, result: TrialResult, kind: str) -> int | None:
    names = {stream.name for stream in item.streams}
    return sum(getattr(found, kind) for found in result.strays if found.stream in names) if result.strays else None


def _class_result(
    run: LaidRun, item: LaidClass, found: Sequence[Found], result: TrialResult, bed: Bed, definition: Definition
) -> ClassResult:
    counts = _counts(found)
    summary = merged(_summaries(found, bed, definition))
    delay = _delay(summary, _percentiles(item, found, result, bed, definition))
    ratio = Fraction(counts.lost_frames, counts.expected_frames) if counts.expected_frames else None
    judgement = _judgement(item.accept, counts, ratio, delay, result)
    return ClassResult(
        run=run.label,
        traffic_class=item.name,
        state=judgement.state,
        reason=judgement.reason,
        rate=item.rate_text,
        rate_fps=float(item.rate_fps),
        mean_bytes=float(item.mean_bytes),
        counts=counts,
        received_bytes=sum(
            (flow.rx_frames - flow.duplicate_frames) * stream.frame_size_bytes
            if flow.rx_bytes is None
            else flow.rx_bytes
            for stream, flow in found
        ),
        loss_ratio=None if ratio is None else float(ratio),
        loss_ratio_below=None if ratio else excluded_ratio(0, counts.expected_frames),
        flooded_frames=_strays(item, result, "flooded_frames"),
        misdirected_frames=_strays(item, result, "misdirected_frames"),
        delay=delay,
        departure_error_ns=_departure_error_ns(item, result),
        queues=_queues(found, result),
    )


def _queues(found: Sequence[Found], result: TrialResult) -> str | None:
    """Return what is known of the queues to the receivers of a class."""
    trend = result.queues
    if any(flow.lost_frames for _, flow in found):
        return "frames lost"
    if trend is not None and trend.trend is Trend.FILLING:
        reached = {flow.rx_port for _, flow in found}
        return f"{trend.trend.value}, {trend.excess_ppm:.4g} ppm" if reached & set(trend.rx_ports) else "steady"
    return trend.trend.value if trend is not None else None


def _departure_error_ns(item: LaidClass, result: TrialResult) -> float | None:
    names = {stream.name for stream in item.streams}
    return max((paced.departure_error_ns for paced in result.pacing if paced.stream in names), default=None)


def _percentiles(
    item: LaidClass, found: Sequence[Found], result: TrialResult, bed: Bed, definition: Definition
) -> LatencySummary | None:
    """Return the summary of the histogram of a class; None where the times to add to FIFO differ between its frames."""
    shifts = {shift_ns(bed, definition, stream.frame_size_bytes, flow.tx_port, flow.rx_port) for stream, flow in found}
    counted = next((one for one in result.histograms if one.stream == item.name and one.tx_port is None), None)
    return summarise(counted.latency, shifts.pop()) if counted and len(shifts) == 1 else None


def _delay(summary: LatencySummary | None, counted: LatencySummary | None = None) -> Delay:
    if summary is None:
        return Delay()
    percentiles = counted.percentiles_ns if counted else {}
    return Delay(
        latency_us_min=us(summary.latency.min_ns),
        latency_us_avg=us(summary.latency.avg_ns),
        latency_us_max=us(summary.latency.max_ns),
        latency_us_p50=us(percentiles.get(50.0)),
        latency_us_p99=us(percentiles.get(99.0)),
        latency_us_p99_9=us(percentiles.get(99.9)),
        jitter_us_min=us(summary.jitter.min_ns) if summary.jitter else None,
        jitter_us_avg=us(summary.jitter.avg_ns) if summary.jitter else None,
        jitter_us_max=us(summary.jitter.max_ns) if summary.jitter else None,
    )


def _judgement(
    accept: Acceptance | None, counts: Counts, ratio: Fraction | None, delay: Delay, result: TrialResult
) -> Judgement:
    """Return the verdict on a class and the criteria that it missed."""
    if not result.status.trusted:
        return Judgement(result.status, result.reason)
    if accept is None:
        return Judgement(Verdict.MEASURED)
    criteria: tuple[tuple[str, float | Fraction | None, float | Fraction | None], ...] = (
        ("loss ratio", ratio, accept.loss_ratio),
        ("lost frames", counts.lost_frames, accept.lost_frames),
        ("misordered frames", counts.misordered_frames, accept.misordered_frames),
        ("duplicate frames", counts.duplicate_frames, accept.duplicate_frames),
        ("latency in us", delay.latency_us_max, accept.latency_us),
        ("mean latency in us", delay.latency_us_avg, accept.mean_latency_us),
        ("jitter in us", delay.jitter_us_max, accept.jitter_us),
    )
    against = [
        f"{name} {float(found):.6g} above {float(limit):.6g}"
        for name, found, limit in criteria
        if limit is not None and found is not None and found > limit
    ]
    if not against:
        return Judgement(Verdict.PASS)
    if counts.doubtful_frames:
        against.append(f"{counts.doubtful_frames} of {counts.lost_frames} lost frames may have come late")
    return Judgement(Verdict.FAIL, "; ".join(against))
