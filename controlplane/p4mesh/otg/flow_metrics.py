"""Metrics of flows in the messages of the API: of each flow, and of its parts that metric tags tell apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snappi import otg_pb2 as pb2

from p4mesh.measurement.counts import FlowCounts
from p4mesh.otg.egress_tags import values_of
from p4mesh.otg.elements import Element
from p4mesh.otg.flows import STORE_FORWARD
from p4mesh.otg.metrics import Rates, Totals, columns_left
from p4mesh.otg.patterns import Tag
from p4mesh.otg.traffic import FlowRun
from p4mesh.traffic.line_rate import STANDARD_OVERHEAD_BYTES, serialization_ns
from p4mesh.traffic.stamps import StampKind
from p4mesh.traffic.stream import Stream

_UNITS = {"bytes": 1.0, "bps": 8.0, "kbps": 8e-3, "mbps": 8e-6}
_RECEIVER = "rx_name"
"""Predefined tag: the name of the port that received."""
Measure = Callable[[str, str, Totals], Rates]
"""Rates of a flow, or of the part of it with a name, whose totals have come so far."""


@dataclass(frozen=True)
class Line:
    """Properties of the tester on which latencies depend."""

    stamps: StampKind
    rate_bps_of: Mapping[int, int]
    """Rates of the ports by their numbers."""


@dataclass(frozen=True)
class TaggedRequest:
    """Tagged metrics that a client asks for."""

    include: bool
    empty: bool
    """Whether those are told, too, of which no frame was sent or received."""
    columns: Sequence[str]
    values: Mapping[str, Sequence[str]]
    """Values of tags by name; a tag without any may have all."""

    @classmethod
    def read(cls, element: Element) -> TaggedRequest:
        """Read the object ``tagged_metrics`` of a request."""
        values = {}
        with element.whole():
            for item in element.elements("filters"):
                with item.whole():
                    values[item.text("name")] = item.texts("values")
            include, empty = element.flag("include", True), element.flag("include_empty_metrics")
            return cls(include, empty, element.texts("metric_names"), values)

    def wants(self, tags: Sequence[Tag]) -> bool:
        """Whether parts with these tags are asked for."""
        found = dict(tags)
        return all(
            name in found and (not values or found[name].lower() in map(str.lower, values))
            for name, values in self.values.items()
        )


@dataclass(frozen=True)
class _Found:
    """Counts of one stream at one receiver, from one loading to the next."""

    loading: int
    stream: Stream
    tags: tuple[Tag, ...]
    counts: FlowCounts
    before: FlowCounts | None
    """Those of the time before it was started again."""


def flow_metric(run: FlowRun, line: Line, measure: Measure, tagged: TaggedRequest) -> pb2.FlowMetric:
    """The metric of one flow, with what its configuration asks for."""
    flow, found = run.flow, list(_found(run))
    transmit = pb2.FlowMetric.Transmit.Enum.Value(run.transmit.value)
    metric = pb2.FlowMetric(name=flow.name, port_tx=flow.port_tx, port_rx=flow.port_rx, transmit=transmit)
    _fill(metric, run, found, measure(flow.name, "", _totals(found)), line)
    parts: dict[tuple[Tag, ...], list[_Found]] = {}
    for item in found if tagged.include else ():
        # Frames of a flow with egress tags that lack the header: most have it.
        is_idle = flow.egress_tags and not item.counts.part and not item.counts.rx_frames
        if item.tags and tagged.wants(item.tags) and not is_idle:
            parts.setdefault(item.tags, []).append(item)
    for tags, items in parts.items():
        totals = _totals(items)
        if tagged.empty or totals.frames_tx or totals.frames_rx:
            part = pb2.FlowTaggedMetric(tags=[_tag(*tag) for tag in tags])
            _fill(part, run, items, measure(flow.name, str(tags), totals), line)
            of_some = flow.measured.by_receiver and any(len(item.stream.rx_ports) > 1 for item in items)
            if of_some or flow.egress_tags:
                _forget_sent(part)
            metric.tagged_metrics.append(columns_left(part, tagged.columns, "tags"))
    return metric


def _found(run: FlowRun) -> Iterator[_Found]:
    for loading, counted in enumerate(run.counted):
        flow = counted.flow
        streams = dict(zip(flow.stream_names, zip(flow.streams, flow.tags, strict=True), strict=True))
        before = {_key(counts): counts for counts in counted.before}
        for counts in counted.counts:
            stream, tags = streams[counts.stream]
            if counts.part:
                tags = (*tags, *values_of(flow.egress_tags, int(counts.part)))
            if flow.measured.by_receiver:
                tags = (*tags, (_RECEIVER, flow.receivers[counts.rx_port]))
            yield _Found(loading, stream, tags, counts, before.get(_key(counts)))


def _key(counts: FlowCounts) -> tuple[str, int, str]:
    return counts.stream, counts.rx_port, counts.part


def _totals(found: Sequence[_Found]) -> Totals:
    totals = Totals()
    seen = set()
    for item in found:
        now = _counted(item.stream, item.counts) - _counted(item.stream, item.before)
        # Each receiver of a stream has the number of all frames that were sent.
        place = item.loading, item.stream.name
        totals += Totals(0, now.frames_rx, 0, now.bytes_rx) if place in seen else now
        seen.add(place)
    return totals


def _counted(stream: Stream, counts: FlowCounts | None) -> Totals:
    if counts is None:
        return Totals()
    bytes_rx = counts.rx_bytes if counts.rx_bytes is not None else counts.rx_frames * stream.frame_size_bytes
    return Totals(counts.tx_frames, counts.rx_frames, _sent_bytes(stream, counts.tx_frames), bytes_rx)


def _sent_bytes(stream: Stream, frames: int) -> int:
    rounds, rest = divmod(frames, len(stream.frame_sizes_bytes))
    return rounds * sum(stream.frame_sizes_bytes) + sum(stream.frame_sizes_bytes[:rest])


def _fill(metric: Any, run: FlowRun, found: Sequence[_Found], rates: Rates, line: Line) -> None:
    """Write the numbers of streams into the metric of a flow or of a part of it."""
    totals, measured = _totals(found), run.flow.measured
    metric.frames_tx, metric.frames_rx = totals.frames_tx, totals.frames_rx
    metric.bytes_tx, metric.bytes_rx = totals.bytes_tx, totals.bytes_rx
    metric.frames_tx_rate, metric.frames_rx_rate = rates.frames_tx, rates.frames_rx
    for way, octets, frames in (("tx", rates.bytes_tx, rates.frames_tx), ("rx", rates.bytes_rx, rates.frames_rx)):
        for unit, factor in _UNITS.items():
            setattr(metric, f"{way}_rate_{unit}", octets * factor)
        setattr(metric, f"{way}_l1_rate_bps", 8 * (octets + frames * STANDARD_OVERHEAD_BYTES))
    if measured.loss:
        # Of frames that several ports receive, more come than were sent: none is lost.
        metric.loss = 100 * max(0, totals.frames_tx - totals.frames_rx) / max(1, totals.frames_tx)
    if measured.timestamps:
        arrived = [item.counts for item in found if item.counts.rx_frames]
        metric.timestamps.first_timestamp_ns = min((counts.first_rx_ns for counts in arrived), default=0)
        metric.timestamps.last_timestamp_ns = max((counts.last_rx_ns for counts in arrived), default=0)
    if measured.latency:
        stored = measured.latency == STORE_FORWARD and line.stamps is StampKind.FIRST_BIT
        _set_latency(metric.latency, found, line.rate_bps_of if stored else None)


def _set_latency(latency: pb2.MetricLatency, found: Sequence[_Found], rate_bps_of: Mapping[int, int] | None) -> None:
    """Latency between first bits; with rates from the last bit in (RFC 1242 3.8), which may be negative."""
    pairs = []
    for item in found:
        if item.counts.latency:
            rate_bps = rate_bps_of[item.stream.tx_ports[0]] if rate_bps_of else None
            inward = float(serialization_ns(item.stream.frame_size_bytes, rate_bps)) if rate_bps else 0.0
            pairs.append((item.counts.latency, inward))
    latency.minimum_ns = min((item.min_ns - less for item, less in pairs), default=0.0)
    latency.maximum_ns = max((item.max_ns - less for item, less in pairs), default=0.0)
    frames = sum(item.count for item, _ in pairs)
    latency.average_ns = sum(item.sum_ns - item.count * less for item, less in pairs) / max(1, frames)


def _tag(name: str, value: str) -> pb2.FlowMetricTag:
    kind = "str" if name == _RECEIVER else "hex"
    choice = pb2.FlowMetricTagValue.Choice.Enum.Value(kind)
    return pb2.FlowMetricTag(name=name, value=pb2.FlowMetricTagValue(choice=choice, **{kind: value}))


def _forget_sent(metric: pb2.FlowTaggedMetric) -> None:
    """Take away what is not known of frames that one of several receivers got, or that came with some bits: how many of
    them were sent."""
    for field, _ in metric.ListFields():
        if "tx" in field.name.split("_") or field.name == "loss":
            metric.ClearField(field.name)
