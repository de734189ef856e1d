"""Predicts the pacing of a loop: seeds, share of the recirculation port, rate grid and worst departure error.

The model has two parts (:class:`~p4mesh.target.loop.LoopModel`). A pass occupies the recirculation port for the frame's
time on its wire, and comes back ``latency_ps`` later; a lone seed needs both for a round, and seeds that fill the port
go round in the sum of their wire times. The same figures configure ``sim`` (``tester.loop`` of a topology), so that a
simulation with the loop of a chip does what is predicted for the chip.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from p4mesh.target.loop import LoopModel
from p4mesh.tester.pacing import departure_clock, loop_use, seed_counts, slot_rate_fps

_FRACTION_STEPS = 1 << 32
_MANY_FRAMES = 10**9


@dataclass(frozen=True)
class Prediction:
    """Prediction for one stream at a rate in the loop of one pipe."""

    seeds: int
    round_ps: Fraction
    port_share: Fraction
    """Part of the time of the recirculation port that the stream takes."""
    rate_step_ppb: Fraction
    """Distance of two programmable rates, in parts per 10^9 of the rate."""
    departure_error_ps: Fraction
    """Largest distance of a departure from its ideal time."""


def predict(rate_fps: Fraction, frame_size_bytes: int, loop: LoopModel, tick_ps: int, target: str) -> Prediction:
    """Predicts the pacing of one stream; raises UnsupportedError when the loop is too slow for it."""
    clock = departure_clock(rate_fps, _MANY_FRAMES, tick_ps)
    seeds = seed_counts([(slot_rate_fps(clock, tick_ps), frame_size_bytes)], loop, target)
    (use,) = loop_use(seeds, [frame_size_bytes], loop, tick_ps)
    step = Fraction(10**9, _FRACTION_STEPS) / clock.slot_ticks
    return Prediction(seeds[0], use.round_ps, use.port_share, step, use.departure_error_ps)
