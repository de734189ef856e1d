"""Rows of trials with multicast, and findings on trials that cannot be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.metrics import loss_pct, rate_metrics
from p4mesh.methods.results.outcome import Cell
from p4mesh.methods.results.queues import QueueCells, queue_cells
from p4mesh.methods.results.record import INLINE, Record
from p4mesh.methods.results.searched import NS_PER_MS
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

RATE_COLUMNS = (
    retitled(fields.AGGREGATE_FPS, "Rx, all ports", digits=2),
    fields.L2_TBPS,
    fields.LINE_PCT,
)
"""Rate of the copies of all egress ports together."""
_BITS_PER_TERABIT = 10**12


def rate_cells(aggregate_fps: float, frame_size_bytes: int, ports: int, rate_bps: int) -> dict[str, Cell]:
    """Return the cells of RATE_COLUMNS for a number of egress ports with one line rate."""
    return {
        "aggregate_fps": aggregate_fps,
        "l2_tbps": aggregate_fps * 8 * frame_size_bytes / _BITS_PER_TERABIT,
        "line_pct": 100 * aggregate_fps / float(ports * max_rate_fps(frame_size_bytes, rate_bps)),
    }


@dataclass(frozen=True, kw_only=True)
class MulticastTrial(Record):
    """Rates and counts of one trial; received frames are the copies of all ports."""

    load_pct: float
    offered_fps: float
    tx_frames: int
    expected_frames: int
    rx_frames: int
    lost_frames: int
    loss_pct: float
    aggregate_fps: float
    flooded_frames: int
    status: Verdict
    reason: str
    verdict: Verdict
    duration_ms: float
    watched: QueueCells | None = field(default=None, metadata=INLINE)


def trial_row(spec: TrialSpec, result: TrialResult, rate_bps: int, load: Fraction, verdict: Verdict) -> MulticastTrial:
    """Return the row of a trial; the aggregate is of all copies (RFC 3918 4.3)."""
    rates = rate_metrics(spec, result, rate_bps)
    return MulticastTrial(
        load_pct=float(load),
        offered_fps=float(rates.offered_fps),
        tx_frames=result.tx_frames,
        expected_frames=result.expected_rx_frames,
        rx_frames=result.rx_frames - result.duplicate_frames,
        lost_frames=result.lost_frames,
        loss_pct=float(loss_pct(result)),
        aggregate_fps=float(rates.forwarding_fps),
        flooded_frames=result.flooded_frames,
        status=result.status,
        reason=result.reason,
        verdict=verdict,
        duration_ms=spec.duration_ns / NS_PER_MS,
        watched=queue_cells(result),
    )


def untrusted(size: int, rows: Sequence[MulticastTrial]) -> Iterator[str]:
    """Yield trials that cannot be trusted, and frames on ports that have not joined."""
    for row in rows:
        if not row.status.trusted:
            yield f"{row.status.value} trial, {size} B at {row.load_pct:g} %: {row.reason}"
    if flooded := sum(row.flooded_frames for row in rows):
        yield f"flooding detected: {flooded} frames came to ports that have not joined their group ({size} B)"
