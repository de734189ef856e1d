"""From the arrivals of a traffic class to the times of its departures."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import pi, sin

from msgspec import UNSET
from msgspec.structs import fields

from p4mesh.methods.traffic.frames import Place
from p4mesh.quantities import least_text, most_text, number_text, typed_text
from p4mesh.traffic.arrivals import MOST_DEPARTURES, OnOff, Poisson, Profile, Recorded
from p4mesh.traffic.line_rate import NS_PER_MS, NS_PER_S, NS_PER_US
from p4mesh.traffic_file.model import Arrivals, TrafficClass
from p4mesh.traffic_file.reader import FileRun

_SINE_PIECES, _SINE_DIGITS = 64, 6
_FEWEST_IN_PERIOD = 10
"""Frames of a period, which is a whole number of them: it is off by 5 % at most."""
_KEYS_OF_RATES = ("period_ms", "low_pct")
_KEYS = {
    "poisson": ("seed",),
    "on_off": ("on_pct", "bursts", "seed"),
    "steps": (*_KEYS_OF_RATES, "stairs"),
    "replay": ("gaps_us", "pcap"),
}
"""Keys of the shapes that have others than those of rates that go up and down."""
Points = tuple[tuple[Fraction, Fraction], ...]


def arrivals_of(
    run: FileRun,
    place: Place,
    given: TrafficClass,
    senders: int,
    rate_fps: Fraction,
    line_fps: Fraction,
    duration_s: Fraction,
) -> Poisson | OnOff | Profile | Recorded | None:
    """The arrivals of a class; raises TrafficFileError where its highest rate is above the line.

    Classes, and ``senders`` with arrivals of their own, share the departures that the data plane has room for.
    """
    if given.arrivals is UNSET:
        return None
    asked, where = given.arrivals, (*place, "arrivals")
    if given.burst_frames > 1:
        raise run.error(where, "beside bursts", "leave burst_frames out; on_off has bursts")
    if given.start_ms or given.stagger_us or given.phases == "drifting":
        raise run.error(
            where,
            "beside start_ms, stagger_us or drifting senders",
            "leave them out, or use phases: independent, in which each sender has arrivals of its own",
        )
    classes = sum(other.arrivals is not UNSET for other in run.traffic.classes.values())
    longest_round = MOST_DEPARTURES // (classes * senders)
    of_shape = _KEYS.get(asked.shape, _KEYS_OF_RATES)
    for key in fields(asked):
        if key.name not in ("shape", *of_shape) and getattr(asked, key.name) not in (key.default, []):
            raise run.error(where, f"{key.name} beside shape {asked.shape}", f"its keys: {', '.join(of_shape)}")
    if asked.shape == "replay":
        return Recorded(_recorded_gaps_ns(run, place, asked))
    if asked.shape == "poisson":
        return Poisson(asked.seed, longest_round)
    if asked.shape == "on_off":
        share = Fraction(str(asked.on_pct)) / 100
        _require_line(run, where, rate_fps / share, line_fps)
        return OnOff(share, asked.bursts, asked.seed, longest_round)
    points = _points(asked)
    mean = sum(((after[0] - before[0]) * (before[1] + after[1]) / 2 for before, after in pairwise(points)), Fraction(0))
    _require_line(run, where, rate_fps * max(rate for _, rate in points) / mean, line_fps)
    period_ms = duration_s * 1000 if asked.period_ms is UNSET else Fraction(str(asked.period_ms))
    _require_periods(run, where, period_ms / 1000, duration_s, rate_fps)
    return Profile(points, round(period_ms * NS_PER_MS))


def recorded_rate_fps(run: FileRun, place: Place, given: TrafficClass) -> Fraction:
    """Mean rate of the times that a class replays; raises TrafficFileError where it replays none."""
    if given.arrivals is UNSET or given.arrivals.shape != "replay":
        raise run.error(
            (*place, "rate"), "nothing is replayed", "give a rate, or arrivals: {shape: replay, pcap: FILE}"
        )
    gaps_ns = _recorded_gaps_ns(run, place, given.arrivals)
    return Fraction(len(gaps_ns) * NS_PER_S, sum(gaps_ns))


def _recorded_gaps_ns(run: FileRun, place: Place, asked: Arrivals) -> tuple[int, ...]:
    where = (*place, "arrivals")
    recording = run.recordings.get(str(place[-1]))
    if recording is not None:
        if asked.gaps_us:
            raise run.error((*where, "gaps_us"), "a capture has times, too", "keep one of gaps_us and pcap")
        return recording.gaps_ns
    gaps_ns = tuple(round(Fraction(str(gap)) * NS_PER_US) for gap in asked.gaps_us)
    if not sum(gaps_ns):
        raise run.error(where, "replay without times", "give pcap: FILE, or gaps_us: [10, 250, 10]")
    return gaps_ns


def _require_line(run: FileRun, where: Place, highest_fps: Fraction, line_fps: Fraction) -> None:
    if highest_fps > line_fps:
        raise run.error(
            where,
            f"its highest rate, {number_text(highest_fps, 10)} frames/s, is above the line rate of a sender",
            f"lower the mean rate, so that the highest is at most {most_text(line_fps)} frames/s",
        )


def _require_periods(run: FileRun, where: Place, period_s: Fraction, duration_s: Fraction, rate_fps: Fraction) -> None:
    """A shape has some frames, and the mean rate is that of whole periods."""
    frames = period_s * rate_fps
    if frames < _FEWEST_IN_PERIOD:
        raise run.error(
            where,
            f"{number_text(frames)} frames in a period of {number_text(1000 * period_s)} ms have no shape",
            f"lengthen the period to {_FEWEST_IN_PERIOD} frames, {least_text(1000 * _FEWEST_IN_PERIOD / rate_fps)} ms, "
            "or raise the rate",
        )
    periods = max(1, round(duration_s / period_s))
    if abs(duration_s - periods * period_s) * rate_fps > 1:
        raise run.error(
            where,
            f"{number_text(1000 * duration_s)} ms are no whole number of periods of {number_text(1000 * period_s)} ms: "
            "the mean rate would not be that of the class",
            f"period_ms: {typed_text(1000 * duration_s / periods)}, or a multiple of the period as duration",
        )


def _points(asked: Arrivals) -> Points:
    """Rates over one period, from the lowest to the highest, which is 1."""
    low, high = Fraction(str(asked.low_pct)) / 100, Fraction(1)
    if asked.shape == "sine":
        heights = [round((1 + sin(2 * pi * n / _SINE_PIECES)) / 2, _SINE_DIGITS) for n in range(_SINE_PIECES + 1)]
        return tuple((Fraction(n, _SINE_PIECES), low + (1 - low) * Fraction(str(h))) for n, h in enumerate(heights))
    if asked.shape == "steps":
        rates = [low + (1 - low) * Fraction(n, asked.stairs - 1) for n in range(asked.stairs)]
        return tuple((Fraction(n + end, asked.stairs), rate) for n, rate in enumerate(rates) for end in (0, 1))
    if asked.shape == "flash_crowd":
        quarter, half = Fraction(1, 4), Fraction(3, 4)
        return ((Fraction(0), low), (quarter, low), (quarter, high), (half, low), (Fraction(1), low))
    return ((Fraction(0), low), (Fraction(1), high))
