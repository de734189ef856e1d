"""Measurements of the units of the recirculation test."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

from p4mesh.measurement.counts import LatencyStats
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.record import OMITTED, Record
from p4mesh.methods.rfc6201.reset_trial import reset_time
from p4mesh.traffic.line_rate import NS_PER_MS, NS_PER_S, NS_PER_US
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

_PS_DIGITS = 6
"""Decimals of a microsecond that are picoseconds."""


@dataclass(frozen=True, kw_only=True)
class Repetition(Record):
    """One trial."""

    state: Annotated[Verdict, fields.STATE]
    reason: str
    tx_frames: Annotated[int, retitled(fields.TX_FRAMES, "Packets", "")]
    lost_frames: Annotated[int, fields.LOST_FRAMES]
    corrupted_frames: int | None = field(default=None, metadata=OMITTED)
    reordered_frames: int
    duplicate_frames: int
    min_us: Annotated[float | None, retitled(fields.MIN_US, "Min", digits=6)]
    avg_us: Annotated[float | None, retitled(fields.AVG_US, "Avg", digits=6)]
    max_us: Annotated[float | None, retitled(fields.MAX_US, "Max", digits=6)]
    jitter_avg_us: float | None
    """RFC 4689 jitter: mean difference of latency between frames that follow each other."""
    loss_ms: Annotated[float | None, retitled(fields.LOSS_MS, "Recovery")] = None
    """Time without forwarding after failures during traffic, by lost frames; None without failures during it."""
    stamps_ms: Annotated[float | None, fields.STAMPS_MS] = None
    """The same by the departures of the frames around the gap; None where no look fell into it."""
    resolution_ms: Annotated[float | None, fields.RESOLUTION_MS] = None
    """Distance of two frames, or of more where some are lost by chance."""
    recovered: bool = True
    """Whether frames arrived again before the end of the trial."""

    @property
    def verdict(self) -> Verdict:
        """PASS and FAIL only where failures began during the trial."""
        if not self.state.trusted or self.loss_ms is None:
            return self.state
        return Verdict.PASS if self.recovered else Verdict.FAIL


@dataclass(frozen=True, kw_only=True)
class CaseUnit(Record):
    """All repetitions of a case that are trials of one unit."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    packet_size_bytes: Annotated[int, fields.PACKET_SIZE_BYTES]
    rate: Annotated[str, fields.RATE]
    failures: Annotated[int, fields.FAILURES]
    """-1 for the wire of the tester."""
    during: bool
    offered_fps: float
    each: tuple[Repetition, ...]


def repetition_of(spec: TrialSpec, result: TrialResult) -> Repetition:
    """The results of a trial: every frame of it is measured."""
    flow = next(iter(result.flows), None)
    latency = None if flow is None else flow.latency
    least, mean, most, jitter = _times_us(latency)
    loss_ms = stamps_ms = resolution_ms = None
    recovered = True
    if spec.interruption is not None and result.outages:
        time = reset_time(spec, result)
        loss_ms = float(time.loss_ns / NS_PER_MS)
        stamps_ms = None if time.stamps_ns is None else float(time.stamps_ns / NS_PER_MS)
        interval_ns = NS_PER_S / spec.streams[0].rate_fps
        resolution_ms = float(max(interval_ns, time.error_ns) / NS_PER_MS)
        recovered = time.recovered
    return Repetition(
        state=result.status,
        reason=result.reason,
        tx_frames=result.tx_frames,
        lost_frames=result.lost_frames,
        corrupted_frames=result.corrupted_frames or None,
        reordered_frames=result.reordered_frames,
        duplicate_frames=result.duplicate_frames,
        min_us=least,
        avg_us=mean,
        max_us=most,
        jitter_avg_us=jitter,
        loss_ms=loss_ms,
        stamps_ms=stamps_ms,
        resolution_ms=resolution_ms,
        recovered=recovered,
    )


def _times_us(latency: LatencyStats | None) -> tuple[float | None, float | None, float | None, float | None]:
    if latency is None or not latency.count:
        return None, None, None, None
    jitter = latency.jitter_sum_ns / latency.jitter_count / NS_PER_US if latency.jitter_count else None
    # Sums are whole picoseconds.
    mean_ns = Fraction(round(latency.sum_ns * 1000), 1000 * latency.count)
    least, most = (round(bound_ns / NS_PER_US, _PS_DIGITS) for bound_ns in (latency.min_ns, latency.max_ns))
    return least, round(float(mean_ns / NS_PER_US), 2 * _PS_DIGITS), most, jitter
