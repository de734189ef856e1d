"""Ratios derived from the integer counts of one trial (RFC 1242, RFC 2285, methodology 0.1)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from p4mesh.methods.search import Verdict
from p4mesh.traffic.line_rate import NS_PER_S, utilisation_pct
from p4mesh.trial.result import Status, TrialResult
from p4mesh.trial.spec import TrialSpec


@dataclass(frozen=True)
class RateMetrics:
    """Rates of a trial whose streams all have the same frame size, summed over ports."""

    offered_fps: Fraction
    """Oload: measured from the transmit time stamps."""
    offered_pct: Fraction
    """Oload as percent of the line rate of the transmitting ports."""
    forwarding_fps: Fraction
    """FR: correct frames received per second of transmission."""
    received_pct: Fraction
    """FR as percent of the line rate of the transmitting ports (L1)."""
    loss_pct: Fraction


def loss_pct(result: TrialResult) -> Fraction:
    """Return ``100 (expected - received) / expected``; 0 when nothing was expected."""
    if result.expected_rx_frames == 0:
        return Fraction(0)
    return Fraction(100 * result.lost_frames, result.expected_rx_frames)


def judge_loss(result: TrialResult, acceptable_pct: Fraction = Fraction(0)) -> Verdict:
    """Return the verdict of a throughput trial: PASS iff trusted and loss within ``acceptable_pct``.

    Untrusted trials keep their status: INVALID and ABORT are never PASS or FAIL (methodology 0.6).
    """
    if result.status is Status.ABORT:
        return Verdict.ABORT
    if result.status is Status.INVALID:
        return Verdict.INVALID
    return Verdict.PASS if loss_pct(result) <= acceptable_pct else Verdict.FAIL


def rate_metrics(spec: TrialSpec, result: TrialResult, line_rate_bps: int) -> RateMetrics:
    """Return the rates of a trial whose streams have one frame size and one rate per port.

    FR counts duplicates once. Its time base is the exact transmission time ``count / rate``: with
    ``count = floor(T * rate)`` the nominal T would show up to one frame time too little.
    """
    stream = spec.streams[0]
    assert {(item.frame_size_bytes, item.rate_fps) for item in spec.streams} == {
        (stream.frame_size_bytes, stream.rate_fps)
    }
    ports = sum(len(item.tx_ports) for item in spec.streams)
    received = result.rx_frames - result.duplicate_frames
    seconds = stream.frame_count / stream.rate_fps
    forwarding = received / seconds if seconds else Fraction(0)
    offered = _offered_fps(result, ports)
    line = ports * line_rate_bps
    return RateMetrics(
        offered,
        utilisation_pct(offered, stream.frame_size_bytes, line),
        forwarding,
        utilisation_pct(forwarding, stream.frame_size_bytes, line),
        loss_pct(result),
    )


def _offered_fps(result: TrialResult, ports: int) -> Fraction:
    span_ns = result.last_tx_ns - result.first_tx_ns - result.start_spread_ns
    per_port = Fraction(result.tx_frames, ports)
    if span_ns <= 0 or per_port <= 1:
        return Fraction(0)
    return ports * (per_port - 1) * NS_PER_S / span_ns
