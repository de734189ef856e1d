"""Holds the counts of a run of classes: per class, per pair of ports and per flow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated

from p4mesh.measurement.counts import FlowCounts, InterarrivalStats, TimesBetween, Trend
from p4mesh.methods.bed import Bed
from p4mesh.methods.results import fields
from p4mesh.methods.results.corrupted import Corrupted, CorruptedAtPorts
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.latency import Definition, LatencySummary, merged, shift_ns, summarise
from p4mesh.methods.results.latency_cells import Circumstances, Jitter, LatencyTimes, us
from p4mesh.methods.results.layers import Increment, Increments, largest, ports_by_layer
from p4mesh.methods.results.loss_interval import bucket_ratio, excluded_ratio
from p4mesh.methods.results.metrics import (
    begun_share,
    early_of_flows,
    held_share,
    is_settled,
    late_of_flows,
    missed_error_pct,
    missed_frames,
    trend_of,
    uneven_frames,
    unshared_frames,
)
from p4mesh.methods.results.queues import NOT_JUDGED, TRANSIENT, beside_loss
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.methods.traffic.classes import Acceptance, LaidClass
from p4mesh.methods.traffic.runs import LaidRun
from p4mesh.quantities import number_text
from p4mesh.traffic.line_rate import NS_PER_S, NS_PER_US
from p4mesh.traffic.stream import Stream
from p4mesh.trial.parts.transients import burst_ns
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Judgement, Verdict


@dataclass(frozen=True, kw_only=True)
class Counts(Record):
    """Frames of a class, of a pair of ports in it, or of a flow."""

    tx_frames: Annotated[int, fields.TX_FRAMES]
    expected_frames: Annotated[int, fields.EXPECTED_FRAMES]
    rx_frames: Annotated[int, fields.RX_FRAMES]
    """Without duplicates."""
    lost_frames: Annotated[int, fields.LOST_FRAMES]
    doubtful_frames: Annotated[int | None, fields.DOUBTFUL_FRAMES] = field(default=None, metadata=OMITTED)
    """Frames among those lost that may have come late; None where there is none."""
    late_frames: Annotated[int | None, fields.LATE_FRAMES] = field(default=None, metadata=OMITTED)
    """From a queue that an overload has filled; they count as lost in ratios. None where there is none."""
    early_frames: Annotated[int | None, fields.EARLY_FRAMES] = field(default=None, metadata=OMITTED)
    """Received at first beyond the rate of the rest; they count as lost in ratios. None where there is none."""
    corrupted: Corrupted = field(default=Corrupted(), metadata=INLINE)
    reordered_frames: Annotated[int, fields.REORDERED_FRAMES]
    duplicate_frames: Annotated[int, fields.DUPLICATE_FRAMES]

    @property
    def missed_frames(self) -> int:
        """Frames that a run of any length loses."""
        return self.lost_frames + (self.late_frames or 0) + (self.early_frames or 0)


@dataclass(frozen=True, kw_only=True)
class Latency(LatencyTimes):
    """Latency in the definition of the run; empty without frames, and without percentiles but for a class."""

    min_us: Annotated[float | None, retitled(fields.MIN_US, "Latency min")] = None


@dataclass(frozen=True, kw_only=True)
class ClassResult(Record):
    """One class in one run, with its verdict."""

    run: Annotated[str, fields.RUN]
    traffic_class: Annotated[str, fields.TRAFFIC_CLASS]
    rate: Annotated[str, retitled(fields.RATE, "Rate", "per sender")]
    rate_fps: float
    mean_bytes: Annotated[float, fields.MEAN_BYTES]
    state: Annotated[Verdict, retitled(fields.STATE, "State")]
    counts: Counts = field(metadata=INLINE)
    rx_bytes: Annotated[int, fields.RX_BYTES]
    """FCS included."""
    loss_ratio: Annotated[float | None, fields.LOSS_RATIO]
    loss_ratio_error: Annotated[float | None, fields.LOSS_RATIO_ERROR] = field(default=None, metadata=OMITTED)
    """None where no frame was lost, and a longer run loses none either, but for chance."""
    loss_ratio_below: Annotated[float | None, fields.LOSS_RATIO_BELOW]
    """Upper bound at 95 % confidence; None where frames were lost, and where the ratio has an error."""
    bucket_loss_ratio: Annotated[float, fields.BUCKET_LOSS_RATIO]
    flooded_frames: Annotated[int | None, fields.FLOODED_FRAMES]
    misdirected_frames: Annotated[int | None, fields.MISDIRECTED_FRAMES]
    """At ports that they were not for; None where the target counts them per port alone."""
    latency: Latency = field(metadata=INLINE)
    jitter: Jitter = field(metadata=INLINE)
    departure_error_ns: Annotated[float | None, fields.DEPARTURE_ERROR_NS]
    """How late its frames may have left; None where that is not known."""
    queues: Annotated[str, fields.QUEUES]
    """Whether a queue on its way filled meanwhile."""
    reason: Annotated[str, retitled(fields.REASON, "Why")]


@dataclass(frozen=True, kw_only=True)
class FlowResult(Record):
    """One flow, or all flows of a class between two ports, which have no ``stream`` and ``part``."""

    run: Annotated[str, fields.RUN]
    traffic_class: Annotated[str, fields.TRAFFIC_CLASS]
    stream: Annotated[str | None, fields.STREAM]
    part: Annotated[str | None, fields.PART]
    tx_port: Annotated[int, retitled(fields.TX_PORT, "Sender", "port")]
    rx_port: Annotated[int, retitled(fields.RX_PORT, "Receiver", "port")]
    counts: Counts = field(metadata=INLINE)
    flooded_frames: Annotated[int | None, fields.FLOODED_FRAMES]
    misdirected_frames: Annotated[int | None, fields.MISDIRECTED_FRAMES]
    """At ports that they were not for; None for frames to many, and where the target counts them per port alone."""
    latency: Latency = field(metadata=INLINE)
    jitter: Jitter = field(metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class SizeResult(Record):
    """The frames of one size in a class that has several."""

    run: Annotated[str, fields.RUN]
    traffic_class: Annotated[str, fields.TRAFFIC_CLASS]
    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    counts: Counts = field(metadata=INLINE)
    latency: Latency = field(metadata=INLINE)
    jitter: Jitter = field(metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class LayerResult(Record):
    """Counts and delays of a class at the receivers of one layer or role."""

    run: Annotated[str, fields.RUN]
    traffic_class: Annotated[str, fields.TRAFFIC_CLASS]
    kind: Annotated[str, fields.KIND]
    """``layer`` or ``role``."""
    name: Annotated[str, fields.NAME]
    receivers: Annotated[int, fields.RECEIVERS]
    counts: Counts = field(metadata=INLINE)
    latency: Latency = field(metadata=INLINE)
    low_us: Annotated[float | None, fields.LOW_US]
    high_us: Annotated[float | None, fields.HIGH_US]
    """Lowest and highest mean of its receivers."""
    port_error_us: Annotated[float | None, fields.PORT_ERROR_US]
    increment: Increment = field(metadata=INLINE)
    jitter: Jitter = field(metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class InterarrivalResult(Record):
    """Times between frames of a flow as they left or as they came; of all flows of a class, which have no ports."""

    run: Annotated[str, fields.RUN]
    traffic_class: Annotated[str, fields.TRAFFIC_CLASS]
    stream: Annotated[str | None, fields.STREAM]
    tx_port: Annotated[int | None, retitled(fields.TX_PORT, "Sender", "port")]
    rx_port: Annotated[int | None, retitled(fields.RX_PORT, "Receiver", "port")]
    measured_at: Annotated[str, fields.MEASURED_AT]
    times: Annotated[int, fields.TIMES]
    independent_times: Annotated[int, fields.INDEPENDENT_TIMES]
    between_avg_us: Annotated[float, fields.BETWEEN_AVG_US]
    between_avg_error_us: Annotated[float, fields.BETWEEN_AVG_ERROR_US]
    variation: Annotated[float | None, fields.VARIATION]
    """0 of even times, 1 of exponential ones; None where all times are 0."""
    variation_error: Annotated[float | None, fields.VARIATION_ERROR]
    between_p1_us: Annotated[float | None, fields.BETWEEN_P1_US]
    between_p1_error_us: Annotated[float | None, fields.BETWEEN_P1_ERROR_US]
    between_p50_us: Annotated[float | None, fields.BETWEEN_P50_US]
    between_p50_error_us: Annotated[float | None, fields.BETWEEN_P50_ERROR_US]
    between_p99_us: Annotated[float | None, fields.BETWEEN_P99_US]
    between_p99_error_us: Annotated[float | None, fields.BETWEEN_P99_ERROR_US]
    between_p99_9_us: Annotated[float | None, fields.BETWEEN_P99_9_US]
    between_p99_9_error_us: Annotated[float | None, fields.BETWEEN_P99_9_ERROR_US]


@dataclass(frozen=True, kw_only=True)
class RunResult(Record):
    """One run of the traffic."""

    run: Annotated[str, fields.RUN]
    state: Annotated[Verdict, retitled(fields.STATE, "State")]
    status: Verdict
    reason: str
    flooded_frames: Annotated[int, fields.FLOODED_FRAMES]
    misdirected_frames: Annotated[int, fields.MISDIRECTED_FRAMES]
    foreign_frames: Annotated[int, fields.FOREIGN_FRAMES]
    classes: tuple[ClassResult, ...]
    flows: tuple[FlowResult, ...]
    pairs: tuple[FlowResult, ...]
    sizes: tuple[SizeResult, ...]
    """A row for each size of a mix."""
    layers: tuple[LayerResult, ...]
    """A row for each layer and role of the topology."""
    interarrival: tuple[InterarrivalResult, ...] = field(default=(), metadata=OMITTED)
    """Two rows for each histogram of times between frames; empty where the file does not ask for them."""
    rounded_starts: tuple[str, ...]
    """Streams whose starts the tester had to round, and by how much."""


def result_of(run: LaidRun, result: TrialResult, bed: Bed, definition: Definition) -> RunResult:
    """The counts of one trial, class by class."""
    flows = {item.name: [] for item in run.classes}  # type: dict[str, list[Found]]
    streams = {stream.name: stream for stream in run.spec.streams}
    corrupted = CorruptedAtPorts(result)
    shares = zip(late_of_flows(run.spec, result), early_of_flows(result), strict=True)
    for flow, (late, early) in zip(result.flows, shares, strict=True):
        stream = streams[flow.stream]
        flows[stream.traffic_class].append(Found(stream, flow, late, early, corrupted))
    of_ports = {name: _of_ports(result, {one.flow.rx_port for one in found}) for name, found in flows.items()}
    rows = {
        item.name: _Rows(run.label, _of_class(of_ports[item.name], item.name), item.streams, bed, definition)
        for item in run.classes
    }
    classes = tuple(rows[item.name].of_class(item, flows[item.name]) for item in run.classes)
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
            rows[name].of_flows(name, [one], one.flow.stream, one.flow.part)
            for name, found in flows.items()
            for one in found
        ),
        pairs=tuple(rows[name].of_flows(name, group) for name, found in flows.items() for group in _by_pair(found)),
        sizes=tuple(row for name, found in flows.items() for row in rows[name].of_sizes(name, found)),
        layers=tuple(row for name, found in flows.items() for row in rows[name].of_layers(name, found)),
        interarrival=tuple(
            _interarrival(run.label, streams, found, at, times)
            for found in result.interarrival
            for at, times in (("sender", found.departures), ("receiver", found.arrivals))
            if times is not None
        ),
        rounded_starts=tuple(
            f"{pacing.stream}: by up to {number_text(pacing.start_offset_error_ns, 4)} ns"
            for pacing in result.pacing
            if pacing.start_offset_error_ns > float(bed.stamps.resolution_ns)
        ),
    )


def _of_class(result: TrialResult, name: str) -> TrialResult:
    """The result as it is of a class, whose queues and latencies are those of its own frames and time."""
    for found in result.class_queues:
        if found.traffic_class == name:
            return replace(
                result,
                queues=found.trend,
                latency_error_ns=max(result.latency_error_ns, found.latency_error_ns),
                latency_growth_ns=found.latency_growth_ns,
                unmet_ns=found.unmet_ns,
                class_queues=(found,),
            )
    return result


def _of_ports(result: TrialResult, ports: Collection[int]) -> TrialResult:
    """The result with the transient of some ports: none where no frame to them was lost, or came late from a queue."""
    found, here = result.transient, [port for port in result.ports if port.port in ports]
    if found is None:
        return result
    lost = any(flow.lost_frames for flow in result.flows if flow.rx_port in ports)
    if not lost and not any(port.late_frames for port in here):
        return replace(result, transient=None)
    uneven = min(found.uneven_frames, sum(port.uneven_frames for port in here))
    hidden = found.hidden_frames - found.uneven_frames + uneven
    return replace(result, transient=replace(found, hidden_frames=hidden, uneven_frames=uneven))


def _begun_share(result: TrialResult, streams: Sequence[Stream]) -> float:
    """Part of the frames of a class that came in a transient, at most: all that were sent until it was over."""
    if not (share := begun_share(result)) or result.transient is None or share == 1:
        return share
    begun, ends_ns, of_name = Fraction(0), result.transient.ends_ns, {stream.name: stream for stream in streams}
    flows = [flow for flow in result.flows if flow.stream in of_name]
    for flow in flows:
        stream = of_name[flow.stream]
        begin_ns = stream.start_offset_ns[stream.tx_ports.index(flow.tx_port)] if stream.start_offset_ns else 0
        sent_ns = max(Fraction(0), ends_ns - begin_ns + NS_PER_S / stream.rate_fps + burst_ns(stream))
        begun += flow.tx_frames * min(Fraction(1), sent_ns * stream.rate_fps / (stream.frame_count * NS_PER_S))
    return min(1.0, float(begun) / max(1, sum(flow.rx_frames for flow in flows)))


@dataclass(frozen=True)
class Found:
    """A flow of a class."""

    stream: Stream
    flow: FlowCounts
    late_frames: Fraction
    """From a queue that an overload has filled."""
    early_frames: Fraction
    """Received at first beyond the rate of the rest."""
    corrupted: CorruptedAtPorts
    """Those of its trial."""


def _by_pair(found: Sequence[Found]) -> Iterable[list[Found]]:
    groups: dict[tuple[int, int], list[Found]] = {}
    for one in found:
        groups.setdefault((one.flow.tx_port, one.flow.rx_port), []).append(one)
    return groups.values()


class _Rows:
    """Rows of a class in one trial: each sums up some of its flows."""

    def __init__(
        self, run: str, result: TrialResult, streams: Sequence[Stream], bed: Bed, definition: Definition
    ) -> None:
        self._run = run
        self._result = result
        self._bed = bed
        self._definition = definition
        self._circumstances = replace(
            Circumstances.of([result], bed.stamps.resolution_ns),
            begun_share=_begun_share(result, streams),
            burst_share=max((each.burst_share for each in result.class_queues), default=0.0),
        )

    def of_class(self, item: LaidClass, found: Sequence[Found]) -> ClassResult:
        """The row of a class, with its verdict."""
        result, counts, summary = self._result, _counts(found), self._summary(found)
        latency = Latency.of(summary, self._circumstances, self._counted(item, found))
        jitter = Jitter.of(summary, self._circumstances)
        ratio = Fraction(counts.missed_frames, counts.expected_frames) if counts.expected_frames else None
        # Chance, and who loses of a queue, are no reason against a class: what was lost is what counts.
        more = _more_loss(_fills(found, result), counts, result)
        held = counts.missed_frames - counts.lost_frames
        unshared = unshared_frames(held, missed_frames(result) - result.lost_frames)
        surely = more is None and not counts.missed_frames
        error = None if surely else _loss_ratio_error(counts, result, unshared)
        judgement = _judgement(item.accept, counts, ratio, more, latency, jitter, result)
        return ClassResult(
            run=self._run,
            traffic_class=item.name,
            rate=item.rate_text,
            rate_fps=float(item.rate_fps),
            mean_bytes=float(item.mean_bytes),
            state=judgement.state,
            counts=counts,
            rx_bytes=sum(
                (one.flow.rx_frames - one.flow.duplicate_frames) * one.stream.frame_size_bytes
                if one.flow.rx_bytes is None
                else one.flow.rx_bytes
                for one in found
            ),
            loss_ratio=None if ratio is None else float(ratio),
            loss_ratio_error=error,
            loss_ratio_below=None
            if ratio or error
            else excluded_ratio(0, min(counts.tx_frames, counts.expected_frames)),
            bucket_loss_ratio=_bucket_loss_ratio(counts, error, len({one.flow.tx_port for one in found})),
            flooded_frames=_strays(item, result, "flooded_frames"),
            misdirected_frames=_strays(item, result, "misdirected_frames"),
            latency=latency,
            jitter=jitter,
            departure_error_ns=_departure_error_ns(item, result),
            queues=_queues(found, result),
            reason=judgement.reason,
        )

    def of_flows(
        self, name: str, found: Sequence[Found], stream: str | None = None, part: str | None = None
    ) -> FlowResult:
        """The row of a flow, or of all flows of a class between two ports."""
        flow, summary = found[0].flow, self._summary(found)
        counted = bool(self._result.strays) and not any(one.stream.pattern.to_many for one in found)
        return FlowResult(
            run=self._run,
            traffic_class=name,
            stream=stream,
            part=part,
            tx_port=flow.tx_port,
            rx_port=flow.rx_port,
            counts=_counts(found),
            flooded_frames=sum(one.flow.flooded_frames for one in found) if counted else None,
            misdirected_frames=sum(one.flow.misdirected_frames for one in found) if counted else None,
            latency=Latency.of(summary, self._circumstances, None),
            jitter=Jitter.of(summary, self._circumstances),
        )

    def of_sizes(self, name: str, found: Sequence[Found]) -> Iterator[SizeResult]:
        """Yield a row for each frame size of a class that has several."""
        sizes = sorted({one.stream.frame_size_bytes for one in found})
        for size in sizes if len(sizes) > 1 else ():
            inside = [one for one in found if one.stream.frame_size_bytes == size]
            summary = self._summary(inside)
            yield SizeResult(
                run=self._run,
                traffic_class=name,
                frame_size_bytes=size,
                counts=_counts(inside),
                latency=Latency.of(summary, self._circumstances, None),
                jitter=Jitter.of(summary, self._circumstances),
            )

    def of_layers(self, name: str, found: Sequence[Found]) -> Iterator[LayerResult]:
        """Yield a row for each layer and role whose ports receive frames of a class."""
        increments = Increments()
        for kind, of_kind, ports in ports_by_layer(self._bed):
            by_port = {port: [one for one in found if one.flow.rx_port == port] for port in ports}
            inside = [one for some in by_port.values() for one in some]
            if not inside:
                continue
            summary = self._summary(inside)
            of_ports = [of_port for some in by_port.values() if (of_port := self._summary(some)) is not None]
            means = [us(of_port.latency.avg_ns) for of_port in of_ports]
            latency = Latency.of(summary, self._circumstances, None)
            yield LayerResult(
                run=self._run,
                traffic_class=name,
                kind=kind,
                name=of_kind,
                receivers=sum(map(bool, by_port.values())),
                counts=_counts(inside),
                latency=latency,
                low_us=min(means, default=None),
                high_us=max(means, default=None),
                port_error_us=largest(us(self._circumstances.error_ns(of_port)) for of_port in of_ports),
                increment=Increment()
                if summary is None
                else increments.after(kind, us(summary.latency.avg_ns), latency.avg_error_us),
                jitter=Jitter.of(summary, self._circumstances),
            )

    def _summary(self, found: Sequence[Found]) -> LatencySummary | None:
        summaries = (summarise(one.flow.latency, self._shift_ns(one)) for one in found)
        return merged([summary for summary in summaries if summary is not None])

    def _counted(self, item: LaidClass, found: Sequence[Found]) -> LatencySummary | None:
        # A class has one histogram, and so one time to add to FIFO.
        shifts = {self._shift_ns(one) for one in found}
        histograms = self._result.histograms
        counted = next((one for one in histograms if one.stream == item.name and one.tx_port is None), None)
        return summarise(counted.latency, shifts.pop()) if counted and len(shifts) == 1 else None

    def _shift_ns(self, one: Found) -> Fraction:
        size, flow = one.stream.frame_size_bytes, one.flow
        return shift_ns(self._bed, self._definition, size, flow.tx_port, flow.rx_port, flow.latency)


def _interarrival(
    run: str, streams: Mapping[str, Stream], found: InterarrivalStats, at: str, times: TimesBetween
) -> InterarrivalResult:
    percentiles_us, errors_us = (
        {percent: value_ns / NS_PER_US for percent, value_ns in pairs}
        for pairs in (times.percentiles_ns, times.percentile_errors_ns)
    )
    mean_ns = times.mean_ns
    of_class = found.tx_port is None
    return InterarrivalResult(
        run=run,
        traffic_class=found.stream if of_class else streams[found.stream].traffic_class,
        stream=None if of_class else found.stream,
        tx_port=found.tx_port,
        rx_port=found.rx_port,
        measured_at=at,
        times=times.count,
        independent_times=times.independent,
        between_avg_us=mean_ns / NS_PER_US,
        between_avg_error_us=times.mean_error_ns / NS_PER_US,
        variation=times.deviation_ns / mean_ns if mean_ns else None,
        variation_error=times.deviation_error_ns / mean_ns if mean_ns else None,
        between_p1_us=percentiles_us.get(1.0),
        between_p1_error_us=errors_us.get(1.0),
        between_p50_us=percentiles_us.get(50.0),
        between_p50_error_us=errors_us.get(50.0),
        between_p99_us=percentiles_us.get(99.0),
        between_p99_error_us=errors_us.get(99.0),
        between_p99_9_us=percentiles_us.get(99.9),
        between_p99_9_error_us=errors_us.get(99.9),
    )


def _counts(found: Sequence[Found]) -> Counts:
    # A frame to many is one frame sent, and a flow at each receiver.
    sent: dict[tuple[str, int, str, int], int] = {}
    for one in found:
        receiver = 0 if one.stream.pattern.to_many else one.flow.rx_port
        sent[one.flow.stream, one.flow.tx_port, one.flow.part, receiver] = one.flow.tx_frames
    flows = [one.flow for one in found]
    return Counts(
        tx_frames=sum(sent.values()),
        expected_frames=sum(flow.tx_frames for flow in flows),
        rx_frames=sum(flow.rx_frames - flow.duplicate_frames for flow in flows),
        lost_frames=sum(flow.lost_frames for flow in flows),
        doubtful_frames=sum(flow.doubtful_frames for flow in flows) or None,
        late_frames=round(sum(one.late_frames for one in found)) or None,
        early_frames=round(sum(one.early_frames for one in found)) or None,
        corrupted=found[0].corrupted.of(flows) if found else Corrupted(),
        reordered_frames=sum(flow.reordered_frames for flow in flows),
        duplicate_frames=sum(flow.duplicate_frames for flow in flows),
    )


def _strays(item: LaidClass, result: TrialResult, kind: str) -> int | None:
    names = {stream.name for stream in item.streams}
    return sum(getattr(found, kind) for found in result.strays if found.stream in names) if result.strays else None


def _fills(found: Sequence[Found], result: TrialResult) -> bool:
    """Whether frames of a class go through the queue that fills."""
    trend = result.queues
    return (
        trend is not None and trend.trend is Trend.FILLING and any(one.flow.rx_port in trend.rx_ports for one in found)
    )


def _loss_ratio_error(counts: Counts, result: TrialResult, unshared: int = 0) -> float | None:
    error_pct = missed_error_pct(result, counts.missed_frames, counts.expected_frames, unshared)
    return None if error_pct is None else min(1.0, error_pct / 100)


def _more_loss(fills: bool, counts: Counts, result: TrialResult) -> float | None:
    """Part of the frames that a longer run may lose on top, 0 to 1; None where only chance makes a difference."""
    if not is_settled(result) or (fills and held_share(result)):
        return _loss_ratio_error(counts, result)
    uneven = uneven_frames(result)
    return min(1.0, uneven / max(1, counts.expected_frames)) if uneven else None


def _bucket_loss_ratio(counts: Counts, ratio_error: float | None, senders: int) -> float:
    """Forgiven bursts come on top of the error of the ratio: a queue holds what a policer has let through."""
    # A frame that is forgiven is one copy more at each of its receivers.
    alone = counts.tx_frames / max(1, counts.expected_frames)
    most = counts.missed_frames + (ratio_error or 0.0) * counts.expected_frames
    return bucket_ratio(most * alone, counts.expected_frames * alone, senders)


def _queues(found: Sequence[Found], result: TrialResult) -> str:
    trend = result.queues
    if not is_settled(result) and any(one.flow.lost_frames for one in found):
        return TRANSIENT
    if trend is not None and _fills(found, result):
        return f"{trend.trend.value}, {number_text(trend.excess_ppm, 4)} ppm"
    if any(one.flow.lost_frames for one in found):
        return beside_loss(trend_of(result))
    if trend is None:
        return NOT_JUDGED
    return Trend.STEADY.value if trend.trend is Trend.FILLING else trend.trend.value


def _departure_error_ns(item: LaidClass, result: TrialResult) -> float | None:
    names = {stream.name for stream in item.streams}
    return max((paced.departure_error_ns for paced in result.pacing if paced.stream in names), default=None)


def _judgement(
    accept: Acceptance | None,
    counts: Counts,
    ratio: Fraction | None,
    ratio_error: float | None,
    latency: Latency,
    jitter: Jitter,
    result: TrialResult,
) -> Judgement:
    """The verdict on a class and the criteria that it missed, or that a longer run may miss."""
    if not result.status.trusted:
        return Judgement(result.status, result.reason)
    if accept is None:
        return Judgement(Verdict.MEASURED)
    criteria: tuple[tuple[str, float | Fraction | None, float | Fraction | None], ...] = (
        ("loss ratio", ratio, accept.loss_ratio),
        ("lost frames", counts.missed_frames, accept.lost_frames),
        ("reordered frames", counts.reordered_frames, accept.reordered_frames),
        ("duplicate frames", counts.duplicate_frames, accept.duplicate_frames),
        ("latency in us", latency.max_us, accept.latency_us),
        ("mean latency in us", latency.avg_us, accept.mean_latency_us),
        ("jitter in us", jitter.jitter_max_us, accept.jitter_us),
    )
    against = [
        f"{name} {number_text(found)} above {number_text(limit)}"
        for name, found, limit in criteria
        if limit is not None and found is not None and found > limit
    ]
    may_lose = [] if ratio is None or ratio_error is None else _may_lose(accept, counts, ratio + Fraction(ratio_error))
    if not against and not may_lose:
        return Judgement(Verdict.PASS)
    against += may_lose
    if counts.doubtful_frames:
        against.append(f"{counts.doubtful_frames} of {counts.lost_frames} lost frames may have come late")
    return Judgement(Verdict.FAIL, "; ".join(against))


def _may_lose(accept: Acceptance, counts: Counts, most: Fraction) -> list[str]:
    """The criteria of loss that a run meets whose loss ratio behind a transient may be above them."""
    frames = round(most * counts.expected_frames)
    missed = accept.loss_ratio is not None and most > accept.loss_ratio
    missed = missed or (accept.lost_frames is not None and frames > accept.lost_frames)
    return [f"a longer run may lose up to {number_text(most)} of the frames"] if missed else []
