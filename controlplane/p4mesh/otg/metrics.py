"""Metrics of flows and ports in the messages of the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snappi import otg_pb2 as pb2

from p4mesh.errors import OtgError
from p4mesh.measurement.counts import FlowCounts, LatencyStats
from p4mesh.otg.flows import STORE_FORWARD
from p4mesh.otg.ports import Port
from p4mesh.otg.traffic import FlowRun
from p4mesh.tester.dataplane import PortTotals
from p4mesh.traffic.line_rate import STANDARD_OVERHEAD_BYTES, serialization_ns
from p4mesh.traffic.stamps import StampKind
from p4mesh.traffic.stream import Stream

_BITS_PER_KILOBYTE = 8000
_UNITS = {"bytes": 1.0, "bps": 8.0, "kbps": 8e-3, "mbps": 8e-6}


@dataclass(frozen=True)
class Totals:
    """Frames and bytes of a flow or of a port, sent and received, with FCS."""

    frames_tx: int = 0
    frames_rx: int = 0
    bytes_tx: int = 0
    bytes_rx: int = 0

    def __sub__(self, other: Totals) -> Totals:
        return Totals(
            self.frames_tx - other.frames_tx,
            self.frames_rx - other.frames_rx,
            self.bytes_tx - other.bytes_tx,
            self.bytes_rx - other.bytes_rx,
        )


@dataclass(frozen=True)
class Rates:
    """Change of totals per second between two readings."""

    frames_tx: float = 0.0
    frames_rx: float = 0.0
    bytes_tx: float = 0.0
    bytes_rx: float = 0.0


@dataclass
class RateMeter:
    """Rates between the readings of one flow or port."""

    at_ps: int
    """Time of the last reading."""
    totals: Totals = Totals()
    rates: Rates = Rates()

    def take(self, totals: Totals, now_ps: int) -> Rates:
        """Rates since the reading before; the same ones where no time has passed."""
        past_ps = now_ps - self.at_ps
        if past_ps > 0:
            new = totals - self.totals
            per_s = 10**12 / past_ps
            counts = (new.frames_tx, new.frames_rx, new.bytes_tx, new.bytes_rx)
            self.rates = Rates(*(max(0, count) * per_s for count in counts))
            self.at_ps, self.totals = now_ps, totals
        return self.rates


def flow_totals(run: FlowRun) -> Totals:
    """Totals of a flow since it was started anew."""
    return _totals(run.flow.streams, run.counts) - _totals(run.flow.streams, run.before)


def _totals(streams: Sequence[Stream], counts: Sequence[FlowCounts]) -> Totals:
    found = [0, 0, 0, 0]
    for stream, item in zip(streams, counts, strict=False):
        bytes_rx = item.rx_bytes if item.rx_bytes is not None else item.rx_frames * stream.frame_size_bytes
        for place, value in enumerate((item.tx_frames, item.rx_frames, _sent_bytes(stream, item.tx_frames), bytes_rx)):
            found[place] += value
    return Totals(*found)


def _sent_bytes(stream: Stream, frames: int) -> int:
    rounds, rest = divmod(frames, len(stream.frame_sizes_bytes))
    return rounds * sum(stream.frame_sizes_bytes) + sum(stream.frame_sizes_bytes[:rest])


def flow_metric(run: FlowRun, rates: Rates, stamps: StampKind, tx_rate_bps: int) -> pb2.FlowMetric:
    """The metric of one flow, with what its configuration asks for."""
    totals, measured = flow_totals(run), run.flow.measured
    metric = pb2.FlowMetric(
        name=run.flow.name,
        port_tx=run.flow.port_tx,
        port_rx=run.flow.port_rx,
        transmit=pb2.FlowMetric.Transmit.Enum.Value(run.transmit.value),
        frames_tx=totals.frames_tx,
        frames_rx=totals.frames_rx,
        bytes_tx=totals.bytes_tx,
        bytes_rx=totals.bytes_rx,
        frames_tx_rate=rates.frames_tx,
        frames_rx_rate=rates.frames_rx,
    )
    for way, octets, frames in (("tx", rates.bytes_tx, rates.frames_tx), ("rx", rates.bytes_rx, rates.frames_rx)):
        for unit, factor in _UNITS.items():
            setattr(metric, f"{way}_rate_{unit}", octets * factor)
        setattr(metric, f"{way}_l1_rate_bps", 8 * (octets + frames * STANDARD_OVERHEAD_BYTES))
    if measured.loss:
        metric.loss = 100 * (totals.frames_tx - totals.frames_rx) / max(1, totals.frames_tx)
    if measured.timestamps:
        first = [item.first_rx_ns for item in run.counts if item.rx_frames]
        metric.timestamps.first_timestamp_ns = min(first, default=0)
        metric.timestamps.last_timestamp_ns = max((item.last_rx_ns for item in run.counts), default=0)
    if measured.latency:
        _set_latency(metric.latency, run, stamps, tx_rate_bps)
    return metric


def _set_latency(latency: pb2.MetricLatency, run: FlowRun, stamps: StampKind, tx_rate_bps: int) -> None:
    """Latency between first bits; with store and forward from the last bit in (RFC 1242 3.8), which may be negative."""
    found = [(stream, item.latency) for stream, item in zip(run.flow.streams, run.counts, strict=False) if item.latency]
    stored = run.flow.measured.latency == STORE_FORWARD and stamps is StampKind.FIRST_BIT
    inward = [float(serialization_ns(stream.frame_size_bytes, tx_rate_bps)) if stored else 0.0 for stream, _ in found]
    pairs: list[tuple[LatencyStats, float]] = [(item, less) for (_, item), less in zip(found, inward, strict=True)]
    latency.minimum_ns = min((item.min_ns - less for item, less in pairs), default=0.0)
    latency.maximum_ns = max((item.max_ns - less for item, less in pairs), default=0.0)
    frames = sum(item.count for item, _ in pairs)
    latency.average_ns = sum(item.sum_ns - item.count * less for item, less in pairs) / max(1, frames)


def port_totals(totals: PortTotals) -> Totals:
    """Totals of a port."""
    return Totals(totals.frames_tx, totals.frames_rx, totals.bytes_tx, totals.bytes_rx)


def port_metric(port: Port, totals: Totals, rates: Rates, up: bool, sending: bool, capturing: bool) -> pb2.PortMetric:
    """The metric of one port."""
    kind = pb2.PortMetric
    return kind(
        name=port.name,
        location=port.location,
        link=kind.Link.up if up else kind.Link.down,
        capture=kind.Capture.started if capturing else kind.Capture.stopped,
        transmit=kind.Transmit.started if sending else kind.Transmit.stopped,
        frames_tx=totals.frames_tx,
        frames_rx=totals.frames_rx,
        bytes_tx=totals.bytes_tx,
        bytes_rx=totals.bytes_rx,
        frames_tx_rate=rates.frames_tx,
        frames_rx_rate=rates.frames_rx,
        bytes_tx_rate=rates.bytes_tx,
        bytes_rx_rate=rates.bytes_rx,
        speed=port.tester.rate_bps // _BITS_PER_KILOBYTE,
    )


def chosen(names: Sequence[str], known: Mapping[str, Any], what: str) -> list[str]:
    """The names that a request asks for, all known ones without any; raises OtgError for an unknown one."""
    if unknown := [name for name in names if name not in known]:
        raise OtgError(f"'{unknown[0]}' is no {what}", hint=f"valid: {', '.join(known) or 'none is configured'}")
    return list(names or known)


def columns_left(metric: Any, wanted: Sequence[str]) -> Any:
    """The metric with its name and the columns that a request asks for, all without any."""
    if wanted:
        for field_, _ in metric.ListFields():
            if field_.name not in (*wanted, "name"):
                metric.ClearField(field_.name)
    return metric
