"""Sizes, rate and duration of a flow, as the tester sends them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from math import gcd
from random import Random

from p4mesh.otg.elements import Element, refusal
from p4mesh.quantities import number_text
from p4mesh.traffic.imix import NAMED_MIXES, MixPart, sizes_by_weight
from p4mesh.traffic.line_rate import NS_PER_S, PREAMBLE_BYTES, STANDARD_IFG_BYTES, frame_time_ns
from p4mesh.traffic.rates import Rate, RateUnit
from p4mesh.traffic.stream import Burst

_LONGEST_S = 72 * 3600
"""Time for which a flow without an end sends: time stamps of 48 bits hold 78 hours of nanoseconds."""
_MOST_SIZES = 1024
_RANDOM_SIZES, _RANDOM_SIZES_APART = 256, 16
"""Sizes that are drawn before they come again, in one stream and where each needs a stream."""
_FRACTIONAL_SLOTS = 300
"""Frames of a round of sizes whose weights are no whole numbers."""
_UNITS = {"pps": (1, RateUnit.FRAMES), "percentage": (1, RateUnit.LINE)} | {
    name: (factor, RateUnit.L2) for name, factor in (("bps", 1), ("kbps", 10**3), ("mbps", 10**6), ("gbps", 10**9))
}
_USUAL_RATE = {"pps": 1000, "bps": 10**9, "kbps": 10**6, "mbps": 1000, "gbps": 1, "percentage": 100}


@dataclass(frozen=True)
class Timing:
    """Frames of a flow and their times."""

    rate_fps: Fraction
    """Mean rate."""
    frames: int
    delay_ns: int = 0
    burst: Burst | None = None
    warnings: tuple[str, ...] = ()
    """On what differs from what was asked for."""

    def shared(self, parts: int) -> list[Timing]:
        """Equal parts of it, whose frames leave in turn; the last ones may have none."""
        frames, interval_ns = self.frames // parts, NS_PER_S / self.rate_fps
        return [
            replace(
                self,
                rate_fps=self.rate_fps / parts,
                frames=frames + (place < self.frames % parts),
                delay_ns=self.delay_ns + round(place * interval_ns),
            )
            for place in range(parts)
        ]


def frame_sizes(element: Element, *, apart: bool = False) -> tuple[int, ...]:
    """Read the sizes of the frames in turn, with FCS; fewer random ones where each needs a stream, ``apart``."""
    with element.whole():
        kind = element.choice("fixed", "increment", "random", "weight_pairs", default="fixed")
        if kind == "fixed":
            return (element.integer("fixed", 64),)
        with element.element(kind).whole() as inner:
            sizes: Sequence[int]
            if kind == "weight_pairs":
                sizes = _in_turn(_weights(inner))
            elif kind == "increment":
                first, last, step = inner.integer("start", 64), inner.integer("end", 1518), inner.integer("step", 1)
                sizes = range(first, last + 1, max(1, step))
            else:
                random, lowest, highest = Random(1), inner.integer("min", 64), inner.integer("max", 1518)
                count = 0 if lowest > highest else _RANDOM_SIZES_APART if apart else _RANDOM_SIZES
                sizes = [random.randint(lowest, highest) for _ in range(count)]
    if not 1 <= len(sizes) <= _MOST_SIZES:
        raise refusal(element.at(kind), "makes no size" if not sizes else "makes too many sizes", f"1 to {_MOST_SIZES}")
    return one_if_equal(sizes)


def one_if_equal(sizes: Sequence[int]) -> tuple[int, ...]:
    """The sizes in turn; one alone where all are the same."""
    return tuple(sizes) if len(set(sizes)) > 1 else (sizes[0],)


def sizes_in_turn(sizes: Sequence[int], step: int, place: int) -> tuple[int, ...]:
    """Sizes of every ``step``-th frame, from frame ``place`` on."""
    period = len(sizes) // gcd(len(sizes), step)
    return one_if_equal([sizes[(place + number * step) % len(sizes)] for number in range(period)])


def _weights(element: Element) -> list[tuple[int, Fraction]]:
    if element.choice("predefined", "custom", default="predefined") == "predefined":
        name = element.text("predefined", "imix")
        return [(part.frame_size_bytes, Fraction(part.weight, 100)) for part in NAMED_MIXES[name]]
    pairs = []
    for item in element.elements("custom"):
        with item.whole():
            pairs.append((item.integer("size", 64), item.number("weight", 1)))
    return [pair for pair in pairs if pair[1] > 0]


def _in_turn(pairs: Sequence[tuple[int, Fraction]]) -> Sequence[int]:
    """Sizes in an order in which each is spread as evenly as its weight allows; too many stand for far too many."""
    total = sum(weight for _, weight in pairs)
    counts = [int(weight) for _, weight in pairs]
    if any(weight.denominator > 1 for _, weight in pairs):
        counts = [max(1, round(weight * _FRACTIONAL_SLOTS / total)) for _, weight in pairs]
    divisor = reduce(gcd, counts, 0) or 1
    counts = [count // divisor for count in counts]
    if sum(counts) > _MOST_SIZES:
        return range(_MOST_SIZES + 1)
    return sizes_by_weight([MixPart(size, count) for (size, _), count in zip(pairs, counts, strict=True)])


def timing(flow: Element, sizes: Sequence[int], line_rate_bps: int) -> Timing:
    """Read rate and duration of a flow on a port of this line rate."""
    mean_bytes = Fraction(sum(sizes), len(sizes))
    with flow.element("rate").whole() as rate:
        unit = rate.choice(*_UNITS, default="pps")
        factor, kind = _UNITS[unit]
        rate_fps = Rate(factor * rate.number(unit, _USUAL_RATE[unit]), kind).fps(mean_bytes, line_rate_bps)
    if rate_fps <= 0:
        raise refusal(rate.at(unit), "is 0", "a rate above 0")
    with flow.element("duration").whole() as duration:
        kind_ = duration.choice("fixed_packets", "fixed_seconds", "burst", "continuous", default="continuous")
        with duration.element(kind_).whole() as inner:
            inner.require("gap", STANDARD_IFG_BYTES)
            if kind_ == "burst":
                return _bursts(inner, rate_fps, sizes, line_rate_bps)
            delay_ns = _time_ns(inner.element("delay"), 0, line_rate_bps)
            frames = int(rate_fps * _LONGEST_S)
            if kind_ == "fixed_packets":
                frames = inner.integer("packets", 1)
            elif kind_ == "fixed_seconds":
                frames = int(rate_fps * inner.number("seconds", 1))
    if frames < 1:
        raise refusal(duration.at(kind_), f"has no frame at {number_text(rate_fps)} frames/s", "one frame or more")
    return Timing(rate_fps, frames, delay_ns)


def _bursts(element: Element, rate_fps: Fraction, sizes: Sequence[int], line_rate_bps: int) -> Timing:
    """Read bursts: the rate is that within a burst, the gap from its last bit to the next burst."""
    bursts, packets = element.integer("bursts"), element.integer("packets", 1)
    gap_ns = _time_ns(element.element("inter_burst_gap"), STANDARD_IFG_BYTES, line_rate_bps)
    last_ns = frame_time_ns(max(sizes), line_rate_bps, PREAMBLE_BYTES)
    period_ns = (packets - 1) * NS_PER_S / rate_fps + last_ns + gap_ns
    shortest_ns = packets * NS_PER_S / rate_fps
    warnings = []
    if gap_ns != _time_ns(Element({}, ""), STANDARD_IFG_BYTES, line_rate_bps) and period_ns < shortest_ns:
        what = "is shorter than the gaps within a burst: all frames follow each other at the rate"
        warnings.append(f"{element.at('inter_burst_gap')} {what}")
    mean_fps = packets * NS_PER_S / max(period_ns, shortest_ns)
    frames = bursts * packets or int(mean_fps * _LONGEST_S)
    return Timing(mean_fps, frames, 0, Burst(packets, rate_fps) if packets > 1 else None, tuple(warnings))


def _time_ns(element: Element, usual_bytes: int, line_rate_bps: int) -> int:
    """Read a time that is given in bytes of the line, or in seconds."""
    with element.whole():
        unit = element.choice("bytes", "nanoseconds", "microseconds", default="bytes")
        value = element.number(unit, usual_bytes if unit == "bytes" else 0)
    if unit == "bytes":
        return round(value * 8 * NS_PER_S / line_rate_bps)
    return round(value * (1000 if unit == "microseconds" else 1))
