"""How much longer a trial becomes where it is too short to tell whether a queue fills."""

from __future__ import annotations

MOST_LENGTHENING = 32
"""A trial is at most this many times as long as asked: with 30,000 frames per port, 50 ppm are then 48 frames."""
