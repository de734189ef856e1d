"""Clocks of ports beside the clock of departures: frames that a slower port leaves over."""

from __future__ import annotations

from fractions import Fraction

from p4mesh.traffic.line_rate import max_rate_fps

EXPECTED_PPM = 50
"""Distance of two clocks that is reckoned with."""


def waiting_per_s(frame_size_bytes: int, rate_bps: int, slower_ppm: int = EXPECTED_PPM) -> int:
    """Frames that are left over in a second at line rate, where the port is slower than the clock of departures."""
    return int(max_rate_fps(frame_size_bytes, rate_bps) * Fraction(slower_ppm, 10**6))
