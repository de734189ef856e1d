"""From a rate to the departure clock of the P4 program, and to the number of seeds in the loop.

The departure clock counts ticks of the target with a 32-bit fraction; a *slot* is one step of it.
A stream sends in the first ``burst_slots`` of every ``last_slot + 1`` slots (docs/DATAPLANE.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from p4mesh.errors import LoopOverloadError
from p4mesh.quantities import number_text
from p4mesh.target.loop import LoopModel
from p4mesh.traffic.arrivals import MOST_DEPARTURES, Arrivals, Recorded, spaced
from p4mesh.traffic.line_rate import PS_PER_S

_FRACTION_BITS = 32
LONGEST_SLOT_TICKS = 1 << 30
"""A slot must stay below 2^31 ticks, the reach of the 32-bit comparison in the program."""
_MARGIN = Fraction(5, 4)
"""Passes per slot: with a quarter more, a departure is never a whole frame late at line rate."""
_FINEST_SHARE = 64
_MOST_FINE_SEEDS = 4096
"""For the sake of departure errors: loops of milliseconds would otherwise take millions."""
_FINE_SHARE = Fraction(19, 20)
"""Part of a round that seeds may fill for the sake of small departure errors: reading frames pass between them."""
_RATE_ROUNDING = Fraction(1, 10**6)
"""The rate of a clock is rounded to 2^-32 tick; at the port's own line rate that may be upwards."""

LOWER_LOADS = "lower the rate or the number of streams"
"""In the hints of an overloaded loop."""


@dataclass(frozen=True)
class DepartureClock:
    """Parameters of one stream in table ``stream``."""

    interval_ticks: int
    interval_fraction_q32: int
    departures: int
    last_slot: int
    burst_slots: int
    longer_by_ticks: tuple[int, ...] = ()
    """Ticks by which the slots of a schedule are longer, in turn; empty: none is."""
    first_ticks: int = 0
    """Time of the first departure of a schedule."""

    @property
    def slot_ticks(self) -> Fraction:
        """Exact length of a slot, in a schedule of the shortest one."""
        return self.interval_ticks + Fraction(self.interval_fraction_q32, 1 << _FRACTION_BITS)

    @property
    def rate_step(self) -> Fraction:
        """Relative distance of this rate from the next that can be programmed."""
        return 1 / (self.period_ticks / (self.last_slot + 1) * (1 << _FRACTION_BITS))

    @property
    def period_ticks(self) -> Fraction:
        """Time from burst to burst, or from frame to frame."""
        if self.longer_by_ticks:
            return self.slot_ticks + Fraction(sum(self.longer_by_ticks), len(self.longer_by_ticks))
        return self.slot_ticks * (self.last_slot + 1)

    @property
    def frame_interval_ticks(self) -> Fraction:
        """Mean distance of frames."""
        return self.period_ticks / self.burst_slots

    def span_ticks(self, frames: int) -> Fraction:
        """Time from the first to the last one of so many frames that are no bursts."""
        if not self.longer_by_ticks:
            return (frames - 1) * self.frame_interval_ticks
        rounds, rest = divmod(frames - 1, len(self.longer_by_ticks))
        longer = rounds * sum(self.longer_by_ticks) + sum(self.longer_by_ticks[:rest])
        return (frames - 1) * self.slot_ticks + longer


def departure_clock(
    rate_fps: Fraction, frame_count: int, tick_ps: int, *, burst_frames: int = 1, wire_slot_ps: Fraction | None = None
) -> DepartureClock:
    """Clock for ``frame_count`` frames at ``rate_fps``.

    A burst is sent in slots no longer than the wire time of a frame (``wire_slot_ps``), so that the
    port's own minimum gap separates its frames (RFC 2889 appendix A).
    """
    period_ticks = Fraction(burst_frames * PS_PER_S, 1) / rate_fps / tick_ps
    if burst_frames > 1:
        if wire_slot_ps is None:
            raise ValueError("bursts need the wire time of a frame")
        slots = max(burst_frames, _ceil(period_ticks * tick_ps / wire_slot_ps))
    else:
        slots = 1
    slots = max(slots, _ceil(period_ticks / LONGEST_SLOT_TICKS))
    slot = period_ticks / slots
    whole = int(slot)
    fraction = int((slot - whole) * (1 << _FRACTION_BITS) + Fraction(1, 2))
    if fraction >> _FRACTION_BITS:
        whole, fraction = whole + 1, 0
    bursts, rest = divmod(frame_count - 1, burst_frames)
    return DepartureClock(whole, fraction, bursts * slots + rest + 1, slots - 1, burst_frames)


def scheduled_clock(
    arrivals: Arrivals, rate_fps: Fraction, frame_count: int, tick_ps: int, wire_slots_ps: Sequence[Fraction]
) -> DepartureClock:
    """Clock whose departures have the times of ``arrivals``, no two closer than a frame on the wire.

    The wire takes ``wire_slots_ps`` for frames in turn. A round begins with the first of them where it can be a little
    shorter for that; else each frame may be the longest.

    Raises ValueError where they do not fit: the text says what is valid. The last clocks are kept: a run plans the
    same streams for its check, for learning and for each trial.
    """
    return _scheduled_clock(arrivals, rate_fps, frame_count, tick_ps, tuple(wire_slots_ps))


@lru_cache(maxsize=16)
def _scheduled_clock(
    arrivals: Arrivals, rate_fps: Fraction, frame_count: int, tick_ps: int, wire_slots_ps: tuple[Fraction, ...]
) -> DepartureClock:
    departures = arrivals.departures_in_round(rate_fps, frame_count)
    if departures > MOST_DEPARTURES:
        raise ValueError(f"{departures} departures before they come again: at most {MOST_DEPARTURES}")
    round_ticks = departures * PS_PER_S / rate_fps / tick_ps
    if departures < frame_count and not isinstance(arrivals, Recorded):
        departures -= departures % len(wire_slots_ps) if departures >= len(wire_slots_ps) else 0
        round_ticks = departures * PS_PER_S / rate_fps / tick_ps
    in_turn = departures >= frame_count or departures % len(wire_slots_ps) == 0
    slots = [_ceil(slot / tick_ps) for slot in (wire_slots_ps if in_turn else [max(wire_slots_ps)])]
    least_ticks = [slots[number % len(slots)] for number in range(departures)]
    if sum(least_ticks) > int(round_ticks):
        highest_fps = departures * PS_PER_S / (sum(least_ticks) * tick_ps)
        raise ValueError(f"rates up to {number_text(highest_fps)} frames/s have room for them")
    first, distances = spaced(arrivals.times(departures), round_ticks, least_ticks)
    if max(first, *distances) >= LONGEST_SLOT_TICKS:
        raise ValueError(f"{max(first, *distances)} ticks between two departures: at most {LONGEST_SLOT_TICKS - 1}")
    slot = min(distances)
    fraction = int((round_ticks - int(round_ticks)) / departures * (1 << _FRACTION_BITS) + Fraction(1, 2))
    longer_by = tuple(distance - slot for distance in distances)
    return DepartureClock(slot, fraction, frame_count, 0, 1, longer_by, first)


def slot_rate_fps(clock: DepartureClock, tick_ps: int) -> Fraction:
    """Slots that begin in a second, silent ones included."""
    return Fraction(PS_PER_S, 1) / (clock.slot_ticks * tick_ps)


def mean_rate_fps(clock: DepartureClock, tick_ps: int) -> Fraction:
    """Frames in a second, silent slots included."""
    return Fraction(PS_PER_S, 1) / (clock.frame_interval_ticks * tick_ps)


def seed_counts(slots: Sequence[tuple[Fraction, int]], loop: LoopModel, target: str) -> list[int]:
    """Number of seeds of each stream, given (slot rate in 1/s, frame size in bytes) of each.

    A stream needs one pass per slot; a seed makes one pass per round. Raises LoopOverloadError when
    the passes of all streams do not fit through the recirculation port, less its headroom.
    """
    if not slots:
        return []
    busy = sum((rate * loop.pass_ps(size) / PS_PER_S for rate, size in slots), Fraction(0))
    if busy > 1 + _RATE_ROUNDING:
        raise LoopOverloadError(
            f"not supported on {target}: the streams need {float(100 * busy):.1f} % of the recirculation port",
            hint=f"{LOWER_LOADS}, or give the loop more bandwidth (tester.loop.rate_bps; on a Tofino "
            "tester.tofino.front_loops)",
        )
    if busy > (1 - loop.headroom) * (1 + _RATE_ROUNDING):
        raise LoopOverloadError(
            f"not supported on {target}: the streams need {float(100 * busy):.2f} % of the recirculation port, of which"
            f" {number_text(100 * loop.headroom)} % are kept free",
            hint=f"{LOWER_LOADS}, or ask for the rest with tester.tofino.loop_headroom_pct: 0; that a chip paces with"
            " a full loop is unproved",
        )
    lone_round_ps = max(loop.round_ps(size) for _, size in slots)
    margin = _MARGIN
    while True:
        counts = [max(1, _ceil(margin * rate * lone_round_ps / PS_PER_S)) for rate, _ in slots]
        queued = sum((count * loop.pass_ps(size) for count, (_, size) in zip(counts, slots, strict=True)), Fraction(0))
        round_ps = max(lone_round_ps, queued)
        if all(
            count * PS_PER_S * (1 + _RATE_ROUNDING) >= rate * round_ps
            for count, (rate, _) in zip(counts, slots, strict=True)
        ):
            return counts
        # A full port shares its passes by seeds; more seeds make the shares finer.
        margin *= 2
        if margin > _FINEST_SHARE:
            raise LoopOverloadError(
                f"not supported on {target}: the streams need {float(100 * busy):.1f} % of the recirculation port",
                hint=f"leave a few per cent free: {LOWER_LOADS}, or give the loop more bandwidth",
            )


def finer_counts(
    counts: Sequence[int], sizes: Sequence[int], loop: LoopModel, tick_ps: int, departure_error_ps: int
) -> list[int]:
    """Raises the seeds of each stream from ``counts`` to as many as departure errors of ``departure_error_ps`` take.

    The seeds together take no longer than a round of the slowest one alone. Where that leaves no room for as many, all
    streams get the smallest error that there is room for. Nothing is added where they fill the loop already, nor where
    passes are limited by what executes them: software needs that time for the frames.
    """
    if loop.passes_per_s is not None:
        return list(counts)
    round_ps = max((loop.round_ps(size) for size in sizes), default=Fraction(0))
    room_ps = _FINE_SHARE * round_ps
    passes_ps = [loop.pass_ps(size) for size in sizes]

    def added(error_ps: int) -> list[int]:
        return [
            max(count, _seeds_for(error_ps, round_ps, tick_ps, min(_MOST_FINE_SEEDS, int(room_ps / pass_ps))))
            for count, pass_ps in zip(counts, passes_ps, strict=True)
        ]

    def fits(found: Sequence[int]) -> bool:
        return sum((count * pass_ps for count, pass_ps in zip(found, passes_ps, strict=True)), Fraction(0)) <= room_ps

    if fits(asked := added(departure_error_ps)):
        return asked
    low, high = departure_error_ps, int(round_ps) + 2 * tick_ps
    if not fits(added(high)):
        return list(counts)
    while low < high:
        middle = (low + high) // 2
        if fits(added(middle)):
            high = middle
        else:
            low = middle + 1
    return added(high)


@lru_cache(maxsize=1024)
def _seeds_for(error_ps: int, round_ps: Fraction, tick_ps: int, most: int) -> int:
    """Fewest seeds, evenly spread over a round, with a departure error; else the number with the smallest one."""
    finest, smallest_ps = 1, round_ps + tick_ps
    for count in range(1, most + 1):
        found_ps = round_ps / count + rounding_ticks(count) * tick_ps
        if found_ps <= error_ps:
            return count
        if found_ps < smallest_ps:
            finest, smallest_ps = count, found_ps
    return finest


def shared_loops(
    slots: Sequence[tuple[Fraction, int]], loops: Sequence[LoopModel], target: str
) -> list[tuple[int, int]]:
    """(seeds, number of the loop) of each stream; ``slots`` as for :func:`seed_counts`.

    A stream is in one loop. The largest ones come first, each into the loop that is then the least busy. Raises
    UnsupportedError when they do not fit.
    """

    def busy(slot: tuple[Fraction, int], loop: LoopModel) -> Fraction:
        return slot[0] * loop.pass_ps(slot[1]) / PS_PER_S

    shares = [Fraction(0)] * len(loops)
    loop_of: dict[int, int] = {}
    for stream in sorted(range(len(slots)), key=lambda number: busy(slots[number], loops[0]), reverse=True):
        found = min(range(len(loops)), key=lambda number: shares[number] + busy(slots[stream], loops[number]))
        shares[found] += busy(slots[stream], loops[found])
        loop_of[stream] = found
    seeds: dict[int, int] = {}
    for number, loop in enumerate(loops):
        members = [stream for stream in range(len(slots)) if loop_of[stream] == number]
        counts = seed_counts([slots[stream] for stream in members], loop, target)
        seeds.update(zip(members, counts, strict=True))
    return [(seeds[stream], loop_of[stream]) for stream in range(len(slots))]


@dataclass(frozen=True)
class LoopUse:
    """Pacing of the seeds of one stream in the loop."""

    round_ps: Fraction
    port_share: Fraction
    """Part of the time of the recirculation port that the seeds take."""
    departure_error_ps: Fraction
    """Distance of two passes of the stream's seeds, evenly spread, plus the rounding of their fractions to ticks."""


def loop_use(seeds: Sequence[int], sizes: Sequence[int], loop: LoopModel, tick_ps: int) -> list[LoopUse]:
    """Pacing of each stream in the loop, given its number of seeds and its frame size."""
    queued = sum((count * loop.pass_ps(size) for count, size in zip(seeds, sizes, strict=True)), Fraction(0))
    uses = []
    for count, size in zip(seeds, sizes, strict=True):
        round_ps = max(loop.round_ps(size), queued)
        error_ps = round_ps / count + rounding_ticks(count) * tick_ps
        uses.append(LoopUse(round_ps, count * loop.pass_ps(size) / round_ps, error_ps))
    return uses


def first_fraction_q32(number: int, seeds: int) -> int:
    """Fraction of a tick, in 2^-32, with which a seed begins: each adds up its own, and rounds it for itself.

    The fractions of all seeds are spread evenly, in an order of reversed bits: those of any seeds in a row are
    spread as well, so that their carries do not come all together.
    """
    return (_ranks(seeds)[number] << _FRACTION_BITS) // seeds


def rounding_ticks(seeds: int) -> int:
    """Largest distance of a clock from its ideal time in ticks, because each seed rounds for itself.

    One seed rounds by less than a tick; in an order of reversed bits the sum grows with the logarithm of their number.
    """
    return seeds.bit_length()


@cache
def _ranks(count: int) -> tuple[int, ...]:
    """Rank of each number below ``count`` in the order of reversed bits."""
    bits = (count - 1).bit_length()
    order = sorted(range(count), key=lambda number: f"{number:0{bits}b}"[::-1])
    ranks = [0] * count
    for rank, number in enumerate(order):
        ranks[number] = rank
    return tuple(ranks)


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
