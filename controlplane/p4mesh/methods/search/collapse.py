"""The limit of a device that collapses, from loads above it.

A device that forwards nothing more once a queue is full stops after a time that is inverse to the excess of the load.
So the number of frames sent for each one forwarded is a straight line over the load, and is 1 at the limit. What such a
device does besides bends the line a little.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf

_POINTS = 3
"""Loads that a guess rests on: a line, and its bend."""
_CONVERGED = Fraction(1, 2)
"""How far a guess may be from the one before, as a share of its distance from the second lowest load that failed: the
lowest one may be the guess before."""


class Collapse:
    """Loads that failed, and how much of them a device forwarded."""

    def __init__(self) -> None:
        self._sent_per_forwarded: dict[Fraction, Fraction] = {}
        self.least: Fraction | float = inf
        """The least that was forwarded of a load."""
        self._before: Fraction | None = None
        self._guess: Fraction | None = None

    def note(self, load: Fraction, forwarded: Fraction) -> None:
        """Take what was forwarded of a load that failed, in the unit of the load."""
        self.least = min(self.least, forwarded)
        if forwarded > 0:
            self._sent_per_forwarded[load] = load / forwarded
            self._before, self._guess = self._guess, self._extrapolated()

    @property
    def limit(self) -> Fraction | None:
        """The load of which all frames would be forwarded; None while guesses are far from each other."""
        if self._guess is None or self._before is None:
            return None
        distance = sorted(self._sent_per_forwarded)[1] - self._guess
        return self._guess if abs(self._guess - self._before) < _CONVERGED * distance else None

    def _extrapolated(self) -> Fraction | None:
        """The load at which the curve through the lowest loads is 1 (Newton's form, load over its value)."""
        points = sorted(self._sent_per_forwarded.items())[:_POINTS]
        if len(points) < _POINTS or not points[0][1] < points[1][1] < points[2][1]:
            return None
        (load0, sent0), (load1, sent1), (load2, sent2) = points
        slope01, slope12 = (load1 - load0) / (sent1 - sent0), (load2 - load1) / (sent2 - sent1)
        bend = (slope12 - slope01) / (sent2 - sent0)
        limit = load0 + (1 - sent0) * (slope01 + (1 - sent1) * bend)
        # A guess needs no more digits than a load has.
        return limit.limit_denominator(10**9)
