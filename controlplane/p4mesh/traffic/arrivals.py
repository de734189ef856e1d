"""Departures that are not evenly spaced: the times of one round of them, which repeats; the mean rate stays exact.

A frame cannot leave before the line has carried the one before it: where two times are closer, the later frame follows
the earlier one back to back (:func:`spaced`), as behind a queue.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate, pairwise
from math import isqrt

from p4mesh.traffic.random_numbers import splitmix64

MOST_DEPARTURES = 65_536
"""Departures of a round: what the data plane has room for."""
_LOGARITHMS = Context(prec=20)
_DIGITS = 10**12
"""Parts of a round or a step in which times are found."""


class Arrivals(ABC):
    """How the departures of a stream lie in time."""

    @abstractmethod
    def departures_in_round(self, rate_fps: Fraction, frames: int) -> int:
        """Departures until everything comes again, for a stream of so many frames; at least 1."""

    @abstractmethod
    def of_sender(self, number: int) -> Arrivals:
        """Arrivals of the same kind that do not depend on those of other numbers; 0 leaves them as they are."""

    @abstractmethod
    def times(self, departures: int) -> list[Fraction]:
        """Times of the departures of a round as parts of it, ascending, from 0 on and below 1."""

    @property
    def sample(self) -> Arrivals:
        """One for all arrivals that are the same round, wherever they begin."""
        return self


@dataclass(frozen=True)
class Poisson(Arrivals):
    """Independent arrivals: exponential distances from a seed, the same on every machine."""

    seed: int = 0
    longest_round: int = MOST_DEPARTURES

    def departures_in_round(self, rate_fps: Fraction, frames: int) -> int:
        return _even_round(frames, self.longest_round)

    def of_sender(self, number: int) -> Poisson:
        return replace(self, seed=_own_seed(self.seed, number))

    def times(self, departures: int) -> list[Fraction]:
        return _as_parts([_exponential(self.seed, number) for number in range(departures)])


@dataclass(frozen=True)
class OnOff(Arrivals):
    """A Markov source: on for an exponential time, in which frames are evenly spaced, then off for another one.

    The round has the mean rate and ``bursts`` such pairs of times.
    """

    on_share: Fraction
    """Mean part of the time that is on."""
    bursts: int
    seed: int = 0
    longest_round: int = MOST_DEPARTURES

    def departures_in_round(self, rate_fps: Fraction, frames: int) -> int:
        return _even_round(frames, self.longest_round)

    def of_sender(self, number: int) -> OnOff:
        return replace(self, seed=_own_seed(self.seed, number))

    def times(self, departures: int) -> list[Fraction]:
        on = [self.on_share * _exponential(self.seed, 2 * number) for number in range(self.bursts)]
        off = [(1 - self.on_share) * _exponential(self.seed, 2 * number + 1) for number in range(self.bursts)]
        points: list[tuple[Fraction, Fraction]] = []
        at = Fraction(0)
        for busy, idle in zip(on, off, strict=True):
            points += [(at, Fraction(1)), (at + busy, Fraction(1)), (at + busy, Fraction(0))]
            at += busy + idle
            points.append((at, Fraction(0)))
        return _times_of_profile([(begin / at, rate) for begin, rate in points], departures)


@dataclass(frozen=True)
class Profile(Arrivals):
    """A rate that changes: lines between points, which come again after a period."""

    points: tuple[tuple[Fraction, Fraction], ...]
    """(part of the period, rate); two points at one time are a jump. Only proportions of the rates count."""
    period_ns: int
    later: Fraction = Fraction(0)
    """Part of the period by which everything is later, and with it what it ends with comes first."""

    def departures_in_round(self, rate_fps: Fraction, frames: int) -> int:
        return max(1, round(rate_fps * self.period_ns / 10**9))

    def of_sender(self, number: int) -> Profile:
        return replace(self, later=_own_part(number))

    def times(self, departures: int) -> list[Fraction]:
        return sorted((time + self.later) % 1 for time in _times_of_profile(self.points, departures))

    @property
    def sample(self) -> Profile:
        return replace(self, later=Fraction(0))


@dataclass(frozen=True)
class Recorded(Arrivals):
    """Times between frames of a capture, one after the other, stretched to the mean rate."""

    gaps_ns: tuple[int, ...]
    first: int = 0
    """Place of the frame that begins."""

    def departures_in_round(self, rate_fps: Fraction, frames: int) -> int:
        return len(self.gaps_ns)

    def of_sender(self, number: int) -> Recorded:
        return replace(self, first=int(_own_part(number) * len(self.gaps_ns)))

    def times(self, departures: int) -> list[Fraction]:
        return _as_parts([Fraction(gap) for gap in (*self.gaps_ns[self.first :], *self.gaps_ns[: self.first])])

    @property
    def sample(self) -> Recorded:
        return replace(self, first=0)


def spaced(times: Sequence[Fraction], round_ticks: Fraction, least_ticks: Sequence[int]) -> tuple[int, list[int]]:
    """First departure, and distances of departures in whole ticks, each at least as long as that of ``least_ticks``.

    The last distance is that to the next round.

    Their sum is that of the round, rounded down. Raises ValueError where the round has no room for the departures.
    """
    whole = int(round_ticks)
    if sum(least_ticks) > whole:
        raise ValueError(f"{len(times)} departures of {sum(least_ticks)} ticks do not fit into {whole}")
    starts = [int(time * round_ticks) for time in times]
    # Twice round: what waits at the end of a round waits in the next one, too.
    free = 0
    begun: list[int] = []
    for turn in range(2):
        begun = []
        for start, least in zip(starts, least_ticks, strict=True):
            begun.append(max(start + turn * whole, free))
            free = begun[-1] + least
    return begun[0] - whole, [after - before for before, after in pairwise([*begun, begun[0] + whole])]


def _times_of_profile(points: Sequence[tuple[Fraction, Fraction]], departures: int) -> list[Fraction]:
    """Times at which the area under the lines is an odd number of halves of a departure."""
    areas = [(after[0] - before[0]) * (before[1] + after[1]) / 2 for before, after in pairwise(points)]
    step = sum(areas, Fraction(0)) / (2 * departures)
    found: list[Fraction] = []
    below = Fraction(0)
    for (before, after), area in zip(pairwise(points), areas, strict=True):
        width, low, rise = after[0] - before[0], before[1], after[1] - before[1]
        while len(found) < departures:
            wanted = step * (2 * len(found) + 1) - below
            if wanted > area:
                break
            if not rise and low == 1:
                # Without a root: profiles have many flat pieces, and a root of long fractions takes its time.
                found.append(before[0] + wanted)
                continue
            # The part x of this piece with low x + rise x^2 / 2 = wanted / width, without a difference of near numbers.
            height = wanted / width  # a jump has no area, and nothing is wanted of it
            root = Fraction(isqrt(int((low * low + 2 * rise * height) * _DIGITS**2)), _DIGITS)
            part = 2 * height / (low + root) if low + root else Fraction(0)
            found.append(before[0] + width * min(Fraction(1), part))
        below += area
    return found


def _even_round(frames: int, longest: int) -> int:
    """Departures of a round of which all frames are whole rounds, but for a frame or so of each: they keep the mean."""
    rounds = -(-frames // longest)
    return -(-frames // rounds)


def _as_parts(gaps: Sequence[int | Fraction]) -> list[Fraction]:
    *begins, whole = accumulate(gaps, initial=0)
    return [Fraction(begin, whole) for begin in begins]


def _own_seed(seed: int, number: int) -> int:
    return splitmix64(seed << 32 | number) >> 32 if number else seed


def _own_part(number: int) -> Fraction:
    """A place of its own in a period."""
    return Fraction(splitmix64(number) >> 32, 1 << 32) if number else Fraction(0)


def _exponential(seed: int, number: int) -> int:
    """One of independent exponential numbers, whose mean is 10^12."""
    uniform = Decimal(splitmix64((seed << 32) + number) + 1) / (1 << 64)
    return int(-_LOGARITHMS.ln(uniform) * _DIGITS)
