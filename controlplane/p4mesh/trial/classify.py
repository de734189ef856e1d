"""From raw readings to a TrialResult: classification, conservation checks, derived statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from p4mesh.trial.histogram import PERCENTILES, percentile_ticks
from p4mesh.trial.plan import Plan, StreamPlan
from p4mesh.trial.result import FlowCounts, LatencyStats, PortCounts, Status, StreamPacing, TrialResult
from p4mesh.trial.spec import TrialSpec

ReasonCounts = Mapping[tuple[int, str], int]
"""Frames per (port, reason name), receive and transmit reasons together."""

_RATE_TOLERANCE = 1e-4
"""Relative difference of intended and offered load that makes a trial INVALID (methodology 0.1)."""
_ALL_ONES = 0xFFFFFFFF


@dataclass(frozen=True)
class Readings:
    """What was read after a run: one record per cell, and the reason counters around it."""

    records: np.ndarray[Any, Any]
    before: ReasonCounts
    after: ReasonCounts
    bins: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Frames per latency bin of each histogram; stream n has histogram n."""

    def counted(self, port: int, reason: str) -> int:
        """Return the frames of one port and reason in this run."""
        key = (port, reason)
        return self.after.get(key, 0) - self.before.get(key, 0)

    def received(self, reason: str) -> int:
        """Return the frames of one reason on all ports in this run."""
        return sum(self.counted(port, name) for port, name in self.after if name == reason)


def classify(
    spec: TrialSpec,
    plan: Plan,
    readings: Readings | None,
    tick_ps: int,
    *,
    lateness_ns: int = 0,
    invalid: str = "",
    pacing: tuple[StreamPacing, ...] = (),
) -> TrialResult:
    """Return the result of a trial; ``invalid`` is a reason known before anything was read.

    ``lateness_ns`` is how late a departure may be (one round of the loop); it bounds the accuracy
    of the offered load that a short trial can show.
    """
    intended = sum(t.frames for stream in plan.streams for t in stream.transmitters)
    if readings is None:
        return _empty(spec, intended, invalid)
    records = readings.records
    flows = _flow_arrays(plan, records)
    tx_ports = {port: readings.counted(port, "transmitted") for port in plan.ports}
    expected = flows.expected
    unique = int(flows.unique[expected].sum())
    duplicates = int(flows.duplicates[expected].sum())
    back_at_source = int((flows.unique + flows.duplicates)[~expected].sum())
    expected_rx = int(flows.sent[expected].sum())
    tx_frames = sum(tx_ports.values())
    reason = invalid or _distrust(spec, plan, readings, flows, tx_frames, intended, tick_ps, lateness_ns)
    first, last = _departures(plan, records)
    return TrialResult(
        status=Status.INVALID if reason else Status.VALID,
        reason=reason,
        label=spec.label,
        duration_ns=spec.duration_ns,
        intended_frames=intended,
        tx_frames=tx_frames,
        expected_rx_frames=expected_rx,
        rx_frames=unique + duplicates,
        lost_frames=expected_rx - unique,
        duplicate_frames=duplicates,
        reordered_frames=int(flows.reordered[expected].sum()),
        flooded_frames=readings.received("flooded") + back_at_source,
        foreign_frames=readings.received("foreign"),
        stale_frames=readings.received("stale"),
        damaged_frames=readings.received("damaged"),
        first_tx_ns=first * tick_ps // 1000,
        last_tx_ns=last * tick_ps // 1000,
        ports=tuple(_port_counts(port, tx_ports[port], readings, flows, tick_ps) for port in plan.ports),
        latency=_with_percentiles(_latency(records[flows.cells[expected]], tick_ps), readings.bins, tick_ps),
        flows=_flow_counts(plan, records, flows, tick_ps) if spec.per_flow else (),
        start_skew_ns=max((_start_skew(stream, records) for stream in plan.streams), default=0) * tick_ps // 1000,
        pacing=pacing,
    )


@dataclass(frozen=True)
class _Flows:
    """Columns over the flows of a plan, in the plan's order."""

    cells: np.ndarray[Any, Any]
    rx_port: np.ndarray[Any, Any]
    expected: np.ndarray[Any, Any]
    sent: np.ndarray[Any, Any]
    unique: np.ndarray[Any, Any]
    duplicates: np.ndarray[Any, Any]
    reordered: np.ndarray[Any, Any]


def _flow_arrays(plan: Plan, records: np.ndarray[Any, Any]) -> _Flows:
    cells = np.array([flow.cell for flow in plan.flows], dtype=np.int64)
    return _Flows(
        cells,
        np.array([flow.rx_port for flow in plan.flows], dtype=np.int64),
        np.array([flow.expected for flow in plan.flows], dtype=bool),
        records["flow_sequence"][[flow.sequence_cell for flow in plan.flows]].astype(np.int64),
        records["frames"][cells].astype(np.int64),
        records["duplicates"][cells].astype(np.int64),
        records["reordered"][cells].astype(np.int64),
    )


def _distrust(
    spec: TrialSpec,
    plan: Plan,
    readings: Readings,
    flows: _Flows,
    tx_frames: int,
    intended: int,
    tick_ps: int,
    lateness_ns: int,
) -> str:
    """Return why the counts cannot be trusted, or an empty text (invariant 6 of the design)."""
    records = readings.records
    for stream in plan.streams:
        for transmitter in stream.transmitters:
            cells = slice(transmitter.flow_base, transmitter.flow_base + transmitter.positions)
            sent = int(records["flow_sequence"][cells].sum())
            if sent != transmitter.frames:
                return f"tester under-delivered: port {transmitter.port} sent {sent} of {transmitter.frames} frames"
    if tx_frames != intended:
        return f"transmit counters show {tx_frames} frames, the flows {intended}"
    counted = readings.received("expected")
    measured = int((flows.unique + flows.duplicates).sum())
    if counted != measured:
        return f"receive counters show {counted} expected frames, the flows {measured}"
    if (flows.unique[flows.expected] > flows.sent[flows.expected]).any():
        return "a flow has received more frames than were sent"
    for reason in ("unknown_flow", "no_destination", "unknown_transmitter"):
        if readings.received(reason):
            return f"{readings.received(reason)} frames were dropped by the tester: {reason}"
    return _load_mismatch(plan, records, tick_ps, lateness_ns)


def _load_mismatch(plan: Plan, records: np.ndarray[Any, Any], tick_ps: int, lateness_ns: int) -> str:
    for stream in plan.streams:
        ideal = float(stream.clock.frame_interval_ticks)
        for transmitter in stream.transmitters:
            if transmitter.frames < 2:
                continue
            span = int(records["last_departure"][transmitter.id]) - int(records["first_departure"][transmitter.id])
            wanted = (transmitter.frames - 1) * ideal
            if stream.stream.burst:
                # The last burst may be cut short anywhere; only whole periods count.
                wanted = span if abs(span - wanted) < ideal * stream.stream.burst.frames else wanted
            tolerance = max(_RATE_TOLERANCE * wanted, (lateness_ns * 1000 + transmitter.contention_ps) / tick_ps + 2)
            if abs(span - wanted) > tolerance:
                offered = 100 * wanted / span if span else 0.0
                return (
                    f"offered load is {offered:.4f} % of the intended load on port {transmitter.port} "
                    f"(tolerance {100 * tolerance / wanted:.4f} %)"
                )
    return ""


def _departures(plan: Plan, records: np.ndarray[Any, Any]) -> tuple[int, int]:
    ids = [transmitter.id for stream in plan.streams for transmitter in stream.transmitters]
    sent = [identifier for identifier in ids if records["departures"][identifier]]
    if not sent:
        return 0, 0
    return int(records["first_departure"][sent].min()), int(records["last_departure"][sent].max())


def _start_skew(stream: StreamPlan, records: np.ndarray[Any, Any]) -> int:
    if stream.stream.start_offset_ns:
        return 0
    first = records["first_departure"][[transmitter.id for transmitter in stream.transmitters]]
    return int(first.max()) - int(first.min())


def _port_counts(port: int, tx_frames: int, readings: Readings, flows: _Flows, tick_ps: int) -> PortCounts:
    spacing_inverted = int(readings.records["spacing_min_inverted"][port])
    here = flows.rx_port == port
    unexpected = here & ~flows.expected
    back_at_source = int((flows.unique + flows.duplicates)[unexpected].sum())
    return PortCounts(
        port=port,
        tx_frames=tx_frames,
        rx_frames=readings.counted(port, "expected") - back_at_source,
        flooded_frames=readings.counted(port, "flooded") + back_at_source,
        foreign_frames=readings.counted(port, "foreign"),
        stale_frames=readings.counted(port, "stale"),
        damaged_frames=readings.counted(port, "damaged"),
        pause_frames=readings.counted(port, "pause"),
        min_spacing_ns=(_ALL_ONES - spacing_inverted) * tick_ps / 1000 if spacing_inverted else None,
    )


def _latency(records: np.ndarray[Any, Any], tick_ps: int) -> LatencyStats | None:
    records = records[records["frames"] > 0]
    if not len(records):
        return None
    tick_ns = tick_ps / 1000
    count = int(records["frames"].sum())
    jittered = records[records["frames"] > 1]
    return LatencyStats(
        count=count,
        min_ns=(_ALL_ONES - int(records["latency_min_inverted"].max())) * tick_ns,
        max_ns=int(records["latency_max"].max()) * tick_ns,
        sum_ns=int(records["latency_sum"].sum()) * tick_ns,
        jitter_count=int(jittered["frames"].sum()) - len(jittered),
        jitter_min_ns=(_ALL_ONES - int(jittered["jitter_min_inverted"].max())) * tick_ns if len(jittered) else 0.0,
        jitter_max_ns=int(jittered["jitter_max"].max()) * tick_ns if len(jittered) else 0.0,
        jitter_sum_ns=int(jittered["jitter_sum"].sum()) * tick_ns if len(jittered) else 0.0,
    )


def _with_percentiles(
    latency: LatencyStats | None, bins: Mapping[int, Sequence[int]], tick_ps: int
) -> LatencyStats | None:
    if latency is None or not bins:
        return latency
    total = [sum(counts) for counts in zip(*bins.values(), strict=True)]
    found = [(percent, percentile_ticks(total, percent)) for percent in PERCENTILES]
    return replace(
        latency,
        percentiles_ns=tuple(
            (float(percent), float(ticks * tick_ps / 1000)) for percent, ticks in found if ticks is not None
        ),
    )


def _flow_counts(plan: Plan, records: np.ndarray[Any, Any], flows: _Flows, tick_ps: int) -> tuple[FlowCounts, ...]:
    return tuple(
        FlowCounts(
            stream=plan.streams[flow.stream].stream.name,
            tx_port=flow.tx_port,
            rx_port=flow.rx_port,
            tx_frames=int(flows.sent[row]),
            rx_frames=int(flows.unique[row] + flows.duplicates[row]),
            duplicate_frames=int(flows.duplicates[row]),
            reordered_frames=int(flows.reordered[row]),
            latency=_latency(records[flow.cell : flow.cell + 1], tick_ps),
            first_rx_ns=int(records["first_arrival"][flow.cell]) * tick_ps // 1000,
            last_rx_ns=int(records["last_arrival"][flow.cell]) * tick_ps // 1000,
        )
        for row, flow in enumerate(plan.flows)
        if flow.expected
    )


def _empty(spec: TrialSpec, intended: int, invalid: str) -> TrialResult:
    return TrialResult(
        status=Status.INVALID,
        reason=invalid,
        label=spec.label,
        duration_ns=spec.duration_ns,
        intended_frames=intended,
        tx_frames=0,
        expected_rx_frames=0,
        rx_frames=0,
        lost_frames=0,
        duplicate_frames=0,
        reordered_frames=0,
        flooded_frames=0,
        foreign_frames=0,
        stale_frames=0,
        damaged_frames=0,
        first_tx_ns=0,
        last_tx_ns=0,
    )
