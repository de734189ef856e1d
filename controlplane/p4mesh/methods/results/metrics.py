"""Ratios derived from the integer counts of one trial (RFC 1242, RFC 2285, methodology 0.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from p4mesh.methods.search.goal import Verdict
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


def search_verdict(result: TrialResult, verdict: Verdict) -> Verdict:
    """Return what a search makes of a trial with this verdict: one that was not delivered leads it to lower loads."""
    return Verdict.UNDELIVERED if verdict is Verdict.INVALID and result.undelivered else verdict


def transmission_s(spec: TrialSpec) -> Fraction:
    """Return how long the ports send: ``count / rate``, of the stream that takes longest by less than a frame."""
    return max(Fraction(stream.frame_count) / stream.rate_fps for stream in spec.streams)


def rate_metrics(spec: TrialSpec, result: TrialResult, line_rates_bps: int | Sequence[int]) -> RateMetrics:
    """Return the rates of a trial whose streams have one frame size, of ports with one line rate or one per stream.

    FR counts duplicates once. Its time base is the exact transmission time ``count / rate``: with
    ``count = floor(T * rate)`` the nominal T would show up to one frame time too little.
    """
    (size,) = {stream.frame_size_bytes for stream in spec.streams}
    rates_bps = [line_rates_bps] * len(spec.streams) if isinstance(line_rates_bps, int) else line_rates_bps
    received = result.rx_frames - result.duplicate_frames
    seconds = transmission_s(spec)
    forwarding = received / seconds if seconds else Fraction(0)
    offered = _offered_fps(result, sum(len(stream.tx_ports) for stream in spec.streams), seconds)
    line = sum(len(stream.tx_ports) * rate for stream, rate in zip(spec.streams, rates_bps, strict=True))
    return RateMetrics(
        offered,
        utilisation_pct(offered, size, line),
        forwarding,
        utilisation_pct(forwarding, size, line),
        loss_pct(result),
    )


def _offered_fps(result: TrialResult, ports: int, seconds: Fraction) -> Fraction:
    """Return the sum over ports of ``(frames - 1) / (last - first)``; all of them send for the same time.

    One frame per port has no distance to another one: it is what was sent in its transmission time.
    """
    span_ns = result.last_tx_ns - result.first_tx_ns - result.start_spread_ns
    if span_ns <= 0 or result.tx_frames <= ports:
        return result.tx_frames / seconds if seconds else Fraction(0)
    return Fraction((result.tx_frames - ports) * NS_PER_S, span_ns)
