"""Burst arithmetic of RFC 2889 appendix A, in exact rationals of a nanosecond: an oracle for the tester's bursts.

``TXTIME`` lost its numerator in the RFC text; methodology 0.4 has the formulas used here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from p4mesh.traffic.line_rate import NS_PER_S

_IFG_BITS = 96
_PREAMBLE_BITS = 64


@dataclass(frozen=True)
class BurstPlan:
    """The bursts of a source: ``burst_frames`` at minimum gap, and the silence after that."""

    burst_frames: int
    tx_time_ns: Fraction
    """First bit of the first preamble to last bit of the last frame."""
    inter_burst_gap_ns: Fraction
    burst_count: int


def plan_bursts(
    frame_size_bytes: int, load_pct: Fraction | int, burst_frames: int, line_rate_bps: int, duration_ns: int
) -> BurstPlan:
    """The plan that gives ``load_pct`` percent of line rate over ``duration_ns``."""
    frame_bits = _IFG_BITS + _PREAMBLE_BITS + 8 * frame_size_bytes
    bit_ns = Fraction(NS_PER_S, line_rate_bps)
    gap = ((100 / Fraction(load_pct) - 1) * burst_frames * frame_bits + _IFG_BITS) * bit_ns
    tx_time = (burst_frames * frame_bits - _IFG_BITS) * bit_ns
    return BurstPlan(burst_frames, tx_time, gap, ceil(duration_ns / (tx_time + gap)))
