"""Loads of chassis tests below the throughput."""

from __future__ import annotations

from fractions import Fraction

LOWER_LOADS_PCT = (Fraction(10), Fraction(50), Fraction(90))
PPM_BELOW = 60
"""The highest load is 99.994 % of line rate: clocks of the ports of a real set-up differ."""
FRAME_SIZES_BYTES = (64, 128, 256, 512, 1024, 1280, 1518, 9216)
