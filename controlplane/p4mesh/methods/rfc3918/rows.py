"""Rows of trials with multicast, and findings on trials that cannot be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.latency import (
    Group,
    definition_of,
    definition_text,
    groups_of,
    summary_of,
)
from p4mesh.methods.results.latency_cells import Circumstances, LatencyCells, latency_cells
from p4mesh.methods.results.metrics import missed_error_pct, missed_frames, rate_metrics
from p4mesh.methods.results.queues import queue_cells
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.methods.results.search_findings import untrusted_trials
from p4mesh.methods.results.searched import SearchRow
from p4mesh.methods.rfc3918.setup import MULTICAST, Setup
from p4mesh.traffic.line_rate import NS_PER_MS, max_rate_fps
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

RX_ALL_PORTS = retitled(fields.RX_FRAMES, "Rx, all ports")
LOST_COPIES = retitled(fields.LOST_FRAMES, "Lost", "copies")
_BITS_PER_TERABIT = 10**12


@dataclass(frozen=True, kw_only=True)
class CopyRates(Record):
    """Rate of the copies of all egress ports together."""

    forwarding_fps: Annotated[float, retitled(fields.FORWARDING_FPS, "Rx, all ports", digits=2)]
    forwarding_error_fps: Annotated[float, retitled(fields.FORWARDING_ERROR_FPS, "Error of Rx", digits=2)]
    forwarding_l2_tbps: Annotated[float, fields.FORWARDING_L2_TBPS]
    line_pct: Annotated[float, fields.LINE_PCT]


def copy_rates(forwarding_fps: float, error_fps: float, frame_size_bytes: int, ports: int, rate_bps: int) -> CopyRates:
    """The rates of a number of egress ports with one line rate."""
    return CopyRates(
        forwarding_fps=forwarding_fps,
        forwarding_error_fps=error_fps,
        forwarding_l2_tbps=forwarding_fps * 8 * frame_size_bytes / _BITS_PER_TERABIT,
        line_pct=100 * forwarding_fps / float(ports * max_rate_fps(frame_size_bytes, rate_bps)),
    )


@dataclass(frozen=True, kw_only=True)
class ClassCounts(Record):
    """Frames of a trial with multicast and unicast; those of multicast that are lost or received are copies."""

    multicast_tx_frames: Annotated[int, fields.MULTICAST_TX_FRAMES]
    unicast_tx_frames: Annotated[int, fields.UNICAST_TX_FRAMES]
    multicast_fps: Annotated[float, fields.MULTICAST_FPS]
    multicast_error_fps: Annotated[float, fields.MULTICAST_ERROR_FPS]
    unicast_fps: Annotated[float, fields.UNICAST_FPS]
    unicast_error_fps: Annotated[float, fields.UNICAST_ERROR_FPS]
    multicast_lost_frames: Annotated[int, fields.MULTICAST_LOST_FRAMES]
    unicast_lost_frames: Annotated[int, fields.UNICAST_LOST_FRAMES]


@dataclass(frozen=True, kw_only=True)
class MulticastTrial(SearchRow):
    """Rates and counts of one trial; received frames are the copies of all ports."""

    tx_frames: int
    expected_frames: int
    rx_frames: int
    loss_error_pct: float | None = field(default=None, metadata=OMITTED)
    classes: ClassCounts | None = field(default=None, metadata=INLINE)
    """None where all frames are of one class."""


def trial_row(spec: TrialSpec, result: TrialResult, rate_bps: int, load: Fraction, verdict: Verdict) -> MulticastTrial:
    """The row of a trial; the aggregate is of all copies (RFC 3918 4.3)."""
    rates = rate_metrics(spec, result, rate_bps)
    return MulticastTrial(
        load_pct=float(load),
        offered_fps=float(rates.offered_fps),
        tx_frames=result.tx_frames,
        expected_frames=result.expected_rx_frames,
        rx_frames=result.rx_frames - result.duplicate_frames,
        lost_frames=result.lost_frames,
        corrupted_frames=result.corrupted_frames or None,
        loss_pct=float(rates.loss_pct),
        loss_error_pct=missed_error_pct(result, missed_frames(result), result.expected_rx_frames),
        forwarding_fps=float(rates.forwarding_fps),
        forwarding_error_fps=float(rates.forwarding_error_fps),
        flooded_frames=result.flooded_frames,
        status=result.status,
        reason=result.reason,
        verdict=verdict,
        duration_ms=spec.duration_ns / NS_PER_MS,
        watched=queue_cells(result),
    )


def copies_latency(setup: Setup, size: int, result: TrialResult, groups: Sequence[Group] | None = None) -> LatencyCells:
    """Latency of the copies on all egress ports, or of those of some flows, in the definition of the parameters."""
    kind = definition_of(setup.parameters)
    summary = summary_of(groups_of(result, (MULTICAST,)) if groups is None else groups, setup.bed, size, kind)
    return latency_cells(
        summary,
        definition_text(setup.bed, setup.parameters),
        Circumstances.of([result], setup.bed.stamps.resolution_ns, of_all=groups is None),
    )


def untrusted(size: int, rows: Sequence[MulticastTrial]) -> Iterator[str]:
    """Trials that cannot be trusted, and frames on ports that have not joined."""
    yield from untrusted_trials(f"{size} B", rows)
    yield from flooded(size, rows)


def flooded(size: int, rows: Sequence[MulticastTrial]) -> Iterator[str]:
    """Yield the frames on ports that have not joined."""
    if frames := sum(row.flooded_frames for row in rows):
        yield f"flooding detected: {frames:,} frames came to ports that have not joined their group ({size} B)"
