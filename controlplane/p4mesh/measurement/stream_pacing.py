"""Computes the pacing errors of the streams of a plan."""

from __future__ import annotations

from fractions import Fraction

from p4mesh.measurement.counts import StreamPacing
from p4mesh.tester.plan import Plan


def stream_pacing(plan: Plan, tick_ps: int) -> tuple[StreamPacing, ...]:
    """Pacing of each stream; one with several clocks has the worst of them."""
    tick_ns = Fraction(tick_ps, 1000)
    uses = list(zip(plan.streams, plan.loop_uses, strict=True))
    paced = []
    for number, name in plan.names.items():
        clocks = [(stream, use) for stream, use in uses if stream.origin == number]
        stream = clocks[0][0]
        interval_ns = stream.clock.frame_interval_ticks * tick_ns
        paced.append(
            StreamPacing(
                stream=name,
                seeds=sum(stream.seeds for stream, _ in clocks),
                round_ns=float(max(use.round_ps for _, use in clocks) / 1000),
                loop_share_pct=float(100 * sum(use.port_share for _, use in clocks)),
                interval_ns=float(interval_ns),
                rate_step_ppm=float(stream.clock.rate_step * 10**6),
                rate_error_ppm=float((10**9 / interval_ns / stream.stream.rate_fps - 1) * 10**6),
                departure_error_ns=float(max(use.departure_error_ps for _, use in clocks) / 1000),
                start_offset_error_ns=float(max(s.start_offset_error_ticks for s, _ in clocks) * tick_ns),
            )
        )
    return tuple(paced)
