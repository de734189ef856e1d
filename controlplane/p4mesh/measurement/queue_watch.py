"""Reads cells while traffic runs: their latencies show whether a queue fills.

A reading takes a round of the loop for each cell of a range. So a trial reads as many pairs of ports as it has time and
frames for, and ranges side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, lcm

from p4mesh.tester.cell_ranges import ranges_of
from p4mesh.tester.cell_reader import FRAMES_PER_PASS, PASSES_BESIDE
from p4mesh.tester.flows import Flow
from p4mesh.tester.plan import Plan

READINGS = 7
"""Readings of a transmission. Between them are windows of an eighth of it; its begin and its end are in none."""
_READING_SHARE = 4
"""A reading takes at most this part of a window."""
_FRAMES_PER_CELL = 2500
"""Frames of a trial for each cell that its readings have, so that they stay a small part of its cost."""
_SPREAD = 2_654_435_761
"""2^32 over the golden ratio: neighbours in an order by multiples of it are far apart."""

Pair = tuple[int, int]
"""Transmit port, receive port."""


@dataclass(frozen=True)
class QueueWatch:
    """Readings of the same cells at equal distances."""

    cells: tuple[range, ...]
    step_ns: Fraction
    """A whole number of cycles of the traffic where one fits, so that every window sees the same of it."""

    @property
    def times_ns(self) -> tuple[int, ...]:
        """Time of each reading after the first departure."""
        return times_of(self.step_ns)


def step_of(plan: Plan, duration_ns: int, tick_ps: int) -> Fraction:
    """Distance of the readings of a transmission of ``duration_ns``."""
    step_ns = Fraction(duration_ns, READINGS + 1)
    cycle_ns = cycle_of(plan, tick_ps)
    return int(step_ns / cycle_ns) * cycle_ns if cycle_ns <= step_ns else step_ns


def times_of(step_ns: Fraction) -> tuple[int, ...]:
    """Times of readings at this distance, after the first departure."""
    return tuple(round(number * step_ns) for number in range(1, READINGS + 1))


def queue_watch(
    plan: Plan, duration_ns: int, tick_ps: int, round_ns: int, passes_per_cell: int, shape_ns: Fraction | None = None
) -> QueueWatch | None:
    """Readings of a transmission of ``duration_ns``; None where it is over before cells could be read.

    ``round_ns`` is one round of a reading frame, of which it makes ``passes_per_cell`` for a cell. Of traffic whose
    rates or sizes come again after ``shape_ns``, a window has whole ones.
    """
    step_ns = step_of(plan, duration_ns, tick_ps)
    if shape_ns is not None:
        step_ns = Fraction(duration_ns, READINGS + 1) // shape_ns * shape_ns
    rounds = int(step_ns / (_READING_SHARE * round_ns)) - PASSES_BESIDE
    longest = rounds // (2 * passes_per_cell)
    if longest < 1:
        return None
    pairs = pairs_of(plan)
    frames = sum(transmitter.frames for stream in plan.streams for transmitter in stream.transmitters)
    ports = len({rx for _, rx in pairs})
    room = min(max(2 * ports, frames // _FRAMES_PER_CELL), longest * (rounds // 2))
    chosen = _cells(pairs, _chosen(pairs, room))
    ranges = ranges_of(chosen, max(1, min(longest, isqrt(len(chosen)))))
    turns = -(-len(ranges) // FRAMES_PER_PASS)
    if turns * (passes_per_cell * max(map(len, ranges), default=0) + PASSES_BESIDE) > rounds + PASSES_BESIDE:
        # As many turns take too long: pairs that do not follow one another need a reading frame each.
        ranges = _neighbours(pairs, min(longest, max(1, room // FRAMES_PER_PASS)))
    return QueueWatch(tuple(ranges), step_ns) if ranges else None


def pairs_of(plan: Plan) -> dict[Pair, list[Flow]]:
    """Flows that are to receive frames, by their pair of ports."""
    pairs: dict[Pair, list[Flow]] = {}
    for flow in plan.flows:
        if flow.expected:
            pairs.setdefault((flow.tx_port, flow.rx_port), []).append(flow)
    return pairs


def cycle_of(plan: Plan, tick_ps: int) -> Fraction:
    """Nanoseconds after which the slowest stream does the same again: each burst, and all of its destinations."""
    cycles = [
        lcm(stream.clock.burst_slots, max(transmitter.positions for transmitter in stream.transmitters))
        * stream.clock.frame_interval_ticks
        for stream in plan.streams
    ]
    return max(cycles) * tick_ps / 1000


def _chosen(pairs: Mapping[Pair, Sequence[Flow]], room: int) -> list[Pair]:
    """Pairs with at most ``room`` flows: first one of each receiver, then one of each sender, then others."""
    if sum(map(len, pairs.values())) <= room:
        return list(pairs)
    mixed = [pair for _, pair in sorted((number * _SPREAD % (1 << 32), pair) for number, pair in enumerate(pairs))]
    order = [*_one_of_each(mixed, 1), *_one_of_each(mixed, 0), *mixed]
    chosen: list[Pair] = []
    for pair in dict.fromkeys(order):
        if len(pairs[pair]) <= room:
            room -= len(pairs[pair])
            chosen.append(pair)
    return chosen


def _neighbours(pairs: Mapping[Pair, Sequence[Flow]], longest: int) -> list[range]:
    """Ranges of cells for few reading frames, evenly spread over those of all pairs."""
    order = sorted(pairs, key=lambda pair: pairs[pair][0].cell)
    together = max(1, longest * len(order) // sum(map(len, pairs.values())))
    found: list[range] = []
    chosen: list[Pair] = []
    for number in range(FRAMES_PER_PASS):
        first = number * len(order) // FRAMES_PER_PASS
        chosen += order[first : first + together]
        ranges = ranges_of(_cells(pairs, chosen), longest)
        if len(ranges) > FRAMES_PER_PASS:
            break
        found = ranges
    return found


def _cells(pairs: Mapping[Pair, Sequence[Flow]], chosen: Iterable[Pair]) -> list[int]:
    return sorted(flow.cell for pair in dict.fromkeys(chosen) for flow in pairs[pair])


def _one_of_each(pairs: Sequence[Pair], end: int) -> list[Pair]:
    first: dict[int, Pair] = {}
    for pair in pairs:
        first.setdefault(pair[end], pair)
    return list(first.values())
